"""Stages of a configuration: searches that follow each other in one run.

A stage is a name with values of the configuration that hold in it, such as ``{"maxiter": 80,
"sigma_gain": 2, "perturbed_repeats": 4}``. It begins at the best candidate of the stage before.

``from_nominal: true`` marks a stage of searches that begin at the nominal vector, such as one that
finds a first walk: it is left out where the search begins from an earlier walk. ``other_condition:
true`` marks a stage that takes an earlier walk to another speed or slope: it is left out elsewhere.
With ``false`` it is the other way round. ``gradually: 10`` goes there in ten steps, each as soon as
candidates hold up (:mod:`trueup.gait.search.continuation`).

``step: 1.5`` goes on with the distribution that the stage before has come to, its step times this
factor, instead of a new one of ``sigma_gain``; a first stage goes on with that of the search that
found the walk it begins with. ``attempts: [4, 80]`` begins four times, with seeds of their own, and
goes on with the best one after 80 generations of each.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from trueup.errors import did_you_mean, listing

FROM_NOMINAL = "from_nominal"
"""Key of a stage that is left out where the search begins from an earlier walk, or with ``false``
at the nominal vector."""

OTHER_CONDITION = "other_condition"
"""Key of a stage that is kept only where an earlier walk had another speed or slope, or with
``false`` only elsewhere."""

STEP = "step"
"""Key of a stage that goes on with the distribution of the stage before: factor of its step."""

ATTEMPTS = "attempts"
"""Key of a stage that begins several times: attempts, and generations of each."""

GRADUALLY = "gradually"
"""Key of a stage that goes to another speed or slope step by step: how many steps."""

BEGINS_AT = "begins_at"
"""Key of such a stage with speed [m/s] and slope [deg] of the walk that it begins with; found with
the start."""

WHERE = (FROM_NOMINAL, OTHER_CONDITION)
"""Keys that say where a stage is left out."""

OF_STAGES = (*WHERE, STEP, ATTEMPTS, GRADUALLY, BEGINS_AT)
"""Keys of stages that no configuration has."""

STAGE_KEYS = (
    "weights",
    "tgt_vel_tol",
    "trunk_err_type",
    "tgt_sym_th",
    "tgt_grf_th",
    "sim_time",
    "num_strides",
    "popsize",
    "maxiter",
    "sigma_gain",
    "exo_sigma_gain",
    "frontal_sigma_gain",
    "early_stop",
    "perturbed_repeats",
    "unperturbed_repeat",
    "perturbed_cost",
    "perturbation_seed",
    "perturbation_sizes",
)
"""Keys of a configuration that a stage may change: none changes which entries are searched."""

Stages = dict[str, dict[str, Any]]
"""Changes of a configuration by the name of the stage."""


def check_stages(stages: Stages) -> None:
    """Raise ValueError where a stage changes what no stage may, or has no end."""
    if not stages:
        raise ValueError("stages: there is none; leave the key out, or give some")
    known = (*STAGE_KEYS, *OF_STAGES)
    for name, changes in stages.items():
        unknown = [key for key in changes if key not in known]
        if unknown:
            raise ValueError(
                f"the stage {name!r} cannot change {listing(unknown)}; a stage changes "
                f"{listing(known, 60)}.{did_you_mean(unknown[0], known)}"
            )
        for key in (FROM_NOMINAL, OTHER_CONDITION):
            if not isinstance(changes.get(key, False), bool):
                raise ValueError(f"the stage {name!r}: {key} has to be true or false")
        step = changes.get(STEP, 1.0)
        if not (isinstance(step, int | float) and 0.0 < step < 1e3):
            raise ValueError(f"the stage {name!r}: {STEP} has to be a number above 0")
        if STEP in changes and "popsize" in changes:
            raise ValueError(
                f"the stage {name!r} goes on with the distribution of the one before ({STEP}), "
                "whose popsize it keeps: leave one of the two out"
            )
        attempts = changes.get(ATTEMPTS, [1, 1])
        if not (
            isinstance(attempts, list | tuple)
            and len(attempts) == 2
            and all(type(number) is int and number >= 1 for number in attempts)
        ):
            raise ValueError(
                f"the stage {name!r}: {ATTEMPTS} has to be two whole numbers from 1 on, "
                f"attempts and generations of each; got {attempts!r}"
            )
        if ATTEMPTS in changes and STEP in changes:
            raise ValueError(
                f"the stage {name!r} goes on with the distribution of the one before ({STEP}), and "
                f"{ATTEMPTS} begin anew: leave one of the two out"
            )
        steps = changes.get(GRADUALLY, 1)
        if not (type(steps) is int and 1 <= steps <= 1000):
            raise ValueError(f"the stage {name!r}: {GRADUALLY} has to be a whole number from 1 on")
        begins_at = changes.get(BEGINS_AT, [0.0, 0.0])
        if not (
            isinstance(begins_at, list | tuple)
            and len(begins_at) == 2
            and all(type(number) in (int, float) for number in begins_at)
        ):
            raise ValueError(
                f"the stage {name!r}: {BEGINS_AT} has to be a speed [m/s] and a slope [deg]"
            )
        if GRADUALLY in changes and ATTEMPTS in changes:
            raise ValueError(
                f"the stage {name!r} goes {GRADUALLY} where its candidates hold up, and "
                f"{ATTEMPTS} begin anew: leave one of the two out"
            )
        if changes.get("maxiter") is None:
            raise ValueError(f"the stage {name!r} has no end: give its maxiter")
        if attempts[1] > changes["maxiter"]:
            raise ValueError(
                f"the stage {name!r}: {ATTEMPTS} of {attempts[1]} generations are longer than the "
                f"stage, {changes['maxiter']}"
            )


def chosen_stages(stages: Stages | None, names: Iterable[str], source: str) -> Stages:
    """The stages of these names, in their own order; they run wherever the search begins.

    Raises:
      ValueError: there is no such stage, or there are none at all.
    """
    names = list(dict.fromkeys(names))
    if stages is None:
        raise ValueError(f"stages: {source} has no stages to choose from")
    unknown = [name for name in names if name not in stages]
    if unknown:
        raise ValueError(
            f"there is no stage {listing(unknown)}; there are {listing(stages)}."
            f"{did_you_mean(unknown[0], list(stages))}"
        )
    return {
        name: {key: value for key, value in changes.items() if key not in WHERE}
        for name, changes in stages.items()
        if name in names
    }


def with_values_in_all(stages: Stages, changes: Mapping[str, Any]) -> Stages:
    """The stages where other values of the configuration were given, which then hold in each.

    ``maxiter`` is a limit of all stages together, and leaves their own as they are.
    """
    given = {key for key in changes if key != "maxiter"}
    if "cost" in given:
        given.add("weights")
    return {
        name: {key: value for key, value in stage.items() if key not in given}
        for name, stage in stages.items()
    }
