"""The spec of a training: what its file holds, where recordings are found, what may differ."""

import shutil

import pytest
import yaml
from small_trainings import configured

from trueup.errors import RunDirectoryError
from trueup.networks.training.spec import TrainingSpec
from trueup.runs import Budget


def other_configuration(data):
    words = ("train.max_epochs=7", "seed=5", "evaluation_mode=lomo_cv", "trackers=[tensorboard]")
    return configured(data, *words, "wandb.project=p", "data.test=[0.083kgm2]", "debug=true")


def written(spec, run):
    """Content of the file of a run, as it is read back."""
    return yaml.safe_load(yaml.safe_dump(spec.to_dict(run)))


def moved(data, place):
    shutil.copytree(data, place)
    return place


def test_every_field_comes_back(data, tmp_path):
    spec = TrainingSpec.of(other_configuration(data), "arm").model_copy(
        update={"notes": ("a note",), "limits": Budget(max_seconds=3.0)}
    )
    for name, field in TrainingSpec.model_fields.items():
        assert name == "lacking" or field.is_required() or getattr(spec, name) != field.default
    run = tmp_path / "run"
    content = written(spec, run)
    assert content["configuration"]["train"]["max_epochs"] == 7
    again = TrainingSpec.from_dict(content, run, None)
    # wherever the command is given, the recordings are named by their whole path
    changed = {"configuration", "data_from_run", "data_folder"}
    assert again.model_dump(exclude=changed) == spec.model_dump(exclude=changed)
    values, former = again.configuration.to_dict(), spec.configuration.to_dict()
    assert values.pop("data") == {**former.pop("data"), "data_base_dir": str(data)}
    assert {**values, "work_dir": former["work_dir"]} == former
    assert again.paths() == [data]
    assert again.only_in_python() == ()


def test_recordings_are_found_after_a_move(data, tmp_path):
    first = moved(data, tmp_path / "a/data")
    content = written(TrainingSpec.of(configured(first), "run"), tmp_path / "a/run")

    def place(run, folder=None):
        spec = TrainingSpec.from_dict(content, run, folder)
        assert spec.configuration.data.data_base_dir == str(spec.data_from_run)
        return spec.data_from_run

    assert place(tmp_path / "a/run") == first
    assert place(tmp_path / "alone/in/run") == first  # the run has moved alone
    second = moved(data, tmp_path / "b/data")
    assert place(tmp_path / "b/run") == second  # both have moved
    third = moved(data, tmp_path / "c/other")
    assert place(tmp_path / "a/run", third) == third  # the folder itself
    assert place(tmp_path / "a/run", tmp_path / "b") == second  # one of its name within
    shutil.rmtree(tmp_path / "a/data")
    shutil.rmtree(tmp_path / "b/data")
    with pytest.raises(
        RunDirectoryError, match=r"data, which is missing: give the folder of data with --folder"
    ):
        place(tmp_path / "a/run")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.pop("seed"), "is damaged: missing 'seed'.*--overwrite"),
        (
            lambda c: c["configuration"].pop("data"),
            "is damaged: missing 'configuration.data'.*--overwrite",
        ),
        (lambda c: c.update(configuration=None), "is damaged: missing 'configuration.data'"),
        (lambda c: c.update(data_from_run=7), "data_from_run"),
        (lambda c: c["configuration"]["train"].update(epochs=3), "cannot be read.*epochs"),
        (lambda c: c["configuration"].update(seed="x"), "cannot be read.*seed"),
    ],
)
def test_a_wrong_file_is_named(change, says, data, tmp_path):
    content = written(TrainingSpec.of(configured(data), "run"), tmp_path / "run")
    change(content)
    with pytest.raises(RunDirectoryError, match=f"experiment.yaml.*{says}"):
        TrainingSpec.from_dict(content, tmp_path / "run", None)


def test_the_configuration_of_the_call_counts_on_resume(data):
    """A training may be continued with more epochs, but not from another seed."""
    former = TrainingSpec.of(configured(data, "seed=3"), "run")
    call = TrainingSpec.of(configured(data, "seed=3", "train.max_epochs=9"), "renamed")
    assert former.identity() == call.identity() == {"seed": 3}
    resumed = former.resumed_by(call)
    assert resumed.configuration.train.max_epochs == 9
    assert resumed.name == "run"
    assert TrainingSpec.of(configured(data, "seed=4"), "run").identity() != former.identity()


def test_a_training_knows_no_limits(data):
    spec = TrainingSpec.of(configured(data), "run")
    assert spec.with_limits(Budget()) == spec
    with pytest.raises(RunDirectoryError, match="does not support --evaluations"):
        spec.with_limits(Budget(max_evaluations=5))
