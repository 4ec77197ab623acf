"""Online learning with proof: every run carries a regret certificate."""

__version__ = "0.1.0"
