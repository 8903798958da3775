"""Logs of a simulated XL330 on a bench, quick to fit."""

import numpy as np

from trueup.actuators import BenchSimulator, ServoLog, ServoModel, write_log

TRUTH = ServoModel.create(
    "xl330", "m1", kt=0.35, R=3.2, armature=0.0016, friction_base=0.02, friction_viscous=0.006
)


def bench_log(name, kp, seconds=0.8):
    times = np.arange(round(seconds / 0.005)) * 0.005
    zeros = np.zeros_like(times)
    log = ServoLog(
        name=name,
        source=f"{name}.json",
        sha256="",
        motor="xl330",
        trajectory="sine",
        mass=0.4,
        arm_mass=0.0,
        length=0.1,
        kp=kp,
        vin=7.4,
        damping=None,
        dt=0.005,
        times=times,
        position=zeros.copy(),
        speed=zeros.copy(),
        goal_position=np.sin(6.0 * times),
        torque_enable=np.ones(len(times), bool),
        load=None,
        input_volts=None,
        temperature=None,
    )
    motion = BenchSimulator(TRUTH, [log]).simulate()
    noise = 1e-3 * np.random.default_rng(int(kp)).standard_normal(len(times))
    columns = {"position": motion.position[0][0] + noise, "speed": motion.speed[0][0].copy()}
    return ServoLog(**{**vars(log), **columns})


def write_logs(folder):
    """Write three logs, one a gain; returns the folder."""
    for kp in (100.0, 200.0, 400.0):
        write_log(bench_log(f"kp{kp:.0f}", kp), folder / f"kp{kp:.0f}.json")
    return folder
