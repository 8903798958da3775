"""Step-through figure of moving stick figures, such as a robot and its model.

It needs neither a renderer nor plotly: the page holds positions at some instants, and its script
draws the chosen one. Without a script, and in print, instants spread over the motion are drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trueup.errors import ReportError
from trueup.reports.numbers import format_number
from trueup.reports.rendering import Context, Part, json_for_script

if TYPE_CHECKING:
    from markupsafe import Markup

_SIDE = 1000  # width of a view in its own units: positions are integers
_MARGIN = 60
_STROBE = 6  # instants drawn without a script
_SECOND_VIEW = 0.03  # share of the motion across the first view from which there is a second one
_UPRIGHT = 1.5  # preference for a view with the vertical axis
_VIEWS = ((0, 2), (1, 2), (0, 1))  # horizontal and vertical axis of each view


@dataclass(frozen=True)
class StickFigure:
    """One moving figure.

    Attributes:
        name: name in the legend.
        colour: token of the palette, such as ``"measured"``.
        positions: world positions of its points ``(frames, points, 3)`` [m].
    """

    name: str
    colour: str
    positions: np.ndarray


@dataclass(frozen=True)
class Replay(Part):
    """Stick figures over time, stepped through by a slider.

    Attributes:
        times: ``(frames,)`` [s].
        edges: ``(edges, 2)`` points that each line connects.
        figures: the figures, the one at the back first.
        title: heading.
        caption: small print.

    Raises:
        ReportError: shapes do not match, or a position is not finite.
    """

    times: np.ndarray
    edges: np.ndarray
    figures: Sequence[StickFigure]
    title: str = ""
    caption: str = ""

    def __post_init__(self) -> None:
        frames = len(self.times)
        if not frames or not self.figures or not len(self.edges):
            raise ReportError("a replay requires at least one instant, one figure and one line")
        shape = (frames, int(np.max(self.edges)) + 1, 3)
        for figure in self.figures:
            if figure.positions.shape != shape or not np.isfinite(figure.positions).all():
                raise ReportError(
                    f"figure {figure.name!r} of a replay has positions of shape "
                    f"{figure.positions.shape}; expected finite ones of shape {shape}"
                )

    def markup(self, context: Context) -> "Markup":
        """Return the figure with its slider."""
        points = np.stack([figure.positions for figure in self.figures])
        views = [_view(points, axes) for axes in _chosen_views(points)]
        apart = np.linalg.norm(points - points[:1], axis=-1).max(axis=(0, 2))
        paths = [
            {
                "size": f"{_SIDE} {height}",
                "label": "xyz"[across] + ", " + "xyz"[up],
                "bar": _scale_bar(scale),
                "strobe": [
                    {"colour": figure.colour, "path": _strobe(flat[k], self.edges)}
                    for k, figure in enumerate(self.figures)
                ],
            }
            for (across, up), scale, height, flat in views
        ]
        data = {
            "times": np.round(self.times, 3).tolist(),
            "edges": np.asarray(self.edges).tolist(),
            "apart": [float(f"{d:.3g}") for d in apart] if len(self.figures) > 1 else [],
            "views": [
                [flat[k].reshape(len(self.times), -1).tolist() for k in range(len(self.figures))]
                for *_, flat in views
            ],
        }
        return context.render(
            "replay.html",
            replay=self,
            views=paths,
            data=json_for_script(data),
            first=int(np.argmax(apart)),
            last=len(self.times) - 1,
        )


def _chosen_views(points: np.ndarray) -> list[tuple[int, int]]:
    """Planes to look at: where the figures move most, and one across it if they move there too."""
    motion = points.var(axis=1).mean(axis=(0, 1))
    if not motion.any():
        motion = points.var(axis=(0, 1, 2))
    first = max(
        _VIEWS, key=lambda view: motion[list(view)].sum() * (_UPRIGHT if 2 in view else 1.0)
    )
    (left_out,) = {0, 1, 2} - set(first)
    if motion[left_out] < _SECOND_VIEW * motion.sum():
        return [first]
    return [first, next(view for view in _VIEWS if left_out in view)]


def _view(
    points: np.ndarray, axes: tuple[int, int]
) -> tuple[tuple[int, int], float, int, np.ndarray]:
    """Axes, units per metre, height, and integer positions ``(figures, frames, points, 2)``."""
    flat = points[..., list(axes)]
    low, high = flat.min(axis=(0, 1, 2)), flat.max(axis=(0, 1, 2))
    size = np.maximum(high - low, 1e-9)
    # views that are higher than wide would push everything else off the screen
    scale = (_SIDE - 2 * _MARGIN) / max(size[0], size[1], 1e-6)
    height = int(max(size[1] * scale, 0.25 * _SIDE)) + 2 * _MARGIN
    middle = 0.5 * (low + high)
    across = 0.5 * _SIDE + (flat[..., 0] - middle[0]) * scale
    down = 0.5 * height - (flat[..., 1] - middle[1]) * scale
    return axes, scale, height, np.round(np.stack([across, down], axis=-1)).astype(int)


def _strobe(flat: np.ndarray, edges: np.ndarray) -> list[str]:
    """Path of each instant of a strobe picture, of positions ``(frames, points, 2)``."""
    frames = np.unique(np.linspace(0, len(flat) - 1, _STROBE).round().astype(int))
    return [
        "".join(
            f"M{flat[frame, a, 0]} {flat[frame, a, 1]}L{flat[frame, b, 0]} {flat[frame, b, 1]}"
            for a, b in edges
        )
        for frame in frames
    ]


def _scale_bar(scale: float) -> dict[str, object]:
    """Length of a round number of metres that takes about a fifth of the view."""
    metres = 0.2 * _SIDE / scale
    power = 10.0 ** np.floor(np.log10(metres))
    metres = power * max(step for step in (1, 2, 5) if step * power <= metres)
    return {"length": round(float(metres * scale)), "text": f"{format_number(float(metres), 3)} m"}
