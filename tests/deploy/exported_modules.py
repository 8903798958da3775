"""States, logs and reference torques for tests of modules that hold a whole servo model."""

import itertools
import linecache
import re
from dataclasses import replace
from types import ModuleType

import numpy as np
from distinct_servos import LAWS, distinct_model

from trueup.actuators import BenchSimulator, ServoLog, ServoModel, bench_of
from trueup.deploy import export_servo

DT = 0.004
LOAD = {"total_inertia": 0.0061, "total_g_bias": 0.37}
MEMORYLESS = {
    "voltage": ("measured_voltage", "supply_resistance", "resistance_temperature",
                "torque_saturation", "current_limit", "winding_braking"),
    "current": ("measured_voltage", "resistance_temperature", "torque_saturation",
                "winding_braking"),
    "bus_current": ("measured_voltage", "resistance_temperature", "torque_saturation",
                    "winding_braking"),
    "current_pd": ("measured_voltage", "resistance_temperature", "torque_saturation",
                   "winding_braking"),
    "torque_pd": (),
}  # fmt: skip
"""Terms of each law that act without a memory."""

_NUMBERS = itertools.count()
MODELS = {
    **{f"{law}, m6": (law, "m6", MEMORYLESS[law]) for law in LAWS},
    **{f"voltage, {friction}": ("voltage", friction, ()) for friction in ("m1", "m2", "m3", "m4")},
    "voltage, m5": ("voltage", "m5", ("torque_saturation",)),
}


def model_of(title: str) -> ServoModel:
    law, friction, terms = MODELS[title]
    return distinct_model(law, friction, terms)


def module_of(model: ServoModel, form: str, name: str = "servo_module", **settings) -> ModuleType:
    """The module of an export, as an import of its file makes it."""
    text = export_servo(model, form, **settings).text
    assert not re.search(r"^\s*(from|import) trueup", text, re.M)
    name = f"{name}_{next(_NUMBERS)}"
    module = ModuleType(name)
    # Warp reads the source of its kernels
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), vars(module))
    return module


def swing(model: ServoModel, seconds: float = 2.0) -> ServoLog:
    """Goals that swing and step, a released joint, voltage and temperature that change."""
    times = np.arange(0.0, seconds, DT)
    servo = model.servo
    share = times / seconds
    zeros = np.zeros(len(times))
    return ServoLog(
        name="swing", source="", sha256="", motor=servo.name, trajectory="swing", mass=0.0,
        arm_mass=0.0, length=0.0, kp=servo.kp, vin=None, damping=None, dt=DT, times=times,
        position=zeros + 0.4, speed=zeros - 1.3,
        goal_position=1.1 * np.sin(7.0 * times) + 0.9 * (share > 0.5),
        torque_enable=(share < 0.4) | (share > 0.6), load=None,
        input_volts=7.0 + 0.8 * np.sin(9.0 * times), temperature=25.0 + 20.0 * times, header=LOAD,
    )  # fmt: skip


def states(count: int = 200) -> dict[str, np.ndarray]:
    """Goals, positions and speeds of single steps: still, slow and fast ones."""
    rng = np.random.default_rng(5)
    speed = np.sinh(2.0 * rng.normal(size=count))
    speed[:20] = 0.0
    speed[20:60] *= 1e-3
    position, error = 1.5 * rng.normal(size=count), 0.7 * rng.normal(size=count)
    error[:5] = 0.0
    return {"goal": position + error, "position": position, "speed": speed}


def bench_torque(model: ServoModel, found: dict[str, np.ndarray], volts: float, warm: float):
    """Torque of motor and friction of one step of the bench [N m], and that of the load."""
    log = swing(model)
    one = {
        "times": log.times[:2],
        "torque_enable": np.ones(2, bool),
        "input_volts": np.full(2, volts),
        "temperature": np.full(2, warm),
    }
    logs = [
        replace(
            log, name=str(k), goal_position=np.full(2, found["goal"][k]),
            position=np.full(2, found["position"][k]), speed=np.full(2, found["speed"][k]), **one,
        )
        for k in range(len(found["goal"]))
    ]  # fmt: skip
    moved = BenchSimulator(model, logs, max_step=DT).simulate().speed
    after = np.array([speed[0, 1] for speed in moved])
    bench = bench_of(log)
    inertia = bench.inertia + model.values["armature"]
    angle = found["position"] + model.values["q_offset"]
    external = -bench.gravity_torque * np.sin(angle)
    return inertia * (after - found["speed"]) / DT - external, external


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """Greatest difference, relative to the greatest torque."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())
