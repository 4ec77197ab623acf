"""Commands run in this process: what they say, and their JSON, of which nothing is forgiven."""

from __future__ import annotations

import contextlib
import io
import json
import traceback
from typing import Any, NamedTuple

from lowregret.cli import main as command_line


class Told(NamedTuple):
    """What became of a command."""

    code: Any
    out: str
    err: str


def run(said: list[str]) -> Told:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: Any = command_line(said)
        except SystemExit as end:
            code = end.code
        except BaseException:
            code = traceback.format_exc()
    return Told(code, out.getvalue(), err.getvalue())


def strict(text: str) -> Any:
    """One JSON object in one line."""

    def refuse(token: str) -> None:
        raise ValueError(f"{token} is no JSON")

    found = json.loads(text, parse_constant=refuse)
    if text.count("\n") != 1 or not isinstance(found, dict):
        raise ValueError("not one object in one line")
    return found
