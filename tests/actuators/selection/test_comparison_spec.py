"""The spec of a comparison of servo models: its file, and what a resuming call may change."""

import dataclasses
import json
import shutil

import pytest
import yaml
from servo_bench_logs import TRUTH, bench_log, write_logs

from trueup import actuators, runs
from trueup.actuators import ComparisonSettings, ComparisonSpec, FitSettings, servos
from trueup.errors import FitError, ParameterError, RunDirectoryError
from trueup.runs import Budget, RunDirectory, read_spec

SETTINGS = ComparisonSettings(
    models=("m1", "m4"),
    fit=FitSettings("cmaes", trials=7, seed=3, vin=7.0, validation_kp=(400.0,)),
    extended=True,
    try_terms=("command_delay",),
    split_by="kp",
)
QUICK = ComparisonSettings(
    models=("m2",),
    fit=FitSettings("random", trials=12, validation_kp=(400.0,)),
    extended=False,
)


@pytest.fixture
def files(tmp_path):
    """Folder with what a spec names, and a folder for its run."""
    for name in ("logs", "run"):
        (tmp_path / name).mkdir()
    for name in ("servos.yaml", "m1.json"):
        (tmp_path / name).write_text("{}")
    return tmp_path


def full(files):
    """A spec whose every field differs from its default."""
    return ComparisonSpec(
        name="one",
        seed=3,
        limits=Budget(max_evaluations=9),
        notes=("a note",),
        actuator="xl330",
        log_paths=(files / "logs",),
        skip_bad_logs=True,
        catalogue=files / "servos.yaml",
        params=(files / "m1.json",),
        settings=SETTINGS,
        anyway=True,
    )


def content_of(spec, folder):
    return yaml.safe_load(yaml.safe_dump(spec.to_dict(folder)))


def test_a_spec_is_the_same_after_its_file(files):
    spec = full(files)
    content = content_of(spec, files / "run")
    assert ComparisonSpec.from_dict(content, files / "run", None) == spec
    fields = ComparisonSpec.model_fields
    written = [name for name, field in fields.items() if not field.exclude]
    assert set(content) == set(written)
    same = [name for name in written if getattr(spec, name) == fields[name].default]
    assert same == ["lacking"]
    assert (content["params"], content["log_paths"]) == (["../m1.json"], ["../logs"])


def test_a_spec_finds_its_files_where_they_have_moved_to(files, tmp_path_factory):
    content = content_of(full(files), files / "run")
    there = tmp_path_factory.mktemp("there")
    shutil.copytree(files, there, dirs_exist_ok=True)
    moved = ComparisonSpec.from_dict(content, there / "run", None)
    assert (moved.params, moved.log_paths) == ((there / "m1.json",), (there / "logs",))
    shutil.rmtree(files / "logs")
    with pytest.raises(
        RunDirectoryError, match="which is missing: give the folder of logs with --folder"
    ):
        ComparisonSpec.from_dict(content, files / "run", None)
    found = ComparisonSpec.from_dict(content, files / "run", there)
    assert (found.params, found.log_paths) == ((there / "m1.json",), (there / "logs",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("params"), "damaged: missing 'params'"),
        (
            lambda c: c["settings"].update(modles=3),
            "unknown setting of a comparison: 'modles'; .* Did you mean 'models'",
        ),
        (lambda c: c["settings"]["fit"].update(trails=3), "unknown setting of a fit: 'trails'"),
        (lambda c: c.update(anyway="perhaps"), "anyway"),
        (lambda c: c["settings"].pop("fit"), "damaged"),
    ],
)
def test_a_wrong_key_is_named(files, change, message):
    directory = RunDirectory.create(files / "damaged")
    content = {"kind": "comparison", "format_version": 2, **content_of(full(files), directory.path)}
    change(content)
    directory.experiment.write_text(yaml.safe_dump(content))
    with pytest.raises((RunDirectoryError, FitError), match=message):
        read_spec(directory)


def test_the_former_key_of_terms_to_try_is_read():
    content = SETTINGS.to_dict()
    content["terms"] = content.pop("try_terms")
    assert ComparisonSettings.from_dict(content) == SETTINGS


def with_fit(**changes):
    return dataclasses.replace(SETTINGS, fit=dataclasses.replace(SETTINGS.fit, **changes))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"actuator": None}, {"actuator"}),
        ({"settings": with_fit(vin=6.0, seed=4)}, {"vin", "seed"}),
        ({"settings": dataclasses.replace(SETTINGS, models=("m1",))}, {"models"}),
        ({"settings": with_fit(terms=("backlash",))}, {"terms"}),
        ({"settings": with_fit(trials=99)}, set()),
        ({"limits": Budget(max_evaluations=99), "name": "two", "params": ()}, set()),
    ],
)
def test_what_differs_on_resume_is_named(files, changes, named):
    spec = full(files)
    before, after = spec.identity(), spec.model_copy(update=changes).identity()
    assert {key for key in {**before, **after} if before.get(key) != after.get(key)} == named


def test_the_picture_of_a_former_run_is_ignored():
    former = {**SETTINGS.to_dict(), "png": True}
    assert ComparisonSettings.from_dict(former) == SETTINGS
    with pytest.raises(FitError, match="unknown setting of a comparison: 'pgn'"):
        ComparisonSettings.from_dict({**former, "pgn": True})


def test_a_call_that_resumes_gives_evaluations(files):
    former = full(files)
    call = former.model_copy(
        update={
            "limits": Budget(max_evaluations=20),
            "anyway": False,
        }
    )
    again = former.resumed_by(call)
    assert (again.fit_settings.trials, again.anyway) == (20, True)
    assert again.full_settings.fit.trials == 20
    with pytest.raises(RunDirectoryError, match="does not support --generations"):
        former.with_limits(Budget(max_generations=3))
    with pytest.raises(ParameterError, match="--given-only"):
        ComparisonSpec.of([], files, ComparisonSettings(models=()))
    servo = dataclasses.replace(servos()["xl330"], kp=300.0)
    at_hand = ComparisonSpec.of([], [bench_log("x", 100.0)], SETTINGS, servo=servo)
    read = ComparisonSpec.from_dict(content_of(at_hand, files), files, None)
    assert read.lacking == ("logs", "servo")
    with pytest.raises(RunDirectoryError, match=r"trueup\.actuators\.compare\("):
        read.check_whole()
    assert read.resumed_by(at_hand).servo is servo


def test_a_comparison_that_was_moved_is_resumed_and_reported(tmp_path):
    here = tmp_path / "here"
    (here / "logs").mkdir(parents=True)
    write_logs(here / "logs")
    actuators.save_model(TRUTH, here / "m1.json")
    first = actuators.compare(
        [here / "m1.json"],
        here / "logs",
        directory=here / "run",
        settings=QUICK,
        verbose=False,
    )
    there = here.rename(tmp_path / "there")
    outcome = runs.resume(there / "run", verbose=False)
    assert [m.training for m in outcome.result.models] == [m.training for m in first.models]
    assert "m2" in runs.report(there / "run").html()
    kept = json.loads((there / "run" / "solution.json").read_text())
    assert kept["fitted"] == ["m2"] and kept["format_version"] == 1
    with pytest.raises(RunDirectoryError, match="started with a different 'models':"):
        actuators.compare(
            [there / "m1.json"],
            there / "logs",
            directory=there / "run",
            settings=dataclasses.replace(QUICK, models=("m3",)),
            resume=True,
            verbose=False,
        )
