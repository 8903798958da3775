"""Results of a fit on disk in YAML, JSON, NPZ and MJCF, without pickling."""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup._input_files import DAMAGED_ARCHIVE, read_arrays
from trueup.errors import RunDirectoryError
from trueup.fitting import Status
from trueup.parameters import ModifierFn, ParameterDict
from trueup.runs.store import atomic, provenance
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.models.file import write_model
from trueup.sysid import model_modifier
from trueup.sysid.toolbox.intervals import calculate_intervals

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_logger = logging.getLogger("trueup.sysid")

FORMAT_VERSION = 1
_ARRAYS = ("x", "fun", "jac", "grad", "active_mask")
_WORDS = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


@dataclass(frozen=True)
class SavedResults:
    """Results saved by :func:`save_results`."""

    initial_params: ParameterDict
    """Parameters before the fit."""
    opt_params: ParameterDict
    """Identified parameters."""
    result: "OptimizeResult"
    """Result of the optimiser."""
    names: list[str]
    """Name of each free element, the order of covariance and intervals."""
    covariance: np.ndarray
    """``(p, p)``."""
    intervals: np.ndarray
    """Half widths ``(p,)``; infinite if undetermined."""
    at_bound: np.ndarray
    """Elements at a bound, with an unreliable interval ``(p,)`` bool."""
    models: dict[str, Path]
    """Identified model of each group, by name."""
    provenance: dict[str, Any]
    """Versions and machine."""


def save_results(
    experiment_results_folder: str | os.PathLike[str],
    models_sequences: Sequence[ModelSequences],
    initial_params: ParameterDict,
    opt_params: ParameterDict,
    opt_result: "OptimizeResult",
    residual_fn: Callable[..., Any],
) -> None:
    """Write a fit and its uncertainty into a folder.

    ``params_x_0.yaml`` and ``params_x_hat.yaml`` contain the parameters; ``results.json`` and
    ``results.npz`` the result of the optimiser; ``confidence.json`` covariance and half widths of
    the linearised 95 % intervals with their names; ``<group>.xml`` the identified
    models. The specs and the parameters are not changed. :func:`load_results` reads all of it.

    Args:
      experiment_results_folder: the folder, created if missing.
      models_sequences: models with their recordings.
      initial_params: parameters before the fit.
      opt_params: identified parameters.
      opt_result: result of :func:`trueup.sysid.optimize`.
      residual_fn: the residual function of the fit.

    Raises:
      RunDirectoryError: the folder cannot be written.
    """
    folder = Path(experiment_results_folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunDirectoryError(f"cannot create the folder {folder}: {error.strerror}") from error
    x = np.asarray(opt_result.x, float)
    residuals = residual_fn(x, opt_params)[0]
    covariance, intervals = calculate_intervals(residuals, opt_result.jac)
    initial_params.save_to_disk(folder / "params_x_0.yaml")
    opt_params.save_to_disk(folder / "params_x_hat.yaml")
    groups = [models.name for models in models_sequences]
    _write_result(folder, opt_params, opt_result, groups)
    atomic.write_json(
        folder / "confidence.json",
        {
            "names": opt_params.get_non_frozen_parameter_names(),
            "cov": covariance,
            "intervals": intervals,
            "at_bound": opt_params.space().at_bound(x),
            "level": 0.95,
            "method": "linearised, white noise of one variance",
        },
    )
    build_model = getattr(getattr(residual_fn, "settings", None), "own_build_model", None)
    for models in models_sequences:
        identified = models.spec.copy()
        if build_model is None:
            model_modifier.apply_param_modifiers_spec(opt_params, identified)
        else:
            build_model(opt_params.copy(), identified)
        write_model(identified, folder / f"{models.name}.xml")
    _logger.info("results are in %s", folder)


def load_results(
    folder: str | os.PathLike[str], modifiers: Mapping[str, ModifierFn] | None = None
) -> SavedResults:
    """Read what :func:`save_results` wrote.

    Args:
      folder: the folder.
      modifiers: Python modifiers by parameter name, which are not saved in a file.

    Raises:
      RunDirectoryError: a file is missing or damaged.
      ParameterError: a parameter file that cannot be read.
    """
    from scipy.optimize import OptimizeResult

    folder = Path(folder)
    plain = atomic.read_json(folder / "results.json")
    confidence = atomic.read_json(folder / "confidence.json")
    try:
        arrays = read_arrays(folder / "results.npz")
        models = {name: folder / f"{name}.xml" for name in plain["models"]}
        candidates = arrays.pop("candidates", np.zeros((0, 0)))
        objective = arrays.pop("objective", np.zeros(0))
        result = OptimizeResult(
            **arrays,
            **{k: _number(v) for k, v in plain["result"].items()},
            extras={"objective": list(objective), "candidate": list(candidates)},
        )
        if plain["result"].get("status") in Status.__members__:
            result.status = Status[plain["result"]["status"]]
        return SavedResults(
            ParameterDict.load_from_disk(folder / "params_x_0.yaml", modifiers),
            ParameterDict.load_from_disk(folder / "params_x_hat.yaml", modifiers),
            result,
            list(confidence["names"]),
            _matrix(confidence["cov"]),
            _matrix(confidence["intervals"]),
            np.array(confidence["at_bound"], bool),
            models,
            plain["provenance"],
        )
    except DAMAGED_ARCHIVE as error:
        raise RunDirectoryError(f"the results in {folder} are damaged: {error}") from error


def _write_result(
    folder: Path, params: ParameterDict, result: "OptimizeResult", groups: list[str]
) -> None:
    arrays = {
        name: np.asarray(result[name], float) for name in _ARRAYS if result.get(name) is not None
    }
    extras = result.get("extras") or {}
    if len(extras.get("objective", ())):
        arrays["objective"] = np.asarray(extras["objective"], float)
        arrays["candidates"] = np.stack([np.ravel(c) for c in extras["candidate"]])
    with (folder / "results.npz").open("wb") as file:
        np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]
    numbers = {
        key: value
        for key, value in result.items()
        if key not in (*_ARRAYS, "extras") and _is_plain(value)
    }
    collected = provenance.collect(None, [], {})
    atomic.write_json(
        folder / "results.json",
        {
            "format_version": FORMAT_VERSION,
            "names": params.get_non_frozen_parameter_names(),
            "models": groups,
            "result": numbers,
            "provenance": collected,
        },
    )


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(atomic.to_plain(value))
    except TypeError:
        return False
    return True


def _number(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _number(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_number(v) for v in value]
    return _WORDS.get(value, value) if isinstance(value, str) else value


def _matrix(rows: Any) -> np.ndarray:
    return np.array(_number(rows), float)
