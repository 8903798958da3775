"""The parameters of an experiment file as a :class:`trueup.parameters.ParameterDict`."""

from fnmatch import fnmatchcase
from typing import Any

import mujoco
import numpy as np

from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.parameters import InertiaType, Parameter, ParameterDict, Prior
from trueup.simulation.targets.attributes import COUNTS
from trueup.simulation.targets.resolution import element_names, resolve
from trueup.sysid.experiment.link_priors import link_prior
from trueup.sysid.experiment.settings import ParameterPart

_INERTIA = {
    "mass": InertiaType.Mass,
    "density": InertiaType.Mass,
    "mass_ipos": InertiaType.MassIpos,
    "pseudo": InertiaType.Pseudo,
}


def build_parameters(
    parts: dict[str, ParameterPart], spec: Any, model: mujoco.MjModel
) -> ParameterDict:
    """Build the parameters of an experiment.

    Args:
      parts: the ``parameters`` of the file.
      spec: the model.
      model: the same, compiled.

    Raises:
      ExperimentError: no start value, unknown tie.
      TargetError: a target that the model does not have.
      ParameterError: a start value outside the bounds, and the like.
    """
    parameters = ParameterDict()
    for name, part in parts.items():
        for param in _expand(name, part, spec, model):
            if param.name in parameters:
                raise ExperimentError(f"duplicate parameter {param.name!r}")
            parameters.add(param)
    for param in parameters.values():
        if param.tied_to is not None:
            if param.tied_to not in parameters:
                raise ExperimentError(
                    f"parameters.{param.name}: tied_to {param.tied_to!r} is not a parameter; "
                    f"available: {listing(parameters)}.{did_you_mean(param.tied_to, parameters)}"
                )
            parameters.tie_source(param)
    parameters.apply_ties()
    return parameters


def _with_bounds(name: str, part: ParameterPart, model: mujoco.MjModel) -> ParameterPart:
    """A parameter with numeric bounds; ``auto`` is around the model's value."""
    if part.bounds != "auto":
        return part
    plain = part.model_copy(update={"bounds": None})
    value = np.asarray(part.start if part.start is not None else 0.0, float)
    if part.start is None:
        value = np.asarray(_value_in_model(name, plain, part.target, model), float)
    if not np.all(np.isfinite(value)) or np.any(value <= 0):
        raise ExperimentError(
            f"parameters.{name}: the model's value of {part.target} is {np.squeeze(value)}, for "
            "which bounds: auto is not possible; give bounds, such as\n"
            f"    {name}:\n      {{target: {part.target}, bounds: [0, 1]}}"
        )
    lower, upper = (value / 20).max(), (value * 20).min()
    return plain.model_copy(update={"bounds": (float(lower), float(upper)), "scale": "log"})


def _expand(name: str, part: ParameterPart, spec: Any, model: mujoco.MjModel) -> list[Parameter]:
    if part.inertia is not None:
        return [_inertia(name, part, spec, model)]
    if not part.each:
        return [_parameter(name, part, part.target, model)]
    if not isinstance(part.target, str):
        raise ExperimentError(f"parameters.{name}: each: true requires one target with a wildcard")
    kind, pattern, rest = _split(part.target)
    if kind not in COUNTS:
        raise ExperimentError(f"parameters.{name}: each: true is not supported for {kind!r}")
    matches = [n for n in element_names(model, kind) if fnmatchcase(n, pattern) and n != "world"]
    if not matches:
        # the resolver's message lists what exists
        resolve(part.target, model, 1, np.zeros(1))
    return [_parameter(f"{name}_{m}", part, f"{kind}/{m}/{rest}", model) for m in matches]


def _split(target: str) -> tuple[str, str, str]:
    pieces = target.split("/")
    return pieces[0], pieces[1] if len(pieces) > 1 else "", "/".join(pieces[2:])


def _parameter(
    name: str, part: ParameterPart, target: str | list[str] | None, model: mujoco.MjModel
) -> Parameter:
    widens = part.widen or part.bounds == "auto"
    part = _with_bounds(name, part, model)
    start = part.start
    if start is None:
        start = _value_in_model(name, part, target, model)
    lower, upper = part.bounds if part.bounds is not None else (start, start)
    param = Parameter(
        name,
        start,
        lower,
        upper,
        frozen=part.frozen,
        target=target,
        scale=part.scale,
        deviation=part.deviation,
        prior=_prior(part),
        tied_to=part.tied_to,
        unit=part.unit,
        description=part.description,
    )
    param.widens = widens
    return param


def _prior(part: ParameterPart) -> Prior | None:
    if part.prior is None:
        return None
    assert part.prior.mean is not None  # checked on reading
    return Prior(part.prior.mean, part.prior.sd)


def _value_in_model(
    name: str, part: ParameterPart, target: str | list[str] | None, model: mujoco.MjModel
) -> Any:
    """Value of a target in the model; the middle of the bounds if it has none."""
    if target is None or str(target).startswith("state/"):
        if part.bounds is None:
            return 0.0
        lower, upper = (np.asarray(b, float) for b in part.bounds)
        bounded = np.isfinite(lower) & np.isfinite(upper)
        if part.scale == "log":
            middle = np.sqrt(np.where(bounded, np.maximum(lower, 0.0) * upper, 1.0))
        else:
            middle = np.where(bounded, lower + upper, 0.0) / 2
        return np.clip(middle, lower, upper)
    first = target if isinstance(target, str) else target[0]
    bounds = part.bounds or (0.0, 0.0)
    size = int(max(np.size(bounds[0]), np.size(bounds[1])))
    found = resolve(first, model, size, np.full(size, np.inf))
    values = np.zeros(size)
    for write in reversed(found.fields):
        if write.field.startswith("opt."):
            field = np.atleast_1d(getattr(model.opt, write.field[4:]))
        else:
            field = getattr(model, write.field).reshape(-1)
        values[write.source] = field[write.entries] / write.factor
    if part.bounds is not None:
        lower, upper = (np.asarray(b, float) for b in part.bounds)
        if np.any(values < lower) or np.any(values > upper):
            raise ExperimentError(
                f"parameters.{name}: the model's value {np.squeeze(values)} is outside the "
                f"bounds [{part.bounds[0]}, {part.bounds[1]}]; give start, or widen the bounds"
            )
    return values


def _inertia(name: str, part: ParameterPart, spec: Any, model: mujoco.MjModel) -> Parameter:
    from trueup.sysid.model_modifier import body_inertia_param

    param = body_inertia_param(
        spec,
        model,
        str(part.inertia),
        _INERTIA[part.inertia_type],
        scale_rot_inertia=part.inertia_type == "density",
        param_name=name,
    )
    param.frozen, param.tied_to = part.frozen, part.tied_to
    param.unit, param.description = part.unit, part.description
    param.prior = link_prior(name, param, part.prior, model)
    return param
