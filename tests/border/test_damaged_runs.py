"""Run directories whose files hold something else, or that another process holds."""

import io
import json
import os
import re
import shutil

import numpy as np
import pytest
from work import KINDS, answered, refused

from trueup.cli import main
from trueup.runs import RunDirectory

DAMAGES = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "list": lambda data: b"[1, 2, 3]\n",
    "no keys": lambda data: b"{}\n",
    "nulls": lambda data: re.sub(rb": [^,\[\{\n]+", b": null", data),
    "words": lambda data: re.sub(rb": -?\d[-\d.e]*", b': "abc"', data),
    "zeros": lambda data: bytes(4096),
}
EVERY = ("run.json", "experiment.yaml", "provenance.json", "solution.json", "parameters.json")
READERS = {
    "resume": ("study", "resume"),
    "report": ("report",),
    "show": ("study", "show"),
}
FITTING = {
    # a key that no command needs, or a file as a run that was just begun leaves it
    ("provenance.json", "words", "resume"),
    ("solution.json", "no keys", "show"),
    ("solution.json", "no keys", "report"),
    ("study.sqlite", "empty", "resume"),
    # text is replaced in text only
    ("study.sqlite", "nulls", "resume"),
    ("study.sqlite", "words", "resume"),
    ("study.sqlite", "nulls", "show"),
    ("study.sqlite", "words", "show"),
}
CASES = [
    (kind, name, damage, reader)
    for kind in ("study", "sysid")
    for name, readers in (
        ("run.json", ("resume", "report", "show")),
        ("experiment.yaml", ("resume",)),
        ("provenance.json", ("resume",)),
        ("solution.json", ("report", "show")),
        ("study.sqlite", ("resume", "show")),
    )
    for reader in readers
    for damage in DAMAGES
    if (name, damage, reader) not in FITTING
]


@pytest.mark.parametrize(
    ("kind", "name", "damage", "reader"), CASES, ids=[" ".join(case) for case in CASES]
)
def test_a_damaged_file_of_a_run_is_refused(kind, name, damage, reader, run, capfd):
    folder, directory = run(kind)
    path = directory / name
    content = path.read_bytes()
    path.write_bytes(DAMAGES[damage](content))
    assert path.read_bytes() != content
    refused([*READERS[reader], str(directory)], folder, capfd, named=(str(directory),))


OTHERS: dict[str, tuple[tuple[str, ...], dict[str, tuple[str, ...]]]] = {
    "servo": (
        (*EVERY, "study.sqlite", "log.jsonl"),
        {**READERS, "table": ("study", "export", "./m1.run", "-o", "./table.csv")},
    ),
    "gait": (
        (*EVERY, "study.sqlite", "log.jsonl", "terms.jsonl"),
        {**READERS, "walk": ("gait", "evaluate", "./run")},
    ),
    "network": (
        (
            *(*EVERY[:-1], "config.yaml", "metrics.json", "history.jsonl", "training.json"),
            *("network.safetensors", "linear.safetensors", "checkpoints/last.ckpt"),
        ),
        {
            **READERS,
            "scores": ("network", "evaluate", "./run", "--data", "./data"),
            "torch": ("network", "export", "./run", "--form", "torchscript", "-o", "./e.pt"),
        },
    ),
    "motion": (
        (*EVERY[:-1], "metrics.json", "checkpoint.npz", "servo.json"),
        READERS,
    ),
}
"""Kind of run -> its files, and the commands that read them."""

DRAWN = [
    (kind, name, list(DAMAGES)[number % len(DAMAGES)])
    for kind, (names, _) in OTHERS.items()
    for number, name in enumerate(names, 1)
]


@pytest.mark.parametrize(("kind", "name", "damage"), DRAWN, ids=[" ".join(case) for case in DRAWN])
def test_a_damaged_file_is_refused_or_not_needed(kind, name, damage, run, capfd):
    for words in OTHERS[kind][1].values():
        folder, directory = run(kind)
        path = directory / name
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
        given = [word.replace("./", f"{folder}/") for word in words]
        answered(given if str(directory) in given else [*given, str(directory)], folder, capfd)
        shutil.rmtree(folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [("--overwrite",), ()], ids=["overwrite", "new"])
def test_a_run_that_another_process_holds_is_refused(kind, words, place, capfd):
    folder, work = place(kind)
    with RunDirectory.create(folder / work.run).lock():
        said = refused([*work.command(folder), *words], folder, capfd, named=(work.run,))
    assert ("in progress" if words else "already contains a run") in said


@pytest.mark.parametrize("kind", ["study", "sysid"])
@pytest.mark.parametrize("command", ["study resume", "resume"])
def test_a_run_in_progress_is_not_resumed(command, kind, run, finished, capfd):
    folder, directory = run(kind)
    words = ["study", "resume", str(directory)]
    if command == "resume":
        words = [*KINDS[kind](folder).command(folder), "--resume"]
    with RunDirectory.open(directory).lock():
        assert "in progress" in refused(words, folder, capfd, named=(str(directory),))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("what", ["folder", "text", "nothing"])
def test_what_is_no_run_is_refused(reader, what, tmp_path, capfd):
    path = tmp_path / "place"
    if what == "folder":
        path.mkdir()
    elif what == "text":
        path.write_text("hello")
    refused([*READERS[reader], str(path)], tmp_path, capfd, named=("place",))


SERVO = ("actuator", "fit", "--actuator", "xl330", "--logdir", "./logs", "--output", "./m.json")
FITS = {
    "no model": (),
    "terms": ("try_terms=backlash",),
    "refine": ("--model", "m1", "--method", "refine"),
    "several models": ("--model", "m1,m4"),
}


@pytest.mark.parametrize("damage", [*DAMAGES, "missing"])
@pytest.mark.parametrize("fit", FITS)
def test_every_way_of_a_servo_fit_refuses_a_damaged_log(fit, damage, place, capfd):
    folder, _ = place("servo")
    path = folder / "logs/kp200.json"
    if damage == "missing":
        shutil.rmtree(folder / "logs")
    else:
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    words = [word.replace("./", f"{folder}/") for word in (*SERVO, *FITS[fit])]
    refused(words, folder, capfd, named=("logs",))


WRONG_FITS = {
    "a term that does not exist": (("try_terms=xyzzy",), "xyzzy"),
    "terms to try beside one model": (("--model", "m1", "try_terms=backlash"), "try_terms"),
    "a model that does not exist": (("--model", "m9"), "m9"),
    "a method that does not exist": (("--model", "m1", "--method", "xyzzy"), "xyzzy"),
    "a servo that does not exist": (("--actuator", "xyzzy"), "xyzzy"),
    "nothing to refine": (("--model", "m1", "--method", "refine", "--trials", "0"), "trials"),
    "a level of one": (("--model", "m1", "level=1"), "level"),
    "gains that no log has": (("--model", "m1", "--validation-kp", "12345"), "12345"),
    "a seed beyond 64 bits": (("--model", "m1", "--seed", str(10**22)), "seed"),
}


@pytest.mark.parametrize("wrong", WRONG_FITS)
def test_a_servo_fit_that_cannot_be_is_refused(wrong, place, capfd):
    folder, _ = place("servo")
    words, named = WRONG_FITS[wrong]
    given = [word.replace("./", f"{folder}/") for word in (*SERVO, *words)]
    refused(given, folder, capfd, named=(named,))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--dimension", "2000000000"), "--dimension"),
        (("population=2000000000",), "population"),
        (("--method", "nsgaii", "population=2000000000"), "population"),
        (("--seed", str(10**22)), "seed"),
    ],
)
def test_a_study_of_sizes_that_no_machine_holds_is_refused(words, named, tmp_path, capfd):
    problem = "zdt1" if "nsgaii" in words else "sphere"
    given = ["study", "run", problem, *words, "--generations", "1", "-o", f"{tmp_path}/run"]
    refused(given, tmp_path, capfd, named=(named,))


@pytest.mark.parametrize("seed", [2**32, 2**63 - 1])
def test_a_seed_of_64_bits_is_one(seed, tmp_path):
    words = ["study", "run", "sphere", "--method", "cmaes", "--seed", str(seed)]
    assert main([*words, "--generations", "2", "-o", str(tmp_path / "run")]) in (0, 3)


DEEP = 400
PARTS = ("a pipe", "a device", "nested too deeply")


@pytest.mark.parametrize("what", PARTS)
@pytest.mark.parametrize("element", ["include", "mesh"])
def test_a_part_of_a_model_that_cannot_be_read_is_refused(element, what, place, capfd):
    folder, _ = place("sysid")
    part = folder / "part.xml"
    if what == "a pipe":
        os.mkfifo(part)
    elif what == "a device":
        part.symlink_to("/dev/zero")
    else:
        part.write_text("<body>" * DEEP + "</body>" * DEEP)
        element = "include"
    text = '<include file="part.xml"/>'
    if element == "mesh":
        text = '<asset><mesh file="part.xml" name="m"/></asset>'
    (folder / "pendulum.xml").write_text(f"<mujoco>{text}</mujoco>")
    refused(["check", f"{folder}/experiment.yaml"], folder, capfd, named=("part.xml",))


def test_residuals_too_large_for_their_squares_are_explained(place, capfd):
    folder, _ = place("sysid")
    path = folder / "experiment.yaml"
    path.write_text(path.read_text().replace("noise: 0.002", "noise: 1.0e-300"))
    refused(["check", str(path)], folder, capfd, named=("noise",))


WRONG_VALUES = {
    "no parameters": lambda content: content.update(parameters={}),
    "no list of parameters": lambda content: content.update(parameters=None),
    "a text as value": lambda content: content["parameters"][0].update(value="x"),
    "a list as value": lambda content: content["parameters"][0].update(value=[1.0]),
    "no value": lambda content: content["parameters"][0].pop("value"),
    "no name": lambda content: content["parameters"][-1].pop("name"),
    "a text as bound": lambda content: content["parameters"][-1].update(lower="low"),
    "true as value": lambda content: content["parameters"][0].update(value=True),
    "a number as parameter": lambda content: content.update(parameters=[1.0]),
    "a text as cost": lambda content: content.update(cost="low"),
    "a list as counts": lambda content: content.update(stats=[1]),
    "a text as verdict": lambda content: content.update(verdict="use"),
}
READ_SOLUTIONS = {
    "sysid": {
        "report": ("report", "./runs/pendulum"),
        "show": ("study", "show", "./runs/pendulum"),
        "export dr": ("export", "dr", "./runs/pendulum", "draws=32", "-o", "./dr"),
        "design": ("design", "./runs/pendulum", "-o", "./next"),
        "reconcile": ("reconcile", "./runs/pendulum", "./copy"),
        "publish": ("publish", "./runs/pendulum", "-o", "./entry", "--licence", "MIT"),
    },
    "servo": {
        "report": ("report", "./m1.run"),
        "show": ("study", "show", "./m1.run"),
        "export dr": ("export", "dr", "./m1.run", "draws=32", "-o", "./dr"),
        "publish": ("publish", "./m1.run", "-o", "./entry", "--licence", "MIT"),
    },
    "gait": {
        "report": ("report", "./run"),
        "show": ("study", "show", "./run"),
    },
    "study": {
        "report": ("report", "./run"),
        "show": ("study", "show", "./run"),
    },
}
"""Kind of run -> the commands that read its ``solution.json``."""
EDITED = [
    (kind, command, wrong)
    for kind, commands in READ_SOLUTIONS.items()
    for command in commands
    for wrong in WRONG_VALUES
]


@pytest.mark.parametrize(
    ("kind", "command", "wrong"), EDITED, ids=[", ".join(case) for case in EDITED]
)
def test_a_solution_that_was_edited_is_refused(kind, command, wrong, run, capfd):
    folder, directory = run(kind)
    shutil.copytree(directory, folder / "copy")
    path = directory / "solution.json"
    content = json.loads(path.read_text())
    WRONG_VALUES[wrong](content)
    path.write_text(json.dumps(content))
    words = READ_SOLUTIONS[kind][command]
    given = [word.replace("./", f"{folder}/") for word in words]
    refused(given, folder, capfd, named=("solution.json",))


def archive_of(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


CHECKPOINTS = {
    "no bytes": b"",
    "no arrays": archive_of(),
    "the end of an archive": b"PK\x05\x06" + bytes(18),
    "another array": archive_of(x=np.zeros(3)),
    "a state that is no text": archive_of(state=np.zeros(3)),
    "a state without keys": archive_of(state=np.frombuffer(b"{}", np.uint8)),
    "a state that is a list": archive_of(state=np.frombuffer(b"[1]", np.uint8)),
    "objects": archive_of(state=np.array([{}], dtype=object)),
}


@pytest.mark.parametrize("command", ["resume", "report", "show"])
@pytest.mark.parametrize("what", CHECKPOINTS)
def test_a_checkpoint_that_holds_no_state_is_refused_or_not_needed(what, command, run, capfd):
    folder, directory = run("motion")
    (directory / "checkpoint.npz").write_bytes(CHECKPOINTS[what])
    answered([*READERS[command], str(directory)], folder, capfd)
    (directory / "solution.json").unlink()
    answered([*READERS[command], str(directory)], folder, capfd)
