"""The compiled reflex controller does what the plain one does, whatever the signals and gains."""

import numpy as np
import pytest
from plain_controller import PlainController

from trueup.gait import Walker, WalkSettings, WalkSimulation, replay_controller
from trueup.gait.controller.reflexes import default_controller

STEPS = 160


@pytest.fixture(scope="module")
def walkers():
    return {name: Walker.load(name) for name in ("planar22", "myolegs26")}


def random_signals(simulation, rng):
    """Signals of each leg's own, in the ranges of a walk, with contacts that come and go."""
    names, time = simulation.layout.measured, np.arange(STEPS)[:, None]
    measured = np.zeros((STEPS, 2, len(names)))
    for k, name in enumerate(names):
        rate, phase = rng.uniform(0.02, 0.2, 2), rng.uniform(0.0, 6.3, 2)
        wave = np.sin(rate * time + phase)
        if name == "load":
            wave = np.maximum(0.6 * wave + 0.3, 0.0)
        elif name == "contact":
            # both feet on the ground, each alone, and none, for some steps
            wave = np.stack([(time[:, 0] % 67) < 41, ((time[:, 0] + 29) % 59) < 40], axis=1)
        elif name in ("hip", "knee"):
            wave = 2.4 + 0.6 * wave
        elif name in ("ankle", "mtp", "hip_adduction"):
            wave = 1.5 + 0.4 * wave
        elif name.startswith("force"):
            wave = 0.5 + 0.6 * wave
        elif name.endswith("rate") or "_v" in name:
            wave = 2.0 * wave
        else:
            wave = 0.4 * wave
        measured[:, :, k] = wave
    return measured


@pytest.mark.parametrize("pose", ["walk_left", "walk_right"])
@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("planar22", {"delayed": False}),
        ("planar22", {"delayed": False, "compat": True}),
        ("planar22", {"delayed": True}),
        ("planar22", {"delayed": True, "compat": True}),
        ("myolegs26", {"delayed": True}),
        ("myolegs26", {"delayed": False, "compat": True}),
        # many steps see what the delay lines held at the start
        ("planar22", {"delayed": True, "period": 0.001}),
        ("myolegs26", {"delayed": True, "period": 0.001}),
    ],
)
def test_stimulations_are_those_of_the_plain_controller(walkers, model, settings, pose):
    rng = np.random.default_rng(len(model) + sum(map(bool, settings.values())))
    simulation = WalkSimulation(
        walkers[model], WalkSettings(per_leg=True, pose=pose, **{"period": 0.01, **settings})
    )
    layout, parameters = simulation.layout, simulation.parameters
    vector = parameters.start.copy()
    part = parameters.group("gain")
    vector[part] = rng.uniform(0.4, 1.7, part.stop)  # no two coefficients are equal
    measured = random_signals(simulation, rng)
    if pose == "walk_left":
        # both feet touch down at once in the other pose; here a swing goes on
        measured[:9, simulation.swing_leg, layout.measured.index("contact")] = 0.0
    found = replay_controller(simulation, vector, measured).stimulation
    values = parameters.values(vector[None], "gain").reshape(2, -1)
    controller = default_controller().in_plane(walkers[model].frontal)
    plain = PlainController(
        controller,
        [dict(zip(layout.gains, row, strict=True)) for row in values.tolist()],
        simulation.period,
        walkers[model].model.opt.timestep,
        settings["delayed"],
        settings.get("compat", False),
        simulation.swing_leg,
        walkers[model].frontal,
        controller.prestimulation,
    )
    expected = np.zeros_like(found)
    for k, signals in enumerate(measured):
        step = plain.step([dict(zip(layout.measured, row, strict=True)) for row in signals])
        expected[k] = [[leg[muscle] for muscle in layout.muscles] for leg in step]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    # every muscle was driven, and not to its limits alone
    inner = (found > 0.011) & (found < 0.999)
    assert inner.any(axis=(0, 1)).all()
