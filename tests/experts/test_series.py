"""Mixtures of many series: equal to a slow loop over origins, and never beyond their certificates."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import Square
from lowregret.errors import DataError, PartError
from lowregret.experts import (
    AdaHedge,
    ExpertMixture,
    FixedShare,
    Hedge,
    Layered,
    LongTable,
    MLPoly,
    SeriesMixture,
    Squint,
    long_table,
)
from lowregret.experts.origins import horizons
from lowregret.experts.series_keys import WEIGHTS
from lowregret.stream.table import read_table
from tests.experts import naive
from tests.experts.cases import random_rounds
from tests.experts.naive_series import loop

CROSS_VALIDATION = Path(__file__).parent / "cross_validation.csv"  # statsforecast 2.1.1 wrote it, of series made up


def table_of(series: int, origins: int, ahead: int, experts: int, seed: int = 0, step: int = 3) -> dict[str, Any]:
    """A table in Nixtla's layout: origins overlap, experts are better in some series than in others."""
    rng = np.random.default_rng(seed)
    s, o, h = (a.ravel() for a in np.mgrid[:series, :origins, 1 : ahead + 1])
    y = np.round(rng.normal(10, 2, s.size), 3)
    errors = rng.uniform(0.2, 2, (series, experts))[s] * rng.normal(size=(s.size, experts))
    x = np.round(y[:, None] + errors, 3)
    keys = {"unique_id": np.array([f"s{k}" for k in s]), "ds": step * o + h, "cutoff": step * o, "y": y}
    return keys | {f"m{i}": x[:, i] for i in range(experts)}


def rows_of(table: Any) -> list[Any]:
    """The same for the slow loop."""
    given = long_table(table)
    assert given.cutoff is not None
    _, series = np.unique(given.series, return_inverse=True)
    steps = horizons(series, given.time, given.cutoff)
    return list(zip(given.series, given.time, given.cutoff, steps, given.x, given.y, strict=True))


def mixture_of(table: dict[str, Any], **options: Any) -> SeriesMixture:
    return SeriesMixture([name for name in table if name.startswith("m")], **options)


def picked(table: dict[str, Any], at: Any) -> dict[str, Any]:
    return {name: column[at] for name, column in table.items()}


def exact_regrets(table: dict[str, Any], mixture: SeriesMixture, p: Any) -> Any:
    """ℓ(p_t) − ℓ(x_t[k]) of every row, 0 where expert k slept, from the definition."""
    given = long_table(table)
    own = np.array([mixture.way.loss.at(a, b)[0] for a, b in zip(p, given.y, strict=True)])
    losses = [[mixture.way.loss.at(v, b)[0] for v in row] for row, b in zip(given.x, given.y, strict=True)]
    return np.where(np.isnan(given.x), 0.0, own[:, None] - np.array(losses))


def state(mixture: SeriesMixture) -> dict[str, bytes]:
    """All numbers, to the last bit."""
    arrays = mixture.contents()[1]
    return {name: arrays[name].tobytes() for name in sorted(arrays) if name != "waiting.number"}


@pytest.mark.parametrize("weighing", WEIGHTS)
@pytest.mark.parametrize(("aggregator", "weigh"), [(None, None), (MLPoly(), naive.ml_poly())])
def test_an_origin_asks_all_before_it_learns(weighing: str, aggregator: Any, weigh: Any) -> None:
    table = table_of(3, 4, 5, 3)
    table["m1"][::7] = math.nan
    mixture = mixture_of(table, weights=weighing, aggregator=aggregator).learn(table)
    given, found = loop(rows_of(table), weighing, Square(), weigh)
    np.testing.assert_allclose(mixture.forecasts, given, rtol=1e-9)
    mixture.deliver()
    y = table["y"]
    assert mixture.loss == pytest.approx(np.sum((np.array(given) - y) ** 2), rel=1e-9)
    assert mixture.drift == pytest.approx(mixture.loss - np.sum((np.array(found) - y) ** 2), rel=1e-9)
    assert mixture.rounds == y.size
    assert mixture.pending == 0


@pytest.mark.parametrize("weighing", ["pooled", "shrunk"])
def test_real_output_of_a_backtest(weighing: str) -> None:
    """statsforecast's `cross_validation`: months, cutoffs that overlap, intervals beside the forecasts."""
    with CROSS_VALIDATION.open() as file:
        lines = list(csv.DictReader(file))
    texts = {name: np.array([line[name] for line in lines]) for name in lines[0]}
    kept = ("unique_id", "ds", "cutoff")
    table = {name: a if name in kept else a.astype(float) for name, a in texts.items()}
    models = ["Naive", "SeasonalNaive", "HistoricAverage", "RWD"]
    assert long_table(table).names == models
    mixture = SeriesMixture(models, weights=weighing).learn(table)
    given, _ = loop(rows_of(table), weighing, Square(), None)
    np.testing.assert_allclose(mixture.forecasts, given, rtol=1e-9)
    assert mixture.keys.series == ["airport", "bakery", "cinema"]
    assert mixture.pending == 3 * (3 + 6)  # of times after the last origin: nobody knew them when anything was asked


def test_fourteen_horizons_of_a_competition() -> None:
    """Series, origin and horizon, as numbers: an outcome h = 1 is not known to h = 2."""
    nixtla = table_of(2, 3, 14, 3, step=14)
    named = {"series": nixtla["unique_id"], "origin": nixtla["cutoff"], "h": nixtla["ds"] - nixtla["cutoff"]}
    table = named | {name: nixtla[name] for name in ("y", "m0", "m1", "m2")}
    mixture = mixture_of(table, weights="series").learn(table)
    np.testing.assert_array_equal(mixture.forecasts, mixture_of(nixtla, weights="series").learn(nixtla).forecasts)
    given, _ = loop(rows_of(table), "series", Square(), None)
    np.testing.assert_allclose(mixture.forecasts, given, rtol=1e-9)
    plain = Layered(3).learn(np.column_stack([table[f"m{i}"] for i in range(3)]), table["y"]).forecasts
    first = table["origin"] == 0
    np.testing.assert_allclose(mixture.forecasts[first], np.mean([table[f"m{i}"] for i in range(3)], axis=0)[first])
    assert not np.allclose(plain[first], mixture.forecasts[first])  # row by row, h = 2 knows h = 1


@pytest.mark.parametrize("aggregator", [None, AdaHedge(), FixedShare(0.1, 0.1)])
def test_one_series_one_step_ahead_is_an_ordinary_mixture(aggregator: Any) -> None:
    x, y = random_rounds(60, 3, 4)
    given = LongTable(["a", "b", "c"], x, y, np.full(60, "one"), np.arange(60.0), None, None, False)
    linearised = not isinstance(aggregator, FixedShare)
    options = {"aggregator": aggregator, "weights": "pooled", "linearised": linearised}
    mixture = SeriesMixture(["a", "b", "c"], **options).learn(given).deliver()
    plain = Layered(3) if aggregator is None else ExpertMixture(3, aggregator, linearised=linearised)
    np.testing.assert_array_equal(mixture.forecasts, plain.learn(x, y).forecasts)
    assert mixture.loss == plain.loss
    assert mixture.drift == 0
    found, other = mixture.certificate, plain.certificate
    assert found.bound == pytest.approx(other.bound)
    assert (found.id, found.linear_regret) == (other.id, other.linear_regret)
    np.testing.assert_allclose(mixture.weights[0], plain.weights, rtol=1e-12)


# ---- certificates ---------------------------------------------------------------------------------------------------


def adversary(seed: int) -> dict[str, Any]:
    """Outcomes against what an expert has just been good at, many at once, so that they find other weights."""
    table = table_of(2, 6, 12, 3, seed=seed, step=4)
    flip = np.where((table["cutoff"] // 4) % 2 == 0, 1.0, -1.0)
    table["y"] = flip * 10
    return table | {"m0": flip * 10, "m1": -flip * 10 + 0.1, "m2": np.zeros(flip.size)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("weighing", WEIGHTS)
@pytest.mark.parametrize("aggregator", [None, MLPoly(), Squint(), Hedge(0.01), AdaHedge()])
@pytest.mark.parametrize("make", [lambda: table_of(3, 5, 6, 3, seed=2), lambda: adversary(1)])
def test_regret_stays_below_the_bound_with_drift(weighing: str, aggregator: Any, make: Any) -> None:
    table = make()
    mixture = mixture_of(table, weights=weighing, aggregator=aggregator).learn(table)
    p = mixture.forecasts
    mixture.deliver()
    regrets = exact_regrets(table, mixture, p)
    np.testing.assert_allclose(mixture.regrets, regrets.sum(0), rtol=1e-9, atol=1e-9)
    groups = {"pooled": np.zeros(p.size), "horizon": table["ds"] - table["cutoff"]}.get(weighing, table["unique_id"])
    best = sum(regrets[groups == g].sum(0).max() for g in np.unique(groups))
    for found in mixture.certificates:
        expected = regrets.sum(0).max() if found.id.startswith("SHRUNK") else best
        assert found.details["to_experts"] == pytest.approx(expected, rel=1e-9)
        assert found.holds
        assert found.details["to_experts"] <= found.proved
        assert found.id.endswith("+DRIFT")
    x = long_table(table).x
    rng = np.random.default_rng(3)
    for u in rng.dirichlet(np.full(3, 0.3), 20):  # the same weights for all are among those of every group
        to_u = mixture.loss - float(np.sum((x @ u - table["y"]) ** 2))
        assert to_u <= mixture.certificate.proved + 1e-9


def test_without_its_drift_the_bound_would_be_wrong() -> None:
    """One expert is right a thousand times, and all forecasts are made before anybody knows it."""
    n = 1000
    x = np.column_stack([np.zeros(n), np.ones(n)])
    time = np.arange(1.0, n + 1)
    table = LongTable(["a", "b"], x, np.zeros(n), np.full(n, "s"), time, np.zeros(n), None, False)
    mixture = SeriesMixture(["a", "b"], aggregator=AdaHedge(), weights="pooled").learn(table).deliver()
    found = mixture.certificate
    assert mixture.regret == pytest.approx(250)
    assert found.holds
    assert found.bound - mixture.drift < 10


def test_those_who_slept_are_no_rivals_through_lanes() -> None:
    table = table_of(2, 5, 4, 3)
    table["m2"][table["unique_id"] == "s1"] = math.nan
    table["m0"][3] = math.nan
    mixture = mixture_of(table, weights="series").learn(table)
    p = mixture.forecasts
    regrets, s = exact_regrets(table, mixture, p), table["unique_id"]
    expected = max(regrets[s == "s0", 1].sum(), regrets[s == "s0", 2].sum()) + regrets[s == "s1"].sum(0)[:2].max()
    assert mixture.deliver().certificate.details["to_experts"] == pytest.approx(expected)
    assert mixture.certificate.holds
    single = mixture_of(table, weights="series", aggregator=MLPoly()).learn(table).deliver()
    assert single.certificate.holds
    table["m1"][-3] = table["m0"][-2] = math.nan  # nobody in s1 is left who never slept
    nobody = mixture_of(table, weights="series").learn(table).deliver().certificate
    assert not nobody.holds
    assert "never slept" in nobody.premises[-1].name


# ---- in parts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighing", WEIGHTS)
def test_parts_files_and_order_change_no_bit(weighing: str, tmp_path: Path) -> None:
    table = table_of(3, 6, 5, 3)
    whole = mixture_of(table, weights=weighing).learn(table)
    shuffled = np.random.default_rng(0).permutation(table["y"].size)
    again = mixture_of(table, weights=weighing).learn(picked(table, shuffled))
    np.testing.assert_array_equal(again.forecasts, whole.forecasts[shuffled])
    parts, said = mixture_of(table, weights=weighing), []
    for origins in ([0], [3, 6], [9], [12, 15]):
        parts.learn(picked(table, np.isin(table["cutoff"], origins)))
        said.append(parts.forecasts)
        parts.save(tmp_path / "m.lr")
        parts = SeriesMixture.load(tmp_path / "m.lr")
    order = np.concatenate([np.flatnonzero(np.isin(table["cutoff"], o)) for o in ([0], [3, 6], [9], [12, 15])])
    np.testing.assert_array_equal(np.concatenate(said), whole.forecasts[order])
    one, other = state(whole.deliver()), state(parts.deliver())
    assert one.pop("history") != b""
    assert other.pop("history") != b""
    assert one == other


def test_a_table_that_grows_may_be_given_as_a_whole() -> None:
    table = table_of(2, 5, 4, 3)
    live, today = mixture_of(table), dict[str, Any]()
    for origin in range(0, 15, 3):
        at = table["cutoff"] <= origin
        today = picked(table, at)
        today["y"] = np.where(today["ds"] <= origin, today["y"], math.nan)  # the rest is yet to come
        live.learn(today)
        now = today["cutoff"] == origin
        assert not np.isnan(live.forecasts[now]).any()
        assert live.skipped == np.count_nonzero(~now) - np.count_nonzero(live.numbers[~now] >= 0)
    backtest = mixture_of(table).learn(table)
    np.testing.assert_array_equal(live.forecasts[now], backtest.forecasts[table["cutoff"] == 12])
    assert live.rounds == backtest.rounds
    live.learn(table)
    assert state(live.deliver()) == state(backtest.deliver()) | {"history": live.contents()[1]["history"].tobytes()}


def test_ask_and_tell_in_any_order(tmp_path: Path) -> None:
    table = table_of(2, 1, 4, 3)
    mixture = mixture_of(table, weights="series")
    numbers, p = mixture.ask(table)
    assert numbers.tolist() == list(range(8))
    losses = mixture.tell(numbers[::-1], table["y"][::-1])
    np.testing.assert_allclose(losses, (p - table["y"])[::-1] ** 2)
    assert mixture.rounds == 8
    assert mixture.loss == pytest.approx(losses.sum())
    assert mixture.certificate.holds
    with pytest.raises(DataError, match="forecast 3 waits for no outcome: its outcome was told before"):
        mixture.tell([3], [1.0])
    mixture.ask(table | {"cutoff": table["cutoff"] + 9, "ds": table["ds"] + 9})
    with pytest.raises(DataError, match="as many outcomes, each a number"):
        mixture.tell([8], [math.nan])
    path = mixture.save(tmp_path / "m.lr")
    first, second = SeriesMixture.load(path), SeriesMixture.load(path)
    later = table | {"cutoff": table["cutoff"] + 99, "ds": table["ds"] + 99}
    one, other = first.ask(later)[0], second.ask(later)[0]
    assert not set(one.tolist()) & set(other.tolist())
    with pytest.raises(DataError, match="asked after the save that this run goes on from"):
        second.tell(one[:1], [1.0])
    assert second.tell([8], [3.0]).size == 1


@pytest.mark.parametrize("aggregator", [Hedge(0.1), MLPoly(), Squint()])
def test_joining_is_having_slept(aggregator: Any) -> None:
    table = table_of(2, 6, 3, 4)
    table["m3"][table["cutoff"] < 9] = math.nan
    asleep = mixture_of(table, weights="series", aggregator=aggregator).learn(table)
    early = table["cutoff"] < 9
    first = picked(table, early)
    del first["m3"]
    joining = mixture_of(first, weights="series", aggregator=aggregator).learn(first)
    np.testing.assert_allclose(joining.forecasts, asleep.forecasts[early], rtol=1e-12)
    joining.learn(picked(table, ~early))
    assert joining.joined == ["m3"]
    np.testing.assert_allclose(joining.forecasts, asleep.forecasts[~early], rtol=1e-12)
    assert joining.deliver().certificate.bound == pytest.approx(asleep.deliver().certificate.bound, rel=1e-9)


@pytest.mark.parametrize("aggregator", [None, Hedge(0.1), MLPoly(), Squint(), AdaHedge()])
@pytest.mark.parametrize("weighing", ["pooled", "shrunk"])
def test_certificates_hold_with_those_who_join_and_retire(aggregator: Any, weighing: str) -> None:
    for seed in range(3):
        table = table_of(2, 8, 3, 4, seed=seed)
        table["m3"] = table["y"] + (0.0 if seed else 5.0)
        first, then = picked(table, table["cutoff"] < 9), picked(table, table["cutoff"] >= 9)
        del first["m3"], then["m0"]
        mixture = mixture_of(first, weights=weighing, aggregator=aggregator).learn(first)
        said = [mixture.forecasts]
        mixture.learn(then)
        assert (mixture.joined, mixture.retired) == (["m3"], ["m0"])
        said.append(mixture.forecasts)
        order = np.concatenate([np.flatnonzero(table["cutoff"] < 9), np.flatnonzero(table["cutoff"] >= 9)])
        both = picked(table, order)
        both["m3"], both["m0"] = both["m3"].copy(), both["m0"].copy()
        both["m3"][both["cutoff"] < 9] = both["m0"][both["cutoff"] >= 9] = math.nan
        mixture.deliver()
        regrets = exact_regrets(both, mixture, np.concatenate(said)).sum(0)
        np.testing.assert_allclose(mixture.regrets, regrets[[0, 1, 2, 3]], rtol=1e-9, atol=1e-9)
        for found in mixture.certificates:
            assert found.holds


# ---- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ds": 0}, "time that is not after its cutoff"),
        ({"cutoff": [0] * 11 + [math.inf]}, "there is no time in column 'cutoff'"),
        ({"y": [math.inf] + [1.0] * 11}, "the outcome inf does not fit Square"),
        ({"m1": [1.0] * 11 + [math.inf]}, "row 11: the forecast of m1 is infinite"),
        ({"ds": ["2024-01-01"] * 12}, "not of a kind"),
        ({"ds": ["soon"] * 12}, "'soon' in column 'ds' is no time"),
    ],
)
def test_what_is_refused_changes_nothing(change: dict[str, Any], said: str) -> None:
    table = table_of(2, 2, 3, 2)
    mixture = mixture_of(table).learn(picked(table, table["cutoff"] == 0))
    before = state(mixture)
    bad = picked(table, slice(None)) | {name: np.broadcast_to(value, 12) for name, value in change.items()}
    with pytest.raises(DataError, match=said):
        mixture.learn(bad)
    assert state(mixture) == before
    assert mixture.learn(picked(table, table["cutoff"] == 3)).asked == 12


def test_origins_of_the_past_are_refused() -> None:
    table = table_of(2, 3, 3, 2)
    late = (table["unique_id"] == "s1") & (table["cutoff"] == 3)
    mixture = mixture_of(table).learn(picked(table, ~late & (table["cutoff"] < 6)))
    mixture.learn(picked(table, table["cutoff"] == 6))
    new = picked(table, late) | {"unique_id": np.full(3, "s9")}
    before = state(mixture)
    with pytest.raises(DataError, match="series 's9' was forecast at 3, before the latest origin 6"):
        mixture.learn(new)
    assert state(mixture) == before
    with pytest.raises(DataError, match="an earlier row has the same series, time and cutoff"):
        mixture_of(table).learn(picked(table, [0, 1, 0]))
    with pytest.raises(PartError, match="weights are pooled, series, horizon or shrunk, got 'own'"):
        mixture_of(table, weights="own")
    held = mixture_of(table, aggregator=FixedShare(0.1, 0.1), weights="pooled").learn(table)
    with pytest.raises(PartError, match="no expert can join FixedShare"):
        held.learn(table | {"m9": table["m0"]})


def test_a_loss_that_is_not_finite_is_refused_in_all_lanes() -> None:
    table = table_of(2, 3, 2, 2)
    table["m0"][6:8] = 1e200
    mixture = mixture_of(table)
    before = state(mixture)
    with pytest.raises(DataError, match=r"row 6: round .*cannot sum|row 6: round .*not finite"):
        mixture.learn(table)
    assert state(mixture) == before


@pytest.mark.parametrize(("days", "aggregator", "weigh"), [(398, MLPoly(), naive.ml_poly()), (60, None, None)])
def test_the_french_load_known_a_week_later(data_file: Any, days: int, aggregator: Any, weigh: Any) -> None:
    table = read_table(str(data_file("french_load_experts.csv.gz")))
    names = [name for name in table.columns if name not in ("date", "load")]
    x = np.column_stack([table.numbers(name)[:days] for name in names])
    y, t = table.numbers("load")[:days], np.arange(float(days))
    given = LongTable(names, x, y, np.full(days, "load"), t, t - 8, None, False)
    mixture = SeriesMixture(names, weights="pooled", aggregator=aggregator).learn(given)
    said, _ = loop(list(zip(given.series, t, t - 8, t, x, y, strict=True)), "pooled", Square(), weigh)
    np.testing.assert_allclose(mixture.forecasts, said, rtol=1e-7)
    assert mixture.deliver().certificate.holds


@pytest.mark.parametrize("kind", ["arrow", "polars"])
def test_tables_of_arrow_and_polars_are_those_of_pandas(kind: str) -> None:
    """Arrow tables were no tables; a time zone that a type says was not heard, and local times were learnt after it."""
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    cutoff = pd.date_range("2024-03-30", periods=6, freq="12h", tz="Europe/Berlin")
    frame = pd.DataFrame({"ds": cutoff + pd.Timedelta(hours=1), "cutoff": cutoff, "y": np.arange(6.0)})
    frame = frame.assign(unique_id="a", m=frame.y + 1, n=frame.y - 2)
    turned = {"arrow": lambda f: pa.Table.from_pandas(f, preserve_index=False), "polars": pl.from_pandas}[kind]
    wanted, found = (SeriesMixture(["m", "n"]).learn(t).deliver() for t in (frame, turned(frame)))
    assert found.loss == wanted.loss
    naive = frame.assign(ds=frame.ds.dt.tz_localize(None), cutoff=frame.cutoff.dt.tz_localize(None))
    with pytest.raises(DataError, match="do not say their offset"):
        found.learn(turned(naive))


@pytest.mark.parametrize("weights", ["series", "shrunk"])
@pytest.mark.parametrize("aggregator", [AdaHedge(), None], ids=["adahedge", "lanes"])
def test_series_that_begin_later_change_no_bit(weights: str, aggregator: Any) -> None:
    """Whoever comes first by name may come last by time: sums over series do not depend on their order."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        origin, late = np.repeat(np.arange(6), 3), np.tile([3, 2, 0], 6)
        table = {"unique_id": np.tile(["a", "b", "c"], 6), "ds": origin + 1, "cutoff": origin, "y": rng.normal(size=18)}
        table |= {name: table["y"] + k * rng.normal(size=18) for k, name in ((1, "m0"), (2, "m1"))}
        whole, parts = (
            SeriesMixture(["m0", "m1"], weights=weights, aggregator=aggregator, compiled=False) for _ in range(2)
        )
        whole.learn({name: column[origin >= late] for name, column in table.items()})
        for part in (origin < 3, origin >= 3):
            parts.learn({name: column[part & (origin >= late)] for name, column in table.items()})
        assert whole.keys.groups != parts.keys.groups
        assert (parts.loss, parts.drift, parts.best) == (whole.loss, whole.drift, whole.best)
        assert parts.certificates == whole.certificates
        assert parts.mean_weights.tolist() == whole.mean_weights.tolist()
