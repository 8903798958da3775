"""Motions on models: which columns are coordinates, in which units, and what the muscles do."""

import csv
import gc
import json

import mujoco
import numpy as np
import pytest

from trueup.cli import main
from trueup.errors import GaitError, ReportError
from trueup.gait import replay_motion
from trueup.gait.models.coordinates import state_coordinates

MODEL = """<mujoco model="leg"><compiler angle="radian"/><worldbody>
<body name="thigh" pos="0 0 1"><joint name="hip" axis="0 1 0" range="-1 1"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/><site name="a" pos="0.05 0 -0.1"/>
<body name="shank" pos="0 0 -0.4"><joint name="knee" axis="0 1 0" range="0 2"/>
<joint name="slip" type="slide" axis="1 0 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.4"
size="0.03"/><site name="b" pos="0.05 0 -0.1"/></body></body></worldbody>
<tendon><spatial name="t"><site site="a"/><site site="b"/></spatial></tendon>
<equality><joint joint1="slip" joint2="knee" polycoef="0 0.01 0 0 0"/></equality>
<actuator><muscle name="vasti" tendon="t" lengthrange="0.2 0.6"/></actuator></mujoco>"""

TIMES = np.linspace(0.0, 1.0, 21)
HIP, KNEE = 0.5 * np.sin(6.0 * TIMES), 0.8 + 0.7 * np.cos(6.0 * TIMES)
IN_DEGREES = np.rad2deg(HIP), np.rad2deg(KNEE)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "leg.xml"
    path.write_text(MODEL)
    return path


def table(path, head, names, columns, between="\t"):
    """A table of text below a header."""
    rows = [between.join(map(repr, map(float, row))) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([*head, between.join(names), *rows]) + "\n")
    return path


def opensim(path, names, columns, *header):
    head = ["motion", "version=1", f"nRows={len(TIMES)}", f"nColumns={len(names)}", *header]
    return table(path, [*head, "endheader"], names, columns)


SI = TIMES, HIP, KNEE
DEGREES = TIMES, *IN_DEGREES
ZERO = 0.0 * TIMES
FORMS = {
    "inverse kinematics": (
        ".mot", ["Coordinates", "nRows=21", "inDegrees=yes", "",
                 "Units are S.I. units (second, meters, Newtons, ...)", "", "endheader"],
        ["time", "hip", "knee", "knee_angle_beta"], (*DEGREES, ZERO), "\t",
    ),
    "states of version 3": (
        ".sto", ["CMC", "nRows=21", "inDegrees=no", "endheader"],
        ["time", "hip", "hip_u", "knee", "knee_u", "vasti.activation", "vasti.fiber_length"],
        (TIMES, HIP, ZERO, KNEE, ZERO, ZERO + 0.5, ZERO + 0.1), "\t",
    ),
    "states of version 4": (
        ".sto", ["inDegrees=no", "DataType=double", "version=3", "endheader"],
        ["time", "/jointset/h/hip/value", "/jointset/h/hip/speed", "/jointset/k/knee/value",
         "/forceset/vasti/activation", "/forceset/vasti"],
        (TIMES, HIP, ZERO, KNEE, ZERO + 0.5, ZERO), "\t",
    ),
    "SIMM": (
        ".mot", ["", "# SIMM Motion File Header:", "name walk", "datacolumns 3", "datarows 21",
                 "endheader"],
        ["time", "hip", "knee"], DEGREES, "   ",
    ),
    "units in names": (".csv", [], ["time [s]", "hip [deg]", "knee_rad"],
                       (TIMES, IN_DEGREES[0], KNEE), ","),
    "degrees without a unit": (".csv", [], ["time", "hip", "knee"], DEGREES, ","),
    "radians without a unit": (".csv", [], ["", "time", "hip", "knee"],
                               (np.arange(21.0), *SI), ","),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_motion_is_the_same_whoever_wrote_it(form, model, tmp_path):
    suffix, head, names, columns, between = FORMS[form]
    found = replay_motion(model, table(tmp_path / f"m{suffix}", head, names, columns, between))
    assert list(found.motion.coordinates) == ["hip", "knee"]
    assert found.motion.coordinates["hip"] == pytest.approx(HIP)
    assert found.motion.coordinates["knee"] == pytest.approx(KNEE)
    assert found.motion.times == pytest.approx(TIMES)
    assert ("vasti" in found.motion.activations) == form.startswith("states")
    lacks = [one for one in found.notes if "lacks" in one]
    assert lacks == (
        ["the model lacks these columns of the motion: 'knee_angle_beta'"]
        if form == "inverse kinematics"
        else []
    )
    assert any("no unit" in one for one in found.notes) == ("without" in form or form == "SIMM")


def test_lengths_and_moment_arms_are_those_of_the_geometry(model, tmp_path):
    found = replay_motion(model, opensim(tmp_path / "m.mot", ["time", "hip", "knee"], SI))
    # the shank slips along its x by a hundredth of the knee angle
    sine, cosine = np.sin(KNEE), np.cos(KNEE)
    slip = 0.01 * KNEE
    end = np.stack([cosine * (0.05 + slip) - 0.1 * sine, -sine * (0.05 + slip) - 0.1 * cosine])
    start = np.array([[0.05], [0.3]])
    length = np.linalg.norm(end - start, axis=0)
    assert found.lengths["vasti"] == pytest.approx(length, abs=1e-12)
    assert list(found.arms["vasti"]) == ["knee"]  # no part of it crosses the hip
    along = (end - start) / length
    rate = np.stack([-sine * (0.05 + slip) - 0.1 * cosine + 0.01 * cosine,
                     -cosine * (0.05 + slip) + 0.1 * sine - 0.01 * sine])  # fmt: skip
    assert found.arms["vasti"]["knee"] == pytest.approx(-np.sum(along * rate, axis=0), abs=1e-12)


def test_inverted_coupled_and_locked_coordinates_of_an_import(model, tmp_path):
    spec = mujoco.MjSpec.from_string(MODEL)
    state_coordinates(spec, ["knee"], {"patella beta": "knee"}, ["toes"])
    spec.add_key(name="default", qpos=[0.3, 0.0, 0.0])
    names = ["time", "knee", "slip", "patella beta", "toes"]
    path = opensim(tmp_path / "m.sto", names, (TIMES, -KNEE, ZERO, ZERO, ZERO), "inDegrees=no")
    found = replay_motion(spec.compile(), path)
    assert found.positions[:, 1] == pytest.approx(KNEE)  # hip, knee, slip
    assert found.positions[:, 2] == pytest.approx(0.01 * KNEE)
    assert found.positions[:, 0] == pytest.approx(0.3)
    right = replay_motion(model, opensim(tmp_path / "r.mot", ["time", "knee"], (TIMES, KNEE)))
    assert found.arms["vasti"]["knee"] == pytest.approx(-right.arms["vasti"]["knee"])
    said = " | ".join(found.notes)
    assert "slip follows knee, patella beta follows knee" in said
    assert "locked in the model, not moved: 'toes'" in said
    assert "not in the motion, at the default: 'hip'" in said and "beyond" not in said


def test_an_exceeded_range_is_named_with_its_time(model, tmp_path):
    far = KNEE.copy()
    far[7] = 2.5
    found = replay_motion(model, opensim(tmp_path / "m.sto", ["time", "knee"], (TIMES, far)))
    (said,) = (one for one in found.notes if "beyond its" in one)
    assert said == "knee is up to 28.6 deg beyond its range of 0 to 114.6 deg, at 0.35 s"


NOT_A_NUMBER = np.where(TIMES[3] == TIMES, np.nan, KNEE)
REFUSED = {
    "no coordinate": ("m.mot", ["time", "knie"], (TIMES, KNEE), "no coordinate of .*'knie'.*Did"),
    "a gap": ("m.sto", ["time", "knee"], (TIMES, NOT_A_NUMBER), "row 4 of 'knee' is not finite"),
    "a time twice": ("m.mot", ["time", "knee"], (np.floor(TIMES * 10), KNEE), "time of row 2"),
    "two columns of one": (
        "m.sto", ["time", "knee", "/jointset/k/knee/value"], (TIMES, KNEE, KNEE), "two columns",
    ),
    "no time": ("m.csv", ["hip", "knee"], (HIP, KNEE), "no column of times"),
    "a distance for an angle": ("m.csv", ["time", "knee [mm]"], (TIMES, KNEE), "is an angle"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_motion_that_cannot_be_replayed_is_refused(case, model, tmp_path):
    name, names, columns, words = REFUSED[case]
    write = opensim if not name.endswith("csv") else (lambda p, n, c: table(p, [], n, c, ","))
    with pytest.raises(GaitError, match=words):
        replay_motion(model, write(tmp_path / name, names, columns))


def test_the_command_writes_a_table_and_a_page(model, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opensim(tmp_path / "walk.mot", ["time", "hip", "knee"], DEGREES, "inDegrees=yes")
    words = ["gait", "replay", "leg.xml", "walk.mot"]
    assert main([*words, "--dry-run"]) == 0 and "vasti" in capsys.readouterr().out
    assert not (tmp_path / "walk_replay").exists()
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"] == 21 and answer["coordinates"] == ["hip", "knee"]
    with (tmp_path / "walk_replay" / "replay.csv").open() as file:
        rows = list(csv.DictReader(file))
    lengths = [float(row["vasti/length [m]"]) for row in rows]
    assert [min(lengths), max(lengths)] == pytest.approx(answer["muscles"]["vasti"]["length_m"])
    assert float(rows[-1]["time [s]"]) == 1.0 and "vasti/moment_arm/knee [m]" in rows[0]
    page = (tmp_path / "walk_replay" / "replay.html").read_text()
    assert "moment arms" in page and "vasti" in page
    assert main(words) == 2 and "--overwrite" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0
    (tmp_path / "model.osim").write_text("<Model/>")
    assert main(["gait", "replay", "model.osim", "walk.mot", "-o", "new"]) == 2
    assert "trueup gait import model.osim" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


# imageio leaves pipes of the reader to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_film_shows_the_motion_and_the_activations(model, tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    pytest.importorskip("imageio_ffmpeg")
    names = ["time", "hip", "knee", "vasti/activation"]
    path = opensim(tmp_path / "m.sto", names, (TIMES, ZERO, ZERO + 0.5, TIMES), "inDegrees=no")
    found = replay_motion(model, path)
    try:
        film = found.save_film(tmp_path / "new" / "m.mp4", framerate=3, width=160, height=120)
    except ReportError as error:
        pytest.skip(str(error))
    with imageio.get_reader(film) as reader:
        frames = [np.asarray(frame).astype(int) for frame in reader]
    del reader
    gc.collect()
    assert len(frames) == 4 and frames[0].shape == (120, 160, 3)
    # the pose does not change, and the muscle turns from grey to red
    redder = (frames[-1] - frames[0])[..., 0] - (frames[-1] - frames[0])[..., 2]
    assert redder.max() > 60 and np.median(np.abs(frames[-1] - frames[0])) < 3
    with pytest.raises(GaitError, match=r"suffix \.mp4"):
        found.save_film(tmp_path / "m.gif")
