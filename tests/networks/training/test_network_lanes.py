"""Lanes: every sample once an epoch, burn-in from the same recording, repeatable cuts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.networks.training.lanes import Lanes

lanes_of_anything = st.builds(
    Lanes,
    st.lists(st.integers(2, 400), min_size=1, max_size=5),
    batch=st.integers(1, 12),
    chunk=st.integers(1, 80),
    burn_in=st.integers(0, 40),
    cold_start_share=st.sampled_from([0.0, 0.3, 1.0]),
    mirror_share=st.sampled_from([0.0, 0.5]),
    seed=st.integers(0, 5),
)


@given(lanes=lanes_of_anything, epoch=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_every_sample_is_supervised_once_an_epoch_and_no_window_is_run_again(lanes, epoch):
    seen = np.zeros(lanes.total, int)
    run = 0
    for chunk in lanes.chunks(epoch):
        np.add.at(seen, chunk.samples[chunk.supervised], 1)
        assert chunk.samples.shape == chunk.supervised.shape
        assert chunk.supervised[0].all()  # the longest lane fills its chunk
        run += chunk.samples.shape[1]
    assert (seen == 1).all()
    assert run <= lanes.total + lanes.chunk * lanes.batch * 50


@given(lanes=lanes_of_anything)
@settings(max_examples=40, deadline=None)
def test_chunks_of_a_lane_follow_on_each_other_and_burn_in_comes_before(lanes):
    recording = np.repeat(np.arange(len(lanes.lengths)), lanes.lengths)
    previous = None
    for chunk in lanes.chunks(0):
        first = chunk.samples[:, 0]
        if chunk.starts:
            if lanes.burn_in:
                expected = first[:, None] + np.arange(-lanes.burn_in, 0)
                cold = (chunk.burn_in == first[:, None]).all(axis=1)
                warm = ~cold
                np.testing.assert_array_equal(chunk.burn_in[warm], expected[warm])
                before = recording[chunk.burn_in[warm]]
                assert (before == recording[first][warm][:, None]).all()
                assert cold[np.isin(first, lanes.first)].all()
        else:
            assert previous is not None
            np.testing.assert_array_equal(first, previous[: len(first)] + 1)
        assert (recording[chunk.samples] == recording[first][:, None]).all()
        previous = chunk.samples[:, -1]


def test_cuts_repeat_with_the_seed_and_fall_elsewhere_in_each_epoch():
    def starts(seed: int, epoch: int) -> list[int]:
        lanes = Lanes([500, 700], 8, 50, 20, 0.2, 0.5, seed)
        return [int(s) for wave in lanes.waves(epoch) for s in wave.starts]

    assert starts(1, 3) == starts(1, 3)
    assert starts(1, 3) != starts(1, 4)
    assert starts(1, 3) != starts(2, 3)


def test_recordings_start_cold_and_the_share_within_is_as_asked():
    lanes = Lanes([4000] * 10, 100, 20, 10, 0.25)
    cold = np.concatenate([wave.cold for epoch in range(5) for wave in lanes.waves(epoch)])
    starts = np.concatenate([wave.starts for epoch in range(5) for wave in lanes.waves(epoch)])
    at_start = np.isin(starts, lanes.first)
    assert cold[at_start].all()
    assert abs(cold[~at_start].mean() - 0.25) < 0.05


def test_lanes_fill_their_chunks():
    lanes = Lanes([6000] * 7, 128, 100, 100)
    chunks = list(lanes.chunks(0))
    run = sum(chunk.samples.size for chunk in chunks)
    assert run < 1.25 * lanes.total
    assert chunks[0].progress == 0.0
    assert all(0.0 <= chunk.progress < 1.0 for chunk in chunks)
