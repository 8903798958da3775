"""Too little motion for the parameters of a fit is said, with the time that is needed."""

import numpy as np
import pytest
from driven_arms import Plant, experiment, model_of, record

from trueup import sysid
from trueup.parameters import Parameter, ParameterDict
from trueup.sysid.assess.excitation import JointMotion, joint_motions, too_little
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare


def motions(folder, plant, seconds=8.0, still=()):
    record(folder, plant, seconds=seconds)
    table = np.loadtxt(folder / "arm.csv", delimiter=",", skiprows=1)
    rng = np.random.default_rng(0)
    for joint in still:
        table[:, 1 + joint] = 0.3 + 2e-4 * rng.normal(size=len(table))
    names = [f"{what}{i + 1}" for what in "qvu" for i in range(plant.joints)]
    header = ",".join(["t", *names])
    np.savetxt(folder / "arm.csv", table, delimiter=",", header=header, comments="")
    (folder / "arm.xml").write_text(model_of(Plant(plant.joints)))
    return joint_motions(prepare(parse_experiment(experiment(plant)), folder).training)


def test_independent_movements_are_half_periods_of_the_motion(tmp_path):
    """The arm moves by sines of 0.23 to 1.1 Hz: between 3.7 and 18 half periods in 8 s."""
    found = motions(tmp_path, Plant(2), still=(1,))
    assert 4.0 < found["shoulder"].half_periods < 18.0
    assert 5.0 < found["shoulder"].seconds < 8.0  # less where it turns
    assert found["elbow"].seconds < 0.1  # noise is no motion


def unknowns(*names: str) -> ParameterDict:
    out = ParameterDict()
    for name in names:
        joint, _, what = name.partition("_")
        out.add(Parameter(name, 0.1, 0.0, 1.0, target=f"joint/{joint}/{what}"))
    return out


MOVES, RESTS = JointMotion(8.0, 12.0), JointMotion(0.0, 0.0)


def sentences(widths, found, held_out=(2.0,), window=0.0):
    names = [f"{joint}_{what}" for joint in ("a", "b") for what in ("armature", "damping")]
    parameters = unknowns(*names)
    given = too_little(parameters, np.ones(4, bool), np.array(widths), found, held_out, window)
    return [reason.sentence for reason in given]


def test_enough_motion_is_no_reason():
    assert sentences([0.01] * 4, {"a": MOVES, "b": MOVES}) == []
    # wide intervals have a reason of their own where they matter
    assert sentences([3.0] * 4, {"a": MOVES, "b": MOVES}) == []


def test_the_time_that_is_needed_follows_from_the_information_per_second():
    short = JointMotion(0.5, 0.9)
    (said,) = sentences([0.1, 0.2, 0.02, 0.05], {"a": short, "b": short}, held_out=())
    assert said.startswith("Too little data: 0.5 s in which the joints move, with about 2 ")
    # four times the width of +-5 % is sixteen times the time
    assert "about 8 s are needed for +-5 % of each value" in said
    (said,) = sentences([np.inf, 0.2, 0.02, 0.05], {"a": short, "b": short}, held_out=())
    assert "s are needed" not in said and "trueup design" in said


def test_a_joint_at_rest_is_named_with_its_parameters():
    (said,) = sentences([0.01] * 4, {"a": MOVES, "b": RESTS})
    assert "'b' does not move" in said
    assert "'b_armature', 'b_damping' cannot be determined" in said


@pytest.mark.parametrize(("held_out", "count"), [((0.1,), 1), ((0.1, 0.3), 0), ((), 0)])
def test_held_out_data_last_for_the_slowest_time_constant_at_least(held_out, count):
    said = sentences([0.01] * 4, {"a": MOVES, "b": MOVES}, held_out)
    assert len(said) == count
    assert all("of the slowest motion, 0.21 s" in s for s in said)


@pytest.mark.parametrize(("window", "count"), [(0.0, 0), (0.03, 1), (0.1, 0)])
def test_a_window_of_a_few_samples_compares_the_next_samples_only(window, count):
    said = sentences([0.01] * 4, {"a": MOVES, "b": MOVES}, window=window)
    assert len(said) == count


@pytest.mark.parametrize(("seconds", "more"), [(0.5, ""), (8.0, "window: 0.03")])
def test_too_little_data_or_too_short_a_window_is_never_use(tmp_path, seconds, more):
    """The model is right, and the fit better than every baseline."""
    record(tmp_path, plant := Plant(2), seconds=seconds)
    (tmp_path / "arm.xml").write_text(model_of(Plant(2)))
    text = experiment(plant, more=more)
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "r", verbose=False)
    verdict = found.summary["verdict"]
    assert verdict["grade"] == "look"
    first = verdict["reasons"][0]["sentence"]
    assert first.startswith("Windows of 0.03 s" if more else "Too little data: ")
    # and nothing says that all is well
    assert not any(i["severity"] == "good" for i in found.summary["insights"])
