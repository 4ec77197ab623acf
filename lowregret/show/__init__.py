"""Runs as people see them: pictures and sentences."""
