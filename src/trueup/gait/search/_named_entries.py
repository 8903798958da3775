"""Which entries a configuration means by the names in ``held``, ``moved`` and ``start_values``."""

import re

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.controller.exoskeleton import FourParameterProfile
from trueup.gait.controller.parameter_vector import GROUPS, ParameterVector
from trueup.gait.search.configuration import GaitConfiguration

OF_FOUR_PARAMETERS = tuple(entry.name for entry in FourParameterProfile().entries)
"""Entries of a torque curve of four parameters."""
_OF_POINTS = re.compile(r"exo_(torque|time)_\d+")
_CLEARED = {
    "held": "--held none holds none of them",
    "moved": "--moved names others",
    "start_values": "--start-values none starts with those of --param-path, or the nominal ones",
}
"""Key -> how to do without what a configuration names."""


def of_both_legs(parameters: ParameterVector) -> dict[str, str]:
    """Gain of one leg -> the gain that vectors with the same gains for both legs have instead."""
    gains = [entry.name for entry in parameters.entries if entry.group == "gain"]
    return {
        f"{name}_{side}": name
        for gain in gains
        if gain.endswith("_r") and f"{(name := gain.removesuffix('_r'))}_l" in gains
        for side in "rl"
    }


def is_of_curve(name: str) -> bool:
    """Whether this is the name of an entry of a torque curve."""
    return name in OF_FOUR_PARAMETERS or _OF_POINTS.fullmatch(name) is not None


def named_values(
    key: str, configuration: GaitConfiguration, parameters: ParameterVector
) -> dict[str, float]:
    """Values of entries that a configuration gives; the name of a gain means that of both legs.

    Entries of a torque curve are left out where no exoskeleton is on.

    Args:
      key: ``held`` or ``start_values``.
      configuration: what gives them.
      parameters: the entries that there are.

    Raises:
      GaitError: there is no entry of a name, or it cannot have the value.
    """
    found: dict[str, float] = {}
    for name, value in (getattr(configuration, key) or {}).items():
        for place in _entries_of(key, name, configuration, parameters):
            entry = parameters.entries[parameters.index(place)]
            if not entry.lower <= value <= entry.upper:
                what = "is held" if key == "held" else "is to start"
                raise GaitError(
                    f"{key}: the entry {place!r} {what} at {value:g}, and it has to be "
                    f"{entry.lower:g} to {entry.upper:g}"
                )
            if place == name or place not in found:  # a leg's own value comes before that of both
                found[place] = value
    return found


def moved_entries(configuration: GaitConfiguration, parameters: ParameterVector) -> set[str]:
    """Names of the entries that a search moves, meant by their own names or those of groups.

    Raises:
      GaitError: there is neither an entry nor a group of a name.
    """
    found: set[str] = set()
    for name in configuration.moved or ():
        if name not in GROUPS:
            found |= set(_entries_of("moved", name, configuration, parameters))
        elif name != "exoskeleton" or not configuration.fixed_exo:
            # a search without a device has none of its entries
            found |= {entry.name for entry in parameters.entries if entry.group == name}
    return found


def notes_on_names(configuration: GaitConfiguration) -> list[str]:
    """Which names say nothing, as the exoskeleton is off or fixed, in sentences."""
    given = {key: getattr(configuration, key) or () for key in ("start_values", "held", "moved")}
    if not configuration.exo:
        names = dict.fromkeys(name for key in given for name in given[key] if is_of_curve(name))
        return [f"No exoskeleton is on: {listing(names)} says nothing here."] if names else []
    if not configuration.fixed_exo:
        return []
    fixed = {key: [n for n in given[key] if is_of_curve(n)] for key in ("start_values", "moved")}
    return [
        f"The exoskeleton is fixed: {listing(names)} in {key} says nothing here; --held gives it "
        "another curve."
        for key, names in fixed.items()
        if names
    ]


def _entries_of(
    key: str, name: str, configuration: GaitConfiguration, parameters: ParameterVector
) -> tuple[str, ...]:
    """The entries that a name means under a key; none where it is of a curve that is not used."""
    if is_of_curve(name):
        if not configuration.exo or (configuration.fixed_exo and key != "held"):
            return ()
        if name not in parameters.names:
            curve = [entry.name for entry in parameters.entries if entry.group == "exoskeleton"]
            kind = "four parameters" if configuration.use_4param_spline else "points"
            raise GaitError(
                f"{key}: {name!r} is no entry of this torque curve, which has {kind}: "
                f"{listing(curve, 60)}. Give --{key.replace('_', '-')} of these, or do without: "
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
            f"moved: there is no group {name!r}; the groups are {listing(GROUPS)}."
            f"{did_you_mean(name, GROUPS)} And {error}"
        ) from None
