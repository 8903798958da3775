"""Pages of right models are free of warnings, whatever their noise and their start values are."""

from pathlib import Path

import numpy as np
import pytest
from driven_arms import ARMATURE, DAMPING, FRICTION, Plant, experiment, model_of, record
from scipy.signal import lfilter

from trueup import sysid
from trueup.fitting import Grade, minimise
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.sysid.assess.assessment import assess
from trueup.sysid.assess.window_length import window_reasons
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare


def identified(folder: Path, text: str) -> dict:
    run = sysid.identify(parse_experiment(text), folder, output=folder / "run", verbose=False)
    return run.summary


def with_noise(folder: Path, sizes: tuple[float, float], memory: float = 0.0) -> None:
    """Add noise to positions and velocities of ``arm.csv``."""
    table = np.loadtxt(folder / "arm.csv", delimiter=",", skiprows=1)
    noise = np.random.default_rng(3).normal(size=(len(table), 2))
    noise = lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], noise, axis=0)
    table[:, 1:3] += sizes * noise
    np.savetxt(folder / "arm.csv", table, delimiter=",", header="t,q1,v1,u1", comments="")


def warnings(summary: dict) -> list[str]:
    reasons = [r["sentence"] for r in summary["verdict"]["reasons"] if r["grade"] != "use"]
    said = [i["sentence"] for i in summary["insights"] if i["severity"] != "good"]
    return [*reasons, *said]


def test_correlated_noise_is_a_figure_and_no_warning(tmp_path):
    record(tmp_path, plant := Plant(), seconds=6.0)
    with_noise(tmp_path, (2e-3, 2e-2), memory=0.9)
    (tmp_path / "arm.xml").write_text(model_of(plant))
    summary = identified(tmp_path, experiment(plant))
    assert warnings(summary) == []
    row = summary["residuals"][0]
    assert row["channel"] == "shoulder_qpos" and row["unit"] == "rad"
    assert row["lag_one"] == pytest.approx(0.9, abs=0.08)
    # 0.9^2 of the variance follows from the past, less the white noise of the recording
    assert 0.6 < row["predictable"] < 0.9
    assert row["rms"] == pytest.approx(2e-3, rel=0.3)


def test_a_model_that_is_right_before_the_fit_is_confirmed(tmp_path):
    """The fit cannot be better than a start at the truth, and chance makes it worse."""
    record(tmp_path, plant := Plant(), seconds=6.0)
    truth = model_of(plant, armature=ARMATURE, damping=DAMPING, frictionloss=FRICTION)
    (tmp_path / "arm.xml").write_text(truth)
    text = experiment(plant)
    for start in ("start: 0.02, ", "start: 0.2, ", "start: 0.1, "):
        text = text.replace(start, "")  # the start is the value of the model
    summary = identified(tmp_path, text)
    assert summary["verdict"]["grade"] == "use"
    assert warnings(summary) == []
    said = [r["sentence"] for r in summary["verdict"]["reasons"]]
    assert any("the recordings confirm it" in s for s in said)


def test_values_that_depend_on_the_length_of_short_windows_grade(tmp_path):
    """Values of short windows that a fit with longer ones moves by more than their intervals."""
    record(tmp_path, plant := Plant(), seconds=6.0)
    (tmp_path / "arm.xml").write_text(model_of(plant))
    prepared = prepare(parse_experiment(experiment(plant, more="window: 0.1")), tmp_path)
    problem = prepared.problem()
    fit = minimise(problem, LeastSquares(problem.space))
    covariance = assess(problem, problem.space.start, fit).covariance
    assert window_reasons(prepared, problem, fit.x, covariance, 0.95) == []
    biased = fit.x + 3.0 * covariance.half_widths * [1.0, 0.0, 0.0]
    (said,) = window_reasons(prepared, problem, biased, covariance, 0.95)
    assert said.grade is Grade.LOOK
    assert f"armature_shoulder {biased[0]:.4g} and " in said.sentence
    assert "with windows of 0.1 s and 0.8 s" in said.sentence
    # without windows there is nothing to compare
    whole = prepare(parse_experiment(experiment(plant)), tmp_path)
    assert window_reasons(whole, problem, biased, covariance, 0.95) == []


@pytest.mark.parametrize("slip", [0.0, 6e-4])
def test_an_error_of_the_held_out_data_alone_is_seen(tmp_path, slip):
    """An encoder that slips by three times its noise in the part that the fit has not seen."""
    record(tmp_path, plant := Plant(), seconds=8.0)
    table = np.loadtxt(tmp_path / "arm.csv", delimiter=",", skiprows=1)
    table[table[:, 0] > 6.0, 1] += slip
    np.savetxt(tmp_path / "arm.csv", table, delimiter=",", header="t,q1,v1,u1", comments="")
    (tmp_path / "arm.xml").write_text(model_of(plant))
    text = experiment(plant, more="held_out: {fraction: 0.25}")
    said = [s for s in warnings(identified(tmp_path, text)) if "on the held-out data" in s]
    assert len(said) == bool(slip)
    assert all(s.startswith("shoulder_qpos: the error is ") for s in said)
