"""Names of losses on the command line and in JSON."""

from __future__ import annotations

from lowregret.loss.base import Loss, NamedLoss
from lowregret.loss.margin import Hinge
from lowregret.loss.multiclass import MultiLoss, OneAgainstAll, PerceptronLoss
from lowregret.loss.wrapped import Affine, OnMistakes
from lowregret.words import hyphenated


def loss_name(loss: Loss | MultiLoss) -> str:
    """A loss's own name, else that of its class with hyphens; of a loss around another, what it makes of the other."""
    if isinstance(loss, OneAgainstAll):
        return f"{loss.name}:{loss_name(loss.loss)}"
    if isinstance(loss, PerceptronLoss):
        return f"{Hinge.name}-on-mistakes"
    if isinstance(loss, OnMistakes):
        return f"{loss_name(loss.loss)}-on-mistakes"
    if isinstance(loss, Affine):
        return f"affine-{loss_name(loss.loss)}"
    own: str | None = type(loss).__dict__.get("name")
    return own or hyphenated(type(loss).__name__)


def usual_parameter(kind: type[NamedLoss]) -> str | None:
    """The parameter of a loss that is named without one: `0.5` of quantile; None if it has none."""
    value = next(iter(kind().parameters.values()), None)
    return value if value is None else loss_name(value) if isinstance(value, Loss) else f"{value:g}"


def formula(kind: type[NamedLoss]) -> str:
    """A loss as the first line of its class writes it."""
    return (kind.__doc__ or "").partition("\n")[0]
