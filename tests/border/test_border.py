"""Wrong input of every kind to every command: exit code 2, one message, nothing changed on disk.

The cases are generated: each input file of each piece of work is cut, flipped, emptied and swapped;
each key of an experiment file gets values of wrong types. A case runs in this process, which tells
the same as one of its own, except where noted.
"""

import copy
import math
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import driven_pendulum as pendulum
import numpy as np
import pytest
import yaml
from work import refused

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
    "nested": lambda data: b"[" * 20_000,
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
    ("motion", "p.json"),
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


MOTION = "swing\nversion=1\nnRows=3\nnColumns=2\ninDegrees=yes\nendheader\ntime\thinge\n" + (
    "0\t1\n0.1\t2\n0.2\t3\n"
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_table_of_opensim_that_is_damaged_is_refused(damage, place, capfd):
    folder, _ = place("sysid")
    (folder / "swing.mot").write_bytes(DAMAGES[damage](MOTION.encode()))
    words = ("import", "./swing.mot", "--model", "./pendulum.xml", "-o", "./new.yaml")
    command = [word.replace("./", f"{folder}/") for word in words]
    refused(command, folder, capfd, named=("swing",))


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


MODEL = """<mujoco><worldbody><body name="arm"><joint name="j" axis="0 1 0"/>
<geom name="link" type="capsule" size=".02" fromto="0 0 0 .2 0 0" mass="nan"/></body></worldbody>
<actuator><motor name="m" joint="j"/></actuator></mujoco>"""


@pytest.mark.parametrize(
    "words",
    [
        ("check", "./experiment.yaml"),
        ("identify", "./experiment.yaml"),
        ("explain", "./experiment.yaml"),
        ("design", "./experiment.yaml"),
        ("init", "./pendulum.xml", "./run.csv", "-o", "./new.yaml"),
        ("import", "./run.csv", "--model", "./pendulum.xml", "-o", "./new.yaml"),
        ("gait", "optimize", "walk", "--model-file", "./pendulum.xml", "--save-path", "./run"),
    ],
    ids=" ".join,
)
def test_a_model_with_a_number_that_is_none_is_refused_by_every_command(words, place, capfd):
    folder, _ = place("sysid")
    (folder / "pendulum.xml").write_text(MODEL)
    command = [word.replace("./", f"{folder}/") for word in words]
    refused(
        command, folder, capfd, named=("mass of geom 'link' must be a finite number, found 'nan'",)
    )


LINK = '<link name="{}">{}</link>'
JOINT = """<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/></joint>"""


@pytest.mark.parametrize("command", ["import", "init", "check"])
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('<link name="${prefix}base"/>', ("is a xacro", "xacro rod.urdf >")),
        (LINK.format("base", "") + LINK.format("rod", "") + JOINT, ("'rod'", "has no mass")),
        (LINK.format("base", ""), ("rod.urdf",)),
        ("<link", ("rod.urdf",)),
    ],
    ids=["xacro", "massless", "no joint", "cut"],
)
def test_a_urdf_that_cannot_be_simulated_is_refused(text, named, command, place, capfd):
    folder, _ = place("sysid")
    (folder / "rod.urdf").write_text(f'<robot name="rod">{text}</robot>')
    words = [command, f"{folder}/run.csv", f"{folder}/rod.urdf", "-o", f"{folder}/new.yaml"]
    if command == "check":
        content = {**pendulum.EXPERIMENT, "model": {"file": "rod.urdf"}}
        (folder / "experiment.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
        words, named = ["check", f"{folder}/experiment.yaml"], named if len(named) > 1 else ()
    refused(words, folder, capfd, named=named)


@pytest.mark.parametrize("command", ["import", "init"])
def test_a_log_that_fits_no_joint_is_refused_with_both_sides(command, place, capfd):
    folder, _ = place("sysid")
    log = folder / "run.csv"
    log.write_text("\n".join(["t,a1b,b2c,c3d", *log.read_text().splitlines()[1:]]))
    model = folder / "pendulum.xml"
    model.write_text(re.sub(r"<sensor>.*</sensor>", "", model.read_text(), flags=re.DOTALL))
    words = [command, str(log), str(model), "-o", f"{folder}/new.yaml"]
    refused(words, folder, capfd, named=("a1b", "hinge"))


def closer(log):
    """A log whose times are divided by 1e300."""
    head, *rows = log.splitlines()
    return "\n".join(
        [head, *(re.sub(r"^([^,]+)", lambda m: f"{float(m[1]) * 1e-300!r}", r) for r in rows)]
    )


LOGS = {
    "no clock": (lambda log: log.replace("t,", "k,", 1), (), ("no time column", "--rate")),
    "rate of nothing": (None, ("--rate", "0"), ("rate", "positive")),
    "rate of ages": (None, ("--rate", "1e-300"), ("rate", "1e-300", "1e-09 to 1e+09")),
    "times too close": (closer, (), ("5e-303 s apart", "unit of the time column")),
    "episode of a table": (None, ("--episode", "3"), ("has no episodes", "--episode")),
    "a pickle": (lambda log: "\x80\x04K\x01.", (), ("is a pickle", "numpy.savez")),
}


@pytest.mark.parametrize("command", ["import", "init"])
@pytest.mark.parametrize("case", LOGS)
def test_a_log_that_cannot_be_imported_is_refused(case, command, place, capfd):
    folder, _ = place("sysid")
    change, more, named = LOGS[case]
    log = folder / "run.csv"
    if change is not None:
        content = change(log.read_text()).encode("latin-1")
        log = folder / ("run.pkl" if case == "a pickle" else "run.csv")
        log.write_bytes(content)
    words = [command, str(log), f"{folder}/pendulum.xml", *more, "-o", f"{folder}/new.yaml"]
    refused(words, folder, capfd, named=named)


@pytest.mark.parametrize(
    ("actuators", "named"),
    [
        ({"hing": "torque"}, ("unknown joint 'hing'", "hinge")),
        ({"hinge": "speed"}, ("actuators",)),
        ({"hinge": "position"}, ("kp",)),
    ],
)
def test_actuators_by_joint_that_cannot_be_are_refused(actuators, named, place, capfd):
    folder, _ = place("sysid")
    content = {**pendulum.EXPERIMENT, "model": {"file": "pendulum.xml", "actuators": actuators}}
    (folder / "experiment.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    refused(["check", f"{folder}/experiment.yaml"], folder, capfd, named=named)


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
        ("max_iters", "true"),
        ("starts", "true"),
        ("seed", "true"),
        ("window", "true"),
        ("time_limit", "true"),
        ("loss_scale", "true"),
        ("difference", "true"),
        ("noise", "true"),
        ("fraction", "true"),
    }


@pytest.fixture(scope="module")
def checked(prepared, tmp_path_factory):
    """A copy of the inputs of an identification, whose experiment file each test replaces."""
    return shutil.copytree(prepared("sysid")[0], tmp_path_factory.mktemp("keys") / "place")


KEYS = [(path, wrong) for path in leaves(FULL) for wrong in WRONG if not may_fit(path, wrong)]


@pytest.mark.parametrize(
    ("path", "wrong"), KEYS, ids=[f"{'.'.join(map(str, p))}-{w}" for p, w in KEYS]
)
def test_a_key_with_a_value_of_another_type_is_refused(path, wrong, checked, capfd):
    content = with_value(FULL, path, WRONG[wrong])
    (checked / "experiment.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    refused(["check", str(checked / "experiment.yaml")], checked, capfd)
