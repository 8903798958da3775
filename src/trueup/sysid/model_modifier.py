"""Functions that write parameters into an ``MjSpec``: gains, inertia, all modifiers of a set.

Functions with a spec modify it in place and return it. Where an inertia is required first, a copy
of the spec is compiled once. Inertial parameters follow C. Rucker and P. M. Wensing, "Smooth
Parameterization of Rigid-Body Inertia", IEEE Robotics and Automation Letters 7 (2), 2022.
"""

from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import ParameterError, TargetError, did_you_mean, listing
from trueup.parameters import InertiaType, ModifierFn, Parameter, ParameterDict
from trueup.parameters.inertia import inertia_matrix, inertial_from_theta, principal_axes
from trueup.simulation.models.visuals import remove_visuals
from trueup.simulation.targets.actuator_types import element_type
from trueup.simulation.targets.body_inertia import (
    BodyInertiaModifier,
    Inertial,
    inertial_of,
    make_explicit,
    set_spec_inertial,
    theta_of,
)
from trueup.simulation.targets.model_writes import ModelWrites, has_own_modifier
from trueup.simulation.targets.spec_view import apply_modifier, plain
from trueup.simulation.targets.variants import compile_spec

__all__ = [
    "InertiaType",
    "ModifierFn",
    "Parameter",
    "ParameterDict",
    "apply_body_inertia",
    "apply_body_mass_ipos",
    "apply_body_theta_inertia",
    "apply_dgain",
    "apply_param_modifiers",
    "apply_param_modifiers_spec",
    "apply_pdgain",
    "apply_pgain",
    "body_inertia_param",
    "cholesky_decompose_upper",
    "get_actuator_pd_gains",
    "inertia_to_fullinertia",
    "is_position_actuator",
    "pi_from_body",
    "pi_from_theta",
    "pseudoinertia_from_pi",
    "remove_visuals",
    "scale_body_inertia",
    "skew",
    "theta_from_pseudoinertia",
    "theta_inertia_from_body",
]


# --- all parameters at once ----------------------------------------------------------------------


def apply_param_modifiers_spec(params: ParameterDict, spec: mujoco.MjSpec) -> mujoco.MjSpec:
    """Write the current value of every parameter into ``spec`` and return it.

    Targets, body inertias and modifiers are applied, of frozen and tied parameters too.

    Args:
      params: the parameters.
      spec: the spec to change.

    Raises:
      TargetError: a target that the model does not have.
      ParameterError: a missing modifier of a parameter that was read from a file.
    """
    declarative = [p for p in params.values() if p.targets or _describes_inertia(p)]
    if declarative:
        base = compile_spec(plain(spec).copy())
        values = {name: p.as_vector() for name, p in params.items()}
        ModelWrites(base, params).write_spec(plain(spec), values)
    for param in params.values():
        if has_own_modifier(param):
            apply_modifier(param, spec)
    return spec


def apply_param_modifiers(params: ParameterDict, spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Write every parameter into ``spec`` as :func:`apply_param_modifiers_spec`, and compile it.

    Raises:
      ValueError: the spec does not compile, with MuJoCo's message.
    """
    return apply_param_modifiers_spec(params, spec).compile()


def _describes_inertia(param: Parameter) -> bool:
    return (
        param.inertia_type is not None
        and param.inertia_body is not None
        and not has_own_modifier(param)
    )


# --- actuator gains ------------------------------------------------------------------------------


def is_position_actuator(actuator: Any) -> bool:
    """Whether an actuator of a model or of a spec is a position servo.

    That is a fixed gain with an affine bias, no activation or a filter, and the position gain equal
    on both sides.
    """
    return element_type(actuator) == "position"


def get_actuator_pd_gains(model: mujoco.MjModel, actuator_name: str) -> tuple[float, float]:
    """Return the proportional and the derivative gain of a position actuator.

    Raises:
      TargetError: no such actuator, or one of another kind.
    """
    names = [model.actuator(i).name for i in range(model.nactuator)]
    if actuator_name not in names:
        raise _missing("actuator", actuator_name, names)
    actuator = model.actuator(actuator_name)
    _check_position_actuator(actuator, actuator_name)
    return float(-actuator.biasprm[1]), float(-actuator.biasprm[2])


def apply_pgain(
    spec: mujoco.MjSpec, actuator_name: str, value: float | np.ndarray
) -> mujoco.MjSpec:
    """Set the proportional gain of a position actuator and return the spec.

    Raises:
      TargetError: no such actuator, or one of another kind.
    """
    actuator = _position_actuator(spec, actuator_name)
    gain = _number(value, "the proportional gain")
    actuator.gainprm[0] = gain
    actuator.biasprm[1] = -gain
    return spec


def apply_dgain(
    spec: mujoco.MjSpec, actuator_name: str, value: float | np.ndarray
) -> mujoco.MjSpec:
    """Set the derivative gain of a position actuator and return the spec.

    Raises:
      TargetError: no such actuator, or one of another kind.
    """
    actuator = _position_actuator(spec, actuator_name)
    actuator.biasprm[2] = -_number(value, "the derivative gain")
    return spec


def apply_pdgain(spec: mujoco.MjSpec, actuator_name: str, value: np.ndarray) -> mujoco.MjSpec:
    """Set both gains of a position actuator, ``value = [p, d]``, and return the spec.

    Raises:
      ParameterError: not two numbers.
      TargetError: no such actuator, or one of another kind.
    """
    gains = np.asarray(value, float).reshape(-1)
    if gains.size != 2:
        raise ParameterError(
            f"the gains of {actuator_name!r} must be a 2-element array [p, d], found {gains.size} "
            f"elements"
        )
    apply_pgain(spec, actuator_name, gains[0])
    return apply_dgain(spec, actuator_name, gains[1])


def _position_actuator(spec: Any, name: str) -> Any:
    actuator = _element(spec, "actuator", name)
    _check_position_actuator(actuator, name)
    return actuator


def _check_position_actuator(actuator: Any, name: str) -> None:
    if not is_position_actuator(actuator):
        raise TargetError(
            f"actuator {name!r} is of the type {element_type(actuator)!r}, not a position "
            f"actuator, which requires a fixed gain, an affine bias and gainprm[0] = "
            f"-biasprm[1]. Use a target of its type instead, such as actuator/{name}/gainprm/0"
        )


# --- inertia of a body ---------------------------------------------------------------------------


def apply_body_mass_ipos(
    spec: mujoco.MjSpec,
    body_name: str,
    mass: float | np.ndarray | None = None,
    ipos: np.ndarray | None = None,
    rot_inertia_scale: bool = False,
) -> mujoco.MjSpec:
    """Set mass and centre of mass of a body and return the spec.

    Args:
      spec: the spec to change; the body gets an explicit inertia.
      body_name: name of the body.
      mass: new mass [kg]; None to keep it.
      ipos: new centre of mass in the body frame [m], ``(3,)``; None to keep it.
      rot_inertia_scale: multiply the rotational inertia by the ratio of the masses.

    Raises:
      TargetError: no such body.
    """
    found = _make_body_explicit(spec, body_name)
    new_mass = found.mass if mass is None else _number(mass, "the mass")
    ratio = new_mass / found.mass if rot_inertia_scale else 1.0
    new_ipos = found.ipos if ipos is None else np.asarray(ipos, float).reshape(3)
    changed = Inertial(new_mass, new_ipos, found.iquat, found.moments * ratio)
    set_spec_inertial(plain(spec), body_name, changed)
    return spec


def scale_body_inertia(
    spec: mujoco.MjSpec, body_name: str, value: float | np.ndarray
) -> mujoco.MjSpec:
    """Multiply the rotational inertia of a body by ``value`` and return the spec.

    Raises:
      TargetError: no such body.
    """
    found = _make_body_explicit(spec, body_name)
    moments = found.moments * _number(value, "the factor")
    set_spec_inertial(
        plain(spec), body_name, Inertial(found.mass, found.ipos, found.iquat, moments)
    )
    return spec


def apply_body_theta_inertia(
    spec: mujoco.MjSpec, body_name: str, theta: np.ndarray
) -> mujoco.MjSpec:
    """Set the inertia of a body by log-Cholesky coordinates and return the spec.

    Args:
      spec: the spec to change.
      body_name: name of the body.
      theta: ``(alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3)``.

    Raises:
      ParameterError: not ten numbers.
      TargetError: no such body.
    """
    coordinates = _ten(theta)
    _make_body_explicit(spec, body_name)
    mass, ipos, matrix = inertial_from_theta(coordinates)
    moments, iquat = principal_axes(matrix)
    set_spec_inertial(plain(spec), body_name, Inertial(float(mass), ipos, iquat, moments))
    return spec


def apply_body_inertia(spec: mujoco.MjSpec, name: str, param: Parameter) -> mujoco.MjSpec:
    """Write an inertia parameter into a body and return the spec.

    Args:
      spec: the spec to change.
      name: name of the body.
      param: parameter of :func:`body_inertia_param`, with its ``inertia_type``.

    Raises:
      ParameterError: the parameter has no inertia type.
      TargetError: no such body.
    """
    kind = getattr(param, "inertia_type", None)
    value = param.as_vector()
    scaled = bool(getattr(param, "scale_rot_inertia", False))
    if kind is InertiaType.Mass:
        return apply_body_mass_ipos(spec, name, value, None, scaled)
    if kind is InertiaType.MassIpos:
        return apply_body_mass_ipos(spec, name, value[0], value[1:4], scaled)
    if kind is InertiaType.Pseudo:
        return apply_body_theta_inertia(spec, name, value)
    raise ParameterError(
        f"parameter {param.name!r} has no inertia_type: make it with body_inertia_param"
    )


def body_inertia_param(
    spec: mujoco.MjSpec,
    model: mujoco.MjModel,
    body_name: str,
    inertia_type: InertiaType = InertiaType.MassIpos,
    scale_rot_inertia: bool = False,
    mass_bound_mult: np.ndarray | None = None,
    ipos_bound_off: np.ndarray | None = None,
    stretch_bound_mult: np.ndarray | None = None,
    shear_bound_off: np.ndarray | None = None,
    param_name: str | None = None,
    modifier: ModifierFn | None = None,
) -> Parameter:
    """Return a parameter for the inertia of a body, starting at the inertia of the model.

    Args:
      spec: the model's spec; it is not changed.
      model: the compiled model.
      body_name: name of the body.
      inertia_type: mass; mass and centre of mass; or all ten parameters, always physical.
      scale_rot_inertia: scale the rotational inertia with the mass (not for ``Pseudo``).
      mass_bound_mult: bounds of the mass as multiples, ``[0.1, 10]`` by default.
      ipos_bound_off: bounds of the centre of mass as offsets [m], ``[-0.5, 0.5]`` by default.
      stretch_bound_mult: ``Pseudo``: bounds of the squared stretches as multiples, ``[0.5, 2]``.
      shear_bound_off: ``Pseudo``: bounds of the shears as offsets, ``[-0.5, 0.5]``.
      param_name: name of the parameter, ``<body>_inertia`` by default.
      modifier: custom function that writes the parameter; each candidate is then compiled.

    Raises:
      TargetError: no such body, or (``Pseudo``) an inertia that is not physical.
      ParameterError: bounds that are not two increasing numbers.
    """
    del spec  # the inertia is read from the compiled model
    base = inertial_of(model, body_name)
    mass_low, mass_high = base.mass * _pair(mass_bound_mult, (0.1, 10.0), "mass_bound_mult")
    offsets = _pair(ipos_bound_off, (-0.5, 0.5), "ipos_bound_off")
    unit = ""
    if inertia_type is InertiaType.Mass:
        start, low, high, unit = base.mass, mass_low, mass_high, "kg"
    elif inertia_type is InertiaType.MassIpos:
        start = np.concatenate(([base.mass], base.ipos))
        low = np.concatenate(([mass_low], base.ipos + offsets[0]))
        high = np.concatenate(([mass_high], base.ipos + offsets[1]))
    elif inertia_type is InertiaType.Pseudo:
        start = theta_of(base)
        stretches = 0.5 * np.log(_pair(stretch_bound_mult, (0.5, 2.0), "stretch_bound_mult"))
        shears = _pair(shear_bound_off, (-0.5, 0.5), "shear_bound_off")
        low, high = (
            start
            + np.concatenate(
                ([0.5 * np.log(mass / base.mass)], [stretches[i]] * 3, [shears[i]] * 3, [t] * 3)
            )
            for i, (mass, t) in enumerate(zip((mass_low, mass_high), offsets, strict=True))
        )
    else:
        raise ParameterError(
            f"unknown inertia type {inertia_type!r}; available: {listing(InertiaType.__members__)}"
        )
    param = Parameter(
        param_name or f"{body_name}_inertia",
        start,
        low,
        high,
        modifier=modifier or BodyInertiaModifier(body_name, base, model),
        unit=unit,
    )
    param.inertia_type = inertia_type
    param.inertia_body = body_name
    param.scale_rot_inertia = bool(scale_rot_inertia) and inertia_type is not InertiaType.Pseudo
    return param


def _make_body_explicit(spec: Any, body_name: str) -> Inertial:
    """Write the compiled inertia of a body into the spec as an explicit inertia."""
    _element(spec, "body", body_name)
    model = compile_spec(plain(spec).copy())
    make_explicit(plain(spec), model, [body_name])
    return inertial_of(model, body_name)


# --- inertial parameters -------------------------------------------------------------------------


def pi_from_theta(theta: np.ndarray) -> np.ndarray:
    """Inertial parameters of log-Cholesky coordinates.

    Args:
      theta: ``(alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3)``.

    Returns:
      ``(13,)``: mass [kg], first moments [kg m], and row by row the inertia about the origin of
      the body frame [kg m^2].
    """
    mass, ipos, matrix = inertial_from_theta(_ten(theta))
    return _pi(float(mass), ipos, matrix)


def pi_from_body(spec: mujoco.MjSpec, body_name: str) -> np.ndarray:
    """Inertial parameters ``(13,)`` of a body, in the form of :func:`pi_from_theta`.

    The spec is not changed.

    Raises:
      TargetError: no such body.
    """
    _element(spec, "body", body_name)
    found = inertial_of(compile_spec(plain(spec).copy()), body_name)
    return _pi(found.mass, found.ipos, found.matrix)


def theta_inertia_from_body(spec: mujoco.MjSpec, body_name: str) -> np.ndarray:
    """Log-Cholesky coordinates ``(10,)`` of a body; the spec is not changed.

    Raises:
      TargetError: no such body, or an inertia that is not physical.
    """
    _element(spec, "body", body_name)
    return theta_of(inertial_of(compile_spec(plain(spec).copy()), body_name))


def pseudoinertia_from_pi(pi: np.ndarray) -> np.ndarray:
    """Pseudo-inertia ``(4, 4)`` of inertial parameters ``(13,)``."""
    pi = np.asarray(pi, float)
    if pi.shape != (13,):
        raise ParameterError(
            f"pi has shape {pi.shape}; expected (13,): mass, 3 first moments and 9 of inertia"
        )
    inertia = pi[4:].reshape(3, 3)
    second_moment = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return np.block([[second_moment, pi[1:4, None]], [pi[None, 1:4], pi[None, :1]]])


def cholesky_decompose_upper(J: np.ndarray) -> np.ndarray:
    """Upper triangular ``U`` with ``J = U U'`` of a positive definite matrix ``(n, n)``."""
    # the lower factor of the matrix with both axes reversed
    return np.linalg.cholesky(np.flip(np.asarray(J, float)))[::-1, ::-1]


def theta_from_pseudoinertia(J: np.ndarray) -> np.ndarray:
    """Log-Cholesky coordinates ``(10,)`` of a pseudo-inertia ``(4, 4)``."""
    upper = cholesky_decompose_upper(J)
    scaled = upper / upper[3, 3]
    return np.concatenate(
        [
            [np.log(upper[3, 3])],
            np.log(np.diag(scaled)[:3]),
            [scaled[0, 1], scaled[1, 2], scaled[0, 2]],
            scaled[:3, 3],
        ]
    )


def inertia_to_fullinertia(q: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Inertia ``(3, 3)`` of principal moments ``(3,)`` in axes of a quaternion (w first)."""
    return inertia_matrix(np.asarray(q, float).reshape(4), np.asarray(inertia, float).reshape(3))


def skew(v: ArrayLike) -> np.ndarray:
    """Skew-symmetric matrix ``(3, 3)`` of the cross product with ``v``: ``skew(v) w = v x w``."""
    x, y, z = np.asarray(v, float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _pi(mass: float, ipos: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    about_origin = matrix - mass * skew(ipos) @ skew(ipos)
    return np.concatenate(([mass], mass * ipos, about_origin.reshape(-1)))


# --- reading arguments ---------------------------------------------------------------------------


def _element(spec: Any, kind: str, name: str) -> Any:
    element = getattr(plain(spec), kind)(name)
    if element is None:
        plural = {"body": "bodies"}.get(kind, f"{kind}s")
        raise _missing(kind, name, [e.name for e in getattr(plain(spec), plural) if e.name])
    return element


def _missing(kind: str, name: str, names: list[str]) -> TargetError:
    return TargetError(
        f"the model has no {kind} {name!r}; available: {listing(names)}.{did_you_mean(name, names)}"
    )


def _number(value: float | np.ndarray, what: str) -> float:
    array = np.asarray(value, float)
    if array.size != 1:
        raise ParameterError(f"{what} must be one number, found {array.size}: {array}")
    return float(array.reshape(-1)[0])


def _ten(theta: np.ndarray) -> np.ndarray:
    coordinates = np.asarray(theta, float).reshape(-1)
    if coordinates.size != 10:
        raise ParameterError(f"theta must be a 10-element array, found {coordinates.size}")
    return coordinates


def _pair(given: ArrayLike | None, default: tuple[float, float], what: str) -> np.ndarray:
    pair = np.asarray(default if given is None else given, float).reshape(-1)
    if pair.size != 2 or not pair[0] <= pair[1]:
        raise ParameterError(f"{what} must be a lower and an upper number, found {given}")
    return pair
