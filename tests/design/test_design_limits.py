"""Limits, distances, noise and words of designs, each by what is known of it beforehand."""

import json
from dataclasses import replace
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
import yaml

from trueup.actuators import ServoModel, find_servo, friction_model
from trueup.actuators.bench.simulator import Rollouts
from trueup.actuators.catalogue.greatest_torque import greatest_torque
from trueup.actuators.logs.servo_log import ServoLog
from trueup.design.bench.choices import BenchChoices
from trueup.design.bench.conditions import conditions_at_hand, usual_condition
from trueup.design.bench.family import BenchCondition
from trueup.design.bench.limits import BenchLimits, torque_share
from trueup.design.criterion import NORMAL, Criterion
from trueup.design.motion.files import write_csv, write_ros2
from trueup.design.motion.limits import ACCELERATION, REACH, SPEED, ResolvedLimits, resolve_limits
from trueup.design.recording_noise import TYPICAL, ChannelNoiseModel, recorded, typical
from trueup.design.robot.clearance import Clearance
from trueup.design.robot.prediction import Prediction
from trueup.design.stick_figures import body_places, stick_figures
from trueup.design.table import Widths, rows_of, verdict_of
from trueup.design.unknown_reasons import no_effect_of, unknown_reasons
from trueup.errors import ExperimentError, FitError
from trueup.fitting.uncertainty.autoregressive import AutoregressiveModel
from trueup.parameters import Parameter, ParameterDict
from trueup.sysid.experiment.settings import DesignLimits

# --- limits of a robot ---------------------------------------------------------------------------

LIMITS = ResolvedLimits(
    ("a", "b"), np.array([-1.0, 0.0]), np.array([1.0, 4.0]), np.array([2.0, 3.0]),
    np.array([20.0, 30.0]), np.array([5.0, 6.0]), np.array([2.5, 3.0]), 0.02, 0.1,
)  # fmt: skip


def excess(position=0.0, speed=0.0, force=0.0, margin=0.0, joint=0):
    """Excess of a motion of ten samples of which one joint moves, the other in its middle."""
    moved = np.tile([0.0, 2.0], (1, 10, 1))
    rest = np.zeros((1, 10, 2))
    speeds, forces = rest.copy(), rest.copy()
    moved[0, 4, joint] += position
    speeds[0, 5, joint], forces[0, :, joint] = speed, force
    found = LIMITS.excess(moved, speeds, forces, margin)
    return {name: value.item() for name, value in found.items() if value.item()}


def test_what_a_motion_exceeds_is_a_share_of_the_limit():
    assert excess() == {}
    assert excess(1.0, 2.0, 2.5) == {}  # at the limits
    for sign in (1.0, -1.0):
        assert excess(position=1.2 * sign) == pytest.approx({"position": 0.1})
        assert excess(position=2.8 * sign, joint=1) == pytest.approx({"position": 0.2})
        assert excess(speed=3.0 * sign) == pytest.approx({"speed": 0.5})
        # 4 N m all along are within the torque, and too much of heat
        assert excess(force=4.0 * sign) == pytest.approx({"heat": 0.6})
        assert excess(force=9.0 * sign, joint=1) == pytest.approx({"torque": 0.5, "heat": 2.0})


def test_a_margin_is_taken_off_every_limit():
    """A tenth of speed and torque, a twentieth of the span at either end."""
    assert excess(position=0.9 - 1e-9, speed=1.8 - 1e-9, force=2.25 - 1e-9, margin=0.1) == {}
    assert excess(position=1.0, margin=0.1) == pytest.approx({"position": 0.05})
    assert excess(speed=1.98, margin=0.1) == pytest.approx({"speed": 0.1})
    commands = LIMITS.commands()
    np.testing.assert_allclose(commands.lower, [-0.9, 0.2])
    np.testing.assert_allclose(commands.upper, [0.9, 3.8])
    np.testing.assert_allclose(commands.speed, [1.8, 2.7])
    np.testing.assert_allclose(commands.acceleration, [18.0, 27.0])


def test_motions_are_judged_side_by_side_as_alone():
    rng = np.random.default_rng(0)
    motions = [2.0 * rng.normal(size=(4, 30, 2)) for _ in range(3)]
    together = LIMITS.excess(*motions, 0.1)
    for row in range(4):
        alone = LIMITS.excess(*(each[row : row + 1] for each in motions), 0.1)
        for name, values in alone.items():
            assert together[name][row] == values[0]
    assert LIMITS.by_joint()[1] == {
        "joint": "b", "lower": 0.0, "upper": 4.0, "speed": 3.0, "acceleration": 30.0,
        "torque": 6.0, "torque_rms": 3.0,
    }  # fmt: skip


ROBOT = mujoco.MjModel.from_xml_string("""<mujoco><worldbody>
<body name="one"><joint name="a" range="-60 90" limited="true"/><geom size=".05" mass="1"/>
<body name="two" pos="0 0 -.5"><joint name="b"/><geom size=".05" mass="1"/>
<body name="three" pos="0 0 -.5"><joint name="c" actuatorfrcrange="-3 3"/>
<geom size=".05" mass="1"/></body></body></body></worldbody>
<actuator><position joint="a" forcerange="-7 8"/><position joint="b"/>
<position joint="c" forcerange="-4 4"/></actuator></mujoco>""")


def resolved(joints=("a", "b", "c"), pose=(0.0, 0.3, 0.0), **given):
    numbers = ["abc".index(joint) for joint in joints]
    return resolve_limits(DesignLimits(**given), ROBOT, joints, numbers, np.array(pose))


def test_limits_are_those_of_the_model_where_nothing_else_is_said():
    found = resolved()
    np.testing.assert_allclose(found.lower, [-np.pi / 3, 0.3 - REACH, -REACH])
    np.testing.assert_allclose(found.upper, [np.pi / 2, 0.3 + REACH, REACH])
    # the weaker side of a motor counts, and the weaker of motor and joint
    np.testing.assert_allclose(found.torque, [7.0, np.inf, 3.0])
    assert np.all(found.speed == SPEED) and np.all(found.acceleration == ACCELERATION)
    assert np.all(found.torque_rms == np.inf)


def test_the_narrower_of_two_limits_holds():
    found = resolved(position={"a": (-0.5, 9.0), "c": (-3.0, 0.4)}, torque=5.0, speed={"b": 0.7})
    np.testing.assert_allclose(found.lower, [-0.5, 0.3 - REACH, -3.0])
    np.testing.assert_allclose(found.upper, [np.pi / 2, 0.3 + REACH, 0.4])
    np.testing.assert_allclose(found.torque, [5.0, 5.0, 3.0])
    np.testing.assert_allclose(found.speed, [SPEED, 0.7, SPEED])


def test_joints_in_another_order_have_their_own_limits():
    one, other = resolved(), resolved(("c", "a", "b"), (0.0, 0.0, 0.3))
    for name in ("lower", "upper", "torque", "speed"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name)[[2, 0, 1]])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"speed": {"d": 1.0}}, "'d'"),
        ({"position": {"a": (0.5, 1.0)}}, "pose of a"),
        ({"position": (-4e-4, 4e-4)}, "design.limits.position allows no joint to move"),
    ],
)
def test_limits_that_exclude_any_motion_are_refused(given, words):
    pose = (0.0, 0.0, 0.0)
    with pytest.raises(ExperimentError, match=words):
        resolved(pose=pose, **given)


# --- distances -----------------------------------------------------------------------------------

BALLS = """<mujoco><worldbody>{ground}
<body name="left" pos="-1 0 1"><joint name="x" type="slide" axis="1 0 0"/><geom size=".1"/></body>
<body name="right" pos="1 0 1"><joint name="z" type="slide" axis="0 0 1"/><geom size=".2"/>
<body name="child" pos="0 .5 0"><joint/><geom size=".4"/></body></body></worldbody>{more}
</mujoco>"""


def watched(qpos=(0.0, 0.0, 0.0), least=0.05, ground="", more=""):
    model = mujoco.MjModel.from_xml_string(BALLS.format(ground=ground, more=more))
    return Clearance.of(model, np.array(qpos), least)


def test_the_distance_of_two_balls_is_that_of_their_centres_less_both_radii():
    found = watched()
    moves = np.linspace(-0.5, 1.68, 8)
    qpos = np.column_stack([moves, 0.0 * moves, 0.0 * moves])
    gap = 2.0 - moves
    expected = np.column_stack([gap - 0.3, np.hypot(gap, 0.5) - 0.5])
    found_distances = found.distances(qpos, 5.0)
    np.testing.assert_allclose(found_distances, expected, atol=1e-9)
    assert found.lack(qpos[:1]) == 0.0
    assert found.lack(qpos) == pytest.approx(0.05 - expected.min(), abs=1e-6)
    # what is farther than it matters is not measured
    np.testing.assert_allclose(found.distances(qpos[:1], 0.2), 0.2)


def test_a_body_and_its_parent_may_touch_and_so_may_what_the_model_excludes():
    assert len(watched().pairs) == 2
    pair = '<contact><exclude body1="right" body2="left"/></contact>'
    assert len(watched(more=pair).pairs) == 1
    # the ground is watched, though the world is a parent
    floor = '<geom type="plane" size="1 1 1"/>'
    ground = watched(ground=floor)
    assert len(ground.pairs) == 5
    low = np.array([[0.0, -0.85, 0.0]])
    assert ground.lack(low) == pytest.approx(0.05 + 0.25, abs=1e-6)


def test_what_touches_in_the_pose_is_named_and_not_watched():
    found = watched(qpos=(1.8, 0.0, 0.0))
    assert set(found.touching) == {"left and right", "left and child"}
    assert len(found.pairs) == 0 and found.lack(np.array([[1.9, 0.0, 0.0]])) == 0.0


def test_sticks_join_bodies_to_their_parents():
    model = mujoco.MjModel.from_xml_string(BALLS.format(ground="", more=""))
    qpos = np.zeros((91, 3))
    qpos[:, 1] = np.linspace(0.0, 0.9, 91)
    places = body_places(model, qpos)
    assert places.shape == (10, 1, 2, 3)
    np.testing.assert_allclose(places[:, 0, 0, 2], 1.0 + np.linspace(0.0, 0.9, 10))
    np.testing.assert_allclose(places[:, 0, 1] - places[:, 0, 0], np.tile([0, 0.5, 0], (10, 1)))
    drawn = stick_figures(places, 4.5).source
    assert drawn.count("<svg") == 10 and "4.5 s" in drawn and "y to the right" in drawn


def test_a_model_without_bodies_that_carry_others_has_no_sticks():
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    places = body_places(model, np.zeros((5, 1)))
    assert places.shape == (10, 0, 2, 3)
    assert stick_figures(places, 1.0).source.count("<line") == 0


# --- limits of a bench ---------------------------------------------------------------------------

SERVO = ServoModel.create(find_servo("xl330"), friction_model("m1"))
OFF = np.zeros(100, bool)


def bench_log(count=100, **changes):
    zeros = np.zeros(count)
    known = {
        "name": "log", "source": "", "sha256": "", "motor": SERVO.servo.name, "trajectory": "log",
        "mass": 0.2, "arm_mass": 0.1, "length": 0.1, "kp": 19.0, "vin": 7.3, "damping": None,
        "dt": 0.005, "times": 0.005 * np.arange(count), "position": zeros, "speed": zeros,
        "goal_position": zeros, "torque_enable": np.ones(count, bool), "load": None,
        "input_volts": None, "temperature": None,
    }  # fmt: skip
    return ServoLog(**(known | changes))


def over(log, position=0.0, speed=0.0, duty=0.0, most=15.0, **limits):
    """What a motion exceeds, of one sample in the middle; all samples for the duty."""
    moved, fast, driven = np.zeros((3, 1, len(log)))
    moved[0, 50], fast[0, 50], driven[:] = position, speed, duty
    motion = Rollouts([moved], [fast], [driven], {})
    found = BenchLimits(speed=most, **limits).excess([SERVO], [log], motion, 0.0)
    return {name: value.item() for name, value in found.items() if value.item()}


def test_what_a_log_exceeds_is_a_share_of_the_limit():
    log = bench_log()
    assert over(log) == {}
    for sign in (1.0, -1.0):
        assert over(log, position=0.6 * sign, reach=0.5) == pytest.approx({"position": 0.2})
        assert over(replace(log, torque_enable=OFF), speed=3.0 * sign, most=2.0) == (
            pytest.approx({"speed": 0.5})
        )
    assert set(over(log, position=np.nan)) == {"a simulation that diverges"}


def test_the_goal_may_not_be_far_when_the_torque_returns():
    enable = np.ones(100, bool)
    enable[30:50] = False
    log = bench_log(torque_enable=enable, goal_position=np.full(100, 0.4))
    assert over(log, jump=0.2) == pytest.approx({"jump": 1.0})
    # where the servo is then counts, not where it was before
    assert over(log, position=0.4, jump=0.2) == {}
    assert over(bench_log(goal_position=np.full(100, 0.4)), jump=0.2) == {}


def test_heat_is_the_torque_over_the_greatest_at_standstill():
    """All of the duty that the firmware allows, at rest: the greatest torque."""
    log = bench_log()
    zeros = np.zeros((1, 100))
    for share in (1.0, 0.5, -0.25):
        motion = Rollouts([zeros], [zeros], [zeros + share * SERVO.servo.max_pwm], {})
        assert torque_share(SERVO, log, motion, 0) == pytest.approx(abs(share))
    assert over(log, duty=0.5 * SERVO.servo.max_pwm, heat=0.4) == pytest.approx({"heat": 0.25})
    assert over(replace(log, torque_enable=OFF), duty=0.7) == {}


def test_limits_and_choices_come_back_and_refuse_what_is_none():
    limits = BenchLimits(reach=0.5, speed=1.0, jump=0.1, heat=0.3, margin=0.2)
    assert BenchLimits.from_dict(json.loads(json.dumps(limits.to_dict()))) == limits
    commands = limits.commands()
    assert (commands.lower, commands.upper, commands.speed) == (-0.4, 0.4, 0.8)
    choices = BenchChoices(2, 10.0, (0.1, 0.2), (0.1,), (32.0,), 100.0)
    assert BenchChoices.from_dict(json.loads(json.dumps(choices.to_dict()))) == choices
    for wrong in ({"reach": 0.0}, {"heat": -1.0}, {"jump": np.inf}, {"reach": 99.0}):
        with pytest.raises(FitError):
            BenchLimits(**wrong)
    for wrong in ({"logs": 0}, {"seconds": 1.0}, {"masses": (0.1, -0.1)}, {"gains": (np.inf,)}):
        with pytest.raises(FitError):
            BenchChoices(**wrong)


def test_loads_at_hand_are_those_that_the_servo_holds():
    """Up to 60 % of its greatest torque, with half of the arm's mass."""
    logs = [bench_log(), bench_log(), bench_log(mass=0.4)]
    source = SimpleNamespace(model=SERVO, prepared=SimpleNamespace(training_logs=logs))
    most = 0.6 * greatest_torque(SERVO, 7.3)
    edge = most / (9.80665 * 0.1) - 0.05
    found = conditions_at_hand(
        source, BenchChoices(masses=(0.5 * edge, 0.99 * edge, 1.01 * edge), gains=(5.0, 9.0))
    )
    expected = [BenchCondition(share * edge, 0.1, kp) for share in (0.5, 0.99) for kp in (5.0, 9.0)]
    assert found == expected
    with pytest.raises(FitError, match="lighter masses"):
        conditions_at_hand(source, BenchChoices(masses=(1.01 * edge,)))
    assert usual_condition(logs) == BenchCondition(0.2, 0.1, 19.0)


# --- noise ---------------------------------------------------------------------------------------


def test_noise_is_drawn_with_its_deviation_and_its_memory():
    model = ChannelNoiseModel(3.0, AutoregressiveModel(np.array([1.0, -0.8]), 1 - 0.8**2, 99), "")
    noise = model.draw(40_000, np.random.default_rng(0))
    assert noise.std() == pytest.approx(3.0, rel=0.05)
    for lag in (1, 3):
        assert np.corrcoef(noise[lag:], noise[:-lag])[0, 1] == pytest.approx(0.8**lag, abs=0.03)
    assert noise[:200].std() > 1.5  # it has settled from the first sample on


def test_noise_of_a_run_is_that_of_its_longest_residual():
    rng = np.random.default_rng(1)

    def signals(count, deviation, held_out=False):
        measured = deviation * rng.normal(size=(count, 1))
        return SimpleNamespace(held_out=held_out, channels=("q",), measured=measured,
                               fitted=np.zeros((count, 1)))  # fmt: skip

    found = recorded([signals(150, 9.0), signals(900, 0.2), signals(5000, 7.0, True)], "run")
    assert found["q"].deviation == pytest.approx(0.2, rel=0.1) and "run" in found["q"].source
    assert recorded([signals(99, 1.0)], "run") == {} == recorded([signals(200, 0.0)], "run")
    assert typical("rad", None).deviation == TYPICAL["rad"] and typical("K", None).deviation == 1e-2
    given = typical("rad", 0.5)
    assert given.deviation == 0.5 and given.model.order == 0
    assert np.std(given.draw(5000, rng)) == pytest.approx(0.5, rel=0.05)


# --- what is promised ----------------------------------------------------------------------------


def test_a_prediction_with_what_is_known_is_the_inverse_of_the_sum():
    rng = np.random.default_rng(2)
    own, known = (m @ m.T for m in rng.normal(size=(2, 3, 5)))
    found = Prediction(np.ones(3), own, "").together(known, NORMAL)
    expected = NORMAL * np.sqrt(np.diag(np.linalg.inv(own + known)))
    np.testing.assert_allclose(found, expected)


UNKNOWN = ParameterDict({
    "mass": Parameter("mass", 2.0, 1.0, 4.0, scale="log", target="body/arm/mass", unit="kg"),
    "friction": Parameter("friction", 0.1, 0.0, 0.4, target="joint/elbow/frictionloss"),
    "gain": Parameter("gain", 3.0, 0.0, 9.0, target="actuator/m/kp"),
})  # fmt: skip
SPACE = UNKNOWN.space()
SCALE = np.array([0.5 * np.log(4.0), 0.2, 4.5])


def promised(alone, known, chirp=None, reasons=None):
    chirp = None if chirp is None else Widths(np.array(chirp), np.array(chirp))
    widths = Widths(np.array(alone), np.array(known))
    intervals = np.tile(widths.alone, (2, 1)) * [[1.0], [1.5]]
    return rows_of(SPACE, SPACE.start, SCALE, widths, intervals, chirp, reasons or {})


def test_ends_of_intervals_are_in_the_scale_of_the_search():
    mass, friction, gain = promised([0.5, 0.2, 3.0], [0.5, 0.1, np.inf])
    assert (mass["low"], mass["high"]) == pytest.approx((2 / 4**0.25, 2 * 4**0.25))
    assert (friction["low"], friction["high"]) == pytest.approx((0.1 - 0.02, 0.1 + 0.02))
    assert (friction["relative"], friction["with_known"]) == (0.2, 0.1)
    # what is not determined at all is allowed all that was
    assert (gain["relative"], gain["with_known"], gain["half_width"]) == (1.0, 1.0, np.inf)
    assert mass["over_draws"] == pytest.approx([1.0, 1.5]) and mass["unit"] == "kg"


def test_widths_of_a_recording_are_means_over_the_draws():
    gram = np.stack([np.diag([4.0, 9.0, 1.0]) * k for k in (1, 3)])
    criterion = Criterion(np.ones(3), np.eye(3))
    found = Widths.of(criterion, gram, gram)
    each = [criterion.intervals(g, g) for g in gram]
    np.testing.assert_allclose(found.with_known, np.mean(each, axis=0))
    assert np.all(found.alone > found.with_known)


@pytest.mark.parametrize(
    ("own", "chirp", "target", "grade"),
    [
        ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4], None, "use"),
        ([0.1, 0.2, 0.3], [0.2, 0.3, 0.3], None, "look"),
        ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4], 0.29, "look"),
        ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4], 0.31, "use"),
        # what a chirp does not tell at all does not count between the two
        ([0.1, 0.2, 0.45], [0.2, 0.3, 0.9], None, "use"),
    ],
)
def test_a_design_is_worth_its_time_where_it_tells_more_than_a_chirp(own, chirp, target, grade):
    assert verdict_of(promised(own, own, chirp), target, False).grade.value == grade


def test_what_stays_unknown_is_named():
    rows = promised([0.1, 0.2, 1.0], [0.1, 0.2, 1.0], reasons={"gain": "why"})
    verdict = verdict_of(rows, 0.5, False)
    assert verdict.grade.value == "look" and "gain" in verdict.reasons[0].sentence
    none = promised([1.0] * 3, [1.0] * 3, reasons=dict.fromkeys(SPACE.names, "why"))
    assert verdict_of(none, None, False).grade.value == "do not use"


def reasons_of(gram, intervals, scale=None):
    scale = np.ones(3) if scale is None else scale
    return unknown_reasons("abc", lambda i: f"none {i}", gram, np.array(intervals), scale, 0.5)


def test_why_an_unknown_stays_unknown():
    traded = np.array([[9e4, 9e4, 0.0], [9e4, 9e4 + 1e-3, 0.0], [0.0, 0.0, 0.0]])
    found = reasons_of(traded, [0.9, 0.9, 1.0])
    assert found["c"] == "none 2" and "combination with 'b'" in found["a"]
    assert "combination with 'a'" in found["b"]
    small = reasons_of(np.diag([4e4, (NORMAL / 0.8) ** 2, 9.0]), [0.01, 0.8, 0.4])
    assert list(small) == ["b"] and "80 %" in small["b"]
    # of three that act alike, the two that are weakest apart
    basis = np.array([[1, 1, 1], [1, -1, 0], [1, 1, -2]]) / np.sqrt([[3.0], [2.0], [6.0]])
    mixed = basis.T @ np.diag([1e6, 1e-2, 1e4]) @ basis
    assert "combination with 'b' is" in reasons_of(mixed, [0.9, 0.1, 0.1])["a"]
    # in other units the same is said
    units = np.array([1e3, 1e-2, 1.0])
    again = reasons_of(traded * np.outer(units, units), [0.9, 0.9, 1.0], 1 / units)
    assert again == found


def test_why_an_unknown_has_no_effect():
    assert "carries arm" in no_effect_of(UNKNOWN, ("elbow",), 0)
    assert "moves elbow" in no_effect_of(UNKNOWN, ("knee",), 1)
    assert "in motion only" in no_effect_of(UNKNOWN, ("knee",), 1)
    for joints, number in ((("elbow",), 1), (("elbow",), 2)):
        assert "no tested motion changes any recorded signal" in no_effect_of(
            UNKNOWN, joints, number
        )


# --- files ---------------------------------------------------------------------------------------


def test_files_of_a_motion_hold_it(tmp_path):
    times = np.arange(301) / 150.0
    commands = np.stack([np.sin(times), 0.5 * times**2], axis=1)
    file = write_csv(tmp_path / "m.csv", 150.0, ("u", "v"), commands)
    table = np.genfromtxt(file, delimiter=",", names=True)
    np.testing.assert_allclose(np.stack([table[n] for n in "tuv"], 1), np.c_[times, commands])
    points = yaml.safe_load(
        write_ros2(tmp_path / "m.yaml", 150.0, ("a", "b"), commands).read_text()
    )
    assert points["joint_names"] == ["a", "b"] and len(points["points"]) == 301
    for k, point in enumerate(points["points"]):
        clock = point["time_from_start"]
        assert clock["sec"] + 1e-9 * clock["nanosec"] == pytest.approx(times[k], abs=1e-9)
        np.testing.assert_allclose(point["positions"], commands[k], rtol=1e-8)
        if 1 < k < 299:
            speed, acceleration = [np.cos(times[k]), times[k]], [-np.sin(times[k]), 1.0]
            np.testing.assert_allclose(point["velocities"], speed, atol=1e-4)
            np.testing.assert_allclose(point["accelerations"], acceleration, atol=1e-4)
    assert points["points"][0]["velocities"] == points["points"][-1]["accelerations"] == [0.0, 0.0]
