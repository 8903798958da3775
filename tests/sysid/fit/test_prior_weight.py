"""Priors beside data without a noise level: weighed by its residuals, fitted as was asked for."""

import numpy as np
import pytest
from test_identification import TRUE, experiment, record, run

from trueup import runs
from trueup.fitting.losses import Loss
from trueup.fitting.problem import Problem
from trueup.fitting.solution import Status
from trueup.runs import RunInterrupted, session
from trueup.sysid.fit import prior_weight
from trueup.sysid.fit.prior_weight import residual_scale


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("box")
    record(folder / "run_0.csv", seed=5, outliers=60)
    record(folder / "run_1.csv", seed=6)
    return folder


def with_prior(folder, sd: float, runs: int = 1, **changes) -> dict:
    content = experiment(folder, runs, **({"measurement": {}} | changes))
    content["parameters"]["stiffness"]["prior"] = {"mean": 60.0, "sd": sd}
    return content


def test_a_prior_that_says_nothing_leaves_a_robust_fit_as_it_is(recorded):
    without = experiment(recorded, 1, name="without", measurement={}, search={"loss": "huber"})
    expected = run(recorded, without).solution.x
    found = run(recorded, with_prior(recorded, 1e4, name="with", search={"loss": "huber"}))
    np.testing.assert_allclose(found.solution.x, expected, rtol=1e-4)
    assert found.problem.noise_scale != 1


def test_limits_hold_where_there_is_a_prior(recorded):
    result = run(recorded, with_prior(recorded, 1e4, name="limit", search={"max_iters": 0}))
    assert result.solution.status is Status.ITERATION_LIMIT
    np.testing.assert_array_equal(result.solution.x, result.problem.space.start)


def test_time_that_the_fit_has_used_is_not_there_for_the_second(recorded, monkeypatch):
    def late(*arguments, **options):
        solution = plain(*arguments, **options)
        solution.stats["seconds"] = 100.0
        return solution

    plain = session.run_search
    monkeypatch.setattr(session, "run_search", late)
    result = run(recorded, with_prior(recorded, 0.1, name="time", search={"time_limit": 60.0}))
    assert result.solution.status is Status.TIME_LIMIT


def test_an_interrupted_fit_with_a_prior_stays_interrupted(recorded, monkeypatch):
    def interrupted(*arguments, **options):
        solution = plain(*arguments, **options)
        solution.status = Status.INTERRUPTED
        return solution

    plain = session.run_search
    monkeypatch.setattr(session, "run_search", interrupted)
    with pytest.raises(RunInterrupted, match="study resume"):
        run(recorded, with_prior(recorded, 1e4, name="interrupted"))
    assert not (recorded / "runs/interrupted/solution.json").exists()


def test_ctrl_c_in_the_second_fit_and_in_others_is_not_swallowed(recorded, monkeypatch):
    class Interrupted(Problem):
        def __init__(self, space):
            self.space = space

        def residual_blocks(self, X, failures):
            raise KeyboardInterrupt

    plain_fit = prior_weight.inner_fit

    def stop(problem, search, time_limit=np.inf):
        return plain_fit(Interrupted(problem.space), search, time_limit)

    monkeypatch.setattr("trueup.sysid.fit.prior_weight.inner_fit", stop)
    with pytest.raises(RunInterrupted, match="study resume"):
        run(recorded, with_prior(recorded, 1e4, name="second"))
    monkeypatch.undo()
    monkeypatch.setattr("trueup.sysid.fit.cross_validation.inner_fit", stop)
    content = experiment(recorded, 2, name="fold", held_out={"folds": 2})
    with pytest.raises(RunInterrupted, match="study resume"):
        run(recorded, content)


def test_noise_of_a_signal_that_is_left_out_changes_nothing(recorded):
    found = [
        run(
            recorded,
            with_prior(
                recorded,
                0.3,
                name=f"left_out_{k}",
                measurement={"signals": {"position": {"weight": 0} | noise}},
            ),
        )
        for k, noise in enumerate(({}, {"noise": 2e-3}))
    ]
    np.testing.assert_array_equal(found[0].solution.x, found[1].solution.x)
    assert found[1].problem.noise_scale < 0.2


@pytest.mark.parametrize("search", [{}, {"loss": "huber"}])
@pytest.mark.parametrize("runs", [["run_0"], ["run_1"]])
def test_a_profile_agrees_with_the_interval(recorded, search, runs):
    """Where losses bend, and where the unit of the residual is not its noise."""
    content = with_prior(recorded, 5.0, 2, name="profile", search=search)
    content["recordings"] = [r for r in content["recordings"] if r["file"][:-4] in runs]
    content["confidence"] = {"profile": ["stiffness"], "method": "per_channel"}
    found = run(recorded, content | {"name": f"profile_{runs[0]}_{len(search)}"}).summary
    row = next(r for r in found["parameters"] if r["name"] == "stiffness")
    width = row["high"] - row["low"]
    assert row["profile_high"] - row["profile_low"] == pytest.approx(width, rel=0.2)


def test_a_channel_with_a_noise_level_counts_with_it(recorded):
    given = {"signals": {"velocity": {"noise": 2e-2}}}
    result = run(recorded, with_prior(recorded, 1e4, name="mixed", measurement=given))
    scale = residual_scale(result.problem, result.solution.x, Loss())
    # the velocity holds nearly all information: its noise is the unit
    assert scale == pytest.approx(1.0, abs=0.01)
    assert result.solution.parameters["stiffness"] == pytest.approx(TRUE["stiffness"], rel=0.02)


def test_counts_and_history_are_those_of_both_fits(recorded):
    result = run(recorded, with_prior(recorded, 0.3, name="counts"))
    evaluations = [h["evaluations"] for h in result.solution.history]
    assert evaluations == sorted(evaluations)
    assert result.solution.stats["evaluations"] == evaluations[-1]
    assert "with priors weighted" in result.solution.message
    # a run whose solution counts fewer evaluations than its study has not ended
    assert runs.state(recorded / "runs/counts").state == "converged"


def test_folds_and_held_out_data_weigh_priors_like_the_fit(tmp_path):
    """A prior far off, and far weaker than the data: no fold may follow it."""
    for i in range(2):
        record(tmp_path / f"run_{i}.csv", seed=i)
    content = with_prior(tmp_path, 5.0, 2, name="folds", held_out={"folds": 2, "fraction": 0.25})
    result = run(tmp_path, content)
    for values in (*result.cross_validation.values, result.assessment.stability.values):
        assert values[1] == pytest.approx(TRUE["stiffness"], rel=0.1)
