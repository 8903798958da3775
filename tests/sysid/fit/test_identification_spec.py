"""What an identification is of: written and read again, resumed, limited."""

import shutil
from pathlib import Path

import driven_pendulum
import pytest
import yaml

from trueup import runs, sysid
from trueup.errors import RunDirectoryError
from trueup.runs import Budget, RunDirectory
from trueup.runs.store.experiment_file import write_experiment
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.fit.spec import IdentificationSpec

EVERYTHING = """
name: everything
model: {file: pendulum.xml, timestep: 0.004}
variants: {loaded: {file: pendulum.xml, integrator: RK4}}
recordings:
  - {file: run.csv, name: first, signals: {angle: angle}, controls: {motor: torque}, time: t}
parameters:
  damping: {target: joint/hinge/damping, bounds: [0, .inf]}
  load: {target: joint/hinge/armature, bounds: [0.001, 1], scale: log, prior: {mean: 0.1, sd: 1}}
measurement: {signals: {angle: {noise: 0.002}}}
control: linear
window: 0.5
window_states: estimated
simulation: {device: cpu}
search: {time_limit: 60, starts: 4, loss: huber}
held_out: {folds: 2}
confidence: {level: 0.9, profile: [damping]}
output: {directory: elsewhere, report: false}
design: {duration: 7}
seed: 5
"""


def everything() -> Experiment:
    return parse_experiment(EVERYTHING)


def written(experiment: Experiment, folder: Path, run: Path) -> RunDirectory:
    """A run directory that holds a spec only."""
    spec, directory = IdentificationSpec.of(experiment, folder), RunDirectory.create(run)
    write_experiment(directory, spec.kind, spec.format_version, spec.to_dict(directory.path))
    return directory


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    folder = tmp_path / "robot"
    folder.mkdir()
    driven_pendulum.write(folder)
    return folder


def test_everything_is_read_as_it_was_written(robot: Path):
    experiment = everything()
    plain = Experiment(model=experiment.model, recordings=experiment.recordings)
    changed = set(Experiment.model_fields) - {"model", "recordings"}
    assert all(getattr(experiment, key) != getattr(plain, key) for key in changed)
    directory = written(experiment, robot, robot / "run")
    spec = runs.read_spec(directory)
    assert spec == IdentificationSpec.of(experiment, robot)
    assert (spec.name, spec.seed, spec.limits) == ("everything", 5, Budget(max_seconds=60))
    # the file is an experiment, too
    assert sysid.load_experiment(directory.experiment) == experiment


def test_a_run_is_read_where_it_and_its_inputs_have_moved(robot: Path, tmp_path: Path):
    directory = written(everything(), robot, robot / "runs/everything")
    shutil.move(robot, tmp_path / "moved")
    directory = RunDirectory.open(tmp_path / "moved/runs/everything")
    assert runs.read_spec(directory).folder == tmp_path / "moved"
    (tmp_path / "data").mkdir()
    for name in ("run.csv", "pendulum.xml"):
        shutil.move(tmp_path / "moved" / name, tmp_path / "data" / name)
    with pytest.raises(RunDirectoryError, match="--folder"):
        runs.read_spec(directory)
    assert runs.read_spec(directory, tmp_path / "data").folder == tmp_path / "data"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": -1.0}, r"damaged: experiment.yaml line \d+: window: .*-1"),
        ({"seed": None}, "damaged: it ends before its last key, seed"),
        ({"serch": {}}, "damaged: .*unknown key 'serch'.*search"),
        ({"format_version": 9}, "newer trueup"),
    ],
)
def test_what_is_no_experiment_is_refused_in_one_sentence(robot: Path, change: dict, message: str):
    directory = written(everything(), robot, robot / "run")
    content = yaml.safe_load(directory.experiment.read_text()) | change
    content = {key: value for key, value in content.items() if value is not None or key != "seed"}
    directory.experiment.write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(RunDirectoryError, match=message):
        runs.read_spec(directory)


def with_changes(**changes: object) -> IdentificationSpec:
    content = yaml.safe_load(EVERYTHING)
    for key, value in changes.items():
        content[key] = {**content[key], **value} if isinstance(value, dict) else value
    return IdentificationSpec.of(parse_experiment(yaml.safe_dump(content)))


@pytest.mark.parametrize(
    "changes",
    [
        {"output": {"report": True}},
        {"confidence": {"level": 0.8}},
        {"design": {"duration": 3}},
        {"search": {"time_limit": 5}},
    ],
)
def test_what_the_fit_does_not_depend_on_may_differ_on_resume(changes: dict):
    former, call = with_changes(), with_changes(**changes)
    assert former.identity() == call.identity()
    assert former.resumed_by(call) == call != former


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"search": {"starts": 2}}, "search"),
        ({"window": 0.25}, "window"),
        ({"seed": 6}, "seed"),
        ({"parameters": {"load": {"target": "joint/hinge/armature", "bounds": [0, 1]}}}, "param"),
        ({"name": "other"}, "name"),
    ],
)
def test_what_the_fit_depends_on_is_named_on_resume(robot: Path, changes: dict, named: str):
    written(everything(), robot, robot / "run")
    call = with_changes(**changes).experiment
    with pytest.raises(RunDirectoryError, match=f"started with a different '{named}"):
        sysid.identify(call, robot, output=robot / "run", resume=True, verbose=False)


def test_a_time_limit_is_one_number_and_others_are_not_known():
    spec = with_changes().with_limits(Budget(max_seconds=7))
    assert spec.limits.max_seconds == spec.experiment.search.time_limit == 7
    assert with_changes().with_limits(Budget()) == with_changes()
    with pytest.raises(RunDirectoryError, match="an identification, which does not support --eval"):
        with_changes().with_limits(Budget(max_evaluations=3))


def test_a_file_that_the_model_includes_is_not_written_over(robot: Path):
    run = robot / "runs/pendulum"
    run.mkdir(parents=True)
    (run / "defaults.xml").write_text("<mujocoinclude><size njmax='50'/></mujocoinclude>")
    model = robot / "pendulum.xml"
    include = "<include file='runs/pendulum/defaults.xml'/></mujoco>"
    model.write_text(model.read_text().replace("</mujoco>", include))
    before = driven_pendulum.tree(robot)
    experiment = sysid.load_experiment(robot / "experiment.yaml")
    with pytest.raises(RunDirectoryError, match=r"defaults\.xml, .* is in the run directory"):
        sysid.identify(experiment, robot, overwrite=True, verbose=False)
    assert driven_pendulum.tree(robot) == before


def test_a_run_that_is_in_progress_is_refused_before_time_is_spent(robot: Path, monkeypatch):
    def spent(*arguments: object) -> None:
        raise AssertionError("the recordings are read")

    monkeypatch.setattr("trueup.sysid.fit.run.prepare", spent)
    directory = written(everything(), robot, robot / "run")
    with directory.lock():
        with pytest.raises(RunDirectoryError, match="in progress"):
            sysid.identify(everything(), robot, output=robot / "run", resume=True, verbose=False)
        with pytest.raises(RunDirectoryError, match="in progress"):
            runs.resume(robot / "run", verbose=False)
