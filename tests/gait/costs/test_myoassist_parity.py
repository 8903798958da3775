"""The controller, the walk and the costs are those of MyoAssist on its own model."""

from dataclasses import replace

import numpy as np
import pytest

from trueup.gait import MyoAssistCost, WalkSettings, replay_controller
from trueup.gait.costs.myoassist import read_myoassist_emg, read_myoassist_kinematics
from trueup.gait.models.anatomy import myoassist_anatomy
from trueup.gait.walk.initial_state import set_initial_state

OF_LEG = {
    "load": "load_ipsi",
    "contact": "contact_ipsi",
    "hip": "phi_hip",
    "hip_rate": "dphi_hip",
    "knee": "phi_knee",
    "knee_rate": "dphi_knee",
    "ankle": "phi_ankle",
    "mtp": "phi_mtp",
    "other_foot_x": "talus_contra_pos",
    "other_foot_vx": "talus_contra_vel",
}
OF_BODY = {
    "pitch": "theta",
    "pitch_rate": "dtheta",
    "pelvis_x": "pelvis_pos",
    "pelvis_vx": "pelvis_vel",
}


def first_column(values):
    return values if values.ndim == 1 else values[:, 0]


def recorded_signals(recorded, layout):
    """What the controller saw at each step ``(steps, 2, signals)``."""
    measured = np.zeros((len(recorded["time"]), 2, len(layout.measured)))
    for leg, side in enumerate("rl"):
        names = {name: f"sensor/{side}_leg/{theirs}" for name, theirs in OF_LEG.items()}
        names |= {name: f"sensor/body/{theirs}" for name, theirs in OF_BODY.items()}
        names |= {f"force_{m}": f"sensor/{side}_leg/F_{m}" for m in layout.muscles}
        for name, theirs in names.items():
            if theirs in recorded:
                measured[:, leg, layout.measured.index(name)] = first_column(recorded[theirs])
    return measured


@pytest.mark.parametrize(("version", "steps"), [("3.17.0", 1353), ("3.3.3", 2000)])
def test_commands_from_recorded_signals(version, steps, golden, compat_simulation, tutorial_vector):
    recorded, _ = golden(version)
    simulation = compat_simulation(1.0)
    measured = recorded_signals(recorded, simulation.layout)
    commands = replay_controller(simulation, tutorial_vector, measured)
    part, muscles = simulation.body.parts[0], simulation.body.muscles
    ctrl = np.zeros((steps, 24))
    ctrl[:, muscles["ctrl"]] = commands.stimulation[:, muscles["leg"], muscles["group"]]
    ctrl[:, part["exo_ctrl"]] = commands.torque / part["exo_gain"]
    assert np.abs(ctrl - recorded["ctrl"]).max() < 1e-12


def test_initial_state_of_the_vector(compat_simulation, tutorial_vector, golden):
    recorded, _ = golden()
    simulation = compat_simulation(0.01)
    simulation.run(tutorial_vector)
    batch, _ = simulation._prepared(1)
    state = set_initial_state(
        batch,
        simulation.walker,
        simulation.body,
        simulation.parameters,
        simulation.layout.muscles,
        tutorial_vector[None],
        "walk_left",
        compat=True,
    )
    assert state.invalid == {}
    for name in ("qpos", "qvel", "act"):
        np.testing.assert_allclose(batch.bind(name)[0], recorded[f"{name}0"], rtol=0, atol=1e-15)


def test_closed_loop_stays_on_the_recorded_walk(compat_simulation, tutorial_vector, golden):
    recorded, _ = golden()
    simulation = compat_simulation(5.0)
    records = simulation.run(tutorial_vector)
    assert records.length[0] == 500 and records.ended[0] == 0
    batch, _ = simulation._prepared(1)
    assert np.abs(batch.bind("qpos")[0] - recorded["qpos"][499]).max() < 1e-9
    assert np.abs(records.column("x")[0, :500] - recorded["qpos"][:500, 0]).max() < 1e-9
    np.testing.assert_allclose(records.column("time")[0, :500], recorded["time"][:500], atol=1e-12)


@pytest.fixture(scope="module")
def references(recorded_data):
    folder = recorded_data / "gait_norms/myoassist"
    return {
        "kinematics": read_myoassist_kinematics(folder / "ref_kinematics_radians.csv"),
        "emg": read_myoassist_emg(folder / "ref_EMG.csv"),
    }


@pytest.fixture(scope="module")
def whole_walk(compat_simulation, tutorial_vector):
    """The walk of 20 s, which ends in a fall, with copies of its beginnings."""
    simulation = compat_simulation(20.0)
    records = simulation.run(tutorial_vector)

    def until(duration):
        frames = min(int(records.length[0]), round(duration / records.period))
        ended = records.ended if frames == records.length[0] else np.array([0])
        changes = {"frames": records.frames[:, :frames], "length": np.array([frames])}
        return replace(records, ended=ended, **changes)

    return until


@pytest.mark.parametrize("duration", [5, 8, 10, 20])
def test_costs_of_the_tutorial(duration, whole_walk, tutorial_vector, golden, references):
    _, expected = golden()
    records = whole_walk(duration)
    cost = MyoAssistCost("Kine", **references)
    terms = cost.terms(records, myoassist_anatomy())
    settings = WalkSettings(duration=duration, delayed=False, compat=True)
    scalar = cost.scalars(tutorial_vector[None], records, terms, settings)[0]
    recorded = expected[str(duration)]
    assert scalar == pytest.approx(recorded["scalar"], rel=1e-6)
    assert records.ended[0] == (duration == 20)
    if isinstance(recorded["terms"], dict):
        named = {"effort": "Effort_Cost", "symmetry": "Symmetry_Cost", "velocity": "Velocity_Cost"}
        named |= {"grf": "GRF_Cost", "time": "Actual_time"}
        for name, theirs in named.items():
            assert terms[name][0] == pytest.approx(recorded["terms"][theirs], rel=1e-6)
        kinematic = terms["kinematic"] + terms["trunk"]
        assert kinematic[0] == pytest.approx(recorded["terms"]["Kinematic_Cost"], rel=1e-6)


def test_the_walk_falls_when_the_recorded_one_does(whole_walk, golden):
    recorded, _ = golden()
    records = whole_walk(20)
    assert records.length[0] == len(recorded["time"]) == 1353
    assert np.abs(records.column("x")[0] - recorded["qpos"][:, 0]).max() < 1e-7
