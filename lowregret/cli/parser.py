"""The whole command line, put together from the commands."""

from __future__ import annotations

from argparse import Action, ArgumentParser, RawDescriptionHelpFormatter
from typing import Any, NoReturn

from lowregret.cli.commands import NAMES, command


def parser() -> ArgumentParser:
    """The parser of the whole command line."""
    whole = _Parser("lowregret", description="Online learning with proof: every run carries a regret certificate.")
    whole.add_argument("--version", action=_Version, nargs=0, help="say which version this is")
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    for name in NAMES:
        known = command(name)
        own = commands.add_parser(
            name, help=known.purpose, description=known.purpose[0].upper() + known.purpose[1:] + ".",
            epilog=known.examples, formatter_class=RawDescriptionHelpFormatter,
        )  # fmt: skip
        own.set_defaults(command=name)
        known.arguments(own)
    return whole


class _Parser(ArgumentParser):
    """Says in one line what is wrong, and what was perhaps meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            from difflib import get_close_matches

            said = rest[0].partition("=")[0]
            near = get_close_matches(said, self._option_string_actions, 1, 0.75) if said.startswith("-") else []
            hint = f"did you mean {near[0]}?" if near else f"see {self.prog} --help"
            self.exit(2, f"{self.prog}: there is no place for {rest[0]}; {hint}\n")
        return found, rest

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class _Version(Action):
    """Says the version, which it looks up only then."""

    def __call__(self, parser: ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"lowregret {version('lowregret')}")
        parser.exit()
