"""Machine code on disk, for later processes: one file per entry, named by a digest of what it was made from.

Numba's own cache numbers its files and keeps an index of them. Two processes that compile at the same time can take
the same number, and then run each other's code; and reading the index means reading what every program before wrote
in it. Here an entry stands alone. It is checked before it is used: reading it runs code, so nobody else may have been
able to write it (`trust.py`). Whatever is wrong with it, or with the disk, means "compile", not a traceback.

Several versions of the package may run side by side in one folder: a program started before an upgrade, and one after.
So entries go by when they were last used, whoever made them. A file's time of change is the time of its last use.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any
from uuid import uuid4

from numba.core import config
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.serialize import dumps

from lowregret.compile.digest import digest, package_stamp
from lowregret.compile.trust import is_safe, read_trusted, write_private

KEPT = 256  # entries per loop and version of the package; an edited part leaves its old entry behind
VERSIONS = 4  # per loop; an edited package leaves all its old entries behind


class KernelCache(_Cache):  # type: ignore[misc]
    """The entries of one loop: in `__pycache__` beside its source, or in a user-wide folder if that is read-only."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function

    @cached_property
    def _form(self) -> Any:
        """Where entries go and how they are written, or None if there is no place for them."""
        try:
            return CompileResultCacheImpl(self._function)
        except RuntimeError:
            return None

    @property
    def cache_path(self) -> str | None:
        return self._form.locator.get_cache_path() if self._form else None

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled function, or None."""
        if self._form is None:
            return None
        key = self._key(signature, context.codegen())
        path = self._path(key)
        try:
            content = read_trusted(path) or b""
            checksum, payload = content[:32], content[32:]
            if hashlib.sha256(payload).digest() != checksum:
                return None
            stored, data = pickle.loads(payload)
            if stored != key:
                return None
            with suppress(OSError):  # it may be another user's, or removed meanwhile
                os.utime(path)
            _, function, *_ = data
            names = {function.llvm_func_name, function.llvm_cpython_wrapper_name}
            context.codegen()._engine._defined_symbols |= names  # Numba would read them out of LLVM code
            return self._form.rebuild(context, data)
        except Exception:  # compiling again is always right
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write an entry, all or nothing; a disk that refuses only means that the next process compiles too."""
        if self._form is None or not self._form.check_cachable(result):
            return
        key = self._key(signature, result.codegen)
        payload = dumps((key, self._form.reduce(result)))
        try:
            _write(self._path(key), hashlib.sha256(payload).digest() + payload)
            self._tidy()
        except OSError:
            pass

    def _key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        function = self._function
        identity = function.__module__, function.__qualname__, digest(function)
        return identity, signature, codegen.magic_tuple(), config.OPT, config.BOUNDSCHECK, hasattr(function, "compact")

    def _path(self, key: tuple[Any, ...]) -> Path:
        return self._folder / f"{self._prefix}{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.nbc"

    @property
    def _folder(self) -> Path:
        return Path(self._form.locator.get_cache_path())

    @property
    def _name(self) -> str:
        """The name of the files of one loop in one module, for one version of Python."""
        module = self._function.__module__.rpartition(".")[2]
        loop = self._function.__qualname__.replace("<locals>", "")
        return f"{module}.{loop}.{sys.implementation.cache_tag}."

    @property
    def _prefix(self) -> str:
        return f"{self._name}{package_stamp()}."

    def _tidy(self) -> None:
        """Delete entries of this loop, but those used last of each version of the package used last."""
        versions: dict[str, list[Path]] = {}
        for entry in sorted(self._folder.glob(f"{self._name}*.nbc"), key=_last_use, reverse=True):
            stamp = entry.name.removeprefix(self._name).partition(".")[0]
            versions.setdefault(stamp, []).append(entry)
        for i, entries in enumerate(versions.values()):
            for entry in entries[KEPT if i < VERSIONS else 0 :]:
                entry.unlink(missing_ok=True)

    def flush(self) -> None:
        pass

    def enable(self) -> None:
        pass

    def disable(self) -> None:
        pass


def _last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process was quicker to remove it
        return 0.0


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, also when several processes write at once."""
    path.parent.mkdir(0o755, parents=True, exist_ok=True)
    if not is_safe(path.parent):
        return
    draft = path.with_suffix(f".{uuid4().hex}.tmp")
    try:
        write_private(draft, content)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
