"""What the explanation of a gap is of: written and read again, resumed, limited."""

import shutil
from pathlib import Path

import driven_pendulum
import pytest
import yaml

from trueup import runs
from trueup.errors import FitError, RunDirectoryError
from trueup.explain import explain
from trueup.explain.spec import ExplanationSpec
from trueup.runs import Budget, RunDirectory
from trueup.runs.store.experiment_file import write_experiment
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.settings import Experiment


def experiment(**changes: object) -> Experiment:
    return parse_experiment(yaml.safe_dump({**driven_pendulum.EXPERIMENT, "seed": 5, **changes}))


def spec_of(folder: Path, **changes: object) -> ExplanationSpec:
    return ExplanationSpec.of(experiment(**changes), folder, ("friction", "armature"), 0.9, True)


def written(spec: ExplanationSpec, run: Path) -> RunDirectory:
    """A run directory that holds a spec only."""
    directory = RunDirectory.create(run)
    write_experiment(directory, spec.kind, spec.format_version, spec.to_dict(directory.path))
    return directory


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    folder = tmp_path / "robot"
    folder.mkdir()
    driven_pendulum.write(folder)
    return folder


def test_everything_is_read_as_it_was_written(robot: Path):
    spec, plain = spec_of(robot), ExplanationSpec.of(experiment(seed=0))
    own = {"seed", "experiment", "folder", "causes", "level", "anyway"}
    assert all(getattr(spec, name) != getattr(plain, name) for name in own)
    assert runs.read_spec(written(spec, robot / "run")) == spec


def test_a_run_is_read_where_it_and_its_inputs_have_moved(robot: Path, tmp_path: Path):
    written(spec_of(robot), robot / "run")
    shutil.move(robot, tmp_path / "moved")
    directory = RunDirectory.open(tmp_path / "moved/run")
    assert runs.read_spec(directory).folder == tmp_path / "moved"
    (tmp_path / "data").mkdir()
    for name in ("run.csv", "pendulum.xml"):
        shutil.move(tmp_path / "moved" / name, tmp_path / "data" / name)
    with pytest.raises(RunDirectoryError, match="--folder"):
        runs.read_spec(directory)
    assert runs.read_spec(directory, tmp_path / "data").folder == tmp_path / "data"
    # the folder of former days need not be there: its files are found above the run
    shutil.move(tmp_path / "data/run.csv", tmp_path / "run.csv")
    shutil.move(tmp_path / "data/pendulum.xml", tmp_path / "pendulum.xml")
    shutil.move(tmp_path / "moved/run", tmp_path / "run")
    assert runs.read_spec(RunDirectory.open(tmp_path / "run")).folder == tmp_path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 2.0}, "experiment.yaml is damaged: level: .*less than 1"),
        ({"causes": 3}, "experiment.yaml is damaged: causes: "),
        ({"level": None}, "experiment.yaml is damaged: missing 'level'"),
        ({"format_version": 1}, "older version of trueup: its format is 1"),
        ({"format_version": 9}, "newer trueup"),
    ],
)
def test_what_is_no_explanation_is_refused_in_one_sentence(robot: Path, change: dict, message: str):
    directory = written(spec_of(robot), robot / "run")
    content = yaml.safe_load(directory.experiment.read_text()) | change
    content = {key: value for key, value in content.items() if value is not None or key != "level"}
    directory.experiment.write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(RunDirectoryError, match=message):
        runs.read_spec(directory)


def test_outputs_and_leave_to_take_changed_models_may_differ_on_resume(robot: Path):
    former, call = spec_of(robot), spec_of(robot, output={"report": True})
    call = call.model_copy(update={"anyway": False, "folder": Path("elsewhere")})
    assert former.identity() == call.identity()
    assert former.resumed_by(call) == former


@pytest.mark.parametrize(
    ("changes", "options", "named"),
    [
        ({}, {"causes": ("friction",)}, "causes"),
        ({}, {"level": 0.8}, "level"),
        ({"seed": 6}, {}, "seed"),
        ({"window": 0.5}, {}, "window"),
    ],
)
def test_what_the_fits_depend_on_is_named_on_resume(
    robot: Path, changes: dict, options: dict, named: str
):
    written(spec_of(robot), robot / "run")
    options = {"causes": ("friction", "armature"), "level": 0.9, "anyway": True, **options}
    where = {"output": robot / "run", "resume": True, "verbose": False}
    with pytest.raises(RunDirectoryError, match=f"started with a different '{named}':"):
        explain(experiment(**changes), robot, **options, **where)


def test_it_knows_no_limits(robot: Path):
    with pytest.raises(RunDirectoryError, match=r"does not support --seconds or another limit"):
        spec_of(robot).with_limits(Budget(max_seconds=3))


@pytest.mark.parametrize("level", [0.5, 1.0, -1.0, float("nan")])
def test_a_level_that_no_interval_has_is_refused(level: float):
    with pytest.raises(FitError, match="the level must be between"):
        ExplanationSpec.of(experiment(), level=level)
