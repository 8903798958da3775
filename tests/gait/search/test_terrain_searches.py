"""Searches on stairs and slopes, and with devices at the hip, from the command line."""

import json

import pytest
from given_configurations import FIRST_WALK

from trueup.cli import main

CASES = {
    "stairs": ("stairs=0.1,0.4",),
    "hip": ("--model", "hip", "--ExoOn", "1", "--max-torque", "20"),
    "hip_extension": ("--model", "hip_extension", "--ExoOn", "1", "--n-points", "3"),
    "multislope": ("--optim-mode", "multislope", "--tgt-slope", "-3", "3"),
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_a_resumed_search_is_an_uninterrupted_one(capsys, tmp_path, options):
    whole, parts = tmp_path / "whole", tmp_path / "parts"

    def search(target, generations, *more):
        words = ["gait", "optimize", FIRST_WALK, "--save-path", str(target), "--quiet", "--json"]
        words += ["--maxiter", str(generations), "--threads", "1"]
        code = main([*words, *more])
        return code, json.loads(capsys.readouterr().out)

    # nobody keeps that pace, so that costs differ
    start = (*options, "--sim-time", "0.15", "--popsize", "4", "--tgt-vel", "3")
    code, answer = search(whole, 2, *start)
    assert code == 0 and (whole / "report.html").is_file()
    assert search(parts, 1, *start)[0] == 0
    code, other = search(parts, 2, "--resume")
    assert code == 0 and other["stats"]["generations"] == 2
    assert other["cost"] == answer["cost"] and other["parameters"] == answer["parameters"]
    assert main(["gait", "evaluate", str(whole), "--json"]) == 0
    walked = json.loads(capsys.readouterr().out)
    assert walked["scalar"] == pytest.approx(answer["cost"], rel=1e-12)


@pytest.mark.parametrize(("model", "told"), [("dephy", True), ("ankle", False)])
def test_a_product_is_said_to_be_a_generic_device(capsys, tmp_path, model, told):
    words = ["gait", "optimize", FIRST_WALK, "--model", model, "--ExoOn", "1", "--sim-time", "0.1"]
    words += ["--popsize", "4", "--maxiter", "1", "--save-path", str(tmp_path / "run"), "--quiet"]
    assert main([*words, "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    said = "dephy is replaced by the generic device 'ankle' (1.8 kg, up to 150 N m)"
    assert any(note.startswith(said) for note in notes) is told
