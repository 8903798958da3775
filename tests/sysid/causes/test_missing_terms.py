"""A term that a model lacks is named, with its value, and the fit is not one to use."""

import re
from pathlib import Path

import pytest
from driven_arms import ARMATURE, DAMPING, FRICTION, Plant, experiment, model_of, record

from trueup import sysid
from trueup.sysid.causes.friction_shapes import shape_candidates
from trueup.sysid.causes.missing_terms import missing_terms
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.torque.bandwidth import choose_bandwidth, halves
from trueup.sysid.torque.friction_structure import missing_friction
from trueup.sysid.torque.linear_fit import linear_columns

TORQUES = "search: {method: inverse-dynamics}"
WITHOUT_FRICTION = ("armature", "damping")


def identified(folder: Path, plant: Plant, unknown=None, more: str = "", **given):
    seconds = 4.0 if "0.03" in more else 6.0
    record(folder, plant, seconds=15.0 if plant.stribeck and more == TORQUES else seconds)
    of_model = Plant(plant.joints, plant.servo)  # the model has neither load nor spring
    (folder / "arm.xml").write_text(model_of(of_model, **given))
    text = experiment(plant, *([unknown] if unknown else []), more=more)
    found = sysid.identify(parse_experiment(text), folder, output=folder / "run", verbose=False)
    return found.summary


def reasons(summary: dict) -> list[str]:
    return [r["sentence"] for r in summary["verdict"]["reasons"] if r["grade"] != "use"]


@pytest.mark.parametrize(
    ("plant", "more", "finder"),
    [
        (Plant(2, servo=False), TORQUES, "least squares estimates"),
        (Plant(2, servo=False), "window: 0.2", "a fit with it estimates"),
        (Plant(1, servo=False), "window: 0.03", "a fit with it estimates"),
        (Plant(2), "", "a fit with it estimates"),
        (Plant(2), "window: 0.2", "a fit with it estimates"),
        (Plant(1), "window: 0.03", "a fit with it estimates"),
        (Plant(1), "held_out: {fraction: 0}", "a fit with it estimates"),
        (Plant(1, friction=0.2), "", "a fit with it estimates"),
    ],
)
def test_missing_friction_is_named_joint_by_joint(plant, more, finder, tmp_path):
    summary = identified(tmp_path, plant, WITHOUT_FRICTION, more)
    assert summary["verdict"]["grade"] != "use"
    (sentence,) = [s for s in reasons(summary) if s.startswith("Coulomb friction is missing")]
    assert finder in sentence
    for joint, truth in list(zip(("shoulder", "elbow"), FRICTION, strict=True))[: plant.joints]:
        (value,) = re.findall(rf"([\d.]+) N m in {joint}", sentence)
        assert float(value) == pytest.approx(truth * plant.friction, rel=0.1)
    # what is printed with the values says the same
    assert sentence in [i["sentence"] for i in summary["insights"]]
    assert summary["missing_terms"][0]["kind"] == "friction"


@pytest.mark.parametrize(
    ("plant", "unknown", "given", "words"),
    [
        (Plant(), ("armature", "frictionloss"), {}, "Viscous friction is missing.* 0.[56]"),
        (Plant(), ("damping", "frictionloss"), {}, "Armature is missing.* 0.0[45]"),
        (
            Plant(),
            ("damping", "frictionloss"),
            {"armature": (0.15,)},
            r"Armature is fixed at 0.15 in shoulder, a fit of it estimates 0.0[45]",
        ),
        (
            Plant(),
            WITHOUT_FRICTION,
            {"frictionloss": (0.3,)},
            r"Coulomb friction is fixed at 0.3 in shoulder, a fit of it estimates 0.[78]",
        ),
        (Plant(spring=3.0), None, {}, "A spring is missing.* [23]"),
        (Plant(offset=0.5), None, {}, "A constant force is missing.* 0.[45]"),
        # one joint: the mass of its link moves the same numbers
        (Plant(payload=0.5), None, {}, "[mM]ass .*payload of link1|A payload is missing"),
        (Plant(delay=0.02), None, {}, r"A delay of the commands is missing.* 0.0(19|2)"),
    ],
)
def test_other_terms_are_named_too(plant, unknown, given, words, tmp_path):
    summary = identified(tmp_path, plant, unknown, **given)
    assert summary["verdict"]["grade"] != "use"
    assert any(re.search(words, s) for s in reasons(summary)), reasons(summary)


FALLS = r"[Ff]riction that falls with speed \(Stribeck\)"


@pytest.mark.parametrize(
    ("plant", "more", "words"),
    [
        (
            Plant(stribeck=0.5),
            "",
            FALLS + " is missing.* 0.[4-8].* N m more at rest, gone above 0.",
        ),
        (Plant(servo=False, stribeck=0.5), "window: 0.2", FALLS + "(, which)? is missing"),
        (
            Plant(2, servo=False, stribeck=0.5, motion=0.5),
            TORQUES,
            f"has {FALLS}, which is missing from the model .* 0.[3-5].* N m more at rest, "
            "gone above 0.[4-7]",
        ),
        (Plant(drag=0.5), "", r"proportional to the square of speed is missing, .* 0.[45]"),
        (
            Plant(2, servo=False, drag=0.8),
            TORQUES,
            "proportional to the square of speed, which is missing from the model",
        ),
        (
            Plant(servo=False, lean=0.4),
            "window: 0.2",
            r"Coulomb friction that differs between the directions .* is missing, .* (0.2|0.19)",
        ),
        (Plant(lean=0.4), "", "A constant force is missing, .* -(0.2|0.19)"),
    ],
)
def test_friction_of_another_shape_is_named(plant, more, words, tmp_path):
    summary = identified(tmp_path, plant, more=more)
    assert summary["verdict"]["grade"] != "use"
    assert any(re.search(words, s) for s in reasons(summary)), reasons(summary)


@pytest.mark.parametrize(("seed", "size"), [(0, 0.5), (0, 0.8)])
def test_the_speed_of_friction_that_falls_is_found_between_the_candidates(seed, size, tmp_path):
    plant = Plant(2, servo=False, stribeck=size, motion=0.5)
    record(tmp_path, plant, seconds=15.0, seed=seed)
    (tmp_path / "arm.xml").write_text(model_of(Plant(2, servo=False)))
    prepared = prepare(parse_experiment(experiment(plant, more=TORQUES)), tmp_path)
    bandwidth = choose_bandwidth(prepared.training, prepared.held_out, held=True)
    seen, unseen = halves(bandwidth.torque_data(prepared.training))
    found = missing_friction(seen, unseen, linear_columns(seen))
    (sentence,) = [f.sentence for f in found if f.joint == "elbow"]
    more, gone = re.findall(r"estimates ([\d.]+) N m more at rest, gone above ([\d.]+)", sentence)[
        0
    ]
    assert float(more) == pytest.approx(size, rel=0.25)
    assert float(gone) == pytest.approx(0.35, rel=0.15)  # 5 % remain of what falls by 0.2 rad/s


def test_friction_of_another_shape_needs_actuators_that_no_pattern_writes(tmp_path):
    record(tmp_path, plant := Plant())
    (tmp_path / "arm.xml").write_text(model_of(plant))
    text = experiment(plant)

    def shapes(more: str) -> set[str]:
        own = text.replace("output:", more + "output:")
        prepared = prepare(parse_experiment(own), tmp_path)
        return {c.kind for c in shape_candidates(prepared.training, prepared.parameters)}

    assert {"quadratic", "viscous-direction"} < shapes("")
    bounds = "start: 1.0, bounds: [0.5, 2]"
    assert shapes(f"  g: {{target: actuator/shoulder/gear/0, {bounds}}}\n") == shapes("")
    assert shapes(f"  g: {{target: actuator/*/gear/0, {bounds}}}\n") == set()
    assert shapes(f"  g: {{target: actuator/*/kp, {bounds}}}\n") == set()


@pytest.mark.parametrize("target", ["shoulder", "*"])
def test_a_frozen_parameter_is_tried_as_well(target, tmp_path):
    held = f"  held: {{target: joint/{target}/frictionloss, start: 0.2, bounds: [0, 5], "
    record(tmp_path, plant := Plant(), seconds=6.0)
    (tmp_path / "arm.xml").write_text(model_of(plant))
    text = experiment(plant, WITHOUT_FRICTION).replace("output:", held + "frozen: true}\noutput:")
    found = sysid.identify(parse_experiment(text), tmp_path, output=tmp_path / "r", verbose=False)
    assert any("fixed at 0.2 in shoulder" in s for s in reasons(found.summary))


@pytest.mark.parametrize(
    ("plant", "more", "grade"),
    [
        (Plant(2, servo=False), TORQUES, "use"),
        (Plant(2, servo=False), "", "use"),
        (Plant(2), "", "use"),
        (Plant(2), "window: 0.2", "use"),
        # too short for an error of the model to grow
        (Plant(1), "window: 0.03", "look"),
        (Plant(1), "held_out: {fraction: 0}", "use"),
    ],
)
def test_nothing_is_missing_in_a_complete_model(plant, more, grade, tmp_path):
    summary = identified(tmp_path, plant, more=more)
    assert summary["missing_terms"] == []
    assert summary["verdict"]["grade"] == grade, reasons(summary)


def test_terms_that_the_model_has_right_are_not_missing(tmp_path):
    given = {"armature": ARMATURE, "damping": DAMPING}
    summary = identified(tmp_path, Plant(), ("frictionloss",), "", **given)
    assert summary["missing_terms"] == []
    assert summary["verdict"]["grade"] == "use", reasons(summary)


def test_without_time_it_is_said_that_nothing_was_tried(tmp_path):
    record(tmp_path, plant := Plant())
    (tmp_path / "arm.xml").write_text(model_of(plant))
    experiment_of = parse_experiment(experiment(plant, WITHOUT_FRICTION))
    prepared = prepare(experiment_of, tmp_path)
    problem = prepared.problem()
    found, remark = missing_terms(prepared, problem, problem.space.start, time_limit=0.0)
    assert found == [] and "Coulomb friction" in remark and "not tested" in remark
