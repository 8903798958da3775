"""Remarks on fitted parameters, and what they mean."""

import pytest

from trueup.actuators.report.parameter_section import MEANINGS, meanings_of, remark_of

FINE = {"fitted": True, "at_bound": False, "determined": True, "unreliable": False}


@pytest.mark.parametrize(
    ("row", "remark"),
    [
        ({}, ""),
        ({"fitted": False, "determined": False}, "not fitted"),
        ({"at_bound": True}, "at a bound"),
        ({"determined": False, "unreliable": True}, "unknown"),
        ({"at_bound": True, "unreliable": True}, "at a bound; unreliable"),
    ],
)
def test_what_is_remarked(row, remark):
    assert remark_of({**FINE, **row}) == remark


def test_each_remark_that_occurs_is_explained_once():
    said = meanings_of(["", "unknown", "at a bound; unreliable", "unknown", "not fitted"])
    assert [sentence.split(":")[0] for sentence in said] == list(MEANINGS)
    assert meanings_of(["", "not fitted"]) == []
