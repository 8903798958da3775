"""What a user can get wrong: one clear message, exit code 2, nothing written."""

import copy
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import driven_pendulum as pendulum
import numpy as np
import pytest
import yaml

from trueup.cli import main

Change = Callable[[dict[str, Any], pendulum.Files], None]


def setting(path: str, value: Any) -> Change:
    """Set one setting of the experiment; ``recordings.0.time`` and the like."""

    def change(experiment: dict[str, Any], files: pendulum.Files) -> None:
        *way, last = path.split(".")
        place: Any = experiment
        for key in way:
            place = place[int(key)] if isinstance(place, list) else place.setdefault(key, {})
        place[last] = value

    return change


def removed(path: str) -> Change:
    def change(experiment: dict[str, Any], files: pendulum.Files) -> None:
        *way, last = path.split(".")
        place: Any = experiment
        for key in way:
            place = place[int(key)] if isinstance(place, list) else place[key]
        del place[last]

    return change


def data(change_table: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Change the recorded numbers: columns t, angle, speed, torque."""

    def change(experiment: dict[str, Any], files: pendulum.Files) -> None:
        lines = files.recording.read_text().splitlines()
        table = change_table(np.array([[float(v) for v in line.split(",")] for line in lines[1:]]))
        rows = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in table]
        files.recording.write_text("\n".join([lines[0], *rows]) + "\n")

    return change


def text(name: str, change_text: Callable[[str], str]) -> Change:
    """Change the text of the model or the recording."""

    def change(experiment: dict[str, Any], files: pendulum.Files) -> None:
        path = files.folder / name
        path.write_text(change_text(path.read_text()))

    return change


def both(*changes: Change) -> Change:
    def change(experiment: dict[str, Any], files: pendulum.Files) -> None:
        for one in changes:
            one(experiment, files)

    return change


def folder_instead(name: str) -> Change:
    def change(experiment: dict[str, Any], files: pendulum.Files) -> None:
        (files.folder / name).unlink()
        (files.folder / name).mkdir()

    return change


def column(index: int, values: Callable[[np.ndarray], np.ndarray]) -> Change:
    def change_table(table: np.ndarray) -> np.ndarray:
        table[:, index] = values(table[:, index])
        return table

    return data(change_table)


def swapped(table: np.ndarray) -> np.ndarray:
    table[100], table[101] = table[101].copy(), table[100].copy()
    return table


CASES: dict[str, tuple[Change, str]] = {
    # columns and signals
    "missing column": (
        setting("recordings.0.signals.angle", "angel"),
        r"no column 'angel'.*Did you mean 'angle'",
    ),
    "missing time column": (
        setting("recordings.0.time", "time"),
        r"No time column 'time'\. Columns: 't'",
    ),
    "unknown sensor": (
        both(removed("recordings.0.signals.angle"), setting("recordings.0.signals.angel", "angle")),
        r"'angel'.*angle",
    ),
    "unknown joint": (
        setting("recordings.0.signals.hing_qpos", "angle"),
        r"'hing_qpos'.*hinge_qpos",
    ),
    "unknown actuator": (
        setting("recordings.0.controls", {"moter": "torque"}),
        r"'moter'.*'motor'",
    ),
    "unknown joint of the initial state": (
        setting("recordings.0.initial", {"qpos": {"hing": 0.1}}),
        r"initial.qpos refers to an unknown joint 'hing'.*Did you mean 'hinge'",
    ),
    "unknown unit": (
        setting("recordings.0.signals.angle", {"column": "angle", "unit": "degree/s/s/s"}),
        r"[Uu]nknown unit.*deg",
    ),
    "unit of another quantity": (
        setting("recordings.0.signals.angle", {"column": "angle", "unit": "mm"}),
        r"'angle' in rad.*'mm' \(length\).*Valid units are .*'deg'",
    ),
    "pattern that fits no signal": (
        setting("measurement.signals", {"angl": {"noise": 1.0}}),
        r"measurement.signals: 'angl' matches no recorded signal.*Did you mean 'angle'",
    ),
    "filter that matches no signal": (
        setting("measurement.filters", {"torque": {"cutoff": 10.0}}),
        r"'torque' matches no signal; available: 'angle'",
    ),
    "filter above the Nyquist frequency": (
        setting("measurement.filters", {"angle": {"cutoff": 500.0}}),
        r"500.*(Nyquist|half)",
    ),
    # data
    "degrees taken as radians": (
        both(column(1, np.rad2deg), column(2, np.rad2deg)),
        r"angle reaches .* rad.*deg",
    ),
    "180 degrees taken as radians": (
        column(1, lambda angle: 180 * angle / np.abs(angle).max()),
        r"angle reaches 180 rad.*deg",
    ),
    "velocity in degrees": (column(2, np.rad2deg), r"deg/s"),
    "inverted velocity": (column(2, np.negative), r"sign .* inverted"),
    "not a number": (
        column(1, lambda angle: np.where(np.arange(angle.size) % 40 == 7, np.nan, angle)),
        r"angle.*NaN",
    ),
    "time that runs backwards": (data(swapped), r"(backwards|not increase|decreas)"),
    "duplicate times": (
        column(0, lambda t: np.repeat(t[::2], 2)[: t.size]),
        r"(same time|duplicate|twice|repeat)",
    ),
    "no excitation": (
        data(lambda table: table * np.array([1, 0, 0, 0])),
        r"(constant|moves|excit)",
    ),
    "milliseconds taken as seconds": (column(0, lambda t: 1000 * t), r"times look like ms"),
    # parameters
    "unknown target": (
        setting("parameters.armature.target", "joint/hing/armature"),
        r"no joint 'hing'.*'hinge'",
    ),
    "unknown attribute": (
        setting("parameters.armature.target", "joint/hinge/armatur"),
        r"no attribute 'armatur'.*'armature'",
    ),
    "unknown kind": (setting("parameters.armature.target", "jiont/hinge/armature"), r"'joint'"),
    "body that does not exist": (
        setting("parameters.load", {"inertia": "lod"}),
        r"'lod'.*'rod'",
    ),
    "bounds without the start": (
        setting("parameters.armature.bounds", [0.1, 1]),
        r"armature.*0\.02.*outside",
    ),
    "bounds without the given start": (
        setting("parameters.damping.start", 7.0),
        r"damping.*7.*(outside|bounds)",
    ),
    "bounds upside down": (
        setting("parameters.damping.bounds", [5, 0]),
        r"damping.*lower bound 5.*above the upper bound 0",
    ),
    "bounds missing": (removed("parameters.damping.bounds"), r"damping.*bounds are missing"),
    "logarithm of zero": (setting("parameters.armature.bounds", [0, 1]), r"armature.*log.*0"),
    "bound that is not physical": (
        both(
            setting("parameters.armature.bounds", [-1, 5]),
            setting("parameters.armature.scale", "linear"),
        ),
        r"-1 is not physical",
    ),
    "unknown tie": (
        setting("parameters.other", {"target": "joint/hinge/damping", "tied_to": "dampng"}),
        r"tied_to 'dampng'.*'damping'",
    ),
    "two parameters for one number": (
        setting("parameters.twin", {"target": "joint/hinge/damping", "bounds": [0, 5]}),
        r"(twin.*damping|damping.*twin)",
    ),
    "delay that does not exist": (
        setting("measurement.delays", {"angle": "lag"}),
        r"measurement.delays refers to an unknown parameter 'lag'",
    ),
    "actuator delay without a history": (
        setting(
            "parameters.delay",
            {"target": "actuator/motor/delay", "bounds": [0, 0.1], "start": 0.01},
        ),
        r"no effect.*history",
    ),
    "unknown profile": (
        setting("confidence", {"profile": ["dampin"]}),
        r"confidence.profile names 'dampin'.*'damping'",
    ),
    "everything frozen": (
        both(
            setting("parameters.armature.frozen", True), setting("parameters.damping.frozen", True)
        ),
        r"no free parameter",
    ),
    # validation
    "unknown held-out recording": (
        setting("held_out", {"recordings": ["rum"]}),
        r"held_out.recordings names an unknown recording 'rum'.*Did you mean 'run'",
    ),
    "everything held out": (
        setting("held_out", {"recordings": ["run"]}),
        r"at least one must remain for the fit",
    ),
    "more folds than recordings": (setting("held_out", {"folds": 4}), r"folds is 4.*1 training"),
    "window shorter than a sample": (setting("window", 0.001), r"window"),
    "negative seed": (setting("seed", -1), r"seed.*0"),
    "trim that leaves nothing": (
        setting("recordings.0.trim", {"start": 99.0}),
        r"trim.start is 99 s, outside the recording",
    ),
    "two recordings of one name": (
        lambda e, f: e["recordings"].append(copy.deepcopy(e["recordings"][0])),
        r"several recordings have the name 'run'",
    ),
    # the file
    "unknown key": (setting("searhc", {}), r"line \d+.*unknown key 'searhc'.*'search'"),
    "unknown key in a part": (
        setting("recordings.0.signal", {}),
        r"line \d+.*unknown key 'signal'.*'signals'",
    ),
    "missing key": (removed("parameters"), r"'parameters' is missing"),
    "wrong type": (setting("window", "long"), r"line \d+.*window.*'long'"),
    "unknown loss": (setting("search", {"loss": "hubert"}), r"search.loss.*huber"),
    "unknown variant": (setting("recordings.0.model", "loaded"), r"unknown variant 'loaded'"),
    # files
    "model that does not exist": (
        setting("model.file", "pendulm.xml"),
        r"no such model file: pendulm.xml.*pendulum.xml",
    ),
    "model that does not compile": (
        text("pendulum.xml", lambda xml: xml.replace('joint="hinge"/></act', 'joint="hin"/></act')),
        r"pendulum.xml.*hin",
    ),
    "model that is no XML": (text("pendulum.xml", lambda xml: xml[:200]), r"pendulum.xml"),
    "model that is a folder": (folder_instead("pendulum.xml"), r"pendulum.xml"),
    "model that diverges": (
        text(
            "pendulum.xml",
            lambda xml: xml.replace('damping="0.1"', 'damping="0.1" stiffness="-1e9"'),
        ),
        r"simulation fails at the start values",
    ),
    "recording that does not exist": (
        setting("recordings.0.file", "rum.csv"),
        r"no such recording: rum.csv.*run.csv",
    ),
    "empty recording": (text("run.csv", lambda csv: ""), r"run.csv.*empty"),
    "recording without samples": (text("run.csv", lambda csv: csv[:21]), r"run.csv"),
    "recording that is a folder": (folder_instead("run.csv"), r"run.csv.*empty"),
    "recording in which a row is cut": (
        text("run.csv", lambda csv: csv[: len(csv) // 2].rstrip("0123456789.-,") + "1,2"),
        r"run.csv",
    ),
    "recording of an unknown format": (
        both(
            lambda e, f: f.recording.rename(f.folder / "run.xyz") and None,
            setting("recordings.0.file", "run.xyz"),
        ),
        r"run.xyz",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_with_one_clear_message(
    case: str, files: pendulum.Files, command: Callable[..., tuple[int, Any]]
):
    change, expected = CASES[case]
    experiment = copy.deepcopy(pendulum.EXPERIMENT)
    change(experiment, files)
    files.experiment.write_text(yaml.safe_dump(experiment, sort_keys=False))
    before = pendulum.tree(files.folder)
    code, said = command("identify", files.experiment)
    assert code == 2, said
    assert set(said) == {"error", "message"}
    assert re.search(expected, said["message"], re.DOTALL), said["message"]
    assert pendulum.tree(files.folder) == before


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "found nothing"),
        ("- a\n- b\n", "found list"),
        ("name: [unclosed\n", "line"),
        ("name: a\nname: b\n", "line 2: duplicate key 'name'"),
        ("\x00\x01", "not valid YAML"),
        ("name: 1e400\nmodel: 3\n", "model"),
    ],
)
def test_malformed_experiment_files_are_refused(
    content: str,
    expected: str,
    files: pendulum.Files,
    command: Callable[..., tuple[int, Any]],
):
    files.experiment.write_text(content)
    code, said = command("identify", files.experiment)
    assert code == 2
    assert expected in said["message"]


def test_binary_experiment_file_is_refused(files, command):
    files.experiment.write_bytes(b"\xff\xfe\x00name")
    code, said = command("identify", files.experiment)
    assert code == 2
    assert "not a text file" in said["message"]


def test_a_folder_is_no_experiment_file(files, command):
    code, said = command("check", files.folder)
    assert code == 2
    assert "is a folder" in said["message"]


def test_missing_experiment_file_names_init(tmp_path: Path, command):
    code, said = command("identify", tmp_path / "none.yaml")
    assert code == 2
    assert "trueup import" in said["message"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["experiment.yaml", "pendulum.xml", "run.csv"])
def test_unreadable_files_are_refused(name: str, files, command):
    (files.folder / name).chmod(0)
    code, said = command("identify", files.experiment)
    assert code == 2
    assert "ermission" in said["message"] or "cannot be" in said["message"]


def test_permission_denied_is_one_message(files, command, monkeypatch: pytest.MonkeyPatch):
    read_text = Path.read_text

    def refuse(self: Path, *arguments: Any, **options: Any) -> str:
        if self.suffix != ".yaml":  # metadata of installed packages is read too
            return read_text(self, *arguments, **options)
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_text", refuse)
    code, said = command("identify", files.experiment)
    assert code == 2
    assert "experiment.yaml" in said["message"]
    assert "ermission denied" in said["message"]


def test_files_outside_the_folder_of_the_experiment_are_fine(tmp_path: Path, command):
    (tmp_path / "data").mkdir()
    (tmp_path / "work").mkdir()
    files = pendulum.write(tmp_path / "data")
    experiment = copy.deepcopy(pendulum.EXPERIMENT)
    experiment["model"]["file"] = "../data/pendulum.xml"
    experiment["recordings"][0]["file"] = str(files.recording)
    path = tmp_path / "work/experiment.yaml"
    path.write_text(yaml.safe_dump(experiment))
    assert command("identify", path, "--dry-run")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["identify"],
        ["bogus"],
        ["identify", "a.yaml", "b.yaml"],
        ["identify", "a.yaml", "--sed", "3"],
        ["identify", "a.yaml", "--seed", "many"],
        ["compare", "only-one"],
        ["init", "only-a-model.xml"],
        [],
    ],
)
def test_usage_errors_are_one_object(arguments: list[str], command):
    code, said = command(*arguments)
    assert code == 2
    assert set(said) == {"error", "message"}
    assert "─" not in said["message"]


def test_errors_for_people_go_to_the_error_stream(files, capsys: pytest.CaptureFixture[str]):
    assert main(["identify", str(files.folder / "none.yaml")]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("trueup: ")
    assert len(shown.err.splitlines()) == 1


def test_seed_and_contradicting_options_are_refused(files, command):
    assert "--seed" in command("identify", files.experiment, "--seed", "-1")[1]["message"]
    code, said = command("identify", files.experiment, "--resume", "--overwrite")
    assert code == 2
    assert "--resume" in said["message"]
