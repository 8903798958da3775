"""Inputs that ask for more memory or time than any machine has: refused before it is taken."""

import copy
import io
import os
import signal
import subprocess
import sys
import time
import zipfile

import driven_pendulum as pendulum
import numpy as np
import pytest
import yaml
from work import refused

from trueup.cli import main
from trueup.sysid.assess import checks
from trueup.sysid.assess.checks import check_experiment
from trueup.sysid.experiment.file import load_experiment


def experiment_with(folder, **changes):
    content = copy.deepcopy(pendulum.EXPERIMENT)
    content["recordings"][0].update(changes.pop("recording", {}))
    content.update(changes)
    path = folder / "experiment.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def npz_bomb(path, rows=60_000_000):
    header = io.BytesIO()
    description = {"descr": "<f8", "fortran_order": False, "shape": (rows,)}
    np.lib.format.write_array_header_1_0(header, description)
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("t.npy", "w", force_zip64=True) as member,
    ):
        member.write(header.getvalue())
        for _ in range(rows // 1_000_000):
            member.write(bytes(8_000_000))


@pytest.mark.parametrize("command", ["check", "init"])
def test_an_archive_that_unpacks_to_far_more_is_refused(command, place, capfd):
    folder, _ = place("sysid")
    npz_bomb(folder / "bomb.npz")
    words = ["check", str(experiment_with(folder, recording={"file": "bomb.npz"}))]
    if command == "init":
        words = ["init", f"{folder}/pendulum.xml", f"{folder}/bomb.npz", "-o", f"{folder}/o.yaml"]
    assert "would unpack to 0.4 GB" in refused(words, folder, capfd, named=("bomb.npz",))


BODY = '<body name="rod"><joint name="hinge" type="hinge"/><geom size="1"/></body>'
MODELS = {
    "userdata": (f'<size nuserdata="2000000000"/><worldbody>{BODY}</worldbody>', "nuserdata"),
    "copies": (
        f'<worldbody>{BODY}<replicate count="10000000"><geom size="1"/></replicate></worldbody>',
        "1e+07 copies",
    ),
    "copies of copies": (
        f'<worldbody>{BODY}<replicate count="5000"><replicate count="5000"><geom size="1"/>'
        "</replicate></replicate></worldbody>",
        "2.5e+07 copies",
    ),
    "memory": (f'<size memory="1000G"/><worldbody>{BODY}</worldbody>', "memory"),
}


@pytest.mark.parametrize("what", MODELS)
@pytest.mark.parametrize("command", ["check", "init"])
def test_a_model_that_no_memory_holds_is_refused(command, what, place, capfd):
    folder, _ = place("sysid")
    text, says = MODELS[what]
    (folder / "large.xml").write_text(f"<mujoco>{text}</mujoco>")
    words = ["check", str(experiment_with(folder, model={"file": "large.xml"}))]
    if command == "init":
        words = ["init", f"{folder}/large.xml", f"{folder}/run.csv", "-o", f"{folder}/o.yaml"]
    assert says in refused(words, folder, capfd, named=("large.xml",))


@pytest.mark.parametrize("value", ["0", "nan", "1e-12", "-0.01", "1000000"])
def test_a_time_step_that_is_none_is_refused(value, place, capfd):
    folder, work = place("sysid")
    text = (folder / "pendulum.xml").read_text().replace('"0.005"', f'"{value}"')
    (folder / "pendulum.xml").write_text(text)
    refused(work.command(folder), folder, capfd, named=("pendulum",))


def test_more_workers_than_a_machine_starts_are_refused(place, capfd):
    folder, _ = place("study")
    words = ["study", "run", "sphere", "workers=100000", "-o", f"{folder}/run"]
    refused(words, folder, capfd, named=("100000", "cores"))


def test_more_threads_than_a_machine_runs_are_refused(place, capfd):
    folder, work = place("servo")
    refused([*work.command(folder), "--workers", "100000"], folder, capfd, named=("100000",))


@pytest.mark.parametrize(
    "setting",
    ["model.gru_hidden_dim=1000000000", "train.accelerator=gpu", "data.batch_size=-1"],
)
def test_a_training_that_cannot_be_is_refused(setting, place, capfd):
    import torch

    if setting.endswith("gpu") and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    folder, work = place("network")
    words = [word for word in work.command(folder) if not word.startswith(setting.split("=")[0])]
    refused([*words, setting], folder, capfd)


def test_a_configuration_with_a_number_for_a_part_is_refused(place, capfd):
    folder, _ = place("network")
    (folder / "config.yaml").write_text("model: 5\n")
    words = ["network", "train", "--config", f"{folder}/config.yaml", "--output", f"{folder}/run"]
    refused([*words, f"data.data_base_dir={folder}/data"], folder, capfd, named=("model",))


def test_points_of_an_exoskeleton_have_a_limit(place, capfd):
    folder, _ = place("study")
    words = ["gait", "optimize", "walk", "ExoOn=1", "--n-points", "10000"]
    refused([*words, "--save-path", f"{folder}/run"], folder, capfd, named=("n_points", "100"))


@pytest.mark.parametrize("bounds", [[0.1, 0.1], [0.1, 0.1 + 1e-12]])
def test_bounds_without_a_range_are_refused(bounds, place, capfd):
    folder, _ = place("sysid")
    parameters = copy.deepcopy(pendulum.EXPERIMENT["parameters"])
    parameters["armature"].update(bounds=bounds, start=bounds[0])
    path = experiment_with(folder, parameters=parameters)
    said = refused(["check", str(path)], folder, capfd, named=("armature", "frozen: true"))
    assert "no effect" not in said


def test_long_recordings_are_checked_by_their_beginning(place, monkeypatch):
    folder, _ = place("sysid")
    experiment = load_experiment(folder / "experiment.yaml")
    whole = check_experiment(experiment, folder)
    monkeypatch.setattr(checks, "_MOST_STEPS", 200)
    monkeypatch.setattr(checks, "_FEWEST", 50)
    told = []
    part = check_experiment(experiment, folder, lambda doing, share: told.append(share))
    assert part["quality"] == whole["quality"]
    assert part["identifiability"]["identifiable"]
    values = [found["identifiability"]["singular_values"] for found in (part, whole)]
    assert np.all(values[0] != values[1])
    assert any("first" in note and "time steps" in note for note in part["notes"])
    assert not any("time steps in total" in note for note in whole["notes"])
    assert told == sorted(told) and told[-1] < 1


@pytest.mark.slow
def test_a_terminated_command_says_so(tmp_path):
    """SIGTERM ends a run as Ctrl-C does: in words, and so that it can be resumed."""
    run = tmp_path / "run"
    words = [sys.executable, "-m", "trueup", "study", "run", "rosenbrock", "--dimension", "40"]
    words += ["--method", "cmaes", "target_cost=-1", "-o", str(run)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log = run / "parameters.json"
    for _ in range(600):
        if log.exists():
            break
        assert process.poll() is None
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
    os.kill(process.pid, signal.SIGTERM)
    out, err = process.communicate()
    assert process.returncode == 143, err
    assert "Traceback" not in out + err
    assert "trueup study resume" in err
    assert main(["study", "resume", str(run), "--generations", "20"]) in (0, 3)


@pytest.mark.parametrize("columns", [200, 800])
def test_a_wide_table_without_a_header_is_read_in_seconds(columns, place, capfd):
    folder, _ = place("sysid")
    table = np.random.default_rng(0).random((200, columns))
    table[:, 0] = np.arange(200) / 100
    np.savetxt(folder / "wide.csv", table, delimiter=",")
    words = ["import", f"{folder}/wide.csv", "--model", f"{folder}/pendulum.xml"]
    started = time.process_time()
    main([*words, "-o", f"{folder}/new.yaml"])
    assert time.process_time() - started < 10.0
    assert "Traceback" not in capfd.readouterr().err


def test_a_scheduler_that_is_gone_is_left_by_workers(place, capfd, monkeypatch):
    pytest.importorskip("distributed")
    from trueup.runs.evaluators import dask_cluster

    monkeypatch.setattr(dask_cluster, "_CONNECT", 0.2)
    folder, work = place("study")
    assert main(work.command(folder)) in (0, 3)
    file = folder / "run" / "experiment.yaml"
    file.write_text(f"{file.read_text()}\nexecution: {{scheduler: 'tcp://127.0.0.1:9'}}\n")
    resume = ["study", "resume", f"{folder}/run", "--generations", "5"]
    assert "workers=1" in refused(resume, folder, capfd, named=("tcp://127.0.0.1:9",))
    assert main([*resume, "workers=1"]) in (0, 3)


def test_a_comparison_of_devices_that_is_not_there_is_not_resumed(tmp_path, capfd):
    words = ["gait", "device", "--output", f"{tmp_path}/device", "--resume"]
    refused(words, tmp_path, capfd, named=("device", "no comparison to resume"))


def test_values_that_no_sensor_measures_are_refused(place, capfd):
    folder, work = place("sysid")
    lines = (folder / "run.csv").read_text().splitlines()
    column = lines[0].split(",").index("torque")
    rows = [line.split(",") for line in lines[1:]]
    for row in rows:
        row[column] = f"{float(row[column])}e300"
    (folder / "run.csv").write_text("\n".join([lines[0], *map(",".join, rows)]))
    for command in (work.command(folder), ["check", f"{folder}/experiment.yaml"]):
        refused(command, folder, capfd, named=("'torque'", "e+30"))


@pytest.mark.parametrize(
    ("words", "config"),
    [
        (("model=5",), None),
        (("data=[1]",), None),
        (("model.gru_hidden_dim=4",), "model: 5\n"),
        (("train.max_epochs=1",), "train: [1]\n"),
        (("data.batch_size=4",), "data: text\n"),
        (("train.max_epochs=1",), "train: {early_stopping: 3}\n"),
        (("seed=1",), "data: null\n"),
    ],
)
def test_a_part_of_a_configuration_that_is_none_is_refused(words, config, tmp_path, capfd):
    given = ["network", "train", *words, "--output", f"{tmp_path}/run"]
    if config is not None:
        (tmp_path / "config.yaml").write_text(config)
        given += ["--config", f"{tmp_path}/config.yaml"]
    refused(given, tmp_path, capfd, named=((config or words[0])[:4],))


@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_that_ignores_ctrl_c_says_how_it_is_stopped(quiet, tmp_path, capfd):
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        words = ["study", "run", "sphere", "--generations", "2", "-o", f"{tmp_path}/run"]
        assert main([*words, *(["--quiet"] if quiet else [])]) in (0, 3)
    finally:
        signal.signal(signal.SIGINT, former)
    said = capfd.readouterr().err
    assert (f"kill {os.getpid()}" in said) is not quiet
