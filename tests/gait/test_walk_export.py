"""Walks as files of OpenSim and tables, and motions of OpenSim as reference gaits."""

import csv
import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from given_configurations import nominal_vector

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
from trueup.gait.export import write_opensim
from trueup.signals import read


@pytest.fixture(scope="module")
def walked():
    """Walker and series of the nominal vector, which makes some steps before it falls."""
    simulation = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=3.0, threads=1))
    _, (series,) = observe_walks(simulation, simulation.parameters.start[None])
    return simulation.walker, series


@dataclass(frozen=True)
class Motion:
    """A table of OpenSim before it is written."""

    columns: tuple[str, ...]
    values: np.ndarray
    degrees: bool = True

    def save(self, path):
        return write_opensim(path, self.columns, self.values, degrees=self.degrees)


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
    return Motion(tuple(columns), np.column_stack(list(columns.values())), degrees)


def test_a_motion_has_the_coordinates_of_the_model(walked, tmp_path):
    walker, series = walked
    found = read(write_walk(tmp_path / "walk.mot", walker, series)).stream
    assert len(found.columns) == walker.model.njnt
    assert found.units["hip_flexion_l"] == "deg" and "pelvis_tx" not in found.units
    np.testing.assert_allclose(found.times, series.time)
    np.testing.assert_allclose(
        found.columns["hip_flexion_l"], np.rad2deg(series.angles[:, 1, 0]), atol=1e-6
    )
    np.testing.assert_allclose(
        found.columns["knee_angle_r"], -np.rad2deg(series.angles[:, 0, 1]), atol=1e-6
    )
    assert found.columns["pelvis_tx"][-1] > 0.5


def test_forces_are_named_as_in_opensim(walked, tmp_path):
    walker, series = walked
    found = read(write_walk(tmp_path / "walk.sto", walker, series)).stream.columns
    upright = found["ground_force_r_vy"] + found["ground_force_l_vy"]
    np.testing.assert_allclose(upright, series.ground_force[:, :, 2].sum(axis=1), rtol=1e-6)
    to_the_left = np.array([0.0, 30.0, 0.0])
    pushed = replace(series, ground_force=series.ground_force + to_the_left)
    other = read(write_walk(tmp_path / "other.sto", walker, pushed)).stream.columns
    np.testing.assert_allclose(other["ground_force_r_vz"], -30.0)
    muscle = series.muscles.index("soleus_r")
    np.testing.assert_allclose(
        found["soleus_r/activation"], series.activations[:, muscle], rtol=1e-6
    )
    np.testing.assert_allclose(
        found["ankle_l_moment"], series.moments[:, 1, 2], rtol=1e-6, atol=1e-6
    )
    assert not any("device" in name for name in found)


def test_a_table_has_all_with_units(walked, tmp_path):
    with write_walk(tmp_path / "walk.csv", *walked).open() as file:
        head, *rows = csv.reader(file)
    assert head[0] == "time [s]" and {"knee_angle_r [deg]", "hip_l_moment [N m]"} <= set(head)
    assert len(rows) == len(walked[1].time) and len(rows[0]) == len(head)


def test_the_command_writes_the_walk_of_a_vector(capsys, tmp_path):
    np.savetxt(tmp_path / "vector.txt", nominal_vector())
    words = ["gait", "export", str(tmp_path / "vector.txt"), "sim_time=0.5", "--json"]
    assert main([*words, "--output", str(tmp_path / "walk.mot")]) == 0
    assert json.loads(capsys.readouterr().out)["lasted_s"] == pytest.approx(0.5)
    assert read(tmp_path / "walk.mot").stream.clock_column == "time"
    assert main([*words, "--output", str(tmp_path / "walk.mot")]) == 2
    assert "--overwrite" in json.loads(capsys.readouterr().out)["message"]
    assert main([*words, "--output", str(tmp_path / "walk.mot"), "--overwrite"]) == 0
    capsys.readouterr()
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
    part = Motion(whole.columns, whole.values[37:])  # begins anywhere
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
    found = read_motion(Motion(columns, values).save(tmp_path / "mine.sto"))
    assert set(found.emg) == {"SOL", "RF"}
    np.testing.assert_allclose(found.emg["RF"].mean, 0.6)


GOOD = (
    "m\nversion=1\nnRows=2\nnColumns=2\ninDegrees=yes\nendheader\ntime\thip_flexion_r\n0\t1\n1\t2\n"
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("endheader", "end"), "no line 'endheader'"),
        (("nRows=2", "nRows=3"), "is cut short"),
        (("time", "t"), "No time column 'time'"),
        (("1\t2\n", "1\n"), "line 9: 1 values where 2 columns"),
        (("1\t2\n", "1\tnan\n"), "is not finite"),
        (("1\t2\n", "1\ttwo\n"), "'two' is not a number"),
        (("1\t2\n", "0\t2\n"), "time does not increase"),
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
    half = Motion(whole.columns, whole.values[:60]).save(tmp_path / "half.mot")
    words = r"not a gait cycle.*differ by .* degrees.*ground_force_r_vy"
    with pytest.raises(GaitError, match=words):
        read_motion(half)
