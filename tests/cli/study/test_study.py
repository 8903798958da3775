"""``trueup study``: run, list, show, resume and export, in process."""

import csv
import json
import sys
from pathlib import Path

import driven_pendulum as pendulum
import numpy as np
import pytest
import study_problem_file
import yaml

from trueup.cli import main
from trueup.runs import Execution, RunDirectory, Store


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A file with a user's own problems; forgotten after the test."""
    path = tmp_path / "own_problems.py"
    path.write_text(study_problem_file.TEXT)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield path
    sys.modules.pop("own_problems", None)


def history(run):
    with Store.open(Path(run) / "study.sqlite") as store:
        return store.history()


def same(one, two):
    return one.X.tobytes() == two.X.tobytes() and one.costs.tobytes() == two.costs.tobytes()


def test_a_study_runs_to_its_optimum_and_writes_every_file(command, tmp_path):
    code, said = command(
        *("study", "run", "sphere", "--dimension", 3, "--method", "cmaes"),
        *("--output", tmp_path / "run"),
    )
    assert (code, said["status"], said["success"]) == (0, "converged", True)
    assert said["cost"] < 1e-8
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names >= {
        *("experiment.yaml", "provenance.json", "parameters.json", "study.sqlite", "log.jsonl"),
        *("solution.json", "report.html"),
    }
    live = json.loads((tmp_path / "run" / "parameters.json").read_text())
    assert live["cost"] == said["cost"]
    assert list(live["parameters"].values()) == [row["value"] for row in said["parameters"]]


def test_text_for_people(tmp_path, capsys):
    run = str(tmp_path / "run")
    assert main(["study", "run", "sphere", "--dimension", "3", "-o", run, "--quiet"]) == 0
    shown = capsys.readouterr()
    assert "converged" in shown.out
    assert "another --seed" in shown.out
    assert shown.err == ""
    assert main(["study", "show", run]) == 0
    assert "-5 to 5" in capsys.readouterr().out
    assert main(["study", "list", str(tmp_path)]) == 0
    assert "converged" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["cmaes", "random", "sobol"])
def test_the_seed_decides_the_history(command, tmp_path, method):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        command(
            *("study", "run", "sphere", "--dimension", 4, "--method", method, "--seed", seed),
            *("--generations", 6, "-o", tmp_path / name),
        )
    assert same(history(tmp_path / "a"), history(tmp_path / "b"))
    assert not same(history(tmp_path / "a"), history(tmp_path / "c"))


@pytest.mark.parametrize(
    "search",
    [
        ["sphere", "--dimension", "4", "--method", "cmaes"],
        ["zdt1", "--method", "nsgaii", "population=12"],
        ["exponential_decay", "--method", "multi-start"],
        ["exponential_decay"],
    ],
)
def test_a_resumed_study_has_the_history_of_one_without_a_stop(command, tmp_path, search):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    command("study", "run", *search, "--generations", 20, "-o", whole)
    code, said = command("study", "run", *search, "--generations", 5, "-o", parts)
    assert said["status"] in ("iteration limit", "exact")
    assert code == (0 if "nsgaii" in search or said["status"] == "exact" else 3)
    command("study", "resume", parts, "--generations", 12)
    command("study", "run", *search, "--generations", 20, "-o", parts, "--resume")
    assert same(history(whole), history(parts))


def test_a_resumed_study_keeps_its_budget_and_is_told_the_rest(command, tmp_path):
    run = tmp_path / "run"
    common = ("sphere", "--dimension", 4, "--method", "cmaes")
    command("study", "run", *common, "--generations", 5, "target_cost=1e-3", "-o", run)
    code, said = command("study", "resume", run, "--generations", 500)
    assert (code, said["status"]) == (0, "target reached")
    _, said = command("study", "resume", run)
    assert said["status"] == "target reached"


def test_the_front_is_saved_and_drawn(command, tmp_path):
    run = tmp_path / "run"
    code, said = command("study", "run", "zdt1", "--evaluations", 1500, "-o", run)
    assert (code, said["status"]) == (0, "evaluation limit")
    with (run / "pareto_front.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:3] == ["f1", "f2", "x1"]
    costs = np.array([[float(row["f1"]), float(row["f2"])] for row in rows])
    assert costs.tolist() == said["front"]["costs"]
    beaten = (costs[:, None] >= costs).all(2) & (costs[:, None] > costs).any(2)
    assert not beaten.any()
    page = (run / "report.html").read_text()
    assert "Pareto front of f1 and f2" in page
    _, shown = command("study", "show", run)
    assert shown["objectives"] == ["f1", "f2"]


def test_a_problem_of_ones_own(command, own, tmp_path):
    run = tmp_path / "run"
    code, said = command("study", "run", f"{own}:problem", "--method", "cmaes", "-o", run)
    assert code == 0
    values = {row["name"]: row for row in said["parameters"]}
    assert values["mass"]["value"] == pytest.approx(2.0, rel=1e-3)
    assert values["mass"]["unit"] == "kg"
    assert values["delay"]["at_bound"] and not values["mass"]["at_bound"]
    _, shown = command("study", "show", run)
    if shown["failed_evaluations"]:
        (failure,) = shown["failures"]
        assert "locks the joint" in failure["reason"]
        assert failure["count"] == shown["failed_evaluations"]


@pytest.mark.slow
def test_worker_processes_give_the_same_history(command, own, tmp_path):
    common = (f"{own}:problem", "--method", "cmaes", "--generations", 4)
    command("study", "run", *common, "-o", tmp_path / "here")
    command("study", "run", *common, "workers=2", "-o", tmp_path / "there")
    assert same(history(tmp_path / "here"), history(tmp_path / "there"))


def test_export_holds_every_evaluation(command, own, tmp_path):
    run = tmp_path / "run"
    command("study", "run", f"{own}:problem", "--method", "random", "--evaluations", 64,
            "-o", run)  # fmt: skip
    for suffix in ("csv", "json", "parquet"):
        code, said = command("study", "export", run, "--output", tmp_path / f"table.{suffix}")
        assert (code, said["evaluations"]) == (0, 64)
    known = history(run)
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["mass"]) for row in rows] == known.X[:, 0].tolist()
    invalid = [i for i, row in enumerate(rows) if row["valid"] == "False"]
    assert invalid == sorted(known.reasons) and invalid
    assert rows[invalid[0]]["reason"] == known.reasons[invalid[0]]
    columns = json.loads((tmp_path / "table.json").read_text())
    assert columns["cost"] == known.costs[:, 0].tolist()
    parquet = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "table.parquet")
    assert parquet.column_names == list(columns)
    assert parquet["delay"].to_pylist() == known.X[:, 2].tolist()
    assert parquet["reason"].to_pylist() == columns["reason"]


def test_export_keeps_columns_of_one_name_apart(command, tmp_path, own):
    own.write_text(own.read_text().replace('"mass"', '"cost"').replace('"delay"', '"reason"'))
    run = tmp_path / "run"
    command("study", "run", f"{own}:problem", "--method", "cmaes", "--generations", 2,
            "-o", run)  # fmt: skip
    _, said = command("study", "export", run, "-o", tmp_path / "table.csv")
    assert said["columns"] == [
        *("generation", "candidate", "cost:cost", "valid", "reason"),
        *("cost", "friction", "parameter:reason"),
    ]


def test_a_warm_start_is_told_and_needs_its_file_no_more(command, own, tmp_path):
    earlier = tmp_path / "earlier.json"
    earlier.write_text('{"mass": 1.9, "friction": 2.0, "gear": 3}')
    run, search = tmp_path / "run", (f"{own}:problem", "--method", "cmaes")
    _, said = command(
        *("study", "run", *search, "--param-path", earlier, "--generations", 3, "-o", run)
    )
    told = " ".join(said["notes"])
    assert "2 start values" in told
    assert "default: 'delay'" in told and "not a parameter here: 'gear'" in told
    np.testing.assert_array_equal(history(run).X[0], [1.9, 1.0, 0.04])
    earlier.unlink()
    code, said = command("study", "resume", run, "--generations", 200)
    assert (code, said["status"]) == (0, "converged")
    finer = tmp_path / "finer"
    command("study", "run", *search, "--param-path", run, "--generations", 1, "-o", finer)
    np.testing.assert_array_equal(history(finer).X[0], [row["value"] for row in said["parameters"]])


def test_a_dry_run_writes_nothing(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said = command("study", "run", "sphere", "--dimension", 3, "--dry-run")
    assert (code, said["directory"], len(said["parameters"])) == (0, "runs/sphere", 3)
    assert not list(tmp_path.iterdir())


def test_list_names_damaged_runs_and_goes_on(command, tmp_path):
    search = ("sphere", "--dimension", 2, "--method", "cmaes", "--generations", 2)
    for name in ("good", "foreign", "newer", "broken"):
        command("study", "run", *search, "-o", tmp_path / "deep" / name)
    (tmp_path / "deep" / "foreign" / "study.sqlite").write_bytes(b"not a database" * 100)
    marker = tmp_path / "deep" / "newer" / "run.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "format_version": 99}))
    (tmp_path / "deep" / "broken" / "experiment.yaml").write_text("kind: [")
    RunDirectory.create(tmp_path / "begun")
    code, said = command("study", "list", tmp_path)
    assert code == 0
    listed = {Path(run["directory"]).name: run for run in said["runs"]}
    assert set(listed) == {"good", "begun"}
    assert (listed["good"]["kind"], listed["good"]["state"]) == ("study", "iteration limit")
    assert listed["good"]["evaluations"] == len(history(tmp_path / "deep" / "good").X)
    assert (listed["begun"]["kind"], listed["begun"]["state"]) == ("unknown", "stopped")
    damaged = {Path(entry["directory"]).name: entry["message"] for entry in said["damaged"]}
    assert set(damaged) == {"foreign", "newer", "broken"}
    assert "newer version" in damaged["newer"]


def test_a_run_in_progress_is_shown_as_such(command, tmp_path):
    run = tmp_path / "run"
    command("study", "run", "sphere", "--dimension", 2, "--generations", 2, "-o", run)
    with RunDirectory.open(run).lock():
        _, said = command("study", "show", run)
        assert said["state"] == "running"
        code, said = command("study", "resume", run)
        assert (code, "in progress" in said["message"]) == (2, True)


def test_an_identification_goes_on_by_the_same_command(command, tmp_path, monkeypatch):
    files = pendulum.write(tmp_path)
    command("identify", files.experiment, "--quiet")
    former = json.loads((files.run / "solution.json").read_text())
    (files.run / "solution.json").unlink()
    monkeypatch.chdir("/")
    code, said = command("study", "resume", files.run, "--quiet")
    assert (code, said["cost"]) == (0, former["cost"])
    _, said = command("study", "list", files.run)
    assert [run["kind"] for run in said["runs"]] == ["identification"]
    _, said = command("study", "show", files.run)
    assert [row["name"] for row in said["parameters"]] == [r["name"] for r in former["parameters"]]
    code, said = command("study", "resume", files.run, "target_cost=1")
    assert (code, "target_cost" in said["message"]) == (2, True)


def test_the_report_and_the_comparison_know_studies(command, tmp_path):
    for seed in (1, 2):
        command("study", "run", "sphere", "--dimension", 2, "--seed", seed, "-o",
                tmp_path / str(seed))  # fmt: skip
    code, said = command("report", tmp_path / "1", "-o", tmp_path / "again.html")
    assert code == 0
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "1/report.html").read_bytes()
    code, said = command("compare", tmp_path / "1", tmp_path / "2")
    assert code == 0
    assert len(said["cost"]) == 2
    (tmp_path / "1" / "solution.json").unlink()
    assert command("report", tmp_path / "1")[0] == 0, "so far"
    code, said = command("compare", tmp_path / "1", tmp_path / "2")
    assert (code, "trueup study resume" in said["message"]) == (2, True)


def test_the_resolved_experiment_is_plain_and_complete(command, tmp_path):
    run = tmp_path / "run"
    command("study", "run", "sphere", "--dimension", 2, "restarts=ipop", "--tensorboard",
            "--generations", 2, "-o", run)  # fmt: skip
    content = yaml.safe_load((run / "experiment.yaml").read_text())
    assert content["settings"]["restarts"] == "ipop"
    assert content["execution"]["tensorboard"] is True
    command("study", "resume", run, "--generations", 4)
    assert len(list((run / "tensorboard").iterdir())) == 2, "the tracker goes on unasked"


def test_no_password_is_kept():
    with_password = "postgresql://me:secret@nowhere.invalid/db"
    assert Execution(storage=with_password).to_dict()["storage"] is None
    assert Execution(storage="sqlite:///a.db").to_dict()["storage"] == "sqlite:///a.db"
