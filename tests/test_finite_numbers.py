"""Settings in Python have finite numbers in range, or are refused where they are made."""

import math

import pytest

from trueup.actuators import FitSettings, Objective, ServoModel, model_from_dict
from trueup.actuators.catalogue.parameter_file import model_to_dict
from trueup.errors import ExperimentError, FitError, ParameterError, TrueupError
from trueup.networks import AnalyticBase, DataSettings, SyntheticSettings, TorqueTerms
from trueup.networks.data.settings import InertiaGroup
from trueup.networks.training import ModelSettings, TrainSettings
from trueup.networks.training.settings import Checkpointing, EarlyStopping

SETTINGS = [
    (AnalyticBase, {"kp": 1.0}, ("kp", "kd", "k_spring", "theta0")),
    (ModelSettings, {}, ("learning_rate", "weight_decay", "torque_limit", "gru_dropout")),
    (TrainSettings, {}, ("gradient_clip_val", "input_noise", "mirror_share")),
    (EarlyStopping, {}, ("min_delta", "stopping_threshold")),
    (Checkpointing, {}, ("every_seconds",)),
    (TorqueTerms, {}, ("gravity", "gravity_angle", "spring", "coulomb", "viscous")),
    (InertiaGroup, {"id": "a", "folder": "a"}, ("inertia",)),
    (DataSettings, {"data_base_dir": "."}, ("rate", "filter_cutoff_freq_hz", "radius_accel")),
    (SyntheticSettings, {}, ("kp", "kd", "delay", "duration", "rate")),
    (Objective, {}, ("position_width", "speed_width", "duty_width")),
    (FitSettings, {}, ("reset_period", "vin", "level")),
]
FIELDS = [(kind, given, name) for kind, given, names in SETTINGS for name in names]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("kind", "given", "name"), FIELDS, ids=[f"{k.__name__}.{n}" for k, _, n in FIELDS]
)
def test_a_setting_that_is_not_finite_is_refused(kind, given, name, number):
    with pytest.raises(TrueupError, match=name.split("_")[0]):
        kind(**{**given, name: number})


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_in_lists_and_mappings_too(number):
    with pytest.raises(FitError, match=r"fixed\.kt must be a finite number"):
        FitSettings(fixed={"kt": number})
    with pytest.raises(FitError, match="validation_kp must be a finite number"):
        FitSettings(validation_kp=(100.0, number))


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (ModelSettings, {"use_residual": True, "kp_phys": -1.0}),
        (ModelSettings, {"use_residual": True, "kp_phys": 1.0, "kd_phys": -1.0}),
        (ModelSettings, {"use_residual": True, "learn_base": True, "kp_phys": -1.0}),
        (TorqueTerms, {"coulomb": -0.1}),
        (TorqueTerms, {"viscous": -0.1}),
        (InertiaGroup, {"id": "a", "folder": "a", "inertia": 0.0}),
        (InertiaGroup, {"id": "a", "folder": "a", "inertia": -1.0}),
        (SyntheticSettings, {"kp": -1.0}),
        (SyntheticSettings, {"delay": -0.01}),
        (FitSettings, {"reset_period": -1.0}),
        (FitSettings, {"vin": 0.0}),
    ],
)
def test_a_setting_out_of_range_is_refused(kind, given):
    with pytest.raises((ExperimentError, FitError)):
        kind(**given)


def test_a_base_that_training_has_moved_may_have_a_negative_gain():
    base = AnalyticBase(kp=1.0, kd=-0.017, learned=True)
    assert AnalyticBase.from_dict(base.to_dict()) == base


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.01, "0,5", True, None])
@pytest.mark.parametrize("name", ["kt", "R", "armature", "friction_base", "dtheta_stribeck"])
def test_a_parameter_file_with_such_a_number_is_refused(name, value):
    content = model_to_dict(ServoModel.create("xl330", "m4"))
    assert model_from_dict(content).values[name] > 0
    with pytest.raises(ParameterError, match=name):
        model_from_dict({**content, name: value})
