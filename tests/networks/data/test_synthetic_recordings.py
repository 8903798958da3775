"""Synthetic recordings: known noise floor, known physics, same seed same files."""

import dataclasses

import numpy as np
import pytest

from trueup.errors import ExperimentError, RecordingError, SimulationError
from trueup.networks import (
    FEATURE_NAMES,
    DataSettings,
    JointModel,
    SyntheticSettings,
    check_data,
    fit_linear_chosen,
    read_series,
    roll_out,
    score,
    split_global,
    synthesize,
)

QUIET = {"torque_noise": 0.0, "encoder_noise": 0.0, "gyro_noise": 0.0, "accel_noise": 0.0}


def only(tmp_path, name="data", **options):
    """The one recording of the settings, and its table."""
    data = synthesize(SyntheticSettings(**options), tmp_path / name)
    (series,) = read_series(DataSettings(str(tmp_path / name)))
    table = np.genfromtxt(data.files[0].path, delimiter=",", names=True)
    return series, table


def test_noise_floor_of_the_usual_case_is_known_and_met(tmp_path):
    data = synthesize(SyntheticSettings(duration=60.0), tmp_path / "data")
    assert data.noise_floors["0.083kgm2"] == pytest.approx(0.065, abs=5e-4)
    assert data.files[0].noise_floor == pytest.approx(0.065, rel=0.03)


def test_a_linear_network_reaches_the_floor_of_the_usual_case(tmp_path):
    data = synthesize(SyntheticSettings(duration=60.0), tmp_path / "data", seed=1)
    split = split_global(read_series(DataSettings(str(tmp_path / "data"))))
    network = fit_linear_chosen(split.training, split.validation, FEATURE_NAMES)
    floor = data.noise_floors["0.083kgm2"]
    assert floor * 0.95 < score(network, split.test).settled.rmse < floor * 1.05


def test_what_is_written_can_be_trained_on_without_further_settings(tmp_path):
    inertias = (0.083, 0.1245)
    synthesize(
        SyntheticSettings(inertias=inertias, signals=("sine", "steps"), duration=5.0),
        tmp_path / "data",
    )
    settings = DataSettings(str(tmp_path / "data"))
    assert check_data(settings).usable
    series = read_series(settings)
    # the folder's name and its inertia are not rounded
    assert [each.group for each in series] == ["0.083kgm2"] * 2 + ["0.1245kgm2"] * 2
    assert series[3].channels["inertia_kg_m2"][0] == 0.1245
    assert series[0].rate == 100.0


def test_same_seed_same_files(tmp_path):
    settings = SyntheticSettings(signals=("multisine", "steps", "chirp"), duration=2.0)
    first, again, other = (
        [file.path.read_bytes() for file in synthesize(settings, tmp_path / name, seed).files]
        for name, seed in (("a", 3), ("b", 3), ("c", 4))
    )
    assert first == again
    assert all(a != b for a, b in zip(first, other, strict=True))


def test_delay_moves_the_torque(tmp_path):
    options = {**QUIET, "duration": 4.0, "torque_limit": 1e3}
    series, table = only(tmp_path, delay=0.05, **options)
    target_velocity = np.gradient(series.channels["target_angle_rad"], 0.01)
    error = series.channels["angle_error_rad"]
    law = 10 * error + target_velocity - series.channels["current_ang_vel_rad_s"]
    np.testing.assert_allclose(table["Motor_Torque"][10:-5], law[5:-10], atol=0.02)
    assert np.abs(table["Motor_Torque"][10:-5] - law[10:-5]).max() > 0.1


def test_friction_and_spring_stand_between_motor_and_load(tmp_path):
    options = {**QUIET, "duration": 4.0, "amplitude": 1.0}
    series, table = only(tmp_path, coulomb=0.4, viscous=0.1, spring=0.7, **options)
    angle, velocity = (series.channels[n] for n in FEATURE_NAMES[::2])
    moving = np.abs(velocity) > 0.2
    lost = 0.4 * np.sign(velocity) + 0.1 * velocity + 0.7 * angle
    net = table["Motor_Torque"] - lost
    np.testing.assert_allclose(series.torque[moving], net[moving], atol=1e-5)


def test_static_friction_holds_the_joint(tmp_path):
    series, _ = only(tmp_path, coulomb=1.0, stribeck=9.5, duration=2.0, **QUIET)
    assert np.ptp(series.channels["current_angle_rad"]) < 1e-9
    assert np.abs(series.torque).max() < 1e-9


def test_torque_and_speed_are_limited(tmp_path):
    options = {"signals": ("chirp",), "duration": 6.0, "torque_limit": 2.0, "no_load_speed": 3.0}
    series, table = only(tmp_path, **options)
    velocity = np.radians(table["Gyro_Z"])
    motor = table["Motor_Torque"]
    assert np.abs(motor).max() <= 2.0
    bound = 2.0 * np.clip(1 - np.abs(velocity) / 3.0, 0, 1) + 0.05
    assert np.all(motor[velocity > 0.1] <= bound[velocity > 0.1])
    assert np.all(motor[velocity < -0.1] >= -bound[velocity < -0.1])
    assert motor[velocity > 0.1].min() < -1.9
    assert np.abs(series.channels["current_ang_vel_rad_s"]).max() < 4.0


def test_the_true_torque_moves_a_joint_as_recorded(tmp_path):
    """The closed loop of the true law, as a network over a base, repeats the recording."""
    from trueup.networks import AnalyticBase, Network, Normalization

    series, _ = only(tmp_path, kd=0.3, torque_limit=1e3, duration=4.0, rate=500.0, **QUIET)
    velocity = np.gradient(series.channels["target_angle_rad"], 1 / series.rate)
    object.__setattr__(series, "channels", {**series.channels, "target_ang_vel_rad_s": velocity})
    base = AnalyticBase(kp=10.0, kd=0.3, target_velocity=True)
    none = Normalization(FEATURE_NAMES, np.zeros(3), np.ones(3), 0.0, 1.0)
    weights = {"layers.0.weight": np.zeros((1, 3)), "layers.0.bias": np.zeros(1)}
    network = Network("linear", none, weights, series.rate, base)
    motion = roll_out(network, series, JointModel(0.083))
    assert motion.scores.rmse < 0.02 * series.channels["current_angle_rad"].std()
    heavier = roll_out(network, series, JointModel(0.2))
    assert heavier.scores.rmse > 5 * motion.scores.rmse
    restarted = roll_out(network, series, JointModel(0.2), horizon=0.02)
    assert restarted.scores.rmse < 0.2 * heavier.scores.rmse


def test_a_joint_that_runs_away_is_told(tmp_path):
    from trueup.networks import AnalyticBase, Network, Normalization

    series, _ = only(tmp_path, duration=4.0)
    none = Normalization(FEATURE_NAMES, np.zeros(3), np.ones(3), 0.0, 1.0)
    weights = {"layers.0.weight": np.zeros((1, 3)), "layers.0.bias": np.full(1, 1e-3)}
    pushing = Network("linear", none, weights, 100.0, AnalyticBase(kp=-50.0))
    motion = roll_out(pushing, series, JointModel(0.083))
    assert motion.diverged
    assert np.isfinite(motion.angle).all()
    assert not roll_out(
        dataclasses.replace(pushing, base=None), series, JointModel(0.083, viscous=0.1)
    ).diverged


def test_unstable_gains_and_used_folders_are_refused(tmp_path):
    with pytest.raises(SimulationError, match="diverges"):
        only(tmp_path, "fast", kd=5e4, torque_limit=1e12, substeps=1)
    (tmp_path / "used" / "0.083kgm2").mkdir(parents=True)
    with pytest.raises(RecordingError, match="another folder"):
        only(tmp_path, "used")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"signals": ("sinus",)}, "'sine'"),
        ({"inertias": (0.0,)}, "positive"),
        ({"inertias": (0.1, 0.1)}, "must differ"),
        ({"coulomb": -1.0}, "negative"),
        ({"highest_frequency": 60.0}, "half the rate"),
        ({"duration": 0.01}, "1 samples; it must be 10 or more"),
        ({"repeats": 0}, "at least 1"),
    ],
)
def test_wrong_synthetic_settings_are_refused(options, message):
    with pytest.raises(ExperimentError, match=message):
        SyntheticSettings(**options)
