"""Configuration of a run as training files of MyoAssist."""

import pytest
from given_configurations import FIRST_WALK, SPARING, WITH_DEVICE

from trueup import gait, runs
from trueup.gait import GaitConfiguration, load_configuration
from trueup.gait.search.configuration_files import configuration_names
from trueup.gait.search.earlier_runs import configuration_of_run
from trueup.gait.search.myoassist.reader import import_configuration
from trueup.gait.search.myoassist.script import write_training_scripts
from trueup.runs import Budget, RunDirectory, RunInterrupted

SHARED = (
    *("musc_model", "model", "model_file", "sim_time", "pose_key", "num_strides", "delayed"),
    *("optim_mode", "reflex_mode", "tgt_vel", "tgt_slope", "trunk_err_type", "tgt_sym_th"),
    *("tgt_grf_th", "cost", "ExoOn", "use_4param_spline", "max_torque", "fixed_exo", "popsize"),
    *("maxiter", "sigma_gain", "cma_options", "param_path", "n_points"),
)
"""Keys that MyoAssist has, too."""

CHANGES = {
    "paths with spaces and quotes": {
        "model_file": "/my models/O'Brien 100%.xml",
        "param_path": "/a b/run (1) & more/#2",
    },
    "words of the package": {"model_file": "planar22", "param_path": "shipped"},
    "several conditions": {
        "optim_mode": "multislope",
        "tgt_vel": [0.8, 1.25],
        "tgt_slope": [-5, 0.5],
    },
    "points": {"n_points": 6, "ExoOn": True, "fixed_exo": True},
    "points of the default number": {"use_4param_spline": False, "ExoOn": True},
    "odd numbers": {"sim_time": 0.30000000000000004, "sigma_gain": 1e-7, "max_torque": 1234.5},
    "a kind of cost": {"cost": "kine_grf_musc", "weights": None},
    "options of cma": {"cma_options": "tolfun:1e-9,CMA_stds:None", "popsize": 9, "maxiter": 4},
    "switches": {"delayed": False, "reflex_mode": "ind", "musc_model": 26, "seed": 12},
    "what MyoAssist does not have": {
        "perturbed_repeats": 3,
        "held": {"exo_peak": 0.2},
        "reference": "walk & run.json",
    },
}


def shared(configuration):
    return {key: configuration.to_dict()[key] for key in SHARED}


@pytest.mark.parametrize("ending", ["sh", "bat"])
@pytest.mark.parametrize("case", [*CHANGES, *configuration_names(), FIRST_WALK, SPARING])
def test_a_script_read_back_is_the_same_configuration(tmp_path, case, ending):
    base = load_configuration("walk" if case in CHANGES else case)
    configuration = base.with_changes(CHANGES.get(case, {}))
    paths = write_training_scripts(tmp_path, "mine", configuration)
    assert [path.name for path in paths] == ["mine.sh", "mine.bat"]
    found = import_configuration(tmp_path / f"mine.{ending}")
    assert shared(found) == shared(configuration)
    text = (tmp_path / f"mine.{ending}").read_text(encoding="utf-8")
    for key in set(GaitConfiguration().to_dict()) - set(SHARED):
        assert f"{'# ' if ending == 'sh' else 'rem '}{key}: " in text


def test_a_batch_file_has_carets_and_line_ends_of_windows(tmp_path):
    write_training_scripts(tmp_path, "mine", load_configuration("tutorial"))
    lines = (tmp_path / "mine.bat").read_bytes().split(b"\r\n")
    start = next(i for i, line in enumerate(lines) if b"optim.train" in line)
    assert all(line.endswith(b" ^") for line in lines[start:-2]) and lines[-1] == b""
    assert not any(b"\n" in line for line in lines)
    shell = (tmp_path / "mine.sh").read_bytes()
    assert b"\r" not in shell and shell.startswith(b"#!/bin/sh\n")


def test_a_run_has_the_scripts_from_its_start_and_after_resume(tmp_path):
    run = tmp_path / "device"
    seen = []

    def stop(generation):
        seen.append(import_configuration(run / "device.sh").maxiter)
        raise KeyboardInterrupt

    changes = {"sim_time": 0.05, "popsize": 4, "maxiter": 1, "perturbed_repeats": 2}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("trueup.gait.run.CmaFiles.write", lambda self, one: stop(one))
        with pytest.raises(RunInterrupted):
            gait.optimize(WITH_DEVICE, run, changes=changes, verbose=False)
    assert seen == [1]
    runs.resume(run, verbose=False)
    gait.optimize(WITH_DEVICE, run, changes=changes | {"maxiter": 2}, resume=True, verbose=False)
    kept = configuration_of_run(RunDirectory.open(run))
    for ending in ("sh", "bat"):
        found = import_configuration(run / f"device.{ending}")
        assert shared(found) == shared(kept) and found.maxiter == 2
    runs.resume(run, limits=Budget(max_generations=3), verbose=False)
    assert import_configuration(run / "device.sh").maxiter == 3


def test_stages_are_listed(tmp_path):
    write_training_scripts(tmp_path, "mine", load_configuration("walk"))
    (line,) = [
        line
        for line in (tmp_path / "mine.sh").read_text().splitlines()
        if line.startswith("# stages: ")
    ]
    assert all(f'"{name}"' in line for name in load_configuration("walk").stages or {})
