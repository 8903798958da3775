"""Callbacks on an ``MjSpec`` as writes into the compiled model, detected by probing.

A callback does not declare which fields it changes. Most set one value, or a few in proportion. A
few models compiled at values spread over the whole ranges show which entries change, and for each
entry the one value that it depends on affinely: more points than a line requires, so that any other
dependence is detected. Entries that depend on several values require one more compilation per
value. The models with these entries written are then compared with the compiled ones, including
derived constants. For any other callback the model is compiled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.batch import SimulationError as BatchError

from trueup.errors import TargetError
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.engine.batch import model_field, written_models
from trueup.simulation.targets.model_difference import (
    changed_entries,
    different_field,
    same_in_every_bit,
)
from trueup.simulation.targets.model_writes import ModelWrites, has_own_modifier
from trueup.simulation.targets.resolution import FieldWrite

TRIALS = 6
"""Number of probed points, in addition to the start."""

_ROUNDING = 1e-12
"""Relative tolerance of an entry for rounding."""

_DERIVED = (
    "body_subtreemass",
    "body_invweight0",
    "dof_invweight0",
    "dof_M0",
    "dof_length",
    "tendon_length0",
    "tendon_invweight0",
    "actuator_acc0",
    "actuator_length0",
)
"""Derived fields: a batch derives them too, or they do not affect the motion."""

_SHAPE = {"body_ipos": 3, "body_iquat": 4, "body_inertia": 3}

CompileAll = Callable[[Sequence[ParameterDict]], list[mujoco.MjModel]]
"""Compiles candidates from fresh copies of the spec; raises TargetError where one fails."""


@dataclass(frozen=True)
class AffineField:
    """Entries of a field: ``constant + slope @ values``."""

    field: str
    entries: np.ndarray
    """Flat indices ``(m,)``."""
    constant: np.ndarray
    """``(m,)``."""
    slope: np.ndarray
    """``(m, elements)``."""


@dataclass(frozen=True)
class CallbackFields:
    """Fields that the callbacks of some parameters write into a compiled model."""

    elements: tuple[tuple[str, int], ...]
    """Parameter and its element for each value."""
    fields: tuple[AffineField, ...]

    def writes(self, table: dict[str, np.ndarray]) -> list[tuple[FieldWrite, np.ndarray]]:
        """Writes of candidates.

        Args:
          table: values ``(n, size)`` by parameter, from :meth:`ParameterDict.value_table`.

        Returns:
          Pairs of a write and its values ``(n, entries)``.
        """
        values = np.column_stack([table[name][:, k] for name, k in self.elements])
        return [
            (
                FieldWrite(f.field, f.entries, np.zeros(len(f.entries), int)),
                f.constant + values @ f.slope.T,
            )
            for f in self.fields
        ]

    def reshaped_bodies(self, model: mujoco.MjModel) -> list[str]:
        """Bodies whose centre of mass or rotational inertia is written."""
        bodies = set()
        for f in self.fields:
            if f.field in _SHAPE:
                bodies |= set((f.entries // _SHAPE[f.field]).tolist())
        return [model.body(body).name for body in sorted(bodies)]

    def sentence(self) -> str:
        """Summary of the written fields."""
        parameters = len(dict.fromkeys(name for name, _ in self.elements))
        kinds = []
        for f in self.fields:
            kind = "affine" if np.any(f.constant != 0) else "proportional"
            kinds.append(f"{f.field} ({len(f.entries)}, {kind})")
        written = ", ".join(kinds) or "nothing"
        return (
            f"callbacks of {parameters} parameters are written into the compiled model, which was "
            f"verified against {TRIALS} compilations: {written}"
        )


def varying_elements(parameters: ParameterDict) -> tuple[tuple[str, int], ...]:
    """Varying elements of parameters with a callback, including tied ones."""
    out = []
    for param in parameters.values():
        source = param if param.tied_to is None else parameters.tie_source(param)
        if has_own_modifier(param) and source.is_free:
            out += [(param.name, k) for k in range(param.size)]
    return tuple(out)


def find_callback_fields(
    base: mujoco.MjModel,
    parameters: ParameterDict,
    declared: ModelWrites,
    compile_all: CompileAll,
) -> CallbackFields:
    """Detect which fields callbacks write.

    Args:
      base: the model compiled at the values of ``parameters``.
      parameters: all parameters.
      declared: places of the parameters without a callback in ``base``.
      compile_all: compiles candidates.

    Raises:
      TargetError: a value does not compile, or writing fields does not give the compiled models.
    """
    elements = varying_elements(parameters)
    trials = _trial_points(parameters, elements)
    expected = compile_all(trials)
    table = {name: np.stack([t[name].as_vector() for t in trials]) for name in parameters}
    others = [w for w in declared.fields(table) if not w[0].field.startswith("state.")]
    points = [parameters, *trials]
    values = np.array([[p[name].as_vector()[k] for name, k in elements] for p in points])
    fields, left = [], False
    for field, entries in _changed(base, expected, others).items():
        models = [base, *expected]
        numbers = np.stack([model_field(m, field).reshape(-1)[entries] for m in models])
        constant, slope, fits = _single_lines(values, numbers)
        fields.append(AffineField(field, entries, constant, slope))
        left = left or not fits.all()
    if left:
        changed = [f.field for f in fields]
        fields = _several(base, parameters, elements, compile_all)
        lost = [name for name in changed if name not in [f.field for f in fields]]
        if lost:
            raise TargetError(f"{lost[0]} is not an affine function of the values")
    found = CallbackFields(elements, tuple(fields))
    difference = difference_when_written(base, [*others, *found.writes(table)], expected)
    if difference:
        raise TargetError(difference)
    return found


def difference_when_written(
    base: mujoco.MjModel,
    writes: Sequence[tuple[FieldWrite, np.ndarray]],
    expected: Sequence[mujoco.MjModel],
) -> str:
    """Clause on the first difference between models with writes and compiled ones, or ''."""
    try:
        actual = written_models(base, writes, len(expected))
    except (BatchError, ValueError) as error:
        return f"the compiled model cannot be written: {error}"
    for i, (wanted, model) in enumerate(zip(expected, actual, strict=True)):
        if same_in_every_bit(wanted, model):
            continue
        # written fields first: constants derived from them differ too
        off = (w.field for w, values in writes if not _meets(wanted, w, values[i]))
        field = next(off, "") or different_field(wanted, model)
        if field:
            return f"{field} is not an affine function of the values"
    return ""


def _meets(model: mujoco.MjModel, write: FieldWrite, values: np.ndarray) -> bool:
    wanted = model_field(model, write.field).reshape(-1)[write.entries]
    return np.allclose(wanted, values, rtol=1e-8, atol=1e-10 * np.abs(wanted).max(initial=1e-6))


def _changed(
    base: mujoco.MjModel,
    models: Sequence[mujoco.MjModel],
    others: Sequence[tuple[FieldWrite, np.ndarray]],
) -> dict[str, np.ndarray]:
    """Entries that callbacks change, by field: not those derived or written by other parameters."""
    found = {f: places for f, places in changed_entries(base, models).items() if f not in _DERIVED}
    for write, _ in others:
        if write.field in found:
            found[write.field] = np.setdiff1d(found[write.field], write.entries)
    return {field: places for field, places in found.items() if len(places)}


def _single_lines(
    values: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Affine fit of each entry to the one value that it depends on.

    Args:
      values: ``(points, elements)``.
      numbers: entries at the same points ``(points, m)``.

    Returns:
      Constants ``(m,)``, slopes ``(m, elements)`` with one nonzero per row, and whether the line
      passes through every point.
    """
    x, y = values - values[0], numbers - numbers[0]
    x_mean, y_mean = x - x.mean(axis=0), y - y.mean(axis=0)
    spread = np.square(x_mean).sum(axis=0)
    products = y_mean.T @ x_mean
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(spread > 0, products / spread, 0.0)
        explained = np.where(spread > 0, products**2 / spread, 0.0)
    best = explained.argmax(axis=1)
    rows = np.arange(len(best))
    slope = np.zeros_like(slopes)
    slope[rows, best] = slopes[rows, best]
    followed = values[:, best]
    size = np.abs(numbers).max(axis=0) + np.abs(slope[rows, best] * followed).max(axis=0)
    # the most common cases exactly: the value itself, and a multiple of it
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = numbers[1] / followed[1]
    ratio = np.where(np.isfinite(ratio), ratio, slope[rows, best])
    near = np.abs(numbers - ratio * followed).max(axis=0) <= _ROUNDING * size
    slope[rows, best] = np.where(near, ratio, slope[rows, best])
    constant = np.where(near, 0.0, numbers[0] - slope[rows, best] * values[0, best])
    off = np.abs(numbers - constant - slope[rows, best] * followed).max(axis=0)
    return constant, slope, off <= 1e3 * _ROUNDING * size


def _several(
    base: mujoco.MjModel,
    parameters: ParameterDict,
    elements: tuple[tuple[str, int], ...],
    compile_all: CompileAll,
) -> list[AffineField]:
    """Entries that depend on several values, from compilations with one of them moved at a time."""
    start = np.array([parameters[name].as_vector()[k] for name, k in elements])
    points = [_moved(parameters, name, k) for name, k in elements]
    models = compile_all(points)
    out = []
    for field, entries in _changed(base, models, ()).items():
        here = model_field(base, field).reshape(-1)[entries]
        moved = np.stack([model_field(m, field).reshape(-1)[entries] for m in models], axis=1)
        steps = np.array([p[n].as_vector()[k] for p, (n, k) in zip(points, elements, strict=True)])
        slope = (moved - here[:, None]) / np.where(steps == start, 1.0, steps - start)
        constant = here - (slope * start).sum(axis=1)
        size = np.abs(here) + np.abs(slope * start).sum(axis=1)
        constant[np.abs(constant) <= _ROUNDING * size] = 0.0
        out.append(AffineField(field, entries, constant, slope))
    return out


def _moved(parameters: ParameterDict, name: str, k: int) -> ParameterDict:
    """Values with one element moved by a tenth of its range, inwards."""
    trial = parameters.copy()
    param = trial[name]
    value = param.as_vector()
    low, high = _range(param)
    step = 0.1 * (high[k] - low[k])
    value[k] += step if value[k] + step <= high[k] else -step
    param.value = value.reshape(param.shape)
    return trial


def _trial_points(
    parameters: ParameterDict, elements: tuple[tuple[str, int], ...]
) -> list[ParameterDict]:
    """Values of all parameters that act on the model, each spread over its whole range.

    A tied callback gets a separate value, to detect which of the two an entry depends on.
    """
    rng = np.random.default_rng(0)
    own = {name for name, _ in elements}
    trials = [parameters.copy() for _ in range(TRIALS)]
    for param in parameters.values():
        is_declared = param.is_free and not has_own_modifier(param)
        if param.name not in own and not is_declared:
            continue
        low, high = _range(param)
        # Latin hypercube: one point in each of equal intervals, in a random order for each element
        shares = np.stack([rng.permutation(TRIALS) for _ in range(param.size)], axis=1)
        places = 0.01 + 0.98 * (shares + rng.uniform(size=shares.shape)) / TRIALS
        if param.scale == "log":
            values = low * (high / low) ** places
        else:
            values = low + (high - low) * places
        for trial, value in zip(trials, values, strict=True):
            trial[param.name].value = value.reshape(param.shape)
    for trial in trials:
        for param in trial.values():
            if param.tied_to is not None and param.name not in own:
                param.value = trial.tie_source(param).value.copy()
    return trials


def _range(param: Parameter) -> tuple[np.ndarray, np.ndarray]:
    """Bounds ``(size,)`` each; a decade about the value where infinite."""
    value, (low, high) = param.as_vector(), param.get_bounds()
    reach = 10 * np.maximum(1.0, np.abs(value))
    return (
        np.where(np.isfinite(low), low, value - reach),
        np.where(np.isfinite(high), high, value + reach),
    )
