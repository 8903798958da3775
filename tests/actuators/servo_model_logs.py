"""Short logs of a known servo model, made by the bench simulator, for tests."""

import dataclasses

import numpy as np

from trueup.actuators import BenchSimulator, ServoLog, ServoModel


def template_log(
    name: str = "run",
    *,
    seconds: float = 1.5,
    dt: float = 0.005,
    kp: float = 200.0,
    mass: float = 0.4,
    motor: str = "xl330",
    trajectory: str = "sine",
    start: float = 0.0,
    torque_off_after: float = np.inf,
) -> ServoLog:
    """A log whose goal is a sine, and whose joint has not been simulated yet."""
    times = np.arange(round(seconds / dt)) * dt
    zeros = np.zeros_like(times)
    return ServoLog(
        name=name,
        source=f"{name}.json",
        sha256="",
        motor=motor,
        trajectory=trajectory,
        mass=mass,
        arm_mass=0.02,
        length=0.1,
        kp=kp,
        vin=7.5,
        damping=None,
        dt=dt,
        times=times,
        position=start + zeros,
        speed=zeros.copy(),
        goal_position=0.9 * np.sin(5.0 * times + kp),
        torque_enable=times < torque_off_after,
        load=zeros.copy(),
        input_volts=7.5 + 0.5 * np.sin(11.0 * times),
        temperature=30.0 + 2.0 * times,
    )


def recorded(model: ServoModel, log: ServoLog, noise: float = 0.0, seed: int = 0) -> ServoLog:
    """The log with the motion that the model makes in it, and noise [rad] on the angle."""
    motion = BenchSimulator(model, [log]).simulate()
    rng = np.random.default_rng(seed)
    return dataclasses.replace(
        log,
        position=motion.position[0][0] + noise * rng.standard_normal(len(log)),
        speed=motion.speed[0][0].copy(),
        load=motion.duty[0][0].copy(),
    )


def logs_of(model: ServoModel, noise: float = 1e-3) -> list[ServoLog]:
    """Six logs of a model: two gains and three masses."""
    return [
        recorded(model, template_log(f"kp{kp}_m{mass}", kp=kp, mass=mass), noise, number)
        for number, (kp, mass) in enumerate((k, m) for k in (100, 300) for m in (0.2, 0.4, 0.6))
    ]


M1 = ServoModel.create(
    "xl330", "m1", kt=0.37, R=2.8, armature=0.002, friction_base=0.02, friction_viscous=0.005
)
M3 = ServoModel.create("xl330", "m3", **M1.values, load_friction_base=0.25)
