"""Rows yet to come, judged by one pass: risk bounds, their statistics, independence, the model that is kept."""
