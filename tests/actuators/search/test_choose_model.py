"""Choice of friction model and extended terms from logs that fits have not seen."""

import dataclasses

import pytest
import servo_model_logs as made

from trueup.actuators import FitSettings, ServoModel, choose_model
from trueup.actuators.search._choose_model import TriedModel, _simplest, _Trials
from trueup.errors import FitError, RecordingError

NOISE = 1e-3


def logs_of(terms=None, loads=((100.0, 0.2), (100.0, 0.4), (300.0, 0.2), (300.0, 0.4))):
    model = ServoModel.create("xl330", "m1", tuple(terms or ()))
    model = model.with_values(**made.M1.values, **(terms or {}))
    return [
        made.recorded(
            model, made.template_log(f"{kp}_{mass}", seconds=0.8, kp=kp, mass=mass), NOISE, i
        )
        for i, (kp, mass) in enumerate(loads)
    ]


def test_the_term_that_acts_is_chosen_and_no_other():
    logs = logs_of({"torque_saturation": 0.8})
    told = []
    choice = choose_model(
        "xl330",
        logs,
        models=("m1", "m3"),
        terms=("winding_braking", "torque_saturation"),
        on_tried=told.append,
    )
    assert choice.chosen.label == "m1+torque_saturation"
    assert choice.chosen.error < 2.0 * NOISE
    assert tuple(told) == choice.tried
    labels = [tried.label for tried in choice.tried]
    assert labels[:2] == ["m1", "m3"]
    assert {"m1+torque_saturation", "m3+torque_saturation"} <= set(labels)
    assert set(choice.chosen.errors) == {"100", "300"}
    plain = choice.to_dict()
    assert plain["terms"] == ["torque_saturation"]
    assert plain["error"] == choice.chosen.error


def test_no_term_is_taken_where_none_acts():
    choice = choose_model("xl330", logs_of(), models=("m1",), terms=("torque_saturation",))
    assert choice.chosen.label == "m1"
    assert len(choice.tried) == 2


def test_of_models_about_as_good_the_smallest_is_taken():
    tried = [
        TriedModel("m1", (), 6, {"1": 1.06}),
        TriedModel("m3", (), 7, {"1": 1.04}),
        TriedModel("m6", (), 15, {"1": 1.0}),
    ]
    assert _simplest(tried, 0.05).model == "m3"
    assert _simplest(tried, 0.0).model == "m6"


def test_terms_that_logs_cannot_show_are_not_tried():
    logs = [dataclasses.replace(log, temperature=None) for log in logs_of()]
    trials = _Trials("xl330", logs, FitSettings(scheme="bam"), "kp", None)
    suitable = trials.suitable(None)
    assert "torque_saturation" in suitable
    assert "measured_voltage" in suitable
    assert not {"resistance_temperature", "backlash"} & set(suitable)
    assert "max_velocity" not in _Trials("sts3215", logs, FitSettings(), "kp", None).suitable(None)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"settings": FitSettings(validation_kp=(100.0,))}, FitError, "the training logs alone"),
        ({"by": "length"}, FitError, "'kp', 'mass'"),
        ({"by": "trajectory"}, RecordingError, "have one trajectory"),
        ({"models": ()}, FitError, "no friction model"),
        ({"models": ("m9",)}, FitError, "'m6'"),
        ({"terms": ("saturation",)}, FitError, "torque_saturation"),
        ({"least_gain": 1.5}, FitError, "0 to 1"),
    ],
)
def test_what_cannot_be_chosen_from_is_named(changes, error, message):
    with pytest.raises(error, match=message):
        choose_model("xl330", logs_of(), **changes)
