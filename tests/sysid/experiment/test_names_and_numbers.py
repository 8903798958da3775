"""Each name of an experiment file exists, and each number is finite and in range."""

import copy
import math

import numpy as np
import pytest
import yaml

from trueup.cli import main
from trueup.errors import ExperimentError, TrueupError
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare

MODEL = """<mujoco><option timestep="0.005"/><worldbody>
  <body name="upper"><joint name="shoulder" axis="0 1 0" damping="0.4" armature="0.1"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="1"/>
    <body name="lower" pos="0 0 -0.3"><joint name="elbow" axis="0 1 0" damping="0.3"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="0.5"/></body></body>
  </worldbody><actuator><motor name="push" joint="shoulder"/><motor name="pull" joint="elbow"/>
  </actuator></mujoco>"""

FULL = yaml.safe_load("""
model: {file: arm.xml, timestep: 0.005,
        friction: {solref: [0.004, 1.0], solimp: [0.9, 0.99, 0.001, 0.5, 2.0]}}
variants:
  loaded: {file: arm.xml, actuators: position, kp: {push: 30.0, pull: 20.0}, kd: 0.5}
recordings:
  - file: run.csv
    time: t
    signals: {shoulder_qpos: {column: a, scale: 1.0, minus: b, minus_scale: 0.01}, elbow_qpos: b}
    controls: {push: {column: u, scale: 1.0}, pull: v}
    initial: {qpos: {shoulder: 0.1}, qvel: {elbow: 0.0}}
    trim: {start: 0.1, end: 3.5}
    accept: [excitation]
  - {file: other.csv, time: t, signals: {elbow_qpos: b}, controls: {pull: v}, model: loaded}
parameters:
  damping: {target: joint/shoulder/damping, bounds: [0.01, 5.0], prior: {mean: 0.5, sd: 0.2},
            deviation: 0.1}
  same: {target: joint/elbow/damping, tied_to: damping}
  lag: {start: 0.001, bounds: [0.0, 0.02]}
  factor: {start: 1.0, bounds: [0.8, 1.2]}
measurement:
  signals: {shoulder_qpos: {noise: 0.001, weight: 1.0}}
  delays: {elbow_qpos: lag}
  gains: {shoulder_qpos: factor}
  filters: {elbow_qpos: {cutoff: 30.0, order: 2}}
window: 0.5
search: {loss: huber, loss_scale: 1.0, time_limit: 9.0, difference: 1.0e-6, starts: 2}
held_out: {recordings: [other], fraction: 0.2}
confidence: {level: 0.9, profile: [damping]}
design:
  duration: 20.0
  rate: 200.0
  pose: {shoulder: 0.1}
  target_interval: 0.1
  limits: {position: {shoulder: [-1.0, 1.0]}, speed: 1.0, acceleration: {elbow: 9.0},
           torque: {shoulder: 3.0}, torque_rms: 2.0, clearance: 0.02, margin: 0.1}
""")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "arm.xml").write_text(MODEL)
    times = np.arange(400) * 0.01
    angles = [0.3 * np.sin(k * times) + 0.1 * np.sin(7 * times) for k in (2, 3)]
    commands = [np.cos(3 * times), np.sin(5 * times)]
    table = np.column_stack([times, *angles, *commands])
    for name in ("run.csv", "other.csv"):
        np.savetxt(tmp_path / name, table, delimiter=",", header="t,a,b,u,v", comments="")
    return tmp_path


def changed(place, value):
    """The whole experiment with another value at a place, or another last key."""
    content = copy.deepcopy(FULL)
    part = content
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return content


def told(content, folder, capsys):
    """What ``trueup check`` says of a file that it refuses."""
    (folder / "experiment.yaml").write_text(yaml.safe_dump(content))
    before = sorted(path.name for path in folder.iterdir())
    assert main(["check", str(folder / "experiment.yaml")]) == 2
    assert sorted(path.name for path in folder.iterdir()) == before
    return capsys.readouterr().err


def test_the_whole_experiment_is_right(folder):
    prepared = prepare(parse_experiment(yaml.safe_dump(FULL)), folder)
    assert prepared.problem().space.names == ("damping", "factor", "lag")


RECORDING = ("recordings", 0)
NAMES = {
    "target": (("parameters", "damping", "target"), "joint/Shoulder/damping", "shoulder"),
    "one of two targets": (
        ("parameters", "damping", "target"),
        ["joint/shoulder/damping", "joint/Elbow/damping"],
        "elbow",
    ),
    "target by a wildcard": (("parameters", "damping", "target"), "joint/x*/damping", "shoulder"),
    "inertia": (("parameters", "mass"), {"inertia": "Lower"}, "lower"),
    "tie": (("parameters", "same", "tied_to"), "Damping", "damping"),
    "signal": ((*RECORDING, "signals"), {"Elbow_qpos": "b"}, "elbow_qpos"),
    "column": ((*RECORDING, "signals", "elbow_qpos"), "B", "b"),
    "column of a difference": (
        (*RECORDING, "signals", "elbow_qpos"),
        {"column": "b", "minus": "A"},
        "a",
    ),
    "control": ((*RECORDING, "controls"), {"Push": "u"}, "push"),
    "column of a control": ((*RECORDING, "controls", "pull"), "V", "v"),
    "time": ((*RECORDING, "time"), "T", "t"),
    "position at the start": ((*RECORDING, "initial"), {"qpos": {"Elbow": 0.0}}, "elbow"),
    "speed at the start": ((*RECORDING, "initial"), {"qvel": {"Elbow": 0.0}}, "elbow"),
    "check": ((*RECORDING, "accept"), ["excitaton"], "excitation"),
    "variant": ((*RECORDING, "model"), "Loaded", "loaded"),
    "gain": (("variants", "loaded", "kp"), {"Push": 1.0, "pull": 1.0}, "push"),
    "damping": (("variants", "loaded", "kd"), {"Push": 1.0, "pull": 1.0}, "push"),
    "weight": (("measurement", "signals"), {"Elbow_qpos": {"noise": 0.1}}, "elbow_qpos"),
    "signal of a delay": (("measurement", "delays"), {"Elbow_qpos": "lag"}, "elbow_qpos"),
    "parameter of a delay": (("measurement", "delays", "elbow_qpos"), "Lag", "lag"),
    "signal of a gain": (("measurement", "gains"), {"Elbow_qpos": "factor"}, "elbow_qpos"),
    "parameter of a gain": (("measurement", "gains", "shoulder_qpos"), "Factor", "factor"),
    "signal of a bias": (("measurement", "biases"), {"*_x": "factor"}, "elbow_qpos"),
    "signal of a filter": (("measurement", "filters"), {"Elbow_qpos": {"cutoff": 9}}, "elbow_qpos"),
    "held out": (("held_out", "recordings"), ["Run"], "run"),
    "profile": (("confidence", "profile"), ["Damping"], "damping"),
    "pose": (("design", "pose"), {"Elbow": 0.0}, "elbow"),
    "position": (("design", "limits", "position"), {"Elbow": [-1, 1]}, "elbow"),
    "speed": (("design", "limits", "speed"), {"Elbow": 1}, "elbow"),
    "acceleration": (("design", "limits", "acceleration"), {"Elbow": 1}, "elbow"),
    "torque": (("design", "limits", "torque"), {"push": 1}, "shoulder"),
    "heat": (("design", "limits", "torque_rms"), {"Elbow": 1}, "elbow"),
}
"""A wrong name in each key that takes names, and a name that exists."""


@pytest.mark.parametrize("case", NAMES)
def test_a_name_that_does_not_exist_is_refused(case, folder, capsys):
    place, value, exists = NAMES[case]
    said = told(changed(place, value), folder, capsys)
    assert f"'{exists}'" in said and said.count("\n") == 1
    if case not in ("target by a wildcard", "signal of a bias", "torque"):
        assert "Did you mean" in said


@pytest.mark.parametrize(
    ("trim", "words"),
    [
        ({"start": 5.0}, "trim.start is 5 s, outside the recording from 0 to 3.99"),
        ({"end": 4.5}, "trim.end is 4.5 s, outside"),
        ({"start": -1.0}, "trim.start is -1 s, outside"),
        ({"start": 0.1, "end": 1e9}, "trim.end is 1e+09 s, outside"),
        ({"start": 2.0, "end": 1.0}, "start is 2 s; it must be before end, 1 s"),
    ],
)
def test_a_trim_outside_of_the_recording_is_refused(trim, words, folder, capsys):
    assert words in told(changed((*RECORDING, "trim"), trim), folder, capsys)


def test_a_trim_in_round_numbers_may_end_with_the_last_sample(folder):
    content = changed((*RECORDING, "trim"), {"start": 0.0, "end": 4.0})
    prepare(parse_experiment(yaml.safe_dump(content)), folder)


def test_a_variant_without_a_recording_is_said(folder):
    content = changed(("recordings",), FULL["recordings"][:1])
    content["held_out"] = {"fraction": 0.2}
    prepared = prepare(parse_experiment(yaml.safe_dump(content)), folder)
    assert "No recording has the variant 'loaded' of the model." in prepared.notes


def test_a_fraction_is_held_out_of_recordings_that_are_not_named(folder):
    prepared = prepare(parse_experiment(yaml.safe_dump(FULL)), folder)
    names = [name for group in prepared.held_out for name in group.sequence_name]
    assert sorted(names) == ["other", "run (held out)"]


def test_actuators_that_drive_no_joint_are_not_exchanged(folder, capsys):
    tendon = MODEL.replace(
        "</worldbody><actuator>",
        '</worldbody><tendon><fixed name="cord"><joint joint="elbow" coef="1"/></fixed></tendon>'
        "<actuator>",
    )
    tendon = tendon.replace('joint="shoulder"/><motor', 'tendon="cord"/><motor')
    tendon = tendon.replace('<motor name="pull" joint="elbow"/>', "")
    (folder / "arm.xml").write_text(tendon)
    content = changed(("model", "actuators"), "torque")
    words = "no actuator of the model drives a joint; its actuators are 'push'"
    assert words in told(content, folder, capsys)


def leaves(value, place=()):
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        yield from leaves(inner, (*place, key))
    if isinstance(value, float):
        yield place


NOT_FINITE = [
    (place, number)
    for place in leaves(FULL)
    for number in (math.nan, math.inf, -math.inf)
    if "bounds" not in place or math.isnan(number)  # a bound may be infinite
]


@pytest.mark.parametrize(
    ("place", "number"), NOT_FINITE, ids=[f"{'.'.join(map(str, p))}={n}" for p, n in NOT_FINITE]
)
def test_a_number_that_is_not_finite_is_refused(place, number):
    words = "a bound is nan" if "bounds" in place else rf"{place[-1]}: .* finite|greater than"
    with pytest.raises(ExperimentError, match=words):
        parse_experiment(yaml.safe_dump(changed(place, number)))


RANGES = [
    (("model", "friction", "solref"), [0.004, -1.0]),
    (("model", "friction", "solref", 0), 0.0),
    (("model", "friction", "solimp", 0), 1.5),
    (("model", "friction", "solimp", 4), 0.5),
    (("variants", "loaded", "kp", "push"), -30.0),
    (("variants", "loaded", "kd"), -0.5),
    ((*RECORDING, "controls", "push", "scale"), 0.0),
    ((*RECORDING, "signals", "shoulder_qpos", "minus_scale"), 0.0),
    (("parameters", "damping", "prior", "mean"), 50.0),
    (("search", "loss_scale"), -1.0),
    (("search", "difference"), 2.0),
    (("search", "starts"), 10**9),
    (("held_out", "folds"), 1),
    (("design", "limits", "position"), [1.0, -1.0]),
    (("design", "limits", "position", "shoulder"), [0.5, 0.5]),
    (("design", "limits", "speed"), 0.0),
    (("design", "limits", "acceleration", "elbow"), -9.0),
    (("design", "limits", "torque", "shoulder"), 0.0),
    (("design", "limits", "torque_rms"), -1.0),
    (("design", "duration"), 1e9),
    (("design", "rate"), 1e9),
]


@pytest.mark.parametrize(
    ("place", "value"), RANGES, ids=[f"{'.'.join(map(str, p))}={v}" for p, v in RANGES]
)
def test_a_number_out_of_range_is_refused_in_one_sentence(place, value):
    with pytest.raises(ExperimentError) as refused:
        parse_experiment(yaml.safe_dump(changed(place, value)))
    assert "\n" not in str(refused.value) and place[0] in str(refused.value)


@pytest.mark.parametrize("cutoff", [1e-9, 1e-4])
def test_a_filter_that_leaves_nothing_is_refused(cutoff, folder):
    content = changed(("measurement", "filters", "elbow_qpos", "cutoff"), cutoff)
    with pytest.raises(TrueupError, match=r"far below 0\.293 Hz, one period over the 3\.41 s"):
        prepare(parse_experiment(yaml.safe_dump(content)), folder)


@pytest.mark.parametrize("fraction", [1e-9, 0.001, 0.9999])
def test_a_held_out_part_without_samples_is_refused(fraction, folder):
    content = changed(("held_out",), {"fraction": fraction})
    with pytest.raises(TrueupError, match=r"held_out\.fraction is .* 'run', with"):
        prepare(parse_experiment(yaml.safe_dump(content)), folder)


BLOCKS = {
    "start": slice(1, 40),
    "middle": slice(150, 190),
    "end": slice(360, 401),
    "all": slice(1, 401),
}


@pytest.mark.parametrize("cell", ["NaN", "", "None", "inf"])
@pytest.mark.parametrize("where", BLOCKS)
def test_a_block_without_values_is_refused_by_name(where, cell, folder, capsys):
    rows = [line.split(",") for line in (folder / "other.csv").read_text().splitlines()]
    for row in rows[BLOCKS[where]]:
        row[2] = cell
    (folder / "other.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    missing = len(rows[BLOCKS[where]])
    said = told(changed(("measurement", "filters"), {}), folder, capsys)
    assert f"other: elbow_qpos: {missing} of 400 values are NaN or infinite" in said
    # a filter meets them first
    said = told(FULL, folder, capsys)
    assert f"recording 'other', elbow_qpos: the signal has {missing} values that are NaN" in said
