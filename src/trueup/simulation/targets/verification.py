"""Verification of targets against a recompiled model: same model, same motion, or an error.

Writing a field of a compiled model is only correct if the compiler would write the same values.
Otherwise a limit on an unlimited joint, a delay without a history buffer or a mesh that depends on
its size would be silently wrong.
"""

from typing import Any

import mujoco
import numpy as np
from mujoco.batch import SimulationError as BatchError

from trueup.errors import ModelError, TargetError, listing
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.engine.batch import BatchEngine, written_models
from trueup.simulation.engine.segment import Segment
from trueup.simulation.targets.model_difference import different_field, same_in_every_bit
from trueup.simulation.targets.model_writes import ModelWrites

_STEPS = 60


def verify(
    spec: Any, model: mujoco.MjModel, parameters: ParameterDict, writes: ModelWrites
) -> None:
    """Compare the batch's model with a recompiled one at values away from the start.

    All targets are checked together; only if that fails, one by one, to name the wrong one.

    Args:
      spec: the ``MjSpec`` that ``model`` was compiled from; it is copied.
      model: the compiled model.
      parameters: the parameters whose targets are checked.
      writes: their resolved places.

    Raises:
      TargetError: a target that needs a recompile to act, with the field that differs.
    """
    physical = [
        w.name
        for w in writes.writes
        if w.body or any(not f.field.startswith("state.") for t in w.targets for f in t.fields)
    ]
    if not physical or _difference(spec, model, parameters, writes, physical) is None:
        return
    for name in physical:
        difference = _difference(spec, model, parameters, writes, [name])
        if difference is not None:
            advice = _damping_ratios(spec, model) or (
                "Give the parameter a modifier that writes the MjSpec instead; the model is then "
                "compiled for each candidate"
            )
            raise TargetError(
                f"parameter {name!r} ({', '.join(parameters[name].targets) or 'body inertia'}) "
                f"cannot be written into the compiled model: {difference}. {advice}"
            )
    raise TargetError(
        f"the targets of {', '.join(physical)} work alone but not together: "
        f"{_difference(spec, model, parameters, writes, physical)}"
    )


def _damping_ratios(spec: Any, model: mujoco.MjModel) -> str:
    """Advice to replace the damping ratios of a model; '' if it has none.

    The compiler takes a positive ``biasprm[2]`` as a ratio, and computes the gain from the masses.
    """
    ratios = (int(mujoco.mjtBias.mjBIAS_AFFINE), int(mujoco.mjtBias.mjBIAS_SO3))
    found = [
        f'dampratio of actuator {a.name!r} by kv="{-model.actuator_biasprm[a.id, 2]:.6g}"'
        for a in spec.actuators
        if int(a.biastype) in ratios and a.biasprm[2] > 0 > model.actuator_biasprm[a.id, 2]
    ]
    if not found:
        return ""
    return (
        "The compiler converts a damping ratio into a damping gain at the gains and masses of the "
        f"file: in the MJCF, replace {', '.join(found[:8])}"
    )


def _difference(
    spec: Any,
    model: mujoco.MjModel,
    parameters: ParameterDict,
    writes: ModelWrites,
    names: list[str],
) -> str | None:
    """Difference between written and recompiled model when ``names`` are moved, or None."""
    values, expected = _recompiled(spec, parameters, writes, names)
    table = {name: value[None, :] for name, value in values.items()}
    if _is_identical(expected, model, writes, table):
        return None
    segment = Segment(0.0, _default_state(model), _excitation(model))
    engine = BatchEngine(model, [segment], ("qpos", "qvel", "sensordata"), n_threads=1)
    failures: dict[int, str] = {}
    fields = [w for w in writes.fields(table) if not w[0].field.startswith("state.")]
    try:
        blocks = list(engine.run(1, fields, failures=failures))
    except (BatchError, ValueError) as error:
        return str(error)
    if any("error" in reason.lower() or "simple" in reason for reason in failures.values()):
        return "; ".join(failures.values())
    different = different_field(expected, engine.model_of(0))
    if different:
        return f"the recompiled model has a different {different}"
    return _different_motion(expected, segment, blocks)


def _is_identical(
    expected: mujoco.MjModel, model: mujoco.MjModel, writes: ModelWrites, table: dict
) -> bool:
    """Whether a simulation of the batch has the recompiled model, bitwise.

    A quick test that suffices for most targets: equal models move alike. Models that differ may
    differ only in rounding, or in fields without effect.
    """
    fields = writes.fields(table)
    if any(write.field.startswith("state.") for write, _ in fields):
        return False
    try:
        actual = written_models(model, fields, 1)[0]
    except (BatchError, ValueError):
        return False
    return same_in_every_bit(expected, actual)


def _recompiled(
    spec: Any, parameters: ParameterDict, writes: ModelWrites, names: list[str]
) -> tuple[dict[str, np.ndarray], mujoco.MjModel]:
    """Values with ``names`` moved a little, and the model compiled at them.

    Perturbations are reduced where the compiler rejects them: the moments of a thin rod have
    narrow physical limits.

    Raises:
      ModelError: the model does not compile even for small perturbations.
    """
    for share in (0.05, 5e-4, 5e-6):
        trial = parameters.copy()
        rng = np.random.default_rng(0)
        for name in names:
            if trial[name].tied_to is None:
                trial[name].value = _moved(trial[name], share, rng)
        trial.apply_ties()
        values = {name: p.as_vector() for name, p in trial.items()}
        edited = spec.copy()
        writes.write_spec(edited, values)
        try:
            return values, edited.compile()
        except ValueError as error:
            refusal = error
    raise ModelError(
        f"the model does not compile when {listing(names)} is moved a little: {refusal}"
    ) from refusal


def _moved(param: Parameter, share: float, rng: np.random.Generator) -> np.ndarray:
    """A value near the current one, within the bounds, different from any default."""
    lower, upper = param.get_bounds()
    value = param.as_vector()
    if param.scale == "log":
        # the perturbation is not scaled by a range of many decades
        span = 10 * value
    else:
        span = np.where(np.isfinite(upper - lower), upper - lower, np.maximum(1.0, np.abs(value)))
    step = share * span * rng.uniform(0.3, 1.0, value.shape)
    moved = np.where(value + step <= upper, value + step, value - step)
    return np.clip(moved, lower, upper).reshape(param.shape)


def _default_state(model: mujoco.MjModel) -> np.ndarray:
    data = mujoco.MjData(model)
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    return state


def _excitation(model: mujoco.MjModel) -> np.ndarray:
    """A few controls within the actuators' ranges ``(steps, nu)``."""
    limited = model.actuator_ctrllimited.astype(bool)
    low = np.where(limited, model.actuator_ctrlrange[:, 0], -0.1)
    high = np.where(limited, model.actuator_ctrlrange[:, 1], 0.1)
    phase = np.linspace(0, 3 * np.pi, _STEPS)[:, None] + np.arange(len(low))
    return (low + high) / 2 + (high - low) / 2 * 0.5 * np.sin(phase)


def _different_motion(expected: mujoco.MjModel, segment: Segment, blocks) -> str | None:
    reference = BatchEngine(expected, [segment], ("qpos", "qvel", "sensordata"), n_threads=1)
    for wanted, found in zip(reference.run(1), blocks, strict=True):
        for field in wanted.records:
            a, b = wanted.records[field], found.records[field]
            scale = np.max(np.abs(a), initial=1e-9)
            if not np.allclose(a, b, rtol=1e-6, atol=1e-6 * scale):
                return f"the recompiled model moves differently ({field})"
    return None
