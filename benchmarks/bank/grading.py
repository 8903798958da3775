"""What is right for a case: fitted model and machine move side by side on a fresh motion."""

from pathlib import Path

import mujoco
import numpy as np

from bank.machines import Machine
from bank.recorder import SETTLE, Log, Motion, Wiring, record

FRESH = 6.0
"""Length of the fresh motion [s]."""
BRIEF = 0.02
"""Time over which errors of torques are averaged: what rattles faster, no filter shows [s]."""
MATTERS = 2.0
"""Error in units of the noise from which a fault is not absorbed."""


def distance(
    machine: Machine,
    wiring: Wiring,
    recorded: Motion,
    fitted: Path,
    rng: np.random.Generator,
    noise: float,
) -> float:
    """Error of a fitted model on a fresh motion over the noise of the log; infinite if it diverges.

    Servo-driven models are simulated with the commands as they were sent, and compared by
    positions; torque-driven ones by the torques that they need for the motion of the machine,
    averaged over :data:`BRIEF`, while the noise is that of single samples.
    Faults of the log are not in the machine: its true motion and torques count.
    """
    # as fast as the recorded motion, and large even where that was still
    size = recorded.size if recorded.size > 0.1 else 1.0
    motion = Motion.draw(machine, rng, FRESH, 1.0 / machine.step, size, recorded.band)
    log = record(machine, motion, wiring, rng, noise=0.0)
    model = mujoco.MjModel.from_xml_path(str(fitted))
    if machine.drive == "servo":
        counts = wiring.quantum / np.sqrt(12.0)
        return _by_positions(machine, model, log, np.hypot(noise * machine.kind.noise, counts))
    return _by_torques(machine, model, log, noise)


def _by_positions(machine: Machine, model: mujoco.MjModel, log: Log, noise: float) -> float:
    data = mujoco.MjData(model)
    n = model.nu
    data.qpos[:n] = data.ctrl[:] = machine.kind.rest
    for _ in range(round(SETTLE / model.opt.timestep)):
        mujoco.mj_step(model, data)
    # a model with a longer step sees every so manieth command
    every = max(1, round(model.opt.timestep / machine.step))
    shown = []
    for command in log.controls[::every]:
        shown.append(data.qpos[:n].copy())
        data.ctrl[:] = command
        mujoco.mj_step(model, data)
    error = np.sqrt(np.mean((np.array(shown) - log.clean[::every]) ** 2, axis=0))
    return float(np.max(error)) / noise if np.isfinite(error).all() else np.inf


def _by_torques(machine: Machine, model: mujoco.MjModel, log: Log, noise: float) -> float:
    # steps of MuJoCo backwards: the same numbers in the model as in the machine need its torques
    model.opt.timestep = machine.step
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_INVDISCRETE
    data = mujoco.MjData(model)
    n, step = len(machine.joints), machine.step
    velocity = np.diff(log.clean, axis=0) / step
    needed = []
    for q, before, after in zip(log.clean[1:-1], velocity[:-1], velocity[1:], strict=True):
        data.qpos[:n], data.qvel[:n], data.qacc[:n] = q, before, (after - before) / step
        mujoco.mj_inverse(model, data)
        needed.append(data.qfrc_inverse[:n].copy())
    brief = np.ones(round(BRIEF / step)) / round(BRIEF / step)
    away = np.array(needed) - log.controls[1:-1]
    away = np.stack([np.convolve(column, brief, "valid") for column in away.T], axis=1)
    error = np.sqrt(np.mean(away**2, axis=0))
    return float(np.max(error / (torque_noise(log.controls) * max(noise, 1.0))))


def torque_noise(torques: np.ndarray) -> np.ndarray:
    """Noise of logged torques ``(nu,)``: 1 % of their size."""
    return 0.01 * np.sqrt(np.mean(torques**2, axis=0)) + 1e-6
