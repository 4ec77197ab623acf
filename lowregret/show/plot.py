"""Pictures of runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.show.drawing import figure_class, require_kind, write_figure
from lowregret.words import counted, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lowregret.certificate import Certificate
    from lowregret.certificate.trace import Trace
    from lowregret.show.subjects import Compared, InEras, Mixed, PlayedGame, Proved, RecordedRun, Stale

EXACT, REGRET, BOUND, LOSS = (
    "#009e73",
    "#0072b2",
    "#d55e00",
    "#444444",
)  # distinguishable by colour-blind eyes and in print
MEASURED = "linearised regret"
SAME = 0.99  # of a bound, so that no eye tells them apart
NAMED = 8  # experts with a colour of their own; the others share one


def new_figure(rows: int, title: str, shared: int | None = None, apart: bool = False) -> tuple[Figure, Any]:
    """An empty figure of this many panels above each other; the rounds' axis is one for all, or one for the first
    `shared` and one for the rest; or panels have axes of their own, `apart`.
    """
    figure = figure_class()(figsize=(7, 3 * rows), layout="constrained")
    figure.suptitle(title)
    panels = figure.subplots(rows, sharex=shared is None and not apart, squeeze=False)[:, 0]
    for group in (panels[:shared], panels[shared:]) if shared else ():
        for above in group[:-1]:
            above.sharex(group[-1])
            above.tick_params(labelbottom=False)
    return figure, panels


def require_picture(path: str | os.PathLike[str] | None) -> None:
    """Say before learning that a picture could not be drawn after it: for want of matplotlib, or of such a format."""
    require_kind(new_figure(1, "")[0], path)


def plot_run(run: Proved, path: str | os.PathLike[str] | None, theirs: Any = None) -> Figure:
    """Mean progressive loss above; linearised regret under the theorem's bound below.

    `theirs`, the losses of a fixed choice, adds its mean loss above, and the regret against it below.
    """
    figure, panels = new_figure(2, _title(run))
    run_curves(run, panels, theirs)
    return finish(figure, path)


def plot_spread(run: Stale, path: str | os.PathLike[str] | None, theirs: Any = None) -> Figure:
    """Plot a run that was spread over workers: loss and regret; below, how many rows of others were missing."""
    figure, panels = new_figure(3, _title(run), shared=2)
    run_curves(run, panels[:2], theirs)
    rows, last = run.lags, int(np.max(np.flatnonzero(run.lags), initial=0)) + 1
    names = ["0", *(str(1 << k) if k == 0 else f"{1 << k}–{(2 << k) - 1}" for k in range(last - 1))]
    panels[2].bar(names[:last], rows[:last] / max(rows.sum(), 1), color=REGRET)
    panels[2].tick_params(axis="x", labelrotation=30, labelsize="small")
    panels[2].set_xlabel(f"rows of others that were missing when a row was decided (most: {run.staleness:,})")
    panels[2].set_ylabel("share of rows")
    return finish(figure, path)


def plot_auto(run: Mixed, path: str | os.PathLike[str] | None, theirs: Any = None) -> Figure:
    """Plot the regret of a run of `auto` against its experts; below, mean losses in eras, and weights of experts.

    With `theirs`, a panel of its own for the regret against the fixed choice, under the linearised one.
    """
    figure, panels = new_figure(4 if theirs is None else 5, _title(run), shared=2 if theirs is None else 3)
    t, best = run.trace, run.certificate
    loss_curves(t, panels[0], theirs, _mean(run))
    measured = "regret" if best.linear_regret == best.regret else MEASURED
    nested_curves(panels[1], t.rounds, t.linear_regret, t.bound, t.theorem, best, measured)
    if theirs is not None:
        at, linear = run.fixed_trace
        panels[2].plot(at, linear, color=REGRET, label="linearised regret")
        panels[2].plot(t.rounds, t.loss - theirs, color=EXACT, label="regret")
        label_regret(panels[2], run.fixed_certificate)
        panels[1].set_xlabel("")
    era_curves(run.eras(), panels[-2:], _mean(run))
    return finish(figure, path)


def plot_eras(eras: InEras, path: str | os.PathLike[str] | None) -> Figure:
    """Mean losses in eras, and weights of experts."""
    figure, panels = new_figure(2, f"{eras.ends.size} eras")
    era_curves(eras, panels, "loss per round")
    return finish(figure, path)


def _title(run: Proved) -> str:
    return f"{type(run.learner.loss).__name__} loss, {counted(run.rounds, 'round')}"


def run_curves(run: Proved, panels: Any, theirs: Any) -> None:
    """The two panels of every run."""
    t, (above, below) = run.trace, panels
    loss_curves(t, above, theirs, _mean(run))
    nested_curves(below, t.rounds, t.linear_regret, t.bound, t.theorem, run.certificate)
    if theirs is not None:
        below.plot(t.rounds, t.loss - theirs, color=EXACT, label="regret")
        label_regret(below, run.certificate)


def _mean(run: Proved) -> str:
    """The name of losses divided by rounds: rows of importance c lose c·ℓ in one round."""
    return "mean loss" if getattr(run, "alike", True) else "loss per round"


def loss_curves(t: Trace, axes: Axes, theirs: Any, mean: str = "mean loss") -> None:
    """Mean loss of the learner, and of a fixed choice."""
    rounds = np.maximum(t.rounds, 1)
    axes.plot(t.rounds, t.loss / rounds, color=LOSS, label="learner")
    axes.set_ylabel(f"{mean} so far")
    if theirs is not None:
        axes.plot(t.rounds, theirs / rounds, color=EXACT, label="best fixed choice in hindsight")
        axes.legend(fontsize="small")


def era_curves(eras: InEras, panels: Any, mean: str = "mean loss") -> None:
    """Mean loss in each era: of the mixture, of its best expert, and of the best of the whole run; below, weights."""
    above, below = panels
    above.set_ylabel(f"{mean} in the era")
    below.set_xlabel("round")
    if eras.ends.size:
        edges, favourite = np.append(0, eras.ends), int(eras.experts.sum(axis=0).argmin())
        whole = eras.experts[:, favourite]
        above.stairs(
            whole / eras.lengths,
            edges,
            baseline=None,
            color=REGRET,
            label=f"best of the whole run: {eras.names[favourite]}",
        )
        above.stairs(eras.least / eras.lengths, edges, baseline=None, color=EXACT, label="best expert of each era")
        above.stairs(eras.mixture / eras.lengths, edges, baseline=None, color=LOSS, linestyle="--", label="mixture")
        above.legend(fontsize="small")
        stacked_weights(below, eras.ends, eras.weights, eras.names)


def stacked_weights(axes: Axes, rounds: Any, weights: Any, names: Any) -> None:
    """Weights over the rounds, or over dates, stacked, the most trusted by name and all others in grey."""
    order = np.argsort(-weights.mean(0), kind="stable")
    named, others = order[:NAMED], order[NAMED:]
    layers = [*(weights[:, i] for i in named), weights[:, others].sum(1)]
    labels = [*(names[i] for i in named), f"{others.size} others"]
    shown = len(layers) if others.size else len(layers) - 1
    colours = [*(f"C{i}" for i in range(len(named))), "#dddddd"]
    axes.stackplot(rounds, layers[:shown], labels=labels[:shown], colors=colours)
    under = 0.5, -0.2 if axes.get_xlabel() else -0.05
    axes.legend(loc="upper center", bbox_to_anchor=under, fontsize="small", ncols=3, frameon=False)
    axes.set_ylabel("weight")
    axes.set_ylim(0, 1)
    if not np.issubdtype(np.asarray(rounds).dtype, np.datetime64):
        axes.xaxis.set_major_formatter("{x:,.0f}")


def plot_game(game: PlayedGame, path: str | os.PathLike[str] | None) -> Figure:
    """Regret under linearised regret under the bound."""
    t = game.trace
    figure, (axes,) = new_figure(1, f"{type(game.player).__name__}, {counted(game.rounds, 'round')}")
    nested_curves(axes, t.rounds, t.linear_regret, t.bound, t.theorem, game.certificate)
    axes.plot(t.rounds, t.regret, color=EXACT, label="regret")
    label_regret(axes, game.certificate)
    return finish(figure, path)


def plot_recorded(run: RecordedRun, path: str | os.PathLike[str] | None) -> Figure:
    """Mean loss above; the regret that was measured under the theorem's bound below."""
    figure, (above, below) = new_figure(2, f"{run.subject}, {counted(run.rounds, 'round')}")
    t, best = run.trace, run.certificate
    loss_curves(t, above, None)
    measured = best.measure if best.linear_regret in (None, best.regret) else MEASURED
    nested_curves(below, t.rounds, t.linear_regret, t.bound, t.theorem, best, measured)
    return finish(figure, path)


def plot_regret(found: Compared, path: str | os.PathLike[str] | None) -> Figure:
    """Cumulative loss, mine and the comparator's; the regret so far below, under its bound."""
    mine, theirs = np.cumsum(found.mine), np.cumsum(found.theirs)
    rounds = np.arange(1, mine.size + 1) + found.details.get("first", 1) - 1
    figure, (above, below) = new_figure(2, "")
    figure.suptitle(str(found), fontsize="medium")
    above.plot(rounds, mine, color=LOSS, label="mine")
    above.plot(rounds, theirs, color=EXACT, label="comparator")
    above.set_ylabel("loss so far")
    above.legend()
    below.plot(rounds, mine - theirs, color=EXACT, label="regret")
    if found.bound is not None and found.certificate is not None:
        below.axhline(found.bound, color=BOUND, linestyle="--", label=f"bound ({found.certificate.id})")
    below.set_xlabel("round")
    below.set_ylabel("regret so far")
    below.legend()
    return finish(figure, path)


def nested_curves(
    axes: Axes, rounds: Any, linear_regret: Any, bound: Any, name: str, last: Certificate, measured: str = MEASURED
) -> None:
    """The linearised regret and the bound above it, and a tighter theorem that the history does not determine."""
    axes.plot(rounds, bound, color=BOUND, linestyle="--", label=f"bound ({name})", zorder=3)  # where both meet, too
    if rounds.size and last.id != name and last.premises_hold and not last.promised >= SAME * bound[-1]:
        axes.plot(rounds[-1:], [last.promised], color=BOUND, marker="v", linestyle="", label=f"in the end ({last.id})")
    axes.plot(rounds, linear_regret, color=REGRET if measured == MEASURED else EXACT, label=measured)
    label_regret(axes, last)


def label_regret(axes: Axes, certificate: Certificate) -> None:
    """Name axes and opponents; logarithmic axes where the numbers are positive."""
    axes.set_xlabel("round")
    axes.set_ylabel(certificate.measure)
    axes.set_title(f"against {certificate.rivals()}", fontsize="small")
    shown = np.concatenate([np.asarray(line.get_ydata(), float) for line in axes.lines])
    if np.any(np.concatenate([np.asarray(line.get_xdata(), float) for line in axes.lines]) > 0):
        axes.set_xscale("log")
    known = shown[np.isfinite(shown)]
    axes.set_yscale("log" if known.size and np.all(known > 0) else "linear")
    axes.legend(fontsize="small")


def spell_out(figure: Figure) -> None:
    """Show titles and names as they are, whoever gave them: what stands between two dollar signs is no formula.

    Control characters are spelt: files of SVG could not be read with them.
    """
    texts = list(figure.texts)
    for axes in figure.axes:
        legend = axes.get_legend()
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts, *(legend.get_texts() if legend else ())]
    for text in texts:
        text.set_parse_math(False)
        text.set_text(visible(text.get_text()))


def finish(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """Spell out what the figure says, and write it if a path is given."""
    spell_out(figure)
    if path is not None:
        write_figure(figure, path)
    return figure
