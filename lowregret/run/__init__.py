"""Runs: a learner fed with rows, its record, its proof and its file; one module a kind; sessions fed from files."""
