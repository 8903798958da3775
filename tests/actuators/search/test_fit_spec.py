"""The spec of a servo fit: what experiment.yaml holds, what a call that resumes may change."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from servo_bench_logs import bench_log, write_logs

from trueup import actuators, runs
from trueup.actuators import FitSettings, FitSpec, Objective, Pendulum, read_logs, servos
from trueup.errors import FitError, RecordingError, RunDirectoryError
from trueup.runs import Budget, RunDirectory, read_spec

SETTINGS = FitSettings(
    "cmaes",
    trials=7,
    seed=3,
    objective=Objective("rmse", 1.0, 0.2),
    scheme="bam",
    reset_period=0.5,
    vin=7.0,
    terms=("backlash",),
    models=("m1", "m2"),
    try_terms=("command_delay",),
    quadratic="ungated",
    fixed={"R": 3.0},
    validation_kp=(400.0,),
    validation_mass=(0.5,),
    validation_trajectory=("chirp",),
    level=0.9,
)
QUICK = FitSettings("random", trials=12)


@pytest.fixture
def files(tmp_path):
    """Folder with what a spec names, and a folder for its run."""
    for name in ("logs", "run"):
        (tmp_path / name).mkdir()
    for name in ("servos.yaml", "a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    return tmp_path


def full(files):
    """A spec whose every field differs from its default."""
    return FitSpec(
        name="one",
        seed=3,
        limits=Budget(max_evaluations=9),
        notes=("a note",),
        actuator="xl330",
        log_paths=(files / "a.json", files / "b.json"),
        skip_bad_logs=True,
        catalogue=files / "servos.yaml",
        model="m4",
        settings=SETTINGS,
        output=files / "params" / "m4.json",
        start={"kt": 0.3, "armature": 0.002},
        named_inputs=(files / "a.json",),
        skipped=("left out: c.json",),
    )


def content_of(spec, folder):
    """What ``experiment.yaml`` of a run holds of it."""
    return yaml.safe_load(yaml.safe_dump(spec.to_dict(folder)))


def test_a_spec_is_the_same_after_its_file(files):
    spec = full(files)
    content = content_of(spec, files / "run")
    again = FitSpec.from_dict(content, files / "run", None)
    assert again == spec
    written = [name for name, field in FitSpec.model_fields.items() if not field.exclude]
    same = [
        name
        for name in written
        if name != "lacking" and getattr(spec, name) == FitSpec.model_fields[name].default
    ]
    assert same == []
    assert set(content) == set(written)
    assert content["log_paths"] == ["../a.json", "../b.json"]
    assert content["output"] == "../params/m4.json"


def test_a_spec_finds_its_files_where_they_have_moved_to(files, tmp_path_factory):
    content = content_of(full(files), files / "run")
    both = tmp_path_factory.mktemp("both")
    shutil.copytree(files, both, dirs_exist_ok=True)
    moved = FitSpec.from_dict(content, both / "run", None)
    assert moved.log_paths == (both / "a.json", both / "b.json")
    assert (moved.catalogue, moved.output) == (both / "servos.yaml", both / "params" / "m4.json")
    # the inputs alone: a parameter file is written where it was
    for name in ("a.json", "b.json", "servos.yaml"):
        (files / name).rename(files / "logs" / name)
    with pytest.raises(
        RunDirectoryError, match=r"which is missing: give the folder of a\.json with --folder"
    ):
        FitSpec.from_dict(content, files / "run", None)
    found = FitSpec.from_dict(content, files / "run", files / "logs")
    assert found.log_paths == (files / "logs" / "a.json", files / "logs" / "b.json")
    assert (found.catalogue, found.output) == (
        files / "logs" / "servos.yaml",
        files / "params" / "m4.json",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("model"), "damaged: missing 'model'"),
        (
            lambda c: c["settings"].update(trails=3),
            "unknown setting of a fit: 'trails'; .* Did you mean 'trials'",
        ),
        (lambda c: c["settings"].update(method="cmaees"), "Did you mean 'cmaes'"),
        (lambda c: c.update(start={"kt": "fast"}), r"start\.kt"),
        (lambda c: c.update(actuator=None), "actuator"),
        (
            lambda c: c["limits"].update(max_evaluations=-1),
            "max_evaluations must be positive, found -1",
        ),
        (lambda c: c.update(settings=3), "damaged"),
    ],
)
def test_a_wrong_key_is_named(files, change, message):
    directory = RunDirectory.create(files / "damaged")
    content = {"kind": "servo", "format_version": 2, **content_of(full(files), directory.path)}
    change(content)
    directory.experiment.write_text(yaml.safe_dump(content))
    with pytest.raises((RunDirectoryError, FitError), match=message):
        read_spec(directory)


def test_runs_of_an_older_version_are_refused_in_one_sentence(files, capsys):
    from trueup.cli import main

    directory = RunDirectory.create(files / "older")
    former = {"kind": "servo", "problem": {"actuator": "xl330", "model": "m1"}, "settings": {}}
    directory.experiment.write_text(yaml.safe_dump({**former, "format_version": 1}))
    assert main(["study", "resume", str(directory.path)]) == 2
    said = capsys.readouterr().err
    assert "started by an older version of trueup: its format is 1" in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"actuator": "mx64"}, {"actuator"}),
        ({"model": "m1"}, {"model"}),
        ({"settings": dataclasses.replace(SETTINGS, seed=4), "seed": 4}, {"seed"}),
        ({"settings": dataclasses.replace(SETTINGS, vin=6.0, level=0.8)}, {"vin", "level"}),
        ({"settings": dataclasses.replace(SETTINGS, fixed={})}, {"fixed"}),
        ({"settings": dataclasses.replace(SETTINGS, trials=99)}, set()),
        ({"limits": Budget(max_evaluations=99), "name": "two", "output": None}, set()),
        ({"log_paths": (), "start": None, "catalogue": None, "notes": ()}, set()),
    ],
)
def test_what_differs_on_resume_is_named(files, changes, named):
    spec = full(files)
    before, after = spec.identity(), spec.model_copy(update=changes).identity()
    assert {key for key in {**before, **after} if before.get(key) != after.get(key)} == named


def test_a_call_that_resumes_gives_evaluations_and_what_no_file_holds(files):
    former = full(files)
    call = former.model_copy(update={"limits": Budget(max_evaluations=20), "output": None})
    again = former.resumed_by(call)
    assert again.fit_settings.trials == 20 and again.output == former.output
    assert former.resumed_by(call.model_copy(update={"limits": Budget()})).fit_settings.trials == 9
    assert former.model_copy(update={"limits": Budget()}).fit_settings.trials == 7
    with pytest.raises(RunDirectoryError, match="does not support --seconds; it supports --eval"):
        former.with_limits(Budget(max_seconds=3.0))
    log = bench_log("x", 100.0)
    servo = dataclasses.replace(servos()["xl330"], kp=300.0)
    bench = Pendulum(0.004, 0.4)
    at_hand = FitSpec.of(servo, "m1", [log], QUICK, benches=[bench])
    assert at_hand.only_in_python() == ("logs", "servo", "benches")
    read = FitSpec.from_dict(content_of(at_hand, files), files, None)
    assert (read.lacking, read.actuator) == (("logs", "servo", "benches"), "xl330")
    with pytest.raises(RunDirectoryError, match=r"trueup\.actuators\.fit\("):
        read.check_whole()
    whole = read.resumed_by(at_hand)
    assert whole.logs == (log,) and whole.servo is servo and whole.benches == (bench,)
    whole.check_whole()


def test_a_servo_that_the_catalogue_holds_is_in_a_file(files):
    spec = FitSpec.of(servos()["xl330"], "m1", files / "logs")
    assert spec.only_in_python() == () and spec.actuator == "xl330"


def test_a_fit_takes_a_spec(tmp_path):
    logs = write_logs(tmp_path)
    spec = FitSpec.of("xl330", "m1", logs, QUICK, output=tmp_path / "params" / "m1.json")
    found = actuators.fit(spec)
    assert found.directory == tmp_path / "params" / "m1.run"
    plain = actuators.fit("xl330", "m1", logs, settings=QUICK)
    np.testing.assert_array_equal(found.solution.x, plain.solution.x)
    assert actuators.fit(spec, resume=True).solution.cost == found.solution.cost
    with pytest.raises(FitError, match=r"'settings' belong .* pass them to FitSpec\.of"):
        actuators.fit(spec, settings=QUICK)
    with pytest.raises(FitError, match="requires logs"):
        actuators.fit("xl330", "m1")
    with pytest.raises(RecordingError, match="pass only one kind"):
        actuators.fit("xl330", "m1", [bench_log("x", 100.0), "a.json"])


def test_a_spec_of_two_objectives_is_searched_in_its_run(tmp_path):
    spec = FitSpec.of(
        *("xl330", "m1", [bench_log("a", 100.0), bench_log("b", 200.0)]),
        FitSettings("nsgaii", trials=200, seed=1),
    )
    in_run = actuators.fit(spec, directory=tmp_path / "run")
    assert in_run.solution.front is not None
    np.testing.assert_array_equal(in_run.solution.x, actuators.fit(spec).solution.x)
    assert runs.read_study(RunDirectory.open(tmp_path / "run")).objectives == ("mae", "speed mae")


def test_a_run_that_was_moved_and_renamed_is_resumed_with_its_files(tmp_path, monkeypatch):
    here = tmp_path / "here"
    (here / "logs").mkdir(parents=True)
    write_logs(here / "logs")
    named = here / "notes.txt"
    named.write_text("how the bench was set up")
    monkeypatch.chdir(here)  # relative paths are those of the call
    first = actuators.fit(
        "xl330", "m1", "logs", settings=QUICK, output="m1.json", inputs=[named], skipped=["no c"]
    )
    there = here.rename(tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    run = (there / "m1.run").rename(there / "renamed")
    names = [entry["name"] for entry in json.loads((run / "provenance.json").read_text())["inputs"]]
    assert names == ["notes.txt"]
    outcome = runs.resume(run, verbose=False)
    np.testing.assert_array_equal(outcome.result.solution.x, first.solution.x)
    assert "no c" in outcome.summary["notes"]
    assert Path(outcome.summary["output"]) == there / "m1.json"
    again = actuators.fit("xl330", "m1", there / "logs", settings=QUICK, directory=run, resume=True)
    assert again.output.samefile(there / "m1.json")
    with pytest.raises(RunDirectoryError, match="started with a different 'model':"):
        actuators.fit("xl330", "m2", there / "logs", settings=QUICK, directory=run, resume=True)


def test_a_catalogue_in_the_run_directory_is_not_removed_with_it(tmp_path):
    logs = read_logs(write_logs(tmp_path), uniform=True)[:1]
    run = tmp_path / "run"
    actuators.fit("xl330", "m1", logs, settings=QUICK, directory=run)
    catalogue = run / "servos.yaml"
    catalogue.write_text("{}")
    with pytest.raises(
        RunDirectoryError, match=r"servos\.yaml, which is an input, is in the run directory"
    ):
        actuators.fit(
            "xl330",
            "m1",
            logs,
            settings=QUICK,
            directory=run,
            catalogue=catalogue,
            overwrite=True,
        )
    assert catalogue.is_file()
