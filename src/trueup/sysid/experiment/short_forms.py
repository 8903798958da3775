"""Expansion of the short forms of an experiment file, and examples of the full ones."""

from typing import Any

EXAMPLES = {
    "model": "model:\n  file: arm.xml",
    "variants": "variants:\n  loaded: {file: arm_loaded.xml}",
    "recordings": "recordings:\n  - {file: run_1.csv, signals: {angle: angle_column}}",
    "signals": "signals:\n  angle: angle_column",
    "controls": "controls:\n  motor: torque_column",
    "parameters": "parameters:\n  load: {target: body/load/mass, bounds: [0.1, 5]}",
    "bounds": "bounds: [0.1, 5]",
    "measurement": "measurement:\n  signals: {angle: {noise: 0.002}}",
    "search": "search:\n  method: least-squares",
    "held_out": "held_out:\n  recordings: [run_2]",
    "confidence": "confidence:\n  level: 0.95",
    "output": "output:\n  directory: runs/arm",
    "prior": "prior:\n  {mean: 1.0, sd: 0.1}",
    "trim": "trim:\n  {start: 0.5, end: 9.0}",
    "initial": "initial:\n  {qpos: {hinge: 0.1}}",
    "friction": "friction:\n  {solref: [0.002, 1]}",
    "gains": "gains:\n  angle: gain_parameter",
    "delays": "delays:\n  angle: delay_parameter",
    "filters": "filters:\n  angle: {cutoff: 40}",
    "window": "window: 0.5",
    "seed": "seed: 1",
    "name": "name: arm",
}
"""Example lines by key."""


def written_out(content: dict[str, Any]) -> dict[str, Any]:
    """Content of an experiment file with expanded short forms.

    ``model: arm.xml`` is its file, ``recordings: [run_1.csv]`` are files with columns named like
    the model's signals, ``load: body/load/mass`` is a target with bounds around the model's value,
    ``held_out: run_2`` names recordings and ``held_out: 0.2`` a fraction, ``search: cmaes`` is a
    method, ``output: runs/arm`` a directory, ``confidence: 0.9`` a level.
    """
    full = dict(content)
    if "model" in full:
        full["model"] = _file(full["model"])
    for key, entry in (("variants", _file), ("parameters", _target)):
        if isinstance(full.get(key), dict):
            full[key] = {name: entry(given) for name, given in full[key].items()}
    recordings = full.get("recordings")
    if isinstance(recordings, str) or (isinstance(recordings, dict) and "file" in recordings):
        recordings = [recordings]
    if isinstance(recordings, list):
        full["recordings"] = [_file(given) for given in recordings]
    held_out = full.get("held_out")
    if isinstance(held_out, str):
        full["held_out"] = {"recordings": [held_out]}
    elif isinstance(held_out, list):
        full["held_out"] = {"recordings": held_out}
    elif _is_number(held_out):
        full["held_out"] = {"fraction": held_out}
    if isinstance(full.get("search"), str):
        full["search"] = {"method": full["search"]}
    if isinstance(full.get("output"), str):
        full["output"] = {"directory": full["output"]}
    if _is_number(full.get("confidence")):
        full["confidence"] = {"level": full["confidence"]}
    return full


def example_of(place: tuple[Any, ...]) -> str:
    """Example lines for a path in the file, or the empty string."""
    if place[:2] == ("measurement", "signals"):
        return EXAMPLES["measurement"]
    for part in reversed(place):
        if part in EXAMPLES:
            return EXAMPLES[part]
    return ""


def _file(given: Any) -> Any:
    return {"file": given} if isinstance(given, str) else given


def _target(given: Any) -> Any:
    return {"target": given, "bounds": "auto"} if isinstance(given, str) else given


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
