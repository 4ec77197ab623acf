"""Learners of rows: linear ones, those of many classes, the kernel Perceptron; what they ask of rows, and growing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
