"""Friction models M1 to M6 on torch tensors: the budget of :class:`FrictionModel`, batched."""

from collections.abc import Mapping

import torch

from trueup.actuators.equations.friction_models import FrictionModel, check_published


def friction_loss(
    friction: FrictionModel,
    values: Mapping[str, float],
    motor: torch.Tensor,
    external: torch.Tensor,
    speed: torch.Tensor,
    quadratic: str = "gated",
) -> torch.Tensor:
    """Friction budget without its viscous part [N m].

    The equations are those of :meth:`FrictionModel.frictions`.

    Args:
      friction: M1 to M6.
      values: value of each of its parameters.
      motor: torque of the motor at the output [N m], (environments, joints).
      external: torque of the load at the joint [N m], likewise; M1 and M2 do not read it.
      speed: joint speed [rad/s], likewise.
      quadratic: form of the quadratic term of M6, ``"gated"`` or ``"ungated"``.

    Returns:
      A new tensor like ``speed``.

    Raises:
      FitError: a registered model with an equation of its own.
    """
    check_published(friction, "torch")
    names = friction.parameter_names
    loss = torch.full_like(speed, values["friction_base"])
    if "load_friction_base" in names:
        load = (external - motor).abs_()
        loss.add_(load, alpha=values["load_friction_base"])
    if "load_friction_motor" in names:
        loss += _directional(values, motor, external, "")
    if not friction.has_stribeck:
        return loss
    peak = torch.full_like(speed, values["friction_stribeck"])
    if "load_friction_stribeck" in names:
        peak.add_(load, alpha=values["load_friction_stribeck"])
    if "load_friction_motor_stribeck" in names:
        peak += _directional(values, motor, external, "_stribeck")
    if "load_friction_motor_quad" in names:
        peak += _quadratic(values, motor, external, quadratic)
    ratio = speed.abs().div_(values["dtheta_stribeck"])
    return loss.addcmul_(ratio.pow_(values["alpha"]).neg_().exp_(), peak)


def _directional(
    values: Mapping[str, float], motor: torch.Tensor, external: torch.Tensor, part: str
) -> torch.Tensor:
    """Friction of motor and external torque, each with its own weight."""
    load = values[f"load_friction_external{part}"] * external
    return load.sub_(motor, alpha=values[f"load_friction_motor{part}"]).abs_()


def _quadratic(
    values: Mapping[str, float], motor: torch.Tensor, external: torch.Tensor, form: str
) -> torch.Tensor:
    """Friction that grows with the square of the lesser torque."""
    driving = motor.abs() - external.abs()
    square = torch.where(driving > 0, values["load_friction_external_quad"] * external**2, 0.0)
    square += torch.where(driving < 0, values["load_friction_motor_quad"] * motor**2, 0.0)
    if form == "gated":
        square *= motor.sign() != external.sign()
    return square
