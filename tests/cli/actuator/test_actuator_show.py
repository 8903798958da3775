"""``trueup actuator compare``, ``plot`` and ``drive-backdrive`` from the command line."""

import json
import re

import numpy as np
import pytest

from trueup.actuators import ServoModel, load_model, save_model, write_log
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.logs.servo_log import ServoLog
from trueup.cli import main

MODEL = ServoModel.create(
    "xl330", "m1", kt=0.37, R=2.8, armature=0.002, friction_base=0.02, friction_viscous=0.005
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three logs of a known model at three gains, and parameter files of two models."""
    place = tmp_path_factory.mktemp("servo")
    (place / "logs").mkdir()
    times = np.arange(160) * 0.005
    for kp in (100.0, 200.0, 300.0):
        values = {
            "name": f"kp{kp:g}", "source": "", "sha256": "", "motor": "xl330",
            "trajectory": "sine", "mass": 0.4, "arm_mass": 0.0, "length": 0.1, "kp": kp,
            "vin": 7.5, "damping": None, "dt": 0.005, "times": times,
            "position": np.zeros(160), "speed": np.zeros(160),
            "goal_position": np.sin(6.0 * times + 0.01 * kp),
            "torque_enable": times < 0.6, "load": None, "input_volts": None, "temperature": None,
        }  # fmt: skip
        motion = BenchSimulator(MODEL, [ServoLog(**values)]).simulate()
        values |= {"position": motion.position[0][0].copy(), "speed": motion.speed[0][0].copy()}
        write_log(ServoLog(**values), place / "logs" / f"kp{kp:g}.json")
    save_model(MODEL, place / "m1.json")
    save_model(ServoModel.create("xl330", "m3", **MODEL.values), place / "m3.json")
    save_model(ServoModel.create("mx64", "m1"), place / "mx.json")
    return place


def run(capsys, *arguments: object) -> tuple[int, dict]:
    code = main(["actuator", *map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_compare_given_files(folder, capsys, tmp_path):
    files = ["--params", folder / "m1.json", folder / "m3.json"]
    code, found = run(
        capsys, "compare", "--logdir", folder / "logs", *files, "--given-only",
        "--validation_kp", 200, 300, "--output", tmp_path / "out",
    )  # fmt: skip
    assert code == 0 and found["recommended"] == "m1"
    assert {p.name for p in (tmp_path / "out").iterdir()} >= {
        "comparison.html", "comparison.json", "solution.json", "report.html",
    }  # fmt: skip
    assert not list((tmp_path / "out").glob("*.png"))
    assert not (tmp_path / "out" / "fits").exists()
    written = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert written["models"][0]["held_out"] == found["models"][0]["held_out"] < 1e-9


def test_compare_fits_what_is_missing(folder, capsys, tmp_path):
    code, found = run(
        capsys, "compare", "--logdir", folder / "logs", "--params", folder / "m3.json",
        "--models", "m1,m3", "--validation-kp", 300, "--evaluations", 60, "--output", tmp_path,
    )  # fmt: skip
    assert code == 0
    assert [m["origin"] for m in found["models"]] == ["fitted here", str(folder / "m3.json")]
    fitted = load_model(tmp_path / "m1.json", model="m1", servo="xl330")
    assert set(fitted.provenance["training_logs"]) == {"kp100", "kp200"}
    assert any("m1 has not converged" in note for note in found["notes"])
    assert found["extended"] is None
    assert any("60 evaluations are too few to select a model" in note for note in found["notes"])
    code, again = run(
        capsys, "compare", "--logdir", folder / "logs", "--params", tmp_path / "m1.json",
        "--given-only", "--validation-kp", 100, "--output", tmp_path / "again",
    )  # fmt: skip
    assert code == 0
    assert again["notes"][0].startswith("m1 was fitted to 'kp100', which are held out here")


def test_compare_takes_extended_terms_by_an_inner_split(folder, capsys, tmp_path):
    code, found = run(
        capsys, "compare", "--logdir", folder / "logs", "--params", folder / "m1.json",
        "--models", "m1", "--validation-kp", 300, "extended=1", "try_terms=torque_saturation",
        "method=least-squares", "--evaluations", 3000, "--output", tmp_path,
    )  # fmt: skip
    assert code == 0
    extended = found["extended"]
    assert extended["by"] == "kp"
    # the held-out gain had no part in the inner split
    assert [sorted(tried["errors"]) for tried in extended["tried"]] == [["100", "200"]]
    # the logs have no saturation: the term brings nothing where it is fitted, and goes no further
    (screened,) = extended["screened"]
    assert screened["term"] == "torque_saturation" and screened["gain"] < 1e-6
    chosen = "+".join((extended["model"], *extended["terms"]))
    assert chosen in [m["label"] for m in found["models"]]
    page = (tmp_path / "comparison.html").read_text()
    assert "Model selection" in page
    assert re.search(r"torque_(<wbr>)?saturation", page)


def test_compare_prints_the_table_of_the_choice_and_follows_it(folder, capsys, tmp_path):
    words = ["compare", "--logdir", folder / "logs", "--models", "m1",
             "try_terms=torque_saturation", "method=least-squares", "--evaluations", 4000,
             "--output", tmp_path]  # fmt: skip
    assert main(["actuator", *map(str, words), "--quiet"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "mrad parameters held out fitted" in printed
    assert "Logs are held out by kp, one part after the other" in printed
    # no log is held out: errors on logs left out decide
    assert "Recommended: m1. Logs are held out" in printed
    solution = json.loads((tmp_path / "solution.json").read_text())
    assert solution["recommended"] == "m1"
    assert {tried["model"] for tried in solution["extended"]["tried"]} == {"m1"}


def test_plot_with_and_without_models(folder, capsys, tmp_path):
    code, found = run(
        capsys, "plot", "--sim", "--logdir", folder / "logs", "--params", folder / "m1.json",
        "--params", folder / "m3.json", "--worst", 1, "--output", tmp_path / "plot.html", "png=1",
    )  # fmt: skip
    assert code == 0 and list(found["models"]) == ["m1", "m3"] and len(found["logs"]) == 1
    assert (tmp_path / "plot.html").is_file() and (tmp_path / "plot.png").is_file()
    code, found = run(
        capsys, "plot", "--logdir", folder / "logs", "--only", "kp1*", "--output",
        tmp_path / "logs.html",
    )  # fmt: skip
    assert code == 0 and found["logs"] == ["kp100"] and found["models"] == {}
    assert not list(tmp_path.glob("logs*.png"))


def test_drive_backdrive(folder, capsys, tmp_path):
    code, found = run(
        capsys, "drive-backdrive", "--params", folder / "m1.json", "--max_torque", 0.5,
        "speeds=0,2", "--output", tmp_path / "limits.html",
    )  # fmt: skip
    limits = found["models"]["m1"]
    assert code == 0 and limits["breakaway_torque"] == pytest.approx(0.02)
    assert limits["drive"][1][-1] == pytest.approx(0.5 - 0.02 - 2 * 0.005)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "--params", "{}/mx.json", "--given-only"], ["mx.json", "'mx64'", "'xl330'"]),
        (["compare", "--models", "m1,m7"], ["'m7'", "'m6'"]),
        (["compare", "--given-only"], ["--params"]),
        (["compare", "--models", "m1", "--validation-kp", "150"], ["150", "100, 200, 300"]),
        (["compare", "try_terms=backlash", "--friction-only"], ["try_terms", "--friction-only"]),
        (["compare", "extended=1", "--friction-only"], ["extended is given twice"]),
        (["compare", "extended=1", "try_terms=backlsh"], ["'backlsh'", "'backlash'"]),
        (["compare", "extended=1", "--given-only", "--params", "{}/m1.json"], ["extended"]),
        (["compare", "--models", "m1", "--given-only"], ["models", "--given-only"]),
        (["plot", "--sim"], ["--params"]),
        (["plot", "--params", "{}/m1.json"], ["--sim"]),
        (["plot", "--sim", "--params", "{}/mx.json"], ["mx.json", "'mx64'"]),
        (["plot", "--sim", "--params", "{}/none.json"], ["none.json"]),
        (["plot", "--only", "kp900"], ["'kp900'", "'kp100'"]),
    ],
)
def test_bad_input_is_one_error(folder, capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    given = [word.format(folder) for word in arguments]
    code, found = run(capsys, *given, "--logdir", folder / "logs")
    assert code == 2
    assert all(word in found["message"] for word in words)
    assert not list(tmp_path.iterdir())


def test_an_empty_folder_of_logs(capsys, tmp_path):
    code, found = run(capsys, "compare", "--logdir", tmp_path)
    assert code == 2 and str(tmp_path) in found["message"]
