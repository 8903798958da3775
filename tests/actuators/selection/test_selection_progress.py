"""Share of a choice that is done: it grows, and follows the work of a choice on recordings."""

import pytest

from trueup.actuators.selection.candidate_fits import AGAIN, BRIEF, LIGHT, POOLED, THOROUGH
from trueup.actuators.selection.progress import SelectionProgress, effort_of

PARTS = 7
# CPU seconds at the end of each fit of a choice on the 12 recordings of an XL330
COURSE = [
    (6, LIGHT, 6, 1), (7, AGAIN, 6, PARTS), (18, LIGHT, 11, 1), (26, AGAIN, 11, PARTS),
    ("terms", 0), (54, BRIEF, 12, 9), (68, LIGHT, 12, 1), (78, AGAIN, 12, PARTS),
    (90, LIGHT, 12, 1), (100, AGAIN, 12, PARTS),
    ("terms", 1), (117, BRIEF, 13, 8), (126, LIGHT, 13, 1), (137, AGAIN, 13, PARTS),
    (147, LIGHT, 13, 1), (157, AGAIN, 13, PARTS),
    ("models", 0), (183, THOROUGH, 16, 1), (194, AGAIN, 16, PARTS),
    ("models", 1), (225, THOROUGH, 14, 1), (235, AGAIN, 14, PARTS), ("models", 2),
    ("models", 3), (244, LIGHT, 10, 1), (252, AGAIN, 10, PARTS),
    ("models", 4), (260, LIGHT, 8, 1), (264, AGAIN, 8, PARTS),
    ("models", 5), (268, LIGHT, 7, 1), (271, AGAIN, 7, PARTS),
    ("again", 0), (280, POOLED, 13, 1), ("again", 1), (291, POOLED, 12, 1),
    ("again", 2), (302, POOLED, 14, 1),
]  # fmt: skip


def test_the_time_left_is_never_wrong_by_half_after_a_tenth():
    course = SelectionProgress([15, 13, 11, 10, 8, 6], 11, 9, PARTS)
    end, now = COURSE[-1][0], 0.0
    for event in COURSE:
        if len(event) == 2:
            course.begin(*event)
            continue
        now, effort, size, count = event
        for _ in range(count):
            course.fitted(effort, size)
        if 0.1 * end < now < 0.97 * end:
            left = now * (1.0 - course.share) / course.share
            assert left == pytest.approx(end - now, rel=0.5), event


def test_nothing_is_left_at_the_end():
    course = SelectionProgress([6], 6, 0, 2)
    for stage in ("models", "again", "without"):
        course.begin(stage, 3 if stage == "again" else 1)
    course.fitted(LIGHT, 6)
    assert course.share == 1.0


def test_rich_models_are_fitted_thoroughly():
    assert effort_of(16, 11) is THOROUGH
    assert effort_of(10, 11) is LIGHT
    assert effort_of(9, 8) is LIGHT
