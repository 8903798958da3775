"""``trueup network synthesize``, ``check``, ``evaluate`` and ``predict`` from the command line."""

import json

import numpy as np
import pytest

from trueup.cli import main
from trueup.networks import (
    FEATURE_NAMES,
    DataSettings,
    SyntheticSettings,
    fit_linear,
    read_series,
    save_network,
    score,
    synthesize,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Synthetic recordings of two inertias, and a linear network of them as a finished run."""
    place = tmp_path_factory.mktemp("network")
    synthesize(SyntheticSettings(inertias=(0.08, 0.1245), duration=6.0), place / "data")
    settings = DataSettings(str(place / "data"))
    network = fit_linear(read_series(settings), FEATURE_NAMES, 2)
    network.provenance["data"] = settings.to_dict()
    (place / "run" / "inner").mkdir(parents=True)
    save_network(network, place / "run" / "inner" / "network.safetensors")
    return place


@pytest.fixture
def network(folder):
    return folder / "run" / "inner"


def test_synthesize_says_the_noise_floor(tmp_path, command, capsys):
    code, result = command(
        "network", "synthesize", tmp_path / "a", "inertias=0.083,0.1", "duration=2",
        "signals=steps,chirp", "--seed", 5,
    )  # fmt: skip
    assert code == 0
    assert result["noise_floor"]["0.083kgm2"] == pytest.approx(0.065, abs=5e-4)
    assert len(result["files"]) == 4
    assert main(["network", "synthesize", str(tmp_path / "b"), "duration=2"]) == 0
    out = capsys.readouterr().out
    assert "the minimum RMSE of any network is 0.0650 N m" in out
    code, result = command("network", "synthesize", tmp_path / "a", "inertias=0.083")
    assert (code, result["error"]) == (2, "RecordingError")


def test_check_tells_usable_from_unusable(folder, command, capsys):
    code, result = command("network", "check", folder / "data")
    assert code == 0
    assert result["usable"]
    assert [file["group"] for file in result["files"]] == ["0.08kgm2", "0.1245kgm2"]
    code, result = command("network", "check", folder / "data", "data.gyro_axis_for_ang_vel=Gyro_X")
    # that axis measures noise alone
    words = json.dumps(result)
    assert "current_ang_vel_rad_s barely moves" in words
    assert main(["network", "check", str(folder / "data")]) == 0
    assert "A network can be trained on these" in capsys.readouterr().out


def test_unusable_data_exit_with_2(tmp_path, folder, command):
    source = next((folder / "data" / "0.08kgm2").iterdir()).read_text().splitlines()
    (tmp_path / "g").mkdir()
    # the second row twice: its time repeats
    (tmp_path / "g" / "a.csv").write_text("\n".join([*source[:3], source[2], *source[3:]]))
    groups = "data.inertia_groups=[{id: g, folder: g, inertia: 0.08}]"
    code, result = command("network", "check", tmp_path, groups)
    assert (code, result["usable"]) == (2, False)
    code, result = command("network", "check", tmp_path, groups, "data.repair=true")
    assert (code, result["usable"]) == (0, True)


def test_evaluate_gives_scores_by_file(folder, network, command):
    code, result = command("network", "evaluate", network, "--data", folder / "data")
    assert code == 0
    assert result["rmse"] < 0.4
    assert 0 < result["r2"] <= 1
    assert [file["group"] for file in result["files"]] == ["0.08kgm2", "0.1245kgm2"]
    assert all(file["settled"]["rmse"] < 0.13 for file in result["files"])
    assert {"mean"} <= set(result["others"])
    code, again = command("network", "evaluate", network)
    assert again["rmse"] == result["rmse"]
    # keys may stand before and after an option
    data = ("--data", folder / "data")
    code, apart = command(
        "network", "evaluate", network, "data.repair=true", *data, "data.rate=100"
    )
    assert (code, apart["rmse"]) == (0, result["rmse"])
    file = network / "network.safetensors"
    code, of_file = command("network", "evaluate", file, "--data", folder / "data")
    assert of_file["rmse"] == result["rmse"]


def test_evaluate_drives_a_joint_and_writes_a_report(folder, network, tmp_path, command, capsys):
    report = tmp_path / "scores.html"
    code, result = command(
        "network", "evaluate", network, "--data", folder / "data" / "0.08kgm2", "--inertia", 0.08,
        "--report", report, "data.inertia_groups=[{id: a, folder: ., inertia: 0.08}]",
    )  # fmt: skip
    assert code == 0
    assert result["closed_loop"][0]["angle_rmse"] < 0.2
    page = report.read_text()
    for heading in ("Scores", "Torque over time", "Closed loop", "Processing of the recordings"):
        assert heading in page
    assert main(["network", "evaluate", str(network)]) == 0
    assert "from a cold start" in capsys.readouterr().out


def test_evaluate_drives_a_joint_of_a_model(folder, network, tmp_path, command):
    model = tmp_path / "arm.xml"
    joint = '<joint name="elbow" axis="0 1 0" armature=".07"/>'
    body = f'<body>{joint}<inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/></body>'
    head = '<mujoco><option timestep=".001"/><worldbody>'
    model.write_text(f"{head}{body}</worldbody></mujoco>")
    words = ("network", "evaluate", network, "--data", folder / "data" / "0.08kgm2")
    code, result = command(*words, "--model-file", model, "--joint", "elbow")
    assert code == 0
    angles = [each["angle_rmse"] for each in result["closed_loop"]]
    code, alone = command(*words, "--inertia", 0.08)
    assert angles == pytest.approx([each["angle_rmse"] for each in alone["closed_loop"]], rel=1e-3)
    assert command(*words, "--model-file", model)[1]["closed_loop"] == result["closed_loop"]
    for wrong, words_of_error in (
        (("--joint", "elbow"), "--model-file"),
        (("--model-file", model, "--inertia", 0.08), "one of them"),
        (("--model-file", model, "--joint", "knee"), "elbow"),
        (("--model-file", tmp_path / "none.xml", "--joint", "elbow"), "none.xml"),
    ):
        code, result = command(*words, *wrong)
        assert code == 2
        assert words_of_error in result["message"]


def test_predict_writes_torque_beside_the_features(folder, network, tmp_path, command):
    code, result = command(
        "network", "predict", network, "--data", folder / "data", "--output", tmp_path / "out"
    )
    assert code == 0
    table = np.genfromtxt(result["files"][0]["path"], delimiter=",", skip_header=1)
    assert table.shape == (600, 7)
    assert not table[:, -1].any()
    error = table[50:, -2] - table[50:, -3]
    assert np.sqrt(np.mean(error**2)) < 0.13
    code, result = command(
        "network", "predict", network, "--data", folder / "data", "--output", tmp_path / "out"
    )
    assert (code, result["error"]) == (2, "RecordingError")


def test_an_ensemble_tells_how_far_its_members_disagree(folder, tmp_path, command):
    series = read_series(DataSettings(str(folder / "data")))
    for number, history in enumerate((1, 4)):
        network = fit_linear(series, FEATURE_NAMES, history)
        (tmp_path / "run" / "members" / f"{number}").mkdir(parents=True)
        save_network(network, tmp_path / "run" / "members" / f"{number}" / "network.safetensors")
    save_network(network, tmp_path / "run" / "network.safetensors")
    run, data = tmp_path / "run", folder / "data"
    code, result = command("network", "evaluate", run, "--data", data)
    assert code == 0
    assert result["ensemble"]["spread_rms"] > 0.01
    single = fit_linear(series, FEATURE_NAMES, 1)
    members = [score(network, series), score(single, series)]
    mean = [0.5 * (a.predicted + b.predicted) for a, b in zip(*(m.series for m in members))]
    assert result["ensemble"]["rmse"] == pytest.approx(score(mean, series).total.rmse)
    assert result["rmse"] == pytest.approx(members[0].total.rmse)
    code, result = command("network", "predict", run, "--data", data, "--output", tmp_path / "out")
    table = np.genfromtxt(result["files"][0]["path"], delimiter=",", skip_header=1)
    np.testing.assert_allclose(table[:, -2], mean[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["evaluate", "{run}"], "RunDirectoryError", "inner/network.safetensors"),
        (["evaluate", "{run}/nothing"], "RunDirectoryError", "no run directory or network file"),
        (
            ["evaluate", "{run}/inner", "--data", "{run}/nowhere"],
            "RecordingError",
            "no such folder",
        ),
        (["evaluate", "{run}/inner", "data.rates=5"], "ExperimentError", "'rate'"),
        (["evaluate", "{run}/inner", "data.rate"], "ExperimentError", "data.key=value"),
        (["evaluate", "{run}/inner", "data.rate=50"], "SignalError", "data.rate=100"),
        (
            ["evaluate", "{run}/inner", "data.gyro_axis_for_ang_vel=Gyro"],
            "ColumnError",
            "Gyro_X",
        ),
        (["check"], "ExperimentError", "data.data_base_dir=FOLDER"),
        (["evaluate", "{run}/inner", "data.batch_size=2.5"], "ExperimentError", "expected int"),
        (["evaluate", "{run}/inner", "data.rate=1e9"], "RecordingError", "at most 1000 Hz"),
        (["check", "{run}"], "RecordingError", "no file"),
    ],
)
def test_bad_input_is_one_error(arguments, kind, message, folder, command):
    given = [argument.format(run=folder / "run") for argument in arguments]
    code, result = command("network", *given)
    assert (code, result["error"]) == (2, kind)
    assert message in result["message"]


def test_a_corrupt_network_file_is_refused(tmp_path, command):
    import pickle

    path = tmp_path / "network.safetensors"
    path.write_bytes(pickle.dumps({"weights": [1, 2]}))
    code, result = command("network", "evaluate", path, "--data", tmp_path)
    assert (code, result["error"]) == (2, "FitError")


def test_every_command_reads_a_network_by_every_name(folder, network, tmp_path, command):
    archive, data = tmp_path / "network.npz", ("--data", folder / "data")
    form = ("--form", "numpy", "--output")
    assert command("network", "export", network, *form, archive)[0] == 0
    scores = [
        command("network", "evaluate", name, *data)[1]["rmse"]
        for name in (network, network / "network.safetensors", archive)
    ]
    assert scores[0] == scores[1] == scores[2]
    assert command("network", "predict", archive, *data, "--output", tmp_path / "out")[0] == 0
    assert command("network", "export", archive, *form, tmp_path / "b.npz")[0] == 0
    (tmp_path / "a.pt").write_bytes(b"program")
    archive.write_bytes(b"no archive")
    for name, error in (
        (folder / "run", "RunDirectoryError"),
        (folder / "nothing", "RunDirectoryError"),
        (tmp_path / "a.pt", "FitError"),
        (archive, "FitError"),
    ):
        (code, first), second = (
            command("network", "evaluate", name, *data),
            command("network", "export", name, *form, tmp_path / "c.npz"),
        )
        assert (code, first["error"]) == (2, error)
        assert second == (code, first)


def test_settings_come_from_a_file_too(folder, tmp_path, command):
    path = tmp_path / "data.yaml"
    path.write_text("data:\n  radius_accel: 0.4\n  inertia_groups: []\n")
    code, result = command(
        "network", "evaluate", folder / "run" / "inner", "--data", path,
        f"data.data_base_dir={folder / 'data'}",
    )  # fmt: skip
    assert code in (0, 3)
    plain = command("network", "evaluate", folder / "run" / "inner")[1]
    # half the torque at twice the radius
    assert result["others"]["mean"]["rmse"] == pytest.approx(plain["others"]["mean"]["rmse"] / 2)
