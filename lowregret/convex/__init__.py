"""Convex functions, minimising their sums, and the players that do so each round: follow the (regularised) leader."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
