"""Sentences on combinations of parameters that a recording does not determine."""

from collections.abc import Sequence

import numpy as np

_SAME = 0.02
_MOST = 3  # parameters of a weak direction that a sentence names
_SMALL_POWERS = (2.0, 3.0, 0.5, 1.0 / 3.0)


def direction_sentence(
    names: Sequence[str],
    relative: np.ndarray,
    raw: np.ndarray,
    by_range: np.ndarray,
    negative: np.ndarray,
) -> str:
    """Describe an undetermined direction of parameters, and the determined combination.

    Args:
        names: The parameters in the direction, at least two.
        relative: ``(n,)`` relative changes, in parts of the value's magnitude or of the range.
        raw: ``(n,)`` the same changes in units of the parameters.
        by_range: ``(n,)`` True where ``relative`` refers to the range.
        negative: ``(n,)`` True where the parameter's value is negative.
    """
    both = "both" if len(names) == 2 else "all"
    logarithmic = np.where(negative, -relative, relative)
    powers_apply = not by_range.any()
    subject = _and(names)
    nothing = "has no effect on the recorded signals"
    if powers_apply and _alike(logarithmic):
        what = "their ratio" if len(names) == 2 else "their ratios to one another"
        if len(names) == 2 and _alike(raw):
            what += " (or, near these values, their difference)"
        return f"{subject} can only be determined as {what}: increasing {both} by 1 % {nothing}"
    if len(names) == 2 and powers_apply and _alike(logarithmic * [1.0, -1.0]):
        what = "their product"
        if _alike(raw * [1.0, -1.0]):
            what += " (or, near these values, their sum)"
        return (
            f"{subject} can only be determined as {what}: increasing {names[0]} by 1 % and "
            f"decreasing {names[1]} by 1 % {nothing}"
        )
    if len(names) == 2 and _alike(raw):
        return (
            f"{subject} can only be determined as their difference: increasing both by the same "
            f"amount {nothing}"
        )
    if len(names) == 2 and _alike(raw * [1.0, -1.0]):
        return (
            f"{subject} can only be determined as their sum: increasing {names[0]} and decreasing "
            f"{names[1]} by the same amount {nothing}"
        )
    combination = _power(names, logarithmic) if len(names) == 2 and powers_apply else ""
    if combination:
        return (
            f"{subject} can only be determined as {combination}: "
            f"{_changes(names, relative, by_range)} together {nothing}"
        )
    cure = "the other" if len(names) == 2 else "the others"
    return (
        f"{subject} are not distinguishable: {_changes(names, relative, by_range)} together "
        f"{nothing}; with one of them known, {cure} can be determined"
    )


def weak_sentence(
    names: Sequence[str],
    relative: np.ndarray,
    by_range: np.ndarray,
    uncertainty: float | None,
    size_word: str = "value",
    scale: float = 1.0,
) -> str:
    """Describe a weakly determined direction of parameters.

    Args:
        names: The parameters in the direction, the most uncertain first.
        relative: ``(n,)`` relative changes.
        by_range: ``(n,)`` True where ``relative`` refers to the range.
        uncertainty: Half-width of the 95 % interval along the direction, as a relative change of
            the first parameter; None if the noise is unknown.
        size_word: What a relative change refers to.
        scale: What a relative change of the first parameter refers to, in its unit.
    """
    many = len(names) > _MOST
    subject = _and([*names[:_MOST], f"{len(names) - _MOST} more"] if many else names)
    size = ""
    if uncertainty is not None:
        reference = "range" if by_range[0] else size_word
        if uncertainty <= 1.0:
            size = f"{100.0 * uncertainty:.0f} % of its {reference}"
        else:  # a share of a value near zero says nothing
            size = f"± {uncertainty * scale:.2g}, more than its {reference}"
        size = f": {names[0]} is uncertain by {size}"
    if len(names) == 1:
        return f"{subject} is weakly determined by the recorded signals{size}"
    changes = "their changes" if many else _changes(names, relative, by_range)
    return (
        f"{subject} are weakly distinguishable in the recorded signals: "
        f"{changes} together {'have' if many else 'has'} little effect"
        f"{size.replace(':', ';', 1)}"
    )


def no_effect_sentence(name: str) -> str:
    """Sentence for a parameter without any effect."""
    return (
        f"{name} has no effect on the recorded signals: fix it, or record a motion that "
        "excites it (and check its target)"
    )


def by_vector(names: Sequence[str]) -> list[str]:
    """Names with the elements of a vector as one: ``link1 (3 elements)`` for ``link1[0]`` etc."""
    owners = [name.split("[")[0] if name.endswith("]") else name for name in names]
    counts = {owner: owners.count(owner) for owner in owners}
    found = dict(zip(owners, names, strict=True))
    return [
        found[owner] if count == 1 else f"{owner} ({count} elements)"
        for owner, count in counts.items()
    ]


def _changes(names: Sequence[str], relative: np.ndarray, by_range: np.ndarray) -> str:
    parts = []
    for name, change, of_range in zip(names, relative / np.abs(relative).max(), by_range):
        verb = "increasing" if change > 0 else "decreasing"
        unit = "% of its range" if of_range else "%"
        parts.append(f"{verb} {name} by {abs(change):.2g} {unit}")
    return _and(parts)


def _power(names: Sequence[str], logarithmic: np.ndarray) -> str:
    """Return the product of powers that is invariant along a direction, if it is simple."""
    exponent = -logarithmic[0] / logarithmic[1]
    for power in _SMALL_POWERS:
        if abs(abs(exponent) - power) <= _SAME * power:
            second = {0.5: f"sqrt({names[1]})", 1.0 / 3.0: f"cbrt({names[1]})"}.get(
                power, f"{names[1]}^{power:.0f}"
            )
            return f"{names[0]} {'x' if exponent > 0 else '/'} {second}"
    return ""


def _alike(values: np.ndarray) -> bool:
    largest = np.abs(values).max()
    return bool(np.abs(values - values[0]).max() <= _SAME * largest)


def _and(parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
