"""Files of earlier formats: for each format, a step turns the contents of its files into those of the next format.

    def from_4(kind, description, arrays):
        '''Format 5 keeps a further sum, which is 0 in runs from before.'''
        if "sums" in arrays:
            arrays["sums"] = np.append(arrays["sums"], 0.0)
            description["slots"]["sums"].append("bent")
        return description, arrays

    STEPS = {4: from_4}

A step adds every slot and field that the next format needs: one that is missing in the end is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Contents = tuple[dict[str, Any], dict[str, Any]]  # description, arrays
Step = Callable[[str, dict[str, Any], dict[str, Any]], Contents]  # given the kind as well

FORMAT = 12  # raised when readers of the one could not make sense of the other
OLDEST = 4  # that can still be read; sums were stored by position before, and rules had other names


def from_4(kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """Format 5: bandits may centre costs, which those from before do not; numbers of choices and rounds may jump."""
    if kind in ("bandit", "exp4"):
        slots, issued, algorithm = (description.get(name) for name in ("slots", "issued", "algorithm"))
        if isinstance(slots, dict) and isinstance(slots.get("sums"), list) and "sums" in arrays:
            slots["sums"] = [*slots["sums"], "shift", "level", "least"]
            arrays["sums"] = np.append(arrays["sums"], np.zeros(3))
        if isinstance(issued, int):
            description["latest"] = issued - 1
        if isinstance(algorithm, dict) and algorithm.get("part") in ("Exp3", "TsallisInf"):
            algorithm["centred"] = False
    for name in [name for name in arrays if name.endswith("pending.round")]:
        arrays[name.removesuffix("round") + "number"] = arrays[name]
    return description, arrays


def from_5(kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """Format 6: partitions may join `auto`, EXP4 may centre costs, sums of experts and samples of rows know more.

    Mixtures of experts know the drift of late outcomes, and need no weights of rounds that wait.

    Rows of linear learners may get further columns, which `expand` describes; where that is absent, they do not.
    """
    _without_partitions(kind, description, arrays)
    _without_terms(description, arrays)
    for name in [name for name in arrays if name.endswith("pending.mixture")]:
        before = name.removesuffix("pending.mixture")
        arrays.pop(f"{before}pending.weights", None)
        arrays[f"{before}drift"] = np.zeros(np.size(arrays.get(f"{before}prior", 0)) + 1)
    if kind == "exp4":
        description["centred"] = False
        arrays["pending.baseline"] = np.zeros(np.size(arrays.get("pending.arm", 0)))
    if kind in ("online-newton", "universal-portfolio"):
        _without_ledger(description, arrays)
    if "tally.sampled" in arrays:
        arrays["tally.sampled"] = np.append(arrays["tally.sampled"], 0)  # nobody knows the form of the rows
    if "pending.rounds" in arrays:
        arrays["pending.numbers"] = arrays["pending.rounds"]
    return description, arrays


def _without_partitions(kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Say of a run of `auto` that no twelfth expert has joined."""
    learner = description.get("learner")
    if not (isinstance(learner, dict) and str(learner.get("part")).startswith("Auto")):
        return
    learner["partitions"] = {"part": "Partitions", "trees": 0, "cells": 1, "seed": 0, "alone": False}
    first, losses = 11, 16  # experts that there were, and where their losses begin
    for name, before in (("mind.trust", 0), ("contests", 0), ("eras", 2)):
        if name in arrays and arrays[name].shape[-1] > before + losses + first:
            arrays[name][..., before + losses + first] = np.inf
    if kind == "predictor" and "trust" in arrays:
        arrays["trust"] = np.append(arrays["trust"], 0.0)
    if "votes" in arrays and arrays["votes"].shape == (2 * first + 3,):
        votes = arrays["votes"]
        arrays["votes"] = np.concatenate([votes[:first], [np.inf], votes[first : 2 * first], [0.0], votes[2 * first :]])
    if kind != "predictor":
        description["curve"] = None


def _without_terms(description: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Give panels of experts, for the terms that their sums were made of, these sums."""
    for name in [name for name in arrays if name == "owed" or name.endswith(".owed")]:
        before = name.removesuffix("owed")
        known = [arrays[before + key] for key in ("owed", "losses", "linear") if before + key in arrays]
        if len({np.shape(array) for array in known}) == 1:
            arrays[before + "added"] = np.abs(known).sum(0)
            arrays[before + "trust"] = np.zeros(np.shape(known[0]))
        slots, sums = description.get("slots"), before + "sums"
        if isinstance(slots, dict) and isinstance(slots.get(sums), list) and sums in arrays:
            slots[sums] = [*slots[sums], "blur", "under", "tallest", "second", "varied"]
            arrays[sums] = np.append(arrays[sums], [0.0, *[np.inf] * 4])  # nobody knows how large losses were


def _without_ledger(description: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Give portfolios a ledger that knows their wealth, and no more of the past."""
    slots, sums = description.get("slots"), np.ravel(arrays.get("sums", ()))
    known = slots.get("sums") if isinstance(slots, dict) else None
    own = known.index("own") if isinstance(known, list) and "own" in known else sums.size
    if not isinstance(slots, dict) or own >= sums.size:
        return  # the schema will say what is wrong
    wealth = -float(sums[own])
    description["cost"], arrays["holdings"] = 0.0, np.zeros(np.size(arrays.get("prior", ())))
    slots["ledger"] = ["wealth", "paid", "peak", "drawdown", "returns", "mean", "squares"]
    arrays["ledger"] = np.array([wealth, 0.0, max(wealth, 0.0), np.nan, 0.0, np.nan, np.nan])
    arrays["wealth"] = np.full(np.size(arrays.get("regrets", ())), np.nan)


def from_6(kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """Format 7: losses of experts' mixtures are of the forecasts that were given, and whether these came in order.

    Choices of bandits that wait have their baseline, which is 0 for those from before: no estimate is biased by it; and
    bandits know what rounding may hide.
    """
    if kind == "bandit":
        arrays["pending.baseline"] = np.zeros(np.size(arrays.get("pending.arm", 0)))
    if kind in ("bandit", "exp4"):
        _with_blur(description, arrays)
    for name in [name for name in arrays if name == "owed" or name.endswith(".owed")]:
        before = name.removesuffix("owed")
        owed, drift, sums = (arrays.get(before + key, np.empty(0)) for key in ("owed", "drift", "sums"))
        late = arrays.get(f"{before}late", drift[-1:].sum())
        own = _slot(description, f"{before}sums", "own")
        grouped = owed.ndim == 2 and drift.shape == owed.shape and late.shape == sums.shape[:1] == owed.shape[:1]
        plain = owed.ndim == sums.ndim == 1 and drift.shape == (owed.size + 1,) and late.ndim == 0
        numbers = all(array.dtype.kind == "f" for array in (owed, drift, sums, late))
        if numbers and (grouped or plain) and own < sums.shape[-1]:  # else the schema will say what is wrong
            with np.errstate(all="ignore"):
                arrays[name] = owed + drift[..., : owed.shape[-1]]
                sums[..., own] += late
    _say_order(description, "", arrays)
    return description, arrays


def _with_blur(description: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Give a bandit what rounding may hide, as if in each of its rounds all numbers had been as large as they are."""
    slots, counts = description.get("slots"), np.ravel(arrays.get("counts", ()))
    known, costs = slots.get("sums") if isinstance(slots, dict) else None, _slot(description, "counts", "costs")
    told = [arrays.get(name, np.empty(0)) for name in ("sums", "estimates")]
    if not (isinstance(slots, dict) and isinstance(known, list) and costs < counts.size):
        return  # the schema will say what is wrong
    if all(array.dtype.kind == "f" and array.ndim == 1 and array.size for array in told):
        largest = max(float(np.max(np.abs(array))) for array in told)
        slots["sums"] = [*known, "blur"]
        arrays["sums"] = np.append(told[0], min(float(counts[costs]) * 10_000 * largest, 1e300))


def _slot(description: dict[str, Any], array: str, name: str) -> int:
    """The place of a slot in an array, beyond all others if there is none."""
    slots = description.get("slots")
    known = slots.get(array) if isinstance(slots, dict) else None
    return known.index(name) if isinstance(known, list) and name in known else 10**9


def _say_order(description: dict[str, Any], before: str, arrays: dict[str, Any]) -> None:
    """Say of every mixture inside a file whether outcomes came in order, as far as their drift tells."""
    if "aggregator" in description and "asked" in description:
        description["orderly"] = not np.any(arrays.get(f"{before}drift", 0.0)) and not description.get("late")
    for name, inner in description.items():
        if isinstance(inner, dict):
            _say_order(inner, f"{before}{name}.", arrays)


def from_7(kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """Format 8: runs on rows know how far scores may be off by rounding; nothing is known of rows from before."""
    told = description.get("slots")
    slots: dict[str, Any] = told if isinstance(told, dict) else {}
    for name, known in slots.items():
        array = arrays.get(name, np.empty(()))
        named = isinstance(known, list) and {"energy", "longest"} <= set(map(str, known))
        if named and array.ndim > 0 and array.dtype.kind == "f":  # else the schema will say what is wrong
            slots[name] = [*known, "blur", "blurriest"]
            arrays[name] = np.concatenate([array, np.zeros((*array.shape[:-1], 2))], axis=-1)
    return description, arrays


def from_8(kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """Format 9: mixtures of experts know what rounding took from their regret, and sets of quantiles what pooling gave.

    Of rounds from before nothing is known of the one, and the other is the difference of two sums; the size of what was
    added counts the drift. Series know whether
    their dates say an offset from UTC, which is not known of those from before. Boxes know their regret to either end
    of each side, of which those from before know the sum.
    """
    if kind == "series-experts":
        description["zoned"] = None
    if kind == "box-hedge":
        _with_ends(description, arrays)
    for name in [name for name in arrays if name == "owed" or name.endswith(".owed")]:
        before = name.removesuffix("owed")
        arrays[before + "crumbs"] = np.zeros(np.shape(arrays[name]))
        _add_drift(before, arrays)
    if kind == "quantiles":
        _with_gains(description, arrays)
    return description, arrays


def _add_drift(before: str, arrays: dict[str, Any]) -> None:
    """Count the drift of a mixture among the sizes of all that was added to its sums."""
    added, drift = (arrays.get(before + key, np.empty(())) for key in ("added", "drift"))
    experts = drift if drift.ndim == 2 else drift[:-1] if drift.ndim == 1 else drift
    if experts.shape == added.shape and added.dtype.kind == experts.dtype.kind == "f":  # else the schema will say
        arrays[before + "added"] = added + np.abs(experts)


def _with_ends(description: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Give a box the regret to the ends of its sides, all of it in the first: no more than their sum matters."""
    low, high, total = (arrays.get(name, np.empty(0)) for name in ("low", "high", "sum"))
    loss, numbers = description.get("loss"), all(array.dtype.kind == "f" for array in (low, high, total))
    if numbers and low.shape == high.shape == total.shape == (low.size,) != (0,) and isinstance(loss, float):
        with np.errstate(all="ignore"):  # else the schema will say what is wrong
            behind = np.stack([np.zeros(low.size), -total * (high - low)])
            behind[:, 0] += loss - total @ low
            arrays["behind"] = behind


def _with_gains(description: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Give a set of quantiles what each of its levels gained by pooling."""
    losses, own = np.ravel(arrays.get("losses", ())), []
    for level in range(losses.size):
        sums, place = np.ravel(arrays.get(f"level {level}.sums", ())), _slot(description, f"level {level}.sums", "own")
        own.append(sums[place] if place < sums.size else np.nan)
    if losses.dtype.kind == "f":  # else the schema will say what is wrong
        arrays["gained"] = np.array(own, float) - losses


def from_9(kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """Format 10: bandits know how many choices were made before each that waits.

    The numbers of those since the latest load tell it; of others it is known that those before them in the file were.
    """
    numbers, issued, latest = arrays.get("pending.number"), description.get("issued"), description.get("latest")
    if kind in ("bandit", "exp4") and numbers is not None and numbers.ndim == 1 and numbers.dtype.kind == "i":
        places = np.arange(numbers.size)
        if isinstance(issued, int) and isinstance(latest, int) and 0 <= issued < 2**53 > latest >= -1:
            since = (numbers <= latest) & (numbers > latest - issued)  # else the schema will say what is wrong
            places[since] = issued - 1 - (latest - numbers[since])
        arrays["pending.place"] = places
    return description, arrays


def from_10(kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """Format 11: mixtures of experts know what their loss was called, which is not known of those from before."""
    if "asked" in description and ("aggregator" in description or kind == "series-experts"):
        description["called"] = None
    for inner in description.values():
        if isinstance(inner, dict):
            from_10("", inner, arrays)
    return description, arrays


def from_11(kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """Format 12: tallies know extreme labels and how classes follow each other, of blocks that begin from now on."""
    for name in [name for name in arrays if name.endswith("tally.levels")]:
        before = name.removesuffix("levels")
        counts, place = np.ravel(arrays.get(f"{before}counts", ())), _slot(description, f"{before}counts", "rounds")
        known = place < counts.size and counts.dtype.kind == "i"  # else the schema will say what is wrong
        seen = -float(-int(counts[place]) % 64) if known else 0.0  # labels up to the end of the block are skipped
        frames = [[seen, length, np.inf, -np.inf, 0.0, 0.0, 0.0] for length in (np.inf, 128.0)]
        spans = [[0.0] * 9 + [length, 0.0] for length in (256.0, 64.0)]
        arrays[f"{before}frames"], arrays[f"{before}spans"] = np.array(frames), np.array(spans)
        arrays[f"{before}chain"] = np.zeros((8, 8))
    return description, arrays


STEPS: dict[int, Step] = {
    4: from_4,
    5: from_5,
    6: from_6,
    7: from_7,
    8: from_8,
    9: from_9,
    10: from_10,
    11: from_11,
}  # from format n to n + 1


def migrated(format: int, kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """Contents of a file of the given format, turned into those of the present format."""
    for step in range(format, FORMAT):
        description, arrays = STEPS[step](kind, description, arrays)
    return description, arrays
