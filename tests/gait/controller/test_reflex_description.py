"""The controller is described by data: names, sizes, bounds, new reflexes, mistakes."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from trueup.errors import GaitError
from trueup.gait import (
    FourParameterProfile,
    Walker,
    WalkSettings,
    WalkSimulation,
    load_controller,
    replay_controller,
    shipped_reflexes,
    walk_parameters,
)
from trueup.gait.controller import reflexes as module
from trueup.gait.controller.exoskeleton import PointsProfile
from trueup.gait.controller.parameter_vector import ParameterVector
from trueup.gait.controller.program import compile_controller
from trueup.gait.controller.reflexes import default_controller
from trueup.gait.models.anatomy import myoassist_anatomy

FILE = Path(str(module.__file__)).with_suffix(".yaml")


def vector(**options):
    return walk_parameters(default_controller(), myoassist_anatomy(), "walk_left", **options)


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, 77),
        ({"profile": FourParameterProfile()}, 81),
        ({"profile": PointsProfile(6)}, 89),
        ({"frontal": True}, 97),
        ({"frontal": True, "profile": FourParameterProfile()}, 101),
        ({"per_leg": True}, 77 + 51),
    ],
)
def test_sizes_of_vectors(options, size):
    assert vector(**options).size == size


def test_entries_stand_where_older_vectors_have_them():
    names = vector(profile=FourParameterProfile()).names
    assert names[:3] == ("theta_tgt", "alpha_0", "alpha_delta")
    assert names[39] == "7_BFSH_PG" and names[50] == "10_VAS_PG"
    assert names[51:59] == (
        "pelvis_tilt",
        "hip_flexion_r",
        "hip_flexion_l",
        "knee_angle_r",
        "knee_angle_l",
        "ankle_angle_r",
        "ankle_angle_l",
        "vel_pelvis_tx",
    )
    assert names[59] == "activation_GLU_r" and names[68] == "activation_GLU_l"
    assert names[77:] == ("exo_peak", "exo_rise", "exo_peak_time", "exo_fall")


def test_values_of_the_nominal_vector():
    parameters = vector()
    gains = dict(
        zip(parameters.names, parameters.values(np.ones((1, 77)), "gain")[0], strict=False)
    )
    assert gains["alpha_0"] == pytest.approx(np.deg2rad(75.0))
    assert gains["knee_tgt"] == pytest.approx(np.deg2rad(175.0))
    assert gains["C_d"] == pytest.approx(np.deg2rad(2.0))
    assert gains["1_VAS_FG"] == 2.0
    pose = parameters.values(np.ones((1, 77)), "pose")[0]
    np.testing.assert_allclose(np.rad2deg(pose[:7]), [-15, -10, 25, -25, -5, 0, -3])
    assert pose[7] == pytest.approx(1.5)


def test_bounds_go_by_name():
    """In the reference the list of bounds is shifted: two position gains may be negative."""
    own, compat = vector(), vector(compat=True)
    for name in ("10_GLU_PG", "10_VAS_PG", "1_VAS_FG"):
        assert own.entries[own.index(name)].lower == 0.0
    assert compat.entries[compat.index("10_VAS_PG")].lower == -np.inf
    for name in ("knee_tgt", "mtp_tgt"):
        assert own.entries[own.index(name)].lower == -np.inf
    speed = own.entries[own.index("vel_pelvis_tx")]
    assert (speed.lower, speed.upper) == (-29.0, 6.0)


def test_entries_without_effect_are_not_searched():
    """A gain that no reflex reads, and a fixed exoskeleton, are no dimensions of the search."""
    assert "7_BFSH_PG" not in vector().space.names
    fixed = vector(profile=FourParameterProfile(fixed=True))
    assert not any(name.startswith("exo") for name in fixed.space.names)
    assert fixed.complete(fixed.space.start).shape == (1, 81)


def test_every_gain_but_the_unused_one_is_read():
    controller = default_controller()
    read = {term.gain for reflex in controller.reflexes for term in reflex.terms}
    read |= {name for reflex in controller.reflexes for t in reflex.terms for name in t.above}
    fixed = {*module.GAINS, *module.FRONTAL_GAINS}
    unread = {gain.name for gain in controller.gains} - read - fixed
    assert unread == {"7_BFSH_PG"}


def test_wrong_vectors_are_refused():
    parameters = vector(profile=FourParameterProfile())
    with pytest.raises(
        GaitError, match=r"require 81 entries \(51 gain, 8 pose, 18 activation, 4 exo"
    ):
        parameters.check(np.ones(77))
    with pytest.raises(GaitError, match=r"'C_d'.*not finite"):
        parameters.check(np.where(np.arange(81) == 3, np.nan, 1.0) * 0.5)
    late = parameters.start
    late[parameters.index("exo_peak_time")] = 1.2
    with pytest.raises(GaitError, match=r"exo_peak_time.*out of order"):
        parameters.check_given(late, "late.txt")
    with pytest.raises(GaitError, match="Did you mean 'alpha_0'"):
        parameters.index("alpha0")
    with pytest.raises(GaitError, match="repeated: 'C_d'"):
        ParameterVector((*parameters.entries, parameters.entries[3]))


def changed(tmp_path, change):
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    change(content)
    path = tmp_path / "controller.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["reflexes"][0].update(muscle="GLUT"), "muscle 'GLUT'.*Did you mean 'GLU'"),
        (lambda c: c["reflexes"][0].update(gate="stand"), "gate 'stand'.*'stance'"),
        (lambda c: c["reflexes"][0]["terms"][0].update(gain="1_GLU"), "gain '1_GLU'"),
        (lambda c: c["reflexes"][0]["terms"][0].update(signal="reflex 9_HAM"), "reflex 9_HAM"),
        (lambda c: c["signals"][0].update(measured="pich"), "measured signal 'pich'"),
        (lambda c: c["gains"].pop(1), "'alpha_0'"),
        (lambda c: c["gains"].append(c["gains"][0]), "names of each gain must be unique"),
        (lambda c: c["reflexes"][0].update(color="red"), "Extra inputs"),
        (lambda c: c.pop("muscles"), "muscles"),
        (lambda c: c["gains"][0].update(scale=float("nan")), "finite number"),
        (lambda c: c["gains"].append({"name": "stance", "scale": 1}), "'stance'.*rename each gain"),
        (
            lambda c: c["signals"].append({"name": "C_d", "measured": "load", "delay": 0.01}),
            "'C_d'.*rename each signal",
        ),
    ],
)
def test_mistakes_in_a_description(tmp_path, change, message):
    with pytest.raises(GaitError, match=message):
        load_controller(changed(tmp_path, change))


def test_the_text_of_the_shipped_reflexes_is_theirs(tmp_path):
    path = tmp_path / "reflexes.yaml"
    path.write_text(shipped_reflexes(), encoding="utf-8")
    assert load_controller(path) == default_controller()


def test_files_that_are_no_description(tmp_path):
    with pytest.raises(GaitError, match="cannot read"):
        load_controller(tmp_path / "absent.yaml")
    (tmp_path / "bad.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(GaitError, match="not a YAML"):
        load_controller(tmp_path / "bad.yaml")
    (tmp_path / "list.yaml").write_text("- 1", encoding="utf-8")
    with pytest.raises(GaitError, match="not a valid reflex controller"):
        load_controller(tmp_path / "list.yaml")


def test_delays_need_a_fast_controller():
    with pytest.raises(GaitError, match="controller period is 10 ms"):
        compile_controller(
            default_controller(), frontal=False, period=0.01, delayed=True, timestep=0.01
        )


SIGNALS = default_controller().in_plane(False).signals


def lags(period: float, timestep: float, compat: bool = False) -> dict[str, float]:
    """How late the signals are by their delay lines [ms]."""
    program, layout = compile_controller(
        default_controller(),
        frontal=False,
        period=period,
        delayed=True,
        timestep=timestep,
        compat=compat,
    )
    lines = program.lines
    # a part of the way back from the value before the oldest but one
    periods = lines["length"] - 1 - np.where(lines["part"] > 0.0, 1.0 - lines["part"], 0.0)
    late = dict(zip(lines["output"], 1e3 * period * periods, strict=True))
    return {signal.name: late[layout.register(signal.name)] for signal in SIGNALS}


@pytest.mark.parametrize(
    ("period", "timestep"), [(0.001, 0.001), (1 / 600, 1 / 600), (1 / 1200, 1 / 1200), (1e-3, 5e-4)]
)
def test_signals_are_as_late_as_their_delays_whatever_the_step(period, timestep):
    late = lags(period, timestep)
    for signal in SIGNALS:
        # a stimulation is held for a period, and a force is that of the last step
        force = signal.measured in ("load", "contact") or signal.measured.startswith("force_")
        anyway = 1e3 * 0.5 * (period + (timestep if force else 0.0))
        assert late[signal.name] + anyway == pytest.approx(1e3 * signal.delay), signal.name


def test_forces_are_never_told_before_they_act():
    assert min(lags(0.003, 0.003).values()) == 0.0
    assert min(lags(0.003, 0.005).values()) == 0.0


def test_lags_of_myoassist_are_one_period_shorter_than_the_delays():
    late = lags(0.001, 0.001, compat=True)
    for signal in SIGNALS:
        assert late[signal.name] == pytest.approx(1e3 * signal.delay - 1.0), signal.name


@pytest.fixture(scope="module")
def signals(compat_simulation):
    """Plausible random signals ``(steps, 2, signals)``, contact following load."""
    rng = np.random.default_rng(3)
    layout = compat_simulation(1.0).layout
    steps = np.arange(300)
    measured = np.zeros((len(steps), 2, len(layout.measured)))
    for leg in range(2):
        turn = 2.0 * np.pi * (steps / 100.0 + 0.5 * leg)
        columns = {
            "pitch": 0.1 + 0.05 * np.sin(2 * turn),
            "load": np.maximum(np.sin(turn), 0.0),
            "contact": np.sin(turn) > 0.1,
            "hip": 3.0 + 0.4 * np.cos(turn),
            "hip_rate": -2.5 * np.sin(turn),
            "knee": 2.8 + 0.3 * np.cos(turn + 1.0),
            "knee_rate": -2.0 * np.sin(turn + 1.0),
            "ankle": 1.6 + 0.2 * np.cos(turn),
            "mtp": 1.5 + 0.1 * np.cos(turn),
            "other_foot_x": 0.3 * np.cos(turn),
        }
        columns |= {f"force_{m}": rng.uniform(0.0, 1.0, len(steps)) for m in layout.muscles}
        for name, values in columns.items():
            measured[:, leg, layout.measured.index(name)] = values
    for name in ("pitch",):
        column = layout.measured.index(name)
        measured[:, 1, column] = measured[:, 0, column]
    return measured


def test_mirrored_signals_give_mirrored_commands(compat_simulation, tutorial_vector, signals):
    simulation = compat_simulation(1.0)
    mirrored = compat_simulation(1.0, pose="walk_right")
    one = replay_controller(simulation, tutorial_vector, signals)
    other = replay_controller(mirrored, tutorial_vector, signals[:, ::-1])
    # the swinging leg is computed first, and the left one where neither swings
    np.testing.assert_allclose(one.torque, other.torque[:, ::-1], atol=1e-14)
    different = np.abs(one.stimulation - other.stimulation[:, ::-1]).max(axis=(1, 2)) > 1e-12
    assert one.stimulation.std() > 0.1
    assert different.mean() < 0.5


def test_a_new_reflex_is_an_entry(tmp_path, compat_simulation, tutorial_vector, signals):
    def add(content):
        content["reflexes"].append(
            {
                "name": "11_SOL",
                "muscle": "SOL",
                "gate": "swing",
                "terms": [{"gain": "1_SOL_FG", "signal": "ankle"}],
            }
        )

    simulation = compat_simulation(1.0)
    more = type(simulation)(
        simulation.walker,
        simulation.settings,
        load_controller(changed(tmp_path, add)),
        simulation.profile,
    )
    one = replay_controller(simulation, tutorial_vector, signals).stimulation
    other = replay_controller(more, tutorial_vector, signals).stimulation
    soleus = simulation.layout.muscles.index("SOL")
    assert (other[:, :, soleus] > one[:, :, soleus] + 0.1).any()
    np.testing.assert_array_equal(np.delete(one, soleus, axis=2), np.delete(other, soleus, axis=2))


def test_gains_of_each_leg(compat_simulation, tutorial_vector, signals):
    shared, single = compat_simulation(1.0), compat_simulation(1.0, per_leg=True)
    names = single.parameters.names
    split = np.concatenate([tutorial_vector[:51], tutorial_vector])
    one = replay_controller(shared, tutorial_vector, signals).stimulation
    np.testing.assert_array_equal(one, replay_controller(single, split, signals).stimulation)
    split[names.index("1_SOL_FG_l")] = 0.0
    other = replay_controller(single, split, signals).stimulation
    soleus = shared.layout.muscles.index("SOL")
    np.testing.assert_array_equal(one[:, 0], other[:, 0])
    assert other[:, 1, soleus].sum() < one[:, 1, soleus].sum()


def test_signals_of_another_shape_are_refused(compat_simulation, tutorial_vector):
    with pytest.raises(GaitError, match=r"expected \(steps, 2, 32\)"):
        replay_controller(compat_simulation(1.0), tutorial_vector, np.zeros((5, 2, 3)))


def test_phases_of_swing_follow_each_other_step_by_step(compat_simulation, tutorial_vector):
    """In the step in which the knee has flexed, the tests for what follows are not made yet."""
    simulation = compat_simulation(1.0)
    layout = simulation.layout
    measured = np.zeros((10, 2, len(layout.measured)))
    for name, value in {"hip": 2.6, "knee": 3.0, "knee_rate": -3.0}.items():
        measured[:, :, layout.measured.index(name)] = value
    measured[:, 1, layout.measured.index("contact")] = 1.0
    # from step 5 on the right leg is flexed and far enough to the front
    measured[5:, 0, layout.measured.index("knee")] = 1.5
    measured[5:, 0, layout.measured.index("hip")] = 1.0
    right = replay_controller(simulation, tutorial_vector, measured).stimulation[:, 0]
    rectus, hamstrings = (right[:, layout.muscles.index(name)] for name in ("RF", "HAM"))
    assert (np.flatnonzero(rectus > 0.05) == [5]).all()
    assert (np.flatnonzero(hamstrings > 0.05) == np.arange(6, 10)).all()


def with_foot_signals(content):
    """Further signals of a foot, and a reflex of the centre of pressure."""
    for name in ("pressure_x", "pressure_y", "other_load", "load_foot", "load_toes"):
        content["signals"].append({"name": f"own_{name}", "measured": name, "delay": 0.01})
    content["gains"].append({"name": "11_SOL_CP", "scale": 2.0, "lower": 0})
    term = {"gain": "11_SOL_CP", "signal": "own_pressure_x"}
    reflex = {"name": "11_SOL", "muscle": "SOL", "gate": "stance", "terms": [term]}
    content["reflexes"].append(reflex)


def test_loads_and_pressure_of_the_feet_are_those_of_the_contacts(tmp_path):
    controller = load_controller(changed(tmp_path, with_foot_signals))
    walker = Walker.load("planar22", pressure=True)
    simulation = WalkSimulation(walker, WalkSettings(duration=0.6), controller)
    names, model = simulation.layout.measured, walker.model
    feet = [model.body(f"talus_{side}").id for side in "rl"]
    below = [
        [body for body in range(model.nbody) if foot in ancestors(model, body)] for foot in feet
    ]
    seen = []

    def compare(tick, batch):
        if tick % 5 or tick == 0:
            return
        data = batch.get_data(0)
        rows = [dict(zip(names, row, strict=True)) for row in simulation._walks.measured[0]]
        for leg, foot in enumerate(feet):
            force, moment = np.zeros(6), np.zeros(2)
            for k, contact in enumerate(data.contact):
                if any(model.geom_bodyid[geom] in below[leg] for geom in contact.geom):
                    mujoco.mj_contactForce(model, data, k, force)
                    moment += force[0] * np.array([1.0, contact.pos[0] - data.xpos[foot, 0]])
            row = rows[leg]
            assert row["load"] == pytest.approx(row["load_foot"] + row["load_toes"])
            assert row["other_load"] == rows[1 - leg]["load"]
            if moment[0] > 50.0 and row["load"] > 0.1:
                # contacts are those of the step before
                seen.append((row["pressure_x"], moment[1] / moment[0]))
            elif row["load"] == 0.0:
                assert row["pressure_x"] == 0.0

    simulation.run(simulation.parameters.start, observe=compare)
    found, wanted = np.array(seen).T
    assert len(found) > 10 and np.ptp(wanted) > 0.05
    # as the forefoot lands, the pressure moves by centimetres within a step
    assert np.sort(np.abs(found - wanted))[: -len(found) // 10] == pytest.approx(0.0, abs=0.01)


def ancestors(model, body):
    """A body and those that carry it."""
    found = [body]
    while found[-1]:
        found.append(int(model.body_parentid[found[-1]]))
    return found


def test_pressure_needs_its_sensors(tmp_path):
    controller = load_controller(changed(tmp_path, with_foot_signals))
    with pytest.raises(GaitError, match=r"senses the centre of pressure.*load it with pressure"):
        WalkSimulation(Walker.load("planar22"), WalkSettings(), controller)


def test_sensors_of_pressure_do_not_change_a_walk():
    vector = default_walk_start()
    walks = [
        WalkSimulation(Walker.load("planar22", pressure=sensed), WalkSettings(duration=0.5))
        .run(vector)
        .frames.copy()
        for sensed in (False, True)
    ]
    np.testing.assert_array_equal(*walks)


def default_walk_start():
    """The nominal vector of the planar walker."""
    return WalkSimulation(Walker.load("planar22"), WalkSettings(duration=0.5)).parameters.start
