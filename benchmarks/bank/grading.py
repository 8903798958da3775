"""What is right for a situation: the fitted model beside the machine on a fresh motion."""

from pathlib import Path

import mujoco
import numpy as np

from bank.machines import Machine
from bank.recorder import Motion, Wiring, record


def distance(
    machine: Machine, wiring: Wiring, fitted: Path, rng: np.random.Generator, noise: float
) -> float:
    """Error of a fitted model on a fresh motion over the noise of the log; infinite if it diverges.

    Servo-driven models are simulated with the logged commands and compared by positions, torque-
    driven ones by the torques that they need for the motion of the machine.
    """
    motion = Motion.draw(machine, rng, seconds=6.0)
    log = record(machine, motion, wiring, rng, noise=0.0)
    model = mujoco.MjModel.from_xml_path(str(fitted))
    if machine.drive == "servo":
        return _by_positions(machine, model, log, noise * machine.kind.noise)
    return _by_torques(machine, model, motion, log, noise)


def _by_positions(machine: Machine, model, log, noise: float) -> float:
    data = mujoco.MjData(model)
    n = model.nu
    data.qpos[:n] = machine.kind.rest
    for _ in range(round(3.0 / model.opt.timestep)):
        data.ctrl[:] = machine.kind.rest
        mujoco.mj_step(model, data)
    shown, steps = [], round(log.time[1] / model.opt.timestep)
    for command in log.command:
        shown.append(data.qpos[:n].copy())
        data.ctrl[:] = command
        for _ in range(steps):
            mujoco.mj_step(model, data)
    error = np.sqrt(np.mean((np.array(shown) - log.position) ** 2, axis=0))
    worst = float(np.max(error)) if np.isfinite(error).all() else np.inf
    return worst / noise


def _by_torques(machine: Machine, model, motion: Motion, log, noise: float) -> float:
    data = mujoco.MjData(model)
    n, step = model.nu, log.time[1] - log.time[0]
    velocity = np.gradient(log.clean, step, axis=0)
    acceleration = np.gradient(velocity, step, axis=0)
    needed = []
    for q, v, a in zip(log.clean, velocity, acceleration, strict=True):
        data.qpos[:n], data.qvel[:n], data.qacc[:n] = q, v, a
        mujoco.mj_inverse(model, data)
        needed.append(data.qfrc_inverse[:n].copy())
    inside = slice(50, -50)
    error = np.sqrt(np.mean((np.array(needed) - log.command)[inside] ** 2, axis=0))
    size = torque_noise(log.command) * max(noise, 1.0)
    return float(np.max(error / size))


def torque_noise(torques: np.ndarray) -> np.ndarray:
    """Noise of logged torques ``(nu,)``: 1 % of their size."""
    return 0.01 * np.sqrt(np.mean(torques**2, axis=0)) + 1e-6
