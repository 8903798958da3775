"""Reader of training configurations of MyoAssist, ``.bat`` and ``.sh`` files."""

import re
import shlex
from pathlib import Path
from typing import Any

from trueup.errors import GaitError, listing
from trueup.gait.search.configuration import COSTS, GaitConfiguration, make_configuration
from trueup.gait.search.path_words import PATH_WORDS


def _switch(text: str) -> bool:
    """Value of a switch, ``True`` or ``False`` or a whole number."""
    return text == "True" if text in ("True", "False") else bool(int(text))


_TYPES: dict[str, Any] = {
    "musc_model": int,
    "model": str,
    "model_path": str,
    "sim_time": float,
    "pose_key": str,
    "num_strides": int,
    "delayed": _switch,
    "optim_mode": str,
    "reflex_mode": str,
    "tgt_vel": float,
    "tgt_slope": float,
    "trunk_err_type": str,
    "tgt_sym_th": float,
    "tgt_grf_th": float,
    "ExoOn": _switch,
    "exo_bool": _switch,
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
_RENAMED = {"model_path": "model_file", "exo_bool": "ExoOn"}
_PATHS = ("model_path", "param_path")
_SEVERAL = ("tgt_vel", "tgt_slope")
"""Arguments with one or several values."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


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
    return {k: value for k, value in paths.items() if value is not None and value not in PATH_WORDS}


def _tried(value: str, path: str | Path) -> list[Path]:
    """Candidates for a path in a file of MyoAssist."""
    folder = Path(path).resolve().parent
    return [(start / value).resolve() for start in (folder, folder.parent)]


def _words(text: str, path: Path) -> list[str]:
    """The words of the command that starts the training."""
    is_batch = path.suffix.lower() == ".bat"
    joined = re.sub(r"\^[ \t]*\r?\n" if is_batch else r"\\[ \t]*\r?\n", " ", text)
    for line in joined.splitlines():
        if re.match(r"\s*(@?rem\b|::|#|@?echo\b)", line, re.IGNORECASE):
            continue  # comments and messages do not start a training
        if re.search(r"(\btrain\.py\b|\.train\b|\btrain\b)", line) and "--" in line:
            try:
                words = _split(line.rstrip("^ \t" if is_batch else "\\ \t"), is_batch)
            except ValueError as error:
                raise GaitError(f"{path}: {error}") from error
            starts = [i for i, word in enumerate(words) if word.startswith("-") and word != "-m"]
            if starts:
                return words[starts[0] :]
    raise GaitError(f"{path} does not contain a command that starts a training with arguments")


def _split(line: str, is_batch: bool) -> list[str]:
    """Words of a line: in a ``.bat`` file ``\\`` and ``'`` are characters of paths, and ``%%`` is
    one percent sign."""
    if not is_batch:
        return shlex.split(line, comments=True)
    lexer = shlex.shlex(line.replace("%%", "%"), posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    lexer.escape, lexer.quotes = "", '"'
    return list(lexer)


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
            last = i + 1
            while name in _SEVERAL and last < len(words) and _NUMBER.fullmatch(words[last]):
                last += 1
            if name not in _IGNORED:
                key = _RENAMED.get(name, name)
                values = [_value(name, word, path) for word in words[i:last]]
                content[key] = values if len(values) > 1 else values[0]
            i = last
        else:
            known = [*_TYPES, *_FLAGS, *COSTS]
            raise GaitError(f"{path}: unknown argument {word}; available: {listing(known, 60)}")
    if content["use_4param_spline"]:
        content.pop("n_points", None)  # no effect in MyoAssist
    return content


def _value(name: str, text: str, path: Path) -> Any:
    if name in _PATHS and path.suffix.lower() == ".bat":
        text = text.replace("\\", "/")
    try:
        return _TYPES[name](text)
    except ValueError as error:
        raise GaitError(f"{path}: --{name} is {text!r}, which is not a number") from error
