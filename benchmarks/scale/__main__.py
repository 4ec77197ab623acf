"""python -m benchmarks.scale: see the package."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported: threads that spin are no work
os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.scale import calibrate, curves, local, pictures, terascale, validate
from benchmarks.scale.rows import a9a, enron, shuffled, uniform, zipf
from lowregret import Logistic, zoo
from lowregret.spread.costs import WorkCosts

LEARNERS = {"adagrad": zoo.adagrad(Logistic(), 0.1), "ogd": zoo.ogd(Logistic(), 0.005)}


def calibration(folder: Path, out: Path) -> None:
    """Measure all costs but those of calls, and write them to costs.json."""
    sets = [a9a(folder), shuffled(enron(folder)), zipf(60_000), uniform(60_000)]
    found: dict[str, Any] = {}
    for name, learner in LEARNERS.items():
        costs, kinds = calibrate.calibrated(learner, sets)
        found[name] = {"costs": asdict(costs), "fits": calibrate.residuals(costs, kinds)}
    (out / "costs.json").write_text(json.dumps(found, indent=1))


def costs_of(out: Path, name: str, kind: str = "on Ray") -> WorkCosts:
    """WorkCosts as they were measured."""
    return WorkCosts(**json.loads((out / "costs.json").read_text())[name][kind])


def validation(folder: Path, out: Path, runs: int) -> None:
    """Measure calls on Ray, and compare runs on this machine with what the simulator foretells of them."""
    adult, words, rows = a9a(folder), zipf(60_000), list[validate.Row]()
    found = json.loads((out / "costs.json").read_text())
    with cluster():
        hosts = local.Hosts.start(max(validate.WORKERS))
        for name, learner in LEARNERS.items():
            plain = costs_of(out, name, "costs")
            local.calls_of_ray(hosts, plain, learner, adult, shards(out), 1)  # compiles
            costs, figures = local.calls_of_ray(hosts, plain, learner, adult, shards(out), runs)
            found[name] |= {"on Ray": asdict(costs), "Ray": figures}
            (out / "costs.json").write_text(json.dumps(found, indent=1))
            for data, batch in ((adult, 128), (words, 256), (words, 1024)):
                rows += validate.threads(name, learner, plain, data, batch, runs)
                rows += validate.on_ray(hosts, name, learner, costs, data, batch, runs, shards(out))
                print("\n".join(validate.table(rows)), flush=True)
                (out / "validate.json").write_text(json.dumps(validate.as_json(rows), indent=1))


def shards(out: Path) -> Path:
    folder = out / "shards"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class cluster:
    """Ray on this machine for a while."""

    def __enter__(self) -> None:
        import ray

        ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level=40)

    def __exit__(self, *_: object) -> None:
        import ray

        ray.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["calibrate", "validate", "curves", "terascale", "pictures"])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=Path("out/scale"))
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if "calibrate" in given.what:
        calibration(given.data, given.out)
    if "validate" in given.what:
        validation(given.data, given.out, given.runs)
    if set(given.what) <= {"calibrate", "validate"}:
        return
    costs = {name: costs_of(given.out, name) for name in LEARNERS}
    if "curves" in given.what:
        curves.measure(LEARNERS, costs, given.data, given.out)
    if "terascale" in given.what:
        terascale.tell(LEARNERS["adagrad"], costs["adagrad"])
    if "pictures" in given.what:
        pictures.draw(given.out, Path("docs"))


if __name__ == "__main__":
    main()
