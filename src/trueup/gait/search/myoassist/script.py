"""Writer of configurations as training files of MyoAssist, ``.sh`` and ``.bat``."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from trueup.gait.search.configuration import POINTS, GaitConfiguration
from trueup.runs.store import atomic

_ARGUMENTS = {
    "musc_model": "musc_model",
    "model": "model",
    "model_file": "model_path",
    "sim_time": "sim_time",
    "pose_key": "pose_key",
    "num_strides": "num_strides",
    "delayed": "delayed",
    "optim_mode": "optim_mode",
    "reflex_mode": "reflex_mode",
    "tgt_vel": "tgt_vel",
    "tgt_slope": "tgt_slope",
    "trunk_err_type": "trunk_err_type",
    "tgt_sym_th": "tgt_sym_th",
    "tgt_grf_th": "tgt_grf_th",
    "ExoOn": "ExoOn",
    "max_torque": "max_torque",
    "popsize": "popsize",
    "maxiter": "maxiter",
    "sigma_gain": "sigma_gain",
    "cma_options": "cma_options",
    "param_path": "param_path",
}
"""Key -> argument with a value of MyoAssist's ``train.py``."""

_FLAGS = ("use_4param_spline", "fixed_exo")
_BARE_IN_BAT = re.compile(r"[\w./\\:,+=-]+")


def write_training_scripts(
    folder: Path, name: str, configuration: GaitConfiguration
) -> tuple[Path, Path]:
    """Write ``NAME.sh`` and ``NAME.bat`` with the arguments of a configuration.

    Reading one of them with :func:`trueup.gait.import_configuration` returns the configuration,
    except for the keys that MyoAssist does not have. These are comments in the file, with their
    values in JSON.

    Args:
      folder: output folder.
      name: name of the files, and of the results of MyoAssist.
      configuration: the configuration.
    """
    arguments = _arguments(configuration, name)
    further = [f"{key}: {json.dumps(value)}" for key, value in _further(configuration).items()]
    remarks = ["Configuration of a run of trueup. Keys that MyoAssist does not have:", *further]
    shell, batch = folder / f"{name}.sh", folder / f"{name}.bat"
    words = [" ".join(map(shlex.quote, one)) for one in arguments]
    lines = ["#!/bin/sh", *(f"# {remark}" for remark in remarks)]
    lines += [" \\\n    ".join(["python -m optim.train", *words])]
    atomic.write_text(shell, "\n".join(lines) + "\n")
    words = [" ".join(map(_quoted_in_bat, one)) for one in arguments]
    lines = ["@echo off", *(f"rem {remark}" for remark in remarks)]
    lines += [" ^\n    ".join(["python -m optim.train", *words])]
    atomic.write_text(batch, ("\n".join(lines) + "\n").replace("\n", "\r\n"))
    return shell, batch


def _arguments(configuration: GaitConfiguration, name: str) -> list[list[str]]:
    """Arguments of ``train.py``, each with its values."""
    content = configuration.to_dict()
    found = []
    for key, argument in _ARGUMENTS.items():
        value = content[key]
        if value is None or value == "":
            continue
        values = value if isinstance(value, list) else [value]
        found.append([f"--{argument}", *map(_text, values)])
    found.append([f"-{configuration.cost}"])
    found += [[f"--{flag}"] for flag in _FLAGS if content[flag]]
    if not configuration.use_4param_spline:
        found.append(["--n_points", str(configuration.n_points)])
    return [*found, ["--save_path", name]]


def _further(configuration: GaitConfiguration) -> dict[str, Any]:
    """Values of the keys that MyoAssist does not have."""
    written = {*_ARGUMENTS, *_FLAGS, "cost"}
    if not configuration.use_4param_spline or configuration.n_points == POINTS:
        written.add("n_points")  # else it has no effect and is not an argument
    return {k: value for k, value in configuration.to_dict().items() if k not in written}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if is_whole else str(value)


def _quoted_in_bat(word: str) -> str:
    """A word of a ``.bat`` file, where ``%`` begins a variable also within quotes."""
    word = word.replace("%", "%%")
    return word if _BARE_IN_BAT.fullmatch(word) else f'"{word}"'
