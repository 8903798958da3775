"""Stick figures of a motion, as an SVG strip."""

import html

import mujoco
import numpy as np

from trueup import reports

_POSES = 10
_CELL = 150  # size of a pose [px]


def body_places(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    """End points of the sticks in poses at equal time intervals ``(poses, sticks, 2, 3)`` [m].

    Args:
      model: the model; a stick joins a body to its parent.
      qpos: positions over the motion ``(T, nq)``.
    """
    sticks = [b for b in range(1, model.nbody) if model.body_parentid[b] > 0]
    parents = [int(model.body_parentid[b]) for b in sticks]
    data = mujoco.MjData(model)
    out = np.empty((_POSES, len(sticks), 2, 3))
    for k, row in enumerate(np.linspace(0, len(qpos) - 1, _POSES).round().astype(int)):
        data.qpos[:] = qpos[row]
        mujoco.mj_kinematics(model, data)
        out[k] = np.stack([data.xpos[parents], data.xpos[sticks]], axis=1)
    return out


def stick_figures(places: np.ndarray, duration: float) -> reports.Html:
    """Strip of the poses of :func:`body_places`, with the time [s] below each."""
    # projection: the wider horizontal axis to the right, z up
    axis = int(np.argmax(np.ptp(places[..., :2], axis=(0, 1, 2)))) if places.size else 0
    flat = np.stack([places[..., axis], -places[..., 2]], axis=-1)
    if flat.size:
        low, high = flat.min(axis=(0, 1, 2)), flat.max(axis=(0, 1, 2))
        size = max(float((high - low).max()), 1e-3)
        flat = (flat - 0.5 * (low + high)) / size * (0.86 * _CELL)
    times = np.linspace(0.0, duration, len(places))
    cells = [_cell(sticks, float(time)) for sticks, time in zip(flat, times, strict=True)]
    label = html.escape(f"{len(places)} poses of the motion, {'xy'[axis]} to the right, z up")
    return reports.Html(
        '<div style="display:flex;flex-wrap:wrap;gap:4px" role="img" '
        f'aria-label="{label}">{"".join(cells)}</div>'
    )


def _cell(sticks: np.ndarray, time: float) -> str:
    lines = [
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" '
        f'stroke-width="3" stroke-linecap="round"/><circle cx="{x2:.1f}" cy="{y2:.1f}" r="3.2" '
        'fill="#2a78d6"/>'
        for (x1, y1), (x2, y2) in sticks
    ]
    half = 0.5 * _CELL
    return (
        f'<svg width="{_CELL}" height="{_CELL + 18}" '
        f'viewBox="{-half} {-half} {_CELL} {_CELL + 18}">{"".join(lines)}'
        f'<text x="0" y="{half + 12:.0f}" text-anchor="middle" font-size="12" '
        f'fill="currentColor">{time:.1f} s</text></svg>'
    )
