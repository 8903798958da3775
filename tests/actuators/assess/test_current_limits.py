"""Limits and voltages that contradict the logs."""

import dataclasses

import numpy as np
import pytest
import servo_model_logs as made

from trueup.actuators import FitSettings, ServoModel, fit
from trueup.actuators.assess.current_limits import current_findings
from trueup.actuators.logs.findings import log_findings
from trueup.errors import FitError

LOG = made.recorded(made.M1, made.template_log("kp800", kp=800.0))


def limited(amps):
    return ServoModel.create(
        "xl330", "m1", ("current_limit",), **{**made.M1.values, "current_limit": amps}
    )


def test_a_limit_below_the_measured_current_is_found():
    (sentence,) = current_findings(limited(0.3), [LOG])
    assert "current limit of 0.3 A contradicts the logs" in sentence
    assert current_findings(limited(5.0), [LOG]) == []
    # a servo that has the limit keeps it
    own = made.recorded(limited(0.3), made.template_log("kp800", kp=800.0))
    assert current_findings(limited(0.3), [dataclasses.replace(own, input_volts=None)]) == []


@pytest.mark.parametrize("load", [None, np.zeros(len(LOG))])
def test_a_log_without_a_duty_cycle_contradicts_nothing(load):
    assert current_findings(limited(0.3), [dataclasses.replace(LOG, load=load)]) == []
    assert current_findings(made.M1, [LOG]) == []


def test_a_header_voltage_beside_the_measured_one_is_found():
    wrong = dataclasses.replace(LOG, vin=15.0)
    (found,) = (f for f in log_findings(wrong) if f.check == "voltage")
    assert found.sentence.startswith("vin of the header is 15 V, but the servo measured 7.")
    assert "--vin 7." in found.sentence
    # the voltage that is used instead is compared
    assert not [f for f in log_findings(wrong, 7.5) if f.check == "voltage"]
    (found,) = (f for f in log_findings(LOG, 5.0) if f.check == "voltage")
    assert found.sentence.startswith("the nominal voltage of the fit is 5 V")
    assert not [f for f in log_findings(LOG) if f.check == "voltage"]


def test_a_given_limit_that_contradicts_the_logs_with_every_motor_is_refused():
    settings = FitSettings(terms=("current_limit",), fixed={"current_limit": 0.35})
    with pytest.raises(FitError, match=r"0.35 A contradicts the logs: in .* up to"):
        fit("xl330", "m1", [LOG], settings=settings)
    # a limit that a motor within the bounds has is a finding of the fit, not an error
    settings = FitSettings(
        method="refine", terms=("current_limit",), fixed={"current_limit": 1.45}, trials=1500
    )
    start = made.M1.vector()
    result = fit("xl330", "m1", [LOG], settings=settings, start=start)
    assert any("contradicts the logs" in finding for finding in result.findings)
