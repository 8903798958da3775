"""One verdict in the terminal, in --json, in solution.json and on the page."""

import copy
import json
from collections.abc import Callable
from typing import Any

import driven_pendulum as pendulum
import numpy as np
import pytest
import yaml

from trueup.cli import main
from trueup.cli.run_results import code_of
from trueup.fitting import Grade, Reason, Verdict
from trueup.gait import Walker, WalkSettings, WalkSimulation

SEED_WITHOUT_FRICTION = 3
"""Noise with which the fit puts the friction at zero, where the truth is."""


def identify(files: pendulum.Files, command: Callable, **changes: Any) -> tuple[int, dict]:
    content = copy.deepcopy(pendulum.EXPERIMENT) | changes
    files.experiment.write_text(yaml.safe_dump(content))
    return command("identify", files.experiment, "--quiet")


def sentences(verdict: dict) -> str:
    return "\n".join(reason["sentence"] for reason in verdict["reasons"])


def test_the_same_verdict_stands_everywhere(files: pendulum.Files, capsys):
    content = copy.deepcopy(pendulum.EXPERIMENT) | {"output": {"report": True}}
    files.experiment.write_text(yaml.safe_dump(content))
    assert main(["identify", str(files.experiment), "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert main(["identify", str(files.experiment), "--overwrite", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["verdict"]
    written = json.loads((files.run / "solution.json").read_text())["verdict"]
    assert said == written
    assert said["grade"] == "use"
    lines = Verdict.from_dict(said).lines()
    assert "\n".join(lines) in shown
    # first: before any table
    assert shown.index(lines[0]) < shown.index("parameter")
    page = (files.run / "report.html").read_text()
    for reason in said["reasons"]:
        assert reason["sentence"] in page
    assert page.index('id="verdict"') < page.index('id="parameters"')
    # errors of what the fit has not seen, beside what costs nothing
    unseen = [c for c in said["comparisons"] if c["held_out"]]
    assert {c["channel"] for c in unseen} == {"angle", "speed"}
    for c in unseen:
        assert set(c["baselines"]) == {
            "a constant", "the last state held", "the velocity held", "the model before the fit",
        }  # fmt: skip
        assert c["error"] < min(c["baselines"].values())


def test_a_single_recording_is_judged_by_a_fit_that_has_not_seen_its_end(files, command):
    code, said = identify(files, command, held_out={})
    assert code == 0
    assert said["verdict"]["grade"] == "use"
    assert "without the last quarter of each recording" in sentences(said["verdict"])
    unseen = [c for c in said["verdict"]["comparisons"] if c["held_out"]]
    assert {c["channel"] for c in unseen} == {"angle", "speed"}
    # the values, the scores and the signals are those of all data
    assert {row["part"] for row in said["scores"]} == {"training"}


def test_the_end_of_a_recording_that_contradicts_its_beginning_is_not_to_be_used(files, command):
    rows = files.recording.read_text().splitlines()
    torque, cut = rows[0].split(",").index("torque"), 1 + int(0.75 * (len(rows) - 1))
    for i in range(cut, len(rows)):
        cells = rows[i].split(",")
        cells[torque] = f"{-3.0 * float(cells[torque]):.9g}"
        rows[i] = ",".join(cells)
    files.recording.write_text("\n".join(rows) + "\n")
    _, said = identify(files, command, held_out={})
    assert said["verdict"]["grade"] == "do not use"


def test_a_recording_that_is_too_short_to_split_is_one_to_look_at(files, command):
    rows = files.recording.read_text().splitlines()
    files.recording.write_text("\n".join(rows[:32]) + "\n")
    _, said = identify(files, command, held_out={})
    assert said["verdict"]["grade"] != "use"
    assert "No data was held out" in sentences(said["verdict"])
    assert "is too short to hold out its end" in sentences(said["verdict"])


def test_folds_are_held_out_data(files, command):
    part = pendulum.EXPERIMENT["recordings"][0]
    (files.folder / "again.csv").write_text(pendulum.recorded(1))
    recordings = [part, {**part, "file": "again.csv"}]
    _, said = identify(files, command, held_out={"folds": 2}, recordings=recordings)
    assert said["verdict"]["grade"] == "use"
    assert any(c["held_out"] for c in said["verdict"]["comparisons"])


def test_a_fit_that_did_not_converge_is_not_to_be_used_and_has_no_interval(files, command):
    code, said = identify(files, command, search={"max_iters": 1}, output={"report": True})
    assert code == 3
    assert said["verdict"]["grade"] == "do not use"
    assert "did not converge" in sentences(said["verdict"])
    for row in said["parameters"]:
        assert row["low"] is None and row["high"] is None and row["standard_error"] is None
        assert not row["determined"]
    assert not any(i["severity"] == "good" for i in said["insights"])
    assert "No intervals: the fit is not an optimum" in (files.run / "report.html").read_text()


def test_a_value_on_a_bound_is_not_to_be_used(files, command):
    parameters = copy.deepcopy(pendulum.EXPERIMENT["parameters"])
    parameters["damping"]["bounds"] = [0.05, 0.15]  # the true one is 0.3
    _, said = identify(files, command, parameters=parameters)
    assert said["verdict"]["grade"] == "do not use"
    assert "damping ended on a bound" in sentences(said["verdict"])


def test_what_the_start_values_predict_better_is_not_to_be_used(files, command):
    """A model that starts at the truth, fitted to torques that are wrong where it sees them."""
    files.model.write_text(pendulum.MODEL.format(**pendulum.TRUE))
    rows = files.recording.read_text().splitlines()
    cut = 1 + int(0.7 * (len(rows) - 1))
    torque = rows[0].split(",").index("torque")
    for i in range(1, cut):
        cells = rows[i].split(",")
        cells[torque] = f"{1.5 * float(cells[torque]):.9g}"
        rows[i] = ",".join(cells)
    files.recording.write_text("\n".join(rows) + "\n")
    _, said = identify(files, command)
    assert said["verdict"]["grade"] == "do not use"
    assert "Worse than the model before the fit on held-out data" in sentences(said["verdict"])


def test_a_term_that_does_not_exist_is_zero_and_no_reason_against_the_fit(tmp_path, command):
    files = pendulum.write(tmp_path, seed=SEED_WITHOUT_FRICTION)
    parameters = copy.deepcopy(pendulum.EXPERIMENT["parameters"])
    parameters["friction"] = {"target": "joint/hinge/frictionloss", "bounds": [0, 1]}
    _, said = identify(files, command, parameters=parameters)
    friction = next(r for r in said["parameters"] if r["name"] == "friction")
    assert friction["at_bound"] and friction["value"] == 0.0
    assert said["verdict"]["grade"] == "use"
    assert "friction is zero within the noise" in sentences(said["verdict"])


@pytest.mark.parametrize(
    ("options", "code", "grade"),
    [
        (("--method", "cmaes"), 0, "use"),
        (("--method", "cmaes", "--evaluations", 30), 3, "look"),
        (("--method", "random", "--evaluations", 30), 0, "look"),
    ],
)
def test_of_a_study_the_search_is_judged(command, tmp_path, options, code, grade):
    run = tmp_path / "run"
    found, said = command("study", "run", "sphere", "--dimension", 2, *options, "-o", run)
    assert found == code
    assert said["verdict"]["grade"] == grade
    assert not said["verdict"]["comparisons"]
    assert json.loads((run / "solution.json").read_text())["verdict"] == said["verdict"]
    assert said["verdict"]["reasons"][0]["sentence"] in (run / "report.html").read_text()


def test_a_study_without_a_valid_candidate_is_not_to_be_used(command, tmp_path):
    file = tmp_path / "lost.py"
    file.write_text(
        "import numpy as np\n"
        "from trueup.fitting import VectorisedCosts\n"
        "from trueup.parameters import Parameter, ParameterDict\n"
        "def lost():\n"
        "    space = ParameterDict({'a': Parameter('a', 0.5, 0.0, 1.0)}).space()\n"
        "    return VectorisedCosts(lambda X: np.full(len(X), np.nan), space)\n"
    )
    options = ("--method", "random", "--evaluations", 8, "-o", tmp_path / "run")
    _, said = command("study", "run", f"{file}:lost", *options)
    assert said["verdict"]["grade"] == "do not use"
    assert "No candidate was valid" in sentences(said["verdict"])


def test_do_not_use_has_its_exit_code(tmp_path, capsys):
    """3 for a result that is not to be used, whatever the kind of it; 0 for use and look."""
    codes = {grade: code_of(Verdict((Reason(grade, "."),))) for grade in Grade}
    assert codes == {Grade.USE: 0, Grade.LOOK: 0, Grade.DO_NOT_USE: 3}
    assert code_of(None) == 0 and code_of(None, complete=False) == 3
    # a walk that falls
    settings = WalkSettings(duration=0.1, threads=1)
    np.savetxt(
        tmp_path / "walk.txt", WalkSimulation(Walker.load("planar22"), settings).parameters.start
    )
    words = ["gait", "evaluate", str(tmp_path / "walk.txt"), "model_file=planar22", "--json"]
    assert main([*words, "sim_time=0.2"]) == 0
    assert main([*words, "sim_time=8"]) == 3
