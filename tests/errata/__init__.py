"""What the source texts print, refuted by a run or an exact computation, beside the corrected statement on it.

One test for each correction, named by its number. docs/errata.md is made of their docstrings, by
`python -m tests.test_tables`.
"""
