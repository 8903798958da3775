"""``trueup explain`` of a finished identification, by its run directory."""

import copy

import driven_pendulum as pendulum
import yaml


def test_a_run_gives_its_experiment(files: pendulum.Files, command):
    files.experiment.write_text(yaml.safe_dump(copy.deepcopy(pendulum.EXPERIMENT)))
    assert command("identify", files.experiment, "--quiet")[0] == 0
    code, of_file = command("explain", files.experiment, "--dry-run")
    assert code == 0
    code, of_run = command("explain", files.run, "--dry-run")
    assert code == 0
    for key in ("causes", "training", "held_out"):
        assert of_run[key] == of_file[key]
    assert not (files.run.parent / f"{files.run.name}-explained").exists()


def test_a_run_of_another_kind_is_refused(tmp_path, command):
    run = tmp_path / "sphere"
    options = ("--dimension", "2", "--evaluations", "64", "--quiet", "--output", run)
    assert command("study", "run", "sphere", *options)[0] in (0, 3)
    code, said = command("explain", run, "--dry-run")
    assert code == 2
    assert "explain requires an experiment file, or the run directory of an" in said["message"]
    code, said = command("explain", tmp_path, "--dry-run")
    assert code == 2 and "is not a run of trueup" in said["message"]
