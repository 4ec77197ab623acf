"""Cuts: all that a spread run needs to go on, taken while no batch is under way, in one place that survives.

A cut is a model file like any other, and `cut.json`, which names it and tells how far each shard is learnt. The model
is written first, under a new name, and then `cut.json` replaces the one before: whoever dies, and whenever, the cut
that it names is whole. Paths are whatever pyarrow or fsspec reach: folders, s3://…, gs://…, hdfs://….
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, cast

from lowregret.errors import StoreError
from lowregret.run.session import Session
from lowregret.store.schema import Field, is_shallow, items, record, whole
from lowregret.words import counted

NAME, NEXT = "cut.json", "cut.json.next"
_MODEL = re.compile(r"cut-[0-9]{8,}\.lr")
TOLD = record(
    {
        "model": Field("the name of a cut in this folder", lambda name: bool(_MODEL.fullmatch(str(name)))),
        "number": whole(),
        "cursors": items(whole()),
        "of": Field("what is trained on what", lambda value: isinstance(value, dict)),
    }
)


class Cut(NamedTuple):
    """A session, and how many rows of each shard it has learnt."""

    session: Session
    cursors: list[int]
    number: int = 0


class CutFolder:
    """A folder with the latest cut of one training; `of` is what is trained on what, so that no other takes it up."""

    def __init__(self, path: str | os.PathLike[str], of: dict[str, Any]) -> None:
        self.path, self.of = os.fspath(path), of
        self._files, self._root = file_system(self.path)
        self._files.create_dir(self._root, recursive=True)

    def save(self, cut: Cut) -> None:
        """Write a cut, which replaces the one before."""
        name = f"cut-{cut.number:08d}.lr"
        with tempfile.TemporaryDirectory(prefix="lowregret-") as folder:
            model = Path(folder) / name
            cut.session.save(model)
            self._write(name, model.read_bytes())
        told = {"model": name, "number": cut.number, "cursors": cut.cursors, "of": self.of}
        self._write(NEXT, json.dumps(told).encode())
        self._files.move(self._at(NEXT), self._at(NAME))
        self._tidy(name)

    def load(self) -> Cut | None:
        """The cut that was saved last; None if there is none."""
        told = self._told()
        if told is None:
            return None
        if told["of"] != self.of:
            differs = next(name for name in self.of | told["of"] if told["of"].get(name) != self.of.get(name))
            raise StoreError(
                f"{self.path} holds the cut of another training: its {differs} is {told['of'].get(differs)}, not "
                f"{self.of.get(differs)}; give the same command, or another folder for cuts"
            )
        with tempfile.TemporaryDirectory(prefix="lowregret-") as folder:
            model = Path(folder) / "cut.lr"
            model.write_bytes(self._model(told["model"]))
            return Cut(Session.load(model), list(told["cursors"]), told["number"])

    def _told(self) -> dict[str, Any] | None:
        try:
            told = json.loads(self._read(NAME))
            if not (TOLD.accepts(told) and is_shallow(told)):
                raise ValueError(f"expected {TOLD.wanted}")
            return cast(dict[str, Any], TOLD.made(told))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError, StoreError) as error:
            raise StoreError(f"{self.path}/{NAME} is damaged: {error}; delete it to begin anew") from None

    def _model(self, name: str) -> bytes:
        try:
            return self._read(name)
        except FileNotFoundError:
            raise StoreError(f"{self.path} lacks {name}, which {NAME} names; delete {NAME} to begin anew") from None

    def _tidy(self, kept: str) -> None:
        """Delete the models of earlier cuts, and nothing else that is called like them."""
        from pyarrow.fs import FileSelector

        for found in self._files.get_file_info(FileSelector(self._root)):
            if found.is_file and _MODEL.fullmatch(found.base_name) and _number(found.base_name) < _number(kept):
                self._files.delete_file(found.path)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _write(self, name: str, data: bytes) -> None:
        """Write a file of the folder; a link of its name makes way, for it may lead anywhere."""
        try:
            if self._files.type_name == "local" and os.path.islink(self._at(name)):
                os.unlink(self._at(name))
            with self._files.open_output_stream(self._at(name)) as file:
                file.write(data)
        except OSError as error:
            raise StoreError(f"cannot write {self.path}/{name}: {error}") from None

    def _read(self, name: str) -> bytes:
        with self._files.open_input_stream(self._at(name)) as file:
            return bytes(file.read())


def _number(name: str) -> int:
    """The number in the name of a cut."""
    return int(name.removeprefix("cut-").removesuffix(".lr"))


def table_digest(data: Any) -> str:
    """A name for the contents of an Arrow table: O(bytes)."""
    import pyarrow as pa

    table, found = pa.table(data), blake2b(digest_size=16)
    found.update(table.schema.serialize())
    for batch in table.to_batches():
        found.update(batch.serialize())
    return f"a table of {counted(table.num_rows, 'row')}, {found.hexdigest()}"


def file_system(path: str) -> tuple[Any, str]:
    """The file system that reaches a path, and the path in it."""
    try:
        from pyarrow import ArrowInvalid, fs
    except ImportError:
        raise StoreError("checkpoints need pyarrow: pip install 'lowregret[ray]'") from None
    if "://" not in path:
        return fs.LocalFileSystem(), os.path.abspath(path)
    try:
        return fs.FileSystem.from_uri(path)
    except ArrowInvalid as error:
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-not-found]
        except ImportError:
            raise StoreError(f"cannot reach {path}: {error}; with fsspec installed, more can be reached") from None
        found, root = url_to_fs(path)
        return fs.PyFileSystem(fs.FSSpecHandler(found)), root
