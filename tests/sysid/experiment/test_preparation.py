"""From an experiment file to a problem: units, holds, held-out data, and what is refused."""

import numpy as np
import pytest
from recorded_models import PENDULUM, recording, wobble

from trueup.errors import ExperimentError, ModelError, RecordingError, TargetError, TrueupError
from trueup.sysid import identify
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare

EXPERIMENT = """\
model: {file: model.xml}
recordings:
  - file: run.csv
    signals: {angle: {column: q, unit: deg}, speed: dq}
    controls: {motor: u}
parameters:
  damping: {target: joint/pivot/damping, bounds: [0.01, 1]}
  armature: {target: joint/pivot/armature, bounds: [0.001, 0.2]}
held_out: {fraction: 0.25}
"""
TRUTH = [0.3, 0.05]


def _true(spec):
    spec.joint("pivot").damping[0], spec.joint("pivot").armature = TRUTH


def _csv(path, n=1200, clock=0.0, seed=0):
    """A recording of the true model: angle in degrees, control held between samples."""
    models = recording(PENDULUM, wobble(n, seed), [0.4], edit=_true, exact=True)
    data = models.sensordata[0]
    table = np.column_stack(
        [clock + data.times, np.rad2deg(data.data[:, 0]), data.data[:, 1], wobble(n, seed)[:-1]]
    )
    np.savetxt(path, table, delimiter=",", header="t,q,dq,u", comments="", fmt="%.17g")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.xml").write_text(PENDULUM)
    _csv(tmp_path / "run.csv")
    return tmp_path


def _prepare(folder, *changes):
    text = EXPERIMENT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return prepare(parse_experiment(text), folder)


@pytest.mark.parametrize("clock", [0.0, 100.0, 1.7e9])
def test_the_residual_vanishes_at_the_truth(folder, clock):
    _csv(folder / "run.csv", clock=clock)
    given = "controls: {motor: u}\n    initial: {qpos: {pivot: 0.4}}"
    prepared = _prepare(folder, ("controls: {motor: u}", given))
    problem = prepared.problem()
    # a clock of 1.7e9 s resolves 0.2 microseconds of an angle that moves at some rad/s
    assert np.abs(problem.residuals(np.array(TRUTH))).max() < (1e-8 if clock < 1e3 else 1e-4)
    assert np.abs(problem.residuals(problem.space.start)).max() > 0.1
    np.testing.assert_allclose(problem.space.start, [0.15, 0.02])  # the model's own values


def test_held_out_time_is_the_last_part_and_starts_from_its_own_state(folder):
    prepared = _prepare(folder)
    (training,), (held_out,) = prepared.training, prepared.held_out
    end = training.sensordata[0].times[-1]
    start = held_out.sensordata[0].times[0]
    assert end < start
    assert len(held_out.sensordata[0]) == pytest.approx(0.25 * 1199, abs=3)
    problem = prepared.problem(sequences=prepared.held_out)
    assert np.abs(problem.residuals(np.array(TRUTH))).max() < 0.05


def test_held_out_recordings_are_named(folder):
    _csv(folder / "other.csv", seed=3)
    more = (
        "controls: {motor: u}\n  - {file: other.csv, signals: {angle: {column: q, unit: deg}}, "
        "controls: {motor: u}}"
    )
    prepared = _prepare(
        folder, ("controls: {motor: u}", more), ("fraction: 0.25", "recordings: [other]")
    )
    assert [m.sequence_name for m in prepared.training] == [["run"]]
    assert [m.sequence_name for m in prepared.held_out] == [["other"]]
    with pytest.raises(ExperimentError, match="Did you mean 'other'"):
        _prepare(folder, ("controls: {motor: u}", more), ("fraction: 0.25", "recordings: [othr]"))
    with pytest.raises(ExperimentError, match="at least one must remain for the fit"):
        _prepare(folder, ("fraction: 0.25", "recordings: [run]"))


def test_variants_share_the_unknowns(folder):
    heavy = PENDULUM.replace("</body>", '<geom size=".03" pos="0 0 -.5" mass=".4"/></body>')
    (folder / "heavy.xml").write_text(heavy)
    _csv(folder / "other.csv", seed=3)
    more = (
        "controls: {motor: u}\n  - {file: other.csv, model: heavy, "
        "signals: {angle: {column: q, unit: deg}}, controls: {motor: u}}"
    )
    prepared = _prepare(
        folder,
        ("controls: {motor: u}", more),
        ("held_out: {fraction: 0.25}", "held_out: {}\nvariants: {heavy: {file: heavy.xml}}"),
    )
    assert [m.name for m in prepared.training] == ["model", "heavy"]
    masses = [m.gt_model.body_mass[1] for m in prepared.training]
    assert masses[1] == pytest.approx(masses[0] + 0.4)
    with pytest.raises(ExperimentError, match="Did you mean 'heavy'"):
        _prepare(
            folder,
            ("controls: {motor: u}", more.replace("model: heavy", "model: heave")),
            ("held_out: {fraction: 0.25}", "held_out: {}\nvariants: {heavy: {file: heavy.xml}}"),
        )


def test_settings_of_the_simulation_reach_the_model(folder):
    prepared = _prepare(
        folder,
        (
            "{file: model.xml}",
            "{file: model.xml, timestep: 0.001, integrator: Euler, "
            "friction: {solref: [0.001, 1], solimp: [0.9, 0.95, 0.001, 0.5, 2]}}",
        ),
    )
    model = prepared.training[0].gt_model
    assert model.opt.timestep == 0.001 and model.opt.integrator == 0
    np.testing.assert_array_equal(model.dof_solref[0], [0.001, 1])


def test_estimated_initial_states_are_unknowns(folder):
    given = "controls: {motor: u}\n    initial: estimated"
    prepared = _prepare(folder, ("controls: {motor: u}", given))
    names = prepared.problem().space.names
    assert "initial_pivot_qpos_run" in names and "initial_pivot_qvel_run" in names


def test_wildcards_with_one_parameter_each(folder):
    two = PENDULUM.replace(
        "</worldbody>",
        '<body name="b" pos="1 0 0"><joint name="second"/><geom size=".1" contype="0"/></body>'
        "</worldbody>",
    )
    (folder / "model.xml").write_text(two)
    prepared = _prepare(
        folder,
        ("{target: joint/pivot/damping, bounds: [0.01, 1]}",
         "{target: joint/*/damping, bounds: [0, 1], each: true}"),
    )  # fmt: skip
    assert list(prepared.parameters)[:2] == ["damping_pivot", "damping_second"]


@pytest.mark.parametrize(
    ("old", "new", "kind", "words"),
    [
        ("model.xml", "modl.xml", ModelError, r"model\.xml"),
        ("run.csv", "rn.csv", RecordingError, "run.csv"),
        ("column: q,", "column: qq,", RecordingError, "'q'"),
        ("unit: deg", "unit: degg", TrueupError, "deg"),
        ("speed: dq", "sped: dq", TrueupError, "Did you mean 'speed'"),
        ("{motor: u}", "{moter: u}", ExperimentError, "Did you mean 'motor'"),
        ("joint/pivot/damping", "joint/pivott/damping", TargetError, "Did you mean 'pivot'"),
        ("joint/pivot/damping, bounds: [0.01, 1]", "joint/pivot/damping, bounds: [0.5, 1]",
         ExperimentError, "model's value 0.15 is outside"),
        ("bounds: [0.01, 1]}", "bounds: [1, 0.01]}", TrueupError, "bound"),
        ("fraction: 0.25}", "fraction: 0.25}\nmeasurement: {delays: {angle: dela}}",
         ExperimentError, "unknown parameter 'dela'"),
        ("fraction: 0.25}", "fraction: 0.25}\nmeasurement: {signals: {angel: {weight: 2}}}",
         ExperimentError, "Did you mean 'angle'"),
        ("bounds: [0.01, 1]}", "bounds: [0.01, 1], tied_to: armatur}", ExperimentError,
         "Did you mean 'armature'"),
        ("controls: {motor: u}", "controls: {motor: u}\n    trim: {start: 50}", ExperimentError,
         "trim.start is 50 s, outside the recording"),
        ("controls: {motor: u}", "controls: {motor: u}\n    initial: {qpos: {pivt: 1}}",
         ExperimentError, "Did you mean 'pivot'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(folder, old, new, kind, words):
    with pytest.raises(kind, match=words):
        _prepare(folder, (old, new))


def test_the_initial_state_of_a_recording_that_does_not_exist(folder):
    state = "  speed: {target: state/pivot/qvel@%s, bounds: [-1, 1]}\nheld_out:"
    _prepare(folder, ("held_out:", state % "run"))
    with pytest.raises(ExperimentError, match="Did you mean 'run'"):
        _prepare(folder, ("held_out:", state % "rum"))


def test_a_model_that_does_not_compile(folder):
    (folder / "model.xml").write_text(PENDULUM.replace('mass="1"', 'mass="-1"'))
    with pytest.raises(ModelError, match=r"model\.xml"):
        _prepare(folder)


def test_start_values_without_a_place_in_the_model_are_in_the_middle(folder):
    prepared = _prepare(
        folder,
        (
            "held_out:",
            "  gain: {bounds: [0.5, 1.5]}\n  late: {bounds: [0, 0.02]}\n"
            "  tau: {bounds: [0.001, 0.1], scale: log}\n"
            "measurement: {gains: {angle: gain}, delays: {angle: late}, biases: {speed: tau}}\n"
            "held_out:",
        ),
    )
    starts = {name: p.value[0] for name, p in prepared.parameters.items()}
    assert starts["gain"] == pytest.approx(1.0)
    assert starts["late"] == pytest.approx(0.01)
    assert starts["tau"] == pytest.approx(0.01)


def test_a_wide_sensor_takes_a_column_for_each_component(folder):
    wide = PENDULUM.replace(
        "</sensor>", '<framepos name="tip" objtype="body" objname="rod"/></sensor>'
    )
    (folder / "model.xml").write_text(wide)
    signals = (
        "signals: {angle: {column: q, unit: deg}, speed: dq}",
        "signals: {angle: {column: q, unit: deg}, %s}",
    )
    for given in ("tip: [q, dq, u]", "tip: {column: [q, dq, u], unit: mm}"):
        prepared = _prepare(folder, (signals[0], signals[1] % given))
        (series,) = prepared.training[0].sensordata
        scale = 1e-3 if "mm" in given else 1.0
        np.testing.assert_array_equal(series.signal_mapping["tip"][1], [1, 2, 3])
        np.testing.assert_allclose(series.data[:, 1], scale * np.rad2deg(series.data[:, 0]))
    for given, words in (
        ("tip: q", r"'tip' requires 3 columns.*found 1 \('q'\).*\[column_1, column_2, column_3\]"),
        ("tip: [q, dq]", r"'tip' requires 3 columns.*found 2 .*columns of the recording are.*'dq'"),
        ("speed: [q, dq]", r"'speed' requires one column; found 2 \('q', 'dq'\)"),
    ):
        with pytest.raises(ExperimentError, match=words):
            _prepare(folder, (signals[0], signals[1] % given))
    with pytest.raises(ExperimentError, match=r"controls\.motor"):
        _prepare(folder, ("{motor: u}", "{motor: [u, u]}"))


def test_a_component_that_stands_still_is_no_complaint(folder):
    wide = PENDULUM.replace("</body>", '<site name="end" pos="0 0 -0.5"/></body>').replace(
        "</sensor>", '<framepos name="tip" objtype="site" objname="end"/></sensor>'
    )
    (folder / "model.xml").write_text(wide)
    models = recording(wide, wobble(1200), [0.4], edit=_true, exact=True)
    data = models.sensordata[0]
    noisy = data.data + 1e-4 * np.random.default_rng(0).normal(size=data.data.shape)
    table = np.column_stack([data.times, noisy, wobble(1200)[:-1]])
    header = "t,q,dq,x,y,z,u"
    np.savetxt(folder / "run.csv", table, delimiter=",", header=header, comments="", fmt="%.9g")
    text = EXPERIMENT.replace(
        "{angle: {column: q, unit: deg}, speed: dq}", "{angle: q, tip: [x, y, z]}"
    )
    experiment = parse_experiment(text + "output: {report: false}\n")
    result = identify(experiment, folder, output=folder / "out", verbose=False)
    np.testing.assert_allclose(result.solution.x, TRUTH, rtol=0.02)
    told = [i["sentence"] for i in result.summary["insights"]]
    assert not any("tip[1]" in sentence for sentence in told), told
