"""Plain-text tables of parameters."""

import numpy as np

from trueup.errors import ParameterError
from trueup.parameters.parameter import Parameter


def overview(parameters: list[Parameter]) -> str:
    """Name, size, shape and state of each parameter, one per line."""
    if not parameters:
        return "No parameters."
    rows = []
    for p in parameters:
        state = "frozen" if p.frozen else f"= {p.tied_to}" if p.tied_to else "free"
        rows.append([p.name, str(p.size), str(p.shape), state, ", ".join(p.targets)])
    return _table(["Name", "Size", "Shape", "State", "Target"], rows)


def comparison(
    free: list[Parameter],
    initial: np.ndarray,
    identified: np.ndarray,
    true: np.ndarray | None,
    digits: int,
) -> str:
    """Table of the values of free parameters, one row per element.

    Args:
      free: the free parameters.
      initial: start values ``(p,)``.
      identified: identified values ``(p,)``.
      true: true values ``(p,)``, where they are known.
      digits: significant digits.

    Raises:
      ParameterError: a vector of another length.
    """
    names = [name for p in free for name in p.element_names]
    if not names:
        return "No free parameters to compare."
    vectors = {"initial": initial, "identified": identified}
    if true is not None:
        vectors["true"] = true
    for label, vector in vectors.items():
        if np.size(vector) != len(names):
            raise ParameterError(
                f"the vector of {label} values has {np.size(vector)} elements, "
                f"expected {len(names)}, one for each free element"
            )
    nominal = np.concatenate([p.as_nominal_vector() for p in free])
    lower, upper = (np.concatenate(ends) for ends in zip(*(p.get_bounds() for p in free)))
    change = np.abs(np.asarray(identified) - initial)
    columns = [initial, nominal, identified, lower, upper, change, _relative(change, initial)]
    headers = ["Initial", "Nominal", "Identified", "Lower", "Upper", "Change", "Relative"]
    footer = f"RMS change: {np.sqrt(np.mean(change**2)):.{digits}g}"
    if true is not None:
        error = np.abs(np.asarray(identified) - true)
        columns += [error, _relative(error, true)]
        headers += ["Error", "Relative error"]
        footer += f"\nRMS error: {np.sqrt(np.mean(error**2)):.{digits}g}"
    rows = [
        [name, *(_number(np.asarray(c)[i], digits) for c in columns)]
        for i, name in enumerate(names)
    ]
    return f"{_table(['Parameter', *headers], rows)}\n{footer}"


def _relative(change: np.ndarray, reference: np.ndarray) -> np.ndarray:
    reference = np.abs(np.asarray(reference, float))
    return np.divide(change, reference, out=np.full_like(change, np.nan), where=reference > 0)


def _number(value: float, digits: int) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}g}"


def _table(headers: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in [headers, *rows]) for i in range(len(headers))]
    lines = [
        "  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in [headers, *rows]
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])
