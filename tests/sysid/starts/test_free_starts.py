"""A start that the motion contradicts becomes an unknown; one within its noise does not."""

import pytest
from servo_steps import TRUTH, identified, outside

from trueup.knowledge.drawn_run import drawn_run


@pytest.fixture(scope="module")
def jumped(tmp_path_factory):
    """A joint at rest whose command jumps at the first sample."""
    return identified(tmp_path_factory.mktemp("jump"), jump=0.5)


def test_a_jump_of_the_first_command_does_not_bend_the_estimates(jumped):
    assert jumped.summary["verdict"]["grade"] == "use"
    assert outside(jumped) == []
    for row in jumped.summary["parameters"][:3]:
        assert row["value"] == pytest.approx(TRUTH[row["name"]], rel=0.05)


def test_the_start_is_estimated_and_stated(jumped):
    rows = {row["name"]: row for row in jumped.summary["window_states"]}
    speed = rows["initial_j_qvel_log"]
    assert speed["low"] <= 0.0 <= speed["high"]  # the local fit to the first samples has 2 rad/s
    assert abs(speed["value"]) < 0.1 < speed["start"]
    assert any("contradicts the initial state of 'log'" in n for n in jumped.summary["notes"])


def test_the_run_has_the_unknowns_of_its_experiment(jumped):
    """A start that the fit added is none of them: draws and other readers of the run work."""
    assert [row["name"] for row in jumped.summary["parameters"]] == list(TRUTH)
    run = drawn_run(jumped.directory)
    _, values = run.draw(32, 0, None)
    assert values.shape == (32, len(TRUTH))


def test_a_smooth_beginning_keeps_its_measured_start(tmp_path):
    found = identified(tmp_path)
    assert list(found.problem.space.names) == list(TRUTH)
    assert outside(found) == []
