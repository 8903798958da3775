"""Walks as files of OpenSim and tables, and motions of OpenSim as reference gaits."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import (
    Walker,
    WalkSettings,
    WalkSimulation,
    adult_norm,
    observe_walks,
    read_motion,
    read_norm,
    write_walk,
)
from trueup.gait.opensim_storage import Storage, read_storage


@pytest.fixture(scope="module")
def walked():
    """Walker and series of the nominal vector, which makes some steps before it falls."""
    simulation = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=3.0, threads=1))
    _, (series,) = observe_walks(simulation, simulation.parameters.start[None])
    return simulation.walker, series


def cycles(count=1, degrees=True, sign=-1.0, forces=False):
    """Motion of the norm over whole cycles of 1.1 s, as OpenSim has it."""
    angles = adult_norm().reference.angles
    part = np.linspace(0.0, count, 110 * count + 1)
    columns = {"time": 1.1 * part, "pelvis_tx": 1.25 * 1.1 * part}
    for side, behind in (("r", 0.0), ("l", 0.5)):
        phase = (part - behind) % 1.0
        for joint, name, way in (("hip", "hip_flexion", 1.0), ("knee", "knee_angle", sign),
                                 ("ankle", "ankle_angle", 1.0)):  # fmt: skip
            mean = np.append(angles[joint].mean, angles[joint].mean[0])
            values = way * np.interp(phase, np.linspace(0.0, 1.0, len(mean)), mean)
            columns[f"{name}_{side}"] = np.rad2deg(values) if degrees else values
        if forces:
            columns[f"ground_force_{side}_vy"] = np.where(phase < 0.6, 700.0, 0.0)
    return Storage("motion", tuple(columns), np.column_stack(list(columns.values())), degrees)


def test_a_motion_has_the_coordinates_of_the_model(walked, tmp_path):
    walker, series = walked
    found = read_storage(write_walk(tmp_path / "walk.mot", walker, series))
    assert found.degrees and len(found.columns) == 1 + walker.model.njnt
    np.testing.assert_allclose(found.column("time"), series.time)
    np.testing.assert_allclose(
        found.column("hip_flexion_l"), np.rad2deg(series.angles[:, 1, 0]), atol=1e-6
    )
    np.testing.assert_allclose(
        found.column("knee_angle_r"), -np.rad2deg(series.angles[:, 0, 1]), atol=1e-6
    )
    assert found.column("pelvis_tx")[-1] > 0.5


def test_forces_are_named_as_in_opensim(walked, tmp_path):
    walker, series = walked
    found = read_storage(write_walk(tmp_path / "walk.sto", walker, series))
    upright = found.column("ground_force_r_vy") + found.column("ground_force_l_vy")
    np.testing.assert_allclose(upright, series.ground_force[:, :, 2].sum(axis=1), rtol=1e-6)
    to_the_left = np.array([0.0, 30.0, 0.0])
    pushed = replace(series, ground_force=series.ground_force + to_the_left)
    other = read_storage(write_walk(tmp_path / "other.sto", walker, pushed))
    np.testing.assert_allclose(other.column("ground_force_r_vz"), -30.0)
    muscle = series.muscles.index("soleus_r")
    np.testing.assert_allclose(
        found.column("soleus_r/activation"), series.activations[:, muscle], rtol=1e-6
    )
    np.testing.assert_allclose(
        found.column("ankle_l_moment"), series.moments[:, 1, 2], rtol=1e-6, atol=1e-6
    )
    assert not any("device" in name for name in found.columns)


def test_a_table_has_all_with_units(walked, tmp_path):
    with write_walk(tmp_path / "walk.csv", *walked).open() as file:
        head, *rows = csv.reader(file)
    assert head[0] == "time [s]" and {"knee_angle_r [deg]", "hip_l_moment [N m]"} <= set(head)
    assert len(rows) == len(walked[1].time) and len(rows[0]) == len(head)


def test_the_command_writes_the_walk_of_a_vector(capsys, tmp_path):
    np.savetxt(tmp_path / "vector.txt", np.ones(77))
    words = ["gait", "export", str(tmp_path / "vector.txt"), "sim_time=0.5", "--json"]
    assert main([*words, "--output", str(tmp_path / "walk.mot")]) == 0
    assert json.loads(capsys.readouterr().out)["lasted_s"] == pytest.approx(0.5)
    assert read_storage(tmp_path / "walk.mot").columns[0] == "time"
    assert main([*words, "--output", str(tmp_path / "walk.xls")]) == 2
    assert "available: .mot (" in json.loads(capsys.readouterr().out)["message"]


@pytest.mark.parametrize("form", [{}, {"degrees": False}, {"sign": 1.0}])
def test_a_cycle_of_opensim_is_a_reference(tmp_path, form):
    found = read_motion(cycles(**form).save(tmp_path / "mine.mot"))
    for joint, curve in adult_norm().reference.angles.items():
        np.testing.assert_allclose(found.angles[joint].mean, curve.mean, atol=np.deg2rad(0.5))
    assert found.speed == pytest.approx(1.25) and found.angles["hip"].sd is None
    assert read_norm(tmp_path / "mine.mot").name == "mine"


def test_ground_reaction_cuts_a_motion_into_strides(tmp_path):
    whole = cycles(5, forces=True)
    part = Storage(whole.name, whole.columns, whole.values[37:], True)  # begins anywhere
    found = read_motion(part.save(tmp_path / "mine.sto"))
    for joint, curve in adult_norm().reference.angles.items():
        np.testing.assert_allclose(found.angles[joint].mean, curve.mean, atol=np.deg2rad(2.0))
        assert found.angles[joint].sd.max() < np.deg2rad(1.0)


def test_activations_of_muscles_are_those_of_their_groups(tmp_path):
    storage = cycles()
    level = np.full(len(storage.values), 0.3)
    muscles = ("/forceset/soleus_r", "rect_fem_r", "x_r")
    columns = (*storage.columns, *(f"{name}/activation" for name in muscles))
    values = np.column_stack([storage.values, level, 2.0 * level, level])
    found = read_motion(Storage("m", columns, values, True).save(tmp_path / "mine.sto"))
    assert set(found.emg) == {"SOL", "RF"}
    np.testing.assert_allclose(found.emg["RF"].mean, 0.6)


GOOD = (
    "m\nversion=1\nnRows=2\nnColumns=2\ninDegrees=yes\nendheader\ntime\thip_flexion_r\n0\t1\n1\t2\n"
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("endheader", "end"), "no line 'endheader'"),
        (("nRows=2", "nRows=3"), "is truncated"),
        (("time", "t"), "expected 'time'"),
        (("1\t2\n", "1\n"), "row 2 has 1 values"),
        (("1\t2\n", "1\tnan\n"), "is not finite"),
        (("1\t2\n", "1\ttwo\n"), "not numbers"),
        (("1\t2\n", "0\t2\n"), "time is not increasing"),
        (("hip_flexion_r", "time"), "several columns named 'time'"),
        (("0\t1\n1\t2\n", ""), "no rows"),
        (("", ""), "has no coordinate 'knee_angle_r', 'ankle_angle_r'"),
    ],
)
def test_files_that_are_no_gait_are_refused(tmp_path, change, told):
    path = tmp_path / "wrong.mot"
    path.write_text(GOOD.replace(*change) if change[0] else GOOD)
    with pytest.raises(GaitError, match=told):
        read_motion(path)
    with pytest.raises(GaitError, match="cannot read"):
        read_motion(tmp_path / "nowhere.mot")


def test_a_motion_that_is_no_cycle_is_refused(tmp_path):
    whole = cycles()
    half = Storage(whole.name, whole.columns, whole.values[:60], True).save(tmp_path / "half.mot")
    with pytest.raises(
        GaitError, match=r"not a gait cycle.*differ by .* degrees.*ground_force_r_vy"
    ):
        read_motion(half)


@given(
    st.lists(st.text("abcxyz_/.0123456789", min_size=1, max_size=8), unique=True, max_size=4),
    st.integers(1, 5),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(max_examples=50, deadline=None)
def test_what_is_written_is_read(tmp_path_factory, names, rows, degrees, random):
    columns = ("time", *(name for name in names if name != "time"))
    values = np.array([[random.uniform(-1e3, 1e3) for _ in columns] for _ in range(rows)])
    values[:, 0] = np.arange(rows)
    path = tmp_path_factory.mktemp("storage") / "table.sto"
    found = read_storage(Storage("table", columns, values, degrees).save(path))
    assert found.columns == columns and found.degrees is degrees
    np.testing.assert_allclose(found.values, values, rtol=1e-8, atol=1e-8)


@given(st.text(max_size=60), st.integers(0, len(GOOD)), st.integers(0, 20))
@settings(max_examples=100, deadline=None)
def test_damaged_files_are_refused_or_read(tmp_path_factory, text, at, cut):
    """Whatever stands in a file: a reference gait or one clear error."""
    path = tmp_path_factory.mktemp("damaged") / "table.mot"
    path.write_text(GOOD[:at] + text + GOOD[at + cut :], encoding="utf-8")
    try:
        read_storage(path)
    except GaitError as error:
        assert str(path) in str(error)
