"""Share of a choice that is done: it grows, and follows the work of a choice on recordings."""

import pytest

from trueup.actuators.selection.candidate_fits import AGAIN, BRIEF, LIGHT, POOLED, THOROUGH
from trueup.actuators.selection.progress import SelectionProgress, effort_of

PARTS, INTERVALS = 6, 12
# CPU seconds at the end of each fit of a fit without a model to 8 recordings of an XL330; the last
# is the end of the search of the selected model and of its intervals
COURSE = [
    (1.9, LIGHT, 6, 1), (2.4, AGAIN, 6, PARTS), (6.9, LIGHT, 11, 1), (10.2, AGAIN, 11, PARTS),
    ("terms", 0), (17.2, BRIEF, 12, 9), (23.2, LIGHT, 12, 1), (27.6, AGAIN, 12, PARTS),
    ("terms", 1), (31.7, BRIEF, 13, 8), (38.8, LIGHT, 13, 1),
    ("models", 0), (51.6, THOROUGH, 16, 1), ("models", 1), ("models", 2),
    ("models", 3), (59.5, LIGHT, 10, 1), ("models", 4), (61.7, LIGHT, 8, 1),
    (63.9, AGAIN, 8, PARTS), ("models", 5),
    ("again", 0), (67.5, POOLED, 12, 1), ("without", 0), ("after", 0), (82.8,),
]  # fmt: skip


def test_the_time_left_is_never_wrong_by_more_than_a_third_after_a_tenth():
    course = SelectionProgress([15, 13, 11, 10, 8, 6], 11, 9, PARTS, INTERVALS)
    end, now = COURSE[-1][0], 0.0
    for event in COURSE[:-1]:
        if len(event) == 2:
            course.begin(*event)
            continue
        now, effort, size, count = event
        for _ in range(count):
            course.fitted(effort, size)
        if now > 0.1 * end:
            left = now * (1.0 - course.share) / course.share
            assert left == pytest.approx(end - now, rel=1 / 3), event


def test_nothing_is_left_at_the_end():
    course = SelectionProgress([6], 6, 0, 2)
    for stage in ("models", "again", "without", "after"):
        course.begin(stage, 3 if stage == "again" else 1)
    course.fitted(LIGHT, 6)
    assert course.share == 1.0


def test_rich_models_are_fitted_thoroughly():
    assert effort_of(16, 11) is THOROUGH
    assert effort_of(10, 11) is LIGHT
    assert effort_of(9, 8) is LIGHT
