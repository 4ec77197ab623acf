"""`lowregret zoo`: the algorithms."""

from __future__ import annotations

import inspect
import json
import textwrap
from argparse import Namespace

from lowregret.cli.arguments import ALGORITHMS
from lowregret.cli.make import MAKERS
from lowregret.zoo import ZOO, Entry


def zoo(args: Namespace) -> int:
    """List the algorithms, or tell all about one."""
    entries = [entry for entry in ZOO if entry.name in ALGORITHMS and args.name in (None, entry.name)]
    if args.json:
        print(json.dumps({entry.name: _facts(entry) for entry in entries}, ensure_ascii=False))
    elif args.name:
        print(_page(entries[0]))
    else:
        width = max(len(entry.name) for entry in entries)
        for entry in entries:
            options = " ".join(f"--{option}" for option in MAKERS[entry.name][1].split())
            print(f"{entry.name:<{width}}  {entry.purpose}" + (f"; needs {options}" if options else ""))
            print(f"{'':<{width}}  certificates: {', '.join(entry.certificates)}")
        print("\n`lowregret zoo NAME` tells more; the default is auto, which needs no tuning.")
    return 0


def _facts(entry: Entry) -> dict[str, object]:
    _, needed, welcome = MAKERS[entry.name]
    return {
        "purpose": entry.purpose,
        "update": inspect.getdoc(entry.make),
        "needs": needed.split(),
        "takes": welcome.split(),
        "certificates": list(entry.certificates),
    }


def _page(entry: Entry) -> str:
    facts = _facts(entry)
    options = [f"--{option}" for option in MAKERS[entry.name][1].split()]
    options += [f"[--{option}]" for option in MAKERS[entry.name][2].split()]
    return "\n".join(
        [
            f"{entry.name}: {entry.purpose}",
            textwrap.indent(str(facts["update"]), "  "),
            f"  options       {' '.join(options) or 'none'}",
            f"  certificates  {', '.join(entry.certificates)}",
        ]
    )
