"""Resolution of the names in ``held``, ``moved`` and ``start_values`` of a configuration."""

import re

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.controller.exoskeleton import FourParameterProfile
from trueup.gait.controller.parameter_vector import GROUPS, ParameterVector
from trueup.gait.search.configuration import GaitConfiguration

OF_FOUR_PARAMETERS = tuple(entry.name for entry in FourParameterProfile().entries)
"""Entries of a torque curve with four parameters."""
_OF_POINTS = re.compile(r"exo_(torque|time)_\d+")
_CLEARED = {
    "held": "held=none removes all of them",
    "moved": "select others with moved=NAME,NAME",
    "start_values": "start_values=none uses those of --param-path, or the nominal ones",
}
"""Key -> how to remove the values of a configuration."""


def of_both_legs(parameters: ParameterVector) -> dict[str, str]:
    """Gain of one leg -> gain of both legs in vectors with common gains."""
    gains = [entry.name for entry in parameters.entries if entry.group == "gain"]
    return {
        f"{name}_{side}": name
        for gain in gains
        if gain.endswith("_r") and f"{(name := gain.removesuffix('_r'))}_l" in gains
        for side in "rl"
    }


def is_of_curve(name: str) -> bool:
    """Whether the name is that of an entry of a torque curve."""
    return name in OF_FOUR_PARAMETERS or _OF_POINTS.fullmatch(name) is not None


def named_values(
    key: str, configuration: GaitConfiguration, parameters: ParameterVector
) -> dict[str, float]:
    """Values of entries in a configuration; the name of a gain stands for both legs.

    Entries of a torque curve are omitted where no exoskeleton is on.

    Args:
      key: ``held`` or ``start_values``.
      configuration: the configuration.
      parameters: all entries.

    Raises:
      GaitError: an unknown name, or a value outside its bounds.
    """
    found: dict[str, float] = {}
    for name, value in (getattr(configuration, key) or {}).items():
        for place in _entries_of(key, name, configuration, parameters):
            entry = parameters.entries[parameters.index(place)]
            if not entry.lower <= value <= entry.upper:
                what = "held value" if key == "held" else "initial value"
                raise GaitError(
                    f"{key}: the {what} of {place!r} is {value:g}; it must be from "
                    f"{entry.lower:g} to {entry.upper:g}"
                )
            if (
                place == name or place not in found
            ):  # a value of one leg takes precedence over that of both
                found[place] = value
    return found


def moved_entries(configuration: GaitConfiguration, parameters: ParameterVector) -> set[str]:
    """Names of the optimised entries, given by their names or those of groups.

    Raises:
      GaitError: a name is neither an entry nor a group.
    """
    found: set[str] = set()
    for name in configuration.moved or ():
        if name not in GROUPS:
            found |= set(_entries_of("moved", name, configuration, parameters))
        elif name != "exoskeleton" or not configuration.fixed_exo:
            # a search without a device has no entries of a torque curve
            found |= {entry.name for entry in parameters.entries if entry.group == name}
    return found


def notes_on_names(configuration: GaitConfiguration) -> list[str]:
    """Notes on names without effect, where the exoskeleton is off or fixed."""
    given = {key: getattr(configuration, key) or () for key in ("start_values", "held", "moved")}
    if not configuration.exo:
        names = dict.fromkeys(name for key in given for name in given[key] if is_of_curve(name))
        return [f"No exoskeleton is on: {listing(names)} has no effect."] if names else []
    if not configuration.fixed_exo:
        return []
    fixed = {key: [n for n in given[key] if is_of_curve(n)] for key in ("start_values", "moved")}
    return [
        f"The exoskeleton is fixed: {listing(names)} in {key} has no effect; use "
        "held=NAME:VALUE for another curve."
        for key, names in fixed.items()
        if names
    ]


def _entries_of(
    key: str, name: str, configuration: GaitConfiguration, parameters: ParameterVector
) -> tuple[str, ...]:
    """The entries of a name under a key; empty for a curve that is not used."""
    if is_of_curve(name):
        if not configuration.exo or (configuration.fixed_exo and key != "held"):
            return ()
        if name not in parameters.names:
            curve = [entry.name for entry in parameters.entries if entry.group == "exoskeleton"]
            kind = "four parameters" if configuration.use_4param_spline else "points"
            raise GaitError(
                f"{key}: {name!r} is not an entry of this torque curve, which has {kind}: "
                f"{listing(curve, 60)}. Use {key} with these, or without any: "
                f"{_CLEARED[key]}"
            )
    legs = tuple(own for own, shared in of_both_legs(parameters).items() if shared == name)
    if legs:
        return legs
    try:
        return (parameters.names[parameters.index(name)],)
    except GaitError as error:
        if key != "moved":
            raise GaitError(f"{key}: {error}") from None
        raise GaitError(
            f"moved: unknown group {name!r}; groups: {listing(GROUPS)}."
            f"{did_you_mean(name, GROUPS)} And {error}"
        ) from None
