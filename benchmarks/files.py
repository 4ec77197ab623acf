"""From file to model, end to end, against the peers in one run: python -m benchmarks.files [--gigabytes 2] [--data DIR]

Every contender is a process of its own; the wall clock counts, with start-up, reading and learning, the best of several
turns. The file cache is warm. Prints a table, writes out/files.json and out/files.png.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import FEATURES, NONZEROS, OUT, stream

ROWS = 200_000
PYTHON = sys.executable
LOSS = "hinge"

SKLEARN = """
import sys
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
x, y = load_svmlight_file(sys.argv[1], n_features=int(sys.argv[2]), zero_based=True)
x.indices, x.indptr = x.indices.astype("int32"), x.indptr.astype("int32")  # else it refuses its own matrices
options = dict(loss="hinge", penalty=None, learning_rate="constant", eta0=1.0, max_iter=1, tol=None, shuffle=False)
SGDClassifier(**options).fit(x, y)
"""

RIVER = """
import sys
from river import linear_model, optim
model = linear_model.LogisticRegression(optimizer=optim.SGD(1.0), loss=optim.losses.Hinge())
for line in open(sys.argv[1]):
    label, *pairs = line.split()
    row = {k: float(v) for k, v in (pair.split(":") for pair in pairs)}
    model.predict_one(row)
    model.learn_one(row, float(label) > 0)
"""


def generate(folder: Path) -> tuple[Path, Path]:
    """200,000 rows of about 72 features, 200 MB, as LIBSVM and as VW text, if they are not there yet."""
    svm, vw = folder / "generated.svm", folder / "generated.vw"
    if not (svm.exists() and vw.exists()):
        x, y = stream(ROWS, NONZEROS, FEATURES)
        pairs = np.char.add(np.char.add((x.indices + 1).astype("U6"), ":"), np.char.mod("%.6g", x.data)).tolist()
        with open(svm, "w") as one, open(vw, "w") as other:
            for i in range(ROWS):
                row = " ".join(pairs[x.indptr[i] : x.indptr[i + 1]])
                one.write(f"{y[i]:.0f} {row}\n")
                other.write(f"{y[i]:.0f} | {row}\n")
    return svm, vw


def repeated(path: Path, times: int) -> Path:
    """The file so many times over."""
    whole = path.with_name(f"{path.stem}x{times}{path.suffix}")
    if times == 1:
        return path
    if not whole.exists() or whole.stat().st_size != times * path.stat().st_size:
        with open(whole, "wb") as out:
            for _ in range(times):
                with open(path, "rb") as part:
                    shutil.copyfileobj(part, out, 1 << 24)
    return whole


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds, and megabytes of memory at the peak (as /proc told last; what wait4 tells includes our own)."""
    memory = 0.0
    with tempfile.TemporaryFile() as problem:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=problem)
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status")
            with suppress(OSError):
                memory = max(memory, *(int(kb) / 1000 for kb in re.findall(r"VmHWM:\s*(\d+)", status.read_text())), 0.0)
            time.sleep(0.005)
        seconds = time.perf_counter() - begin
        problem.seek(0)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: {problem.read().decode()[-500:]}")
    return seconds, memory


def ours(path: Path, *more: str) -> list[str]:
    return [PYTHON, "-m", "lowregret", "train", str(path), "--loss", LOSS, "--algorithm", "ogd", "--quiet", *more]


def theirs(path: Path, *more: str) -> list[str]:
    return [PYTHON, "-m", "vowpalwabbit", "-d", str(path), "--loss_function", LOSS, "-b", "18", "--quiet", *more]


def contest(contenders: dict[str, list[str]], turns: int) -> dict[str, dict[str, float]]:
    """The shortest time of each, taken in turns."""
    found: dict[str, dict[str, float]] = {}
    for turn in range(turns):
        for name, command in contenders.items():
            seconds, memory = timed(command)
            best = found.setdefault(name, {"seconds": seconds, "megabytes": memory})
            best["seconds"] = min(best["seconds"], seconds)
            best["megabytes"] = max(best["megabytes"], memory)
            print(f"  turn {turn + 1}: {name:<28} {seconds:7.2f} s {memory:6.0f} MB", file=sys.stderr)
    return found


def generated(folder: Path, times: int, turns: int, peers: bool) -> dict[str, dict[str, float]]:
    """The generated file so many times over."""
    svm, vw = (repeated(path, times) for path in generate(folder))
    cache = vw.with_suffix(".cache")
    cache.unlink(missing_ok=True)
    for path in (svm, vw):
        with open(path, "rb") as file:
            while file.read(1 << 24):  # warm the file cache
                pass
    contenders = {"lowregret": ours(svm), "lowregret, VW text": ours(vw), "VW": theirs(vw)}
    if peers:
        timed(theirs(vw, "--cache_file", str(cache)))
        contenders["VW, its cache"] = theirs(vw, "--cache_file", str(cache))
        contenders["scikit-learn"] = [PYTHON, "-c", SKLEARN, str(svm), str(FEATURES + 1)]
    found = contest(contenders, turns)
    if peers:
        short = folder / "short.svm"
        with open(svm) as lines:
            short.write_text("".join(line for line, _ in zip(lines, range(ROWS // 20), strict=False)))
        seconds, memory = timed([PYTHON, "-c", RIVER, str(short)])
        found["River (from a twentieth)"] = {"seconds": 20 * seconds, "megabytes": memory}
    return found


def real(data: Path, folder: Path, turns: int) -> dict[str, dict[str, dict[str, float]]]:
    """Real sets, as LIBSVM for us and as VW text for VW, not compressed for either."""
    found = {}
    for name in ("a9a", "enron_spam", "farm_ads", "rcv1_sample"):
        source = data / f"{name}.svm.gz"
        if not source.exists():
            print(f"no {source}: left out", file=sys.stderr)
            continue
        svm, vw = folder / f"{name}.svm", folder / f"{name}.vw"
        with gzip.open(source, "rt") as lines, open(svm, "w") as one, open(vw, "w") as other:
            for line in lines:
                label, _, row = line.partition(" ")
                one.write(line)
                other.write(f"{label} | {row}")
        found[name] = contest({"lowregret": ours(svm), "VW": theirs(vw)}, turns)
    return found


def parsing(folder: Path) -> dict[str, float]:
    """Megabytes a second of one core, from text in memory to rows."""
    from lowregret.stream.buffers import DONE, Buffers
    from lowregret.stream.formats.svm import SvmText
    from lowregret.stream.formats.vw import VwText
    from lowregret.stream.text_format import parse_text

    found = {}
    for form, path in zip((SvmText(), VwText()), generate(folder), strict=True):
        with open(path, "rb") as file:
            text = file.read(64 << 20)
        text = text[: text.rfind(b"\n") + 1]
        raw = np.frombuffer(text + b"\n" * 64, np.uint8)
        out = Buffers.sized(len(text) // 2, form.entries(len(text)))

        def once(form: Any = form, raw: Any = raw, out: Any = out, end: int = len(text)) -> None:
            out.cursor[:] = 0
            assert parse_text(form, raw, end, out) == DONE

        found[path.suffix[1:]] = len(text) / 1e6 / _best(once)
    return found


def _best(call: Callable[[], object], repetitions: int = 7) -> float:
    call()
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def table(title: str, found: dict[str, dict[str, float]]) -> Iterable[str]:
    """Seconds, as a multiple of ours."""
    yield title
    for name, figures in found.items():
        ratio = figures["seconds"] / found["lowregret"]["seconds"]
        yield f"  {name:<28}{figures['seconds']:8.2f} s {ratio:7.2f} × ours {figures['megabytes']:7.0f} MB"


def draw(sets: dict[str, dict[str, dict[str, float]]], path: Path) -> None:
    """Seconds of each contender as a multiple of ours."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    bars = [(f"{title}: {name}", f["seconds"] / found["lowregret"]["seconds"])
            for title, found in sets.items() for name, f in found.items()]  # fmt: skip
    axes.barh([name for name, _ in bars], [ratio for _, ratio in bars])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("seconds from file to model, as a multiple of lowregret's")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run all contests."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--gigabytes", type=int, default=2, help="of the large file (0: leave it out)")
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of real sets")
    arguments.add_argument("--turns", type=int, default=3)
    args = arguments.parse_args()
    OUT.mkdir(exist_ok=True)
    timed(ours(generate(OUT)[0]))  # compile
    figures: dict[str, Any] = {"parsing, MB/s on one core": parsing(OUT)}
    sets = {"200 MB": generated(OUT, 1, args.turns, peers=True)}
    if args.gigabytes:
        sets[f"{args.gigabytes} GB"] = generated(OUT, 5 * args.gigabytes, args.turns, peers=False)
    sets |= real(args.data, OUT, args.turns)
    print(
        "\n".join(f"parsing {name}: {speed:.0f} MB/s" for name, speed in figures["parsing, MB/s on one core"].items())
    )
    for title, found in sets.items():
        print("\n".join(table(title, found)))
    figures |= sets
    (OUT / "files.json").write_text(json.dumps(figures, indent=2))
    draw(sets, OUT / "files.png")


if __name__ == "__main__":
    main()
