"""Arguments of `lowregret train`; its work is in `cli/work/train.py`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _ArgumentGroup

from lowregret.cli.arguments import (
    THEORY,
    add_columns,
    add_data,
    add_follow,
    add_reading,
    add_scores,
    add_telling,
    algorithms,
    block_size,
    count,
    count_from_zero,
    follow_of,
    names,
    not_negative,
    one_of,
    picture,
    positive,
    rate,
)
from lowregret.cli.commands import Command
from lowregret.cli.holdout import Holdout, holdout

EXAMPLES = """examples:
  lowregret train clicks.svm.gz --loss logistic -o clicks.lr
  lowregret train flights.csv --target delay --drop flight --date scheduled --loss huber:15
  lowregret train mail.tsv --target folder --positive spam --text subject,body
  zcat big.vw.gz | lowregret train - --format vw --loss hinge --quiet --json
  lowregret train news20.svm --loss softmax --algorithm adagrad -o news.lr
  lowregret train more.svm --resume clicks.lr -o clicks.lr"""


def _run(args: Namespace) -> int:
    """Begin to read, and learn; what learning needs is imported while the first rows are being read."""
    from lowregret.cli.clock import Clock
    from lowregret.cli.form import form_of, open_rows
    from lowregret.errors import PartError
    from lowregret.stream.columns import has_lags
    from lowregret.stream.source import expand, is_pipe

    if args.ray is not None:
        return _run_on_ray(args)
    _require_no_workers(args)
    once = any(is_pipe(path) for path in expand(args.data))
    if args.certify == "exact" and (args.resume or once):
        raise PartError("--certify exact reads all rows again: it takes files from the beginning, no --resume and no -")
    if args.passes > 1 and once:
        raise PartError("--passes reads the rows again, which a pipe gives only once: put them into a file")
    _require_end(args)
    args.follow = follow_of(args)
    if args.delay and args.delay_column:
        raise PartError("--delay N is the lag of every row, --delay-column names each row's own: say one of them")
    with Clock() as clock:
        if args.keep_rows:
            _read_cache(args)
        form = None if args.resume else form_of(args)
        if args.delay or (form is not None and has_lags(form)):
            _require_patience(args)
        stream = None
        if form is not None and not (args.weights or args.report or args.importance):
            stream = open_rows(args, form, None)
        from lowregret.cli.work.train import learn

        return learn(args, form, stream, clock)


def _run_on_ray(args: Namespace) -> int:
    """Learn on a Ray cluster."""
    from lowregret.cli.clock import Clock
    from lowregret.cli.work.ray import learn_on_ray, require_alone

    require_alone(args)
    args.follow = None
    with Clock() as clock:
        return learn_on_ray(args, clock)


def _require_no_workers(args: Namespace) -> None:
    """Refuse options of Ray without it."""
    from lowregret.errors import PartError

    for name in ("workers", "servers", "staleness", "cuts"):
        if getattr(args, name) is not None:
            raise PartError(f"--{name} is of training on Ray: say --ray local, or the address of a cluster")


def _read_cache(args: Namespace) -> None:
    """Let the cache beside the data stand for them; it is made if need be."""
    from lowregret.cli.work.convert import cached_beside
    from lowregret.errors import PartError

    if args.follow:
        raise PartError("--follow reads rows that are not there yet, of which there is no cache: leave --cache out")
    args.data = [cached_beside(args)]


def _require_end(args: Namespace) -> None:
    """Refuse what needs the end of the data, or more than one row of them, before learning a file that is followed."""
    from lowregret.errors import PartError

    ends = {
        "passes": args.passes > 1,
        "certify exact": args.certify == "exact",
        "holdout last:P%": args.holdout.percent,
    }
    ends["eta theory"] = args.eta == THEORY and None in (args.rounds, args.lipschitz)
    for option in (name for name, given in ends.items() if given and args.follow):
        raise PartError(f"--{option} reads rows to their end before it goes on, and --follow knows none: leave one out")
    if args.follow and not (args.resume or args.loss or args.positive or args.algorithm not in (None, "auto")):
        raise PartError("--follow cannot tell from the rows to come what labels are: say --loss, or --positive LABEL")


def _require_patience(args: Namespace) -> None:
    """Refuse options that do not go together with labels that come late."""
    from lowregret.errors import PartError

    if args.passes > 1:
        raise PartError("late labels (--delay) tell how rows fare in their first pass: use --passes 1")
    if args.certify == "exact":
        raise PartError("--certify exact reads rows again whose labels have not come yet: use --certify stream")
    if args.eta == THEORY:
        raise PartError("--eta theory promises a bound for labels that come at once: give a number, or no --delay")


def _arguments(command: ArgumentParser) -> None:
    add_data(command)
    group = command.add_argument_group("reading")
    add_columns(group)
    group.add_argument("--positive", metavar="LABEL", help="the label that counts as +1; all others count as −1")
    group.add_argument("--zero-based", action="store_true", help="svm indices begin with 0, for --dimension")
    add_reading(group, "found from the name or the content if not given")
    group.add_argument(
        "--cache",
        dest="keep_rows",
        action="store_true",
        help="keep the rows in DATA.lrc, and read them from it next time",
    )
    add_follow(group)
    learning = command.add_argument_group("learning")
    _add_learning(learning)
    _add_rates(learning)
    _add_going_over(learning)
    _add_cores(learning)
    _add_ray(command.add_argument_group("learning on several machines (extra ray; docs/ray.md)"))
    keeping = command.add_argument_group("keeping")
    keeping.add_argument("-o", "--model", metavar="MODEL", help="write the model, at the end and on the way")
    keeping.add_argument("--resume", metavar="MODEL", help="go on with a model; no option need be said again")
    keeping.add_argument(
        "--checkpoint", type=positive, default=60.0, metavar="SECONDS", help="how often to write the model (60)"
    )
    keeping.add_argument(
        "--predict-only", action="store_true", help="write the model for prediction alone: small, not to be resumed"
    )
    keeping.add_argument("--weights", metavar="FILE", help="write weights by name, and report names that share one")
    showing = command.add_argument_group("showing")
    add_scores(showing, "progressive scores, each made before its row was learnt")
    add_telling(showing, "no progress, no summary")
    showing.add_argument(
        "--plot", type=picture, metavar="FILE", help="draw loss and regret over the rows, and of auto its experts"
    )
    showing.add_argument(
        "--importance", action="store_true", help="tell what the kept model goes by (auto on few columns)"
    )
    showing.add_argument("--report", metavar="FILE.html", help="write a page with figures, proof, pictures and weights")


def _add_learning(learning: _ArgumentGroup) -> None:
    learning.add_argument(
        "--loss",
        metavar="NAME[:X]",
        help="such as logistic, quantile:0.9 and, for more than two classes, softmax: see `lowregret zoo losses` "
        "(auto: as the labels are; others: hinge)",
    )
    learning.add_argument(
        "--algorithm", type=one_of("algorithm", algorithms), metavar="NAME", help="see `lowregret zoo` (auto)"
    )
    learning.add_argument(
        "--features", choices=("both", "raw", "partitions"),
        help="of narrow rows, auto goes by the features as they are and by the cells of random partitions (both)",
    )  # fmt: skip
    learning.add_argument("--bias", action="store_true", help="add a constant feature")
    learning.add_argument(
        "--output", choices=("last", "average", "weighted", "random"),
        help="which iterate the model keeps (last); auto keeps its own, so with this ogd learns if no other is named",
    )  # fmt: skip
    learning.add_argument(
        "--classes", type=names, default=(), metavar="A,B,…", help="all classes, if they are known beforehand"
    )
    learning.add_argument("--unit", action="store_true", help="scale every row to length 1 (losses of many classes)")
    learning.add_argument("--partitions", action="store_true", help="add cells of random trees to rows (not for auto)")
    learning.add_argument("--dimension", type=count, metavar="N", help="number of features, for eg, ueg and winnow")
    learning.add_argument("--seed", type=int, metavar="N", help="settles what --output random or --partitions draw (0)")
    learning.add_argument(
        "--certify", choices=("stream", "exact", "off"), default="stream",
        help="stream: regret at most …, in one pass; exact: also the best in hindsight; off: keep nothing for it",
    )  # fmt: skip


def _add_rates(learning: _ArgumentGroup) -> None:
    learning.add_argument(
        "--eta", type=rate, metavar="X|theory",
        help="learning rate; ogd does without. theory: as the theorem tunes it, with the bound that it promises",
    )  # fmt: skip
    learning.add_argument(
        "--rounds", type=count, metavar="N", help="of --eta theory: rows to come, if not to be counted"
    )
    learning.add_argument(
        "--lipschitz", type=positive, metavar="G", help="of --eta theory: size of sub-gradients, if not to be looked up"
    )
    learning.add_argument("--radius", type=positive, help="size of the weights' ball or simplex, or of comparators (1)")
    learning.add_argument("--p", type=positive, help="the norm of pnorm, at least 2")
    learning.add_argument("--lam", type=positive, help="L2 regularisation of ogd-sc and ogd-scw")
    learning.add_argument("--l1", type=not_negative, help="L1 penalty of ftrl-proximal (1)")
    learning.add_argument("--l2", type=not_negative, help="L2 penalty of ftrl-proximal (1)")
    learning.add_argument("--beta", type=not_negative, help="β of ftrl-proximal's rates η/(β + √Σz²) (1)")
    learning.add_argument("--clip", type=positive, help="size of sub-gradients, beyond which kt clips them (1)")
    learning.add_argument("--C", type=positive, help="largest step of pa (none), softness of pa-ii (1)")


def _add_going_over(learning: _ArgumentGroup) -> None:
    learning.add_argument(
        "--passes", type=count, default=1, metavar="N",
        help="go over the data up to N times; with --holdout, until that goes worse, and the best pass is kept",
    )  # fmt: skip
    learning.add_argument(
        "--holdout", type=holdout, default=Holdout(), metavar="N|last:N|last:P%",
        help="rows for judging only: every N-th, the last N, or the last P%% (which counts the rows of files first)",
    )  # fmt: skip
    learning.add_argument(
        "--delay", type=count_from_zero, metavar="N",
        help="labels come late: each after N more rows were scored; figures are those of such a deployment (0)",
    )  # fmt: skip
    learning.add_argument("--skip", type=count, default=0, metavar="N", help="leave out the first N rows")


def _add_cores(learning: _ArgumentGroup) -> None:
    learning.add_argument(
        "--learners", type=count, metavar="N",
        help="learn with N threads (auto, and in blocks of rows ogd, adagrad, ftrl-proximal, newton-diagonal); "
        "--threads are those that read",
    )  # fmt: skip
    learning.add_argument(
        "--block", type=block_size, metavar="N|free",
        help="rows that --learners decide with one iterate (as many as cost little); free: nobody waits for others",
    )  # fmt: skip


def _add_ray(group: _ArgumentGroup) -> None:
    group.add_argument("--ray", metavar="local|ADDRESS", help="learn on a Ray cluster, or one made for the purpose")
    group.add_argument("--workers", type=count, metavar="N", help="that read and learn at once (2)")
    group.add_argument(
        "--staleness", type=count_from_zero, metavar="N",
        help="most rows of others that a worker may lack when it decides one; 0: all read, and learn in turns (0)",
    )  # fmt: skip
    group.add_argument("--servers", type=count, metavar="N", help="that hold the weights, if --staleness is not 0 (1)")
    group.add_argument(
        "--cuts", metavar="FOLDER",
        help="where to keep all it takes to go on after a fault, every --checkpoint seconds: a folder, s3://…, gs://…; "
        "the same command goes on from there",
    )  # fmt: skip


COMMAND = Command(
    "learn from files or a stream, in one pass",
    EXAMPLES,
    _arguments,
    _run,
    reads=("data", "resume"),
    speaks=lambda args: not args.quiet,
)
