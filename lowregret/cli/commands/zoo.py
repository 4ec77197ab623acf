"""`lowregret zoo`: the algorithms, losses and formats."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from lowregret.cli.arguments import add_telling, algorithms, one_of
from lowregret.cli.commands import Command
from lowregret.stream.formats import FORMATS

if TYPE_CHECKING:
    from lowregret.zoo import Entry

EXAMPLES = """examples:
  lowregret zoo
  lowregret zoo ogd-lazy
  lowregret zoo losses
  lowregret zoo formats"""
LOSSES_WORD, FORMATS_WORD = "losses", "formats"


def _run(args: Namespace) -> int:
    """List the algorithms, losses or formats, or tell all about one algorithm."""
    if args.name == LOSSES_WORD:
        return _list_losses(args.json)
    if args.name == FORMATS_WORD:
        return _list_formats(args.json)
    from lowregret.zoo import ALGORITHMS

    entries = [entry for entry in ALGORITHMS.values() if args.name in (None, entry.name)]
    if args.json:
        _print_json({entry.name: _facts(entry) for entry in entries})
    elif args.name:
        print(_page(entries[0]))
    else:
        width = max(len(entry.name) for entry in entries)
        for entry in entries:
            options = " ".join(f"--{option}" for option in entry.needs)
            print(f"{entry.name:<{width}}  {entry.purpose}" + (f"; needs {options}" if options else ""))
            print(f"{'':<{width}}  certificates: {', '.join(entry.certificates)}")
        print("\n`lowregret zoo NAME` tells more; the default is auto, which needs no tuning.")
    return 0


def _print_json(told: dict[str, Any]) -> None:
    from json import dumps

    print(dumps(told, ensure_ascii=False))


def _facts(entry: Entry) -> dict[str, object]:
    return {
        "purpose": entry.purpose,
        "update": getdoc(entry.make),
        "needs": list(entry.needs),
        "takes": list(entry.takes),
        "certificates": list(entry.certificates),
    }


def _page(entry: Entry) -> str:
    options = [f"--{option}" for option in entry.needs] + [f"[--{option}]" for option in entry.takes]
    return "\n".join(
        [
            f"{entry.name}: {entry.purpose}",
            *(f"  {line}" for line in str(getdoc(entry.make)).split("\n")),
            f"  options       {' '.join(options) or 'none'}",
            f"  certificates  {', '.join(entry.certificates)}",
        ]
    )


def _list_losses(as_json: bool) -> int:
    from lowregret.loss import LOSSES
    from lowregret.loss.name import formula, usual_parameter

    parameters = {name: usual_parameter(kind) for name, kind in LOSSES.items()}
    if as_json:
        told = {
            name: {"purpose": kind.purpose, "formula": formula(kind), "parameter": parameters[name],
                   "labels": kind.labels, "class": kind.__name__}
            for name, kind in LOSSES.items()
        }  # fmt: skip
        _print_json(told)
        return 0
    spelt = {name: f"{name}:{value}" if value else name for name, value in parameters.items()}
    width = max(map(len, spelt.values()))
    for name, kind in LOSSES.items():
        print(f"{spelt[name]:<{width}}  {kind.purpose}; labels: {kind.labels}")
        print(f"{'':<{width}}  {formula(kind)}")
    print("\nWhat follows a colon may be left out. Without --loss, auto goes by the labels, others take hinge.")
    return 0


def _list_formats(as_json: bool) -> int:
    if as_json:
        told = {form.name: {"endings": form.endings, "rows": form.rows, "options": form.options}
                for form in FORMATS.values()}  # fmt: skip
        _print_json(told)
        return 0
    width = max(map(len, FORMATS))
    for form in FORMATS.values():
        print(f"{form.name:<{width}}  .{' .'.join(form.endings)}: {form.rows}")
        print(f"{'':<{width}}  {form.features}")
    return 0


def _arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "name",
        nargs="?",
        type=one_of("algorithm", lambda: (*algorithms(), LOSSES_WORD, FORMATS_WORD)),
        metavar="ALGORITHM|losses|formats",
        help="tell all about one algorithm, or list the losses or formats",
    )
    add_telling(command)


COMMAND = Command(
    "the algorithms, what each is for, and its certificate; the losses and formats", EXAMPLES, _arguments, _run
)
