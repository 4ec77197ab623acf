"""What one pass says about rows yet to come: risk bounds, their statistics, independence, the model that is kept."""
