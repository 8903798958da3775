"""Division of recordings into lanes, trained on as a batch, chunk by chunk.

A lane is a section of one recording. In each epoch every sample belongs to exactly one lane, and
every step of a lane is supervised once: windows do not overlap. The cuts are different in each
epoch, so that no sample is always at the start of a chunk.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Wave:
    """A batch of lanes, the longest first.

    Attributes:
        starts: first sample of each lane in the stacked recordings, shape (lanes,).
        lengths: number of samples of each lane, shape (lanes,).
        cold: whether a lane begins with a cold start, shape (lanes,), bool: those at the start of
            a recording, and some within.
        mirrored: whether all signs of a lane are inverted, shape (lanes,), bool.
    """

    starts: np.ndarray
    lengths: np.ndarray
    cold: np.ndarray
    mirrored: np.ndarray


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive samples of the unfinished lanes of a wave, which are its first.

    Attributes:
        samples: index of each step in the stacked recordings, shape (lanes, steps).
        supervised: whether a step belongs to its lane, shape (lanes, steps), bool; the others pad
            lanes that end within the chunk.
        nominal: number of steps of a full chunk.
        starts: whether a wave starts here; otherwise the state continues.
        burn_in: index of the samples before the start of a wave, shape (lanes, burn-in); for a
            cold start the first sample, repeated.
        mirrored: whether all signs of a lane are inverted, shape (lanes,), bool.
        progress: completed fraction of the epoch before this chunk, 0 to 1.
    """

    samples: np.ndarray
    supervised: np.ndarray
    nominal: int
    starts: bool
    burn_in: np.ndarray
    mirrored: np.ndarray
    progress: float


class Lanes:
    """The chunks of each epoch.

    Args:
        lengths: number of samples of each recording, in the order of stacking.
        batch: number of lanes in a batch.
        chunk: number of unrolled steps.
        burn_in: number of samples before a lane that initialise the state.
        cold_start_share: fraction of the lanes within a recording with a cold start.
        mirror_share: fraction of mirrored lanes.
        seed: seed of the cuts.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        batch: int,
        chunk: int,
        burn_in: int = 0,
        cold_start_share: float = 0.0,
        mirror_share: float = 0.0,
        seed: int = 0,
    ):
        self.lengths = np.asarray(lengths, dtype=np.int64)
        self.first = np.cumsum(self.lengths) - self.lengths
        self.total = int(self.lengths.sum())
        self.batch = batch
        self.chunk = max(1, min(chunk, int(self.lengths.max())))
        self.burn_in = burn_in
        self.cold_start_share = cold_start_share
        self.mirror_share = mirror_share
        self.seed = seed
        share = -(-self.total // batch)
        self.lane_length = -(-share // self.chunk) * self.chunk

    def waves(self, epoch: int) -> list[Wave]:
        """Lanes of an epoch; deterministic for a seed and an epoch."""
        random = np.random.default_rng([self.seed, epoch])
        starts, lengths, cold = [], [], []
        for first, count in zip(self.first, self.lengths, strict=True):
            # the first lane is long enough for the burn-in of all others
            shift = self.burn_in + int(random.integers(self.lane_length)) + 1
            cuts = np.concatenate([[0], np.arange(shift, count, self.lane_length), [count]])
            starts.append(first + cuts[:-1])
            lengths.append(np.diff(cuts))
            drawn = random.random(len(cuts) - 1) < self.cold_start_share
            drawn[0] = True
            cold.append(drawn)
        lane_starts, lane_lengths = np.concatenate(starts), np.concatenate(lengths)
        lane_cold = np.concatenate(cold)
        mirrored = random.random(len(lane_starts)) < self.mirror_share
        order = random.permutation(len(lane_starts))
        parts = np.array_split(order, max(1, round(len(order) / self.batch)))
        parts = [part[np.argsort(-lane_lengths[part], kind="stable")] for part in parts]
        return [
            Wave(lane_starts[part], lane_lengths[part], lane_cold[part], mirrored[part])
            for part in parts
        ]

    def chunks(self, epoch: int) -> Iterator[Chunk]:
        """Chunks of an epoch in the order of training."""
        waves = self.waves(epoch)
        counts = [-(-int(wave.lengths[0]) // self.chunk) for wave in waves]
        done = 0
        for wave, count in zip(waves, counts, strict=True):
            # cold start: the first sample is repeated instead of the samples before
            before = np.arange(self.burn_in) - self.burn_in
            burn_in = wave.starts[:, None] + np.where(wave.cold[:, None], 0, before)
            for index in range(count):
                samples, supervised = self._samples(wave, index)
                yield Chunk(
                    samples,
                    supervised,
                    nominal=self.chunk * len(wave.starts),
                    starts=index == 0,
                    burn_in=burn_in,
                    mirrored=wave.mirrored,
                    progress=done / sum(counts),
                )
                done += 1

    def _samples(self, wave: Wave, index: int) -> tuple[np.ndarray, np.ndarray]:
        steps = np.arange(index * self.chunk, (index + 1) * self.chunk)
        lengths = wave.lengths[wave.lengths > steps[0]][:, None]
        steps = steps[steps < lengths[0]]
        starts = wave.starts[: len(lengths), None]
        return starts + np.minimum(steps, lengths - 1), steps < lengths
