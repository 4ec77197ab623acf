"""What the laws of online learning are tested with: sequences, exact comparators, and runs with books of their own."""
