"""Model files: their format, replacing a file in one step, and the kinds of run that a file can hold."""
