"""The command that exports networks."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from trueup.cli import main
from trueup.cli.network.export import ExportNetwork
from trueup.cli.output import Output
from trueup.deploy import FORMS
from trueup.errors import FitError, ReportError, RunDirectoryError
from trueup.networks import load_numpy_network, predict, save_network

pytest.importorskip("safetensors")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "networks"))
from random_networks import random_network, smooth_inputs


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    save_network(random_network("gru", torque_limit=5.0), folder / "network.safetensors")
    return folder


def export(network, form, capsys=None, **options):
    assert ExportNetwork(network=network, form=form, **options).run(Output(json=True)) == 0
    return json.loads(capsys.readouterr().out)


def test_a_run_is_exported_and_the_use_is_printed(run, tmp_path, capsys):
    answer = export(run, "numpy", capsys, output=tmp_path / "new" / "network.npz")
    assert answer["rate_hz"] == 100.0
    assert "NetworkRuntime" in answer["usage"]
    network = random_network("gru", torque_limit=5.0)
    inputs = smooth_inputs(network, 30)
    again = load_numpy_network(tmp_path / "new" / "network.npz")
    np.testing.assert_array_equal(predict(again, inputs), predict(network, inputs))


def test_the_output_is_named_after_the_form(run, capsys):
    answer = export(run / "network.safetensors", "numpy", capsys)
    assert answer["output"] == str(run / "network_numpy.npz")
    with pytest.raises(ReportError, match="--overwrite"):
        export(run, "numpy")
    export(run, "numpy", capsys, overwrite=True)


def test_the_command_offers_every_form(capsys):
    assert main(["network", "export", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for name, form in FORMS["network"].items():
        assert f"{name}: {form.description}" in said, name


def test_wrong_input_is_exit_code_2(run, capsys):
    (run / "network.safetensors").write_text("no network")
    assert main(["network", "export", str(run), "--form", "onnx"]) == 2
    assert "cannot be read as a network" in capsys.readouterr().err


def test_an_exported_archive_is_exported_on(run, tmp_path, capsys):
    export(run, "numpy", capsys, output=tmp_path / "a.npz")
    export(tmp_path / "a.npz", "numpy", capsys, output=tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() != b""


def test_a_form_that_does_not_fit_says_what_does(run, tmp_path):
    for form in ("isaac-lab-mlp", "mjlab", "isaac-lab-lstm"):
        with pytest.raises(FitError, match=r"family 'gru'. Train one that does: trueup network"):
            export(run, form, output=tmp_path / "x.pt")
        assert not (tmp_path / "x.pt").exists()


def test_what_cannot_be_read_is_refused_and_never_run(run, tmp_path):
    with pytest.raises(
        RunDirectoryError, match=r"no run directory or network file .*none: give the"
    ):
        export(tmp_path / "none", "numpy")
    with pytest.raises(
        RunDirectoryError, match=r"finished training\. Give one of 'run/network\.saf"
    ):
        export(tmp_path, "numpy")
    pickled = tmp_path / "model.ckpt"
    pickled.write_bytes(b"cos\nsystem\n(S'touch hacked'\ntR.")
    with pytest.raises(FitError, match=r"network\.safetensors"):
        export(pickled, "numpy")
    file = run / "network.safetensors"
    whole = file.read_bytes()
    for damaged in (pickled.read_bytes(), whole[:200], whole[: len(whole) // 2], b""):
        file.write_bytes(damaged)
        with pytest.raises(FitError, match="cannot be read as a network"):
            export(run, "numpy")
    assert not list(tmp_path.rglob("hacked"))


def test_weights_of_another_shape_are_refused(run):
    network = random_network("gru")
    network.weights["head.weight"] = np.zeros((1, 5), np.float32)
    save_network(network, run / "network.safetensors")
    with pytest.raises(FitError, match=r"'head.weight' has shape \(1, 5\); expected \(1, 12\)"):
        export(run, "numpy")
