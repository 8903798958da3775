"""Reports, strips of stick figures, dose-responses and films of walks."""

import copy
import gc
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from given_configurations import FIRST_WALK
from made_up_walks import costs, cut, walk

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import (
    Curve,
    FourParameterProfile,
    GaitProblem,
    Scenario,
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
    dose_response,
    load_configuration,
    look_at,
    make_problem,
    observe_walks,
    planar22_anatomy,
    read_norm,
    walk_report,
    write_walk_video,
)
from trueup.gait.controller.exoskeleton import PointsProfile
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.costs.reference import GaitReference
from trueup.gait.report.annotations import Annotations
from trueup.gait.report.effort_section import effort_content, effort_of_muscles
from trueup.gait.report.of_walk import cost_rows, progress_section
from trueup.gait.report.stick_figures import cycle_strip, time_strip
from trueup.gait.report.walk_sections import ShownWalk, stride_rows, walk_sections
from trueup.gait.search.problem import evaluate
from trueup.reports import Page

EXO = {"duration": 0.5, "delayed": False, "threads": 1, "max_torque": 40.0}


@pytest.fixture(scope="module")
def short():
    """A walk too short for a stride, as a problem."""
    simulation = WalkSimulation(
        Walker.load("planar22_exo"), WalkSettings(**EXO), profile=FourParameterProfile()
    )
    objective = WalkObjective(weights={"effort": 100.0, "pain": 10.0})
    return GaitProblem([Scenario(simulation, objective)])


@pytest.fixture(scope="module")
def even(short):
    """A made-up walk of even strides: 1.2 m in 1 s, 60 % of it stance, the legs half apart."""
    simulation = short.scenarios[0].simulation
    _, (real,) = observe_walks(simulation, short.parameters.start)
    frames, period, speed = 601, 0.01, 1.2
    time = period * np.arange(1, frames + 1)
    phase = (np.arange(frames)[:, None] - np.array([20, 70])) % 100
    load = np.where(phase < 60, 0.7, 0.0)
    swing = np.sin(2.0 * np.pi * phase / 100.0)
    joints = np.repeat(swing[:, :, None], 3, axis=2)
    places = np.zeros((frames, 2, 6, 3))
    places[:, :, 0, 2], places[:, :, 1, 2] = 0.9, 0.5
    places[:, :, 3:, 0] += (-0.05, 0.1, 0.15)
    # the ankle stands in stance, and catches up in swing
    steps = np.floor((np.arange(frames)[:, None] - np.array([20, 70])) / 100.0)
    ankle = speed * (steps + np.clip((phase - 60) / 40.0, 0.0, 1.0)) + np.array([0.0, 0.6])
    places[:, :, 2:, 0] += ankle[:, :, None]
    places[:, :, :2, 0] += speed * period * np.arange(frames)[:, None, None]
    return replace(
        real,
        time=time,
        states=np.zeros((frames, real.states.shape[1])),
        angles=0.3 * joints,
        trunk=0.1 * swing[:, 0],
        moments=50.0 * joints,
        device_moments=np.zeros_like(joints),
        powers=30.0 * joints,
        ground_force=np.stack([0.1 * load, 0.0 * load, load], axis=2) * real.weight,
        load=load,
        activations=np.tile(0.5 + 0.4 * swing[:, :1], (1, len(real.muscles))),
        device_torque=np.where(phase < 60, 10.0, 0.0),
        device_power=np.where(phase < 60, 5.0, 0.0),
        places=places,
        head=places[:, :, 0].mean(axis=1) + np.array([0.0, 0.0, 0.6]),
        ended=0,
    )


def text_of(sections):
    return Page("Walk").add(*sections).html()


def norm_of(value, sd=None):
    curve = Curve(np.full(50, value), None if sd is None else np.full(50, sd))
    angles = dict.fromkeys(("hip", "knee", "ankle", "trunk"), curve)
    return GaitNorm(GaitReference("flat", 1.2, angles, {"SOL": Curve(np.full(50, 0.5))}))


def test_stride_table_of_an_even_gait(even):
    rows = stride_rows(even)
    assert [row[0] for row in rows] == ["right", "left"] * 5
    for _, _, duration, length, speed, stance, step in rows:
        assert duration == pytest.approx(1.0) and length == pytest.approx(1.2)
        assert speed == pytest.approx(1.2) and stance == pytest.approx(60.0)
        assert step == pytest.approx(0.6)


def test_all_parts_of_a_walk_with_strides(even):
    sections = walk_sections(ShownWalk(even, planar22_anatomy(), 3, norm_of(0.1, 0.05)))
    titles = [section.title for section in sections]
    assert titles == [
        "Stick figures", "Kinematics", "Joint moments", "Ground reaction", "Muscles", "Exoskeleton",
        "Strides",
    ]  # fmt: skip
    html = text_of(sections)
    assert "flat, mean ± SD" in html and "3 of the right leg, 3 of the left" in html
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", html)
    for muscle in ("glutmax · GLU", "soleus · SOL", "edl · EDL"):
        assert muscle in html
    # 10 N m and 5 W over 0.6 s of each stride
    (device,) = (section for section in sections if section.title == "Exoskeleton")
    rows = device.content[1].rows
    assert [row[0] for row in rows] == ["right", "left"]
    np.testing.assert_allclose([row[1:] for row in rows], [[10.0, 3.0, 0.0]] * 2)


def test_distance_from_a_norm(even):
    """Angles are 0.3 sin: the mean square distance from 0 is 0.3 / sqrt(2), all within 0.3."""
    shown = ShownWalk(even, planar22_anatomy(), 3, norm_of(0.0, 0.3))
    (kinematics,) = (s for s in walk_sections(shown) if s.title == "Kinematics")
    rows = {(row[0], row[1]): row[2:] for row in kinematics.content[1].rows}
    rms, span, flat, deviations, one, two = rows["knee", "left"]
    assert deviations == pytest.approx(1.0 / np.sqrt(2.0), rel=1e-3)
    assert rms == pytest.approx(np.rad2deg(0.3 / np.sqrt(2.0)), rel=1e-3)
    assert span == pytest.approx(np.rad2deg(0.6), rel=1e-3) and flat == 0.0
    assert one == two == 100.0
    narrow = ShownWalk(even, planar22_anatomy(), 3, norm_of(0.0, 0.15))
    (kinematics,) = (s for s in walk_sections(narrow) if s.title == "Kinematics")
    # a sine is within half of its height for a third of its period
    assert kinematics.content[1].rows[0][-2] == pytest.approx(100.0, abs=70.0)
    assert kinematics.content[1].rows[2][-2] == pytest.approx(100.0 / 3.0, abs=3.0)


def test_curves_span_the_gait_cycle(even):
    shown = ShownWalk(even, planar22_anatomy(), 3, norm_of(0.1, 0.05))
    (kinematics,) = (s for s in walk_sections(shown) if s.title == "Kinematics")
    curves = [each for plot in kinematics.content[0].plots for each in plot.data]
    assert {(min(each["x"]), max(each["x"])) for each in curves} == {(0.0, 100.0)}


def test_a_walk_without_a_stride_is_shown_over_time(short):
    look = look_at(short, short.parameters.start)
    page = walk_report(look, "Short")
    titles = [section.title for section in page.sections]
    assert titles == ["Verdict", "Stick figures", "Over time", "Cost"]
    html = page.html()
    assert "There is no complete stride" in html and "The whole walk" in html


def test_a_walk_that_falls_is_said_to(short):
    simulation = short.scenarios[0].simulation.with_settings(lowest=0.93)
    problem = GaitProblem([Scenario(simulation, short.scenarios[0].objective)])
    X = problem.parameters.start
    slow = X.copy()
    slow[problem.parameters.index("vel_pelvis_tx")] -= 2.0
    html = walk_report(look_at(problem, X, slow), "Fall", start_name="slow walk").html()
    assert re.search(r"The walker fell after 0\.\d+ of 0\.5 s", html)
    assert "Compared with the slow walk" in html
    bad = X.copy()
    bad[problem.parameters.index("knee_angle_r")] = 60.0
    with pytest.raises(GaitError, match="cannot start: knee_angle_r of the pose"):
        look_at(problem, bad)
    assert "Compared with the" in walk_report(look_at(problem, X, bad), "Bad start").html()


def test_parts_of_the_cost_add_up(short):
    scenario = short.scenarios[0]
    cost, terms = evaluate(scenario, short.parameters.start[None])
    bare = {name: float(values[0]) for name, values in terms.items()}
    rows = cost_rows(scenario.objective, float(cost[0]), bare)
    assert sum(row[3] for row in rows if row[3] is not None) == pytest.approx(float(cost[0]))
    whole = {**dict.fromkeys(bare, 0.0), "survived": 1.0, "effort": 0.04, "pain": 0.5}
    rows = {row[0]: row[1:] for row in cost_rows(scenario.objective, 9.0, whole)}
    assert rows["effort"] == pytest.approx((0.04, 100.0, 4.0), rel=1e-14)
    assert rows["pain"] == pytest.approx((0.5, 10.0, 5.0), rel=1e-14)
    assert rows["velocity"][1:] == (None, None)
    assert rows["falls, missing strides and missing distance"][2] == pytest.approx(0.0)


def test_the_efforts_of_the_muscles_are_parts_of_the_effort(even):
    """Of activations of 0.2 and 0.4 the squares are one to four, and over strides alone."""
    anatomy, activations = planar22_anatomy(), np.zeros_like(even.activations)
    soleus = [even.muscles.index(f"soleus_{side}") for side in "rl"]
    activations[:, soleus] = 0.2, 0.4
    activations[:, even.muscles.index("tibant_l")] = 0.1
    # before the first stride of the left leg ends and after its last one, which is not judged
    activations[:50, even.muscles.index("vasti_r")] = 1.0
    activations[580:, even.muscles.index("vasti_r")] = 1.0
    walk = replace(even, activations=activations)
    parts = effort_of_muscles(walk, 0.021, 3)
    assert parts.sum() == pytest.approx(0.021)
    assert parts[soleus] == pytest.approx([0.004, 0.016])
    _, group = effort_content(walk, 0.021, 3, anatomy)
    rows = group.content.rows
    assert [row[0] for row in rows[:2]] == ["soleus", "tibant"] and len(rows) == 11
    assert rows[0][1:] == pytest.approx([0.020, 100.0 * 20 / 21])
    assert rows[1][1:] == pytest.approx([0.001, 100.0 / 21])
    # beside a walk of 0.042 of which the soleus has none
    other = replace(even, activations=np.where(np.arange(len(parts)) == soleus[0], 0.0, 0.3))
    other = replace(other, activations=np.tile(other.activations, (len(even.time), 1)))
    _, group = effort_content(walk, 0.021, 3, anatomy, (other, 0.042), "start")
    of_soleus = 0.042 / 21
    assert group.content.rows[0][3:] == pytest.approx(
        [of_soleus, 100.0 * (0.020 - of_soleus) / 0.042]
    )


def test_a_start_that_ends_at_once_has_no_efforts_of_muscles(even):
    at_once = replace(even, activations=even.activations[:1], load=even.load[:1])
    walk = (even, 0.02, 3, planar22_anatomy())
    _, group = effort_content(*walk, (at_once, 0.01), "start")
    own, there = (sum(row[k] for row in group.content.rows) for k in (1, 3))
    assert own == pytest.approx(0.02) and there == 0.0


def test_a_report_tells_where_the_effort_goes(short):
    X = short.parameters.start
    html = walk_report(look_at(short, X, X), "Walk").html()
    assert "Effort by muscle" in html and "effort at the start of the search" in html


def test_the_rest_of_the_cost_is_that_of_falling():
    """Also with terms at their worst, of a fall, and with a tolerance of the speed."""
    options = {"weights": {"velocity": 100.0, "pain": 5.0}, "speed_tolerance": 0.1}
    for records in (walk(speed=1.3), walk(speed=2.2), cut(walk(speed=1.3), 4.0)):
        total, terms = costs(records, **options)
        objective = WalkObjective(**options)
        rows = {row[0]: row[1:] for row in cost_rows(objective, total, terms)}
        lasted = np.array([10.0 * terms["survived"]])
        (stage,), _ = objective.stage_costs(lasted, np.array([terms["distance"]]), 10.0)
        rest = stage + 50.0 * terms["missing"]
        assert rows["falls, missing strides and missing distance"][2] == pytest.approx(
            rest, abs=1e-9
        )
        assert (rest > 1.0) == (terms["survived"] < 1.0)
    total, terms = costs(walk(speed=1.3), **options)
    rows = {row[0]: row[1:] for row in cost_rows(WalkObjective(**options), total, terms)}
    value, weight, part = rows["velocity"]
    assert (value, weight) == (pytest.approx(0.05), 100.0)
    assert part == pytest.approx(100.0 * 0.05**2 / 0.2)


def polylines(html, colour):
    root = ET.fromstring(re.search(r"<svg.*</svg>", html.source, re.S).group())
    found = []
    for element in root:
        if element.get("stroke") == f"var(--{colour})" and element.get("points"):
            found.append([tuple(map(float, p.split(","))) for p in element.get("points").split()])
    return found


def test_strip_of_stick_figures(even):
    strip = cycle_strip(even, even.strides(0)[-1], figures=7)
    legs = [points for points in polylines(strip, "series-1") if len(points) == 3]
    assert len(legs) == 7 and len(polylines(strip, "series-2")) == 14
    for hip, knee, _ in legs:  # a hundred units a metre, heights as they are
        assert knee[1] - hip[1] == pytest.approx(40.0, abs=0.2)
    hips = [points[0][0] for points in legs]
    assert np.ptp(np.diff(hips)) < 0.3 and hips[0] > 0.0
    assert strip.source.count("<text") == 7 and ">50 %<" in strip.source


def test_the_ground_of_a_strip_has_its_slope(even):
    for slope in (0.0, 7.0, -4.0):
        (ground,) = polylines(time_strip(replace(even, slope=slope), 1.0, 2.0), "muted")
        (x0, y0), (x1, y1) = ground
        # upwards is negative in a drawing
        assert np.rad2deg(np.arctan2(y0 - y1, x1 - x0)) == pytest.approx(slope, abs=0.05)


@pytest.mark.parametrize("profile", [FourParameterProfile(), PointsProfile(4)])
def test_doses_are_walks_with_that_torque(profile):
    walker = Walker.load("planar22_exo")
    objective = WalkObjective(weights={"effort": 100.0})
    simulation = WalkSimulation(walker, WalkSettings(**EXO), profile=profile)
    X = simulation.parameters.start
    doses = dose_response(Scenario(simulation, objective), X, [60.0, 0.0, 20.0])
    np.testing.assert_array_equal(doses.max_torque, [0.0, 20.0, 60.0])
    for k, torque in enumerate(doses.max_torque):
        alone = Scenario(simulation.with_settings(max_torque=float(torque)), objective)
        cost, terms = evaluate(alone, X[None])
        assert doses.cost[k] == pytest.approx(cost[0], rel=1e-9)
        assert doses.terms["walked"][k] == pytest.approx(terms["walked"][0], rel=1e-9)
    assert len(set(doses.terms["walked"])) == 3


def test_doses_that_cannot_be(short):
    scenario = short.scenarios[0]
    with pytest.raises(GaitError, match="none negative"):
        dose_response(scenario, short.parameters.start, [10.0, -1.0])
    with pytest.raises(GaitError, match="at least one"):
        dose_response(scenario, short.parameters.start, [])
    bare = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=0.1, delayed=False))
    with pytest.raises(GaitError, match="requires a walk with an exoskeleton"):
        dose_response(Scenario(bare, scenario.objective), bare.parameters.start, [10.0])


def test_norms_of_schwartz(recorded_data):
    norm = read_norm(recorded_data / "gait_norms/Schwartz2008.json")
    assert norm.name == "Schwartz2008 Free"
    knee, ankle = norm.reference.angles["knee"], norm.moments["ankle"]
    assert 55.0 < np.rad2deg(knee.mean.max()) < 65.0 and len(knee.mean) == len(ankle.mean) == 50
    # the calf pushes off with more than 1 N m/kg before the foot leaves the ground
    assert 1.0 < ankle.mean.max() < 1.6 and 40 < 2 * int(ankle.mean.argmax()) < 60
    assert read_norm(recorded_data / "gait_norms/Schwartz2008.json", "Slow").name.endswith("Slow")
    with pytest.raises(GaitError, match="no speed 'Quick'; it has"):
        read_norm(recorded_data / "gait_norms/Schwartz2008.json", "Quick")


def test_norms_of_our_own_and_none(tmp_path):
    path = tmp_path / "mine.json"
    norm_of(0.2, 0.1).reference.save(path)
    read = read_norm(path)
    np.testing.assert_allclose(read.reference.angles["hip"].sd, 0.1)
    assert read.moments == {}
    with pytest.raises(GaitError, match="cannot read"):
        read_norm(tmp_path / "absent.json")
    path.write_text("[1, 2]")
    with pytest.raises(GaitError, match="not a reference gait"):
        read_norm(path)
    path.write_text('{"angles": {}}')
    with pytest.raises(GaitError, match="not a reference gait"):
        read_norm(path)
    path.write_text("{")
    with pytest.raises(GaitError, match="not a JSON"):
        read_norm(path)


def test_a_norm_can_be_tracked(recorded_data):
    norm = recorded_data / "gait_norms/Schwartz2008.json"
    problem = make_problem(
        load_configuration(FIRST_WALK).with_changes({"reference": str(norm), "sim_time": 1})
    )
    reference = problem.scenarios[0].objective.reference
    assert reference is not None
    hip = read_norm(norm).reference.angles["hip"].mean
    np.testing.assert_array_equal(reference.angles["hip"].mean, hip)


def opengl():
    """Why nothing can be drawn here, or an empty text."""
    code = (
        "import mujoco, numpy as np\n"
        "from trueup.simulation.models.rendering import render_states\n"
        "model = mujoco.MjModel.from_xml_string('<mujoco/>')\n"
        "list(render_states(model, np.zeros((1, 1)), np.zeros((1, 3)), distance=1.0))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no OpenGL"])[-1]


# imageio leaves pipes of the reader to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_film(tmp_path, short):
    imageio = pytest.importorskip("imageio.v2")
    pytest.importorskip("imageio_ffmpeg")
    if reason := opengl():
        pytest.skip(reason)
    simulation = short.scenarios[0].simulation
    _, (series,) = observe_walks(simulation, short.parameters.start)
    path = tmp_path / "new" / "walk.mp4"
    size = {"width": 161, "height": 96}
    write_walk_video(path, simulation.walker, series, framerate=10, pace=0.5, **size)
    with imageio.get_reader(path) as reader:
        frames = [np.asarray(frame) for frame in reader]
    del reader
    gc.collect()
    # half a second in slow motion
    assert len(frames) in (9, 10, 11) and frames[0].shape == (96, 160, 3)
    assert frames[0].std() > 5.0 and np.abs(frames[0].astype(int) - frames[-1]).max() > 20
    assert [entry.name for entry in path.parent.iterdir()] == ["walk.mp4"]


def test_a_film_colours_legs_and_muscles_and_draws_the_ground_reaction(short):
    simulation = short.scenarios[0].simulation
    _, (series,) = observe_walks(simulation, short.parameters.start)
    model = copy.copy(simulation.walker.model)
    loaded = np.flatnonzero(series.ground_force[:, :, 2].max(axis=1) > 100.0)[:1]
    marks = Annotations(simulation.walker, model, series, loaded, np.array([[2.0, 0.0, 1.0]]))
    right, left = (model.geom_rgba[model.geom(f"heel_{side}").id] for side in "rl")
    assert right[2] > right[0] and left[0] > left[2]
    lights = model.light_pos.copy()
    marks.prepare(0, model)
    np.testing.assert_allclose(model.light_pos - lights, [[2.0, 0.0, 0.0]] * model.nlight)
    activation = series.activations[loaded[0]]
    redness = [
        model.tendon_rgba[model.actuator(series.muscles[k]).trnid[0], 0]
        for k in (int(np.argmax(activation)), int(np.argmin(activation)))
    ]
    assert redness[0] > redness[1]
    scene = mujoco.MjvScene(model, maxgeom=10)
    marks.decorate(0, scene)
    assert scene.ngeom >= 1 and scene.geoms[0].type == mujoco.mjtGeom.mjGEOM_ARROW
    assert scene.geoms[0].mat[2, 2] > 0.5  # up


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("walk.avi", {}, "expected the suffix .mp4"),
        ("walk.mp4", {"pace": 0.0}, "above 0"),
        ("walk.mp4", {"width": 2}, "16 pixels"),
    ],
)
def test_films_that_cannot_be(tmp_path, short, name, change, message):
    simulation = short.scenarios[0].simulation
    _, (series,) = observe_walks(simulation, short.parameters.start)
    with pytest.raises(GaitError, match=message):
        write_walk_video(tmp_path / name, simulation.walker, series, **change)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("library", ["glfw", "nonsense"])
def test_without_opengl_there_is_one_message_and_no_file(tmp_path, short, library):
    np.savetxt(tmp_path / "walk.txt", short.parameters.start)
    words = ["gait", "video", str(tmp_path / "walk.txt"), "--output", str(tmp_path / "walk.mp4")]
    words += ["model_file=planar22_exo", "sim_time=0.05", "--json"]
    environment = {**os.environ, "MUJOCO_GL": library, "DISPLAY": ""}
    environment.pop("WAYLAND_DISPLAY", None)
    code = f"import sys; from trueup.cli import main; sys.exit(main({words!r}))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "MuJoCo" in json.loads(done.stdout)["message"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["walk.txt"]


def called(capsys, *words):
    code = main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_evaluate_writes_a_report(capsys, tmp_path, short):
    vector = tmp_path / "walk.txt"
    np.savetxt(vector, 1.01 * short.parameters.start)
    norm_of(0.2, 0.1).reference.save(tmp_path / "norm.json")
    words = ["gait", "evaluate", vector, "model_file=planar22_exo", "sim_time=0.3"]
    code, alone = called(capsys, *words)
    assert code == 0 and "report" not in alone
    more = ["--report", tmp_path / "walk.html", "--norm", tmp_path / "norm.json", "--dose", 0, 30]
    code, answer = called(capsys, *words, *more)
    assert code == 0 and answer.pop("report") == str(tmp_path / "walk.html")
    # the verdict names the norm that the walk is too short for; nothing else depends on the page
    verdict, plain = answer.pop("verdict"), alone.pop("verdict")
    assert answer == alone
    assert plain["criteria"] == verdict["criteria"]
    for judged, norm in ((plain, "adult walking"), (verdict, "flat")):
        assert any(norm in reason["sentence"] for reason in judged["reasons"])
    html = (tmp_path / "walk.html").read_text()
    assert "Dose-response" in html and "Compared with the nominal vector" in html
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", html)
    code, answer = called(capsys, *words, "--dose", 10)
    assert code == 2 and "--report" in answer["message"]
    code, answer = called(capsys, *words, *more[:2], "--dose", 10, "ExoOn=0")
    assert code == 2


def test_optimize_reports_its_best_walk(capsys, tmp_path):
    words = ["gait", "optimize", "exo_4param", "-eff", "--sim-time", 0.3, "--popsize", 4]
    words += ["--maxiter", 2, "--max-torque", 30, "--save-path", tmp_path / "run", "--quiet"]
    code, _ = called(capsys, *words)
    assert code == 0
    html = (tmp_path / "run" / "report.html").read_text()
    titles = re.findall(r"<h2>(.*?)</h2>", html)
    for title in ("Stick figures", "Cost", "Dose-response", "Progress of the search", "Parameters"):
        assert title in titles
    assert "has changed since" not in html
    assert main(["report", str(tmp_path / "run"), "--output", str(tmp_path / "again.html")]) == 0
    again = re.findall(r"<h2>(.*?)</h2>", (tmp_path / "again.html").read_text())
    assert again == titles


def test_progress_needs_terms():
    history = SimpleNamespace(
        generation=np.array([0, 0, 1, 1]), costs=np.array([[9.0], [8.0], [np.nan], [5.0]])
    )
    record = SimpleNamespace(history=history, valid=lambda: np.isfinite(history.costs[:, 0]))
    assert progress_section(record, {}) is None
    terms = {0: {"walked": np.array([1.0, 2.0])}, 1: {"walked": np.array([9.0, 3.0])}}
    section = progress_section(record, terms)
    assert "from 2.00 to 3.00 m, its cost from 8 to 5" in section.summary


def test_the_best_of_a_generation_without_terms_is_in_the_progress():
    """The log of terms of a long search is thinned, and contains other generations."""
    history = SimpleNamespace(
        generation=np.array([0, 0, 1, 1, 4, 4]),
        costs=np.array([[9.0], [8.0], [2.0], [7.0], [5.0], [6.0]]),
    )
    record = SimpleNamespace(history=history, valid=lambda: np.isfinite(history.costs[:, 0]))
    terms = {number: {"walked": np.array([1.0, 2.0])} for number in (0, 3, 4)}
    (grid,) = progress_section(record, terms).content
    best = next(line for line in grid.plots[0].data if line["name"] == "best so far")
    assert (best["x"], best["y"]) == ([0, 4], [8.0, 2.0])
