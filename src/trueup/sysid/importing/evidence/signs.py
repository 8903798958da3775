"""Signs of recorded joints, by the weight of the links and by the symmetry of left and right.

A planar leg and its mirror image have the same dynamics: torques tell the signs of such a chain
relative to each other only. What they cannot tell is asked where the other side of the robot stands
in the opposite pose.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import mujoco
import numpy as np

from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.simulation.models.element_names import joint_label
from trueup.sysid.importing.columns.names import words_of
from trueup.sysid.importing.evidence.reading import (
    ASK,
    ASSUMED,
    CONFIRMED,
    FOUND,
    JointSeries,
    Reading,
    is_inside,
    values_of,
)
from trueup.sysid.importing.evidence.torque_agreement import CLEARLY, TELLS, WEIGHT, TorqueAgreement

NONE = "none"
"""Word for no joint among names of joints."""
_SIDES = (("left", "right"), ("l", "r"), ("fl", "fr"), ("rl", "rr"), ("hl", "hr"), ("lf", "rf"))
_STANDS = 0.3  # smallest mean pose that has a direction [rad]


def with_signs_by_weight(
    model: mujoco.MjModel,
    readings: list[Reading],
    series: JointSeries,
    motion: TorqueAgreement,
) -> list[Reading]:
    """Signs by the weight of the links; an open point if several mirrorings fit equally."""
    given = motion.error(readings)
    alone = [[k] for k in range(len(readings))]
    ratios = [_mirrored_ratio(model, readings, series, motion, part) / given for part in alone]
    best = min(ratios)
    fitting = [k for k, r in enumerate(ratios) if r < CLEARLY and r < best / CLEARLY]
    names = [model.joint(readings[k].joint).name for k in fitting]
    out = list(readings)
    for k, (reading, ratio) in enumerate(zip(readings, ratios, strict=True)):
        if k in fitting and len(fitting) == 1:
            why = f"mirrored: torques fit {1 / ratio:.2g} times better, {WEIGHT}"
            out[k] = _mirrored(reading).saying("sign", FOUND, why)
        elif k in fitting:
            why = f"one of {listing(names)} is mirrored, with equal torque errors"
            out[k] = reading.saying("sign", ASK, why)
        elif ratio > TELLS and not fitting and reading.sure_of("sign") == ASSUMED:
            out[k] = reading.saying("sign", CONFIRMED, WEIGHT)
    if fitting:
        return out
    return _with_chains(model, out, series, motion, given)


def _with_chains(
    model: mujoco.MjModel,
    readings: list[Reading],
    series: JointSeries,
    motion: TorqueAgreement,
    given: float,
) -> list[Reading]:
    """Signs of whole chains, which may be mirrored together."""
    out = list(readings)
    chains: dict[int, list[int]] = {}
    for k, r in enumerate(readings):
        chains.setdefault(root_of(model, r.joint), []).append(k)
    for chain in chains.values():
        if len(chain) < 2:
            continue
        ratio = _mirrored_ratio(model, readings, series, motion, chain) / given
        names = listing(model.joint(readings[k].joint).name for k in chain)
        for k in chain if ratio < CLEARLY else ():
            why = f"{names} are mirrored together: torques fit {1 / ratio:.2g} times better"
            out[k] = _mirrored(out[k]).saying("sign", FOUND, f"{why}, {WEIGHT}")
        for k in chain if CLEARLY <= ratio < TELLS else ():
            if out[k].sure_of("sign") == CONFIRMED:
                why = f"{WEIGHT} among {names}; all of them mirrored fit as well"
                out[k] = out[k].saying("sign", ASSUMED, why)
    return out


def with_given_signs(
    model: mujoco.MjModel, readings: list[Reading], given: Collection[str]
) -> list[Reading]:
    """Signs as the user gives them.

    Args:
      model: the robot.
      readings: interpretation of the columns of each joint.
      given: joints that the log counts the other way; ``none`` alone for no joint.

    Raises:
      ExperimentError: a name is not that of a joint in the log.
    """
    names = [joint_label(model, r.joint) for r in readings]
    chosen = [] if list(given) == [NONE] else list(given)
    for name in chosen:
        if name not in names:
            raise ExperimentError(
                f"--reversed {name} is not a joint of the log.{did_you_mean(name, names)} Its "
                f"joints are {listing(names, 40)}; {NONE} alone stands for no joint"
            )
    return [
        _mirrored(r).saying("sign", FOUND, "mirrored: as given")
        if name in chosen
        else r.saying("sign", CONFIRMED, "as given")
        for name, r in zip(names, readings, strict=True)
    ]


def with_sides(
    model: mujoco.MjModel, readings: list[Reading], series: JointSeries
) -> list[Reading]:
    """An open point for joints of two sides that stand in opposite poses.

    The reflection at the plane between the sides turns an axis w into 2 (w d) d - w, with the
    normal d of the plane.
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    out = list(readings)
    by_words = {tuple(words_of(joint_label(model, r.joint))): k for k, r in enumerate(readings)}
    pairs: dict[tuple[int, int], list[tuple[int, int, str]]] = {}
    for words, k in by_words.items():
        j = next((by_words[o] for o in _other_sides(words) if o in by_words), None)
        if j is None:
            continue
        one, other = readings[k], readings[j]
        apart = data.xanchor[one.joint] - data.xanchor[other.joint]
        if np.linalg.norm(apart) < 1e-6 or CONFIRMED in (
            one.sure_of("sign"),
            other.sure_of("sign"),
        ):
            continue
        normal = apart / np.linalg.norm(apart)
        axis = data.xaxis[one.joint]
        image = 2 * (axis @ normal) * normal - axis
        alike = float(image @ data.xaxis[other.joint])
        poses = [
            float(np.median(values_of(r, series.position[:, i]))) for r, i in ((one, k), (other, j))
        ]
        if abs(alike) < 0.9 or min(abs(p) for p in poses) < _STANDS:
            continue
        expected = np.sign(alike) * poses[0]
        against = abs(poses[1] + expected) < 0.25 * abs(poses[1] - expected)
        names = [model.joint(r.joint).name for r in (one, other)]
        why = (
            f"{names[0]} and {names[1]} stand at {poses[0]:.2g} and {poses[1]:.2g} rad, the "
            "opposite of a mirror image: the motors of one side may count the other way"
        )
        sides = root_of(model, one.joint), root_of(model, other.joint)
        pairs.setdefault(sides, []).append((k, j, why if against else ""))
    for found in pairs.values():
        # motors of a side count alike; one joint of many in another pose is a pose
        if not all(why for _, _, why in found):
            continue
        for k, j, why in found:
            for i in (k, j):
                if out[i].sure_of("sign") != FOUND:
                    out[i] = out[i].saying("sign", ASK, why)
    return out


def _other_sides(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The words of a joint on the right, for one on the left."""
    return [
        (*words[:place], right, *words[place + 1 :])
        for place, word in enumerate(words)
        for left, right in _SIDES
        if word == left
    ]


def _mirrored(reading: Reading) -> Reading:
    return replace(reading, scale=-reading.scale, velocity_scale=-reading.velocity_scale)


def _mirrored_ratio(
    model: mujoco.MjModel,
    readings: Sequence[Reading],
    series: JointSeries,
    motion: TorqueAgreement,
    part: Sequence[int],
) -> float:
    """Torque error with some joints mirrored; not below the given one if they leave their range."""
    changed = [replace(r, scale=-r.scale) if k in part else r for k, r in enumerate(readings)]
    error = motion.error(changed)
    if all(is_inside(model, changed[k], series.position[:, k]) for k in part):
        return error
    return max(error, TELLS * motion.error(readings))


def root_of(model: mujoco.MjModel, joint: int) -> int:
    """First body with a joint on the way from the world to a joint."""
    body, first = int(model.jnt_bodyid[joint]), 0
    while body > 0:
        if model.body_jntnum[body]:
            first = body
        body = int(model.body_parentid[body])
    return first
