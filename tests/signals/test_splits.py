import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.errors import SignalError
from trueup.signals import k_fold, split_by_time
from trueup.signals.splits import in_intervals, k_fold_by_time, split_by_group, split_by_sequence

NAMES = [f"run{index}" for index in range(10)]
name_lists = st.lists(st.text(min_size=1, max_size=3), min_size=2, max_size=12, unique=True)
clocks = st.lists(st.floats(1e-3, 2.0), min_size=12, max_size=200).map(np.cumsum)


class TestBySequence:
    @given(name_lists, st.floats(0.01, 0.99), st.integers(0, 100))
    def test_parts_are_disjoint_complete_and_ordered(self, names, share, seed):
        split = split_by_sequence(names, share, seed=seed)
        assert split.training and split.held_out
        assert not set(split.training) & set(split.held_out)
        for part in split:
            assert list(part) == [name for name in names if name in part]
        assert len(split.training) + len(split.held_out) == len(names)

    def test_share_is_kept(self):
        assert len(split_by_sequence(NAMES, 0.3).held_out) == 3
        assert len(split_by_sequence(NAMES, 0.001).held_out) == 1
        assert len(split_by_sequence(NAMES, 0.999).held_out) == 9

    def test_seed_decides_the_draw(self):
        assert split_by_sequence(NAMES, 0.3, seed=4) == split_by_sequence(NAMES, 0.3, seed=4)
        assert len({split_by_sequence(NAMES, 0.3, seed=seed) for seed in range(10)}) > 5

    def test_names_and_indices(self):
        assert split_by_sequence(NAMES, ["run7"]).held_out == ("run7",)
        assert split_by_sequence(range(4), [2, 0]) == ((1, 3), (0, 2))

    @pytest.mark.parametrize(
        ("names", "held_out", "message"),
        [
            (NAMES, ["run11"], r"no sequence 'run11' to hold out. Did you mean 'run1'"),
            (NAMES, NAMES, "training part is empty"),
            (NAMES, [], "held-out part is empty"),
            (NAMES, 1.0, "between 0 and 1"),
            (NAMES, 0.0, "between 0 and 1"),
            (NAMES, "run1", "a list of sequence names"),
            (["only"], 0.5, "split it by time"),
            (["a", "b", "a"], 0.5, "more than once: 'a'"),
            ("abc", 0.5, "found the string 'abc'"),
        ],
    )
    def test_wrong_input(self, names, held_out, message):
        with pytest.raises(SignalError, match=message):
            split_by_sequence(names, held_out)


class TestByGroup:
    GROUPS = {name: f"load{index % 3}" for index, name in enumerate(NAMES)}  # noqa: RUF012

    @given(st.dictionaries(st.text(max_size=3), st.integers(0, 4), min_size=2), st.integers(0, 50))
    def test_no_group_is_in_both_parts(self, groups, seed):
        if len(set(groups.values())) < 2:
            with pytest.raises(SignalError, match="split it by time"):
                split_by_group(groups, 0.5, seed=seed)
            return
        split = split_by_group(groups, 0.4, seed=seed)
        sides = [{groups[name] for name in part} for part in split]
        assert not sides[0] & sides[1]
        assert set(split.training) | set(split.held_out) == set(groups)

    def test_named_group(self):
        assert split_by_group(self.GROUPS, ["load1"]).held_out == ("run1", "run4", "run7")

    def test_unknown_group(self):
        with pytest.raises(SignalError, match="no group 'load9' to hold out"):
            split_by_group(self.GROUPS, ["load9"])


class TestByTime:
    TIMES = 100.0 + np.arange(1001) / 100.0

    def test_last_part(self):
        split = split_by_time(self.TIMES, held_out=0.25)
        assert split.training == ((100.0, pytest.approx(107.49)),)
        assert split.held_out == ((pytest.approx(107.5), pytest.approx(110.0)),)

    def test_gap(self):
        split = split_by_time(self.TIMES, held_out=0.25, gap=0.5)
        assert split.held_out[0][0] == pytest.approx(108.0)
        assert split.training[0][1] == pytest.approx(107.49)

    def test_boundaries_alternate(self):
        split = split_by_time(self.TIMES, boundaries=[102.0, 104.0, 109.0])
        assert [start for start, _ in split.training] == pytest.approx([100.0, 104.0])
        assert [start for start, _ in split.held_out] == pytest.approx([102.0, 109.0])

    @given(clocks, st.floats(0.2, 0.8))
    def test_every_sample_is_in_one_part(self, times, share):
        try:
            split = split_by_time(times, held_out=share)
        except SignalError as error:
            assert "fewer than 2 samples" in str(error)
            return
        training, held_out = (in_intervals(times, part) for part in split)
        assert np.all(training ^ held_out)
        assert times[training].max() < times[held_out].min()

    @given(clocks, st.floats(0.0, 1.0))
    def test_gap_separates_the_boundary_from_what_follows(self, times, gap):
        middle = 0.5 * (times[0] + times[-1])
        try:
            split = split_by_time(times, boundaries=[middle], gap=gap)
        except SignalError as error:
            assert "fewer than 2 samples" in str(error)
            return
        assert split.training[0][1] < middle
        assert split.held_out[0][0] >= middle + gap

    @pytest.mark.parametrize(
        ("settings_", "message"),
        [
            ({}, "exactly one of held_out"),
            ({"held_out": 0.5, "boundaries": [105.0]}, "exactly one of held_out"),
            ({"held_out": 1.0}, "between 0 and 1"),
            ({"boundaries": [99.0]}, "100 to 110 s; found 99"),
            ({"boundaries": [105.0, 103.0]}, "boundaries must increase"),
            ({"boundaries": []}, "found none"),
            (
                {"boundaries": [105.0, 105.01]},
                "the interval 105 to 105.01 s contains fewer than 2 samples",
            ),
            ({"held_out": 0.1, "gap": 2.0}, "after a gap of 2 s"),
            ({"held_out": 0.1, "gap": -1.0}, "gap must be a time of at least 0 s"),
        ],
    )
    def test_wrong_settings(self, settings_, message):
        with pytest.raises(SignalError, match=message):
            split_by_time(self.TIMES, **settings_)

    def test_clock_that_runs_backwards(self):
        with pytest.raises(SignalError, match="must be strictly increasing"):
            split_by_time([0.0, 1.0, 0.5, 2.0], held_out=0.5)


class TestFolds:
    @given(name_lists, st.data())
    def test_each_name_is_held_out_once(self, names, data):
        count = data.draw(st.integers(2, len(names)))
        folds = k_fold(names, count, seed=data.draw(st.integers(0, 9)))
        assert len(folds) == count
        assert sorted(name for fold in folds for name in fold.held_out) == sorted(names)
        sizes = [len(fold.held_out) for fold in folds]
        assert max(sizes) - min(sizes) <= 1
        for fold in folds:
            assert set(fold.training) == set(names) - set(fold.held_out)

    def test_groups_stay_together(self):
        groups = {name: index // 4 for index, name in enumerate(NAMES)}
        held_out = [fold.held_out for fold in k_fold(NAMES, 3, groups=groups)]
        assert sorted(held_out) == [
            ("run0", "run1", "run2", "run3"),
            ("run4", "run5", "run6", "run7"),
            ("run8", "run9"),
        ]

    def test_seed_decides_the_folds(self):
        assert k_fold(NAMES, 3, seed=1) == k_fold(NAMES, 3, seed=1)
        assert k_fold(NAMES, 3, seed=1) != k_fold(NAMES, 3, seed=2)

    @pytest.mark.parametrize(
        ("folds", "groups", "message"),
        [
            (1, None, "integer of at least 2, found 1"),
            (11, None, "11 folds require at least 11 sequences, found 10"),
            (
                3,
                {name: name < "run5" for name in NAMES},
                "3 folds require at least 3 groups, found 2",
            ),
            (2, {"run0": 1}, "'run1' has no group"),
        ],
    )
    def test_wrong_input(self, folds, groups, message):
        with pytest.raises(SignalError, match=message):
            k_fold(NAMES, folds, groups=groups)

    @given(st.integers(20, 300), st.integers(2, 6))
    @settings(max_examples=50)
    def test_each_stretch_of_time_is_held_out_once(self, samples, count):
        times = 5.0 + np.arange(samples) * 0.01
        held_out = np.zeros(samples, dtype=int)
        for split in k_fold_by_time(times, count):
            training, judged = (in_intervals(times, part) for part in split)
            assert np.all(training ^ judged)
            held_out += judged
        assert np.all(held_out == 1)

    def test_gaps_lie_around_the_held_out_stretch(self):
        times = np.arange(1001) / 100.0
        splits = k_fold_by_time(times, 4, gap=0.5)
        assert splits[1].training == ((0.0, 2.49), (5.5, 10.0))
        assert splits[1].held_out == ((3.0, 4.99),)
        assert splits[0].training == ((3.0, 10.0),)
        assert splits[3].held_out == ((8.0, 10.0),)
