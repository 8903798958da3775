"""Noise of the measured motion in a fit to torques: its bias, and intervals that allow for it."""

from dataclasses import replace

import numpy as np
from driven_arms import Plant, experiment, model_of, record

from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.sysid.assess.fit_covariance import residual_covariance, with_measured_noise
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.torque.bandwidth import CORNERS, choose_bandwidth
from trueup.sysid.torque.measured_noise import noise_effect
from trueup.sysid.torque.own_error import fitted
from trueup.sysid.torque.problem import TorqueProblem

NOISE = 0.12  # of velocities [rad/s]
TORQUES = "search: {method: inverse-dynamics}"


def problem_with(folder, table, rng, size):
    noisy = table.copy()
    noisy[:, 2] += size * rng.normal(size=len(table))
    np.savetxt(
        folder / "arm.csv", noisy, delimiter=",", header="t,q1,v1,u1", comments="", fmt="%.9g"
    )
    plant = Plant(1, servo=False)
    (folder / "arm.xml").write_text(model_of(plant))
    prepared = prepare(parse_experiment(experiment(plant, more=TORQUES)), folder)
    bandwidth = choose_bandwidth(prepared.training, prepared.held_out, held=True)
    bandwidth = replace(bandwidth, corner=CORNERS[2], rest=None)
    return TorqueProblem(
        prepared.parameters, prepared.training, bandwidth, {"shoulder torque": 1.0}
    )


def test_noise_makes_armatures_small_by_as_much_as_is_predicted(tmp_path):
    record(tmp_path, Plant(1, servo=False), seconds=12.0)
    table = np.loadtxt(tmp_path / "arm.csv", delimiter=",", skiprows=1)
    rng = np.random.default_rng(0)
    clean = problem_with(tmp_path, table, rng, 0.0)
    truth, _ = fitted(clean, clean.space.start)
    found, predicted, by_noise, by_residuals = [], [], [], []
    for _ in range(3):
        problem = problem_with(tmp_path, table, rng, NOISE)
        x, _ = fitted(problem, truth)
        residual, jacobian, _ = final_jacobian(problem, x)
        effect = noise_effect(problem, x)
        inverse = np.linalg.inv(jacobian.T @ jacobian)
        found.append(x[0] - truth[0])
        predicted.append(-(inverse @ effect.mean)[0])
        on = np.zeros(3, bool)
        plain = [residual_covariance(problem, residual, jacobian, on, "auto", 0.05, Loss(), 0)]
        (wider,) = with_measured_noise(plain, problem, x, jacobian)
        assert (wider.half_widths >= plain[0].half_widths).all()
        by_noise.append(wider.half_widths[0])
        by_residuals.append(plain[0].half_widths[0])
    assert np.mean(found) < -2 * np.std(found) / np.sqrt(3)
    assert 0.5 < np.mean(predicted) / np.mean(found) < 1.6
    assert (np.abs(found) < by_noise).all() and (np.abs(found) > by_residuals).any()
