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

from benchmarks.scale import calibrate, curves, local, terascale, validate  # noqa: E402
from benchmarks.scale.rows import Data, a9a, enron, shuffled, uniform, zipf  # noqa: E402
from lowregret import Logistic, zoo  # noqa: E402
from lowregret.spread.costs import Costs  # noqa: E402

LEARNERS = {"adagrad": zoo.adagrad(Logistic(), 0.1), "ogd": zoo.ogd(Logistic(), 0.1)}


def part(data: Data, rows: int) -> Data:
    return Data(data.name, data.x[:rows], data.y[:rows])


def calibration(folder: Path, out: Path) -> None:
    """Measure all costs, and write them to costs.json."""
    sets = [a9a(folder), shuffled(enron(folder)), zipf(60_000), uniform(60_000)]
    found: dict[str, Any] = {}
    with ray():
        for name, learner in LEARNERS.items():
            costs, kinds = calibrate.calibrated(learner, sets)
            fits = calibrate.residuals(costs, kinds)
            with_calls, figures = local.calls_of_ray(costs, learner, sets[0], shards(out))
            found[name] = {"costs": asdict(costs), "on Ray": asdict(with_calls), "fits": fits, "Ray": figures}
            print(name, json.dumps(found[name]), flush=True)
    (out / "costs.json").write_text(json.dumps(found, indent=1))


def costs_of(out: Path, name: str, kind: str = "on Ray") -> Costs:
    """Costs as they were measured."""
    return Costs(**json.loads((out / "costs.json").read_text())[name][kind])


def validation(folder: Path, out: Path, runs: int) -> None:
    """Compare runs on this machine with what the simulator foretells of them."""
    words, mails = zipf(120_000), shuffled(enron(folder))
    plans = [("adagrad", a9a(folder), 256), ("adagrad", part(mails, 12_000), 256), ("adagrad", words, 1024)]
    plans += [("ogd", a9a(folder), 64)]
    rows: list[validate.Row] = []
    with ray():
        for name, data, batch in plans:
            learner = LEARNERS[name]
            rows += validate.threads(name, learner, costs_of(out, name, "costs"), data, batch, runs)
            rows += validate.on_ray(name, learner, costs_of(out, name), data, batch, runs, shards(out))
            print("\n".join(validate.table(rows)), flush=True)
            (out / "validate.json").write_text(json.dumps(validate.as_json(rows), indent=1))


def shards(out: Path) -> Path:
    folder = out / "shards"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class ray:
    """Ray on this machine for a while."""

    def __enter__(self) -> None:
        from ray import init

        init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")

    def __exit__(self, *_: object) -> None:
        from ray import shutdown

        shutdown()


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
        curves.draw(given.out, Path("docs"))


if __name__ == "__main__":
    main()
