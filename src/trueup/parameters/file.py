"""Parameter files: plain YAML that can be read back and fitted again."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup._input_files import read_settings, safe_yaml
from trueup._writing import write_text
from trueup.errors import ParameterError, did_you_mean, listing, reason
from trueup.parameters.inertia import InertiaType
from trueup.parameters.parameter import ModifierFn, Parameter, Prior

_REQUIRED = ("nominal", "min_value", "max_value")
_KNOWN = {
    *_REQUIRED,
    *("name", "value", "frozen", "target", "scale", "prior", "tied_to", "unit", "description"),
    *("inertia", "modifier", "deviation"),
}


def records(parameters: list[Parameter]) -> dict[str, dict[str, Any]]:
    """Plain data of each parameter, by name."""
    return {p.name: _record(p) for p in parameters}


def _record(param: Parameter) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": param.name,
        "value": _plain(param.value),
        "nominal": _plain(param.nominal),
        "min_value": _plain(param.min_value),
        "max_value": _plain(param.max_value),
        "frozen": param.frozen,
    }
    if param.targets:
        record["target"] = param.targets[0] if len(param.targets) == 1 else list(param.targets)
    if param.scale != "linear":
        record["scale"] = param.scale
    if param.deviation is not None:
        record["deviation"] = _plain(param.deviation)
    if param.prior is not None:
        record["prior"] = {
            key: np.asarray(getattr(param.prior, key), float).tolist() for key in ("mean", "sd")
        }
    for key in ("tied_to", "unit", "description"):
        if getattr(param, key):
            record[key] = getattr(param, key)
    if param.inertia_type is not None and param.inertia_body is not None:
        record["inertia"] = {
            "body": param.inertia_body,
            "type": param.inertia_type.name,
            "scale_rot_inertia": bool(param.scale_rot_inertia),
        }
    # the modifier of body_inertia_param is equivalent to "inertia"; a custom one is not
    own = param.modifier is not None and not getattr(param.modifier, "from_inertia_type", False)
    if own or param.modifier_lost:
        record["modifier"] = "python"
    return record


def _plain(array: np.ndarray) -> list:
    return array.tolist()


def _prior(record: dict[str, Any] | None) -> Prior | None:
    if not record:
        return None
    plain = {key: tuple(v) if isinstance(v, list) else v for key, v in record.items()}
    return Prior(**plain)


def save(parameters: list[Parameter], path: Path) -> None:
    """Write parameters as YAML."""
    text = yaml.safe_dump(records(parameters), default_flow_style=None, sort_keys=False, width=100)
    write_text(path, text)


def load(path: Path, modifiers: dict[str, ModifierFn]) -> dict[str, Parameter]:
    """Read parameters from YAML; see :meth:`ParameterDict.load_from_disk`."""
    try:
        content = safe_yaml(read_settings(path))
    except FileNotFoundError:
        raise ParameterError(f"no such parameter file: {path}") from None
    except IsADirectoryError:
        raise ParameterError(f"{path} is a folder, not a parameter file") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ParameterError(f"{path} is not a YAML file: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(r, dict) for r in content.values()):
        raise ParameterError(
            f"{path} is not a parameter file: expected one mapping for each parameter name"
        )
    unknown = [name for name in modifiers if name not in content]
    if unknown:
        raise ParameterError(
            f"modifiers refer to parameters missing in {path}: {listing(unknown)}; "
            f"it contains {listing(content)}"
        )
    return {str(n): _parameter(path, str(n), r, modifiers.get(n)) for n, r in content.items()}


def _parameter(path: Path, name: str, record: dict, modifier: ModifierFn | None) -> Parameter:
    label = f"{path}: parameter {name!r}"
    missing = [key for key in _REQUIRED if key not in record]
    if missing:
        raise ParameterError(f"{label} lacks {listing(missing)}")
    for key in record:
        if key not in _KNOWN:
            raise ParameterError(
                f"{label} has an unknown key {key!r}; keys are {listing(sorted(_KNOWN), 20)}."
                f"{did_you_mean(str(key), _KNOWN)}"
            )
    try:
        param = Parameter(
            name,
            record["nominal"],
            record["min_value"],
            record["max_value"],
            frozen=bool(record.get("frozen", False)),
            modifier=modifier,
            target=record.get("target"),
            scale=record.get("scale", "linear"),
            prior=_prior(record.get("prior")),
            tied_to=record.get("tied_to"),
            unit=record.get("unit", ""),
            description=record.get("description", ""),
            deviation=record.get("deviation"),
        )
        if "value" in record:
            param.update_from_vector(record["value"])
            if not np.isfinite(param.value).all():
                raise ParameterError(f"the value {param.value} is not finite")
        if record.get("inertia"):
            param.inertia_type = InertiaType[record["inertia"]["type"]]
            param.inertia_body = str(record["inertia"]["body"])
            param.scale_rot_inertia = bool(record["inertia"].get("scale_rot_inertia", False))
    except (TypeError, ValueError, KeyError) as error:
        raise ParameterError(f"{label} cannot be read: {reason(error)}") from error
    param.modifier_lost = modifier is None and record.get("modifier") == "python"
    return param
