"""Wrong input of every kind to every command: exit code 2, one message, nothing changed on disk.

The cases are generated: each input file of each piece of work is cut, flipped, emptied and swapped;
each key of an experiment file gets values of wrong types; each option gets numbers out of bounds.
A case runs in this process, which tells the same as one of its own, except where noted.
"""

import copy
import dataclasses
import functools
import math
import os
import re
import shutil
import time
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import driven_pendulum as pendulum
import numpy as np
import pytest
import yaml
from work import KINDS, Work, tree

from trueup.cli import main
from trueup.cli.commands import COMMANDS

LONGEST = 20.0
"""Time that a refusal may take [s]."""


def refused(words: list[str], folder: Path, capfd, named: tuple[str, ...] = ()) -> str:
    """Run a command that has to refuse its input; return what it says."""
    before = tree(folder)
    started = time.monotonic()
    code = main(words)
    seconds = time.monotonic() - started
    out, err = capfd.readouterr()
    assert code == 2, f"exit code {code}: {out[-500:]}{err[-500:]}"
    said = err
    assert said.strip().removeprefix("trueup:").strip(), "the message is empty"
    assert "Traceback" not in out + err
    assert said.count("trueup: ") == 1 or "Parsing error" in said or "─" in said, said
    for text in named:
        assert text in said, f"{text!r} is not named: {said}"
    after = tree(folder)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert not changed, f"changed on disk: {sorted(changed)}"
    assert seconds < LONGEST
    return said


@pytest.fixture(scope="session")
def prepared(tmp_path_factory) -> Callable[[str], tuple[Path, Work]]:
    """The inputs of a kind of work, in a folder to copy from."""

    @functools.cache
    def made(kind: str) -> tuple[Path, Work]:
        folder = tmp_path_factory.mktemp(kind)
        return folder, KINDS[kind](folder)

    return made


@pytest.fixture
def place(tmp_path, prepared):
    """Copy the inputs of a kind of work into a folder of the test's own."""

    def copied(kind: str) -> tuple[Path, Work]:
        source, work = prepared(kind)
        folder = tmp_path / "place"
        shutil.copytree(source, folder)
        return folder, work

    return copied


# Files: damaged, of another kind, or no files at all.

DAMAGES = {
    "empty": lambda data: b"",
    "one byte": lambda data: data[:1],
    "zeros": lambda data: bytes(4096),
    "random": lambda data: np.random.default_rng(0).bytes(2000),
    "text": lambda data: b"hello, this is another file\n",
    "html": lambda data: b"<!doctype html><html><body>404</body></html>\n",
    "json list": lambda data: b"[1, 2, 3]\n",
    "json nothing": lambda data: b"null\n",
    "yaml bomb": lambda data: BOMB.encode(),
    "nested": lambda data: b"[" * 100_000,
    "png": lambda data: b"\x89PNG\r\n\x1a\n" + bytes(100),
    "zip": lambda data: b"PK\x03\x04" + bytes(100),
    "sqlite": lambda data: b"SQLite format 3\0" + bytes(100),
    "git lfs": lambda data: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "latin": lambda data: "gr\u00f6\u00dfe: 5\n".encode("latin-1"),
    "null bytes": lambda data: data[: len(data) // 2] + b"\0" * 50 + data[len(data) // 2 :],
}
INSTEAD = ("folder", "missing", "pipe", "device", "link to itself", "link to nothing")

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)
)

FILES = [
    ("study", "own.py"),
    ("sysid", "experiment.yaml"),
    ("sysid", "pendulum.xml"),
    ("sysid", "run.csv"),
    ("servo", "logs/kp100.json"),
]


def put_instead(path: Path, what: str) -> None:
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "link to itself":
        path.symlink_to(path.name)
    elif what == "link to nothing":
        path.symlink_to("nothing-here")


@pytest.mark.parametrize("damage", [*DAMAGES, *INSTEAD])
@pytest.mark.parametrize(("kind", "name"), FILES, ids=[name for _, name in FILES])
def test_a_file_that_is_no_such_file_is_refused(kind, name, damage, place, capfd):
    folder, work = place(kind)
    path = folder / name
    if (name, damage) == ("logs/kp100.json", "missing"):
        pytest.skip("a folder with fewer logs is one to fit")
    if damage in DAMAGES:
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    else:
        put_instead(path, damage)
    refused(work.command(folder), folder, capfd, named=(path.stem,))


def numbers_flipped(text: str, seed: int) -> str:
    """A text with one number replaced by something that is none, or none that can be used."""
    random = np.random.default_rng(seed)
    places = list(re.finditer(r"-?\d+\.\d+", text))
    found = places[random.integers(len(places))]
    wrong = random.choice(["nan", "inf", "1e999", "abc", "--1", ""])
    return text[: found.start()] + str(wrong) + text[found.end() :]


@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.95])
@pytest.mark.parametrize(
    ("kind", "name"), [("sysid", "pendulum.xml"), ("servo", "logs/kp100.json")]
)
def test_a_file_that_is_cut_is_refused(kind, name, part, place, capfd):
    folder, work = place(kind)
    path = folder / name
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    refused(work.command(folder), folder, capfd, named=(path.stem,))


@pytest.mark.parametrize("seed", range(12))
def test_a_log_with_a_number_that_is_none_is_refused(seed, place, capfd):
    folder, work = place("servo")
    path = folder / "logs/kp100.json"
    path.write_text(numbers_flipped(path.read_text(), seed))
    refused(work.command(folder), folder, capfd, named=("kp100",))


SWAPS = [
    ("pendulum.xml", "run.csv"),
    ("experiment.yaml", "pendulum.xml"),
    ("run.csv", "experiment.yaml"),
]


@pytest.mark.parametrize(("one", "other"), SWAPS)
def test_files_that_are_swapped_are_refused(one, other, place, capfd):
    folder, work = place("sysid")
    a, b = folder / one, folder / other
    first, second = a.read_bytes(), b.read_bytes()
    a.write_bytes(second)
    b.write_bytes(first)
    refused(work.command(folder), folder, capfd)


# The experiment file: every key with values of other types.

WRONG: dict[str, Any] = {
    "text": "xyzzy",
    "number": -7.5,
    "list": [[1, "a"], {}],
    "mapping": {"xyzzy": 1},
    "true": True,
    "nothing in a list": [None],
    "huge": 1e300,
    "nan": math.nan,
}
FULL: dict[str, Any] = {
    **copy.deepcopy(pendulum.EXPERIMENT),
    "control": "zoh",
    "window": 0.5,
    "window_states": "measured",
    "seed": 0,
    "variants": {"other": {"file": "pendulum.xml"}},
    "search": {
        "method": "mujoco",
        "max_iters": 3,
        "starts": 1,
        "loss": "linear",
        "loss_scale": 1.0,
        "time_limit": 9.0,
        "difference": 1e-6,
    },
    "confidence": {"method": "auto", "level": 0.9, "profile": ["damping"]},
}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all keys."""
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*path, key)
        yield from leaves(inner, (*path, key))


def with_value(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(content)
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return changed


def may_fit(path: tuple[Any, ...], wrong: str) -> bool:
    """Whether a value that looks wrong is one that the key may have, or leaves the key out."""
    last = path[-1]
    texts = ("name", "directory", "file")
    if last in texts and wrong == "text":
        return path[-1] != "file"
    if last in ("window", "time_limit", "loss_scale", "noise", 1) and wrong == "huge":
        return True
    if last == "report":
        return wrong in ("true",)
    if last in ("output", "window") and wrong in ("text", "number"):
        return last == "output" and wrong == "text"
    return (last, wrong) in {
        ("loss_scale", "number"),
        ("max_iters", "true"),
        ("starts", "true"),
        ("seed", "true"),
        ("window", "true"),
        ("time_limit", "true"),
        ("loss_scale", "true"),
        ("difference", "true"),
        ("difference", "huge"),
        ("noise", "true"),
        ("fraction", "true"),
    }


KEYS = [(path, wrong) for path in leaves(FULL) for wrong in WRONG if not may_fit(path, wrong)]


@pytest.mark.parametrize(
    ("path", "wrong"), KEYS, ids=[f"{'.'.join(map(str, p))}-{w}" for p, w in KEYS]
)
def test_a_key_with_a_value_of_another_type_is_refused(path, wrong, place, capfd):
    folder, _ = place("sysid")
    content = with_value(FULL, path, WRONG[wrong])
    (folder / "experiment.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    refused(["check", str(folder / "experiment.yaml")], folder, capfd)


# Options: numbers out of bounds, and words that are none.

NUMBERS = ("nan", "inf", "-inf", "-1", "1e300", "abc", "")


def options_of(command: type) -> dict[str, Any]:
    """Options of a command that take a number: name and type."""
    hints = typing.get_type_hints(command)
    found = {}
    for field in dataclasses.fields(command):
        hint = hints[field.name]
        kinds = set(typing.get_args(hint)) | {hint}
        if hint is not bool and kinds & {int, float}:
            found[f"--{field.name.replace('_', '-')}"] = hint
    return found


def commands() -> Iterator[tuple[tuple[str, ...], type]]:
    """All commands with their words."""
    for group in COMMANDS:
        if hasattr(group, "COMMANDS"):
            for name, command in group.COMMANDS.items():
                yield (group.__name__.lower(), name), command
        else:
            yield (group.__name__.lower(),), group


BASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "identify": ("sysid", ("identify", "./experiment.yaml")),
    "study run": ("study", ("study", "run", "sphere", "-o", "./run", "--max-generations", "2")),
}
# Values that an option may well have.
FITTING = {
    ("--target-cost", "-inf"), ("--target-cost", "-1"), ("--target-cost", "1e300"),
    ("--max-seconds", "1e300"), ("--max-seconds", "inf"),
}  # fmt: skip


def option_cases() -> Iterator[tuple[str, str, str]]:
    for words, command in commands():
        base = " ".join(words)
        if base not in BASES:
            continue
        for option in options_of(command):
            for number in NUMBERS:
                if (option, number) not in FITTING:
                    yield base, option, number


OPTIONS = list(option_cases())


@pytest.mark.parametrize(("base", "option", "number"), OPTIONS, ids=[" ".join(c) for c in OPTIONS])
def test_an_option_with_a_number_out_of_bounds_is_refused(base, option, number, place, capfd):
    kind, words = BASES[base]
    folder, work = place(kind)
    work = dataclasses.replace(work, words=words or work.words)
    given = [*work.command(folder)]
    if option in given:
        del given[given.index(option) : given.index(option) + 2]
    said = refused([*given, f"{option}={number}"], folder, capfd)
    assert option.lstrip("-").replace("-", "_") in re.sub(r"[-\s]", "_", said) or number in said
