"""Files replaced as a whole: links, permissions and special files stay as they are, and nothing is left lying about."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from lowregret.errors import StoreError
from lowregret.store import file as store
from lowregret.store.replacing import lock


def save(path: Path) -> None:
    store.write(path, "thing", {}, {})


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    real, link = tmp_path / "folder" / "real.lr", tmp_path / "link.lr"
    link.symlink_to("folder/real.lr")
    for _ in range(2):  # not there yet; there
        save(link)
        assert link.is_symlink()
        assert not real.is_symlink()
        assert store.kind_of(real) == "thing"
    assert os.listdir(real.parent) == ["real.lr"]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(StoreError, match=r"cannot write .*symbolic links; name another file"):
        save(tmp_path / "a")
    assert os.readlink(tmp_path / "a") == "b"


def test_special_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        for name, what in (("pipe", "pipe"), ("folder", "folder"), ("link", "pipe"), ("socket", "socket")):
            before = os.lstat(name)
            with pytest.raises(StoreError, match=f"cannot write {name}: it is a {what}, which no file may replace"):
                save(Path(name))
            assert os.lstat(name).st_ino == before.st_ino
    assert sorted(os.listdir()) == ["folder", "link", "pipe", "socket"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_permissions_stay(tmp_path: Path, mode: int) -> None:
    save(tmp_path / "f")
    (tmp_path / "f").chmod(mode)
    save(tmp_path / "f")
    assert (tmp_path / "f").stat().st_mode & 0o777 == mode


def test_what_the_dead_left_is_removed_and_only_that(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    dead = [f".m.lr.{gone.pid}.7.tmp", f".m.lr.{os.getpid()}.7.tmp"]  # the number of a process may come again
    lives = [f".m.lr.{os.getppid()}.7.tmp", f".m.lr.{os.getpid()}.{threading.get_ident()}0.tmp.old"]
    others = [f".n.lr.{gone.pid}.7.tmp", f".mxlr.{gone.pid}.7.tmp", ".m.lr.tmp", f"m.lr.{gone.pid}.7.tmp"]
    for name in (*dead, *lives, *others):
        (tmp_path / name).touch()
    save(tmp_path / "m.lr")
    assert sorted(os.listdir(tmp_path)) == sorted(["m.lr", *lives, *others])


def test_what_a_process_of_another_container_writes_stays(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    unknown = tmp_path / f".m.lr.{gone.pid}.7.tmp"  # a process without a number here
    with open(unknown, "wb") as file:
        assert lock(file.fileno())
        save(tmp_path / "m.lr")
        assert unknown.exists()
    save(tmp_path / "m.lr")
    assert os.listdir(tmp_path) == ["m.lr"]


def test_a_link_laid_in_the_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    way = tmp_path / f".m.lr.{os.getpid()}.{threading.get_ident()}.tmp"
    way.symlink_to("precious")
    save(tmp_path / "m.lr")
    assert (tmp_path / "precious").read_text() == "mine"
    assert store.kind_of(tmp_path / "m.lr") == "thing"
    assert sorted(os.listdir(tmp_path)) == ["m.lr", "precious"]


@pytest.mark.parametrize("name", ["m" * 255, "ß" * 127, "m" * 161])
def test_the_longest_names_can_be_written(tmp_path: Path, name: str) -> None:
    for _ in range(2):
        save(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


WRITER = """
import sys, numpy as np
from lowregret.store import file as store
for k in range(40):
    store.write(sys.argv[1], "thing", {"who": sys.argv[2]}, {"a": np.full(int(sys.argv[2]), float(sys.argv[2]))})
"""


def test_several_processes_write_one_file_and_it_is_always_whole(tmp_path: Path) -> None:
    path = tmp_path / "m.lr"
    save(path)
    sizes = (1000, 100_000, 300_000)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, str(size)]) for size in sizes]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        told, arrays = store.read(path, "thing")
        if told:
            assert np.array_equal(arrays["a"], np.full(int(told["who"]), float(told["who"])))
        seen.add(told.get("who"))
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(seen) > 1
    assert os.listdir(tmp_path) == ["m.lr"]
