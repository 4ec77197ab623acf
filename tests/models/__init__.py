"""One small stored file of every kind and layout, which must load for ever, and what must come of it.

`python -m tests.models` writes those that are missing; those that are there are never written again.
"""
