"""Options of the package ``cma`` as text or plain values, parsed without eval and checked."""

import math
import re
from collections.abc import Mapping
from typing import Any

from trueup.errors import FitError, did_you_mean, listing
from trueup.fitting.cma_es.package import cma_package

# Options that conflict with bounds, resume, reproducibility or terminal output, and alternatives.
REPLACED_OPTIONS = {
    "bounds": "bounds belong to the parameters",
    "fixed_variables": "freeze the parameter instead",
    "is_feasible": "a candidate with a cost that is not finite is invalid",
    "randn": "random numbers come from the seed of the search",
    "scaling_of_variables": "give parameters a deviation instead",
    "seed": "use the seed of the search",
    "signals_filename": "a running study is stopped with Ctrl-C and resumed",
    "termination_callback": "use the budget of the study instead",
    "timeout": "give the study a time limit instead",
    "transformation": "give parameters a log or logit scale instead",
    "typical_x": "give the parameters start values instead",
    "vv": "it is for the development of cma",
}
_WRITES = "the history of the study replaces the output of cma"

# Options with Python objects as values, by keyword.
_WORDS: dict[str, dict[str, str]] = {
    "AdaptSigma": {
        "CSA": "cma.sigma_adaptation:CMAAdaptSigmaCSA",
        "TPA": "cma.sigma_adaptation:CMAAdaptSigmaTPA",
    },
    "BoundaryHandler": {
        "BoundTransform": "cma.boundary_handler:BoundTransform",
        "BoundPenalty": "cma.boundary_handler:BoundPenalty",
    },
    "CMA_eigenmethod": {"eigh": "numpy.linalg:eigh"},
    "CMA_elitist": {"initial": ""},
    "CMA_sampler": {
        "VD": "cma.restricted_gaussian_sampler:GaussVDSampler",
        "VkD": "cma.restricted_gaussian_sampler:GaussVkDSampler",
    },
}
_CONSTANTS = {"true": True, "false": False, "none": None, "inf": math.inf, "-inf": -math.inf}


def parse_cma_options(text: str) -> dict[str, Any]:
    """Read options of ``cma`` such as ``"tolfun:1e-9,tolstagnation:150"``.

    A value is a number, ``true``, ``false``, ``none``, ``inf``, a list such as
    ``[1e-9, 20, 0.1]``, or a keyword of some options. Nothing is evaluated.

    Args:
      text: comma-separated ``key:value`` or ``key=value`` pairs; may be empty.

    Returns:
      option -> number, bool, None, list of numbers or word.

    Raises:
      FitError: a pair without a value, an option given twice, an unknown option or value.
    """
    options: dict[str, Any] = {}
    for pair in re.split(r",(?![^\[]*\])", text):
        if not pair.strip():
            continue
        key, found, value = pair.replace("=", ":", 1).partition(":")
        key, value = key.strip(), value.strip()
        if not found or not key or not value:
            raise FitError(
                f"the option {pair.strip()!r} of CMA-ES must be key:value, as in tolfun:1e-9"
            )
        if key in options:
            raise FitError(f"the option {key!r} of CMA-ES is given twice")
        options[key] = _value(key, value)
    check_cma_options(options)
    return options


def check_cma_options(options: Mapping[str, Any]) -> None:
    """Check names and value types of options of ``cma``.

    Raises:
      FitError: an unknown or unsupported option, or a value that is not a number, bool, None, list
        of numbers or keyword.
    """
    if not options:
        return
    known = _known()
    for key, value in options.items():
        if key not in known:
            raise FitError(
                f"CMA-ES has no option {key!r}.{did_you_mean(key, known)} "
                f"Available: {listing(sorted(known), 99)}"
            )
        instead = REPLACED_OPTIONS.get(key) or (_WRITES if key.startswith("verb") else "")
        if instead:
            raise FitError(f"the option {key!r} of cma is not supported: {instead}")
        if key in _WORDS and isinstance(value, str):
            _require_word(key, value)
        elif not _is_plain(value):
            raise FitError(
                f"the option {key!r} of CMA-ES is {value!r}; expected a number, true, false, "
                "none or a list of numbers"
            )


def resolve_cma_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Checked options with keywords replaced by the objects of ``cma``."""
    check_cma_options(options)
    out = {}
    for key, value in options.items():
        target = _WORDS.get(key, {}).get(value, "") if isinstance(value, str) else ""
        out[key] = _load(target) if target else value
    if out.get("CMA_sampler") is not None:
        out.setdefault("CMA_active", False)  # these samplers do not support negative weights
    return out


def _known() -> list[str]:
    CMAOptions = cma_package().CMAOptions

    return sorted(CMAOptions.defaults())


def _value(key: str, text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return [_number(key, part) for part in text[1:-1].split(",") if part.strip()]
    if key in _WORDS and text.lower() not in _CONSTANTS:
        try:
            return _number(key, text)
        except FitError:
            return text
    return _number(key, text)


def _number(key: str, text: str) -> Any:
    text = text.strip()
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise FitError(
            f"the option {key!r} of CMA-ES is {text!r}; expected a number, true, false, none "
            "or a list of numbers"
        ) from None


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    if isinstance(value, float):
        return not math.isnan(value)
    return value is None or isinstance(value, (bool, int))


def _require_word(key: str, word: str) -> None:
    if word not in _WORDS[key]:
        raise FitError(
            f"unknown value {word!r} of the option {key!r} of CMA-ES; available: "
            f"{listing(_WORDS[key])}."
            f"{did_you_mean(word, _WORDS[key])}"
        )


def _load(target: str) -> Any:
    from importlib import import_module

    module, name = target.split(":")
    return getattr(import_module(module), name)
