"""Posterior of an identification by sampling: intervals, files, page, resume, draws, refusals."""

import json

import mujoco
import numpy as np
import pytest
import yaml
from mujoco.rollout import rollout

from trueup import runs
from trueup.cli import main
from trueup.errors import RunDirectoryError
from trueup.knowledge.drawn_run import drawn_run
from trueup.runs import RunInterrupted
from trueup.sysid import identify
from trueup.sysid.assess import posterior
from trueup.sysid.experiment.file import parse_experiment

MODEL = """
<mujoco><option timestep="0.004" gravity="0 0 0"/><worldbody><body name="box">
<inertial pos="0 0 0" mass="{mass}" diaginertia="0.01 0.01 0.01"/>
<joint name="slide" type="slide" axis="1 0 0" damping="{damping}"/></body></worldbody>
<actuator><motor name="push" joint="slide" gear="{gear}"/></actuator>
<sensor><jointpos name="position" joint="slide"/></sensor></mujoco>
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pushed mass: mass, damping and gear have a common factor that no motion determines."""
    path = tmp_path_factory.mktemp("posterior")
    (path / "mass.xml").write_text(MODEL.format(mass=1.5, damping=3.0, gear=1.0))
    model = mujoco.MjModel.from_xml_string(MODEL.format(mass=1.0, damping=2.0, gear=1.0))
    rng = np.random.default_rng(1)
    times = np.arange(150) * 0.004
    force = 30 * np.sin(2 * np.pi * 2.3 * times)
    moved = rollout(model, mujoco.MjData(model), np.zeros(3), force[:, None])[1][0]
    table = np.column_stack([times, moved + 1e-3 * rng.normal(size=moved.shape), force])
    np.savetxt(path / "log.csv", table, delimiter=",", header="t,x,f", comments="")
    return path


def experiment(folder, **changes):
    content = {
        "name": "mass",
        "model": "mass.xml",
        "recordings": [
            {
                "file": "log.csv",
                "time": "t",
                "signals": {"position": "x"},
                "controls": {"push": "f"},
                "initial": "default",
            }
        ],
        "parameters": {
            "mass": {"target": "body/box/mass", "bounds": [0.2, 5]},
            "damping": {"target": "joint/slide/damping", "bounds": [0, 20]},
        },
        "measurement": {"signals": {"position": {"noise": 0.001}}},
        "held_out": {"fraction": 0},
        "confidence": {"method": "sampling"},
    }
    return parse_experiment(yaml.safe_dump(content | changes, sort_keys=False))


@pytest.fixture(scope="module")
def sampled(folder):
    return identify(experiment(folder), folder, output=folder / "sampled")


def test_intervals_hold_the_truth_and_agree_with_the_linear_ones(folder, sampled):
    plain = identify(experiment(folder, confidence={}), folder, output=folder / "plain")
    for row, linear, true in zip(
        sampled.summary["parameters"], plain.summary["parameters"], (1.0, 2.0), strict=True
    ):
        assert row["low"] < true < row["high"]
        # 250 samples of a nearly linear problem: the posterior is nearly Gaussian
        assert row["high"] - row["low"] == pytest.approx(linear["high"] - linear["low"], rel=0.15)
    found = sampled.summary["posterior"]
    assert found["converged"]
    assert max(found["r_hat"].values()) < 1.01
    assert sampled.summary["covariance"]["method"] == "sampling"


def test_the_run_has_samples_and_a_page_of_them(folder, sampled):
    with np.load(folder / "sampled" / "posterior.npz", allow_pickle=False) as archive:
        assert list(archive["names"]) == ["mass", "damping"]
        assert archive["values"].shape[1] == 2
        assert list(archive["targets"]) == ["body/box/mass", "joint/slide/damping"]
        assert archive["values"].mean(axis=0) == pytest.approx([1.0, 2.0], rel=0.1)
    page = (folder / "sampled" / "report.html").read_text()
    assert "independent samples" in page
    assert not (folder / "sampled" / posterior.STATE_FILE).exists()
    # the page of the run alone, from its files
    assert "independent samples" in runs.report(folder / "sampled").html()


def test_draws_are_rows_of_the_samples(folder, sampled):
    run = drawn_run(folder / "sampled", anyway=True)
    check, values = run.draw(64, 0, None)
    assert check is None
    with np.load(folder / "sampled" / "posterior.npz", allow_pickle=False) as archive:
        rows = {tuple(np.round(row, 9)) for row in archive["values"]}
    assert {tuple(np.round(row, 9)) for row in values} <= rows
    assert len(np.unique(values, axis=0)) > 50


def test_samples_of_other_parameters_are_refused(folder, sampled):
    path = folder / "sampled" / "posterior.npz"
    content = path.read_bytes()
    try:
        for damage in (b"no archive", content[: len(content) // 2]):
            path.write_bytes(damage)
            with pytest.raises(RunDirectoryError, match=r"posterior\.npz"):
                drawn_run(folder / "sampled", anyway=True)
    finally:
        path.write_bytes(content)


def test_an_interrupted_sampling_is_resumed_to_the_same_numbers(folder, sampled, monkeypatch):
    advance, count = posterior.PosteriorSampler.advance, 0

    def interrupted(self, steps):
        nonlocal count
        count += 1
        if count == 5:
            raise KeyboardInterrupt
        advance(self, steps)

    monkeypatch.setattr(posterior.PosteriorSampler, "advance", interrupted)
    with pytest.raises(RunInterrupted):
        identify(experiment(folder), folder, output=folder / "broken")
    state = folder / "broken" / posterior.STATE_FILE
    with np.load(state, allow_pickle=False) as archive:
        done = archive["counts"][0]
    assert done == 40
    runs.resume(folder / "broken")
    assert count > 5
    assert not state.exists()
    first, second = (folder / name / "posterior.npz" for name in ("sampled", "broken"))
    with np.load(first) as one, np.load(second) as other:
        np.testing.assert_array_equal(one["values"], other["values"])


def test_a_damaged_state_is_sampled_again(folder, sampled, monkeypatch, tmp_path):
    state = tmp_path / posterior.STATE_FILE
    state.write_bytes(b"not an archive")
    again = posterior.sample_posterior(
        sampled.problem, sampled.solution.x, sampled.assessment, tmp_path, 0
    )
    np.testing.assert_array_equal(again.values, sampled.assessment.posterior.values)


def test_a_ridge_ends_with_samples_between_the_bounds(folder):
    names = {
        "mass": {"target": "body/box/mass", "bounds": [0.5, 2]},
        "damping": {"target": "joint/slide/damping", "bounds": [0, 8]},
        "gear": {"target": "actuator/push/gear/0", "bounds": [0.5, 1.8]},
    }
    result = identify(experiment(folder, parameters=names), folder, output=folder / "ridge")
    rows = {row["name"]: row for row in result.summary["parameters"]}
    assert all(np.isfinite([row["low"], row["high"]]).all() for row in rows.values())
    assert not rows["gear"]["determined"]
    assert rows["gear"]["low"] < 0.9
    assert rows["gear"]["high"] > 1.7
    mass, _, gear = result.assessment.posterior.values.T
    assert (mass / gear).std() < 0.1 * mass.std()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"search": {"loss": "huber"}}, "search.loss is huber"),
        ({"search": {"method": "inverse-dynamics"}}, "simulates"),
        ({"confidence": {"method": "samplin"}}, "sampling"),
    ],
)
def test_what_cannot_be_sampled_is_refused(folder, changes, words, tmp_path):
    content = experiment(folder).model_dump(mode="json")
    for part, values in changes.items():
        content[part] = {**content[part], **values}
    file = folder / "refused.yaml"
    file.write_text(yaml.safe_dump(content))
    assert main(["identify", str(file), "--output", str(tmp_path / "run")]) == 2
    assert not (tmp_path / "run").exists()


def test_a_time_limit_ends_with_a_result_that_says_so(folder):
    limited = experiment(folder, search={"time_limit": 1e-6})
    result = identify(limited, folder, output=folder / "limited")
    assert json.loads((folder / "limited" / "solution.json").read_text())["name"] == "mass"
    found = result.summary["posterior"]
    # without an optimum there is nothing to sample around
    assert found is None or not found["converged"]
