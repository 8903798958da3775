"""Settings of a simulation that decide estimates: hold of commands, time step, friction, delay.

With ``J`` the Jacobian of the residuals near the optimum, a setting that changes the residuals
from ``r`` to ``s`` moves the estimates by ``J^+ (r - s)`` (one Gauss-Newton step). It decides where
that is more than their uncertainty and the data do not contradict the other setting.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from trueup.errors import TrueupError
from trueup.fitting.judgement.paired_errors import CHANCE, block_sums, is_clearly_worse
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.problem import Failures
from trueup.fitting.uncertainty.start_noise import inverse_of
from trueup.simulation.targets.actuator_types import velocity_gain
from trueup.sysid.assess.changed_models import changed_models, changed_residual
from trueup.sysid.assess.fit_covariance import gram_matrix, residual_covariance
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.late_controls import late_controls, pause_of
from trueup.sysid.fit.problem import GrayBoxProblem

_DECIDES = 2.0  # change of an estimate in half-widths of its interval that is reported
_FEWEST = 0.5  # delay in intervals between commands above which it is reported
_PART = (
    0.02  # change relative to the value, or to a tenth of the range, below which nothing is said
)


@dataclass(frozen=True)
class Linearised:
    """A problem near its optimum."""

    problem: GrayBoxProblem
    x: np.ndarray
    residual: np.ndarray
    jacobian: np.ndarray
    half_widths: np.ndarray
    """Half-widths of 95 % intervals in search coordinates ``(p,)``; NaN if undetermined."""
    covariance: np.ndarray | None
    """Covariance in search coordinates ``(p, p)``; None if it cannot be computed."""

    def end(self, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Newton step from residuals ``(m,)``, and the residuals at its end."""
        step = -inverse_of(gram_matrix(self.jacobian)) @ (self.jacobian.T @ residual)
        return step, residual + self.jacobian @ step


def linearised(problem: GrayBoxProblem, x: np.ndarray) -> Linearised:
    """Residuals, Jacobian and uncertainty at ``x (p,)``."""
    residual, jacobian, _ = final_jacobian(problem, x, central=False)
    jacobian = np.asarray(jacobian)
    at_bound = problem.space.at_bound(x, 1e-6)
    try:
        found = residual_covariance(problem, residual, jacobian, at_bound, "auto", 0.05, Loss(), 0)
    except TrueupError:
        return Linearised(problem, x, residual, jacobian, np.full(len(x), np.nan), None)
    return Linearised(problem, x, residual, jacobian, found.half_widths, found.matrix)


@dataclass(frozen=True)
class Setting:
    """Another value of a setting."""

    name: str
    """The other value, as the beginning of a sentence."""
    advice: str
    problem: Callable[[], Any]


@dataclass(frozen=True)
class Sensitivity:
    """Effect of a setting on the estimates."""

    sentence: str
    is_doubt: bool
    """Whether the data speak for the other value; otherwise the values hold with this one."""


def deciding_settings(prepared: Prepared, found: Linearised) -> list[Sensitivity]:
    """Settings that decide estimates, or of which another value explains the data better.

    Args:
      prepared: the experiment.
      found: its problem near the optimum.
    """
    out = []
    for setting in _settings(prepared, found.problem):
        try:
            other = setting.problem()
        except TrueupError:
            continue  # such a simulation does not exist for this model
        known = _effect(found, other, setting)
        if known is not None:
            out.append(known)
    late = _late(prepared, found)
    return [*out, Sensitivity(late, True)] if late else out


def _effect(found: Linearised, other: GrayBoxProblem, setting: Setting) -> Sensitivity | None:
    residual = changed_residual(found.problem, other, found.x, found.residual)
    if residual is None:
        return None
    own_step, own = found.end(found.residual)
    step, left = found.end(residual)
    rows = slice(0, found.problem.data_rows)
    before, after = (block_sums(np.square(r[rows])) for r in (own, left))
    if is_clearly_worse(after, before, CHANCE):
        return None  # the data contradict the other value
    space, z = found.problem.space, found.problem.space.to_search(found.x)
    values = [space.from_search((z + s)[None])[0] for s in (own_step, step)]
    size = np.maximum(np.abs(values[0]), 0.1 * np.abs(found.problem.space.start))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.abs(step - own_step) / found.half_widths
        ratio[np.abs(values[1] - values[0]) < _PART * size] = 0.0
    ratio[[not np.isfinite(r) or "#" in n for r, n in zip(ratio, space.names, strict=True)]] = 0.0
    most = int(np.argmax(ratio))
    better = is_clearly_worse(before, after, CHANCE)
    if ratio[most] < _DECIDES:
        return None
    moves = (
        f"{space.names[most]} would be {values[1][most]:.3g} in place of {values[0][most]:.3g}, "
        f"{ratio[most]:.2g} times its uncertainty"
    )
    if better:
        gain = 1.0 - float(np.sqrt(after.sum() / max(before.sum(), 1e-300)))
        text = (
            f"{setting.name} the data are explained better (error {100 * gain:.2g} % smaller), and "
            f"{moves}; {setting.advice}."
        )
        return Sensitivity(text, True)
    # a right model depends on its settings too: without evidence this is no reason to doubt them
    text = f"{setting.name} {moves}, and the data cannot tell which is right; {setting.advice}."
    return Sensitivity(text, False)


def _settings(prepared: Prepared, problem: GrayBoxProblem) -> list[Setting]:
    method = prepared.settings.control
    other = "linear" if method == "zoh" else "zoh"
    step = float(problem.variants[0].model.opt.timestep)
    lag = "".join(f" {s}" for v in problem.variants for s in loop_gains(v.model))
    out = [
        Setting(
            f"With half the time step ({step / 2:g} s)",
            "the values are valid with this time step, reduce model.timestep for others"
            + (f":{lag}".rstrip(".") if lag else ""),
            lambda: changed_models(prepared, problem, halved=True),
        )
    ]
    if pause_of(prepared.training) > 1.5 * step:
        out.append(
            Setting(
                "With commands that are held until the next one (control: zoh)"
                if other == "zoh"
                else "With commands interpolated between samples (control: linear)",
                "find out whether the controller holds its commands",
                lambda: GrayBoxProblem(
                    problem.parameters,
                    prepared.training,
                    replace(problem.settings, control=other),  # type: ignore[arg-type]
                    problem.measurement,
                ),
            )
        )
    if _has_friction(problem):
        out.append(
            Setting(
                "With hard joint friction (solref_friction of twice the time step)",
                "set model.friction.solref and solimp: MuJoCo's default friction is soft, and a "
                "fit exchanges Coulomb for viscous friction",
                lambda: changed_models(prepared, problem, hard=True),
            )
        )
    return out


@dataclass(frozen=True)
class CommandDelay:
    """Delay of all commands that the data show, near an optimum without one."""

    seconds: float
    gain: float
    """Share by which it reduces the error."""
    moved: str
    """Parameter whose estimate it changes most."""


def command_delay(prepared: Prepared, found: Linearised) -> CommandDelay | None:
    """The delay of commands, if the data show one clearly; None for experiments that have one."""
    targets = [t for p in prepared.parameters.values() for t in p.targets]
    if any(t.endswith("/delay") for t in targets) or prepared.experiment.measurement.delays:
        return None
    if any(v.model.nu == 0 for v in found.problem.variants):
        return None
    pause = pause_of(prepared.training)
    later = prepared.motion_problem(sequences=late_controls(prepared.training, pause))
    failures: Failures = {}
    residual = later.residuals(found.x[None], failures)[0]
    if failures or residual.shape != found.residual.shape:
        return None
    columns = np.column_stack([found.jacobian, (residual - found.residual) / pause])
    step = -inverse_of(gram_matrix(columns)) @ (columns.T @ found.residual)
    own, left = found.end(found.residual)[1], found.residual + columns @ step
    rows = slice(0, found.problem.data_rows)
    before, after = (block_sums(np.square(r[rows])) for r in (own, left))
    delay = float(step[-1])
    gain = 1.0 - float(np.sqrt(after.sum() / max(before.sum(), 1e-300)))
    clear = is_clearly_worse(before, after, CHANCE)
    if not (delay > _FEWEST * pause and clear and gain > _PART):
        return None
    moved = np.abs(step[:-1] / found.half_widths)
    name = found.problem.space.names[int(np.argmax(np.where(np.isfinite(moved), moved, 0.0)))]
    return CommandDelay(delay, gain, name)


def _late(prepared: Prepared, found: Linearised) -> str:
    """Sentence on late commands, if the data show a delay that the experiment has not."""
    late = command_delay(prepared, found)
    if late is None:
        return ""
    return (
        f"Commands seem to act {late.seconds:.2g} s late (with it the error is "
        f"{100 * late.gain:.2g} % smaller), which changes {late.moved} most: give the actuators a "
        "delay (model.delay_buffer, actuator/*/delay), or estimate it."
    )


def _has_friction(problem: GrayBoxProblem) -> bool:
    searched = any("frictionloss" in t for p in problem.parameters.values() for t in p.targets)
    return searched or any(v.model.dof_frictionloss.any() for v in problem.variants)


def loop_gains(model: mujoco.MjModel) -> list[str]:
    """Sentences on feedback gains for which the time step has the effect of an inertia.

    A velocity gain ``D`` that is applied one step late has the effect of an inertia ``-D dt / 2``.
    """
    out = []
    implicit = int(model.opt.integrator) in (
        int(mujoco.mjtIntegrator.mjINT_IMPLICIT),
        int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST),
    )
    for actuator in range(model.nu):
        if int(model.actuator_trntype[actuator]) != int(mujoco.mjtTrn.mjTRN_JOINT):
            continue
        joint = int(model.actuator_trnid[actuator, 0])
        dof = int(model.jnt_dofadr[joint])
        gain = velocity_gain(model, actuator) * float(model.actuator_gear[actuator, 0]) ** 2
        inertia = float(model.dof_M0[dof])
        lag = 0.5 * gain * model.opt.timestep / max(inertia, 1e-12)
        if lag > 0.01:
            how = "implicitly, which adds" if implicit else "one step late, which subtracts"
            out.append(
                f"Actuator {model.actuator(actuator).name!r} has a velocity gain of {gain:.4g}; "
                f"the integrator applies it {how} about {100 * lag:.2g} % of the joint's inertia "
                f"{inertia:.4g}: reduce the time step below "
                f"{0.02 * inertia / gain:.1g} s, or the inertia has this error."
            )
    return out
