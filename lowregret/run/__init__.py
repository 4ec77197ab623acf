"""Runs: a learner fed with rows, its record, its proof and its file; one module a kind; sessions fed from files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
