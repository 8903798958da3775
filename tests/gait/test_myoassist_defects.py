"""Defects of MyoAssist's optimiser that are none of ours.

==  ============================================================================================
 1  here: no sum of |p - 1| in the cost
 2  here: configurations are data, the same on every system
 3  test_gait_option_effects.py::test_a_vector_is_a_start_from_a_file_or_a_folder
 4  here: bounds and frontal entries of a walker in space; test_space_walkers.py::test_searches_run
 5  test_space_walkers.py::test_upright_has_no_lean_to_the_side
 6  here: every kind of cost has a value
 7  here: 80 muscles have a vector; test_space_walkers.py::test_searches_run
 8  here: every model is found or refused with the list of them
 9  test_gait_option_effects.py::test_a_run_goes_on_by_its_former_name
10  test_gait_option_effects.py::test_the_mode_evaluate_evaluates
11  test_gait_option_effects.py::test_every_name_with_underscores_and_dashes
12  here: bounds go by name
13  here: pain, scuff and the kind of trunk error count
14  test_walks.py::test_two_simulations_in_turn_do_not_disturb_each_other
15  test_myoassist_parity.py::test_commands_from_recorded_signals
16  test_gait_commands.py::test_a_resumed_search_is_an_uninterrupted_one
17  test_planar22.py::test_a_mirrored_pose_has_mirrored_muscles
18  test_walk_costs.py::test_no_hidden_regulariser_and_no_velocity_cliff
19  here: entries without effect are not searched
20  test_walk_costs.py::test_both_legs_are_compared_from_their_own_touch_down
21  test_gait_commands.py::test_a_resumed_search_is_an_uninterrupted_one
22  test_walks.py::test_the_ground_rises_as_asked
23  here: one reader of old configurations, which keeps the muscles
24  test_exoskeleton.py::test_torque_is_zero_in_swing
==  ============================================================================================
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_walks import costs, walk

from trueup.errors import GaitError
from trueup.gait import (
    FourParameterProfile,
    WalkObjective,
    load_configuration,
    make_problem,
    walk_parameters,
)
from trueup.gait.controller.reflexes import default_controller
from trueup.gait.costs.stages import PRESETS
from trueup.gait.models.anatomy import load_anatomy, myoassist_anatomy
from trueup.gait.search.configuration_files import configuration_names
from trueup.gait.search.myoassist.reader import import_configuration
from trueup.gait.walk.frames import FRAME

HERE = Path(__file__).parent


def test_the_table_names_tests_that_exist():
    rows = re.findall(r"^ ?(\d+)  (.*)$", __doc__ or "", re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 25))
    for file, name in re.findall(r"(test_\w+\.py)::(\w+)", __doc__ or ""):
        assert f"def {name}(" in next(HERE.rglob(file)).read_text(encoding="utf-8"), name


def test_1_the_cost_knows_walks_alone():
    """The distance of all entries from 1 was added, up to nine tenths of what was minimised."""
    records = walk()
    objective = WalkObjective(PRESETS["-eff"])
    found = objective.costs(records, myoassist_anatomy(), 10.0)
    assert found.total[0] == pytest.approx(100.0 * found.terms["effort"][0], rel=1e-12)


def test_2_configurations_start_on_every_system():
    """Five of seven were batch files for one system, the others needed an unset variable."""
    for name in configuration_names():
        assert load_configuration(name).to_dict()["sim_time"] > 0.0


def test_4_walkers_in_space_have_their_entries():
    """Bounds of walkers in space failed, and costs read values that nobody made."""
    controller = default_controller()
    vector = walk_parameters(controller, myoassist_anatomy(), "walk_left", frontal=True)
    assert vector.size == 97 and {"hip_adduction_r", "hip_rotation_l"} <= set(vector.names)
    assert (vector.space.lower <= vector.space.start).all()


def test_6_every_kind_of_cost_has_a_value():
    """The combined cost failed with an unbound name."""
    for weights in PRESETS.values():
        assert np.isfinite(costs(walk(), weights=weights)[0])


def test_7_eighty_muscles_have_a_vector():
    """The controller of the 80 muscles was a module that did not exist."""
    anatomy = load_anatomy(
        Path(load_anatomy.__code__.co_filename).with_name("anatomy_myolegs.yaml")
    )
    assert len(anatomy.muscles["VAS"]) == 3
    vector = walk_parameters(default_controller(), anatomy, "walk_left", frontal=True)
    assert vector.size == 97


@pytest.mark.parametrize("model", ["osl", "custom"])
def test_8_models_are_found_or_refused(model):
    """The default model and one on the list were rejected later, without a hint."""
    assert make_problem(
        load_configuration("baseline").with_changes({"model": "default", "cost": "eff"})
    )
    with pytest.raises(GaitError, match=rf"{model!r}"):
        make_problem(load_configuration("baseline").with_changes({"model": model, "cost": "eff"}))


def test_12_bounds_go_by_name():
    """Bounds stood in a list for older vectors: two gains could be negative."""
    vector = walk_parameters(default_controller(), myoassist_anatomy(), "walk_left")
    for entry in vector.entries:
        if entry.group == "gain" and re.search(r"_(PG|FG|VG|SG)$", entry.name):
            assert entry.lower == 0.0, entry.name


@pytest.mark.parametrize(
    ("term", "column", "value"),
    [("pain", "limit_knee_r", 40.0), ("scuff", "sole_r", 0.0), ("trunk", "torso_pitch", 0.3)],
)
def test_13_every_term_counts(term, column, value):
    """Pain was always zero, and neither scuffing nor the kind of trunk error was used."""
    better, worse = walk(), walk()
    worse.frames[0, :, FRAME.index(column)] = value
    weights = {term: 10.0}
    assert costs(worse, weights=weights)[0] > costs(better, weights=weights)[0]
    if term == "trunk":
        rates = np.sin(20.0 * worse.frames[0, :, FRAME.index("time")])
        worse.frames[0, :, FRAME.index("pitch")] = rates
        found = {
            kind: costs(worse, weights=weights, trunk=kind)[1]["trunk"]
            for kind in ("ref_diff", "zero_diff", "vel_square")
        }
        assert len({round(value, 6) for value in found.values()}) == 3


def test_19_entries_without_effect_are_not_searched():
    """An unused gain and a fixed exoskeleton's entries were searched."""
    profile = FourParameterProfile(fixed=True)
    controller, anatomy = default_controller(), myoassist_anatomy()
    vector = walk_parameters(controller, anatomy, "walk_left", profile=profile)
    still = {entry.name for entry in vector.entries if not entry.free}
    assert "7_BFSH_PG" in still and len(still) == 5


def test_20_reaction_counts_by_its_excess():
    """The whole force counted where it was above its threshold, and not what was above it."""
    slightly = walk(over=0.11)  # 1.51 of 1.5 body weights in double support
    found = costs(replace(slightly), grf_threshold=1.7)[1]["grf"]
    assert 0.0 < found < 0.03


@pytest.mark.parametrize("muscles", [22, 26, 80])
def test_23_an_imported_configuration_keeps_its_muscles(tmp_path, muscles):
    """One of three readers looked for an argument that did not exist, and took the plane."""
    path = tmp_path / "old.bat"
    path.write_text(f"python train.py --musc_model {muscles} -eff --sim_time 5", encoding="utf-8")
    assert import_configuration(path).musc_model == muscles
