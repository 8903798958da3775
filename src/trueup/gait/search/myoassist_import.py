"""Reader of training configurations of MyoAssist, ``.bat`` and ``.sh`` files."""

import re
import shlex
from pathlib import Path
from typing import Any

from trueup.errors import GaitError, listing
from trueup.gait.models._shipped_models import SHIPPED_MODELS
from trueup.gait.search.configuration import COSTS, GaitConfiguration, make_configuration

_TYPES: dict[str, Any] = {
    "musc_model": int,
    "model": str,
    "model_path": str,
    "sim_time": float,
    "pose_key": str,
    "num_strides": int,
    "delayed": int,
    "optim_mode": str,
    "reflex_mode": str,
    "tgt_vel": float,
    "tgt_slope": float,
    "trunk_err_type": str,
    "tgt_sym_th": float,
    "tgt_grf_th": float,
    "ExoOn": int,
    "n_points": int,
    "max_torque": float,
    "popsize": int,
    "maxiter": int,
    "threads": int,
    "sigma_gain": float,
    "cma_options": str,
    "param_path": str,
    "pickle_path": str,
    "save_path": str,
    "runSuffix": str,
}
_FLAGS = ("use_4param_spline", "fixed_exo")
_IGNORED = ("threads", "save_path", "pickle_path", "runSuffix", "cost_print", "clu")
_RENAMED = {"model_path": "model_file"}


def import_configuration(path: str | Path) -> GaitConfiguration:
    """The configuration of a ``.bat`` or ``.sh`` file of MyoAssist.

    Paths are not changed, see :func:`located`.

    Raises:
      GaitError: the file is missing, does not start a training, or has an invalid argument.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise GaitError(f"cannot read {path}: {error.strerror or error}") from error
    return make_configuration(_arguments(_words(text, path), path), str(path))


def located(configuration: GaitConfiguration, path: str | Path) -> GaitConfiguration:
    """The configuration of a ``.bat`` or ``.sh`` file with its paths made absolute.

    They are relative to the folder of the file, or to its parent folder, where MyoAssist is
    started, if they exist only there.
    """
    changes = {}
    for key, value in paths_in(configuration).items():
        tried = _tried(value, path)
        changes[key] = str(next((place for place in tried if place.exists()), tried[0]))
    return configuration.model_copy(update=changes)


def missing_paths(path: str | Path) -> dict[str, str]:
    """Key -> tried paths, for each missing path in a ``.bat`` or ``.sh`` file."""
    found = {}
    for key, value in paths_in(import_configuration(path)).items():
        tried = _tried(value, path)
        if not any(place.exists() for place in tried):
            found[key] = f"{value!r} in {path} is neither {' nor '.join(map(str, tried))}"
    return found


def paths_in(configuration: GaitConfiguration) -> dict[str, str]:
    """Key -> path, for the paths of a MyoAssist file."""
    keys = ("model_file", "param_path")
    paths = {key: getattr(configuration, key) for key in keys}
    return {
        k: value for k, value in paths.items() if value is not None and value not in SHIPPED_MODELS
    }


def _tried(value: str, path: str | Path) -> list[Path]:
    """Candidates for a path in a file of MyoAssist."""
    folder = Path(path).resolve().parent
    return [(start / value).resolve() for start in (folder, folder.parent)]


def _words(text: str, path: Path) -> list[str]:
    """The words of the command that starts the training."""
    joined = re.sub(r"[\^\\][ \t]*\r?\n", " ", text)
    for line in joined.splitlines():
        if re.match(r"\s*(@?rem\b|::|#|@?echo\b)", line, re.IGNORECASE):
            continue  # comments and messages do not start a training
        if re.search(r"(\btrain\.py\b|\.train\b|\btrain\b)", line) and "--" in line:
            try:
                words = shlex.split(line.rstrip("^\\ \t"), comments=path.suffix == ".sh")
            except ValueError as error:
                raise GaitError(f"{path}: {error}") from error
            starts = [i for i, word in enumerate(words) if word.startswith("-") and word != "-m"]
            if starts:
                return words[starts[0] :]
    raise GaitError(f"{path} does not contain a command that starts a training with arguments")


def _arguments(words: list[str], path: Path) -> dict[str, Any]:
    # MyoAssist's defaults
    content: dict[str, Any] = {"delayed": False, "use_4param_spline": False, "cost": "vel"}
    i = 0
    while i < len(words):
        word = words[i]
        name = word.lstrip("-")
        i += 1
        if not word.startswith("-"):
            raise GaitError(f"{path}: expected an argument, found {word!r}")
        if not word.startswith("--") and name in COSTS:
            content["cost"] = name
        elif name in _FLAGS:
            content[name] = True
        elif name in ("clu", "cost_print"):
            continue
        elif name in _TYPES:
            if i >= len(words):
                raise GaitError(f"{path}: {word} has no value")
            if name not in _IGNORED:
                key = _RENAMED.get(name, name)
                content[key] = _value(name, words[i], path)
            i += 1
        else:
            known = [*_TYPES, *_FLAGS, *COSTS]
            raise GaitError(f"{path}: unknown argument {word}; available: {listing(known, 60)}")
    if content["use_4param_spline"]:
        content.pop("n_points", None)  # no effect in MyoAssist
    return content


def _value(name: str, text: str, path: Path) -> Any:
    try:
        value = _TYPES[name](text)
    except ValueError as error:
        raise GaitError(f"{path}: --{name} is {text!r}, which is not a number") from error
    return bool(value) if name in ("delayed", "ExoOn") else value
