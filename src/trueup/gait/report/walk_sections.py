"""Report sections of one walk: joints, ground reaction, muscles, device, strides."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueup import reports
from trueup.gait.costs.norms import GaitNorm
from trueup.gait.models.anatomy import LEGS, Anatomy
from trueup.gait.report._cycle_figures import CyclePanel, cycle_figure
from trueup.gait.report.norm_comparison import on_spans, spans_text, step_rows
from trueup.gait.report.stick_figures import cycle_strip, time_strip
from trueup.gait.walk.gait_cycle import Curve, Stride, mean_cycle, on_ground, over_cycle, resampled
from trueup.gait.walk.series import JOINTS, WalkSeries

_LAST = 1.0  # duration of a fall in stick figures [s]
_SHOWN = 4.0  # duration of a walk shown over time [s]


@dataclass(frozen=True)
class ShownWalk:
    """A walk with a norm and a walk for comparison; means are over its last strides.

    Attributes:
      series: the walk.
      anatomy: names of the parts of the walker.
      judged: strides of each leg for the means.
      norm: norm for comparison.
      start: walk for comparison.
      start_name: name of that walk.
    """

    series: WalkSeries
    anatomy: Anatomy
    judged: int = 5
    norm: GaitNorm | None = None
    start: WalkSeries | None = None
    start_name: str = "start of the search"
    strides: tuple[list[Stride], list[Stride]] = field(init=False)

    def __post_init__(self):
        both = tuple(self.series.strides(leg, self.judged) for leg in range(2))
        object.__setattr__(self, "strides", both)

    @property
    def has_strides(self) -> bool:
        """Whether either leg has a complete stride."""
        return bool(self.strides[0] or self.strides[1])

    @property
    def stance(self) -> tuple[float | None, float | None]:
        """Mean stance of each leg, as a fraction of the cycle."""
        right, left = (
            float(np.mean([stride.stance for stride in strides])) if strides else None
            for strides in self.strides
        )
        return right, left

    def legs(self, values: np.ndarray) -> tuple[Curve | None, Curve | None]:
        """Mean cycle of a quantity ``(frames, 2)`` of each leg."""
        right, left = (mean_cycle(values[:, leg], self.strides[leg]) for leg in range(2))
        return right, left

    def started(self, values: np.ndarray | None) -> Curve | None:
        """Mean cycle of a quantity ``(frames, 2)`` of the walk for comparison, over both legs."""
        if self.start is None or values is None:
            return None
        both = [
            over_cycle(values[:, leg], self.start.strides(leg, self.judged)) for leg in range(2)
        ]
        cycles = np.concatenate(both)
        return Curve(cycles.mean(axis=0)) if len(cycles) else None

    @property
    def said(self) -> str:
        """Text with the number of strides of the means."""
        right, left = (len(strides) for strides in self.strides)
        return (
            f"Mean and standard deviation over the last complete strides: {right} of the right "
            f"leg, {left} of the left."
        )


def walk_sections(walk: ShownWalk, prefix: str = "") -> list[reports.Section]:
    """All sections of a walk; without a complete stride it is shown over time.

    Args:
      walk: the walk.
      prefix: prefix of the titles.
    """
    sections = [_sticks(walk, prefix)]
    if walk.has_strides:
        sections += [
            _kinematics(walk, prefix),
            _moments(walk, prefix),
            _ground_reaction(walk, prefix),
            _muscles(walk, prefix),
        ]
        if walk.series.has_device:
            sections.append(_device(walk, prefix))
        sections.append(_strides(walk, prefix))
    if walk.series.fell or not walk.has_strides:
        sections.append(_over_time(walk, prefix))
    return sections


def _sticks(walk: ShownWalk, prefix: str) -> reports.Section:
    series = walk.series
    content: list[reports.Content] = []
    leg = 0 if walk.strides[0] else 1
    if walk.has_strides:
        content.append(cycle_strip(series, walk.strides[leg][-1]))
        said = (
            f"The last complete stride, from touch-down to touch-down of the {LEGS[leg]} foot. "
            "Figures are spaced apart; heights are as simulated."
        )
    else:
        content.append(time_strip(series, float(series.time[0]), float(series.time[-1])))
        said = "The whole walk, without a complete stride. Figures are spaced apart."
    content.append(reports.Note(said))
    end = float(series.time[-1])
    if series.fell and walk.has_strides:
        begin = max(end - _LAST, float(series.time[0]))
        content += [time_strip(series, begin, end), reports.Note("The end of the walk.")]
    return reports.Section(f"{prefix}Stick figures", content=content)


def _kinematics(walk: ShownWalk, prefix: str) -> reports.Section:
    series, start = walk.series, walk.start
    norm = {} if walk.norm is None else walk.norm.reference.angles
    trunk = np.stack([series.trunk, series.trunk], axis=1)
    started = None if start is None else np.stack([start.trunk, start.trunk], axis=1)
    rows = [("trunk", "Trunk, forward lean", trunk, started)]
    for k, (joint, title) in enumerate(
        zip(JOINTS, ("Hip flexion", "Knee flexion", "Ankle dorsiflexion"), strict=True)
    ):
        rows.append(
            (joint, title, series.angles[:, :, k], None if start is None else start.angles[:, :, k])
        )
    panels, table = [], []
    for joint, title, values, others in rows:
        legs = walk.legs(np.rad2deg(values))
        band = _in_degrees(norm.get(joint))
        others = None if others is None else np.rad2deg(others)
        panels.append(CyclePanel(title, "deg", legs, band, walk.started(others)))
        if band is not None:
            table += [
                [joint, leg, *_distance(curve, band)]
                for leg, curve in zip(LEGS, legs, strict=True)
                if curve is not None
            ]
    name = "" if walk.norm is None else walk.norm.name
    figure = cycle_figure(
        panels,
        walk.stance,
        caption=_caption(walk, bool(table)),
        norm=f"{name}, mean ± SD",
        start=walk.start_name,
    )
    content: list[reports.Content] = [figure]
    if table:
        columns = [
            reports.Column("joint"),
            reports.Column("leg"),
            reports.Column("RMS difference", "deg", digits=3),
            reports.Column("range", "deg", digits=3),
            reports.Column("range of the norm", "deg", digits=3),
            reports.Column("RMS difference in SD", digits=2),
            reports.Column("within 1 SD", "% of cycle", digits=3),
            reports.Column("within 2 SD", "% of cycle", digits=3),
        ]
        content.append(reports.Table(columns, table, title=f"Deviation from {name}"))
    return reports.Section(f"{prefix}Kinematics", content=content)


def _caption(walk: ShownWalk, has_norm: bool) -> str:
    if walk.norm is None:
        return f"{walk.said} No norm is shown: select one with --norm."
    if not has_norm:
        return f"{walk.said} The norm {walk.norm.name} does not contain these angles."
    return f"{walk.said} Norm: {walk.norm.reference.source or walk.norm.name}."


def _in_degrees(curve: Curve | None) -> Curve | None:
    if curve is None:
        return None
    return Curve(np.rad2deg(_closed(curve.mean)), _closed_deviation(curve.sd, 180.0 / np.pi))


def _closed(values: np.ndarray) -> np.ndarray:
    """A curve of a norm with its first sample repeated at the end."""
    return np.append(values, values[0])


def _closed_deviation(values: np.ndarray | None, factor: float = 1.0) -> np.ndarray | None:
    return None if values is None else factor * _closed(values)


def _distance(curve: Curve, norm: Curve) -> list[float | None]:
    """Differences of a curve from a norm.

    RMS difference, ranges of curve and norm, RMS difference in standard deviations, and fractions
    of the cycle within one and two of them.

    Args:
      curve: mean cycle, closed.
      norm: closed curve of the norm, at its samples.
    """
    points = len(curve.mean) - 1
    mean = resampled(norm.mean[:-1], points)
    gap = curve.mean[:-1] - mean
    found: list[float | None] = [
        float(np.sqrt(np.mean(gap**2))),
        float(np.ptp(curve.mean)),
        float(np.ptp(norm.mean)),
    ]
    if norm.sd is None:
        return [*found, None, None, None]
    sd = resampled(norm.sd[:-1], points)
    found.append(float(np.sqrt(np.mean((gap / sd) ** 2))))
    return found + [100.0 * float(np.mean(np.abs(gap) <= k * sd)) for k in (1, 2)]


def _moments(walk: ShownWalk, prefix: str) -> reports.Section:
    series, mass = walk.series, walk.series.mass
    norm = {} if walk.norm is None else walk.norm.moments
    known_powers = {} if walk.norm is None else walk.norm.powers
    titles = ("Hip, extension", "Knee, extension", "Ankle, plantarflexion")
    panels, powers = [], []
    for k, (joint, title) in enumerate(zip(JOINTS, titles, strict=True)):
        band = norm.get(joint)
        if band is not None:
            band = Curve(_closed(band.mean), _closed_deviation(band.sd))
        acts = series.has_device and bool(np.any(series.device_moments[:, :, k]))
        device = walk.legs(series.device_moments[:, :, k] / mass) if acts else (None, None)
        start = None if walk.start is None else walk.start.moments[:, :, k] / walk.start.mass
        legs = walk.legs(series.moments[:, :, k] / mass)
        panels.append(
            CyclePanel(
                title,
                "N m/kg",
                legs,
                band,
                walk.started(start),
                device,
                "contribution of the device",
            )
        )
        power = known_powers.get(joint)
        powers.append(
            CyclePanel(
                joint.capitalize(),
                "W/kg",
                walk.legs(series.powers[:, :, k] / mass),
                None if power is None else Curve(_closed(power.mean), _closed_deviation(power.sd)),
            )
        )
    name = "" if walk.norm is None else walk.norm.name
    has_spread = any(curve.sd is not None for curve in norm.values())
    said = (
        f"{walk.said} Internal moments: what muscles, tissue, the joint limits and the device do "
        "together."
    )
    content = [
        cycle_figure(
            panels,
            walk.stance,
            title="Moments",
            caption=said,
            columns=3,
            norm=f"{name}, mean ± SD" if has_spread else f"{name}, mean",
            start=walk.start_name,
        ),
        cycle_figure(
            powers,
            walk.stance,
            title="Powers",
            caption="Generation is positive.",
            columns=3,
            norm=f"{name}, mean",
        ),
    ]
    return reports.Section(f"{prefix}Joint moments", content=content)


def _ground_reaction(walk: ShownWalk, prefix: str) -> reports.Section:
    series = walk.series
    level = series.slope == 0.0
    names = (
        (2, "Vertical" if level else "Normal to the ground", "upright"),
        (0, "Fore-aft, forward positive" if level else "Along the ground, forward positive",
         "forward"),
    )  # fmt: skip
    norm = {} if walk.norm is None else walk.norm.ground_reaction
    panels = []
    for axis, title, way in names:
        start = None
        if walk.start is not None:
            start = walk.start.ground_force[:, :, axis] / walk.start.weight
        legs = walk.legs(series.ground_force[:, :, axis] / series.weight)
        band = None if way not in norm else Curve(_closed(norm[way].mean))
        panels.append(CyclePanel(title, "body weights", legs, band, walk.started(start)))
    peak = float(series.ground_force[:, :, 2].max()) / series.weight
    mean = float(series.ground_force[:, :, 2].sum(axis=1).mean()) / series.weight
    said = (
        f"{walk.said} Peak force of the whole walk {peak:.2f} body weights, mean sum of both feet "
        f"{mean:.3f}."
    )
    name = "" if walk.norm is None else f"{walk.norm.name}, mean"
    figure = cycle_figure(panels, walk.stance, caption=said, start=walk.start_name, norm=name)
    return reports.Section(f"{prefix}Ground reaction", content=[figure])


def _muscles(walk: ShownWalk, prefix: str) -> reports.Section:
    series = walk.series
    emg = {} if walk.norm is None else walk.norm.reference.emg
    timing = {} if walk.norm is None else walk.norm.timing
    panels, rows = [], []
    for group, pattern, columns in muscle_pairs(series, walk.anatomy):
        norm = emg.get(group)
        if norm is not None:
            norm = Curve(_closed(norm.mean), _closed_deviation(norm.sd))
        title, legs = f"{pattern} · {group}", walk.legs(series.activations[:, columns])
        people = timing.get(group, ())
        panels.append(CyclePanel(title, "", legs, norm, span=(0.0, 1.02), bars=people))
        own = ["" if curve is None else spans_text(on_spans(curve)) for curve in legs]
        rows.append([title, *own, spans_text(people) if people else ""])
    said = f"{walk.said} Activations are 0 to 1; stance is shaded."
    figure = cycle_figure(
        panels, walk.stance, caption=said, columns=3, height=170, bars="active in people"
    )
    table = reports.Table(["muscle", "right leg", "left leg", "people"], rows)
    said = (
        "Percent of the gait cycle. A muscle of the walker is active above a fifth of its "
        "largest mean activation."
    )
    times = reports.Group("Muscle timing", [reports.Note(said), table], collapsed=True)
    return reports.Section(f"{prefix}Muscles", content=[figure, times])


def muscle_pairs(series: WalkSeries, anatomy: Anatomy) -> list[tuple[str, str, list[int]]]:
    """Group, name and columns of the right and of the left muscle, in the order of the anatomy."""
    found = []
    for group, patterns in anatomy.muscles.items():
        for pattern in patterns:
            names = anatomy.both(pattern)
            if all(name in series.muscles for name in names):
                bare = pattern.replace("_{side}", "").replace("{side}", "")
                found.append((group, bare, [series.muscles.index(name) for name in names]))
    return found


def _device(walk: ShownWalk, prefix: str) -> reports.Section:
    series = walk.series
    panels = [
        CyclePanel("Torque", "N m", walk.legs(series.device_torque)),
        CyclePanel("Power", "W", walk.legs(series.device_power)),
    ]
    rows = []
    for leg, strides in enumerate(walk.strides):
        if not strides:
            continue
        power = [series.device_power[s.start : s.end, leg] for s in strides]
        torque = [float(series.device_torque[s.start : s.end, leg].max()) for s in strides]
        given = [float(np.sum(np.maximum(p, 0.0)) * series.period) for p in power]
        taken = [float(np.sum(np.minimum(p, 0.0)) * series.period) for p in power]
        rows.append([LEGS[leg], np.mean(torque), np.mean(given), np.mean(taken)])
    columns = [
        reports.Column("leg"),
        reports.Column("peak torque", "N m", digits=4),
        reports.Column("positive work", "J per stride", digits=3),
        reports.Column("negative work", "J per stride", digits=3),
    ]
    figure = cycle_figure(
        panels, walk.stance, caption=f"{walk.said} Power delivered to the walker is positive."
    )
    content = [figure, reports.Table(columns, rows, title="Device, per stride")]
    return reports.Section(f"{prefix}Exoskeleton", content=content)


STRIDE_COLUMNS = (
    reports.Column("leg"),
    reports.Column("start", "s", digits=4),
    reports.Column("duration", "s", digits=3),
    reports.Column("length", "m", digits=3),
    reports.Column("speed", "m/s", digits=3),
    reports.Column("stance", "%", digits=3),
    reports.Column("step length", "m", digits=3, note="between the feet at touch-down"),
)


def stride_rows(series: WalkSeries, most: int | None = None) -> list[list]:
    """One row per stride in time order: leg, start, duration, length, speed, stance, step."""
    grade = np.cos(np.deg2rad(series.slope))
    ankles = series.places[:, :, 2, 0] / grade
    rows = []
    for leg in range(2):
        for stride in series.strides(leg, most):
            time = series.period * stride.frames
            length = float(ankles[stride.end, leg] - ankles[stride.start, leg])
            step = float(ankles[stride.start, leg] - ankles[stride.start, 1 - leg])
            begin = float(series.time[stride.start])
            stance = 100.0 * stride.stance
            rows.append([LEGS[leg], begin, time, length, length / time, stance, step])
    return sorted(rows, key=lambda row: row[1])


def _strides(walk: ShownWalk, prefix: str) -> reports.Section:
    series = walk.series
    judged = stride_rows(series, walk.judged)
    summary: list[list] = []
    digits = [1 if column.unit == "%" else 3 for column in STRIDE_COLUMNS[2:]]
    for leg in LEGS:
        own = np.array([row[1:] for row in judged if row[0] == leg])
        if len(own):
            means = [f"{m:.{d}f}" for m, d in zip(own[:, 1:].mean(axis=0), digits, strict=True)]
            if len(own) > 1:
                spread = own[:, 1:].std(axis=0, ddof=1)
                means = [f"{m} ± {s:.{d}f}" for m, s, d in zip(means, spread, digits, strict=True)]
            summary.append([leg, str(len(own)), *means])
    columns = [
        reports.Column("leg"),
        reports.Column("strides", align="right"),
        *(
            reports.Column(column.title, column.unit, align="right", note=column.note)
            for column in STRIDE_COLUMNS[2:]
        ),
    ]
    everything = stride_rows(series)
    content: list[reports.Content] = [
        *([_adult_comparison(walk, judged)] if judged else []),
        reports.Table(columns, summary, title="Last strides, mean ± SD"),
        reports.Text(_support(walk)),
        reports.Group(
            f"All {len(everything)} strides",
            reports.Table(list(STRIDE_COLUMNS), everything),
            collapsed=True,
        ),
    ]
    return reports.Section(f"{prefix}Strides", content=content)


def _adult_comparison(walk: ShownWalk, judged: Sequence[Sequence[Any]]) -> reports.Table:
    """Mean of the last strides compared with adults at that speed on level ground."""
    speed = float(np.mean([row[4] for row in judged]))
    rows = step_rows(walk.series, walk.strides, [row[6] for row in judged], speed)
    columns = [
        reports.Column("quantity"),
        reports.Column("unit"),
        reports.Column("walk", digits=4, align="right"),
        reports.Column("adults", digits=4, align="right"),
    ]
    return reports.Table(
        columns, [list(row) for row in rows], title="Compared with adults at this speed"
    )


def _support(walk: ShownWalk) -> str:
    """Text on double support, flight and cadence."""
    series = walk.series
    strides = [stride for both in walk.strides for stride in both]
    first, last = min(s.start for s in strides), max(s.end for s in strides)
    stance = [on_ground(series.load[:, k], series.period, series.threshold) for k in range(2)]
    double = 100.0 * float(np.mean(stance[0][first:last] & stance[1][first:last]))
    flight = 100.0 * float(np.mean(~stance[0][first:last] & ~stance[1][first:last]))
    cadence = 120.0 / (series.period * float(np.mean([s.frames for s in strides])))
    words = f"Both feet are on the ground for {double:.1f} % of the time, neither for "
    return f"{words}{flight:.1f} %; {cadence:.0f} steps per minute."


def _over_time(walk: ShownWalk, prefix: str) -> reports.Section:
    series = walk.series
    shown = series.time >= series.time[-1] - _SHOWN
    time = series.time[shown]
    spans = _stance_spans(series, 0, float(time[0]))
    degrees = np.rad2deg(series.angles[shown])
    panels = [
        reports.Panel(
            "trunk, forward lean",
            "deg",
            [reports.Trace("trunk", time, np.rad2deg(series.trunk[shown]), "measured")],
        )
    ]
    for k, joint in enumerate(JOINTS):
        panels.append(reports.Panel(joint, "deg", _two(time, degrees[:, :, k])))
    force = series.ground_force[shown][:, :, 2] / series.weight
    panels.append(reports.Panel("ground reaction", "body weights", _two(time, force)))
    if series.has_device:
        torque = series.device_torque[shown]
        panels.append(reports.Panel("exoskeleton", "N m", _two(time, torque)))
    figure = reports.time_series_figure(panels, spans=spans, height=130)
    muscles = [
        reports.Panel(f"{name} · {group}", "", _two(time, series.activations[shown][:, columns]))
        for group, name, columns in muscle_pairs(series, walk.anatomy)
    ]
    activations = reports.time_series_figure(
        muscles, spans=spans, columns=2, height=100, title="Activations"
    )
    said = f"The last {float(time[-1] - time[0]):.2f} s. Stance of the right leg is shaded."
    content = [figure, reports.Group("Muscles", activations, collapsed=True)]
    return reports.Section(f"{prefix}Over time", summary=said, content=content)


def _two(time: np.ndarray, values: np.ndarray) -> list[reports.Trace]:
    return [reports.Trace(f"{leg} leg", time, values[:, k]) for k, leg in enumerate(LEGS)]


def _stance_spans(series: WalkSeries, leg: int, begin: float) -> Sequence[reports.Span]:
    stance = on_ground(series.load[:, leg], series.period, series.threshold) & (
        series.time >= begin
    )
    change = np.flatnonzero(np.diff(np.concatenate([[0], stance.astype(int), [0]])))
    return [
        reports.Span(float(series.time[a]), float(series.time[b - 1]), f"stance, {LEGS[leg]} leg")
        for a, b in zip(change[::2], change[1::2], strict=True)
    ]
