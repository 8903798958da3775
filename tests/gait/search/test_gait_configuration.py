"""Configurations: the shipped ones, files, MyoAssist's batch and shell files, mistakes."""

import contextlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import GaitError
from trueup.gait import load_configuration, make_problem
from trueup.gait.search.configuration import make_configuration
from trueup.gait.search.configuration_files import configuration_names
from trueup.gait.search.myoassist.reader import import_configuration

ARGUMENTS = (
    "--musc_model 22",
    "--model tutorial",
    "--sim_time 20",
    "--pose_key walk_left",
    "--num_strides 5",
    "--delayed 0",
    "--optim_mode single",
    "--reflex_mode uni",
    "--tgt_vel 1.25",
    "--tgt_slope 0",
    "--trunk_err_type ref_diff",
    "--tgt_sym_th 0.1",
    "--tgt_grf_th 1.5",
    "-kine",
    "--ExoOn 1",
    "--use_4param_spline",
    "--max_torque 100.0",
    "--popsize 8",
    "--maxiter 50",
    "--threads 8",
    "--sigma_gain 10",
    '--cma_options "tolfun:1e-9,tolx:1e-9"',
    "--save_path tutorial",
)
NAMES = ["baseline", "debug", "exo_4param", "exo_4param_kine", "exo_npoint", "exo_npoint_cont"]


def test_the_shipped_configurations():
    assert configuration_names() == [
        *NAMES,
        "tutorial",
        "walk",
        "walk3d",
    ]
    for name in configuration_names():
        configuration = load_configuration(name)
        assert configuration.says.endswith(".")
        assert not configuration.delayed or name.startswith("walk")
        assert make_configuration(configuration.to_dict(), "again") == configuration
    assert load_configuration("tutorial").max_torque == 100.0
    assert not load_configuration("baseline").exo


def test_as_many_strides_are_judged_as_people_take_in_the_time():
    """Strides that are missing cost: more of them would drive searches to quicker steps."""
    for name in configuration_names():
        configuration = load_configuration(name)
        if name.startswith("walk"):
            assert 1.15 * configuration.num_strides + 0.5 <= configuration.sim_time


def test_a_norm_has_to_be_named_to_be_tracked_at_another_speed():
    configuration = load_configuration("walk").with_changes({"tgt_vel": 1.75})
    with pytest.raises(GaitError, match=r"at 1\.75 m/s.* use another with reference=FILE"):
        make_problem(configuration, threads=1)


@pytest.mark.parametrize(("ending", "going_on"), [("bat", "^"), ("sh", "\\")])
def test_files_of_myoassist(tmp_path, ending, going_on):
    path = tmp_path / f"mine.{ending}"
    start = {"bat": "@echo off\r\npython -m optim.train", "sh": "#!/bin/sh\npython -m optim.train"}
    path.write_text(f" {going_on}\n    ".join([start[ending], *ARGUMENTS]), encoding="utf-8")
    found = load_configuration(path)
    assert found.cost == "kine" and found.exo and found.use_4param_spline
    assert (found.popsize, found.maxiter, found.max_torque) == (8, 50, 100.0)
    assert found.cma_options == "tolfun:1e-9,tolx:1e-9"


def test_the_recorded_batch_file(recorded_data):
    (path,) = (recorded_data / "myoassist/tutorial").glob("*.bat")
    found = import_configuration(path)
    assert found.cost == "eff" and found.exo and not found.delayed
    assert found.param_path == "../results/optim_results/tutorial_prep"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo hello", "not contain a command that starts a training"),
        ("python train.py --sim_tim 3", "unknown argument --sim_tim"),
        ("python train.py --sim_time", "has no value"),
        ("python train.py --sim_time x", "which is not a number"),
        ("python train.py --delayed 0 stray", "expected an argument"),
        ("python train.py --popsize 1", "popsize"),
        ('python train.py --model "x', "No closing quotation"),
    ],
)
def test_wrong_files_of_myoassist(tmp_path, text, message):
    path = tmp_path / "wrong.sh"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GaitError, match=message):
        import_configuration(path)


@given(st.text(alphabet="-_ ^\\\n\"'#train.py123xabc", max_size=80))
def test_any_file_is_imported_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "any.sh"
    path.write_text(f"train.py --delayed 0 {text}", encoding="utf-8")
    with contextlib.suppress(GaitError):
        import_configuration(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"sim_tim": 3}, r"unknown keys 'sim_tim'.*Did you mean 'sim_time'"),
        ({"sim_time": -1}, "sim_time"),
        ({"cost": "kin"}, "unknown cost 'kin'"),
        ({"musc_model": 23}, "musc_model"),
        ({"tgt_vel": "fast"}, "tgt_vel"),
        ([1], "not a mapping of keys"),
        (
            {"use_4param_spline": True, "n_points": 6},
            r"^mine\.yaml: use_4param_spline and n_points exclude .* 6 points",
        ),
        ({"tgt_vel": "fast"}, r"^mine\.yaml: tgt_vel\.0: Input should be a valid number[^;]*$"),
        ({"held": 3}, "held: Input should be a valid mapping$"),
        ({"moved": {"a": 1}}, "moved: Input should be a valid list$"),
    ],
)
def test_wrong_configurations(content, message):
    with pytest.raises(GaitError, match=message):
        make_configuration(content, "mine.yaml")


def test_one_name_may_stand_without_a_list():
    content = {"moved": "theta_tgt", "tgt_vel": 1.0, "reference": "gait.json"}
    found = make_configuration(content, "mine.yaml")
    assert (found.moved, found.tgt_vel) == (("theta_tgt",), (1.0,))
    assert make_configuration({"moved": "all"}, "mine.yaml").moved is None


def test_the_number_of_points_says_that_the_torque_has_points(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("ExoOn: true\nn_points: 6\ncost: eff\n", encoding="utf-8")
    points = load_configuration(path)
    assert not points.use_4param_spline
    assert make_problem(points, threads=1).parameters.size == 77 + 2 * 6
    four = points.with_changes({"use_4param_spline": True})
    assert make_problem(four, threads=1).parameters.size == 77 + 4
    assert make_configuration(four.to_dict(), "again") == four
    again = four.with_changes({"n_points": 3})
    assert make_problem(again, threads=1).parameters.size == 77 + 2 * 3
    with pytest.raises(GaitError, match="remove one of them"):
        again.with_changes({"use_4param_spline": True, "n_points": 3})


def test_a_run_is_read_with_all_that_it_holds(tmp_path):
    """Some have a number of points beside the four parameters, which they walked with."""
    content = {**load_configuration("tutorial").to_dict(), "n_points": 6}
    path = tmp_path / "experiment.yaml"
    path.write_text(yaml.safe_dump({"kind": "gait", "configuration": content}), encoding="utf-8")
    found = load_configuration(path)
    assert found.use_4param_spline and found.n_points == 6
    assert found.with_changes({"seed": 1}).to_dict() == {**content, "seed": 1}


@pytest.mark.parametrize("ending", ["", " --n_points 4", " --n_points 6"])
def test_files_of_myoassist_with_both_curves_have_four_parameters(tmp_path, ending):
    path = tmp_path / "mine.sh"
    path.write_text(f"python train.py --ExoOn 1 --use_4param_spline{ending}", encoding="utf-8")
    found = load_configuration(path)
    assert found.use_4param_spline and found.n_points == 4
    path.write_text(f"python train.py --ExoOn 1{ending}", encoding="utf-8")
    assert not load_configuration(path).use_4param_spline


def test_configurations_that_do_not_exist(tmp_path):
    with pytest.raises(GaitError) as caught:
        load_configuration("nothing")
    assert all(repr(name) in str(caught.value) for name in configuration_names())
    with pytest.raises(
        GaitError, match=r"unknown configuration 'tutorail'.*Did you mean 'tutorial'"
    ):
        load_configuration("tutorail")
    with pytest.raises(GaitError, match="cannot read"):
        load_configuration(tmp_path / "absent.yaml")
    (tmp_path / "bad.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(GaitError, match="not a YAML"):
        load_configuration(tmp_path / "bad.yaml")


def test_paths_count_from_the_folder_of_a_file(tmp_path):
    (tmp_path / "mine.yaml").write_text("model_file: walker.xml\ncost: eff\n", encoding="utf-8")
    assert load_configuration(tmp_path / "mine.yaml").model_file == str(tmp_path / "walker.xml")


@pytest.mark.parametrize("place", ["sub/prep", "prep"])
def test_paths_of_myoassist_count_from_the_file_or_the_folder_above(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path.parent)
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / "sub").mkdir(exist_ok=True)
    path = tmp_path / "sub/mine.bat"
    path.write_text("python train.py --param_path prep --model_path ours/walker.xml")
    found = load_configuration(path)
    assert found.param_path == str(tmp_path / place)
    assert found.model_file == str(tmp_path / "sub/ours/walker.xml")
    (tmp_path / place).rmdir()
    assert load_configuration(path).param_path == str(tmp_path / "sub/prep")


def test_conditions():
    plain = load_configuration("tutorial")
    assert plain.conditions == [(1.25, 0.0)]
    several = plain.with_changes({"tgt_vel": [1.0, 1.5], "optim_mode": "multispeed"})
    assert several.conditions == [(1.0, 0.0), (1.5, 0.0)]
    with pytest.raises(GaitError, match="tgt_vel require optim_mode=multispeed"):
        _ = plain.with_changes({"tgt_vel": [1.0, 1.5]}).conditions
    with pytest.raises(GaitError, match=r"unknown device 'humotec'.*Did you mean 'humotech'"):
        make_problem(plain.with_changes({"model": "humotec"}))
