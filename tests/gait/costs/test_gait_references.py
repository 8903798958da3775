"""Reference gaits: our file, MyoAssist's table, published norms."""

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import GaitError
from trueup.gait import Curve, read_reference, read_schwartz
from trueup.gait.costs.reference import GaitReference
from trueup.gait.walk.gait_cycle import resampled


def test_files_give_back_what_was_saved(tmp_path):
    rng = np.random.default_rng(0)
    angles = {name: Curve(rng.normal(size=51), rng.random(51)) for name in ("hip", "knee", "ankle")}
    saved = GaitReference("mine", 1.3, angles, {"SOL": Curve(rng.random(20))}, "a lab")
    saved.save(tmp_path / "mine.json")
    found = read_reference(tmp_path / "mine.json")
    assert (found.name, found.speed, found.source) == ("mine", 1.3, "a lab")
    for name, curve in angles.items():
        np.testing.assert_allclose(found.angles[name].mean, curve.mean, rtol=1e-14)
        np.testing.assert_allclose(found.angles[name].sd, curve.sd, rtol=1e-14)
    np.testing.assert_array_equal(found.emg["SOL"].mean, saved.emg["SOL"].mean)


def test_curves_close_in_themselves():
    phase = np.arange(50) / 50
    fine = resampled(np.cos(2 * np.pi * phase), 200)
    np.testing.assert_allclose(fine, np.cos(2 * np.pi * np.arange(200) / 200), atol=5e-3)


def test_known_references(recorded_data):
    table = read_reference(recorded_data / "gait_norms/myoassist/ref_kinematics_radians.csv")
    knee = np.rad2deg(table.angles["knee"].mean)
    assert knee.min() > -5.0 and 50.0 < knee.max() < 75.0
    assert table.leg_angles().shape == (3, 100)
    norm = read_schwartz(recorded_data / "gait_norms/Schwartz2008.json", "Free")
    knee = np.rad2deg(norm.angles["knee"].mean)
    assert len(knee) == 50 and 50.0 < knee.max() < 65.0
    assert norm.angles["hip"].sd is not None
    with pytest.raises(GaitError, match="no speed 'Walking'; it has"):
        read_schwartz(recorded_data / "gait_norms/Schwartz2008.json", "Walking")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "is missing"),
        ("{", "not a JSON file"),
        ({"version": 2}, "supports version 1"),
        ({"angles": {}}, "angles must contain curves"),
        ({"angles": {"hip": {"mean": [1.0] * 5}}}, "at least 10 numbers"),
        ({"angles": {"hip": {"mean": [1.0] * 12, "sd": [1.0] * 11}}}, "12 means and 11"),
        ({"speed": "fast"}, "speed is 'fast'"),
    ],
)
def test_malformed_files(tmp_path, content, message):
    path = tmp_path / "bad.json"
    if not isinstance(content, str):
        whole = {"format": "trueup gait reference", "version": 1, "angles": {"hip": {}}}
        content = json.dumps(whole | content)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(GaitError, match=message):
        read_reference(path)


def test_tables_of_another_form(tmp_path):
    np.savetxt(tmp_path / "short.csv", np.zeros((10, 7)), delimiter=",")
    with pytest.raises(GaitError, match="xpected 100 rows of 7"):
        read_reference(tmp_path / "short.csv")
    with pytest.raises(GaitError, match="cannot read"):
        read_reference(tmp_path / "absent.csv")
    only = GaitReference("half", None, {"hip": Curve(np.zeros(20))})
    with pytest.raises(GaitError, match="has no 'knee', 'ankle'"):
        only.leg_angles()


@given(
    st.recursive(
        st.none() | st.floats() | st.text(),
        lambda c: (
            st.lists(c)
            | st.dictionaries(
                st.sampled_from(
                    ["format", "version", "angles", "hip", "mean", "sd", "emg", "speed"]
                ),
                c,
            )
        ),
    )
)
def test_any_file_is_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "any.json"
    if isinstance(content, dict):
        content |= {"format": "trueup gait reference", "version": 1}
    path.write_text(json.dumps(content), encoding="utf-8")
    with contextlib.suppress(GaitError):
        read_reference(path)
