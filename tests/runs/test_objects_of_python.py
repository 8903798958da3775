"""Runs of objects that no file holds: Python continues them, and everything else says so."""

import dataclasses

import numpy as np
import pytest
from servo_bench_logs import bench_log, write_logs

from trueup import actuators, runs
from trueup.actuators import ComparisonSettings, FitSettings, Pendulum, bench_of, read_logs
from trueup.cli import main
from trueup.errors import FitError, RunDirectoryError
from trueup.runs import Budget

SETTINGS = FitSettings("cmaes", trials=40)


def fit(logs, run, **options):
    return actuators.fit("xl330", "m1", logs, settings=SETTINGS, directory=run, **options)


@pytest.fixture(scope="module")
def logs():
    return [bench_log(f"kp{kp:g}", kp) for kp in (100.0, 200.0)]


def test_a_fit_of_logs_without_files_is_resumed_with_the_logs(logs, tmp_path, capsys):
    run = tmp_path / "run"
    first = fit(logs, run)
    assert first.output is None and first.directory == run
    again = fit(logs, run, resume=True)
    assert again.solution.cost == first.solution.cost
    longer = fit(logs, run, resume=True, limits=Budget(max_evaluations=80))
    assert longer.solution.stats["evaluations"] > first.solution.stats["evaluations"]
    with pytest.raises(RunDirectoryError, match=r"'logs' .* were Python objects"):
        runs.resume(run, verbose=False)
    assert main(["report", str(run)]) == 2
    assert "report.html" in capsys.readouterr().err
    changed = dataclasses.replace(logs[0], position=logs[0].position + 0.01)
    with pytest.raises(RunDirectoryError, match="other bounds, start values, settings"):
        fit([changed, logs[1]], run, resume=True)


def test_logs_that_lie_in_files_are_found_again(tmp_path):
    read = read_logs(write_logs(tmp_path), uniform=True)
    fit(read[:2], tmp_path / "run")
    assert runs.resume(tmp_path / "run", verbose=False).result.training.by_log.keys() == {
        "kp100",
        "kp200",
    }
    # one that was changed after it was read is no longer what its file holds
    shifted = dataclasses.replace(read[0], goal_position=read[0].goal_position + 0.1)
    fit([shifted, read[1]], tmp_path / "shifted")
    with pytest.raises(RunDirectoryError, match="were Python objects"):
        runs.resume(tmp_path / "shifted", verbose=False)


def test_a_fit_with_benches_of_its_own_is_resumed_with_them(tmp_path):
    read = read_logs(write_logs(tmp_path), uniform=True)[:1]
    known = bench_of(read[0])
    assert isinstance(known, Pendulum)
    benches = [dataclasses.replace(known, inertia=1.1 * known.inertia)]
    first = fit(read, tmp_path / "run", benches=benches)
    with pytest.raises(RunDirectoryError, match="'benches'"):
        runs.resume(tmp_path / "run", verbose=False)
    again = fit(read, tmp_path / "run", benches=benches, resume=True)
    np.testing.assert_array_equal(again.solution.x, first.solution.x)


def test_a_fit_starts_from_an_earlier_one(logs, tmp_path):
    first = fit(logs, tmp_path / "first")
    second = actuators.fit(
        *("xl330", "m1", logs),
        settings=FitSettings("random", trials=1),
        directory=tmp_path / "second",
        start=tmp_path / "first",
    )
    assert second.solution.cost <= first.solution.cost
    assert any("first" in note for note in second.to_dict()["notes"])


def test_a_comparison_of_logs_without_files_is_resumed_with_the_logs(logs, tmp_path):
    settings = ComparisonSettings(models=("m1",), fit=SETTINGS)
    run = tmp_path / "run"
    first = actuators.compare([], logs, directory=run, settings=settings, verbose=False)
    with pytest.raises(RunDirectoryError, match="were Python objects"):
        runs.resume(run, verbose=False)
    again = actuators.compare(
        [], logs, directory=run, settings=settings, resume=True, verbose=False
    )
    assert again.models[0].training == first.models[0].training
    with pytest.raises(FitError, match="directory="):
        actuators.compare([], logs, settings=settings)
