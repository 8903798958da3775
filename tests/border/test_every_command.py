"""Every command of the program, as the program lists them, with paths that hold no input.

The cases follow from the tree of commands and from the types of their fields: a new command is
tried without a line here, and a new required field fails the first test until it has a value.
"""

import dataclasses
import os
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_options import BASES, commands, keys_of, options_of
from tyro.conf import Positional
from work import refused

from trueup.cli.help import words_of

COMMANDS = dict(commands())
VALUES = {
    "experiment": "./experiment.yaml",
    "directory": "./absent",
    "directories": "./absent",
    "problem": "sphere",
    "raw": "./logs",
    "logdir": "./logs",
    "actuator": "xl330",
    "params": "./p.json",
    "kp": "200",
    "trajectory": "sin_sin",
    "partial": "./absent",
    "folder": "./absent",
    "network": "./absent",
    "form": "mujoco",
    "target": "./absent",
    "file": "./absent",
    "model": "./pendulum.xml",
    "recording": "./run.csv",
    "logs": "./run.csv",
    "files": "./run.csv",
    "output": "./output",
    "licence": "MIT",
}
"""Value of each required field, by its name."""
WRITTEN = {"output", "folder"}
"""Fields that name what is written."""
ALSO_WRITTEN = {("actuator process", "logdir"), ("actuator sweep", "logdir")}
OPTIONAL = {
    "study list": "a folder without runs has none",
    "actuator list": "reads no file",
    "actuator read": "reads a servo",
    "actuator trajectories": "reads no file",
    "gait list": "reads no file",
    "gait optimize": "has a packaged configuration",
    "gait device": "has a packaged configuration",
    "network check": "checks the default folder",
    "network train": "has a packaged configuration",
    "network train-motion": "explains its inputs",
    "demo": "makes its files",
    "study run": "names a problem",
    "actuator record": "records a servo",
    "actuator sweep": "records a servo",
    "network synthesize": "writes a folder",
}
"""Commands without a required input, and why."""


def is_path(hint: Any) -> bool:
    return hint is Path or any(is_path(inner) for inner in typing.get_args(hint))


def fields_of(command: type) -> list[tuple[str, Any, bool]]:
    """Name, type and whether it is required, of each field that is a word of the command."""
    hints = typing.get_type_hints(command, None, None, True)
    missing = dataclasses.MISSING
    found = []
    for field in dataclasses.fields(command):
        needed = field.default is missing and field.default_factory is missing
        if dataclasses.is_dataclass(hints[field.name]):
            found += fields_of(hints[field.name])  # type: ignore[arg-type]
        else:
            found.append((field.name, hints[field.name], needed))
    return found


def words_with(command: type, changed: str, value: str) -> list[str]:
    """Words of a command with one field changed, and a value for each other required one."""
    words = []
    for name, hint, needed in fields_of(command):
        if not needed and name != changed:
            continue
        given = value if name == changed else VALUES[name]
        if Positional in typing.get_args(hint) or "Positional" in str(hint):
            words.append(given)
            if name == "files":  # logs and their model
                words.append("./pendulum.xml")
        else:
            option = words_of(hint).name or name
            words += [f"--{option.replace('_', '-')}", given]
    return words


def test_every_required_field_has_a_value():
    names = {n for each in COMMANDS.values() for n, _, needed in fields_of(each) if needed}
    assert names <= VALUES.keys()


def test_every_command_has_cases():
    tried = {base for base, _, _ in INPUTS}
    assert COMMANDS.keys() - OPTIONAL.keys() == tried
    assert not OPTIONAL.keys() & tried
    numbers = {b for b, each in COMMANDS.items() if options_of(each) or keys_of(each)}
    assert numbers <= BASES.keys(), "numbers of every command are tried in test_options"


DAMAGES = {
    "missing": lambda path: None,
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(4096)),
    "random": lambda path: path.write_bytes(np.random.default_rng(0).bytes(2000)),
    "a list": lambda path: path.write_bytes(b"[1, 2, 3]\n"),
    "a page": lambda path: path.write_bytes(b"<!doctype html><html><body>404</body></html>\n"),
    "nested": lambda path: path.write_bytes(b"[" * 20_000),
    "a pointer": lambda path: path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n"),
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}
INPUTS = [
    (base, name, damage)
    for base, command in COMMANDS.items()
    for name, hint, needed in fields_of(command)
    if needed and is_path(hint) and name not in WRITTEN and (base, name) not in ALSO_WRITTEN
    for damage in DAMAGES
]
OPTIONS = [
    (base, name, what)
    for base, command in COMMANDS.items()
    for name, hint, needed in fields_of(command)
    if not needed and is_path(hint)
    for what in ("a pipe", "a device")
]


@pytest.mark.parametrize(("base", "name", "damage"), INPUTS, ids=[", ".join(c) for c in INPUTS])
def test_a_required_path_without_an_input_is_refused(base, name, damage, place, capfd):
    kind = "servo" if "actuator" in base else "sysid"
    folder, _ = place(kind)
    suffix = Path(VALUES[name]).suffix
    path = folder / f"hostile{suffix}"
    DAMAGES[damage](path)
    words = words_with(COMMANDS[base], name, f"./hostile{suffix}")
    given = [word.replace("./", f"{folder}/") for word in words]
    refused([*base.split(), *given], folder, capfd)


@pytest.mark.parametrize(("base", "name", "what"), OPTIONS, ids=[", ".join(c) for c in OPTIONS])
def test_an_optional_path_that_is_no_file_is_refused(base, name, what, place, capfd):
    folder, _ = place("sysid")
    DAMAGES[what](folder / "hostile")
    words = words_with(COMMANDS[base], name, "./hostile")
    given = [word.replace("./", f"{folder}/") for word in words]
    refused([*base.split(), *given], folder, capfd)


@pytest.mark.parametrize("base", COMMANDS)
@pytest.mark.parametrize("word", ["--xyzzy", "--xyzzy=1", "xyzzy=1"])
def test_a_word_that_no_command_has_is_refused(base, word, prepared, capfd):
    folder, _ = prepared("sysid")
    given = [w.replace("./", f"{folder}/") for w in words_with(COMMANDS[base], "", "")]
    refused([*base.split(), *given, word], folder, capfd)
