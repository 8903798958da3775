"""What is printed against a fit grades it: torques, horizons, recordings of the fit, limits."""

import re
from pathlib import Path

import numpy as np
import pytest
from driven_arms import NAMES, Plant, experiment, model_of, record

from trueup import sysid
from trueup.fitting import Grade
from trueup.sysid.assess.assessment import SequenceSignals
from trueup.sysid.assess.doubts import doubts, evidence_at_limits
from trueup.sysid.assess.horizons import horizon_errors
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare

TRUTH = np.array([0.05, 0.6, 0.8])


def identified(folder: Path, plant: Plant, text: str) -> dict:
    (folder / "arm.xml").write_text(model_of(Plant(plant.joints, plant.servo)))
    found = sysid.identify(parse_experiment(text), folder, output=folder / "run", verbose=False)
    return found.summary


def reasons(summary: dict) -> list[str]:
    return [r["sentence"] for r in summary["verdict"]["reasons"] if r["grade"] != "use"]


def with_payload(folder: Path) -> dict:
    """A fit to torques of an arm whose payload the model lacks, with the mass given as unknown."""
    record(folder, plant := Plant(2, servo=False, payload=0.6))
    return identified(folder, plant, experiment(plant, more="search: {method: inverse-dynamics}"))


def test_torques_that_least_squares_explains_better_grade_joint_by_joint(tmp_path):
    summary = with_payload(tmp_path)
    (sentence,) = [s for s in reasons(summary) if "plain least squares" in s]
    rows = {r["channel"]: r for r in summary["torque"]["errors"]}
    for joint in NAMES:
        row = rows[f"{joint} torque"]
        assert row["identified"] > 2 * row["plain_least_squares"]
        assert f"{joint} torque {row['identified']:.3g} N m compared with" in sentence
    assert summary["verdict"]["grade"] != "use"
    # and nothing calls a noise given that nobody gave
    assert not any("the given noise" in i["sentence"] for i in summary["insights"])


def test_torques_that_contradict_the_simulation_grade(tmp_path):
    """A torque sensor that feels more damping than the command that moves the simulation."""
    record(tmp_path, plant := Plant(1, servo=False))
    table = np.loadtxt(tmp_path / "arm.csv", delimiter=",", skiprows=1)
    table = np.column_stack([table, table[:, 3] + table[:, 2]])
    np.savetxt(tmp_path / "arm.csv", table, delimiter=",", header="t,q1,v1,u1,s1", comments="")
    model = model_of(plant).replace(
        "</actuator>",
        '</actuator><sensor><jointactuatorfrc name="felt" joint="shoulder"/></sensor>',
    )
    (tmp_path / "arm.xml").write_text(model)
    text = experiment(plant).replace("shoulder_qvel: v1", "shoulder_qvel: v1, felt: s1")
    text += "\nmeasurement: {signals: {felt: {weight: 0}}}\n"
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "r", verbose=False)
    said = [s for s in reasons(found.summary) if s.startswith("The simulation gives")]
    assert any("torques give" in s and "shoulder torque" in s for s in said), reasons(found.summary)
    assert found.summary["verdict"]["grade"] != "use"
    rows = found.summary["torque"]["parameters"]
    assert {r["sentence"][:1].upper() + r["sentence"][1:] + "." for r in rows if r["sentence"]} <= {
        *said
    }


@pytest.mark.parametrize("servo", [True, False])
def test_right_models_are_not_contradicted_by_their_torques(servo, tmp_path):
    """Held commands act half a sample later than they are read: no contradiction."""
    record(tmp_path, plant := Plant(2, servo))
    summary = identified(tmp_path, plant, experiment(plant))
    assert summary["torque"]["doubts"] == []
    assert all(r["agrees"] for r in summary["torque"]["parameters"])


def test_torques_beside_a_stop_are_not_compared(tmp_path):
    record(tmp_path, plant := Plant(1, servo=False))
    (tmp_path / "arm.xml").write_text(
        model_of(plant).replace('axis="0 1 0"', 'axis="0 1 0" range="-10 10"')
    )
    text = experiment(plant, ("armature", "damping"), "search: {method: inverse-dynamics}")
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "r", verbose=False)
    assert not any("plain least squares with" in s for s in reasons(found.summary))


def test_a_horizon_at_which_the_held_velocity_is_better_grades(tmp_path):
    record(tmp_path, plant := Plant())
    (tmp_path / "arm.xml").write_text(model_of(plant))
    prepared = prepare(parse_experiment(experiment(plant)), tmp_path)
    problem = prepared.problem()
    right = horizon_errors(prepared, problem, TRUTH)
    assert not any(e.is_beaten for e in right)
    wrong = horizon_errors(prepared, problem, np.array([0.0, 5.0, 5.0]))
    beaten = {e.horizon for e in wrong if e.is_beaten}
    assert 0.1 in beaten
    found = doubts([], horizons=wrong)
    assert {r.grade for r in found} == {Grade.LOOK}
    assert any(r.sentence.startswith("0.1 s ahead") and "held" in r.sentence for r in found)
    assert doubts([], horizons=right) == []


def signals(name: str, offset: float, swing: float = 1.0, held_out: bool = False):
    times = np.linspace(0, 10, 1000)
    measured = swing * np.sin(times)[:, None]
    noise = np.random.default_rng(0).normal(size=measured.shape) * 0.01
    fitted = measured + offset
    return SequenceSignals(
        name, held_out, ("q",), times, measured + noise, fitted, fitted, ("rad",)
    )


def test_a_recording_of_the_fit_that_its_mean_meets_better_grades():
    assert doubts([signals("one", 0.0), signals("two", 0.05)]) == []
    (found,) = doubts([signals("one", 0.0), signals("two", 1.5)])
    assert found.grade is Grade.LOOK
    assert "q of two 1.5 rad compared with" in found.sentence and "one" not in found.sentence
    # a joint at rest, where the noise is all there is, says nothing
    assert doubts([signals("one", 0.0), signals("rest", 0.02, swing=0.0)]) == []
    # and held-out recordings have baselines of their own
    assert doubts([signals("one", 0.0), signals("two", 1.5, held_out=True)]) == []


def torque_of(value: float, width: float) -> dict:
    base = {"words": "shoulder frictionloss", "value": value, "half_width": width}
    return {"parameters": [], "base_parameters": [base]}


def test_a_value_at_zero_is_compared_with_least_squares():
    names, targets = ["friction"], {"friction": "joint/shoulder/frictionloss"}
    found = evidence_at_limits(names, targets, torque=torque_of(0.8, 0.05))
    assert found == {"friction": "plain least squares estimates 0.8 +- 0.05"}
    assert evidence_at_limits(names, targets, torque=torque_of(0.01, 0.05)) == {}
    assert evidence_at_limits(names, {}, torque=torque_of(0.8, 0.05)) == {}


def test_a_value_at_zero_that_a_fit_with_the_missing_term_moves_is_not_superfluous(tmp_path):
    """Links that are too heavy in the model press the armature to zero."""
    record(tmp_path, plant := Plant())
    (tmp_path / "arm.xml").write_text(model_of(Plant(payload=0.8)))
    text = experiment(plant)
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "r", verbose=False)
    assert [r["at_bound"] for r in found.summary["parameters"]] == [True, False, False]
    (ended,) = [s for s in reasons(found.summary) if "ended at a physical limit" in s]
    assert ended.startswith("armature_shoulder")
    # one joint: gain and mass scale the same numbers
    assert re.search("the fit with (mass|a payload|the servo gain) estimates", ended)
    first = found.summary["causes"][0]
    named = " ".join([first["cause"], *first["alike"]])
    assert "mass" in named or "payload" in named


def test_of_a_friction_that_does_not_exist_it_is_said_that_a_simpler_model_does_the_same(tmp_path):
    """A true zero is at the limit in half of all runs: that is no reason against the fit."""
    record(tmp_path, plant := Plant(friction=0.0), seconds=5.0, seed=1)
    summary = identified(tmp_path, plant, experiment(plant))
    assert summary["verdict"]["grade"] == "use" and not reasons(summary)
    said = [r["sentence"] for r in summary["verdict"]["reasons"]]
    (zero,) = [s for s in said if "frictionloss_shoulder" in s]
    assert zero.startswith("frictionloss_shoulder is zero within the noise, a physical limit")
    assert "a simpler model without it fits as well" in zero
    assert not any(i["severity"] != "good" for i in summary["insights"])


def test_a_zero_that_the_data_press_below_zero_grades(tmp_path):
    """Damping that the model has too much of: the friction that makes up for it is negative."""
    record(tmp_path, plant := Plant(friction=0.0), seconds=5.0, seed=1)
    more = model_of(Plant(), damping=(1.0, 1.0))
    (tmp_path / "arm.xml").write_text(more)
    text = "\n".join(line for line in experiment(plant).splitlines() if "damping" not in line)
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "r", verbose=False)
    assert found.summary["verdict"]["grade"] != "use"
    assert found.summary["parameters"][-1]["at_bound"]
    assert any("frictionloss_shoulder ended at" in s for s in reasons(found.summary))
    assert "within the noise" not in str(found.summary["verdict"]["reasons"])
