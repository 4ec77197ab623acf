"""`lowregret play`: a learner against an environment, and what the theorem says of it."""

from __future__ import annotations

import textwrap
from argparse import Namespace
from typing import Any

from lowregret.cli.arguments import THEORY
from lowregret.cli.json_output import print_json
from lowregret.cli.own_file import is_own, load_own
from lowregret.domain import Point
from lowregret.errors import PartError
from lowregret.game import CATALOGUE, Adversary, Contest, Environment, contest, fitting, game
from lowregret.game.catalogue import WRAPPERS
from lowregret.store.replacing import require_place
from lowregret.words import counted

WIDTH = 100
REPLAY = "replay"


def play(args: Namespace) -> int:
    """List, or play and tell."""
    if args.game is None:
        return _tell(_facts() if args.json else _list())
    e = _environment(args)
    if args.algorithm is None:
        return _tell(_fact(e) if args.json else _page(args.game, e))
    if args.plot is not None:
        from lowregret.show.plot import require_picture

        require_place(args.plot)
        require_picture(args.plot)
    player = load_own(args.algorithm) if is_own(args.algorithm) else args.algorithm
    eta = None if args.eta == THEORY else args.eta
    played = contest(e, player, args.rounds, seed=args.seed, eta=eta, name=args.game)
    if args.plot:
        played.plot(args.plot)
    if args.json:
        print_json(played.to_json())
    elif args.quiet:
        print(played.verdict)
    else:
        print(f"{_head(played)}\n\n{played}")
    return 0


def _tell(what: Any) -> int:
    """Print a text, or an object as JSON."""
    if isinstance(what, str):
        print(what)
    else:
        print_json(what)
    return 0


def _environment(args: Namespace) -> Environment:
    """The game that the options describe."""
    said = {name: getattr(args, name) for name in ("radius", "data", "target", "positive")}
    given = {name: value for name, value in said.items() if value is not None}
    if is_own(args.game):
        return _own(args.game, given, args.dimension)
    if args.dimension is not None:
        raise PartError(f"--dimension is for an adversary of your own, FILE.py:NAME; {args.game} has its own")
    if args.game == REPLAY and args.algorithm is None and "data" not in given:
        given["data"] = "FILE"
    return game(args.game, **given)


def _own(name: str, given: dict[str, Any], dimension: int | None) -> Environment:
    """The environment in a Python file: one, a class of such, or an adversary, which is any callable."""
    found = load_own(name)
    if isinstance(found, type):
        taken = getattr(found, "__dataclass_fields__", {})
        given |= {"d": dimension} if dimension is not None and "d" in taken else {}
        unknown = given.keys() - taken.keys()
        if unknown:
            raise PartError(f"{name} takes no {', '.join(sorted(unknown))}: leave it out")
        found, given = found(**given), {}
    if isinstance(found, Environment):
        return found
    if not callable(found):
        raise PartError(f"{name} must be an environment, or a function of (t, w_t) that answers with costs")
    return Adversary(found, dimension or 1, **given)


def _head(played: Contest) -> str:
    tuned = f", {played.tuning}" if played.tuning else ""
    known = played.certificate.comparator
    rival = ", ".join(f"{name} {value:g}" if name != "set" else str(value) for name, value in known.items())
    if known["set"] == Point.name:
        rival = f"one point u, ‖u‖ = {known['radius']:g}"
    return (
        f"{played.algorithm} plays {played.game}: {counted(played.rounds, 'round')}, seed {played.seed}{tuned}; "
        f"compared with: {rival}"
    )


def _about(name: str) -> str:
    return (CATALOGUE[name].__doc__ or "").split("\n")[0]


def _make(name: str) -> Environment:
    return game(name, data="FILE") if name == REPLAY else game(name)


def _fact(e: Environment) -> dict[str, Any]:
    return {"about": e.about, "algorithms": [a.name for a in fitting(e)]}


def _facts() -> dict[str, Any]:
    return {"games": {name: _fact(_make(name)) for name in CATALOGUE}}


def _list() -> str:
    """All games, those with the same players together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in CATALOGUE:
        groups.setdefault(tuple(a.name for a in fitting(_make(name))), []).append(name)
    width = max(map(len, CATALOGUE))
    lines = []
    for players, names in groups.items():
        lines += [f"{name:<{width}}  {_about(name)}" for name in names]
        lines += [*textwrap.wrap(f"played by {', '.join(players)}", WIDTH, initial_indent="    ",
                                 subsequent_indent="              "), ""]  # fmt: skip
    lines += [
        "late:GAME    answers come 10 rounds late",
        "bandit:GAME  only the cost of what was played is shown (costs that ignore the player)",
        "",
        "`lowregret play GAME` tells what a game shows; `lowregret play GAME ALGORITHM` plays it.",
        "FILE.py:NAME is a game or a player of your own.",
    ]
    return "\n".join(lines)


def _page(name: str, e: Environment) -> str:
    """The page of one game: what it shows, and who can play it."""
    kind = type(e) if is_own(name) else CATALOGUE[name.rpartition(":")[2]]
    told = textwrap.dedent("    " + (kind.__doc__ or "")).strip().split("\n", 1)
    more = " ".join(told[1].split()) if len(told) > 1 else ""
    lines = [f"{name}: {e.about}", *textwrap.wrap(more, WIDTH, initial_indent="  ", subsequent_indent="  ")]
    if ":" in name and not is_own(name):
        wrapper = (WRAPPERS[name.split(":")[0]].__doc__ or "").split("\n\n")
        lines += textwrap.wrap(" ".join(wrapper[1].split()), WIDTH, initial_indent="  ", subsequent_indent="  ")
    players = [f"{a.name} ({a.tuning})" if a.tuning else a.name for a in fitting(e)]
    if not players:
        raise PartError(f"nobody can play {name}")
    return "\n".join([*lines, "  played by, tuned unless --eta is given:", *(f"    {player}" for player in players)])
