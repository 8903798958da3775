"""The specs of trainings by motion: what their files hold, what is found again, what may differ."""

from dataclasses import fields, replace

import friction_arm
import pytest
import yaml
from servo_bench_logs import TRUTH, write_logs

from trueup import networks, runs
from trueup.actuators import read_logs
from trueup.cli import main
from trueup.errors import RunDirectoryError
from trueup.networks import MotionSettings, PdJoint, run_motion_training
from trueup.networks.motion.base import MotionBase
from trueup.networks.motion.of_model.spec import ModelMotionSpec
from trueup.networks.motion.spec import MotionSpec
from trueup.runs import Budget
from trueup.sysid import load_experiment

SETTINGS = MotionSettings(
    family="mlp", hidden=9, history=4, seconds=5.0, max_steps=6, horizons=(0.05, 0.1), batch=7,
    learning_rate=0.1, regularization=0.2, inputs=("angle", "kp"), target="torque",
    learn_base=False, identify_gains=True, seed=8,
)  # fmt: skip
BASE = MotionBase(PdJoint(2.0, 0.1, 1.5, 6.0, 0.01, 0.02), {100.0: 1.1, 200.0: 0.9}, "made anyhow")
QUICK = MotionSettings(max_steps=2, horizons=(0.05,))


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    return write_logs(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return friction_arm.write(tmp_path_factory.mktemp("arm"), count=3, seconds=0.5)


def spec_of(logs, **changes):
    parts = {"test_kp": (400.0,), "test": ("kp100",), "validation": ("kp200",)}
    given = {"base": BASE, "logs": logs, "settings": SETTINGS, "name": "knee", **parts, **changes}
    return MotionSpec.of(given.pop("base"), given.pop("logs"), given.pop("settings"), **given)


def again(spec, run, folder=None, moved_to=None):
    content = yaml.safe_load(yaml.safe_dump(spec.to_dict(run)))
    return type(spec).from_dict(content, moved_to or run, folder)


def test_every_setting_comes_back():
    for field in fields(MotionSettings):
        assert getattr(SETTINGS, field.name) != field.default
    assert MotionSettings.from_dict(SETTINGS.to_dict()) == SETTINGS


@pytest.mark.parametrize("base", [BASE, "pd", "none", TRUTH], ids=["joint", "pd", "none", "servo"])
def test_every_field_of_a_training_of_logs_comes_back(base, logs, tmp_path):
    spec = spec_of(logs, base=base)
    found = again(spec, tmp_path / "run")
    assert found.base.to_dict() == spec.base.to_dict()
    left = {"base", "logs_at_hand"}
    assert found.model_dump(exclude=left) == spec.model_dump(exclude=left)
    assert found.logdir == logs and found.paths() == [logs]
    files = sorted(logs.glob("*.json"))
    several = again(spec_of(files), tmp_path / "run")
    assert (several.logdir, several.logs, several.paths()) == (None, tuple(files), files)
    assert not several.lacking


def test_logs_are_found_after_a_move(tmp_path):
    (tmp_path / "a/logs").mkdir(parents=True)
    logs = write_logs(tmp_path / "a/logs")
    spec = spec_of(logs)
    target = tmp_path / "b" / logs.name
    (tmp_path / "b").mkdir()
    logs.rename(target)
    run = tmp_path / "a/run"
    assert again(spec, run, moved_to=tmp_path / "b/run").logdir == target  # with the run
    assert again(spec, run, folder=tmp_path / "b").logdir == target
    with pytest.raises(
        RunDirectoryError, match=f"missing: give the folder of {logs.name} with --folder"
    ):
        again(spec, run)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.pop("logdir"), "is damaged: missing 'logdir'"),
        (lambda c: c["base"].update(kind="spring"), "unknown kind of base 'spring'"),
        (lambda c: c["settings"].update(hiden=3), "unknown key 'hiden'"),
        (lambda c: c["settings"].update(batch=0), "batch"),
        (lambda c: c.update(test_kp=["much"]), "test_kp"),
        (lambda c: c.update(logs=[3]), "logs"),
    ],
)
def test_a_wrong_file_is_named(change, says, logs, tmp_path):
    content = yaml.safe_load(yaml.safe_dump(spec_of(logs).to_dict(tmp_path)))
    change(content)
    with pytest.raises(RunDirectoryError, match=f"experiment.yaml.*{says}"):
        MotionSpec.from_dict(content, tmp_path, None)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"base": replace(BASE, gains={})}, "gains"),
        ({"base": "pd"}, "pd"),
        ({"settings": replace(SETTINGS, hidden=3)}, "hidden"),
        ({"settings": replace(SETTINGS, horizons=(0.05,))}, "horizons"),
        ({"settings": replace(SETTINGS, seed=1)}, "seed"),
        ({"test_kp": ()}, "test_kp"),
        ({"test": ("kp200",)}, "test"),
        ({"validation": ()}, "validation"),
    ],
)
def test_another_training_is_not_resumed(change, named, logs):
    former, now = spec_of(logs).identity(), spec_of(logs, **change).identity()
    assert named in [key for key in {**former, **now} if former.get(key) != now.get(key)]
    renamed = spec_of(list(logs.glob("*.json")), name="hip")
    assert renamed.identity() == former  # files are compared by their hashes
    assert spec_of(logs).resumed_by(renamed).logs == renamed.logs
    assert spec_of(logs).resumed_by(renamed).name == "knee"


def test_a_training_knows_no_limits(logs, arm):
    model = ModelMotionSpec.of(load_experiment(arm), arm.parent)
    for spec in (spec_of(logs), model):
        with pytest.raises(RunDirectoryError, match="does not support --seconds"):
            spec.with_limits(Budget(max_seconds=5.0))


def test_logs_without_files_are_given_again(logs, tmp_path, capsys):
    """They were read from files and changed, so that no file holds them."""
    changed = [replace(log, trajectory=f"own {log.name}") for log in read_logs(logs, uniform=True)]
    assert spec_of(changed).only_in_python() == ("logs",)
    assert spec_of(read_logs(logs, uniform=True)).only_in_python() == ()
    run = tmp_path / "run"
    first = run_motion_training(TRUTH, changed, run, settings=QUICK, verbose=False)
    assert main(["study", "resume", str(run)]) == 2
    said = capsys.readouterr().err
    assert "'logs'" in said and "trueup.networks.run_motion_training(" in said
    more = {"settings": QUICK, "verbose": False}
    same = run_motion_training(TRUTH, changed, run, **more, resume=True)
    assert same.errors == first.errors
    assert runs.state(run).state == "finished"


def test_every_field_of_a_training_of_a_model_comes_back(arm, tmp_path):
    settings = replace(SETTINGS, target="motion", identify_gains=False, inputs=("angle",))
    experiment = load_experiment(arm)
    parts = {"validation": ("swing1",), "name": "arm2", "anyway": True}
    spec = ModelMotionSpec.of(experiment, arm.parent, settings, **parts)
    found = again(spec, tmp_path / "run")
    assert found.model_dump(exclude={"folder"}) == spec.model_dump(exclude={"folder"})
    assert found.folder.resolve() == arm.parent.resolve()
    for change in ({"validation": ()}, {"name": "x"}, {"anyway": False}):
        other = ModelMotionSpec.of(experiment, arm.parent, settings, **{**parts, **change})
        assert (other.identity() == spec.identity()) == ("validation" not in change)
    # seeds of experiment and settings are two values
    seeded = experiment.model_copy(update={"seed": 5})
    assert ModelMotionSpec.of(seeded, arm.parent, settings, **parts).identity() != spec.identity()
    reseeded = replace(settings, seed=1)
    other = ModelMotionSpec.of(experiment, arm.parent, reseeded, **parts)
    assert other.identity() != spec.identity()
    elsewhere = experiment.output.model_copy(update={"directory": "elsewhere"})
    same = experiment.model_copy(update={"output": elsewhere})
    assert ModelMotionSpec.of(same, arm.parent, settings, **parts).identity() == spec.identity()


def test_files_of_a_model_are_found_after_a_move(tmp_path):
    (tmp_path / "a").mkdir()
    file = friction_arm.write(tmp_path / "a", count=3, seconds=0.5)
    spec = ModelMotionSpec.of(load_experiment(file), file.parent)
    (tmp_path / "a").rename(tmp_path / "b")
    run = tmp_path / "c/run"
    assert again(spec, run, folder=tmp_path / "b").folder == tmp_path / "b"
    run.mkdir(parents=True)
    with pytest.raises(RunDirectoryError, match="--folder"):
        again(spec, run)
    content = spec.to_dict(run)
    content["experiment"]["recordings"] = []
    with pytest.raises(RunDirectoryError, match=r"damaged: experiment\.recordings"):
        ModelMotionSpec.from_dict(content, run, None)


def test_files_of_the_model_stay(tmp_path):
    """A run directory that holds an input is not replaced, whatever --overwrite says."""
    (tmp_path / "run").mkdir()
    file = friction_arm.write(tmp_path / "run", count=3, seconds=0.5)
    before = {path: path.read_bytes() for path in file.parent.rglob("*") if path.is_file()}
    for overwrite in (False, True):
        with pytest.raises(RunDirectoryError, match="is an input, is in the run directory"):
            networks.run_model_training(
                file, tmp_path / "run", settings=replace(QUICK, horizons=(0.02,)),
                overwrite=overwrite, verbose=False,
            )  # fmt: skip
    assert {path: path.read_bytes() for path in file.parent.rglob("*") if path.is_file()} == before
