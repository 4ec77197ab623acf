"""Entries of the on-disk cache: damaged ones, and which are kept.

All within one process: a new kernel of the same function starts with nothing but the disk.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lowregret.compile import cache, trust
from lowregret.compile.kernel import kernel
from tests.compile.test_cache import expect

# ---- damage ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def square(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A plain function in a file of its own, whose cache is empty."""
    path = tmp_path / "square_of.py"
    path.write_text("def square(x):\n    return x * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "square_of", raising=False)
    function: Callable[..., Any] = importlib.import_module("square_of").square
    return function


def entries(folder: Path) -> list[Path]:
    return sorted((folder / "__pycache__").glob("*.nbc"))


def compiled(function: Callable[..., Any], number: complex = 3.0) -> dict[str, int]:
    loop: Any = kernel(function)
    assert loop(number) == 9
    return {"hits": sum(loop.stats.cache_hits.values()), "misses": sum(loop.stats.cache_misses.values())}


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [lambda _: b"", lambda c: c[:20], lambda c: c[: len(c) // 2], lambda c: c[:-1], lambda _: b"nonsense" * 100, flip],
)
def test_a_damaged_entry_is_compiled_again(
    square: Callable[..., Any], tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    expect(compiled(square), hit=False)
    expect(compiled(square), hit=True)
    (entry,) = entries(tmp_path)
    entry.write_bytes(damage(entry.read_bytes()))
    expect(compiled(square), hit=False)
    expect(compiled(square), hit=True)


def test_an_entry_under_a_wrong_name_is_not_used(square: Callable[..., Any], tmp_path: Path) -> None:
    expect(compiled(square), hit=False)
    (entry,) = entries(tmp_path)
    of_floats = entry.read_bytes()
    entry.unlink()
    loop: Any = kernel(square)
    assert loop(3) == 9
    (entry,) = entries(tmp_path)
    entry.write_bytes(of_floats)
    loop = kernel(square)
    assert loop(3) == 9
    expect({"hits": sum(loop.stats.cache_hits.values()), "misses": sum(loop.stats.cache_misses.values())}, hit=False)


def test_a_folder_in_the_way_does_no_harm(square: Callable[..., Any], tmp_path: Path) -> None:
    compiled(square)
    (entry,) = entries(tmp_path)
    entry.unlink()
    entry.mkdir()
    expect(compiled(square), hit=False)
    assert [path.name for path in (tmp_path / "__pycache__").iterdir() if ".tmp" in path.name] == []


# ---- what is kept ----------------------------------------------------------------------------------------------------


@pytest.fixture
def version(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes this process one of another version of the package."""
    return lambda name: monkeypatch.setattr(cache, "package_stamp", lambda: name)


def age(folder: Path, *names: str) -> None:
    """Entries whose names contain these were last used long ago, in this order."""
    for seconds, name in enumerate(names):
        (entry,) = (path for path in entries(folder) if name in path.name)
        os.utime(entry, (seconds, seconds))


def test_versions_side_by_side_keep_their_entries(
    square: Callable[..., Any], version: Callable[[str], None], tmp_path: Path
) -> None:
    for number, hit in ((3.0, False), (3.0, True), (3, False), (3.0, True), (3, True)):
        for name in ("older", "newer"):
            version(name)
            expect(compiled(square, number), hit=hit)
    assert len(entries(tmp_path)) == 4


def test_the_version_unused_for_longest_goes(
    square: Callable[..., Any], version: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "VERSIONS", 2)
    for name in ("first", "second"):
        version(name)
        compiled(square)
    age(tmp_path, "first", "second")
    version("first")
    expect(compiled(square), hit=True)
    version("third")
    expect(compiled(square), hit=False)
    for name, hit in (("first", True), ("third", True), ("second", False)):
        version(name)
        expect(compiled(square), hit=hit)
    assert len(entries(tmp_path)) == 2


def test_the_entry_unused_for_longest_goes(
    square: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "KEPT", 2)
    compiled(square, 3.0)
    (of_floats,) = entries(tmp_path)
    neighbour = of_floats.with_name(of_floats.name.replace("square.", "cube."))
    neighbour.write_bytes(b"of another loop")
    compiled(square, 3)
    (of_integers,) = {*entries(tmp_path)} - {of_floats, neighbour}
    age(tmp_path, of_floats.name, of_integers.name)
    expect(compiled(square, 3.0), hit=True)
    compiled(square, 3 + 0j)
    assert {of_floats, neighbour} < {*entries(tmp_path)}
    assert of_integers not in entries(tmp_path)
    assert len(entries(tmp_path)) == 3


def test_tidying_at_the_same_time_does_no_harm(
    square: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is listed may be gone a moment later."""
    compiled(square, 3.0)
    glob = Path.glob
    monkeypatch.setattr(Path, "glob", lambda path, pattern: [*glob(path, pattern), path / pattern.replace("*", "gone")])
    expect(compiled(square, 3), hit=False)
    monkeypatch.setattr(cache, "VERSIONS", 1)
    expect(compiled(square, 3 + 0j), hit=False)
    monkeypatch.undo()
    assert len(entries(tmp_path)) == 3


# ---- whom to trust ---------------------------------------------------------------------------------------------------


class Planted:
    """Runs code of its own when it is unpickled, as a hostile entry would."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


def plant(entry: Path, trace: Path) -> None:
    """Put a hostile entry in place of a good one, with a checksum that fits."""
    payload = pickle.dumps(Planted(trace))
    entry.write_bytes(hashlib.sha256(payload).digest() + payload)


def test_an_entry_that_others_may_write_is_not_run(square: Callable[..., Any], tmp_path: Path) -> None:
    for mode in (0o646, 0o666, 0o602):
        compiled(square)
        (entry,) = entries(tmp_path)
        plant(entry, tmp_path / "trace")
        entry.chmod(mode)
        expect(compiled(square), hit=False)
        assert not (tmp_path / "trace").exists()
        assert entry.stat().st_mode & 0o777 == 0o644  # written anew
        expect(compiled(square), hit=True)
    plant(entry, tmp_path / "trace")  # the trap does spring where it is trusted
    expect(compiled(square), hit=False)
    assert (tmp_path / "trace").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_an_entry_of_somebody_else_is_not_run(square: Callable[..., Any], tmp_path: Path) -> None:
    compiled(square)
    (entry,) = entries(tmp_path)
    plant(entry, tmp_path / "trace")
    os.chown(entry, 12345, 12345)
    expect(compiled(square), hit=False)
    assert not (tmp_path / "trace").exists()
    assert entry.stat().st_uid == 0


def test_a_folder_that_others_may_write_to_is_not_used(square: Callable[..., Any], tmp_path: Path) -> None:
    compiled(square)
    (entry,), folder = entries(tmp_path), tmp_path / "__pycache__"
    before = entry.stat()
    folder.chmod(0o777)
    trust.is_safe.cache_clear()
    with pytest.warns(UserWarning, match=r"is not used, for others may write there: chmod go-w"):
        expect(compiled(square), hit=False)
    assert entry.stat() == before
    folder.chmod(0o1777)  # where only owners replace files
    trust.is_safe.cache_clear()
    expect(compiled(square), hit=True)


def test_entries_that_are_no_files_do_not_keep_us_waiting(square: Callable[..., Any], tmp_path: Path) -> None:
    compiled(square)
    (entry,) = entries(tmp_path)
    entry.unlink()
    os.mkfifo(entry)
    expect(compiled(square), hit=False)
    assert entry.is_file()


def test_a_group_is_trusted_if_it_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    (tmp_path / "f").chmod(0o664)
    found = list((tmp_path / "f").stat())
    found[stat.ST_GID] = 4242
    for members, own in (([], True), (["me"], True), (["me", "you"], False)):
        monkeypatch.setattr("grp.getgrgid", lambda group, members=members: ("me", "x", group, members))
        monkeypatch.setattr("pwd.getpwuid", lambda user: SimpleNamespace(pw_name="me"))
        trust.is_own_group.cache_clear()
        assert trust.open_to_others(os.stat_result(found)) is not own
    trust.is_own_group.cache_clear()


@pytest.mark.parametrize("before", ["", "import numba; assert numba.config.CACHE_DIR == '.cache'; "])
def test_a_folder_has_no_settings(before: str, tmp_path: Path) -> None:
    """Whoever made it, such as the author of a data set, would say which compiled code is run."""
    pytest.importorskip("yaml")
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: .cache\nboundscheck: 0\n")
    asked = "from numba.core import config; config.reload_config(); print(config.CACHE_DIR, config.BOUNDSCHECK)"
    code = f"{before}import lowregret.compile; {asked}"
    plain = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    told = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=plain, capture_output=True, text=True)
    assert (told.stdout, told.stderr) == (" None\n", "")


def test_settings_of_a_folder_are_not_opened(tmp_path: Path) -> None:
    """As in workers of Ray, which have imported YAML and have threads: they began with what the folder said."""
    pytest.importorskip("yaml")
    (tmp_path / ".numba_config.yaml").write_text("disable_jit: 1\n")
    code = """
import sys, threading, time, yaml
sys.addaudithook(lambda event, given: print(given) if event == "open" and ".numba_config" in str(given) else None)
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
import lowregret.compile
"""
    told = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (told.stdout, told.stderr) == ("", "")
