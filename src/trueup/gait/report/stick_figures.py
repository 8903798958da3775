"""Stick figures of a walk as an SVG drawing, without renderer or script."""

from collections.abc import Sequence

import numpy as np

from trueup.gait.walk.gait_cycle import Stride
from trueup.gait.walk.series import WalkSeries
from trueup.reports.content import Html

SPACING = 0.62
"""Distance between figures [m]."""

_SCALE = 100.0  # units of the drawing per metre
_ABOVE, _BELOW = 0.22, 0.14  # margins above the head, and below the ground for text [m]
_ASIDE = 0.2  # margin at both sides, for a head [m]
_COLOURS = {"right": "series-1", "left": "series-2"}


def cycle_strip(series: WalkSeries, stride: Stride, figures: int = 11) -> Html:
    """Figures evenly spaced over a gait cycle, labelled with percent of the cycle."""
    places = np.linspace(stride.start, stride.end, figures).round().astype(int)
    names = [f"{100.0 * part:.0f} %" for part in np.linspace(0.0, 1.0, figures)]
    leg = ("right", "left")[stride.leg]
    return stick_figures(
        series, places.tolist(), names, f"Stick figures over a cycle of the {leg} leg"
    )


def time_strip(series: WalkSeries, start: float, end: float, figures: int = 11) -> Html:
    """Figures evenly spaced from one time to another [s], labelled with time."""
    times = np.linspace(start, end, figures)
    places = np.abs(series.time[:, None] - times).argmin(axis=0)
    names = [f"{series.time[k]:.2f} s" for k in places]
    said = f"Stick figures from {start:.2f} to {end:.2f} s"
    return stick_figures(series, places.tolist(), names, said)


def stick_figures(
    series: WalkSeries, frames: Sequence[int], names: Sequence[str], said: str
) -> Html:
    """Figures of the given frames in a row, on the ground with its slope.

    The figures are spaced along the ground; the shape and the height of each are as simulated.

    Args:
      series: walk.
      frames: indices of the frames.
      names: text below each figure.
      said: description of the drawing, for screen readers.
    """
    grade = np.tan(np.deg2rad(series.slope))
    x_hip = series.places[frames, :, 0, 0].mean(axis=1)
    slots = SPACING * np.arange(len(frames))
    # a figure shifted along a slope is shifted up with it, and stairs with their figure
    upward = grade * (slots - x_hip) if series.stairs is None else -series.stairs.height(x_hip)
    move = np.stack([slots - x_hip, upward], axis=1)
    left, right = -0.6 * SPACING, float(slots[-1]) + 0.6 * SPACING
    points = np.concatenate(
        [series.places[frames].reshape(len(frames), -1, 3), series.head[frames][:, None]], axis=1
    )
    drawn = points[:, :, [0, 2]] + move[:, None]
    top = max(float(drawn[..., 1].max()), grade * left, grade * right) + _ABOVE
    bottom = min(float(drawn[..., 1].min()), grade * left, grade * right) - _BELOW
    left, right = (
        min(left, float(drawn[..., 0].min()) - 0.05),
        max(right, float(drawn[..., 0].max()) + 0.05),
    )

    def at(point: np.ndarray) -> str:
        return f"{_SCALE * (point[0] - left):.1f},{_SCALE * (top - point[1]):.1f}"

    def path(those: np.ndarray, colour: str, width: float, closed: bool = False) -> str:
        kind = "polygon" if closed else "polyline"
        return (
            f'<{kind} points="{" ".join(at(p) for p in those)}" stroke="var(--{colour})" '
            f'stroke-width="{width}" fill="none"/>'
        )

    if series.stairs is None:
        ground = np.array([[left, grade * left], [right, grade * right]])
        parts = [path(ground, "muted", 1.5)]
    else:
        near = np.linspace(-0.45 * SPACING, 0.45 * SPACING, 120)
        parts = []
        for x, along in zip(x_hip, move, strict=True):
            steps = np.stack([x + near, series.stairs.height(x + near)], axis=1) + along
            parts.append(path(steps, "muted", 1.5))
    size = series.places.shape[2]
    for k, figure in enumerate(drawn):
        legs = {"left": figure[size : 2 * size], "right": figure[:size]}
        hips = 0.5 * (legs["left"][0] + legs["right"][0])
        for name, leg in legs.items():
            parts.append(path(leg[:3], _COLOURS[name], 3.0))
            parts.append(path(leg[2:], _COLOURS[name], 3.0, closed=True))
        parts.append(path(np.stack([hips, figure[-1]]), "ink", 4.0))
        cx, cy = at(figure[-1] + 0.09 * _unit(figure[-1] - hips)).split(",")
        parts.append(
            f'<circle cx="{cx}" cy="{cy}" r="9" stroke="var(--ink)" stroke-width="2" fill="none"/>'
        )
        x = _SCALE * (slots[k] - left)
        y = _SCALE * (top - bottom) - 2.0
        parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="11" '
            f'fill="var(--muted)">{names[k]}</text>'
        )
    width, height = _SCALE * (right - left), _SCALE * (top - bottom)
    body = "".join(parts)
    legend = (
        '<ul class="legend"><li><span><span class="key line" style="--colour: '
        'var(--series-1)"></span>right leg</span></li><li><span><span class="key line" '
        'style="--colour: var(--series-2)"></span>left leg</span></li></ul>'
    )
    return Html(
        f'<figure class="figure">{legend}<div style="overflow-x: auto"><svg viewBox="0 0 '
        f'{width:.0f} {height:.0f}" role="img" aria-label="{said}" stroke-linejoin="round" '
        f'stroke-linecap="round" style="width: 100%; min-width: 560px; height: auto">'
        f"{body}</svg></div></figure>"
    )


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)
