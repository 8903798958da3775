"""Stages of a configuration: consecutive searches in one run.

A stage is a name with values of the configuration for this stage, such as ``{"maxiter": 80,
"sigma_gain": 2, "perturbed_repeats": 4}``. It starts at the best candidate of the previous stage.

``from_nominal: true`` marks a stage for searches that start at the nominal vector, such as one that
finds a first walk; it is skipped if the search starts from an earlier walk. ``other_condition:
true`` marks a stage that moves an earlier walk to another speed or slope, ``speed`` one to another
speed, also on another slope, and ``slope`` one to another slope at its speed; it is skipped
otherwise. ``false`` inverts these conditions. ``gradually: 10`` moves it in ten steps, each as soon
as enough candidates complete the walk (:mod:`trueup.gait.search.continuation`); where there are 40
steps or more, several at a time. In a stage with another ``assistance`` than the stage before it,
the assistance changes in ten steps. In a later gradual stage, and at the speed and slope of the
walk, the sizes of perturbed repeats grow in ten steps.

``step: 1.5`` continues with the final distribution of the previous stage, its step size times this
factor, instead of a new one of ``sigma_gain``; a first stage continues with that of the search that
found its initial walk. ``attempts: [4, 80]`` restarts four times with separate seeds, and continues
the best restart after 80 generations of each.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from trueup.errors import did_you_mean, listing

FROM_NOMINAL = "from_nominal"
"""Key of a stage that is skipped if the search starts from an earlier walk, or with ``false`` at
the nominal vector."""

OTHER_CONDITION = "other_condition"
"""Key of a stage for an earlier walk at another speed or slope, or with ``false`` for all other
searches."""

KINDS = ("speed", "slope")
"""Values of this key for one of these alone; a search that changes both changes the speed."""

STEP = "step"
"""Key of a stage that continues the distribution of the previous one: factor of its step size."""

ATTEMPTS = "attempts"
"""Key of a stage with restarts: their number, and generations of each."""

GRADUALLY = "gradually"
"""Key of a stage that moves to another speed or slope, to its assistance, or to the full size of
its perturbations, gradually: number of steps."""

BEGINS_AT = "begins_at"
"""Key of such a stage with speed [m/s] and slope [deg] of its initial walk; set at the start of a
search."""

WHERE = (FROM_NOMINAL, OTHER_CONDITION)
"""Keys with the conditions of a stage."""

OF_STAGES = (*WHERE, STEP, ATTEMPTS, GRADUALLY, BEGINS_AT)
"""Keys of stages that configurations do not have."""

STAGE_KEYS = (
    "weights",
    "tgt_vel_tol",
    "trunk_err_type",
    "tgt_sym_th",
    "tgt_grf_th",
    "sim_time",
    "assistance",
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
"""Keys of a configuration that a stage may change; none changes the searched entries."""

Stages = dict[str, dict[str, Any]]
"""Changes of a configuration by the name of the stage."""


def check_stages(stages: Stages) -> None:
    """Raise ValueError for a key or value that a stage cannot have, or a missing maxiter."""
    if not stages:
        raise ValueError("stages is empty; remove it, or add stages")
    known = (*STAGE_KEYS, *OF_STAGES)
    for name, changes in stages.items():
        unknown = [key for key in changes if key not in known]
        if unknown:
            raise ValueError(
                f"the stage {name!r} cannot change {listing(unknown)}; a stage can change "
                f"{listing(known, 60)}.{did_you_mean(unknown[0], known)}"
            )
        for key, more in ((FROM_NOMINAL, ()), (OTHER_CONDITION, KINDS)):
            value = changes.get(key, False)
            if not isinstance(value, bool) and value not in more:
                also = f", or one of {listing(more)}" if more else ""
                raise ValueError(f"the stage {name!r}: {key} must be true or false{also}")
        step = changes.get(STEP, 1.0)
        if not (isinstance(step, int | float) and 0.0 < step < 1e3):
            raise ValueError(f"the stage {name!r}: {STEP} must be above 0 and below 1000")
        if STEP in changes and "popsize" in changes:
            raise ValueError(
                f"the stage {name!r} continues the distribution of the previous stage ({STEP}) "
                "with its popsize; remove step or popsize"
            )
        attempts = changes.get(ATTEMPTS, [1, 1])
        if not (
            isinstance(attempts, list | tuple)
            and len(attempts) == 2
            and all(type(number) is int and number >= 1 for number in attempts)
        ):
            raise ValueError(
                f"the stage {name!r}: {ATTEMPTS} must be two whole numbers of at least 1, the "
                f"number of restarts and the generations of each; received {attempts!r}"
            )
        if ATTEMPTS in changes and STEP in changes:
            raise ValueError(
                f"the stage {name!r} continues the distribution of the previous stage ({STEP}), "
                f"but {ATTEMPTS} restart it; remove step or attempts"
            )
        steps = changes.get(GRADUALLY, 1)
        if not (type(steps) is int and 1 <= steps <= 1000):
            raise ValueError(f"the stage {name!r}: {GRADUALLY} must be from 1 to 1000")
        begins_at = changes.get(BEGINS_AT, [0.0, 0.0])
        if not (
            isinstance(begins_at, list | tuple)
            and len(begins_at) == 2
            and all(type(number) in (int, float) for number in begins_at)
        ):
            raise ValueError(
                f"the stage {name!r}: {BEGINS_AT} must be a speed [m/s] and a slope [deg]"
            )
        if GRADUALLY in changes and ATTEMPTS in changes:
            raise ValueError(
                f"the stage {name!r} moves {GRADUALLY}, but {ATTEMPTS} restart it; remove "
                "gradually or attempts"
            )
        if changes.get("maxiter") is None:
            raise ValueError(f"the stage {name!r} has no termination criterion; set its maxiter")
        if attempts[1] > changes["maxiter"]:
            raise ValueError(
                f"the stage {name!r}: {ATTEMPTS} of {attempts[1]} generations are longer than the "
                f"stage with maxiter {changes['maxiter']}"
            )


def chosen_stages(stages: Stages | None, names: Iterable[str], source: str) -> Stages:
    """The stages of these names, in the order of the configuration, without their conditions.

    Raises:
      ValueError: an unknown stage, or a configuration without stages.
    """
    names = list(dict.fromkeys(names))
    if stages is None:
        raise ValueError(f"{source} has no stages to select; remove stages")
    unknown = [name for name in names if name not in stages]
    if unknown:
        raise ValueError(
            f"unknown stage {listing(unknown)}; available: {listing(stages)}."
            f"{did_you_mean(unknown[0], list(stages))}"
        )
    return {
        name: {key: value for key, value in changes.items() if key not in WHERE}
        for name, changes in stages.items()
        if name in names
    }


def with_values_in_all(stages: Stages, changes: Mapping[str, Any]) -> Stages:
    """The stages without the changed values of the configuration, which then hold in each.

    ``maxiter`` limits all stages together and does not change those of the stages.
    """
    given = {key for key in changes if key != "maxiter"}
    if "cost" in given:
        given.add("weights")
    return {
        name: {key: value for key, value in stage.items() if key not in given}
        for name, stage in stages.items()
    }
