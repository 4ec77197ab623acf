"""Tests that take long: `make soak`."""
