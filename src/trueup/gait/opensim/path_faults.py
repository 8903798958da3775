"""Checks of muscle paths in MuJoCo against their geometry in OpenSim.

A muscle is correct if each moment arm has the sign and the size of that of the file, and if its
length is continuous and close to that of the file, over the range of each coordinate that it spans.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trueup.gait.opensim.comparison import MuscleComparison, WrittenModel, rms, tendon_of
from trueup.gait.opensim.model import OsimModel
from trueup.gait.opensim.paths import route
from trueup.gait.opensim.pose_samples import FINE, LINES, PoseSamples
from trueup.gait.opensim.tolerances import LENGTH, SHARE, small_arm

LOCAL = 2.0
"""Multiple of ``ARM`` and ``SHARE`` tolerated in neighbouring poses of a line, such as at the end
of a range; larger errors in single poses occur next to a step of the moment arm."""

WRONG_DRAWN = 0.05
"""Fraction of the drawn poses above which a wrong sign is a fault."""

JUMP = 0.001
"""Discontinuity of a length that counts as a jump [m]: a hundredth of a fiber, and a thousand times
the change between two poses at a maximum of the moment arm."""

HAIR = 1e-5
"""Step to a neighbouring pose [rad or m], over which a smooth length changes by less than a tenth
of a jump."""

FOLLOWED = 0.2
"""Part of the range of a coordinate beyond a jump of the file that is tolerated: psoas muscles of
published models jump at extensions that no hip reaches."""

_HALVINGS = 14
"""Number of bisections of the step between two poses in the search for a jump: a smooth change is
reduced to a ten-thousandth, a jump is not."""

_SEARCHED = 5
"""Number of steps per muscle and coordinate searched for a jump, the most suspicious first."""


@dataclass(frozen=True)
class Fault:
    """Fault of the path of a muscle.

    Attributes:
      kind: ``sign`` of a moment arm; ``jump`` of the length; ``length``; ``size`` of a moment arm
        over the poses; ``local`` size in neighbouring poses; ``unknown`` geometry of the file.
      words: description with numbers.
    """

    kind: Literal["sign", "jump", "length", "size", "local", "unknown"]
    words: str

    @property
    def unusable(self) -> bool:
        """Whether the muscle is to be omitted: wrong sign or jump."""
        return self.kind in ("sign", "jump")


def find_faults(
    one: MuscleComparison, model: OsimModel, written: WrittenModel, samples: PoseSamples
) -> list[Fault]:
    """Faults of a muscle, the most severe first.

    Args:
      one: compared muscle.
      model: model of OpenSim.
      written: model of MuJoCo.
      samples: poses of the comparison.
    """
    if not np.isfinite(one.length).all():
        return [Fault("jump", "its length is not a finite number in some poses")]
    found = [_sign(one, model, samples, name) for name in one.coordinates]
    found += [_jump(one, model, written, samples, name) for name in one.coordinates]
    found.append(_unsteady(one, model, written, samples))
    found += [_length(one), _own_jump(one)]
    found += [_size(one, model, samples, name) for name in one.coordinates]
    found.append(_against_quadrant(one, model, samples))
    return [fault for fault in found if fault is not None]


def _shown(model: OsimModel, coordinate: str, arm: float) -> str:
    return f"{1e3 * arm:.3g} mm" if model.coordinates[coordinate].turns else f"{arm:.2g}"


def _place(model: OsimModel, coordinate: str, value: float) -> str:
    if model.coordinates[coordinate].turns:
        return f"{np.rad2deg(value):.3g} deg"
    return f"{1e3 * value:.3g} mm"


def _arm_difference(
    one: MuscleComparison, model: OsimModel, samples: PoseSamples, name: str, worst: int
) -> str:
    value = float(samples.values[name][one.about[name][worst]])
    arm, wanted = (_shown(model, name, arms[name][worst]) for arms in (one.arm, one.wanted_arm))
    return f"moment arm about {name} is {arm}, expected {wanted}, at {_place(model, name, value)}"


def _sign(one: MuscleComparison, model: OsimModel, samples: PoseSamples, name: str) -> Fault | None:
    """Wrong sign over neighbouring poses of a line, or in many of the drawn poses; single poses
    next to a change of sign are normal for any approximation."""
    arm, wanted = one.arm[name], one.wanted_arm[name]
    small = small_arm(model, name)
    wrong = (arm * wanted < 0.0) & (np.abs(arm) > small) & (np.abs(wanted) > small)
    wrong &= np.abs(arm - wanted) > SHARE * float(np.abs(wanted).max())
    wrong &= one.steady_arm[name]
    on_lines = wrong[: LINES * FINE].reshape(LINES, FINE)
    padded = np.pad(on_lines, ((0, 0), (1, 1)), mode="edge")
    stretch = (padded[:, :-2] & padded[:, 1:-1] & padded[:, 2:]).any()
    if not stretch and wrong[LINES * FINE :].mean() < WRONG_DRAWN:
        return None
    worst = int(np.argmax(np.where(wrong, np.abs(arm - wanted), 0.0)))
    words = _arm_difference(one, model, samples, name, worst)
    return Fault("sign", f"{words}; its sign is wrong in {100 * wrong.mean():.2g} % of the poses")


def _against_quadrant(
    one: MuscleComparison, model: OsimModel, samples: PoseSamples
) -> Fault | None:
    """Ellipsoid with a quadrant that excludes the shortest path: OpenSim then mirrors a point of
    that path, which gives neither a shortest nor a continuous path, and is not reproduced here."""
    sides = {
        wrap.surface: replace(model.surfaces[wrap.surface], side=None)
        for wrap in one.muscle.wraps
        if model.surfaces[wrap.surface].kind == "ellipsoid"
        and model.surfaces[wrap.surface].side is not None
    }
    if not sides:
        return None
    free = replace(model, surfaces=model.surfaces | sides)
    shorter = one.wanted_length - route(free, one.muscle, samples.at(one.rows)).length
    if shorter.max() < JUMP:
        return None
    words = (
        f"the quadrant of {' and '.join(sides)} excludes the shortest path in "
        f"{100 * np.mean(shorter > JUMP):.2g} % of the poses, where OpenSim uses paths around "
        "ellipsoids that are not reproduced here"
    )
    return Fault("unknown", words)


def fits_arms(one: MuscleComparison, model: OsimModel, name: str) -> bool:
    """Whether the moment arms about a coordinate are within their tolerance, over its range with
    the others at their default, and over all poses."""
    return _far_part(one, model, name) is None


def _far_part(one: MuscleComparison, model: OsimModel, name: str) -> slice | None:
    """Poses over which moment arms are not within their tolerance."""
    errors, wanted = one.arm_errors(name), one.wanted_arm[name]
    # around the default pose, where a muscle is used most, and over all poses
    for part in (slice(0, FINE), slice(None)):
        if rms(errors[part]) > max(
            small_arm(model, name),
            SHARE * rms(np.where(np.isfinite(errors[part]), wanted[part], np.nan)),
        ):
            return part
    return None


def _size(one: MuscleComparison, model: OsimModel, samples: PoseSamples, name: str) -> Fault | None:
    errors, wanted = one.arm_errors(name), one.wanted_arm[name]
    part = _far_part(one, model, name)
    if part is not None:
        worst = int(np.nanargmax(errors[part]))
        words = _arm_difference(one, model, samples, name, worst)
        return Fault("size", f"{words}; RMS error {_shown(model, name, rms(errors[part]))}")
    lines = np.nan_to_num(errors[: LINES * FINE]).reshape(LINES, FINE)
    both = np.minimum(lines[:, 1:], lines[:, :-1])
    most = LOCAL * max(small_arm(model, name), SHARE * float(np.abs(wanted).max()))
    if both.max() <= most:
        return None
    line, k = np.unravel_index(np.argmax(both), both.shape)
    worst = int(line * FINE + k + (lines[line, k + 1] > lines[line, k]))
    return Fault(
        "local", f"{_arm_difference(one, model, samples, name, worst)}, and in neighbouring poses"
    )


def _length(one: MuscleComparison) -> Fault | None:
    error = one.typical_length_error
    if error <= max(LENGTH, SHARE * one.muscle.fiber):
        return None
    worst = int(np.argmax(np.where(one.steady, np.abs(one.length - one.wanted_length), 0.0)))
    return Fault(
        "length",
        f"length {1e3 * one.length[worst]:.3g} mm, expected "
        f"{1e3 * one.wanted_length[worst]:.3g} mm; RMS error {1e3 * error:.2g} mm",
    )


def _own_jump(one: MuscleComparison) -> Fault | None:
    """Jump of the length in the file itself that a continuous path cannot follow over a large part
    of the range of a coordinate."""
    for name in one.coordinates:
        steady = one.steady_arm[name][:FINE]
        if np.mean(~steady) > FOLLOWED:
            share = f"{100 * np.mean(~steady):.2g} % of the range of {name}"
            return Fault(
                "length", f"its length in the file jumps, and is not followed over {share}"
            )
    return None


def _jump(
    one: MuscleComparison,
    model: OsimModel,
    written: WrittenModel,
    samples: PoseSamples,
    name: str,
) -> Fault | None:
    """Discontinuity of the length that the geometry of the file does not have."""
    begin = FINE * LINES * one.coordinates.index(name)
    shape = (LINES, FINE)
    lengths = one.length[begin : begin + LINES * FINE].reshape(shape)
    slopes = -one.arm[name][: LINES * FINE].reshape(shape)
    values = samples.values[name][samples.lines[name]]
    change, step = np.diff(lengths, axis=1), np.diff(values, axis=1)
    # a smooth length changes between two poses by the step times a slope between theirs
    low = np.minimum(slopes[:, :-1], slopes[:, 1:]) * step
    high = np.maximum(slopes[:, :-1], slopes[:, 1:]) * step
    excess = np.maximum(change - high, low - change)
    suspicious = np.argwhere(excess > JUMP)
    order = np.argsort(-excess[tuple(suspicious.T)])[:_SEARCHED]
    largest: tuple[float, str] = (JUMP, "")
    for line, k in suspicious[order]:
        rows = samples.lines[name][line, k : k + 2]
        size, at = _searched(one, written, samples, name, rows)
        if abs(size) <= largest[0]:
            continue
        ends = {key: np.repeat(value[rows[:1]], 2) for key, value in samples.values.items()}
        ends[name] = np.array(at)
        own = float(np.diff(route(model, one.muscle, ends).length)[0])
        if abs(size - own) > max(JUMP, 0.5 * abs(size)):
            largest = (abs(size), _place(model, name, at[0]))
    if not largest[1]:
        return None
    words = f"length jumps by {1e3 * largest[0]:.3g} mm at {name} {largest[1]}"
    return Fault("jump", words)


def _unsteady(
    one: MuscleComparison, model: OsimModel, written: WrittenModel, samples: PoseSamples
) -> Fault | None:
    """Length that differs at a pose next to a sample, such as once around a surface tangent to the
    path; a grid would not detect it."""
    tendon = written.compiled.tendon(tendon_of(one.name)).id
    errors = np.where(one.steady, np.abs(one.length - one.wanted_length), 0.0)
    worst = np.argsort(-errors)[:_SEARCHED]
    worst = worst[errors[worst] > JUMP]
    if not worst.size:
        return None
    values = samples.at(one.rows[worst])
    shifted = {name: value + HAIR for name, value in values.items()}
    lengths = [written.paths(written.positions(at))[0][:, tendon] for at in (values, shifted)]
    own = [route(model, one.muscle, at).length for at in (values, shifted)]
    steps = np.abs((lengths[1] - lengths[0]) - (own[1] - own[0]))
    # a step of the file alone is not one of the written model
    steps[np.abs(lengths[1] - lengths[0]) <= JUMP] = 0.0
    if steps.max() <= JUMP:
        return None
    words = f"length jumps by {1e3 * steps.max():.3g} mm between poses {HAIR:g} rad apart"
    return Fault("jump", words)


def _searched(
    one: MuscleComparison,
    written: WrittenModel,
    samples: PoseSamples,
    name: str,
    rows: Sequence[int] | np.ndarray,
) -> tuple[float, tuple[float, float]]:
    """Change of the length [m] in the smallest part of a step that contains the jump, and that
    part."""
    tendon = written.compiled.tendon(tendon_of(one.name)).id
    pose = {key: value[rows[:1]] for key, value in samples.values.items()}

    def at(value: float) -> tuple[float, float]:
        qpos = written.positions({**pose, name: np.array([value])})
        lengths, slopes = written.paths(qpos)
        slope = np.sum(slopes[0, tendon] * written.rates(qpos, name)[0])
        return float(lengths[0, tendon]), float(slope)

    low, high = (float(samples.values[name][row]) for row in rows)
    first, last = at(low), at(high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        between = at(middle)
        halves = []
        for start, end in ((first, between), (between, last)):
            explained = 0.5 * (start[1] + end[1]) * (middle - low)
            halves.append(abs(end[0] - start[0] - explained))
        if halves[0] >= halves[1]:
            high, last = middle, between
        else:
            low, first = middle, between
    return last[0] - first[0], (low, high)
