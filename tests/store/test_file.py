"""Files that survive: what is written comes back, what is damaged is refused, what was there is never harmed."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lowregret.errors import LowRegretError, StoreError
from lowregret.store import file as store

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2**40], np.int64), "empty": np.empty((0, 4))}
DESCRIPTION = {"name": "η = ½", "nested": {"list": [1, 2.5, None, True]}, "huge": 1e300}


def contents(path: Path) -> tuple[dict[str, Any], dict[str, tuple[str, tuple[int, ...], bytes]]]:
    description, arrays = store.read(path, "thing")
    return description, {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "file.lr"
    store.write(path, "thing", DESCRIPTION, ARRAYS)
    return path


# ---- round trips ----------------------------------------------------------------------------------------------------


def test_round_trip(written: Path) -> None:
    description, arrays = store.read(written, "thing")
    assert description == DESCRIPTION
    assert store.kind_of(written) == "thing"
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


@given(
    hnp.arrays(st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_]), hnp.array_shapes(min_side=0))
)
def test_every_bit_of_an_array_survives(tmp_path_factory: pytest.TempPathFactory, array: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "array.lr"
    store.write(path, "thing", {}, {"array": array})
    found = store.read(path, "thing")[1]["array"]
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_numbers_that_json_lacks_survive(tmp_path: Path) -> None:
    store.write(tmp_path / "f", "thing", {"inf": math.inf, "nan": math.nan, "tiny": 5e-324}, {})
    found = store.read(tmp_path / "f", "thing")[0]
    assert found["inf"] == math.inf
    assert math.isnan(found["nan"])
    assert found["tiny"] == 5e-324


def test_arrays_in_any_memory_order(tmp_path: Path) -> None:
    strided = np.arange(24.0).reshape(4, 6)[::2, ::3]
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    store.write(tmp_path / "f", "thing", {}, {"strided": strided, "fortran": fortran})
    found = store.read(tmp_path / "f", "thing")[1]
    assert np.array_equal(found["strided"], strided)
    assert np.array_equal(found["fortran"], fortran)


def test_arrays_read_can_be_written_to(written: Path) -> None:
    arrays = store.read(written, "thing")[1]
    arrays["a"][0, 0] = 7.0
    assert arrays["a"][0, 0] == 7.0


def test_the_same_thing_gives_the_same_file(written: Path, tmp_path: Path) -> None:
    store.write(tmp_path / "again", "thing", dict(reversed(DESCRIPTION.items())), ARRAYS)
    assert (tmp_path / "again").read_bytes() == written.read_bytes()


def test_writing_replaces_and_leaves_nothing_else_behind(written: Path) -> None:
    store.write(written, "thing", {"new": 1}, {})
    assert store.read(written, "thing")[0] == {"new": 1}
    assert os.listdir(written.parent) == [written.name]


def test_the_users_own_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    store.write(tmp_path / "f", "thing", {}, {})
    assert (tmp_path / "f").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_reading_runs_no_code(tmp_path: Path) -> None:
    """No pickle: a file of the old dangerous kind is just not ours."""
    trap = tmp_path / "trap"
    trap.write_bytes(b"cos\nsystem\n(S'touch " + str(tmp_path / "sprung").encode() + b"'\ntR.")
    with pytest.raises(StoreError):
        store.read(trap, "thing")
    assert not (tmp_path / "sprung").exists()


def test_files_have_the_size_of_what_is_in_them(tmp_path: Path) -> None:
    """Zeros and repetitions take next to nothing, signs and exponents of random numbers little."""
    rng = np.random.default_rng(0)
    empty, alike = np.zeros(10**6), np.tile(rng.normal(size=100), 10**4)
    weights = rng.normal(size=10**5).astype(np.float32)
    sizes = []
    for array in (empty, alike, weights):
        store.write(tmp_path / "f", "thing", {}, {"array": array})
        sizes.append((tmp_path / "f").stat().st_size / array.nbytes)
        assert store.read(tmp_path / "f", "thing")[1]["array"].tobytes() == array.tobytes()
    assert sizes[0] < 0.001
    assert sizes[1] < 0.01
    assert sizes[2] < 0.9


# ---- what cannot be read --------------------------------------------------------------------------------------------


def test_every_flipped_bit_is_noticed(written: Path) -> None:
    """One bit of every byte, and all bits of the header's length: a `StoreError`, no other error, and no success."""
    whole, before = written.read_bytes(), contents(written)
    flips = [(at, bit) for at in range(8) for bit in range(8)] + [(at, at % 8) for at in range(8, len(whole))]
    unnoticed = []
    for at, bit in flips:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << bit
        written.write_bytes(damaged)
        try:
            unnoticed += [at] if contents(written) == before else [-at]
        except StoreError:
            continue
    assert unnoticed == []


def test_every_truncation_is_noticed(written: Path) -> None:
    whole = written.read_bytes()
    for size in range(len(whole)):
        written.write_bytes(whole[:size])
        with pytest.raises(StoreError, match="not a lowregret file, or it is damaged"):
            store.read(written, "thing")


def test_something_appended_is_noticed(written: Path) -> None:
    written.write_bytes(written.read_bytes() + b"\0")
    with pytest.raises(StoreError, match="damaged"):
        store.read(written, "thing")


def test_another_kind_is_named(written: Path) -> None:
    with pytest.raises(StoreError, match=r"file\.lr holds a thing, not a run"):
        store.read(written, "run")


def test_a_newer_format_asks_for_an_upgrade(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FORMAT", store.FORMAT + 1)
    store.write(written, "thing", DESCRIPTION, ARRAYS)
    monkeypatch.undo()
    for open_it in (lambda: store.read(written, "thing"), lambda: store.kind_of(written)):
        with pytest.raises(StoreError, match=rf"newer lowregret \(format {store.FORMAT + 1}\): upgrade"):
            open_it()


def test_the_first_format_is_refused_by_name(tmp_path: Path) -> None:
    header = b'{"__metadata__":{"lowregret":"{\\"kind\\": \\"run\\", \\"format\\": 1}"}}'
    (tmp_path / "old").write_bytes(len(header).to_bytes(8, "little") + header)
    for open_it in (lambda: store.read(tmp_path / "old", "run"), lambda: store.kind_of(tmp_path / "old")):
        with pytest.raises(StoreError, match=r"older lowregret \(format 1\).*: train again"):
            open_it()


def test_so_is_every_format_before_this_one(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FORMAT", 2)
    store.write(written, "thing", DESCRIPTION, ARRAYS)
    monkeypatch.undo()
    for open_it in (lambda: store.read(written, "thing"), lambda: store.kind_of(written)):
        with pytest.raises(StoreError, match=r"older lowregret \(format 2\).*: train again"):
            open_it()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no file .*nothing"):
        store.read(tmp_path / "nothing", "thing")
    with pytest.raises(StoreError, match="there is no file"):
        store.kind_of(tmp_path / "no" / "folder")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        store.read(tmp_path, "thing")


def test_a_pipe_is_no_file(written: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDWR)  # so that opening it does not wait
    try:
        os.write(end, written.read_bytes())
        for look in (store.kind_of, lambda path: store.read(path, "thing")):
            with pytest.raises(StoreError, match="pipe is a pipe, of which a model cannot be read"):
                look(tmp_path / "pipe")
    finally:
        os.close(end)


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="pipe is a pipe, of which a model cannot be read"):
        store.kind_of(tmp_path / "pipe")
    with pytest.raises(StoreError, match="is a device, of which"):
        store.kind_of("/dev/null")


@pytest.mark.parametrize("bytes_", [b"", b"hello", b"\0" * 100, b"\xff" * 100, b'{"json": true}' * 20])
def test_other_files_are_refused(tmp_path: Path, bytes_: bytes) -> None:
    (tmp_path / "f").write_bytes(bytes_)
    with pytest.raises(StoreError, match="not a lowregret file"):
        store.read(tmp_path / "f", "thing")


def test_store_errors_are_ours_and_os_errors(tmp_path: Path) -> None:
    for caught in (LowRegretError, OSError):
        with pytest.raises(caught):
            store.read(tmp_path / "nothing", "thing")


# ---- what cannot be written -----------------------------------------------------------------------------------------


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Every write beyond this many bytes of a file fails, as on a full disk (Python ignores the signal)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [0, 10, 1000])
def test_a_full_disk_leaves_the_old_file(written: Path, size: int) -> None:
    before = written.read_bytes()
    with files_up_to(size), pytest.raises(StoreError, match=r"cannot write .*; what was there before is unharmed"):
        store.write(written, "thing", {}, {"large": np.random.default_rng(0).normal(size=10_000)})
    assert written.read_bytes() == before
    assert os.listdir(written.parent) == [written.name]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot write .*No such file or directory"):
        store.write(tmp_path / "no" / "file", "thing", {}, {})


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        store.write(tmp_path / "folder", "thing", {}, {})
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 300])
def test_impossible_names_are_refused(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="cannot write"):
        store.write(path, "thing", {}, {})


def test_a_process_killed_while_writing_leaves_the_old_file(written: Path) -> None:
    """kill -9 between the last byte and the renaming."""
    before = written.read_bytes()
    script = """
import os, signal, sys
import numpy as np
from lowregret.store import file as store
store.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
store.write(sys.argv[1], "thing", {}, {"new": np.zeros(1000)})
"""
    died = subprocess.run([sys.executable, "-c", script, str(written)], check=False, timeout=60)
    assert died.returncode == -9
    assert written.read_bytes() == before


def test_threads_writing_one_file_leave_one_of_theirs(tmp_path: Path) -> None:
    def write(n: int) -> None:
        for _ in range(20):
            store.write(tmp_path / "f", "thing", {"n": n}, {"n": np.full(5000, float(n))})

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if (tmp_path / "f").exists():
            description, arrays = store.read(tmp_path / "f", "thing")
            assert np.all(arrays["n"] == description["n"])
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["f"]


def test_descriptions_must_be_json(written: Path) -> None:
    before = written.read_bytes()
    with pytest.raises(TypeError):
        store.write(written, "thing", {"part": object()}, {})
    assert written.read_bytes() == before


@pytest.mark.parametrize("memory", ["physical_memory", "free_memory"])
def test_arrays_that_are_larger_than_the_machine_are_refused(
    memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few compressed bytes stand for a million: each array may fit, all of them need not."""
    path = tmp_path / "bomb.lr"
    store.write(path, "thing", {}, {f"a{k}": np.ones(50_000) for k in range(20)})
    assert path.stat().st_size < 10_000
    assert len(store.read(path, "thing")[1]) == 20
    monkeypatch.setattr(f"lowregret.compile.memory.{memory}", lambda: 10 * 50_000 * 8)
    monkeypatch.setattr(store, "_unpacked", None)  # nothing is unpacked
    with pytest.raises(StoreError, match=r"its arrays take 8,000,000 bytes, more than there is memory"):
        store.read(path, "thing")


def with_header(path: Path, **told: Any) -> None:
    """Write a file anew with other entries in its header, and a checksum that fits."""
    body = path.read_bytes()
    end = len(body) - 40
    begin = end - int.from_bytes(body[end : end + 8], "little")
    header = json.dumps(json.loads(body[begin:end]) | told).encode()
    whole = body[:begin] + header + len(header).to_bytes(8, "little")
    path.write_bytes(whole + hashlib.sha256(whole).digest())


def test_an_empty_array_is_as_large_as_its_other_axes(tmp_path: Path) -> None:
    """Others have their size, and something in them."""
    path = tmp_path / "empty.lr"
    store.write(path, "thing", {}, {"rows": np.empty((0, 3))})
    with_header(path, arrays={"rows": ["<f8", [0, 1 << 47], []]})
    with pytest.raises(StoreError, match="more than there is memory"):
        store.read(path, "thing")


def test_truth_values_are_0_or_1(tmp_path: Path) -> None:
    """Compiled code looks at one bit of them, NumPy at all eight."""
    path = tmp_path / "flags.lr"
    store.write(path, "thing", {}, {"flags": np.array([0, 1, 2], np.uint8)})
    with open(path, "rb") as file:
        _, shape, sizes = store._header(file, path)["arrays"]["flags"]
    with_header(path, arrays={"flags": ["|b1", shape, sizes]})
    with pytest.raises(StoreError, match="neither 0 nor 1"):
        store.read(path, "thing")


def test_a_header_as_long_as_a_file_with_holes_is_not_read(tmp_path: Path) -> None:
    path, size = tmp_path / "holes.lr", 1 << 42
    with open(path, "wb") as file:
        file.write(store.MAGIC)
        file.seek(size)
        file.write(size.to_bytes(8, "little") + bytes(32))
    with pytest.raises(StoreError, match="not a lowregret file"):
        store.read(path, "thing")


def test_a_file_that_is_cut_off_while_it_is_read_is_not_whole() -> None:
    class Shrinking(io.BytesIO):
        def seek(self, offset: int, whence: int = 0) -> int:
            return super().seek(offset, whence) + 1000 * (whence == os.SEEK_END)

    assert not store._is_whole(Shrinking(bytes(100)))


@pytest.mark.parametrize("kind", ["\x1b[31mrun", "\ud800", "run\n", "r" * 100_000])
def test_kinds_are_names(kind: str, written: Path) -> None:
    with_header(written, kind=kind)
    with pytest.raises(StoreError, match="not a lowregret file") as refusal:
        store.kind_of(written)
    assert kind not in str(refusal.value)


def test_arrays_have_few_axes(tmp_path: Path) -> None:
    """The product of 80,000 sizes alone took seconds, and of a million hours."""
    path = tmp_path / "many.lr"
    store.write(path, "thing", {}, {})
    with_header(path, arrays={"w": ["<f8", [(1 << 48) - 1] * 80_000, []]})
    with pytest.raises(StoreError, match="is no array") as raised:
        store.read(path, "thing")
    assert len(str(raised.value)) < 300


def test_whole_numbers_have_few_digits(tmp_path: Path) -> None:
    """Larger ones are an OverflowError wherever they are taken for sizes."""
    path = tmp_path / "large.lr"
    store.write(path, "thing", {"lipschitz": 10**299}, {})
    assert store.read(path, "thing")[0] == {"lipschitz": 10**299}
    store.write(path, "thing", {"lipschitz": 10**400}, {})
    with pytest.raises(StoreError, match="too large a number"):
        store.read(path, "thing")
