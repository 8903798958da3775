"""Reasons why a parameter is not identifiable from any recording."""

from collections.abc import Callable, Sequence

import numpy as np

from trueup.design.criterion import NORMAL
from trueup.errors import listing
from trueup.parameters import ParameterDict

_PART = 0.2  # component of a direction above which a parameter counts as part of it
_NO_EFFECT = 1e-12
_MOVING = ("frictionloss", "damping", "armature")


def unknown_reasons(
    names: Sequence[str],
    no_effect: Callable[[int], str],
    gram: np.ndarray,
    intervals: np.ndarray,
    scale: np.ndarray,
    threshold: float,
) -> dict[str, str]:
    """Name of each unidentifiable element, and the reason.

    Args:
      names: names of the unknowns ``(p,)``.
      no_effect: function from the number of an element to why it has no effect on any recording.
      gram: information ``(p, p)`` of motions of every family, in search coordinates.
      intervals: relative intervals ``(p,)`` of the design.
      scale: half of the prior ranges ``(p,)``.
      threshold: relative interval above which an element counts as unidentifiable.
    """
    unit = gram * np.outer(scale, scale)
    size = np.diag(unit)
    out: dict[str, str] = {}
    for i in np.flatnonzero(intervals >= threshold).tolist():
        if size[i] <= _NO_EFFECT * max(size.max(initial=0.0), 1.0):
            out[names[i]] = no_effect(i)
            continue
        alone = NORMAL / np.sqrt(size[i])
        if alone >= threshold:
            out[names[i]] = (
                f"its effect is smaller than the noise: with all others known, its interval would "
                f"still be {100 * min(alone, 1.0):.0f} % of the prior range"
            )
            continue
        out[names[i]] = _confounded(unit, i, names)
    return out


def no_effect_of(parameters: ParameterDict, joints: Sequence[str], number: int) -> str:
    """Reason why an unknown of a robot has no effect on any recording.

    Args:
      parameters: the unknowns.
      joints: moving joints.
      number: number of the element.
    """
    owner = [p for p in parameters.free for _ in range(p.size)][number]
    target = owner.targets[0] if owner.targets else ""
    kind, _, rest = target.partition("/")
    name, _, attribute = rest.partition("/")
    if kind == "joint" and name not in joints:
        extra = "friction acts in motion only" if attribute in _MOVING else "it stays where it is"
        return f"no servo of the recording moves {name}: {extra}"
    if kind in ("body", "geom", "site"):
        return (
            f"no recorded signal depends on it: no moving or measured part carries {name}; "
            "a recorded torque or a less stiff servo would reveal its weight"
        )
    return "no tested motion changes any recorded signal"


def _confounded(unit: np.ndarray, i: int, names: Sequence[str]) -> str:
    scale = np.sqrt(np.maximum(np.diag(unit), 1e-300))
    values, axes = np.linalg.eigh(unit / np.outer(scale, scale))
    # the direction with the largest uncertainty of this element
    weakest = int(np.argmax(axes[i] ** 2 / np.maximum(values, 1e-15)))
    direction = axes[:, weakest]
    others = [k for k in np.argsort(-np.abs(direction)) if k != i and abs(direction[k]) > _PART]
    if not others:
        others = [k for k in np.argsort(-np.abs(direction)) if k != i][:1]
    partners = [names[int(k)] for k in others[:5]]
    return (
        f"only a combination with {listing(partners)} is identifiable: fix one of them, or measure "
        "another quantity, such as a torque"
    )
