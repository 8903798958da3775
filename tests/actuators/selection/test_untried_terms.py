"""Findings of a fit of a named model: terms that it lacks."""

import pytest
import servo_model_logs as made

from trueup.actuators import FitSettings, ServoModel, fit

SETTINGS = FitSettings(method="least-squares", trials=2000)


def logs_with(**terms):
    values = {**made.M1.values, **terms}
    model = ServoModel.create("xl330", "m1", tuple(terms), **values)
    return [
        made.recorded(
            model,
            made.template_log(f"{kp} {mass}", kp=kp, mass=mass, torque_off_after=1.2),
            1e-3,
            row,
        )
        for row, (kp, mass) in enumerate((k, m) for k in (100, 300) for m in (0.2, 0.5))
    ]


def test_a_term_that_acts_is_named_with_what_it_brings():
    found = fit("xl330", "m1", logs_with(torque_saturation=0.8), settings=SETTINGS)
    (sentence,) = [s for s in found.missing if "torque_saturation would change the" in s]
    assert sentence.startswith("the torque per ampere falls as the current rises")
    assert "Add terms=torque_saturation, or fit without --model" in sentence
    brought = sentence.partition("would change the")[2]
    without, beside = (float(w) for w in brought.split() if w.replace(".", "").isdigit())
    assert "% less torque per ampere at" in sentence
    assert beside < 0.5 * without
    assert sentence in found.to_dict()["missing"]


def test_the_terms_of_the_fit_stay_beside_a_further_one():
    logs = logs_with(command_delay=0.03, torque_saturation=0.8)
    settings = FitSettings(method="least-squares", trials=2000, terms=("torque_saturation",))
    found = fit("xl330", "m1", logs, settings=settings)
    (sentence,) = [s for s in found.missing if "command_delay would change the" in s]
    assert "Add terms=command_delay,torque_saturation" in sentence


@pytest.mark.parametrize("logs", [logs_with(), logs_with(torque_saturation=0.8)[:1]])
def test_nothing_is_named_where_nothing_is_missing_or_logs_cannot_tell(logs):
    found = fit("xl330", "m1", logs, settings=SETTINGS)
    assert not [s for s in found.missing if "would change the" in s]
