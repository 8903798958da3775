"""Vectors that are given to walk with: the same bounds and forms, whatever the file's ending."""

import json

import numpy as np
import pytest
from given_configurations import FIRST_WALK

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import (
    FourParameterProfile,
    WalkSettings,
    WalkSimulation,
    load_configuration,
    make_problem,
)
from trueup.gait.controller.exoskeleton import PointsProfile


def called(capsys, *words):
    code = main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def evaluated(capsys, path, *words):
    return called(capsys, "gait", "evaluate", path, "sim_time=0.1", *words)


@pytest.fixture(scope="module")
def parameters():
    """Those of a walk of planar22 with its device of four parameters."""
    return make_problem(load_configuration(FIRST_WALK).with_changes({"ExoOn": True})).parameters


def written(path, parameters, vector):
    """A vector in a file, as its ending says."""
    if path.suffix == ".npy":
        np.save(path, vector)
    elif path.suffix == ".json":
        path.write_text(json.dumps(dict(zip(parameters.names, vector.tolist(), strict=True))))
    else:
        np.savetxt(path, vector, delimiter=",")
    return path


@pytest.mark.parametrize("ending", ["txt", "csv", "npy", "json"])
def test_bounds_hold_for_all_files(capsys, tmp_path, parameters, ending):
    vector = parameters.start
    vector[parameters.index("C_d")] = -1.0
    vector[parameters.index("activation_SOL_r")] = 51.0
    vector[parameters.index("vel_pelvis_tx")] = 9.0
    vector[parameters.index("exo_fall")] = 1.5
    file = written(tmp_path / f"far.{ending}", parameters, vector)
    code, answer = evaluated(capsys, file, "ExoOn=1")
    assert code == 2
    told = (
        f"{file} contains values outside their bounds: 'C_d' is -1 (0 to 5), "
        "'vel_pelvis_tx' is 9 (-26 to 8), 'activation_SOL_r' is 51 (1 to 50), "
        "'exo_fall' is 1.5 (0 to 1). The times or torques of the exoskeleton are out of order"
    )
    assert answer["message"] == told


def test_bounds_of_myoassist_are_its_own(tutorial_walker, tutorial_vector):
    settings = WalkSettings(duration=1.0, delayed=False)
    own, theirs = (
        WalkSimulation(tutorial_walker, settings, profile=FourParameterProfile())
        .with_settings(compat=compat)
        .parameters
        for compat in (False, True)
    )
    for parameters in (own, theirs):
        assert parameters.check_given(tutorial_vector, "Best.txt").shape == (81,)
    negative = tutorial_vector.copy()
    negative[own.index("10_VAS_PG")] = -0.5
    theirs.check_given(negative, "negative.txt")
    with pytest.raises(GaitError, match=r"'10_VAS_PG' is -0.5 \(0 or more\)$"):
        own.check_given(negative, "negative.txt")
    # a bound that was written with fewer digits is none that was left
    close = tutorial_vector.copy()
    close[own.index("C_d")] = -1e-12
    own.check_given(close, "close.txt")


def test_many_entries_outside_of_their_bounds_are_counted(parameters):
    vector = parameters.start - 3.0
    with pytest.raises(GaitError, match=r"'theta_tgt' is -2.7 \(0 to 0.9\).* and \d\d more"):
        parameters.check_given(vector, "far.txt")


@pytest.mark.parametrize("ending", ["txt", "csv", "npy"])
def test_a_table_is_no_vector(capsys, tmp_path, parameters, ending):
    file = written(tmp_path / f"table.{ending}", parameters, np.ones((7, 11)))
    code, answer = evaluated(capsys, file)
    assert code == 2 and "a table of 7 x 11 numbers" in answer["message"]


def test_lines_of_several_lengths_are_no_vector(capsys, tmp_path):
    file = tmp_path / "lines.txt"
    file.write_text("1 1 1\n" * 25 + "1 1\n")
    code, answer = evaluated(capsys, file)
    assert code == 2 and "expected one number per line, found 2 to 3" in answer["message"]


@pytest.mark.parametrize("shape", [(81,), (81, 1), (1, 81)])
@pytest.mark.parametrize("ending", ["txt", "npy"])
def test_a_column_or_a_row_is_a_vector_and_its_length_tells_of_a_device(
    capsys, tmp_path, parameters, ending, shape
):
    file = written(tmp_path / f"walk.{ending}", parameters, parameters.start.reshape(shape))
    code, answer = evaluated(capsys, file)
    assert code == 0
    named = written(tmp_path / "walk.json", parameters, parameters.start)
    code, other = evaluated(capsys, named, "ExoOn=1", "max_torque=100")
    assert code == 0 and answer["scalar"] == other["scalar"]


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ((0.4, 0.9, 0.1), []),
        (
            (0.95, 0.9, 0.5),
            [
                "The torque curve of the exoskeleton was adjusted: the torque peaks at 90 % of "
                "stance: its rise of 95 % is truncated at touch-down, its fall of 50 % is "
                "truncated at lift-off."
            ],
        ),
        (
            (0.4, 0.9, 0.2),
            [
                "The torque curve of the exoskeleton was adjusted: the torque peaks at 90 % of "
                "stance: its fall of 20 % is truncated at lift-off."
            ],
        ),
    ],
)
def test_a_curve_that_reaches_out_of_stance_is_told(capsys, tmp_path, parameters, times, told):
    """A search comes to such curves, so they walk, and end with stance."""
    vector = parameters.start
    for name, value in zip(("rise", "peak_time", "fall"), times, strict=True):
        vector[parameters.index(f"exo_{name}")] = value
    file = written(tmp_path / "walk.txt", parameters, vector)
    code, answer = evaluated(capsys, file)
    assert code == 0 and answer["notes"] == told
    assert main(["gait", "evaluate", str(file), "sim_time=0.1"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert all(line in printed for line in told)


def test_points_that_meet_are_told():
    times = np.array([[0.5, 1.0, 0.0, 0.5], [0.0, 0.2, 0.2, 1.0], [0.5, 1.4, 0.3, 0.5]])
    knots = PointsProfile(4).knots(np.hstack([np.full((3, 4), 0.5), times]), 10.0)
    assert knots.clipped.keys() == {0, 2} and (np.diff(knots.percent) > 0.0).all()
    assert "points, 12.5, 50, 50, 87.5 % of stance, are not increasing" in knots.clipped[0]
    strict = PointsProfile(4, strict=True).knots(np.hstack([np.full((3, 4), 0.5), times]), 10.0)
    assert strict.invalid.keys() >= {0, 2} and strict.clipped == {}
