"""Speed, always as a ratio to a peer in the same run: python -m benchmarks.speed

Every contender runs on the same arrays on one core; the best of several alternating repetitions counts, because these
are the least disturbed ones. Writes out/speed.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from lowregret import Constant, Euclidean, Hinge, L2Ball, Linear, MirrorDescent, ProjectedGradient, train, zoo

ROWS, NONZEROS, FEATURES = 200_000, 72, 47_236
ETA, RADIUS = 1.0, 1000.0  # large enough for both to follow the same path as the peer, which does not project
OUT = Path("out")


def stream(rows: int, nonzeros: int, features: int, seed: int = 0) -> tuple[sp.csr_matrix, Any]:
    """Random sparse float32 rows with ±1 labels of a linear rule."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.integers(0, features, (rows, nonzeros)), axis=1).ravel().astype(np.int32)
    pointers = np.arange(0, rows * nonzeros + 1, nonzeros, dtype=np.int32)
    x = sp.csr_matrix((rng.random(rows * nonzeros, dtype=np.float32), columns, pointers), (rows, features))
    x.sum_duplicates()
    return x, np.where(np.asarray(x @ rng.normal(size=features)) > 0, 1.0, -1.0)


def best_times(contenders: dict[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """The shortest time of each, taken in turns so that disturbances hit all alike."""
    times = dict.fromkeys(contenders, float("inf"))
    for call in contenders.values():
        call()  # compile, warm the caches
    for _ in range(repetitions):
        for name, call in contenders.items():
            begin = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - begin)
    return times


def against_sgd(repetitions: int = 15) -> dict[str, float]:
    """Rows per second as a multiple of scikit-learn's SGDClassifier."""
    x, y = stream(ROWS, NONZEROS, FEATURES)
    peer = SGDClassifier(
        loss="hinge", penalty=None, learning_rate="constant", eta0=ETA, max_iter=1, tol=None, shuffle=False
    )
    lazy = Linear(Hinge(), MirrorDescent(Euclidean(L2Ball(RADIUS)), Constant(ETA)))
    eager = Linear(Hinge(), ProjectedGradient(L2Ball(RADIUS), Constant(ETA)))
    times = best_times(
        {
            "peer": lambda: peer.fit(x, y),
            "lazy, certified": lambda: train(lazy, x, y),
            "eager, certified": lambda: train(eager, x, y),
            "lazy, uncertified": lambda: train(lazy, x, y, certify=False),
            "eager, uncertified": lambda: train(eager, x, y, certify=False),
        },
        repetitions,
    )
    return {name: times["peer"] / t for name, t in times.items() if name != "peer"}


def scaling(repetitions: int = 5) -> dict[str, dict[str, float]]:
    """Time when rows get four times as long, and when the space gets a hundred times as large around the same rows."""
    ratios = {}
    for name in ("eg", "pnorm", "ueg"):
        times = {}
        for nonzeros, features in ((25, 10_000), (100, 10_000), (100, 1_000_000)):
            x, y = stream(20_000, nonzeros, 10_000)
            x = sp.csr_matrix((x.data, x.indices, x.indptr), (x.shape[0], features))
            learner = {
                "eg": zoo.eg(Hinge(), 0.01, total=10.0),
                "pnorm": zoo.pnorm(Hinge(), 0.01, p=8.0),
                "ueg": zoo.ueg(Hinge(), 0.01, features),
            }[name]
            run = train(learner, x, y)
            times[nonzeros, features] = best_times({"": lambda run=run, x=x, y=y: run.learn(x, y)}, repetitions)[""]  # type: ignore[misc]
        ratios[name] = {
            "4 times the non-zeros": times[100, 10_000] / times[25, 10_000],
            "100 times the dimension": times[100, 1_000_000] / times[100, 10_000],
        }
    return ratios


START = """
import time
begin = time.perf_counter()
from lowregret import Hinge, train, zoo
imported = time.perf_counter()
import numpy as np, scipy.sparse as sp
x, y = sp.csr_matrix(np.eye(3, dtype=np.float32)), np.ones(3)
prepared = time.perf_counter()
train(zoo.ogd_lazy(Hinge(), 0.1, 10.0), x, y)
print(imported - begin + time.perf_counter() - prepared)
"""


def start_up() -> dict[str, float]:
    """Seconds to import, compose and make the first call: never compiled before, and in a second process."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {"NUMBA_CACHE_DIR": cache, "PATH": "/usr/bin:/bin"}
        calls = [
            subprocess.run([sys.executable, "-c", START], env=environment, capture_output=True, text=True, check=True)
            for _ in range(4)
        ]
    seconds = [float(call.stdout) for call in calls]
    return {"first ever": seconds[0], "second process": min(seconds[1:])}


def main() -> None:
    """Print the tables and write the figures."""
    figures: dict[str, Any] = {"rows per second, multiple of SGDClassifier": against_sgd()}
    for name, ratio in figures["rows per second, multiple of SGDClassifier"].items():
        wanted = 1.8 if name.endswith("uncertified") else 1.5
        print(f"{name:<22}{ratio:5.2f} × SGDClassifier   (wanted ≥ {wanted})")
    figures["time, as a multiple"] = scaling()
    for name, ratios in figures["time, as a multiple"].items():
        print(f"{name:<22}" + "   ".join(f"{what}: {ratio:.2f} ×" for what, ratio in ratios.items()))
    figures["seconds to the first result"] = start_up()
    for name, seconds in figures["seconds to the first result"].items():
        print(f"{name:<22}{seconds:5.2f} s to import, compose and make the first call")
    OUT.mkdir(exist_ok=True)
    (OUT / "speed.json").write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
