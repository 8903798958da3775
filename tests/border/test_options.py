"""Every option and key of a command with numbers that it cannot have, and words that are none."""

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from work import KINDS, refused

from trueup.cli.commands import COMMANDS
from trueup.cli.help import words_of
from trueup.cli.settings import further_keys

NUMBERS = (("nan",), ("inf", "-inf"), ("-1",), ("1e300",), ("abc", ""))
"""Numbers that no option has. Of those that one check refuses, options take one in turn."""

SERVO = ("--logdir", "./logs", "--params", "./p.json", "--output", "./page.html")
BENCH = ("--port", "simulated", "--motor", "xl330", "--mass", "0.5", "--length", "0.1")
BASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "identify": ("sysid", ("./experiment.yaml",)),
    "import": ("sysid", ("./run.csv", "./pendulum.xml", "-o", "./new.yaml")),
    "init": ("sysid", ("./run.csv", "./pendulum.xml", "-o", "./new.yaml")),
    "demo": ("study", ("-o", "./demo")),
    "study run": ("study", ("sphere", "-o", "./run", "--generations", "2")),
    "actuator process": ("servo", ("--raw", "./logs", "--logdir", "./out")),
    "actuator fit": (
        "servo",
        (
            *("--actuator", "xl330", "--model", "m1", "--logdir", "./logs"),
            *("--trials", "200", "--output", "./m1.json", "--dry-run"),
        ),
    ),
    "actuator evaluate": ("servo", SERVO[:4]),
    "actuator compare": ("servo", SERVO),
    "actuator plot": ("servo", (*SERVO, "--sim")),
    "actuator drive-backdrive": ("servo", SERVO[2:]),
    "actuator export": ("servo", ("--params", "./p.json", "--form", "mujoco", "-o", "./e.xml")),
    "actuator record": (
        "study",
        (*BENCH, "--kp", "200", "--trajectory", "sin_sin", "--output", "./log.json"),
    ),
    "actuator sweep": ("study", (*BENCH, "--logdir", "./logs")),
    "actuator read": ("study", BENCH[:4]),
    "network synthesize": ("study", ("./data",)),
    "network train": ("study", ("data.data_base_dir=./data", "--output", "./run")),
    "gait device": ("study", ("--output", "./device", "--dry-run")),
    "gait optimize": (
        "study",
        (
            *("walk", "--sim-time", "0.2", "--popsize", "4", "--maxiter", "1"),
            *("--output", "./run", "--quiet"),
        ),
    ),
    "explain": ("sysid", ("./experiment.yaml", "-o", "./explained")),
    "design": ("sysid", ("./experiment.yaml", "-o", "./next")),
    "reconcile": ("finished sysid", ("./runs/pendulum", "./copy")),
    "export dr": ("finished sysid", ("./runs/pendulum", "-o", "./dr")),
    "study resume": ("finished study", ("./run",)),
    "network train-motion": (
        "motion",
        ("./logs", "--servo", "./p.json", "--output", "./run", "max_steps=1", "horizons=0.05"),
    ),
    "network evaluate": ("finished network", ("./run", "--data", "./data")),
    "gait evaluate": ("finished gait", ("./run",)),
    "gait video": ("finished gait", ("./run", "-o", "./walk.mp4")),
    "gait export": ("finished gait", ("./run", "-o", "./walk.mot")),
    "gait import": ("study", ("./arm.osim", "-o", "./arm")),
}
"""Kind of the inputs, ``finished`` for a run of the kind, and the words of a command that works."""

FITTING: dict[str, tuple[str, ...]] = {
    "design --seconds": ("inf", "1e300"),
    "network train-motion --seconds": ("inf", "1e300"),
    "study resume --seconds": ("inf", "1e300"),
    "study resume target_cost": ("-1", "1e300"),
    "study run --seconds": ("inf", "1e300"),
    "study run target_cost": ("-1", "1e300"),
    "gait optimize --seconds": ("inf", "1e300"),
    "gait optimize --slope": ("-1",),
    "gait device slope": ("-1",),
    **{f"gait {word} tgt_slope": ("-1",) for word in ("evaluate", "video", "export")},
    "gait optimize --speed": ("-1",),
    "actuator fit --reset-period": ("inf", "1e300"),
    "actuator evaluate reset_period": ("inf", "1e300"),
    "actuator compare reset_period": ("inf", "1e300"),
    "actuator plot reset_period": ("inf", "1e300"),
    "actuator drive-backdrive --max-torque": ("1e300",),
    "actuator drive-backdrive speeds": ("1e300", ""),
    "actuator fit --validation-kp": ("",),
    "actuator fit --validation-mass": ("",),
    "actuator record zero": ("-1",),
    "actuator sweep zero": ("-1",),
    "actuator read zero": ("-1",),
}
"""Values that an option may well have."""


NEVER_ZERO: dict[str, str] = {
    "study run": "--dimension population sigma",
    "actuator process": "--dt",
    "actuator fit": "--threads --evaluations --reset-period vin level",
    "actuator evaluate": "reset_period vin",
    "actuator compare": "--threads --evaluations reset_period vin level",
    "actuator plot": "reset_period vin",
    "actuator drive-backdrive": "--max-torque",
    "actuator export": "kp vin timestep",
    "actuator record": "baud_rate timeout --length vin rate start_speed highest_temperature",
    "actuator sweep": "baud_rate timeout --length vin rate start_speed highest_temperature",
    "actuator read": "baud_rate timeout",
    "network synthesize": "inertias repeats duration rate substeps highest_frequency",
    "gait device": "--max-torque --seeds",
    "gait import": "--mass",
    "gait optimize": "--musc-model --sim-time --population --sigma-gain",
}
"""Options and keys that cannot be zero."""


def commands() -> Iterator[tuple[str, type]]:
    """All commands with their words."""
    for word, group in COMMANDS.items():
        if hasattr(group, "COMMANDS"):
            for name, command in group.COMMANDS.items():
                yield f"{word} {name}", command
        else:
            yield word, group


def numbers_of(kind: Any) -> set[Any]:
    """Types within a type, such as ``float`` in ``tuple[float, ...] | None``."""
    return {kind}.union(*(numbers_of(inner) for inner in typing.get_args(kind)))


def options_of(command: type) -> list[str]:
    """Options of a command that take a number, by the names that a user types."""
    hints, marks = typing.get_type_hints(command), typing.get_type_hints(command, None, None, True)
    found = []
    for field in dataclasses.fields(command):
        hint = hints[field.name]
        if dataclasses.is_dataclass(hint):
            found += options_of(hint)
        elif hint is not bool and {int, float} & numbers_of(hint):
            name = words_of(marks[field.name]).name or field.name
            found.append(f"--{name.replace('_', '-')}")
    return found


def keys_of(command: type) -> list[str]:
    """Keys of a command that take a number."""
    return [
        setting.key
        for setting in further_keys(command)
        if {int, float} & numbers_of(setting.annotation)
    ]


def refused_numbers(place: int, fitting: tuple[str, ...]) -> Iterator[str]:
    """Numbers for the option at a place in the list: of each kind, one that it cannot have."""
    for alike in NUMBERS:
        wrong = [number for number in alike if number not in fitting]
        if wrong:
            yield wrong[place % len(wrong)]


CASES = [
    (base, option, number)
    for base, command in commands()
    if base in BASES
    for place, option in enumerate([*options_of(command), *keys_of(command)])
    for number in refused_numbers(place, FITTING.get(f"{base} {option}", ()))
] + [(base, option, "0") for base, options in NEVER_ZERO.items() for option in options.split()]


def test_the_commands_are_those_of_the_program():
    assert set(BASES) <= {base for base, _ in commands()}


@pytest.mark.parametrize(("base", "option", "number"), CASES, ids=[" ".join(c) for c in CASES])
def test_an_option_with_a_number_out_of_bounds_is_refused(
    base, option, number, prepared, finished, capfd
):
    kind, words = BASES[base]
    # not a copy: a refusal leaves the folder as it is
    folder, _ = prepared(kind) if kind in KINDS else finished(kind.split()[-1])
    given = [word.replace("./", f"{folder}/") for word in words]
    if option in given:
        del given[given.index(option) : given.index(option) + 2]
    said = refused([*base.split(), *given, f"{option}={number}"], folder, capfd)
    last = option.rsplit("-", 1)[-1].rsplit("_", 1)[-1]  # kp of --validation-kp
    assert last in said or number.replace("1e300", "1e+300") in said
