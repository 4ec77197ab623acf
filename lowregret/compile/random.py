"""Random numbers for compiled loops: the n-th is a hash of (key, n), so that saving two integers saves them all.

Interpreted, the products overflow on purpose: `call` keeps NumPy quiet about it.
"""

from __future__ import annotations

import math
import os
from numbers import Integral
from typing import Any

import numpy as np

from lowregret.errors import PartError

_U = np.uint64
_STRIDE = _U(0x9E3779B97F4A7C15)
_ODD, _OTHER_ODD = _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)
_ONE = _U(1)
_UNIT = 2.0**-53
SECRET = _U(int.from_bytes(os.urandom(8), "little"))  # for hashes nobody can foresee; pass it: compiled code is kept


def mix(x: Any) -> Any:
    """A bijection of 64-bit integers: every bit of x moves about half of the result (splitmix64's last step)."""
    x = (x ^ (x >> _U(30))) * _ODD
    x = (x ^ (x >> _U(27))) * _OTHER_ODD
    return x ^ (x >> _U(31))


def unit(x: Any) -> Any:
    """A number in [0, 1) from the upper 53 bits of x, which may also be an array."""
    return (x >> _U(11)) * _UNIT


def hash_number(key: Any, n: Any) -> Any:
    """The n-th of the integers that belong to a key."""
    return mix(key + _U(n) * _STRIDE)


def key_of(seed: Any) -> Any:
    """The key of a seed: seeds that are close have keys that are not."""
    if not isinstance(seed, Integral):
        raise PartError(f"a seed must be a whole number, got {seed!r}")
    with np.errstate(over="ignore"):
        return hash_number(_U(0), int(seed) % (1 << 64))


def new_chance(seed: int) -> Any:
    """The state of a generator: its key, and how many numbers were taken."""
    return np.array([key_of(seed), 0], np.uint64)


def uniform(chance: Any) -> float:
    """The next number in [0, 1)."""
    chance[1] += _ONE
    return float(unit(hash_number(chance[0], chance[1])))


def normal(chance: Any) -> float:
    """The next standard normal number (Box and Muller's first)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(chance)))
    return radius * math.cos(2.0 * math.pi * uniform(chance))


def gamma(chance: Any, shape: float) -> float:
    """The next Gamma(shape, 1) number, shape > 0: Marsaglia and Tsang's rejection, 1.05 tries on average."""
    d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(chance)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - uniform(chance)) < 0.5 * x * x + d - d * v + d * math.log(v):
            break
    if shape >= 1.0:
        return d * v
    return d * v * (1.0 - uniform(chance)) ** (1.0 / shape)


def beta(chance: Any, a: float, b: float) -> float:
    """The next Beta(a, b) number; ½ if both of its Gamma numbers underflow."""
    x, y = gamma(chance, a), gamma(chance, b)
    return x / (x + y) if x + y > 0.0 else 0.5
