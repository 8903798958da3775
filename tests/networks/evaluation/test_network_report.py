"""Reports of networks from a run directory, and of a network on recordings."""

import json

import numpy as np
import pytest
from recorded_joints import linear_series

from trueup.errors import RunDirectoryError
from trueup.networks import (
    FEATURE_NAMES,
    ActuatorSeries,
    JointModel,
    fit_linear,
    predict_series,
    roll_out,
    save_network,
    score,
)
from trueup.networks.evaluation.prediction_figures import _speed_names
from trueup.networks.evaluation.report import evaluation_report, read_predictions, training_report
from trueup.networks.training.run_files import write_predictions

WEIGHTS = np.array([[2.0, -1.0, 0.3], [0.5, 0.0, -0.2]])


def recordings(names="ab"):
    made = [linear_series(WEIGHTS, 300, name, f"file_{name}", i) for i, name in enumerate(names)]
    made[0] = ActuatorSeries(
        made[0].name, made[0].group, 100.0, made[0].channels, made[0].torque, made[0].torque + 1.0
    )
    return made


def write_split(folder, name, series, **more):
    """The files that training leaves for a split."""
    network = fit_linear(series, FEATURE_NAMES, 2)
    linear = fit_linear(series, FEATURE_NAMES, 1)
    scores = score(network, series, {"linear": linear})
    folder.mkdir(parents=True, exist_ok=True)
    save_network(network, folder / "network.safetensors")
    beside = {"linear": [predict_series(linear, each) for each in series]}
    write_predictions(folder, series, scores, beside)
    content = {**scores.to_dict(), "split": name, "scored_on": "test", "training_seconds": 2.0}
    content = {**content, **more}
    (folder / "metrics.json").write_text(json.dumps(content))
    epochs = [
        {"epoch": k, "train_loss": 1 / (k + 1), "val_rmse_epoch": 2 / (k + 1)} for k in (0, 1)
    ]
    (folder / "history.jsonl").write_text("".join(f"{json.dumps(e)}\n" for e in epochs))
    return content


def test_the_report_of_a_training_shows_every_part(tmp_path):
    ensemble = {"rmse": 0.1, "spread": {"rms": 0.02, "out_of_range": 0.5}}
    write_split(tmp_path, "global", recordings(), ensemble=ensemble)
    (tmp_path / "config.yaml").write_text("seed: 42\n")
    page = training_report(tmp_path).html()
    for part in (
        "Scores", "Torque over time", "Predicted against measured", "By speed", "By frequency",
        "Error on whole validation recordings", "Loss while training", "file_a", "file_b",
        "RMSE of the linear", "error of linear", "reference", "seed: 42",
        "Settled RMSE compared with other estimates",
                  "RMSE of whole recordings compared with other estimates",
        "RMS spread of its members is 0.02 N m", "Processing of the recordings",
        "Errors compared with the baselines",
    ):  # fmt: skip
        assert part in page, part


def test_predictions_are_read_as_they_were_written(tmp_path):
    series = recordings()
    write_split(tmp_path, "global", series)
    first, second = read_predictions(tmp_path)
    assert (first.group, second.group) == ("a", "b")
    np.testing.assert_allclose(first.torque, series[0].torque, rtol=1e-8)
    np.testing.assert_allclose(first.estimates["reference"], series[0].torque + 1, rtol=1e-8)
    assert set(second.estimates) == {"network", "linear"}


def test_each_group_held_out_with_mean_and_spread(tmp_path):
    folds = {}
    for index, group in enumerate("ab"):
        folds[group] = write_split(tmp_path / f"fold_{index + 1}", group, recordings(group))
    names = ("rmse", "r2")
    totals = {n: float(np.mean([fold[n] for fold in folds.values()])) for n in names}
    spread = {f"{n}_std": 0.125 for n in names}
    content = {**totals, **spread, "linear_rmse": 0.5, "folds": folds}
    (tmp_path / "metrics.json").write_text(json.dumps(content))
    page = training_report(tmp_path).html()
    for part in ("Each group held out", "spread", "Held out: a", "Held out: b", "0.12"):
        assert part in page, part
    assert "validation fold_1" in page


def test_what_the_checks_found_stands_in_the_report(tmp_path):
    write_split(tmp_path, "global", recordings())
    assert "Findings of the checks" not in training_report(tmp_path).html()
    told = {"check": "groups", "severity": "info", "sentence": "One group."}
    of_file = {"check": "units", "severity": "warning", "sentence": "it looks like deg."}
    check = {"findings": [told], "files": [{"name": "a.csv", "findings": [of_file]}]}
    (tmp_path / "data_check.json").write_text(json.dumps(check))
    page = training_report(tmp_path).html()
    for part in ("Findings of the checks", "One group.", "a.csv: it looks like deg."):
        assert part in page


def test_the_report_of_an_evaluation_shows_the_joint_in_the_loop():
    series = [linear_series(WEIGHTS, 200)]
    network = fit_linear(series, FEATURE_NAMES, 1)
    motion = roll_out(network, series[0], JointModel(5.0, viscous=10.0))
    page = evaluation_report(network, series, score(network, series), [motion]).html()
    assert "Closed loop" in page


def test_an_unfinished_or_damaged_run_is_refused(tmp_path):
    with pytest.raises(RunDirectoryError, match="not finished"):
        training_report(tmp_path)
    write_split(tmp_path, "global", recordings())
    path = next((tmp_path / "predictions").glob("*/*.csv"))
    path.write_text("time_s,torque_nm\n1,x\n")
    with pytest.raises(RunDirectoryError, match="not a file of predictions"):
        training_report(tmp_path)


def test_a_slow_band_of_speed_is_no_band_from_nothing_to_nothing():
    edges = [(0.0, 0.02), (0.02, 0.3), (0.3, 2.2), (2.2, 13.1)]
    assert _speed_names(edges) == ["0 to 0.02", "0.02 to 0.3", "0.3 to 2.2", "2.2 to 13.1"]
    assert _speed_names([(0.0, 0.0)]) == ["0 to 0"]
