"""Online learning with proof: every run carries a regret certificate.

loss × domain × mirror map × step schedule, composed into rules and learners; `train` runs one over rows, `play` against
any convex functions; both end with regret ≤ linearised regret ≤ the theorem's bound.

The names of `__init__.pyi` are loaded when first used, so that `import lowregret` costs nothing.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
