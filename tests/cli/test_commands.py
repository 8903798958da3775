"""The commands on a small identification, in process."""

import copy
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import driven_pendulum as pendulum
import numpy as np
import pytest
import yaml

from trueup.cli import main
from trueup.runs import RunDirectory
from trueup.sysid.results import outputs


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> pendulum.Files:
    """An experiment with a finished run and its report; not to be changed."""
    experiment = copy.deepcopy(pendulum.EXPERIMENT)
    experiment["output"]["report"] = True
    files = pendulum.write(tmp_path_factory.mktemp("finished"), experiment)
    assert main(["identify", str(files.experiment), "--quiet"]) == 0
    return files


def test_identify_finds_the_truth_and_writes_every_file(finished: pendulum.Files):
    solution = json.loads((finished.run / "solution.json").read_text())
    for row in solution["parameters"]:
        assert row["low"] < pendulum.TRUE[row["name"]] < row["high"]
    names = {path.name for path in finished.run.iterdir()}
    assert names >= {
        *("experiment.yaml", "provenance.json", "parameters.json", "study.sqlite", "log.jsonl"),
        *("solution.json", "report.html", "model.xml", "signals.npz"),
        "identified_parameters.yaml",
    }
    assert not [name for name in names if name.startswith(".") or name.endswith(".tmp")]


def test_json_is_one_object_and_has_no_number_that_is_not_finite(finished, command, tmp_path):
    code, said = command("identify", finished.experiment, "--output", tmp_path / "run", "--quiet")
    assert code == 0
    assert {"parameters", "scores", "insights", "status", "directory", "report"} <= set(said)
    assert "NaN" not in json.dumps(said)


def test_text_and_progress_do_not_mix(finished, capsys: pytest.CaptureFixture[str], tmp_path):
    assert main(["identify", str(finished.experiment), "-o", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr()
    assert "95 % interval" in shown.out
    assert "Report:" in shown.out
    assert "armature" not in shown.err


def test_a_folder_that_holds_a_run_is_refused(finished, command):
    before = pendulum.tree(finished.folder)
    code, said = command("identify", finished.experiment)
    assert code == 2
    assert "--overwrite" in said["message"]
    assert "--resume" in said["message"]
    assert pendulum.tree(finished.folder) == before


def test_a_folder_with_other_files_is_not_touched(finished, command, tmp_path: Path):
    (tmp_path / "thesis.tex").write_text("years of work")
    code, said = command(
        "identify", finished.experiment, "--output", tmp_path, "--overwrite", "--quiet"
    )
    assert code == 2
    assert "not a run" in said["message"]
    assert pendulum.tree(tmp_path) == {"thesis.tex": b"years of work"}


def test_resuming_a_finished_run_writes_the_same_result_again(finished, command):
    former = json.loads((finished.run / "solution.json").read_text())
    (finished.run / "report.html").unlink()
    code, said = command("identify", finished.experiment, "--resume")
    assert code == 0
    assert said["history"] == former["history"]
    assert [r["value"] for r in said["parameters"]] == [r["value"] for r in former["parameters"]]
    assert (finished.run / "report.html").is_file()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda e: e["measurement"]["signals"]["angle"].update(noise=0.5),
            "a different 'measurement'",
        ),
        (lambda e: e["recordings"][0].update(initial="measured"), "a different 'recordings'"),
        (
            lambda e: e["parameters"]["armature"].update(bounds=[0.002, 1]),
            "a different 'parameters'",
        ),
    ],
)
def test_another_experiment_cannot_resume_a_run(change, expected, finished, command, tmp_path):
    experiment = copy.deepcopy(pendulum.EXPERIMENT)
    change(experiment)
    path = finished.folder / f"{tmp_path.name}.yaml"
    path.write_text(yaml.safe_dump(experiment))
    kept = (finished.run / "experiment.yaml").read_bytes()
    code, said = command("identify", path, "--resume", "--output", finished.run)
    path.unlink()
    assert code == 2
    assert expected in said["message"]
    assert (finished.run / "experiment.yaml").read_bytes() == kept


def test_changed_data_cannot_resume_a_run(files: pendulum.Files, command):
    assert command("identify", files.experiment, "--quiet")[0] == 0
    files.recording.write_text(pendulum.recorded(seed=1))
    code, said = command("identify", files.experiment, "--resume")
    assert code == 2
    assert "has changed" in said["message"]


def test_resume_needs_a_run(files: pendulum.Files, command):
    code, said = command("identify", files.experiment, "--resume")
    assert code == 2
    assert "does not exist" in said["message"]
    assert not (files.folder / "runs").exists()


def test_dry_run_writes_nothing(files: pendulum.Files, command):
    before = pendulum.tree(files.folder)
    code, said = command("identify", files.experiment, "--dry-run")
    assert code == 0
    assert said["parameters"] == ["armature", "damping"]
    assert said["seconds_per_iteration"] > 0
    assert pendulum.tree(files.folder) == before


def test_dashes_and_underscores_are_the_same(files: pendulum.Files, capsys):
    assert main(["identify", str(files.experiment), "--dry_run"]) == 0
    assert "unknowns" in capsys.readouterr().out


def test_a_fit_that_does_not_converge_exits_with_3(files: pendulum.Files, command):
    experiment = {**pendulum.EXPERIMENT, "search": {"max_iters": 1}}
    files.experiment.write_text(yaml.safe_dump(experiment))
    code, said = command("identify", files.experiment, "--quiet")
    assert code == 3
    assert said["status"] == "iteration limit"
    assert any("did not converge" in i["sentence"] for i in said["insights"])


RESULTS = {"solution.json", "signals.npz", "model.xml", "identified_parameters.yaml"}


@pytest.mark.parametrize(
    ("place", "kept"),
    [
        ("trueup.sysid.fit.run.write_models", {"solution.json", "signals.npz"}),
        ("trueup.sysid.assess.judge.summarise", RESULTS - {"signals.npz"}),
        ("trueup.sysid.results.outputs.pack_signals", RESULTS - {"signals.npz"}),
        ("trueup.sysid.report._answer", RESULTS),
    ],
)
def test_a_failure_after_the_search_loses_no_other_result(
    files: pendulum.Files, monkeypatch: pytest.MonkeyPatch, place: str, kept: set[str], command
):
    experiment = copy.deepcopy(pendulum.EXPERIMENT)
    experiment["output"]["report"] = True
    files.experiment.write_text(yaml.safe_dump(experiment))

    def fail(*arguments: object) -> None:
        raise RuntimeError("no report today")

    monkeypatch.setattr(place, fail)
    code, said = command("identify", files.experiment, "--quiet")
    assert (code, said["error"]) == (2, "UnfinishedRunError")
    assert "RuntimeError: no report today" in said["message"]
    names = {path.name for path in files.run.iterdir()}
    assert names & RESULTS == kept
    saved = json.loads((files.run / "solution.json").read_text())
    assert saved["status"] == "converged" and len(saved["parameters"]) == 2
    (stage,) = saved["failed"]
    assert f"{stage} failed" in said["message"]
    monkeypatch.undo()
    assert main(["identify", str(files.experiment), "--quiet", "--resume"]) == 0
    names = {path.name for path in files.run.iterdir()}
    assert names >= {*RESULTS, "report.html"}


def test_report_is_the_same_again(finished: pendulum.Files, command, tmp_path: Path):
    code, said = command("report", finished.run, "--output", tmp_path / "again.html")
    assert code == 0
    assert said == {"report": str(tmp_path / "again.html")}
    assert (tmp_path / "again.html").read_bytes() == (finished.run / "report.html").read_bytes()


@pytest.mark.parametrize("name", ["report", "compare"])
def test_commands_on_runs_refuse_what_is_no_finished_run(name: str, finished, command, tmp_path):
    others = [finished.run] if name == "compare" else []
    code, said = command(name, tmp_path / "none", *others)
    assert (code, "does not exist" in said["message"]) == (2, True)
    code, said = command(name, finished.folder, *others)
    assert (code, "not a run" in said["message"]) == (2, True)
    unfinished = RunDirectory.create(tmp_path / "unfinished")
    code, said = command(name, unfinished.path, *others)
    assert (code, "the run ended before its first step" in said["message"]) == (2, True)
    assert "--resume" in said["message"]


def test_damaged_signals_are_refused(finished: pendulum.Files, tmp_path: Path):
    run = RunDirectory.create(tmp_path / "run")
    for content in (b"", b"PK\x03\x04 cut short", b"not an archive"):
        (run.path / outputs.SIGNALS_FILE).write_bytes(content)
        with pytest.raises(Exception, match="damaged") as caught:
            outputs.read_signals(run)
        assert type(caught.value).__name__ == "RunDirectoryError"


def test_compare_shows_values_intervals_and_agreement(
    finished, command, capsys: pytest.CaptureFixture[str]
):
    code, said = command("compare", finished.run, finished.run)
    assert code == 0
    assert [p["agreement"] for p in said["parameters"]] == ["overlap", "overlap"]
    assert main(["compare", str(finished.run), str(finished.run)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"armature +\S+ ± \S+ +\S+ ± \S+ +overlap", shown)


def test_check_speaks_about_data_and_identifiability(finished, command, capsys):
    code, said = command("check", finished.experiment)
    assert code == 0
    assert said["identifiability"]["identifiable"] is True
    assert set(said["quality"]) == {"run"}
    assert main(["check", str(finished.experiment)]) == 0
    shown = capsys.readouterr().out
    assert "Identifiability:" in shown
    assert re.search(r"\nGo on[:,]", shown)


@pytest.mark.parametrize("name", ["identify", "check", "report", "compare", "init", "demo"])
def test_help_shows_examples_and_exit_codes(name: str, capsys: pytest.CaptureFixture[str]):
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr()
    assert f"trueup {name}" in shown.out.split("Examples:")[1]
    assert "Exit codes" in shown.out
    assert "--json" in shown.out
    assert "{None}" not in shown.out
    assert len(shown.out.splitlines()) < 50
    assert shown.err == ""


def test_no_arguments_show_the_commands(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 0
    shown = capsys.readouterr().out
    for name in ("identify", "check", "report", "compare", "import", "demo"):
        assert f"trueup {name}" in shown


def test_version(capsys: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    assert re.fullmatch(r"trueup \d+\.\d+\S*\n", capsys.readouterr().out)


def test_help_loads_nothing_heavy():
    heavy = "mujoco numba scipy torch plotly pyarrow optuna cma pandas"
    code = (
        "import sys\nfrom trueup.cli import main\nassert main(['--help']) == 0\n"
        f"print([m for m in {heavy.split()!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr.strip() == "[]"


def test_numbers_that_are_not_finite_become_null(capsys: pytest.CaptureFixture[str]):
    from trueup.cli.output import Output

    Output(json=True).result({"a": np.array([1.0, np.inf]), "b": float("nan"), "c": np.int64(3)})
    assert json.loads(capsys.readouterr().out) == {"a": [1.0, None], "b": None, "c": 3}


def test_a_command_starts_without_the_settings_of_the_others():
    shown = (
        "import sys; from trueup.cli import main; main(['check', '--help']); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True, timeout=120
    )
    assert "usage: trueup check" in done.stdout
    loaded = done.stdout.splitlines()[-1].split()
    assert not [name for name in loaded if name.startswith(("trueup.gait", "trueup.actuators"))]


@pytest.mark.parametrize("given", [None, "4"])
def test_products_of_small_matrices_use_one_thread_by_default(given):
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    environment |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}

    done = subprocess.run(
        [sys.executable, "-c", "import os, trueup.cli; print(os.environ['OPENBLAS_NUM_THREADS'])"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == (given or "1")
