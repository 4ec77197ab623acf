"""Logs from columns and files, and rows that are refused by number."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import DataError
from lowregret.bandit import BanditLog, bandit_log, read_log

TEXT = "n,banner,click,p\n1,b10,1,0.5\n2,b2,0,0.25\n\n3,b10,0,0.5\n"


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress], ids=["plain", "gz", "bz2", "xz"])
def test_delimiters_and_compression(tmp_path: Path, delimiter: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(TEXT.replace(",", delimiter).encode()))
    log = read_log(path, "banner", reward="click", propensity="p")
    assert log.names == ("b10", "b2")
    assert log.arms.tolist() == [0, 1, 0]
    assert log.values.tolist() == [1, 0, 0]
    assert log.propensities.tolist() == [0.5, 0.25, 0.5]
    assert not log.uniform
    assert not log.assumed


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "log.parquet"
    parquet.write_table(pyarrow.table({"a": [3, 11, 3], "c": [0.5, 1.0, 0.0], "more": ["x", "y", "z"]}), path)
    log = read_log(path, "a", cost="c")
    assert log.names == ("3", "11")
    assert log.costs.tolist() == [0.5, 1.0, 0.0]
    assert log.assumed
    assert log.propensities.tolist() == [0.5] * 3
    with pytest.raises(DataError, match="no column 'b'; its columns are a, c, more"):
        read_log(path, "b", cost="c")


def test_rewards_become_costs() -> None:
    log = bandit_log(["a", "b"], reward=[-1.0, 3.0], low=-1.0, high=3.0)
    assert log.costs.tolist() == [1.0, 0.0]
    assert bandit_log(["a", "b"], cost=[-1.0, 3.0], low=-1.0, high=3.0).costs.tolist() == [0.0, 1.0]
    assert len(log[1:]) == 1
    assert log[1:].names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("banner,click,p\nx,1,0.5\ny,2,0.5\n", ".csv:3: reward is '2', it must be a number between 0 and 1"),
        ("banner,click,p\nx,,0.5\n", ".csv:2: reward is missing"),
        ("banner,click,p\nx,1,0\n", ".csv:2: propensity is '0', it must be a number above 0"),
        ("banner,click,p\nx,1,\n", ".csv:2: propensity is missing"),
        ("banner,click,p\nx,1,1.5\n", ".csv:2: propensity is '1.5'"),
        ("banner,click,p\nx,nan,0.5\n", ".csv:2: reward is 'nan'"),
        ("banner,click,p\n,1,0.5\n", ".csv:2: there is no action"),
        ("banner,click,p\nx,1\n", "log.csv:2: 2 fields, expected 3"),
        ("banner,click,p\n", "has no rows"),
        ("banner,click\nx,1\n", "has no column 'p'; its columns are banner, click"),
        ("", "is empty"),
        ("banner,click,p\nx,\xff,0.5\n", "log.csv:2: not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=said):
        read_log(path, "banner", reward="click", propensity="p")


def test_a_log_made_by_hand_is_checked() -> None:
    good: dict[str, Any] = {
        "arms": np.array([0, 1]),
        "values": np.zeros(2),
        "propensities": np.full(2, 0.5),
        "names": ("a", "b"),
    }
    assert len(BanditLog(**good)) == 2
    for wrong in ({"arms": np.array([0, 2])}, {"values": np.zeros(3)}, {"values": np.full(2, 2.0)}):
        with pytest.raises(DataError):
            BanditLog(**(good | wrong))
    with pytest.raises(DataError, match="above 0"):
        BanditLog(**(good | {"propensities": np.array([0.5, 0.0])}))


def test_damage_is_said(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(TEXT.encode() * 50)[:-20])
    with pytest.raises(DataError, match="damaged or cut short"):
        read_log(path, "banner", reward="click", propensity="p")
    with pytest.raises(DataError, match="cannot read"):
        read_log(tmp_path / "none", "banner", reward="click")
    with pytest.raises(DataError, match="either rewards or costs"):
        bandit_log(["a"])
    with pytest.raises(DataError, match="1 actions and 2"):
        bandit_log(["a"], reward=[0, 1])


def test_the_open_bandit_logs(data_file: Callable[[str], Path]) -> None:
    for name, uniform, rate in (("random", True, 0.0038), ("bts", False, 0.0042)):
        path = data_file(f"obd_{name}_all.csv.gz")
        log = read_log(path, "item_id", reward="click", propensity="propensity_score")
        assert (len(log), len(log.names)) == (10_000, 80)
        assert log.names[:3] == ("0", "1", "2")
        assert log.uniform == uniform
        assert np.mean(log.values) == pytest.approx(rate)
