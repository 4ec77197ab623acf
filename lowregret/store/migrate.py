"""Files of earlier formats: a step for each, which makes of its contents those of the next.

    def from_4(kind, description, arrays):
        '''Format 5 keeps a further sum, which is 0 in runs from before.'''
        if "sums" in arrays:
            arrays["sums"] = np.append(arrays["sums"], 0.0)
            description["slots"]["sums"].append("bent")
        return description, arrays

    STEPS = {4: from_4}

What a step does not add is not there: a slot or field that is missing in a file of the present format is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Contents = tuple[dict[str, Any], dict[str, Any]]  # description, arrays
Step = Callable[[str, dict[str, Any], dict[str, Any]], Contents]  # given the kind as well

FORMAT = 4  # raised when readers of the one could not make sense of the other
OLDEST = 4  # that can still be read; sums were stored by position before, and rules had other names
STEPS: dict[int, Step] = {}  # from format n to n + 1, for all n from OLDEST on


def migrated(format: int, kind: str, description: dict[str, Any], arrays: dict[str, Any]) -> Contents:
    """What a file of this format holds, as the present one has it."""
    for step in range(format, FORMAT):
        description, arrays = STEPS[step](kind, description, arrays)
    return description, arrays
