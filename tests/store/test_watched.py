"""Files that several processes may write: what another has put there stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lowregret.errors import StoreError
from lowregret.store import file as store
from lowregret.store.watched import Watched


def put(path: str | os.PathLike[str]) -> None:
    store.write(path, "thing", {}, {})


def test_what_was_there_and_what_was_written_here_make_way(tmp_path: Path) -> None:
    put(tmp_path / "m")
    watched = Watched(tmp_path / "m")
    put(watched)
    put(watched)
    (tmp_path / "m").unlink()
    put(watched)
    put(Watched(tmp_path / "new"))
    assert sorted(os.listdir(tmp_path)) == ["m", "new"]


@pytest.mark.parametrize("there", [False, True], ids=["new", "replaced"])
def test_the_file_of_another_stays(tmp_path: Path, there: bool) -> None:
    if there:
        put(tmp_path / "m")
    watched = Watched(tmp_path / "m")
    store.write(tmp_path / "m", "other", {}, {})
    with pytest.raises(StoreError, match=r"another process has written it since this one began, and its file stays$"):
        put(watched)
    assert store.kind_of(tmp_path / "m") == "other"
    assert watched.is_anothers
    assert os.listdir(tmp_path) == ["m"]


def test_the_file_that_a_link_leads_to_is_watched(tmp_path: Path) -> None:
    put(tmp_path / "m")
    (tmp_path / "link").symlink_to("m")
    watched = Watched(tmp_path / "link")
    store.write(tmp_path / "m", "other", {}, {})
    with pytest.raises(StoreError, match="another process"):
        put(watched)
