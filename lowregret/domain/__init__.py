"""Convex sets, by the cost of projecting on them: see `base.py`."""

from lowregret.domain.ball import L1Ball, L2Ball, LqBall, Point, Reals
from lowregret.domain.base import Domain, Radial, Separable, Whole
from lowregret.domain.box import Box, Orthant
from lowregret.domain.compound import Intersection, Spectrahedron
from lowregret.domain.described import CvxSet
from lowregret.domain.simplex import Simplex

__all__ = [
    "Box",
    "CvxSet",
    "Domain",
    "Intersection",
    "L1Ball",
    "L2Ball",
    "LqBall",
    "Orthant",
    "Point",
    "Radial",
    "Reals",
    "Separable",
    "Simplex",
    "Spectrahedron",
    "Whole",
]
