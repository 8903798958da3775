"""Runs of one robot against each other: reasons, refusals, the command."""

import json
import shutil

import numpy as np
import pytest
from pendulum import BIAS, TRUE

from trueup.cli import main
from trueup.errors import RunDirectoryError
from trueup.randomise import export_randomisation
from trueup.reconcile import reconcile
from trueup.reconcile.run_reasons import Change, reason


@pytest.fixture
def fleet(pendulum_run, tmp_path):
    """Six runs alike but for their noise; a function changes values of one."""
    rng = np.random.default_rng(0)
    source = json.loads((pendulum_run / "solution.json").read_text())
    # with a prior on the mass every unknown is determined
    known = source["known"]
    precision = np.array(known["precision"])
    mass = known["names"].index("mass")
    precision[mass, mass] += 1 / 0.02**2
    deviation = np.linalg.cholesky(np.linalg.inv(precision))

    for name in ("arm.xml", "log0.csv", "log1.csv"):
        shutil.copy(pendulum_run.parent / name, tmp_path)

    def write(run, shift=None):
        target = tmp_path / f"run{run}"
        if not target.exists():
            shutil.copytree(pendulum_run, target)
        moved = np.array([{**TRUE, "bias": BIAS}[n] for n in known["names"]])
        moved += deviation @ rng.normal(size=4)
        for name, change in (shift or {}).items():
            moved[known["names"].index(name)] += change
        solution = json.loads(json.dumps(source))
        solution["known"].update(centre=moved.tolist(), precision=precision.tolist())
        for row, value in zip(solution["parameters"], moved, strict=True):
            row.update(value=value, model_error_ratio=0.1)
        (target / "solution.json").write_text(json.dumps(solution))
        return target

    return [write(run) for run in range(6)], write


def test_runs_alike_fit_and_one_with_another_load_is_named(fleet, tmp_path):
    runs, write = fleet
    found = reconcile(runs)
    assert not found.pooled.outlying
    write(4, {"mass": 0.3})
    found = reconcile(runs, tmp_path / "out")
    content = json.loads((tmp_path / "out" / "reconcile.json").read_text())
    (outlier,) = content["outlying"]
    assert outlier["run"].endswith("run4")
    assert outlier["reason"].startswith("different load: mass +")
    (mass,) = [p for p in content["parameters"] if p["name"] == "mass"]
    assert mass["low"] < 0.6 < mass["high"]
    assert mass["same"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "different load" in page
    assert "run4 (does not fit)" in page


@pytest.mark.parametrize(
    "changes, words",
    [
        ([("d", "friction", 0.3, 0.4)], "a warm motor or gearbox"),
        ([("d", "friction", 0.5, 0.4), ("f", "friction", 0.3, 0.2)], "a cold motor"),
        ([("d", "friction", 0.5, 0.4), ("f", "friction", 0.1, 0.2)], "friction: d +25 %, f -50 %"),
        ([("m", "load", 1.1, 1.0)], "different load: m +10 %"),
        ([("kp", "drive", 22.0, 20.0)], "different gains"),
        ([("t", "delay", 0.01, 0.002)], "different delay"),
        ([("z", "zero", 0.1, -0.02)], "different zero of an encoder or spring: z 0.1"),
        ([("x", "other", 2.0, 1.0)], "different values: x"),
        (
            [("v", "other", 57.4, 1.0), ("w", "friction", 28.5, 0.5)],
            "different unit: v, w are 57.3",
        ),
        ([("v", "friction", 0.001, 1.0)], "different unit: v are 0.001 times"),
    ],
)
def test_reasons_name_what_changed(changes, words):
    assert reason([Change(*change) for change in changes]).startswith(words)


def test_runs_that_cannot_be_reconciled_are_refused(fleet, tmp_path):
    runs, _ = fleet
    with pytest.raises(RunDirectoryError, match="2 runs cannot be reconciled"):
        reconcile(runs[:2])
    with pytest.raises(RunDirectoryError, match="listed twice"):
        reconcile([*runs[:3], runs[0]])
    reason = {"grade": "do not use", "sentence": "A constant is better.", "section": ""}
    verdict = {"grade": "do not use", "reasons": [reason], "comparisons": [], "criteria": []}
    file = runs[1] / "solution.json"
    solution = json.loads(file.read_text())
    for change, words in (
        ({"verdict": verdict}, 'is "do not use"'),
        (
            {"known": {**solution["known"], "names": ["a", "b", "c", "d"]}},
            "its unknowns are not those of its parameters",
        ),
        ({"parameters": [{**p, "unit": "lb"} for p in solution["parameters"]]}, "the unit 'lb'"),
        ({"known": None}, "the fit is not at an optimum"),
    ):
        file.write_text(json.dumps({**solution, **change}))
        with pytest.raises(RunDirectoryError, match=words):
            reconcile(runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_copies_of_a_run_count_once(fleet, tmp_path, capsys):
    runs, _ = fleet
    copies = [shutil.copytree(runs[0], tmp_path / f"copy{i}") for i in range(2)]
    solution = json.loads((copies[1] / "solution.json").read_text())
    # fitted again from the same recordings: other digits, and another name
    solution["name"] = "again"
    solution["known"]["centre"][1] += 1e-7
    (copies[1] / "solution.json").write_text(json.dumps(solution))
    alone = reconcile(runs, tmp_path / "alone")
    found = reconcile([*runs, *copies], tmp_path / "out")
    np.testing.assert_array_equal(found.pooled.common, alone.pooled.common)
    np.testing.assert_array_equal(found.pooled.covariance, alone.pooled.covariance)
    content = json.loads((tmp_path / "out" / "reconcile.json").read_text())
    assert [c["run"][-5:] for c in content["copies"]] == ["copy0", "copy1"]
    assert {c["of"] for c in content["copies"]} == {str(runs[0])}
    assert "copy0 is a copy of" in (tmp_path / "out" / "report.html").read_text()
    assert main(["reconcile", *map(str, [*runs[:3], *copies])]) == 0
    assert "they count as one run" in capsys.readouterr().out
    assert main(["reconcile", *map(str, [runs[0], *copies, runs[1]])]) == 2
    assert "2 runs cannot be reconciled" in (said := capsys.readouterr().err)
    assert "copy0 is a copy of run0" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda known: known["precision"][0].__setitem__(1, 1e9), "not symmetric: .* of armature"),
        (lambda known: known["precision"][1].__setitem__(1, -5.0), "negative: -5 of damping"),
        (
            lambda known: [known["precision"][i].__setitem__(j, 1e12) for i, j in ((0, 1), (1, 0))],
            "negative in a direction of 'armature', 'damping'",
        ),
        (lambda known: known["names"].__setitem__(1, "dampling"), "'damping', 'dampling'"),
        (lambda known: known["names"].__setitem__(1, "armature"), "duplicate names: 'armature'"),
        (
            lambda known: known.update(inflation=-1.0),
            "inflation of the Gaussian must be positive and finite, found -1",
        ),
    ],
)
def test_knowledge_that_none_can_be_is_refused_by_name(fleet, tmp_path, change, words, capsys):
    runs, _ = fleet
    file = runs[1] / "solution.json"
    solution = json.loads(file.read_text())
    change(solution["known"])
    file.write_text(json.dumps(solution))
    with pytest.raises(RunDirectoryError, match=words):
        reconcile(runs, tmp_path / "out")
    with pytest.raises(RunDirectoryError, match=words):
        export_randomisation(runs[1], tmp_path / "out", draws=64)
    assert not (tmp_path / "out").exists()


def test_the_command_prints_writes_and_refuses(fleet, tmp_path, capsys):
    runs, write = fleet
    write(2, {"damping": 0.2})
    words = ["reconcile", *map(str, runs), "--output", str(tmp_path / "out")]
    assert main([*words, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [o["run"][-4:] for o in content["outlying"]] == ["run2"]
    assert "cold motor" in content["outlying"][0]["reason"]
    assert main(words) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0
    assert "run2 is an outlier: a cold motor" in capsys.readouterr().out
    assert main(["reconcile", str(runs[0])]) == 2
    assert main([*words, "--overwrite", "--level", "2"]) == 2


def test_draws_of_a_fleet_have_its_spread_and_leave_out_what_does_not_fit(fleet, tmp_path, capsys):
    runs, write = fleet
    for run, change in enumerate((-0.05, -0.03, 0.0, 0.02, 0.04, 0.02)):
        write(run, {"mass": change, "armature": -0.25 * change})  # the same inertia in all
    write(5, {"damping": 0.5})
    made = export_randomisation(runs, tmp_path / "draws", draws=600)
    column = dict(zip(made.draws.names, made.draws.values.T, strict=True))
    assert 0.02 < column["mass"].std() < 0.09
    assert column["damping"].max() < 0.5
    assert [o["run"][-4:] for o in made.description["fleet"]["outlying"]] == ["run5"]
    assert not made.description["checked"]
    assert "Excluded" in (tmp_path / "draws" / "report.html").read_text()
    words = ["export", "dr", *map(str, runs), "draws=64", "--quiet"]
    assert main(words) == 2
    assert "--output" in capsys.readouterr().err
    assert main([*words, "--output", str(tmp_path / "again")]) == 0
    assert "fleet of 5 robots" in capsys.readouterr().out
    assert main([*words[:4], "--output", str(tmp_path / "two")]) == 2  # two runs are no fleet
