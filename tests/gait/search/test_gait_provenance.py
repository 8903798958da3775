"""What a run records of models that are put together rather than read from a file."""

import hashlib
import json
import subprocess
import sys

from given_configurations import FIRST_WALK

from trueup.cli import main
from trueup.gait import Stairs, Walker
from trueup.gait.models.planar22 import planar22


def test_a_model_that_is_put_together_has_the_hash_of_its_xml():
    spec = planar22()
    spec.compile()
    own = hashlib.sha256(spec.to_xml().encode()).hexdigest()
    assert Walker.load("planar22").xml_sha256 == own
    others = [
        Walker.load("planar22_exo"),
        Walker.load("planar22", device="hip"),
        Walker.load("planar22", stairs=Stairs(0.1, 0.4)),
    ]
    hashes = {own, *(walker.xml_sha256 for walker in others)}
    assert len(hashes) == 4 and None not in hashes
    code = "from trueup.gait import Walker; print(Walker.load('planar22').xml_sha256)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == own


def test_a_file_that_is_loaded_as_it_is_has_none(tmp_path):
    spec = planar22()
    spec.compile()
    path = tmp_path / "walker.xml"
    path.write_text(spec.to_xml())
    anatomy = Walker.load("planar22").anatomy
    assert Walker.load(path, anatomy).xml_sha256 is None


def test_a_run_records_it_and_does_not_go_on_with_another_model(capsys, tmp_path, monkeypatch):
    run = tmp_path / "run"
    words = ["gait", "optimize", FIRST_WALK, "--sim-time", "0.1", "--popsize", "4", "--quiet"]
    words += ["--save-path", str(run), "--json"]
    assert main([*words, "--maxiter", "1"]) == 0
    origin = json.loads((run / "provenance.json").read_text())
    (model,) = origin["models"]
    assert model == {"name": "planar22", "sha256": Walker.load("planar22").xml_sha256}
    assert model["sha256"] in (run / "report.html").read_text()
    capsys.readouterr()
    again = ["gait", "optimize", FIRST_WALK, "--save-path", str(run), "--resume", "--maxiter", "2"]
    from trueup.gait.models import _shipped_models as _own_models

    build = _own_models.build_shipped_model

    def heavier(name):
        made, anatomy = build(name)
        made.option.timestep *= 0.5
        return made, anatomy

    monkeypatch.setattr("trueup.gait.models.walker.build_shipped_model", heavier)
    assert main([*again, "--quiet", "--json"]) == 2
    assert "other bounds, start values, settings" in json.loads(capsys.readouterr().out)["message"]
