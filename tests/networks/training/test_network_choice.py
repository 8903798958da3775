"""What a run does by default: the budget, the lanes, the choice of the network, the verdict."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.networks.recorded_joints import joint_columns, write_csv
from tests.networks.training_recordings import made_series

from trueup.cli import main
from trueup.errors import FitError, SignalError
from trueup.networks import split_global, train
from trueup.networks.data.features import FEATURE_NAMES
from trueup.networks.data.splits import split_named
from trueup.networks.evaluation.metrics import predict_series
from trueup.networks.training.lanes import Lanes
from trueup.networks.training.network_choice import candidates
from trueup.networks.training.network_training import template_network
from trueup.networks.training.schedule import (
    chunk_samples,
    lane_count,
    scheduled,
    steps_an_epoch,
)
from trueup.networks.training.settings import ModelSettings, TrainSettings
from trueup.networks.training.simple_networks import (
    better_of,
    relative_error,
    simple_networks,
    start_of,
)

SERIES = [made_series(seed, group=f"g{seed}") for seed in range(3)]
FAST = ("train.max_steps=6", "train.accelerator=cpu", "model.gru_hidden_dim=4")


def write_recordings(folder, count, torque=None):
    for index in range(count):
        columns = joint_columns(frequency=0.5 + 0.2 * index)
        if torque is not None:
            columns["Acc_Y"] = torque(columns["Acc_Y"])
        write_csv(folder / f"r{index}.csv", columns)
    return folder


def settings_of(folder, *more):
    return [f"data.data_base_dir={folder}", "data.target_name=Acc_Y", *FAST, *more]


@pytest.mark.parametrize("samples", [300, 5_000, 100_000])
def test_the_budget_counts_gradient_steps_whatever_the_length(samples):
    chunk = chunk_samples(100.0)
    lanes = Lanes([samples], lane_count([samples], chunk), chunk)
    model, settings = scheduled(ModelSettings(), TrainSettings(max_steps=1000), lanes)
    steps = steps_an_epoch(lanes)
    assert 1000 <= steps * settings.max_epochs < 1000 + 2 * max(steps, 100)
    assert steps * settings.check_val_every_n_epoch >= 100
    assert steps * model.warmup_epochs <= 100


def test_epochs_that_are_set_are_kept():
    lanes = Lanes([600], 4, 16)
    _, settings = scheduled(ModelSettings(), TrainSettings(max_epochs=7), lanes)
    assert (settings.max_epochs, settings.check_val_every_n_epoch) == (7, 1)


def test_time_is_read_with_its_unit():
    assert TrainSettings().seconds == 600.0
    assert TrainSettings(max_steps=3).seconds is None
    assert TrainSettings(time="90s").seconds == 90.0
    assert TrainSettings(time="1.5 h", max_epochs=3).seconds == 5400.0


def test_every_family_is_tried_with_and_without_the_base():
    model = ModelSettings(use_residual=True, kp_phys=2.0, history=5)
    tried = dict(candidates(model, 100.0, 1000))
    assert {each.family for each in tried.values()} == {"gru", "lstm", "mlp"}
    assert {each.base is None for each in tried.values()} == {True, False}
    assert tried["mlp with a linear skip over the base"].history == 5


def test_a_network_that_is_no_better_than_a_linear_model_is_not_taken():
    split = split_global(SERIES, by="stretch")
    simple = simple_networks(split, FEATURE_NAMES, None)
    name, network, errors = better_of(simple["constant"], simple, split)
    assert name == "linear within a limit"  # as the torque of the recordings is
    assert network is simple[name]
    assert errors[name] < errors["linear"] < errors["constant"] == errors["trained"]
    from trueup.networks import score

    assert relative_error(score(network, split.validation), split) == errors[name]


def test_parts_are_named_by_file_by_group_and_by_stretch():
    split = split_named(SERIES, ["run 2"], ["g1"])
    assert [each.name for each in split.test] == ["run 2"]
    assert [each.name for each in split.validation] == ["run 1"]
    assert [each.name for each in split.training] == ["run 0"]
    split = split_named(SERIES, ["80-100%"], ["10-20%", "50-60%"])
    assert [len(each) for each in split.test] == [120] * 3
    assert [len(each) for each in split.validation] == [60] * 6
    assert sum(len(each) for each in split.training) == 3 * 360
    inside = split_named(SERIES, ["run 2"])
    assert {each.name for each in inside.validation} == {"run 0", "run 1"}
    assert (split.tested_by, inside.tested_by) == ("time", "file")


@pytest.mark.parametrize(
    ("test", "validation", "words"),
    [
        (["run 9"], [], "no such recording or group 'run 9'"),
        (["run 1"], ["g1"], "in both data.validation and data.test"),
        (["*"], [], "none remains for training"),
        (["40-60%"], ["50-70%"], "overlap"),
        (["60-40%"], [], "is not an interval"),
    ],
)
def test_parts_that_cannot_be_are_refused(test, validation, words):
    with pytest.raises(SignalError, match=words.replace("*", r"\*")):
        split_named(SERIES, test, validation)


def test_the_default_tests_on_whole_files_where_there_are_enough():
    many = [made_series(seed, samples=100, group=f"g{seed}") for seed in range(6)]
    split = split_global(many, by="auto")
    assert split.tested_by == "file"
    assert [len(each) for each in split.test] == [100]
    assert not {each.name for each in split.test} & {each.name for each in split.training}
    assert not split.validates_whole  # each file is a group of its own
    assert split_global(SERIES, by="auto").tested_by == "time"
    alike = [replace(each, group="one") for each in many]
    assert split_global(alike, by="auto").validates_whole


def test_a_run_chooses_says_so_and_resumes_to_the_same(tmp_path, capsys):
    folder = write_recordings(tmp_path / "data", 5)
    run = tmp_path / "run"
    words = settings_of(folder, "data.test=[r4]")
    assert main(["network", "train", *words, "--output", str(run), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    tried = [each["name"] for each in result["choice"]["tried"]]
    assert len(tried) == 4
    assert [each["name"] for each in result["files"]] == ["r4"]
    assert {"constant", "linear", "trained"} <= set(result["choice"]["validation_errors"])
    before = (run / "network.safetensors").read_bytes()
    (run / "metrics.json").unlink()
    train(directory=run, resume=True, verbose=False)
    assert (run / "network.safetensors").read_bytes() == before
    assert main(["network", "train", *words, "--output", str(run), "--dry-run"]) == 0
    assert "gradient steps each (" in capsys.readouterr().out


def test_nothing_to_learn_is_do_not_use_and_a_choice_is_repeated_exactly(tmp_path):
    random = np.random.default_rng(0)
    folder = write_recordings(tmp_path / "data", 5, random.permutation)
    result = train(settings_of(folder), tmp_path / "run", verbose=False)
    verdict = result.metrics["verdict"]
    assert verdict["grade"] == "do not use"
    assert any("is not better than a constant" in each["sentence"] for each in verdict["reasons"])

    # a run that was killed when the chosen network had replaced the trained one
    assert result.metrics["choice"]["taken"] != "trained"
    (tmp_path / "run" / "metrics.json").unlink()
    resumed = train(directory=tmp_path / "run", resume=True, verbose=False)
    assert resumed.metrics == result.metrics


def test_features_that_no_simulator_supplies_are_named_scored_without_and_refused(tmp_path):
    from trueup.deploy import export_network

    folder = tmp_path / "data"
    for index in range(5):
        columns = joint_columns(frequency=0.5 + 0.2 * index)
        columns["amps"] = 0.1 * columns["Acc_Y"]
        write_csv(folder / f"r{index}.csv", columns)
    columns = [
        "data.columns.current_angle_rad={column: Encoder_Angle, unit: deg}",
        "data.columns.current_ang_vel_rad_s={column: Gyro_Z, unit: deg/s}",
        "data.columns.current_a=amps",
        "data.columns.torque=Acc_Y",
    ]
    features = "data.features=[current_angle_rad,current_ang_vel_rad_s,current_a]"
    more = [*columns, features, "data.target_name=tau_measured", "data.time=Time_ms"]
    result = train(settings_of(folder, *more), tmp_path / "run", verbose=False)
    metrics = result.metrics
    assert metrics["not_deployable"] == ["current_a"]
    assert metrics["deployable"]["features"] == ["current_angle_rad", "current_ang_vel_rad_s"]
    assert metrics["deployable"]["rmse"] > metrics["settled"]["rmse"]
    sentences = [each["sentence"] for each in metrics["verdict"]["reasons"]]
    assert any("which no simulator supplies" in each for each in sentences)
    network = replace(result.splits[0].network)
    with pytest.raises(FitError, match="which only hardware measures"):
        export_network(network, "newton", tmp_path / "n.onnx")
    export_network(network, "numpy", tmp_path / "n.npz")


def linear_torque(series, limit=np.inf):
    """The recording with a torque that is linear in its features up to a limit."""
    torque = 9.0 * series.channels["target_angle_rad"] - 8.0 * series.channels["current_angle_rad"]
    noise = 0.01 * np.random.default_rng(len(series)).standard_normal(len(series))
    return replace(series, torque=np.clip(torque, -limit, limit) + noise)


def test_a_torque_that_a_motor_cuts_is_found_by_a_linear_model_within_a_limit():
    split = split_global([linear_torque(each, 2.0) for each in SERIES], by="stretch")
    simple = simple_networks(split, FEATURE_NAMES, None)
    errors = better_of(simple["constant"], simple, split)[2]
    assert errors["linear within a limit"] < 0.2 * errors["linear"]
    limited = start_of(split, simple)
    assert limited.torque_limit == pytest.approx(2.0, abs=0.05)
    tried = dict(candidates(ModelSettings(), 100.0, 1000, limited))
    assert {each.torque_limit for each in tried.values()} == {limited.torque_limit}
    # the layers give zero at the start: the skip is the limited model
    model = tried["mlp with a linear skip"]
    assert model.history == limited.history
    start, series = template_network(split.training, FEATURE_NAMES, model, 0), split.validation[0]
    np.testing.assert_allclose(
        predict_series(start, series), predict_series(limited, series), atol=1e-4
    )


def test_a_linear_model_that_no_limit_betters_is_what_training_starts_at():
    split = split_global([linear_torque(each) for each in SERIES], by="stretch")
    assert start_of(split, simple_networks(split, FEATURE_NAMES, None)).torque_limit is None
