"""An ensemble of networks as draws: members over the test recording, one an environment."""

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("torch")

from small_trainings import configured

from trueup.cli import main
from trueup.errors import RunDirectoryError, TrueupError
from trueup.networks import NetworkEnsemble, SyntheticSettings, synthesize
from trueup.networks.training.train import run_training
from trueup.randomise import export_randomisation

TWO = (
    "model.ensemble_members=2",
    "data.features=[angle_error_rad,current_ang_vel_rad_s]",
)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings") / "data"
    synthesize(SyntheticSettings(inertias=(0.05,), duration=4.0), folder)
    return folder


@pytest.fixture(scope="module")
def ensemble_run(recordings, tmp_path_factory):
    """Run directory of a training of two members."""
    target = tmp_path_factory.mktemp("ensemble") / "run"
    return run_training(configured(recordings, *TWO), target, verbose=False).directory


def test_members_are_the_rows_and_their_band_lies_over_the_test(ensemble_run, tmp_path):
    shares = []
    made = export_randomisation(
        ensemble_run, tmp_path / "isaac", "isaac-lab", joints=3, anyway=True, progress=shares.append
    )
    assert shares == sorted(shares) and shares[-1] == 1.0
    np.testing.assert_array_equal(made.draws.values[:, 0], [0, 1])
    names = {file.name for file in made.files}
    assert {"posterior_network.pt", "posterior_network.py", "report.html"} <= names
    text = (made.directory / "posterior_network.py").read_text()
    assert "ActuatorNetLSTMCfg" in text and str(tmp_path) not in text
    ensemble = NetworkEnsemble.load(ensemble_run)
    (band,) = made.check.bands
    low, high = band.band[:, :, 0]
    each = ensemble.each(band_inputs(made, ensemble_run, ensemble))
    rows = np.searchsorted(np.arange(each.shape[1]), np.arange(len(low)))
    assert (low >= each.min(axis=0)[rows] - 1e-9).all()
    assert (high <= each.max(axis=0)[rows] + 1e-9).all()
    assert 0.0 <= made.description["band"][0]["inside"]["torque"] <= 1.0


def band_inputs(made, run, ensemble):
    """Features of the test recording."""
    from trueup.knowledge.network_run import network_run

    (split,) = network_run(run, anyway=True).recordings.splits
    return split.test[0].features(ensemble.inputs)


def test_what_an_ensemble_cannot_do_is_said(ensemble_run, tmp_path, capsys):
    target = tmp_path / "none"
    with pytest.raises(TrueupError, match=r"the number of joints .*with joints="):
        export_randomisation(ensemble_run, target, "isaac-lab", anyway=True)
    with pytest.raises(TrueupError, match=r"of mjlab supports .* family 'lstm'"):
        export_randomisation(ensemble_run, target, "mjlab", joints=2, anyway=True)
    assert not target.exists()
    arguments = ["export", "dr", str(ensemble_run), "--anyway", "--output", str(target)]
    assert main([*arguments, "--form", "playground", "joints=2"]) == 2
    assert "'isaac-lab'" in capsys.readouterr().err
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["draws"] == 2
    shutil.copytree(ensemble_run, tmp_path / "alone")
    shutil.rmtree(tmp_path / "alone" / "members")
    with pytest.raises(
        RunDirectoryError,
        match=r"contains one network; draws require an ensemble: .* model.ensemble_members=5",
    ):
        export_randomisation(tmp_path / "alone", target, anyway=True, overwrite=True)
