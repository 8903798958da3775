"""No sample trains and tests; the held-out group is seen once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_joints import linear_series

from trueup.errors import ExperimentError, SignalError
from trueup.networks import split_global, split_lomo
from trueup.networks.data.splits import split_held_out

WEIGHTS = np.ones((1, 3))


def stamped(lengths, groups=None):
    """Recordings whose torque numbers the samples, over all of them."""
    found, first = [], 0
    for i, count in enumerate(lengths):
        series = linear_series(WEIGHTS, count, (groups or "abcdef")[i], f"file{i}", i)
        object.__setattr__(series, "torque", np.arange(first, first + count, dtype=float))
        first += count
        found.append(series)
    return found, first


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("groups", ["aabbccddeeff", "aaaabbbbcccc", "aaabbbccdd", "abbbbbbbba"])
def test_no_group_is_tested_or_validated_entirely(groups, seed):
    series = [linear_series(WEIGHTS, 20, g, f"file{i}", i) for i, g in enumerate(groups)]
    split = split_global(series, 0.6, 0.2, by="file", seed=seed)
    assert {each.group for each in split.training} == set(groups)
    for part in (split.validation, split.test):
        names = [each.group for each in part]
        for group in set(names):
            assert names.count(group) <= np.ceil(len(names) * groups.count(group) / len(groups)) + 1


def numbers(parts):
    return np.concatenate([part.torque for part in parts]) if parts else np.empty(0)


@given(
    st.lists(st.integers(40, 300), min_size=1, max_size=5),
    st.floats(0.3, 0.7),
    st.floats(0.05, 0.25),
)
def test_stretches_of_time_cover_every_sample_once(lengths, training, validation):
    series, total = stamped(lengths)
    split = split_global(series, training, validation)
    parts = [numbers(part) for part in (split.training, split.validation, split.test)]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(total))
    for each in series:
        inside = [p[(p >= each.torque[0]) & (p <= each.torque[-1])] for p in parts]
        assert inside[0].max() < inside[1].min()
        assert inside[1].max() < inside[2].min()
    for part, before in zip(split.test, split.warm_up, strict=True):
        assert before is not None
        assert before.torque[-1] + 1 == part.torque[0]
        assert part.start == pytest.approx(before.start + len(before) / part.rate)


@given(st.integers(3, 6), st.integers(0, 5))
def test_whole_files_go_to_one_part(count, seed):
    series, _ = stamped([30] * count)
    split = split_global(series, by="file", seed=seed)
    names = [[part.name for part in p] for p in (split.training, split.validation, split.test)]
    assert sorted(n for part in names for n in part) == [each.name for each in series]
    assert all(names)
    again = split_global(series, by="file", seed=seed)
    assert [part.name for part in again.test] == names[2]
    assert split.warm_up == (None,) * len(split.test)


def test_the_group_left_out_is_in_the_test_alone():
    series, _ = stamped([100] * 4, "abba")
    folds = split_lomo(series)
    assert [fold.name for fold in folds] == ["a", "b"]
    for fold in folds:
        assert {part.group for part in fold.test} == {fold.name}
        assert fold.name not in {part.group for part in (*fold.training, *fold.validation)}
        assert fold.validation
        assert [len(part) for part in fold.test] == [100, 100]
        seen = np.concatenate([numbers(fold.training), numbers(fold.validation)])
        assert len(np.unique(seen)) == len(seen) == 200


def test_a_file_can_be_held_out_by_name():
    series, _ = stamped([100] * 3, "aab")
    split = split_held_out(series, "file1")
    assert [part.name for part in split.test] == ["file1"]
    assert {part.name for part in split.training} == {"file0", "file2"}
    with pytest.raises(SignalError, match="file0"):
        split_held_out(series, "file9")


def test_splits_that_cannot_be_are_refused():
    series, _ = stamped([100, 100], "aa")
    with pytest.raises(SignalError, match="at least two groups"):
        split_lomo(series)
    with pytest.raises(SignalError, match="none remains for training"):
        split_held_out(series, "a")
    with pytest.raises(SignalError, match="into 3 parts"):
        split_global(series, by="file")
    with pytest.raises(SignalError, match="too few"):
        split_global(stamped([5])[0])
    with pytest.raises(ExperimentError, match="add up"):
        split_global(series, 0.9, 0.3)
