"""The cluster that a training runs on: one of its own on this machine, or one that is there.

Whoever made the folder where a command runs may be anybody, so workers import from there only if this process does.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from lowregret.errors import LowRegretError

LOCAL = "local"
HOST_AND_PORT = re.compile(r"(?:ray://)?\[?([^/\s]+?)\]?:(\d{1,5})")
SETTINGS, FRAME = b"\x04", 9  # of HTTP/2: the kind that the fourth byte of a frame says, and the bytes of its head
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + SETTINGS + bytes(5)  # and no settings
PATIENCE = 20.0  # seconds until a cluster must have answered
PRINTS = "RAY_TQDM_PATCH_PRINT"  # of Ray: whether it replaces Python's print, which compiled parts may then not call
REACHABLE = "ENABLE_RAY_CLUSTER"  # of Ray: whether its nodes are to be reached from other machines


@contextmanager
def cluster(address: str, workers: int) -> Iterator[None]:
    """Be connected to a cluster; one that this process is connected to already is used and stays."""
    try:
        import ray
    except ImportError:
        raise LowRegretError("training on several machines needs Ray: pip install 'lowregret[ray]'") from None
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault(PRINTS, "0")
    how: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "job_config": _job()}
    if address == LOCAL:
        how |= {"address": LOCAL, "num_cpus": max(workers, os.cpu_count() or 1), "include_dashboard": False}
    else:
        how |= {"address": address}
    try:
        _knock(address)
        with _unreachable() if address == LOCAL else nullcontext():
            ray.init(**how)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:  # nobody there, or what is no address
        raise LowRegretError(f"no Ray cluster at {address}: {error}; start one with `ray start --head`") from None
    try:
        _require_ours(how["job_config"])
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise `OSError` if nobody listens at a host and port, or not to HTTP/2, where Ray would go on asking for minutes.

    Whoever speaks gRPC, as Ray does, answers the first bytes of a connection with its settings.
    """
    named = HOST_AND_PORT.fullmatch(str(address))
    if not named:
        return
    with socket.create_connection((named[1], int(named[2])), PATIENCE) as line, line.makefile("rb") as answer:
        if os.environ.get("RAY_USE_TLS", "0") in ("", "0"):  # else these bytes would have to be encrypted
            line.sendall(GREETING)
            if answer.read(FRAME)[3:4] != SETTINGS:
                raise OSError("whoever listens there does not answer as Ray does")


@contextmanager
def _unreachable() -> Iterator[None]:
    """Let a Ray that is started listen on 127.0.0.1 alone: it runs what it is sent, in earlier versions by anybody.

    An address of this machine alone Ray replaces by one that others reach, unless it believes that there are none.
    """
    from ray._private import ray_constants as constants

    kept = getattr(constants, REACHABLE, True)
    setattr(constants, REACHABLE, False)
    try:
        yield
    finally:
        setattr(constants, REACHABLE, kept)


# ---- where workers import from --------------------------------------------------------------------------------------


class ImportFolders(list[str]):
    """Folders that workers import from first: of those that Ray adds, the ones from which this process imports."""

    def extend(self, folders: Iterable[str]) -> None:
        """Ray adds the folder of the script, and the one where this process is."""
        super().extend(folder for folder in folders if _imports_from(folder))

    def __reduce__(self) -> tuple[Any, ...]:
        """A list, for whoever keeps the gate of a cluster need not have this package."""
        return list, (list(self),)


def _imports_from(folder: str) -> bool:
    """Whether this process imports from a folder."""
    return os.path.realpath(folder) in {os.path.realpath(place) for place in sys.path}


def _job() -> Any:
    """Settings of a training for Ray: workers import from no folder from which this process does not."""
    from ray.job_config import JobConfig

    job: Any = JobConfig()
    job._py_driver_sys_path = ImportFolders(getattr(job, "_py_driver_sys_path", ()))
    return job


def _require_ours(job: Any) -> None:
    """Refuse a Ray whose workers would import from the folder where this process is though the process does not."""
    from ray import __version__ as version
    from ray.job_config import JobConfig

    here, known = os.getcwd(), hasattr(JobConfig(), "_py_driver_sys_path")
    if not _imports_from(here) and not (known and all(map(_imports_from, job._py_driver_sys_path))):
        raise LowRegretError(f"workers of Ray {version} would run modules that lie in {here}: use another version")
