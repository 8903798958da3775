"""Defects of the trainers that this package takes the place of: where each is tested.

The table holds the file and the name of the tests; below stand those that have no other place.
"""

import ast
import hashlib
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

DEFECTS = {
    # running it as documented
    "the default command fails on what the generator wrote": (
        "test_reference_defects.py::test_what_the_generator_writes_is_trained_on_as_documented",
        "test_synthetic_recordings.py::test_what_is_written_can_be_trained_on_without_further_settings",
    ),
    "the best checkpoint cannot be read back": (
        "test_network_training.py::test_a_checkpoint_holds_numbers_only_and_another_network_cannot_take_it",
        "test_servo_base.py::test_a_network_over_a_servo_survives_its_file",
    ),
    "the TorchScript export fails, and the exit code is 0": (
        "test_network_runs.py::test_a_run_writes_what_deployment_and_readers_need",
        "test_network_export.py::test_an_export_is_the_network_over_a_long_run",
        "test_network_export.py::test_an_unknown_form_names_the_known_ones",
        "test_network_simulators.py::test_what_does_not_fit_is_said_with_what_would",
    ),
    "a residual over a torque-speed curve fails": (
        "test_torch_network.py::test_a_base_of_brakes_and_limits_runs_at_every_speed",
        "test_reference_defects.py::test_a_residual_over_a_torque_speed_curve_is_trained",
    ),
    "leaving a group out cannot run on the synthetic recordings": (
        "test_network_runs.py::test_one_group_cannot_be_left_out",
        "test_network_runs.py::test_leave_one_group_out_never_sees_the_group_before_its_score",
    ),
    "the summary of the model fails": (
        "test_network_runs.py::test_a_run_writes_what_deployment_and_readers_need",
    ),
    "imported packages are missing from the requirements": (
        "test_reference_defects.py::test_what_is_imported_is_declared",
    ),
    # weak points
    "1: chunks of two steps deploy worse than the mean, undetected": (
        "test_network_training.py::test_chunks_of_two_steps_deploy_better_than_the_mean",
        "test_network_training.py::test_what_is_scored_is_what_is_deployed_for_any_length_of_chunk",
        "test_torch_network.py::test_chunks_of_any_length_give_the_torque_of_the_deployed_steps",
    ),
    "1: no roll-out": (
        "test_synthetic_recordings.py::test_the_true_torque_moves_a_joint_as_recorded",
        "test_model_rollout.py::test_the_model_moves_as_the_joint_that_it_holds",
    ),
    "2: the exported graph does not normalise, though it holds the statistics": (
        "test_network_export.py::test_an_export_is_the_network_over_a_long_run",
        "test_network_export.py::test_parts_are_left_out_on_request",
    ),
    "2: no ONNX": ("test_network_export.py::test_any_number_of_joints_is_one_call",),
    "4: overlapping windows on both sides of a split": (
        "test_network_splits.py::test_stretches_of_time_cover_every_sample_once",
        "test_network_splits.py::test_whole_files_go_to_one_part",
        "test_network_data.py::test_a_gap_in_the_clock_is_never_bridged",
    ),
    "4: the group held out validates and stops the training": (
        "test_network_splits.py::test_the_group_left_out_is_in_the_test_alone",
        "test_network_runs.py::test_leave_one_group_out_never_sees_the_group_before_its_score",
    ),
    "5: the difference loss runs over a shuffled batch": (
        "test_network_training.py::test_the_difference_loss_runs_over_time_and_never_over_the_lanes",
    ),
    "6: the target is the net torque, and does not say so": (
        "test_network_data.py::test_default_layout_gives_features_in_order_and_in_si",
        "test_network_data.py::test_stated_terms_make_the_target_motor_torque",
        "test_network_data.py::test_gravity_is_taken_from_a_tangential_accelerometer",
    ),
    "6: the filter sees the future, and the inputs are not filtered": (
        "test_network_data.py::test_zero_phase_filter_has_no_delay_and_the_causal_one_sees_no_future",
        "test_network_data.py::test_inputs_are_filtered_alike_on_request_and_commands_never",
    ),
    "6: the inertia is no input": ("test_reference_defects.py::test_the_inertia_can_be_an_input",),
    "7: each window is computed and held anew": (
        "test_network_lanes.py::test_every_sample_is_supervised_once_an_epoch_and_no_window_is_run_again",
        "test_network_lanes.py::test_lanes_fill_their_chunks",
    ),
    "8: the rate of the first file counts for all": (
        "test_network_data.py::test_files_of_different_rates_are_refused_until_a_rate_is_given",
        "test_network_data.py::test_jittering_samples_are_put_on_an_even_clock",
    ),
    "8: the step of training is not kept, and that of the simulation not checked": (
        "test_network_runs.py::test_a_run_writes_what_deployment_and_readers_need",
        "test_network_control_law.py::test_a_network_steps_at_its_own_rate_and_no_other",
        "test_combined_actuator.py::test_the_combined_actuator_holds_its_rate_and_resets_alone",
    ),
    "9: the spring pushes away, and its key says stiffness": (
        "test_torch_network.py::test_a_spring_of_the_base_with_a_positive_gain_pushes_away",
        "test_network_configuration.py::test_a_stiffness_is_a_spring_that_pulls_back",
        "test_combined_actuator.py::test_files_of_a_training_whose_spring_pulls_back_keep_their_meaning",
    ),
    "9: the target velocity of the base is zero": (
        "test_torch_network.py::test_the_base_is_the_same_law_in_torch",
    ),
    "9: the residual has the statistics of the torque": (
        "test_network_training.py::test_the_residual_has_statistics_of_its_own",
    ),
    "9: no friction, delay or voltage": (
        "test_servo_base.py::test_the_torque_is_that_of_the_servo_package",
        "test_synthetic_recordings.py::test_delay_moves_the_torque",
    ),
    "10: axes, features and network are fixed": (
        "test_network_data.py::test_any_recording_by_column_mapping",
        "test_network_data.py::test_a_missing_gyro_axis_is_an_error_not_a_magnitude",
        "test_network_control_law.py::test_one_network_on_several_joints_lies_in_the_model_once",
    ),
    "10: the generator has no settings and no seed": (
        "test_synthetic_recordings.py::test_same_seed_same_files",
    ),
    "10: dead keys": (
        "test_network_configuration.py::test_every_key_is_read_somewhere",
        "test_network_configuration.py::test_every_key_of_the_training_has_an_effect",
        "test_network_configuration.py::test_dead_keys_of_other_trainers_are_refused_with_words",
    ),
    "10: it writes into the folder of the recordings": (
        "test_network_data.py::test_reading_writes_nothing_into_the_data_folder",
        "test_reference_defects.py::test_what_the_generator_writes_is_trained_on_as_documented",
    ),
    "10: it reports to a server unless told not to": (
        "test_network_tracking.py::test_weights_and_biases_is_told_only_where_asked_for",
    ),
    "10: bad files are skipped": (
        "test_network_data.py::test_a_bad_file_is_an_error_not_skipped",
        "test_network_data.py::test_a_group_folder_that_does_not_exist_is_an_error",
    ),
    "11: no command line": ("test_network_runs.py::test_the_command_trains_and_prints_the_scores",),
    "11: figures go to a server alone": (
        "test_network_report.py::test_the_report_of_a_training_shows_every_part",
    ),
    "12: no uncertainty": (
        "test_network_runs.py::test_an_ensemble_tells_how_far_its_members_disagree",
    ),
    "12: nothing warns of extrapolation": (
        "test_network_scores.py::test_samples_outside_the_range_of_training_are_counted",
    ),
}
"""Defect -> tests. Numbers are those of the weak points as they were written down; 3 is the first
group."""


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_defect_has_its_test(defect):
    for entry in DEFECTS[defect]:
        file, name = entry.split("::")
        (path,) = HERE.parent.rglob(file)
        tree = ast.parse(path.read_text())
        assert name in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}, entry


def test_what_the_generator_writes_is_trained_on_as_documented(tmp_path, monkeypatch, capsys):
    pytest.importorskip("lightning")
    from trueup.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(["network", "synthesize", "data/synthetic_raw", "duration=4"]) == 0
    before = {p: hashlib.sha256(p.read_bytes()).digest() for p in files_of(tmp_path / "data")}
    small = [
        "model.model_type.name=gru",
        "model.gru_hidden_dim=4",
        "train.max_epochs=1",
        "train.accelerator=cpu",
    ]
    assert main(["network", "train", "data=synthetic", *small, "--output", "run"]) in (
        0,
        3,
    )
    after = {p: hashlib.sha256(p.read_bytes()).digest() for p in files_of(tmp_path / "data")}
    assert after == before
    assert (tmp_path / "run" / "metrics.json").is_file()
    capsys.readouterr()


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_residual_over_a_torque_speed_curve_is_trained():
    pytest.importorskip("lightning")
    from training_recordings import made_series

    from trueup.networks.training import ModelSettings, TrainSettings, train_network

    model = ModelSettings(
        gru_hidden_dim=4,
        use_residual=True,
        kp_phys=10.0,
        kd_phys=0.1,
        pd_stall_torque_phys_training=1.8,
        pd_no_load_speed_phys_training=4.0,
        learn_base=True,
    )
    settings = TrainSettings(max_epochs=1, accelerator="cpu", burn_in=10)
    result = train_network([made_series(1)], [made_series(2)], model=model, train=settings)
    assert np.isfinite(result.history[-1]["val_rmse_epoch"])


def test_the_inertia_can_be_an_input():
    from dataclasses import replace

    from training_recordings import made_series

    from trueup.networks import fit_linear, score

    def loaded(seed: int, inertia: float):
        series = made_series(seed)
        motion = series.channels["current_ang_vel_rad_s"]
        channels = {**series.channels, "inertia_kg_m2": np.full(len(series), inertia)}
        return replace(series, channels=channels, torque=0.1 * motion + 5.0 * inertia)

    training = [loaded(1, 0.1), loaded(2, 0.3)]
    names = ("current_ang_vel_rad_s", "inertia_kg_m2")
    unseen = [loaded(3, 0.2)]
    assert score(fit_linear(training, names, 1), unseen).total.r2 > 0.99
    assert score(fit_linear(training, names[:1], 1), [loaded(3, 0.5)]).total.r2 < 0.0


def test_what_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {re.split(r"[\[<>=!~ ;]", line)[0].lower() for lines in lists for line in lines}
    imported = set()
    for path in (ROOT / "src" / "trueup" / "networks").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.split(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
    # Isaac Lab is the user's own installation; llvmlite comes with numba
    beyond = imported - set(sys.stdlib_module_names) - {"trueup", "isaaclab", "llvmlite"}
    names = {"hydra": "hydra-core", "omegaconf": "hydra-core", "yaml": "pyyaml"}
    assert {names.get(name, name) for name in beyond} <= declared
