"""Intervals include the error by the time step, which is a finding where it decides."""

import pytest
from servo_steps import identified, outside


def stated(found) -> list[dict]:
    return [r for r in found.summary["verdict"]["reasons"] if "time step decides" in r["sentence"]]


@pytest.fixture(scope="module")
def fine(tmp_path_factory):
    """A machine with a quarter of the time step of its model."""
    return identified(tmp_path_factory.mktemp("fine"), step=0.002, machine_step=0.0005)


def test_the_values_of_a_machine_with_finer_steps_are_inside(fine):
    assert outside(fine) == []
    effect = fine.assessment.time_step
    rows = {row["name"]: row for row in fine.summary["parameters"]}
    i = effect.names.index("damping")
    assert effect.ratios[i] > 2.0
    # half the step removes half of the error of an integrator of first order
    there = effect.values[i] + 1.5 * (effect.halved[i] - effect.values[i])
    assert there == pytest.approx(0.3, abs=0.01)
    assert abs(rows["damping"]["value"] - 0.3) > 2 * abs(there - 0.3)


def test_the_finding_has_the_number(fine):
    (reason,) = stated(fine)
    assert "(0.001 s) damping would be" in reason["sentence"]
    assert "half-widths" in reason["sentence"]


def test_a_fine_model_has_no_such_finding(tmp_path):
    found = identified(tmp_path, step=0.0005, machine_step=0.0005, noise=3e-3, seconds=3.0)
    assert stated(found) == []
