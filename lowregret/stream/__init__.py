"""Rows from files: readers that yield batches in constant memory."""
