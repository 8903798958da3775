"""A joint fit of runs: all recordings once, narrower than each run, and what is refused."""

import shutil

import numpy as np
import pytest
import yaml
from pendulum import TRUE

from trueup import sysid
from trueup.cli import main
from trueup.errors import RunDirectoryError
from trueup.reconcile.joint_fit import joint_experiment


@pytest.fixture(scope="module")
def three_runs(pendulum_run, tmp_path_factory):
    """Runs of the pendulum, each with a recording of its own, and one recording held out."""
    folder = tmp_path_factory.mktemp("three")
    source = pendulum_run.parent
    shutil.copy(source / "arm.xml", folder)
    shutil.copy(source / "log1.csv", folder)
    plain = yaml.safe_load((source / "experiment.yaml").read_text())
    plain["parameters"]["mass"]["prior"] = {"mean": TRUE["mass"], "sd": 0.02}
    plain["held_out"] = {"fraction": 0.2}
    runs = []
    for number in range(3):
        rows = np.loadtxt(source / "log0.csv", delimiter=",", skiprows=1)
        rows[:, 1:3] += np.random.default_rng(number).normal(0, (0.002, 0.02), (len(rows), 2))
        name = f"day{number}.csv"
        np.savetxt(folder / name, rows, delimiter=",", header="t,q,dq,tau", comments="")
        recording = {**plain["recordings"][0], "file": name, "name": "log"}
        file = folder / f"day{number}.yaml"
        file.write_text(yaml.safe_dump({**plain, "recordings": [recording]}, sort_keys=False))
        experiment = sysid.load_experiment(file)
        found = sysid.identify(experiment, folder, output=folder / f"run{number}", verbose=False)
        runs.append(found.directory)
    return runs


def test_the_command_fits_all_recordings_together(three_runs, tmp_path, capsys):
    target = tmp_path / "common"
    words = ["reconcile", *map(str, three_runs), "--output", str(target), "--joint"]
    assert main(words) == 0
    assert str(target / "joint" / "report.html") in capsys.readouterr().out
    together = sysid.load_experiment(target / "joint" / "experiment.yaml")
    assert [r.name for r in together.recordings] == ["run0_log", "run1_log", "run2_log"]
    rows = sysid_rows(target / "joint")
    alone = sysid_rows(three_runs[0])
    low, high = rows["damping"]
    assert low < TRUE["damping"] < high
    # three times the data
    ratio = (high - low) / (alone["damping"][1] - alone["damping"][0])
    assert 0.4 < ratio < 0.8


def sysid_rows(run):
    """Interval of each parameter of a run."""
    from trueup.runs import RunDirectory, read_solution

    solution = read_solution(RunDirectory.open(run))
    return {row["name"]: (row["low"], row["high"]) for row in solution["parameters"]}


def test_runs_that_cannot_be_fitted_together_are_refused(three_runs, tmp_path, capsys):
    with pytest.raises(RunDirectoryError, match=r"share the recording day0.csv"):
        joint_experiment([three_runs[0], three_runs[1], three_runs[0]])
    words = ["reconcile", *map(str, three_runs), "--joint"]
    assert main(words) == 2
    assert "--output" in capsys.readouterr().err
    folder = three_runs[0].parent
    content = yaml.safe_load((three_runs[1] / "experiment.yaml").read_text())
    content["parameters"]["damping"]["bounds"] = [0.0, 5.0]
    shutil.copytree(three_runs[1], folder / "other")
    (folder / "other" / "experiment.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(RunDirectoryError, match=r"differ in 'parameters'"):
        joint_experiment([three_runs[0], folder / "other"])
