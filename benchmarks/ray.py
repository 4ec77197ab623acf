"""Training on Ray beside one process: python -m benchmarks.ray FOLDER [--big FILE] [--sets a,b] [--workers 3]

For each set and learner, the progressive loss and the time of `train` in this process, then on a local Ray: in turns,
and with more and more staleness allowed. Times are without starting Ray, but with starting its actors, and with all
else that the machine does. Prints a table, and writes out/ray.json.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from benchmarks.speed import OUT
from lowregret import Logistic, read, zoo
from lowregret import train as train_here
from lowregret.ray.cluster import cluster
from lowregret.ray.training import train
from lowregret.run.spread import SpreadRun

LEARNERS: dict[str, Any] = {
    "ogd": zoo.ogd(Logistic()),
    "adagrad": zoo.adagrad(Logistic(), 0.1),
    "auto": zoo.auto(features="raw"),
}
STALENESS = (0, 128, 1024, 8192, 65536)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--big", type=Path)
    parser.add_argument("--sets", default="enron_spam,covtype,big")
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--staleness", default=",".join(map(str, STALENESS)))
    parser.add_argument("--workers", type=int, default=3)
    args = parser.parse_args()
    sets = {
        "enron_spam": (args.folder / "enron_spam.svm.gz", {}),
        "covtype": (args.folder / "covtype.csv.gz", {"target": "Cover_Type", "positive": "2"}),
        "big": (args.big, {}),
    }
    found = []
    with cluster("local", args.workers):
        for name in args.sets.split(","):
            for algorithm in args.learners.split(","):
                for row in compared(*sets[name], LEARNERS[algorithm], args.workers, args.staleness):
                    found.append({"set": name, "learner": algorithm, **row})
                    print(json.dumps(found[-1]), flush=True)
    OUT.mkdir(exist_ok=True)
    (OUT / "ray.json").write_text(json.dumps(found, indent=1))


def compared(path: Path, options: Any, learner: Any, workers: int, staleness: str) -> Any:
    """The loss and the time of one process, and on Ray with each staleness."""
    begun = time.perf_counter()
    here = train_here(learner, read(str(path), **options)).mean_loss
    yield {"staleness": None, "loss": here, "seconds": time.perf_counter() - begun}
    for most in map(int, staleness.split(",")):
        begun = time.perf_counter()
        run = train(learner, str(path), workers=workers, servers=2, staleness=most, **options)
        seen = {"mean": run.mean_staleness, "most": run.staleness} if isinstance(run, SpreadRun) else {}
        ratio = run.mean_loss / here
        yield {"staleness": most, "loss": run.mean_loss, "ratio": ratio, **seen, "seconds": time.perf_counter() - begun}


if __name__ == "__main__":
    main()
