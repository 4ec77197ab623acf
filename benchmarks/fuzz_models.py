"""Model files under attack: arrays and numbers of valid ones are changed, and checksums made to fit again.

    python -m benchmarks.fuzz_models --changes 100000

Changes are blind, or crafted so that what is changed fits the rest (`crafted_models.py`). Whatever is changed, a file
is refused with a `StoreError`, or what is in it goes on: it answers questions (`questions.py`), learns and is saved, or
says with an error of ours why it cannot. A crash, an endless loop or any other error ends the worker that met it,
and is reported with the seed that leads to it again.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import math
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.crafted_models import crafted
from benchmarks.questions import questions
from lowregret.errors import LowRegretError, StoreError
from lowregret.store import file as store
from lowregret.store.kinds import class_of, load
from lowregret.store.migrate import OLDEST
from tests.models.examples import EXAMPLES

FOLDER = Path(__file__).parent.parent / "tests" / "models"
ASKED = 4  # questions, of those that there are
PATIENCE = 300.0  # seconds without progress, after which a worker hangs; some of them compile
SHAPES = ((-1,), (1, -1), (-1, 1), (1, 1, -1), (-1, 1, 1))
TYPES = ("f8", "f4", "i8", "u8", "u4", "u1", "?")
FLOATS = (math.nan, math.inf, -math.inf, -1.0, 0.0, 0.5, 1e300, -1e300, 5e-324, 2.0**45, 2.0**63)
WHOLES = (-1, 0, 1, 2, 7, 255, 2**31, 2**45, 2**62, 2**63 - 1, -(2**63))
VALUES: tuple[Any, ...] = (
    *FLOATS,
    *WHOLES,
    *(10**30, -(10**400), True, False, None, "", "text", [], [1], {}, {"a": 1}, {"part": "Hinge"}, [[]]),
)

Contents = tuple[dict[str, Any], dict[str, Any]]


class Counts(NamedTuple):
    """Changed files, by what became of them."""

    changes: int = 0
    refused: int = 0
    used: int = 0
    failed: int = 0  # with an error of ours, after they were loaded


# ---- changing -------------------------------------------------------------------------------------------------------


def changed_array(rng: random.Random, array: Any) -> Any:
    """Another shape, another type, or other numbers."""
    match rng.randrange(9):
        case 0:
            return array[: rng.randint(0, len(array))]
        case 1:
            return np.concatenate([array, array[: rng.randint(1, 3)]])
        case 2:
            return array[..., : rng.randint(0, array.shape[-1])]
        case 3:
            return np.concatenate([array, array[..., :1]], axis=-1)
        case 4:
            with np.errstate(invalid="ignore", over="ignore"):
                return array.astype(rng.choice(TYPES))
        case 5:
            return array.reshape(rng.choice(SHAPES) if array.size else (0, 0))
        case 6:
            return np.zeros_like(array) if rng.random() < 0.5 else array[::-1].copy()
        case _:
            return with_number(rng, array.copy())


def with_number(rng: random.Random, array: Any) -> Any:
    """One number is another one, or all are."""
    if not array.size:
        return np.zeros(rng.randint(1, 3), array.dtype)
    kind = array.dtype
    with np.errstate(invalid="ignore", over="ignore"):
        value = np.array(rng.choice(FLOATS if kind.kind == "f" else WHOLES)).astype(kind)
    if rng.random() < 0.1:
        array[...] = value
    else:
        array.reshape(-1)[rng.randrange(array.size)] = value
    return array


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a description."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += leaves(inner, (*path, key))
    return found


def changed_description(rng: random.Random, description: dict[str, Any]) -> None:
    """Change, drop or add something in a description, where it stands."""
    first = rng.choice(list(description))  # else names of slots, which are many, would be changed most of the time
    *path, last = (first, *rng.choice([(), *leaves(description[first])]))
    inside: Any = description
    for key in path:
        inside = inside[key]
    match rng.randrange(8):
        case 0:
            del inside[last]
        case 1:
            inside.insert(last, copy.deepcopy(inside[last])) if isinstance(inside, list) else inside.update(more=1)
        case 2 if isinstance(inside[last], list) and inside[last]:
            rng.shuffle(inside[last])
        case _:
            inside[last] = copy.deepcopy(rng.choice(VALUES))


def changed(rng: random.Random, contents: Contents) -> Contents:
    """A description and arrays, changed in one place or two."""
    description, arrays = copy.deepcopy(contents[0]), dict(contents[1])
    for _ in range(rng.choice((1, 1, 1, 2))):
        name = rng.choice(list(arrays) or [""])
        match rng.randrange(10 if arrays else 4):
            case 0 | 1 | 2 | 3:
                changed_description(rng, description)
            case 4 if len(arrays) > 1:
                other = rng.choice(list(arrays))
                arrays[name], arrays[other] = arrays[other], arrays[name]
            case 5 if rng.random() < 0.3:
                del arrays[name]
            case 6 if rng.random() < 0.3:
                arrays["more"] = np.zeros(3)
            case _:
                arrays[name] = changed_array(rng, arrays[name])
    return description, arrays


def changed_bytes(rng: random.Random, path: Path) -> None:
    """A file whose header says something else, perhaps an earlier format, with a checksum that fits."""
    with open(path, "rb") as file:
        header = store._header(file, path)
    body = path.read_bytes()
    end = len(body) - store._LENGTH - store._DIGEST
    begin = end - int.from_bytes(body[end : end + store._LENGTH], "little")
    if rng.random() < 0.5:
        header["format"] = rng.randint(OLDEST, store.FORMAT)
    else:
        changed_description(rng, header)
    if rng.random() < 0.2:
        at = rng.randrange(len(store.MAGIC), max(begin, len(store.MAGIC) + 1))
        body = body[:at] + bytes([rng.randrange(256)]) + body[at + 1 :]
    told = json.dumps(header).encode()
    whole = body[:begin] + told + len(told).to_bytes(store._LENGTH, "little")
    path.write_bytes(whole + hashlib.sha256(whole).digest())


# ---- trying ---------------------------------------------------------------------------------------------------------


def tried(name: str, kind: str, contents: Contents, rng: random.Random, folder: Path) -> Counts:
    """Change a file in one way, load it, and go on with what is in it."""
    path, example = folder / f"{name}.lr", EXAMPLES[name]
    description, arrays = changed(rng, contents) if rng.random() < 0.5 else crafted(rng, *contents)
    try:
        if rng.random() < 0.1:
            store.write(path, kind, description, arrays)
            if rng.random() < 0.5:
                changed_bytes(rng, path)
            thing = load(path)
        else:
            own = {key: array.copy() for key, array in arrays.items()}
            thing = class_of(kind).from_file(path, json.loads(json.dumps(description)), own)
    except StoreError:
        return Counts(1, refused=1)
    asked = rng.sample(found := list(questions(thing)), min(ASKED, len(found)))
    steps = [lambda: (str(thing), repr(thing)), *(ask for _, ask in asked), lambda: example.more(thing)]
    rng.shuffle(steps)
    failed = sum(not _survived(step) for step in (*steps, lambda: load(thing.save(path))))
    return Counts(1, failed=1) if failed else Counts(1, used=1)


def _survived(step: Callable[[], Any]) -> bool:
    """Whether a step was done; False if it ended with an error of ours."""
    try:
        step()
    except (LowRegretError, OverflowError):  # of parameters such as 1e300, which Python's floats cannot square
        return False
    return True


def fuzzed(name: str, changes: int, seed: int, compiled: bool, at: int = 0) -> Counts:
    """Try so many changes of a stored file, from number `at` on; tells on standard output how far it has come."""
    path, counts = FOLDER / f"{name}.lr", Counts()
    kind = store.kind_of(path)
    description, arrays = store.read(path, kind)
    for told in (description, *(value for key, value in description.items() if key.startswith("lane "))):
        if "compiled" in told:
            told["compiled"] = compiled
    own = {key: array.copy() for key, array in arrays.items()}
    class_of(kind).from_file(path, json.loads(json.dumps(description)), own)  # else everything would be refused
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(at, changes):
            if compiled:
                print(number, *counts, flush=True)
            rng = random.Random(f"{name} {seed} {number}")
            try:
                more = tried(name, kind, (description, arrays), rng, Path(folder))
            except Exception as error:
                raise AssertionError(
                    f"{name}, seed {seed}, change {number}: {type(error).__name__}: {error}"
                ) from error
            counts = Counts(*(a + b for a, b in zip(counts, more, strict=True)))
    return counts


# ---- workers --------------------------------------------------------------------------------------------------------


def watched(name: str, changes: int, seed: int, fuzzer: str = "benchmarks.fuzz_models") -> tuple[Counts, list[str]]:
    """Let a fuzzer work in a process of its own, again from the next change on after each that ended it."""
    at, total, faults = 0, Counts(), []
    while at < changes:
        words = [sys.executable, "-m", fuzzer, "--worker", name, "--at", str(at)]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            worker = subprocess.Popen(
                [*words, "--changes", str(changes), "--seed", str(seed)], stdout=out, stderr=err, text=True
            )
            stuck = _wait(worker, out)
            out.seek(0)
            err.seek(0)
            *_, last = out.read().splitlines() or [f"{at} 0 0 0 0"]
            number, *counts = map(int, last.split())
            total = Counts(*(a + b for a, b in zip(total, counts, strict=True)))
            if worker.returncode == 0:
                break
            said = "endless loop" if stuck else f"exit {worker.returncode}: {err.read().strip().splitlines()[-1:]}"
            faults.append(f"{name}, seed {seed}, change {number}: {said}")
            at = number + 1
    return total, faults


def _wait(worker: subprocess.Popen[str], out: Any) -> bool:
    """Wait for a worker to end; True if it had to be ended because nothing happened any more."""
    size, since = 0, time.monotonic()
    while worker.poll() is None:
        time.sleep(0.05)
        now = Path(f"/proc/self/fd/{out.fileno()}").stat().st_size
        if now > size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            worker.kill()
            worker.wait()
            return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=100_000, help="in all, shared by the files")
    parser.add_argument("--files", nargs="*", choices=list(EXAMPLES), default=list(EXAMPLES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", choices=list(EXAMPLES), help=argparse.SUPPRESS)
    parser.add_argument("--at", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        counts = fuzzed(options.worker, options.changes, options.seed, True, options.at)
        print(options.changes, *counts)
        return
    faults: list[str] = []
    for name in options.files:
        begin = time.perf_counter()
        counts, more = watched(name, -(-options.changes // len(options.files)), options.seed)
        print(f"{name}: {counts._asdict()} in {time.perf_counter() - begin:.1f} s", flush=True)
        print(*more, sep="\n", end="\n" * bool(more), flush=True)
        faults += more
    if faults:
        sys.exit(f"{len(faults)} changes were neither refused nor survived")


if __name__ == "__main__":
    main()
