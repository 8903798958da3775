"""What an import does not use, it names; names that a log states decide, or are said not to."""

import json
from pathlib import Path

import numpy as np
import pytest
from log_writers import JOINTS, motion_of_leg, write_leg

from trueup.cli import main
from trueup.errors import RecordingError
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.importing.import_log import propose_import

ORDER = [2, 0, 1]
NAMES = [JOINTS[j] for j in ORDER]


@pytest.fixture(scope="module")
def motion():
    return motion_of_leg(4.0)


def hdf5(folder: Path, motion, state, name: str = "log.hdf5", order=ORDER) -> Path:
    """Columns of joints in an order of their own; ``state`` writes the names."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / name, "w") as file:
        file["t"] = motion.times
        file["obs/joint_pos"] = motion.q[:, order]
        file["obs/joint_vel"] = motion.v[:, order]
        file["obs/applied_torque"] = motion.tau[:, order]
        state(file)
    return folder / name


def attribute(key: str, value):
    """Writes an attribute of the file, or of a part of it."""

    def state(file):
        place, _, name = key.rpartition("/")
        file[place or "/"].attrs[name] = value

    return state


STATED = {
    "texts": attribute("joint_names", NAMES),
    "bytes": attribute("joint_names", np.array([n.encode() for n in NAMES])),
    "of the dataset": attribute("obs/joint_pos/joint_names", NAMES),
    "bytes of the dataset": attribute("obs/joint_pos/names", np.array(NAMES, "S")),
    "of the group": attribute("obs/joint_names", NAMES),
    "JSON": attribute("joint_names", json.dumps(NAMES)),
    "within JSON": attribute("env_args", json.dumps({"robot": {"joint_names": NAMES}})),
    "commas": attribute("dof_names", ", ".join(NAMES)),
    "another key": lambda file: file.__setitem__("labels", NAMES),
    "after names of bodies": lambda file: (
        file.__setitem__("body_names", ["a", "b", "c"]),
        file.__setitem__("joint_names", NAMES),
    ),
}


@pytest.mark.parametrize("how", STATED)
def test_names_that_hdf5_states_decide(how, motion, tmp_path):
    found = propose_import(write_leg(tmp_path), [hdf5(tmp_path, motion, STATED[how])], tmp_path)
    columns = {row[0]: row[1] for row in found.rows}
    assert columns == {n: f"obs/joint_pos/{k}" for k, n in enumerate(NAMES)}
    assert not any("order of the model" in point for point in found.proposal.open_points)


@pytest.mark.parametrize("names", [[*NAMES, "gripper"], NAMES[:2]])
def test_names_that_cannot_be_used_are_said(names, motion, tmp_path):
    log = hdf5(tmp_path, motion, attribute("joint_names", names))
    points = propose_import(write_leg(tmp_path), [log], tmp_path).proposal.open_points
    wanted = f"joint_names of the log has {len(names)} names, 'calf'"
    assert any(wanted in p and "the names were not used" in p for p in points)
    assert any("by the order of the model" in point for point in points)


def test_a_name_that_is_no_joint_is_left_out_and_said(motion, tmp_path):
    log = hdf5(tmp_path, motion, attribute("joint_names", ["calf", "hip", "knee"]))
    found = propose_import(write_leg(tmp_path), [log], tmp_path)
    assert {row[0] for row in found.rows} == {"calf", "hip"}
    words = "the log has 'knee', which is not a joint of the model: skipped; available: 'hip'"
    assert any(words in p for p in found.proposal.open_points)
    assert "obs/joint_pos/2" in found.proposal.left_out["log.hdf5"]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (attribute("joint_names", ["a", "b", "c"]), "the log has 'a', 'b', 'c', the model 'hip'"),
        (lambda file: file.__delitem__("obs/joint_pos"), None),
    ],
)
def test_a_log_without_a_joint_of_the_model_is_refused(state, words, motion, tmp_path, capsys):
    log = hdf5(tmp_path, motion, state)
    if words is None:  # two numbers for three joints
        h5py = pytest.importorskip("h5py")
        with h5py.File(log, "a") as file:
            file["obs/joint_pos"] = motion.q[:, :2]
        words = "has 2 numbered joints without names, but the model has 3"
    target = tmp_path / "e.yaml"
    given = ["import", str(log), "--model", str(write_leg(tmp_path)), "--output", str(target)]
    assert main(given) == 2
    assert words in capsys.readouterr().err and not target.exists()


def test_a_further_log_with_another_order_of_joints_is_refused(motion, tmp_path):
    logs = [
        hdf5(tmp_path, motion, attribute("joint_names", NAMES)),
        hdf5(tmp_path, motion, attribute("joint_names", list(JOINTS)), "b.hdf5", [0, 1, 2]),
    ]
    with pytest.raises(RecordingError, match=r"is calf in log.hdf5 and hip in b.hdf5"):
        propose_import(write_leg(tmp_path), logs, tmp_path)


# --- tables ------------------------------------------------------------------------------------


def csv(path: Path, motion, names: list[str], *more: str, scale: float = 1.0) -> Path:
    """A table of positions and speeds, and columns that belong to nothing."""
    lamps = [np.cos(motion.times * (k + 1)) for k in range(len(more))]
    columns = np.column_stack([motion.times, scale * motion.q, motion.v, motion.tau, *lamps])
    np.savetxt(path, columns, delimiter=",", header=",".join(["t", *names, *more]), comments="")
    return path


PLAIN = [f"{joint}_{kind}" for kind in ("pos", "vel", "torque") for joint in JOINTS]
NUMBERED = [f"ax{k}_{kind}" for kind in ("actual", "rate", "load") for k in (1, 2, 3)]


def run_import(folder: Path, *logs: Path) -> int:
    model, target = write_leg(folder), folder / "e.yaml"
    given = [*map(str, logs), "--model", str(model), "--output", str(target), "--overwrite"]
    return main(["import", *given])


@pytest.mark.parametrize("names", [PLAIN, NUMBERED], ids=["named", "numbered"])
def test_every_log_is_in_the_file(names, motion, tmp_path, capsys):
    a = csv(tmp_path / "a.csv", motion, names, "lamp")
    b = csv(tmp_path / "b.csv", motion, names, "lamp", "door", scale=0.9)
    assert run_import(tmp_path, a, b) == 0
    files = [recording.file for recording in load_experiment(tmp_path / "e.yaml").recordings]
    assert files == ["a.csv", "b.csv"]
    printed = capsys.readouterr().out
    assert "Unused columns of a.csv: 'lamp'\n" in printed
    assert "Unused columns of b.csv: 'door'\n" in printed


def test_signals_are_those_of_every_log(motion, tmp_path):
    logs = [
        csv(tmp_path / "a.csv", motion, NUMBERED),
        csv(tmp_path / "b.csv", motion, NUMBERED, scale=0.9),
    ]
    assert run_import(tmp_path, *logs) == 0
    recordings = prepare(load_experiment(tmp_path / "e.yaml"), tmp_path).recordings
    signals = [f"{joint}_{kind}" for kind in ("qpos", "qvel") for joint in JOINTS]
    assert [list(r.part.signals) for r in recordings] == [signals, signals]


def second(case: str, folder: Path, motion) -> Path:
    """A second log that cannot be used beside the first."""
    if case == "other columns":
        return csv(folder / "b.csv", motion, [*NUMBERED[:2], "x", *NUMBERED[3:]], scale=0.9)
    if case == "missing":
        return folder / "nowhere.csv"
    if case == "text":
        (folder / "b.csv").write_text("hello\nworld\n")
        return folder / "b.csv"
    copy = folder / "b.csv"
    copy.write_bytes((folder / "a.csv").read_bytes())
    return folder / "a.csv" if case == "the same" else copy


@pytest.mark.parametrize("case", ["other columns", "missing", "text", "copy", "the same"])
@pytest.mark.parametrize("names", [PLAIN, NUMBERED], ids=["named", "numbered"])
def test_a_log_that_cannot_be_used_is_refused(names, case, motion, tmp_path, capsys):
    a = csv(tmp_path / "a.csv", motion, names)
    b = second(case, tmp_path, motion)
    assert run_import(tmp_path, a, b) == 2
    said = capsys.readouterr().err
    assert b.name in said and not (tmp_path / "e.yaml").exists()
