"""Arguments of MyoAssist's ``train.py``, as options and in ``.sh`` and ``.bat`` files."""

import json

import numpy as np
import pytest
from given_configurations import nominal_vector

from trueup.cli import main
from trueup.gait import GaitConfiguration, load_configuration
from trueup.gait.search.configuration import COSTS
from trueup.gait.search.configuration_files import configuration_names
from trueup.gait.search.myoassist.reader import import_configuration

ARGUMENTS = {
    "--musc_model 26": ("musc_model", 26),
    "--model dephy": ("model", "dephy"),
    "--model_path walker.xml": ("model_file", "walker.xml"),
    "--sim_time 3": ("sim_time", 3.0),
    "--pose_key walk_right": ("pose_key", "walk_right"),
    "--num_strides 3": ("num_strides", 3),
    "--delayed 1": ("delayed", True),
    "--delayed True": ("delayed", True),
    "--delayed 0": ("delayed", False),
    "--optim_mode single": ("optim_mode", "single"),
    "--optim_mode multislope": ("optim_mode", "multislope"),
    "--optim_mode evaluate": ("optim_mode", "evaluate"),
    "--reflex_mode ind": ("reflex_mode", "ind"),
    "--tgt_vel 0.8": ("tgt_vel", (0.8,)),
    "--tgt_vel 0.8 1.25": ("tgt_vel", (0.8, 1.25)),
    "--tgt_slope -5": ("tgt_slope", (-5.0,)),
    "--tgt_slope -5 0 5": ("tgt_slope", (-5.0, 0.0, 5.0)),
    "--trunk_err_type zero_diff": ("trunk_err_type", "zero_diff"),
    "--tgt_sym_th 0.2": ("tgt_sym_th", 0.2),
    "--tgt_grf_th 1.2": ("tgt_grf_th", 1.2),
    "--ExoOn 1": ("exo", True),
    "--ExoOn 0": ("exo", False),
    "--exo_bool True": ("exo", True),
    "--exo_bool False": ("exo", False),
    "--use_4param_spline": ("use_4param_spline", True),
    "--n_points 6": ("n_points", 6),
    "--max_torque 33.5": ("max_torque", 33.5),
    "--fixed_exo": ("fixed_exo", True),
    "--popsize 12": ("popsize", 12),
    "--maxiter 7": ("maxiter", 7),
    "--sigma_gain 5": ("sigma_gain", 5.0),
    "--cma_options tolfun:1e-9,tolx:1e-9": ("cma_options", "tolfun:1e-9,tolx:1e-9"),
    "--param_path prep": ("param_path", "prep"),
    **{f"-{cost}": ("cost", cost) for cost in COSTS},
}
"""Argument as ``train.py`` takes it -> key of a configuration, and its value."""

PATHS = ("model_file", "param_path")

FILES = {"sh": "#!/bin/sh\n# --sim_time 99\n{}\n", "bat": "@echo off\nrem --sim_time 99\n{}\n"}


@pytest.fixture
def asked(monkeypatch):
    """Calls of the search: positional arguments and keywords."""
    calls = []
    monkeypatch.setattr(
        "trueup.cli.gait.optimize.run_optimize", lambda *a, **k: calls.append((a, k)) or 0
    )
    return calls


@pytest.mark.parametrize("words", ARGUMENTS)
def test_an_argument_is_an_option_and_is_read_from_files(asked, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    key, value = ARGUMENTS[words]
    expected = str(tmp_path / value) if key in PATHS else value
    assert main(["gait", "optimize", "walk", *words.split()]) == 0
    ((_, _, changes, *_), _) = asked[0]
    assert getattr(GaitConfiguration().with_changes(changes), key) == expected
    assert len(changes) == 1
    for ending, text in FILES.items():
        path = tmp_path / f"mine.{ending}"
        path.write_text(text.format(f"python -m optim.train {words} --threads 4"))
        assert getattr(import_configuration(path), key) == value
        assert getattr(load_configuration(path), key) == expected


def test_arguments_of_the_run_itself(asked, tmp_path):
    words = ["gait", "optimize", "tutorial", "--threads", "3"]
    assert main([*words, "--save_path", str(tmp_path / "run")]) == 0
    assert main([*words, "--pickle_path", str(tmp_path / "run")]) == 0
    (saved, _), (resumed, keywords) = asked
    assert saved[1] == resumed[1] == tmp_path / "run" and saved[4] == resumed[4] == 3
    assert keywords["pickle"] and saved[2] == resumed[2] == {}


@pytest.mark.parametrize("name", configuration_names())
def test_a_configuration_is_chosen_by_its_name(asked, name):
    assert main(["gait", "optimize", name]) == 0
    assert asked[0][0][0] == name


def test_without_a_configuration_the_names_are_listed(capsys, asked):
    assert main(["gait", "optimize"]) == 2
    said = capsys.readouterr().err
    assert "trueup gait optimize CONFIG" in said
    assert said.split("names:\n")[1].split() == configuration_names()
    assert main(["gait", "optimize", "--json"]) == 2
    assert "tutorial" in json.loads(capsys.readouterr().out)["message"] and not asked


SCRIPTS = {
    "continued lines, comments, quotes": (
        "mine.sh",
        "#!/bin/sh\n# a comment\npython -m optim.train \\\n    --musc_model 22 \\\n    -eff \\\n"
        "    --cma_options \"tolfun:1e-9,tolx:1e-9\" \\\n    --param_path 'my results/prep' \\\n"
        "    --maxiter 5 # generations\n",
    ),
    "an unset interpreter": (
        "mine.sh",
        "cd ..\nexec $PYTHON_CMD -m optim.train --cma_options tolfun:1e-9,tolx:1e-9 \\\n"
        "  --param_path my\\ results/prep -eff --maxiter 5\n",
    ),
    "carets and CRLF": (
        "mine.bat",
        "@echo off\r\nREM a comment --maxiter 9\r\n:: another\r\npython -m optim.train ^\r\n"
        "    --musc_model 22 ^\r\n    -eff ^\r\n"
        '    --cma_options "tolfun:1e-9,tolx:1e-9" ^\r\n'
        '    --param_path "my results\\prep" ^\r\n    --maxiter 5\r\npause\r\n',
    ),
    "a caret at the end": (
        "mine.bat",
        "python train.py -eff --cma_options tolfun:1e-9,tolx:1e-9 ^\n"
        '--param_path "my results/prep" --maxiter 5 ^\n',
    ),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts(tmp_path, script):
    name, text = SCRIPTS[script]
    path = tmp_path / name
    path.write_bytes(text.encode())
    found = import_configuration(path)
    assert (found.cost, found.maxiter) == ("eff", 5)
    assert found.cma_options == "tolfun:1e-9,tolx:1e-9"
    assert found.param_path == "my results/prep"


def test_paths_of_windows_are_read_on_every_system(tmp_path):
    path = tmp_path / "mine.bat"
    path.write_text("python train.py -kine --param_path ..\\O'Brien\\100%%\\prep\\")
    assert import_configuration(path).param_path == "../O'Brien/100%/prep/"


def test_words_of_the_package_are_not_paths(tmp_path):
    path = tmp_path / "mine.sh"
    path.write_text("python train.py -kine --param_path shipped --model_path planar22")
    found = load_configuration(path)
    assert (found.param_path, found.model_file) == ("shipped", "planar22")


@pytest.mark.parametrize("ending", FILES)
def test_the_mode_evaluate_of_a_file_evaluates_its_vector(capsys, tmp_path, ending):
    (tmp_path / "prep").mkdir()
    np.savetxt(tmp_path / "prep/x_Best.txt", nominal_vector())
    path = tmp_path / f"mine.{ending}"
    words = "--model_path planar22 --sim_time 0.05 -vel --optim_mode evaluate --param_path prep"
    path.write_text(FILES[ending].format(f"python train.py {words}"))
    assert main(["gait", "optimize", str(path), "--json", "--save_path", f"{tmp_path}/run"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["terms"]["lasted"] == pytest.approx(0.05) and not (tmp_path / "run").exists()
    assert main(["gait", "evaluate", f"{tmp_path}/prep/x_Best.txt", "--config", str(path),
                 "--json"]) == 0  # fmt: skip
    assert json.loads(capsys.readouterr().out)["scalar"] == answer["scalar"]
