"""Lags that rows bring along in columns: arrival in exact order, whatever the format, and faults by row."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import DataError, Logistic, PartError, delayed, read, train, zoo
from lowregret.cli import main
from lowregret.run.begin import begin
from lowregret.run.lags import Lags
from tests.running import bits

N, D = 300, 3
RNG = np.random.default_rng(8)
X = np.round(RNG.normal(size=(N, D)), 6)
SIGNS = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1, -1)
LAGS = RNG.integers(0, 40, N)
TIMES = 1_700_000_000 + np.cumsum(RNG.integers(0, 3, N)) * 600  # of which several rows share some
WAITS = np.where(RNG.random(N) < 0.2, 0, RNG.integers(0, 20, N)) * 300  # seconds
LEARNER = zoo.ogd_eager(Logistic(), 0.3)


def date(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(float(seconds), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def table(**columns: Any) -> dict[str, list[Any]]:
    """The rows as columns, with further ones."""
    named = {name: X[:, k].tolist() for k, name in enumerate("abc")}
    return named | {"y": SIGNS.tolist()} | {name: list(column) for name, column in columns.items()}


def write(path: Path, columns: dict[str, list[Any]]) -> str:
    """A table as a file of the format that the name tells."""
    rows = list(zip(*columns.values(), strict=True))
    if path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(columns, row, strict=True))) for row in rows))
    elif path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table(columns), path)
    else:
        mark = "\t" if path.suffix == ".tsv" else ","
        lines = [mark.join("" if cell is None else str(cell) for cell in row) for row in [tuple(columns), *rows]]
        path.write_text("\n".join([*lines, ""]))
    return str(path)


def arrivals(times: Any, waits: Any) -> list[tuple[str, int]]:
    """What happens, spelt out: a row is asked once all answers known before its time have come, the earliest first."""
    found: list[tuple[str, int]] = []
    waiting: list[tuple[float, int]] = []
    for s, now in enumerate(times):
        for item in sorted(item for item in waiting if item[0] < now):
            found.append(("answer", item[1]))
            waiting.remove(item)
        found.append(("ask", s))
        waiting.append((now + waits[s], s))
    return found


def naive_scores(times: Any, waits: Any) -> Any:
    """OGD on the logistic loss within the unit ball, with the answers as they arrive."""
    w, scores = np.zeros(D), np.zeros(N)
    for what, s in arrivals(times, waits):
        if what == "ask":
            scores[s] = w @ X[s]
            continue
        w = w + 0.3 * SIGNS[s] / (1 + np.exp(SIGNS[s] * scores[s])) * X[s]
        w /= max(1.0, float(np.linalg.norm(w)))
    return scores


def timed(times: Any = TIMES, waits: Any = WAITS) -> Any:
    """The run of rows with times, in memory and interpreted."""
    return begin(LEARNER, D, delay=0, compiled=False).learn(X, SIGNS.astype(float), delay=Lags(waits, times))


def test_answers_come_when_they_are_known() -> None:
    run = timed()
    assert run.scores == pytest.approx(naive_scores(TIMES, WAITS))
    came = [s for what, s in arrivals(TIMES, WAITS) if what == "answer"]
    asked = np.cumsum([what == "ask" for what, _ in arrivals(TIMES, WAITS)])
    late = [int(asked[k]) - 1 - s for k, (what, s) in enumerate(arrivals(TIMES, WAITS)) if what == "answer"]
    told = run.late.to_json()
    assert (run.rounds, run.pending) == (len(came), N - len(came))
    assert told["lag"] == {"mean": pytest.approx(np.mean(late)), "largest": max(late)}
    assert told["seconds"] == {"mean": pytest.approx(WAITS[came].mean()), "largest": WAITS[came].max()}


def test_times_that_rise_are_no_delay_and_lags_of_nothing_are_at_once() -> None:
    run = timed(np.arange(N, dtype=float), np.zeros(N))
    usual = begin(LEARNER, D, delay=0, compiled=False).learn(X, SIGNS.astype(float))
    assert run.scores.tobytes() == usual.scores.tobytes()
    assert run.pending == 1  # whether a row follows its label is known once a row comes


def test_splitting_by_batches_changes_nothing() -> None:
    whole, run = timed(), begin(LEARNER, D, delay=0, compiled=False)
    for begin_, end in ((0, 1), (1, 90), (90, 91), (91, N)):
        rows = slice(begin_, end)
        run.learn(X[rows], SIGNS[rows].astype(float), delay=Lags(WAITS[rows], TIMES[rows].astype(float)))
        run = type(run).of("here", *run.contents())
    assert bits(whole.state) == bits(run.state)
    assert whole.late.met.tobytes() == run.late.met.tobytes()
    assert bits(whole.deliver().state) == bits(run.deliver().state)


FORMS: dict[str, tuple[dict[str, Any], bool]] = {
    "rows": ({"lag": LAGS}, False),
    "seconds": ({"lag": WAITS, "at": TIMES}, True),
    "seconds after dates": ({"lag": WAITS, "at": [date(t) for t in TIMES]}, True),
    "dates": ({"lag": [date(t) for t in TIMES + WAITS], "at": [date(t) for t in TIMES]}, True),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_table_says_the_same(ending: str, tmp_path: Path) -> None:
    for kind, (columns, has_times) in FORMS.items():
        path = write(tmp_path / f"rows.{ending}", table(**{name: np.array(c).tolist() for name, c in columns.items()}))
        stream = read(path, target="y", delay_column="lag", time_column="at" if has_times else None)
        found = [(batch.lags.copy(), batch.times.copy(), batch.rows.indptr[-1]) for batch in stream.batches()]
        lags, times = (np.concatenate(column) for column in list(zip(*found, strict=True))[:2])
        assert lags.tolist() == (WAITS if has_times else LAGS).tolist(), kind
        assert times.tolist() == (TIMES.tolist() if has_times else []), kind
        assert sum(entries for *_, entries in found) == np.count_nonzero(X)  # they are no features


def test_streams_bring_their_lags(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", table(**FORMS["dates"][0]))
    run = train(LEARNER, read(path, target="y", delay_column="lag", time_column="at"), compiled=False)
    assert run.late is not None
    assert run.scores == pytest.approx(naive_scores(TIMES, WAITS))
    path = write(tmp_path / "rows.csv", table(lag=LAGS))
    run = train(LEARNER, read(path, target="y", delay_column="lag"), compiled=False)
    alike = begin(LEARNER, D, delay=0, compiled=False).learn(X, SIGNS.astype(float), delay=LAGS)
    assert run.scores == pytest.approx(alike.scores)
    with pytest.raises(PartError, match="leave it out"):
        train(LEARNER, read(path, target="y", delay_column="lag"), delay=3)
    for other, why in ((begin(LEARNER, None, compiled=False), "begun so"), (delayed(LEARNER, compiled=False), "own")):
        with pytest.raises(PartError, match=why):
            other.learn(read(path, target="y", delay_column="lag"))


def test_a_cache_keeps_lags(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path, cache = write(tmp_path / "rows.csv", table(**FORMS["dates"][0])), str(tmp_path / "rows.lrc")
    how = ["--target", "y", "--delay-column", "lag", "--time-column", "at"]
    assert main(["convert", path, "-o", cache, *how, "--quiet"]) == 0
    found = [(batch.lags.tolist(), batch.times.tolist()) for batch in read(cache).batches()]
    assert found == [(WAITS.tolist(), TIMES.tolist())]


# ---- the command line ------------------------------------------------------------------------------------------------

TOLD = ["--target", "y", "--positive", "1", "--algorithm", "ogd", "--loss", "logistic", "--delay-column", "lag"]


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = table(**FORMS["dates"][0])
    path, model, scores = write(tmp_path / "rows.csv", columns), str(tmp_path / "m.lr"), tmp_path / "scores"
    half = {name: column[: N // 2] for name, column in columns.items()}
    rest = {name: column[N // 2 :] for name, column in columns.items()}
    first, second = write(tmp_path / "first.csv", half), write(tmp_path / "second.csv", rest)
    told = [*TOLD, "--time-column", "at"]
    assert main(["train", path, *told, "--quiet", "--json", "--predictions", str(scores)]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main(["train", first, *told, "--quiet", "-o", model]) == 0
    assert main(["train", second, "--resume", model, "--quiet", "--json", "-o", model]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert whole["delay"] == resumed["delay"]
    assert whole["loss"] == resumed["loss"]
    assert whole["delay"]["seconds"]["largest"] == WAITS.max()
    assert len(scores.read_text().split()) == N
    assert main(["train", path, *told]) == 0
    said = capsys.readouterr().out
    assert "late       labels came " in said
    assert "minutes, at most 95 minutes)" in said
    bare, made = {name: column for name, column in columns.items() if name in "abc"}, list[str]()
    for data in (path, write(tmp_path / "bare.csv", bare)):  # the columns may be there, and are no features
        assert main(["predict", model, data, "--quiet", "--predictions", str(tmp_path / "made")]) == 0
        made.append((tmp_path / "made").read_text())
    assert made[0] == made[1]


def changed(column: str, row: int, value: Any) -> dict[str, list[Any]]:
    columns = table(**FORMS["dates"][0])
    columns[column][row] = value
    return columns


@pytest.mark.parametrize(
    ("columns", "options", "why"),
    [
        (
            changed("lag", 10, date(TIMES[10] - 60)),
            ["--time-column", "at"],
            ":12: expected a label that is known",
        ),
        (changed("lag", 10, None), ["--time-column", "at"], ":12: expected how late the label comes"),
        (changed("lag", 10, "soon"), ["--time-column", "at"], ":12: expected how late the label comes"),
        (changed("at", 10, None), ["--time-column", "at"], ":12: expected a date or a number of seconds"),
        (changed("at", 10, date(TIMES[9] - 60)), ["--time-column", "at"], ":12: the time goes back by 60 seconds"),
        (changed("y", 10, None), ["--time-column", "at"], ""),
        (table(lag=LAGS - 39), [], ":2: expected how late the label comes"),
        (table(lag=LAGS + 0.5), [], ":2: expected how late the label comes"),
        (table(lag=[date(t) for t in TIMES]), [], ":2: expected how late the label comes"),
        (table(lag=TIMES + WAITS, at=TIMES), ["--time-column", "at"], "numbers in lag are lags"),
        (table(lag=LAGS), ["--delay", "3"], "say one of them"),
        (table(lag=LAGS), ["--passes", "2"], "use --passes 1"),
        (table(lag=LAGS), ["--drop", "lag"], "cannot be both"),
        (table(lag=LAGS), ["--time-column", "when"], "no column 'when'"),
    ],
)
def test_what_cannot_be_read_is_told(
    columns: dict[str, list[Any]], options: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "rows.csv", columns)
    code = main(["train", path, *TOLD, "--quiet", *options])
    assert (code == 0) == (why == "")
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_rows_that_cannot_be_read_are_left_out(ending: str, tmp_path: Path) -> None:
    columns = table(**FORMS["dates"][0])
    columns["lag"][3], columns["lag"][7], columns["at"][200] = None, "soon", None
    columns["lag"][9], columns["y"][11], columns["lag"][11] = date(TIMES[9] - 1), None, None  # 11: no label, no lag
    path = write(tmp_path / f"rows.{ending}", columns)
    stream = read(path, target="y", delay_column="lag", time_column="at", on_error="skip")
    lags, times, faults = list[Any](), list[Any](), list[str]()
    for batch in stream.batches():
        lags.append(batch.lags.copy())
        times.append(batch.times.copy())
        faults += batch.faults
    left = np.delete(np.arange(N), [3, 7, 9, 200])
    waits = np.where(left == 11, np.nan, WAITS[left])
    assert np.array_equal(np.concatenate(lags), waits, equal_nan=True)
    assert np.concatenate(times).tolist() == TIMES[left].tolist()
    first = 2 if ending == "csv" else 1
    assert [int(fault.split(":")[1]) - first for fault in faults] == [3, 7, 9, 200]


def test_a_time_alone_and_formats_without_columns_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", table(at=TIMES))
    with pytest.raises(PartError, match="--delay-column"):
        read(path, target="y", time_column="at")
    with pytest.raises(DataError, match="does not fit svm"):
        read(path, format="svm", delay_column="lag")


def test_tables_of_arrow_have_durations_and_faults() -> None:
    pa = pytest.importorskip("pyarrow")
    waits = pa.array(WAITS.astype("timedelta64[s]").astype("timedelta64[ms]"))
    columns = table(at=TIMES.astype("datetime64[s]"))
    rows = pa.table({**columns, "at": pa.array(columns["at"]), "lag": waits})
    batch = next(iter(read(rows, target="y", delay_column="lag", time_column="at").batches()))
    assert (batch.lags.tolist(), batch.times.tolist()) == (WAITS.tolist(), TIMES.tolist())
    for lag, why in ((-1.0, "how late"), (None, "how late"), ("2001-01-01", "no earlier")):
        bad = pa.table({**columns, "at": pa.array(columns["at"]), "lag": [lag] * N})
        fault = next(iter(read(bad, target="y", delay_column="lag", time_column="at").batches())).fault
        assert fault is not None
        assert why in fault
        assert ":1:" in fault
