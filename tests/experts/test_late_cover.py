"""Intervals of long tables: as a slow loop makes them, which asks all of an origin before it tells any outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret.experts import ConformalIntervals, long_table
from lowregret.experts.late_cover import OriginIntervals
from tests.cli.running import run

AHEAD = 3


def table(series: int = 2, origins: int = 25) -> dict[str, Any]:
    """Forecasts made anew after every step: up to three are on their way at once."""
    rng = np.random.default_rng(0)
    which, origin, h = (a.ravel() for a in np.mgrid[:series, :origins, 1 : AHEAD + 1])
    y = np.round(rng.normal(size=which.size) * (1 + which) * h, 3)
    y[rng.random(y.size) < 0.1] = np.nan
    said = np.round(rng.normal(size=y.size) * 0.1, 3)
    return {"unique_id": which, "ds": origin + h, "cutoff": origin, "h": h, "y": y, "m": said}


@pytest.mark.parametrize("weighing", ["pooled", "series", "horizon", "shrunk"])
def test_they_know_what_the_origin_knew(weighing: str) -> None:
    t = table()
    group = {"pooled": 0 * t["h"], "horizon": t["h"]}.get(weighing, t["unique_id"])
    made = {g: ConformalIntervals(0.8, compiled=False) for g in set(group.tolist())}
    ends, numbers, told = np.full((len(group), 2), np.nan), dict[int, int](), set[int]()
    order = sorted(range(len(group)), key=lambda i: (t["ds"][i], t["cutoff"][i], t["unique_id"][i]))

    def tell(until: float) -> None:
        for i in order:
            if i in numbers and i not in told and t["ds"][i] <= until and not np.isnan(t["y"][i]):
                told.add(i)
                made[group[i]].tell(numbers[i], t["y"][i])

    for origin in range(t["cutoff"].max() + 1):
        tell(origin)
        for i in np.flatnonzero(t["cutoff"] == origin).tolist():
            numbers[i], ends[i] = made[group[i]].ask(t["m"][i])
    tell(np.inf)
    found = OriginIntervals.of(0.8, long_table(t), t["m"], weighing)
    np.testing.assert_array_equal(np.column_stack([found.lower, found.upper]), ends)
    assert sorted(found.coverages.values()) == sorted(one.coverage for one in made.values())
    assert all(c.holds and c.delay > 0 for c in found.coverages.values())
    inside = np.isfinite(ends[:, 0]) & ~np.isnan(t["y"])
    realised = np.mean((ends[inside, 0] <= t["y"][inside]) & (t["y"][inside] <= ends[inside, 1]))
    assert found.to_json()["realised"] == pytest.approx(realised)
    assert found.to_json()["low"] <= realised <= found.to_json()["high"]


def test_later_outcomes_change_nothing_before() -> None:
    t = table()
    other = t | {"y": np.where(t["ds"] > 12, t["y"] + 100, t["y"])}
    one, two = (OriginIntervals.of(0.8, long_table(c), t["m"], "pooled") for c in (t, other))
    early = t["cutoff"] <= 12
    np.testing.assert_array_equal(one.lower[early], two.lower[early])
    assert np.any(one.lower[~early] != two.lower[~early])


def test_the_command_line_tells_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    t = table()
    rows = zip(*(column.tolist() for column in t.values()), strict=True)
    lines = [",".join(t), *(",".join("" if v != v else str(v) for v in row) for row in rows)]
    path, out = tmp_path / "t.csv", tmp_path / "p.csv"
    path.write_text("\n".join(lines) + "\n")
    words = ["experts", path, "--algorithm", "ml-poly", "--coverage", "0.8", "--predictions", out]
    told = run(capsys, *words)
    assert told.code == 0, told.err
    assert "in the worst of 2 groups" in told.out
    found = OriginIntervals.of(0.8, long_table(t), t["m"], "series")
    assert out.read_text().splitlines()[0] == "unique_id,ds,cutoff,h,forecast,lower,upper"
    assert [float(line.split(",")[-1]) for line in out.read_text().splitlines()[1:]] == pytest.approx(found.upper)
    assert run(capsys, *words, "--json").json["coverage"] == pytest.approx(found.to_json())


def test_of_no_outcome_nothing_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("unique_id,ds,cutoff,y,a,b\nx,1,0,,2,3\nz,1,0,,4,5\n")
    words = ["experts", path, "--algorithm", "ml-poly", "--coverage", "0.8"]
    told = run(capsys, *words, "--json").json
    assert told["loss"] == {"name": "square", "total": 0.0, "mean": None}
    assert (told["coverage"]["realised"], told["coverage"]["low"], told["coverage"]["high"]) == (None, 0, 1)
    assert "coverage         of no outcome yet" in run(capsys, *words).out
