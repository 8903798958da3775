"""Recordings of the machines of the bank, with the faults of their wiring and timing."""

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from bank.machines import Machine

SETTLE = 3.0
"""Time in which a position servo comes to rest before the recording [s]."""
BANDWIDTH = 30.0
"""Of the controller that holds a machine with motors to its motion [rad/s]."""


@dataclass
class Wiring:
    """What lies between controller, machine and log; all neutral in a right situation.

    On the machine:

    Attributes:
      late_command: delay of commands before they act [s].
      clip: limit of the commands that act, as a part of their reach; 0 for none.
      saturation: limit of the motor torque, as a part of the largest; 0 for none.
      gain: factor of the gains of the firmware.
      cogging: amplitude of a torque that repeats 12 times a turn, as a part of the dry friction.

    On the log:

    Attributes:
      late_torque: delay of the logged torque [s].
      late_joint: the only joint whose torque is late; None for all.
      torque_scale: factor of each logged torque.
      reversed_torque: joint whose logged torque has the wrong sign; None for none.
      exchanged: two joints whose logged positions are exchanged; None for none.
      exchanged_torques: two joints whose logged torques are exchanged; None for none.
      stale: share of the samples whose position is that of the sample before.
      frames: share of the rows in which a motor's frame is logged again, each motor by itself.
      spikes: number of positions of each joint that hold the bytes of another frame.
      late_velocity: time by which velocities lag their positions [s].
      quantum: count of the encoders [rad, m]; 0 for none.
      clock: factor of the logged time.
    """

    late_command: float = 0.0
    clip: float = 0.0
    saturation: float = 0.0
    gain: float = 1.0
    cogging: float = 0.0
    late_torque: float = 0.0
    late_joint: int | None = None
    torque_scale: np.ndarray | float = 1.0
    reversed_torque: int | None = None
    exchanged: tuple[int, int] | None = None
    exchanged_torques: tuple[int, int] | None = None
    stale: float = 0.0
    frames: float = 0.0
    spikes: int = 0
    late_velocity: float = 0.0
    quantum: float = 0.0
    clock: float = 1.0


@dataclass
class Motion:
    """A commanded motion: a sum of sines about the rest pose.

    Attributes:
      seconds: length [s].
      rate: rate of commands and log [Hz].
      frequencies: ``(k, nu)`` [Hz].
      phases: ``(k, nu)`` [rad].
      size: factor of the reach.
      band: lowest and highest frequency of the draw [Hz].
    """

    seconds: float
    rate: float
    frequencies: np.ndarray
    phases: np.ndarray
    size: float = 1.0
    band: tuple[float, float] = (0.15, 1.5)

    @classmethod
    def draw(
        cls,
        machine: Machine,
        rng: np.random.Generator,
        seconds: float = 12.0,
        rate: float = 500.0,
        size: float = 1.0,
        band: tuple[float, float] = (0.15, 1.5),
    ) -> "Motion":
        shape = (5, len(machine.joints))
        frequencies, phases = rng.uniform(*band, shape), rng.uniform(0, 2 * np.pi, shape)
        return cls(seconds, rate, frequencies, phases, size, band)

    def at(self, machine: Machine, now: float) -> np.ndarray:
        """Reference ``(nu,)`` at a time [s]; it starts at rest in the rest pose."""
        now = max(now, 0.0)
        waves = np.sin(2 * np.pi * self.frequencies * now + self.phases) - np.sin(self.phases)
        ramp = min(1.0, now / 0.8)
        smooth = ramp * ramp * (3.0 - 2.0 * ramp)
        reach = self.size * np.asarray(machine.kind.reach)
        return np.asarray(machine.kind.rest) + reach * smooth * waves.mean(axis=0)


@dataclass
class Log:
    """A recording.

    Attributes:
      time: ``(n,)`` [s].
      position: measured positions ``(n, nu)`` [rad, m].
      velocity: measured velocities ``(n, nu)`` [rad/s, m/s].
      command: logged commands or torques ``(n, nu)`` [rad, m, N m, N].
      clean: true positions ``(n, nu)``.
      controls: commands or torques as they were sent ``(n, nu)``.
    """

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    command: np.ndarray
    clean: np.ndarray
    controls: np.ndarray


def record(
    machine: Machine, motion: Motion, wiring: Wiring, rng: np.random.Generator, noise: float = 1.0
) -> Log:
    """Record a machine that follows a motion.

    Args:
      machine: machine.
      motion: motion; torque-driven machines are held to it by a controller outside the model.
      wiring: faults of machine and log.
      rng: random numbers of noise and stale samples.
      noise: factor of the machine's noise.
    """
    clean, speed, sent = _moved(machine, motion, wiring)
    time = np.arange(len(clean)) / motion.rate
    spread = noise * machine.kind.noise
    position = clean + spread * rng.normal(size=clean.shape)
    velocity = speed + 25.0 * spread * rng.normal(size=clean.shape)
    if wiring.quantum:
        position = np.round(position / wiring.quantum) * wiring.quantum
    if wiring.stale:
        for row in np.flatnonzero(rng.random(len(position)) < wiring.stale):
            position[row] = position[max(0, row - 1)]
    if wiring.late_velocity:
        late = time - wiring.late_velocity
        velocity = np.column_stack([np.interp(late, time, column) for column in velocity.T])
    if wiring.frames:
        for joint in range(position.shape[1]):
            old = rng.random(len(position)) < wiring.frames
            last = np.maximum.accumulate(np.where(old, 0, np.arange(len(position))))
            position[:, joint], velocity[:, joint] = position[last, joint], velocity[last, joint]
    if wiring.spikes:
        for joint in range(position.shape[1]):
            position[rng.choice(len(position), wiring.spikes, replace=False), joint] = -12.4222
    log = Log(time * wiring.clock, position, velocity, sent * wiring.torque_scale, clean, sent)
    return _miswired(log, wiring, motion.rate)


def _miswired(log: Log, wiring: Wiring, rate: float) -> Log:
    logged, position = log.command.copy(), log.position.copy()
    velocity = log.velocity.copy()
    if wiring.exchanged:
        pair = list(wiring.exchanged)
        position[:, pair] = position[:, pair[::-1]]
        velocity[:, pair] = velocity[:, pair[::-1]]
    if wiring.reversed_torque is not None:
        logged[:, wiring.reversed_torque] *= -1
    if wiring.exchanged_torques:
        logged[:, list(wiring.exchanged_torques)] = logged[:, list(wiring.exchanged_torques[::-1])]
    if wiring.late_torque:
        shift = round(wiring.late_torque * rate)
        late = np.concatenate([np.repeat(logged[:1], shift, axis=0), logged[:-shift]])
        only = slice(None) if wiring.late_joint is None else [wiring.late_joint]
        logged[:, only] = late[:, only]
    return replace(log, position=position, velocity=velocity, command=logged)


def _moved(
    machine: Machine, motion: Motion, wiring: Wiring
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True positions, velocities and the commands that were sent, each ``(n, nu)``."""
    model = machine.real.compile()
    data = mujoco.MjData(model)
    n, servo = model.nu, machine.drive == "servo"
    rest = np.asarray(machine.kind.rest)
    if servo:
        model.actuator_gainprm[:, 0] *= wiring.gain
        model.actuator_biasprm[:, 1] *= wiring.gain
    data.qpos[:n] = rest
    limit = wiring.clip * motion.size * np.asarray(machine.kind.reach)
    hold = max(1, round(1.0 / (motion.rate * machine.step)))
    ripple = wiring.cogging * model.dof_frictionloss[:n]
    if servo:
        data.ctrl[:] = rest
        for _ in range(round(SETTLE / machine.step)):
            mujoco.mj_step(model, data)
        # the clock goes on: buffers of delays hold the times of their samples
    else:
        mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))

    def command(now: float) -> np.ndarray:
        goal = motion.at(machine, now)
        if servo:
            return goal
        rate = (goal - motion.at(machine, now - 1e-3)) / 1e-3
        held = BANDWIDTH * (goal - data.qpos[:n]) + 2.0 * (rate - data.qvel[:n])
        # inertias of the motors alone would couple the joints: a wrist then swings ever further
        mujoco.mj_fullM(model, data, mass)
        return BANDWIDTH * mass[:n, :n] @ held + data.qfrc_bias[:n]

    sent: list[np.ndarray] = []
    late = round(wiring.late_command / machine.step)
    largest = np.zeros(n)
    rows = []
    for step in range(round(motion.seconds / machine.step)):
        if step % hold == 0:
            value = command(step * machine.step)
            rows.append((data.qpos[:n].copy(), data.qvel[:n].copy(), value))
        acting = value if not wiring.clip else rest + np.clip(value - rest, -limit, limit)
        sent.append(acting)
        data.ctrl[:] = sent[max(0, step - late)]
        data.qfrc_applied[:n] = ripple * np.sin(12.0 * data.qpos[:n])
        if wiring.saturation:
            largest = np.maximum(largest, np.abs(data.actuator_force)) if step < 400 else largest
            if step == 400:
                model.actuator_forcelimited[:] = 1
                model.actuator_forcerange[:, 1] = wiring.saturation * largest
                model.actuator_forcerange[:, 0] = -wiring.saturation * largest
        mujoco.mj_step(model, data)
    position, velocity, sent_rows = (np.array(part) for part in zip(*rows, strict=True))
    return position, velocity, sent_rows
