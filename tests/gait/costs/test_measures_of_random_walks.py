"""Measures and terms of walks whose columns are all different, beside plain formulas."""

import numpy as np
import pytest

from trueup.gait import Curve, MyoAssistCost, WalkObjective
from trueup.gait.costs.reference import GaitReference
from trueup.gait.models.anatomy import myoassist_anatomy
from trueup.gait.walk.frames import FRAME
from trueup.gait.walk.gait_cycle import strides_of
from trueup.gait.walk.records import WalkRecords

MUSCLES = ("soleus_r", "tibant_r", "edl_r", "soleus_l", "tibant_l", "edl_l")
GROUPS = {"SOL": "soleus", "TA": "tibant"}
MASS, PERIOD, THRESHOLD, TARGET = 71.0, 0.01, 0.13, 1.1
CLEARANCE, TOO_MUCH, STRIDES = 0.03, 0.9, 3
JOINTS = ("hip", "knee", "ankle")


def spells(rng, frames, stance, swing):
    """A load that comes and goes, with lifts and scuffs that are no strides."""
    load, at = np.zeros(frames), int(rng.integers(4, 15))
    while at < frames:
        down, up = int(rng.integers(*stance)), int(rng.integers(*swing))
        load[at : at + down] = rng.uniform(0.3, 1.3, len(load[at : at + down]))
        load[at + 9 : at + 12] = 0.05
        load[at + down + up // 2 : at + down + up // 2 + 3] = 0.4
        at += down + up
    return load


def random_walk(seed, frames=900, level=False):
    rng = np.random.default_rng(seed)
    columns = {name: rng.normal(size=frames) for name in (*FRAME, *MUSCLES)}
    columns["time"] = PERIOD * np.arange(1, frames + 1)
    columns["x"] = 1.2 * columns["time"] + 0.02 * columns["x"]
    columns["y"] = 0.1 * columns["time"] + 0.01 * columns["y"]
    columns["z"] = 0.9 + 0.07 * columns["time"] + 0.01 * columns["z"]
    columns["metabolic"] = np.cumsum(rng.uniform(0.5, 4.0, frames))
    columns["load_r"] = spells(rng, frames, (55, 75), (35, 50))
    columns["load_l"] = spells(rng, frames, (60, 80), (40, 55))
    for name in ("sole_r", "sole_l"):
        columns[name] = rng.uniform(0.0, 0.06, frames)
    for name in MUSCLES:
        columns[name] = rng.uniform(0.05, 0.9, frames)
    table = np.stack([columns[name] for name in (*FRAME, *MUSCLES)], axis=1)[None]
    records = WalkRecords(
        frames=np.ascontiguousarray(table),
        length=np.array([frames]),
        ended=np.array([0]),
        invalid={},
        period=PERIOD,
        muscles=MUSCLES,
        mass=MASS,
        level=level,
    )
    return records, columns


def random_reference(seed):
    rng = np.random.default_rng(seed)
    angles = {name: Curve(rng.normal(size=100)) for name in (*JOINTS, "trunk")}
    emg = {group: Curve(rng.uniform(size=100)) for group in GROUPS}
    return GaitReference("random", None, angles, emg)


def at_frames(values, places):
    return np.interp(places, np.arange(len(values)), values)


def deviation(values, strides, curve, power):
    """Mean deviation from a curve over strides, each sampled from its start to before its end."""
    parts = np.arange(len(curve)) / len(curve)
    gaps = [at_frames(values, s.start + parts * (s.end - s.start)) - curve for s in strides]
    return np.mean(np.abs(gaps) ** power)


def expected_measures(columns, reference, trunk, level):
    strides = [strides_of(columns[f"load_{s}"], k, PERIOD, THRESHOLD) for k, s in enumerate("rl")]
    counts = [len(one) for one in strides]
    right, left = (one[-STRIDES:] for one in strides)
    a, b = left[0].start, left[-1].end
    inside = slice(a, b)
    step = {name: columns[name][b] - columns[name][a] for name in ("x", "y", "z", "time")}
    speed = np.hypot(step["x"], step["z"]) / step["time"]
    metres = np.linalg.norm([step["x"], step["y"], 0.0 if level else step["z"]])
    squares = sum((columns[name][inside] ** 2).sum() for name in MUSCLES)
    energy = (columns["metabolic"][b] - columns["metabolic"][a]) / MASS
    load = columns["load_r"] + columns["load_l"]
    limits = [f"limit_{joint}_{side}" for joint in JOINTS for side in "rl"]
    pain = sum(np.abs(columns[name][inside]).sum() for name in limits)
    scuffs = []
    for side in "rl":
        unloaded = columns[f"load_{side}"] <= THRESHOLD
        frames = [i for i in range(a, b + 1) if unloaded[i]]
        runs = np.split(frames, np.flatnonzero(np.diff(frames) > 1) + 1)
        for run in runs:
            if len(run) and run[-1] < b:
                margin = len(run) // 5
                inner = run[margin : len(run) - margin]
                scuffs += list(np.maximum(CLEARANCE - columns[f"sole_{side}"][inner], 0.0))
    asymmetry = 0.0
    for joint in ("knee", "ankle"):
        gap = []
        for axis, mirrored in (("x", 1.0), ("y", -1.0), ("z", 1.0)):
            places = [
                np.mean(columns[f"{joint}_{axis}_{side}"][[s.start for s in own] + [own[-1].end]])
                for side, own in (("r", right), ("l", left))
            ]
            gap.append(places[0] - mirrored * places[1])
        asymmetry += np.linalg.norm(gap)
    changes = []
    for own in (right, left):
        touch = [stride.start for stride in own] + [own[-1].end]
        for point in (f"{joint}_{{}}_{side}" for joint in ("knee", "ankle") for side in "rl"):
            path = np.stack([columns[point.format(axis)][touch] for axis in "xyz"], axis=1)
            changes += list(np.linalg.norm(np.diff(path, axis=0), axis=1))
    straight = dict(zip(JOINTS, (np.pi, np.pi, 0.5 * np.pi), strict=True))
    kinematic = np.mean(
        [
            deviation(columns[f"{joint}_{side}"], own, straight[joint] - curve.mean, 1)
            for joint, curve in reference.angles.items()
            if joint in straight
            for side, own in (("r", right), ("l", left))
        ]
    )
    emg = np.mean(
        [
            deviation(columns[f"{GROUPS[group]}_{side}"], own, curve.mean, 2)
            for group, curve in reference.emg.items()
            for side, own in (("r", right), ("l", left))
        ]
    )
    curves = {joint: straight[joint] - reference.angles[joint].mean for joint in JOINTS}
    cycle = 120.0 / np.sqrt(60.0 * TARGET / 0.0065) / PERIOD

    def off_phase(phase, count):
        """Deviation from the reference over the first frames, the left leg half a cycle ahead."""
        places = phase + 100.0 * np.arange(count) / cycle
        return np.mean(
            [
                np.abs(
                    columns[f"{joint}_{side}"][:count]
                    - np.interp((places + ahead) % 100.0, np.arange(101), [*curve, curve[0]])
                )
                for joint, curve in curves.items()
                for side, ahead in (("r", 0.0), ("l", 50.0))
            ]
        )

    phase = min(range(100), key=lambda p: off_phase(p, 1))
    trunks = {
        "ref_diff": deviation(columns["torso_pitch"], left, reference.angles["trunk"].mean, 1),
        "zero_diff": np.abs(columns["torso_pitch"][inside]).mean(),
        "vel_square": np.mean((np.diff(columns["pitch"][a : b + 1]) / PERIOD) ** 2),
    }
    return {
        "strides": min(counts),
        "distance": columns["x"][-1] - columns["x"][0],
        "speed": speed,
        "velocity": abs(speed - TARGET),
        "timed": off_phase(phase, len(columns["time"])),
        "effort": squares * PERIOD / (MASS * metres),
        "metabolic": energy / metres,
        "metabolic_rate": energy / step["time"],
        "grf": np.maximum(load[inside] - TOO_MUCH, 0.0).mean(),
        "pain": pain / (MASS * (b - a)),
        "scuff": np.mean(scuffs),
        "symmetry": asymmetry,
        "variation": np.sqrt(np.mean(np.square(changes))),
        "kinematic": kinematic,
        "emg": emg,
        "trunk": trunks[trunk],
    }


@pytest.mark.parametrize(
    ("trunk", "level", "seed"),
    [
        ("ref_diff", False, 1),
        ("zero_diff", True, 2),
        ("vel_square", False, 3),
        ("ref_diff", True, 4),
    ],
)
def test_measures_are_those_of_plain_formulas(trunk, level, seed):
    records, columns = random_walk(seed, level=level)
    reference = random_reference(seed)
    objective = WalkObjective(
        weights={},
        speed=TARGET,
        strides=STRIDES,
        symmetry_threshold=0.0,
        grf_threshold=TOO_MUCH,
        clearance=CLEARANCE,
        trunk=trunk,
        reference=reference,
    )
    found = objective.costs(records, myoassist_anatomy(), 9.0, THRESHOLD).terms
    expected = expected_measures(columns, reference, trunk, level)
    assert expected["strides"] > STRIDES + 1
    for name, value in expected.items():
        assert found[name][0] == pytest.approx(value, rel=1e-9), name


def test_a_walk_backwards_has_a_negative_speed_and_no_walk_is_nearer_than_a_decimetre():
    records, columns = random_walk(5)
    back = records.column("x")
    back[0] = columns["x"][::-1]
    objective = WalkObjective(weights={}, speed=TARGET, strides=STRIDES)
    terms = objective.costs(records, myoassist_anatomy(), 9.0, THRESHOLD).terms
    assert terms["speed"][0] == pytest.approx(-1.2, abs=0.1)
    assert terms["velocity"][0] == pytest.approx(TARGET - terms["speed"][0])
    for axis in "xyz":
        records.column(axis)[0] = 0.0
    terms = objective.costs(records, myoassist_anatomy(), 9.0, THRESHOLD).terms
    left = strides_of(columns["load_l"], 1, PERIOD, THRESHOLD)[-STRIDES:]
    inside = slice(left[0].start, left[-1].end)
    squares = sum((columns[name][inside] ** 2).sum() for name in MUSCLES)
    assert terms["effort"][0] == pytest.approx(squares * PERIOD / (MASS * 0.1))


@pytest.mark.parametrize("side", ["r", "l"])
def test_without_a_stride_of_either_leg_the_whole_walk_counts(side):
    """What needs no cycle is measured up to the last frame; the rest is not known."""
    records, columns = random_walk(6, frames=120)
    records.column(f"load_{side}")[0] = 0.5
    objective = WalkObjective(
        weights={}, speed=TARGET, strides=STRIDES, trunk="zero_diff", grf_threshold=TOO_MUCH
    )
    terms = objective.costs(records, myoassist_anatomy(), 9.0, THRESHOLD).terms
    last = slice(0, 119)
    assert terms["strides"][0] == 0.0 and np.isnan(terms["symmetry"][0])
    metres = np.hypot(*(columns[axis][-1] - columns[axis][0] for axis in "xy"))
    squares = sum((columns[name][last] ** 2).sum() for name in MUSCLES)
    assert terms["effort"][0] == pytest.approx(squares * PERIOD / (MASS * metres))
    assert terms["trunk"][0] == pytest.approx(np.abs(columns["torso_pitch"][last]).mean())
    rise = columns["z"][-1] - columns["z"][0]
    speed = np.hypot(columns["x"][-1] - columns["x"][0], rise) / (119 * PERIOD)
    assert terms["speed"][0] == pytest.approx(speed)


def myoassist_steps(columns, gap):
    """Frames and sides of steps: a heel that is loaded anew, the side by the ankles."""
    loaded = np.stack([columns["heel_r"], columns["heel_l"]], axis=1) > 0.1
    before = np.vstack([[False, False], loaded[:-1]])
    found, last = [], -gap - 1
    for i in np.flatnonzero((loaded & ~before).any(axis=1)):
        if i - last > gap:
            last = i
            left = columns["ankle_l"][i] < columns["ankle_r"][i]
            found.append((int(i), "l" if left else "r"))
    return found


def expected_myoassist(columns, kinematics, gap=30):
    steps = myoassist_steps(columns, gap)
    lefts = [k for k, (_, side) in enumerate(steps) if side == "l"]
    first, last = lefts[-STRIDES - 1], lefts[-1]
    a, b = steps[first][0], steps[last][0]
    window = steps[first : last + 1]
    dx, dy = (columns[axis][b] - columns[axis][a] for axis in "xy")
    dt = columns["time"][b] - columns["time"][a]
    rights, total, pairs = [k for k, (_, s) in enumerate(window) if s == "r"], 0.0, 0
    used = -1
    for frame, side in window:
        later = [r for r in rights if r > used]
        if side != "l" or not later:
            continue
        used, pairs = later[0], pairs + 1
        for joint in ("knee", "ankle"):
            gap_of = [
                columns[f"{joint}_{axis}_r"][window[used][0]]
                - mirrored * columns[f"{joint}_{axis}_l"][frame]
                for axis, mirrored in (("x", 1.0), ("y", -1.0), ("z", 1.0))
            ]
            total += np.linalg.norm(gap_of)
    assert pairs >= STRIDES
    muscles = [name for name in MUSCLES if not name.startswith("edl")]
    squares = sum((columns[name][a : b + 1] ** 2).sum() for name in muscles)
    load = (columns["load_r"] + columns["load_l"])[a:b]
    order = ["torso_pitch", *(f"{joint}_{side}" for side in "lr" for joint in JOINTS)]
    sums, strides = np.zeros(7), 0
    for k in range(0, len(window) - 2, 2):
        start, n = window[k][0], window[k + 2][0] - window[k][0]
        at = start + np.minimum(np.linspace(0.0, n, 100), n - 1.0)
        sums += [
            np.abs(at_frames(columns[name], at) - kinematics[:, c]).sum()
            for c, name in enumerate(order)
        ]
        strides += 1
    return {
        "lefts": len(lefts),
        "rights": len(steps) - len(lefts),
        "stage": 2,
        "velocity": np.hypot(dx / dt - TARGET, dy / dt),
        "symmetry": total / STRIDES,
        "effort": squares / (MASS * np.hypot(dx, dy)),
        "kinematic": sums[1:].sum() / strides,
        "trunk": sums[0] / strides,
        "grf": load[load > TOO_MUCH].sum() / (b - a),
        "distance_x": dx,
        "distance_y": dy,
        "time": dt,
    }


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_terms_of_myoassist_are_those_of_plain_formulas(seed):
    records, columns = random_walk(seed)
    rng = np.random.default_rng(seed)
    for side, shift in (("r", 0), ("l", 47)):
        heel = ((np.arange(900) + shift) % 97 < 30) & (rng.uniform(size=900) < 0.9)
        records.column(f"heel_{side}")[0] = columns[f"heel_{side}"] = np.where(heel, 0.5, 0.02)
    ankles = np.sin(2.0 * np.pi * (np.arange(900) + 10) / 97.0)
    for side, sign in (("r", 1.0), ("l", -1.0)):
        ankle = 1.6 + 0.3 * sign * ankles + 0.01 * rng.normal(size=900)
        records.column(f"ankle_{side}")[0] = columns[f"ankle_{side}"] = ankle
    kinematics = rng.normal(size=(100, 7))
    cost = MyoAssistCost("Kine", TARGET, STRIDES, grf_threshold=TOO_MUCH, kinematics=kinematics)
    found = cost.terms(records, myoassist_anatomy())
    for name, value in expected_myoassist(columns, kinematics).items():
        assert found[name][0] == pytest.approx(value, rel=1e-9), name
