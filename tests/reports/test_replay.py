"""Step-through figure of stick figures: what the page holds, with and without its script."""

import json
import re

import numpy as np
import pytest

from trueup import reports
from trueup.errors import ReportError

TIMES = np.linspace(0.0, 2.0, 21)
EDGES = np.array([[0, 1], [1, 2]])


def positions(depth: float = 0.0, shift: float = 0.0) -> np.ndarray:
    """A pendulum of two links in the plane x, z; ``depth`` moves it along y [m]."""
    angle = np.sin(3 * TIMES)
    out = np.zeros((len(TIMES), 3, 3))
    out[:, 1] = np.stack([np.sin(angle), depth * angle, -np.cos(angle)], axis=1)
    out[:, 2] = 2 * out[:, 1]
    out[:, :, 0] += shift
    return out


def markup(*figures: reports.StickFigure) -> str:
    page = reports.Page("Arm")
    replay = reports.Replay(TIMES, EDGES, figures, "Motion", "Lines are links.")
    return page.add(reports.Section("Replay", content=replay)).html()


def data(html: str) -> dict:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])


def test_the_page_holds_each_instant_and_the_distance_of_the_figures():
    robot = reports.StickFigure("robot", "measured", positions())
    model = reports.StickFigure("model", "fitted", positions(shift=0.03))
    html = markup(robot, model)
    held = data(html)
    assert held["times"] == pytest.approx(TIMES.tolist())
    assert held["apart"] == pytest.approx([0.03] * len(TIMES))
    (view,) = held["views"]
    assert np.shape(view) == (2, len(TIMES), 6)
    # one scale for both axes: a link is one metre long in every instant
    points = np.reshape(view[0], (-1, 3, 2)).astype(float)
    lengths = np.linalg.norm(points[:, 1] - points[:, 0], axis=1)
    assert np.ptp(lengths) < 3 and lengths.min() > 100
    assert html.count('class="strobe') == 2, "instants are drawn for a page without a script"
    assert "robot" in html and "Lines are links." in html
    assert len(html) < 100_000, "no plotting code for a page without other figures"


def test_a_motion_across_the_view_has_a_second_one():
    flat = markup(reports.StickFigure("robot", "measured", positions()))
    deep = markup(reports.StickFigure("robot", "measured", positions(depth=0.5)))
    assert (flat.count("<svg"), deep.count("<svg")) == (1, 2)
    assert "· x, z" in flat and "· y, z" in deep


def test_it_begins_where_the_figures_are_farthest_apart():
    moved = positions()
    moved[13] += 0.2
    robot = reports.StickFigure("robot", "measured", positions())
    html = markup(robot, reports.StickFigure("model", "fitted", moved))
    assert 'max="20" value="13"' in html


@pytest.mark.parametrize("broken", ["nan", "frames", "points", "none"])
def test_positions_that_do_not_match_are_refused(broken):
    where = positions()
    if broken == "nan":
        where[3, 1, 2] = np.nan
    where = {"frames": where[1:], "points": where[:, :2]}.get(broken, where)
    figures = [] if broken == "none" else [reports.StickFigure("robot", "measured", where)]
    with pytest.raises(ReportError, match="replay"):
        reports.Replay(TIMES, EDGES, figures)


def test_a_robot_at_rest_is_drawn():
    still = np.repeat(positions()[:1], len(TIMES), axis=0)
    assert "<svg" in markup(reports.StickFigure("robot", "measured", still))
