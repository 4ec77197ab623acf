"""`lowregret zoo`: the algorithms of the textbook, the losses and formats."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lowregret.cli.arguments import add_telling, one_of
from lowregret.cli.commands import Command
from lowregret.cli.json_output import print_json
from lowregret.stream.formats import FORMATS

if TYPE_CHECKING:
    from lowregret.game.textbook import Item

EXAMPLES = """examples:
  lowregret zoo
  lowregret zoo ogd-lazy
  lowregret zoo halving
  lowregret zoo losses
  lowregret zoo formats"""
LOSSES_WORD, FORMATS_WORD = "losses", "formats"


def _run(args: Namespace) -> int:
    """List the algorithms, losses or formats, or tell all about one algorithm."""
    if args.name == LOSSES_WORD:
        return _list_losses(args.json)
    if args.name == FORMATS_WORD:
        return _list_formats(args.json)
    from lowregret.game.textbook import whole

    items = [item for item in whole().values() if args.name in (None, item.name)]
    if args.json:
        print_json({item.name: _facts(item) for item in items})
    elif args.name:
        print(_page(items[0]))
    else:
        _list(items)
    return 0


def _list(items: list[Item]) -> None:
    width = max(len(item.name) for item in items)
    print("what `lowregret train --algorithm NAME` learns with:\n")
    for item in (item for item in items if item.trained):
        options = " ".join(f"--{option}" for option in _options(item)[0])
        print(f"{item.name:<{width}}  {item.purpose}" + (f"; needs {options}" if options else ""))
        print(f"{'':<{width}}  certificates: {', '.join(item.certificates)}")
    print("\nwhat is played, mixed, drawn or proved beside it:\n")
    for item in (item for item in items if not item.trained):
        print(f"{item.name:<{width}}  {item.purpose}")
        print(f"{'':<{width}}  {', '.join(item.places)}; certificates: {_proved(item)}")
    print("\n`lowregret zoo NAME` tells more, with a command to try; the default is auto, which needs no tuning.")


def _options(item: Item) -> tuple[list[str], list[str]]:
    """The options of `train` that it needs, and those that it takes."""
    return (list(item.entry.needs), list(item.entry.takes)) if item.entry and item.trained else ([], [])


def _proved(item: Item) -> str:
    return ", ".join(item.certificates) or "none"


def _facts(item: Item) -> dict[str, object]:
    needs, takes = _options(item)
    return {
        "purpose": item.purpose,
        "update": item.formula,
        "needs": needs,
        "takes": takes,
        "certificates": list(item.certificates),
        "where": list(item.places),
        "try": list(item.commands),
    }


def _page(item: Item) -> str:
    needs, takes = _options(item)
    options = [f"--{option}" for option in needs] + [f"[--{option}]" for option in takes]
    return "\n".join(
        [
            f"{item.name}: {item.purpose}",
            *(f"  {line}" for line in item.formula.split("\n")),
            *([f"  options       {' '.join(options) or 'none'}"] if item.trained else []),
            f"  certificates  {_proved(item)}",
            f"  in Python     {', '.join(item.places)}",
            *(f"  try           {command}" for command in item.commands),
        ]
    )


def _names() -> Iterable[str]:
    from lowregret.game.textbook import whole

    return (*whole(), LOSSES_WORD, FORMATS_WORD)


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
        print_json(told)
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
        print_json(told)
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
        type=one_of("algorithm", _names),
        metavar="ALGORITHM|losses|formats",
        help="tell all about one algorithm, or list the losses or formats",
    )
    add_telling(command)


COMMAND = Command(
    "the algorithms, what each is for, and its certificate; the losses and formats", EXAMPLES, _arguments, _run
)
