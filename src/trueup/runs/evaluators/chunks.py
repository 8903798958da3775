"""Division of a batch of candidates into chunks, one chunk a message to a worker."""

import itertools
import math

_CHUNKS_A_WORKER = 4  # so that a worker that is done early takes work from a slower one
_LATENCIES_A_CHUNK = 10.0  # a chunk takes so much longer than the way there and back
_FORGETTING = 0.5  # weight of the newest batch in the mean time of a candidate


class Chunks:
    """Cuts batches into chunks that hide the latency of a worker, and keep all workers busy.

    Every worker gets a chunk, and up to four where the candidates take long enough. The answers do
    not depend on how a batch is cut, so the cut may depend on measured times.

    Args:
      latency: time from the end of one chunk to the start of the next on the same worker [s].
    """

    def __init__(self, latency: float):
        self.latency = latency
        self.seconds: float | None = None
        """Mean time of a candidate [s]; None before the first answer."""

    def measured(self, candidates: int, seconds: float) -> None:
        """Take the time that some candidates took [s], summed over the workers."""
        if candidates:
            mean = seconds / candidates
            old = mean if self.seconds is None else self.seconds
            self.seconds = (1.0 - _FORGETTING) * old + _FORGETTING * mean

    def cut(self, candidates: int, workers: int) -> list[slice]:
        """Slices of a batch, in order, whose lengths differ by one at most, the longer ones first.

        Workers that are equally fast so end with numbers of candidates that differ by one at most.
        """
        workers = max(1, min(workers, candidates))
        most = min(candidates, _CHUNKS_A_WORKER * workers)
        if self.seconds is None:
            count = most
        else:
            worth = candidates * self.seconds / (_LATENCIES_A_CHUNK * self.latency)
            # whole rounds: as many chunks for one worker as for another
            rounds = max(1, min(_CHUNKS_A_WORKER, math.floor(worth / workers)))
            count = min(most, rounds * workers)
        each, longer = divmod(candidates, count)
        edges = [k * each + min(k, longer) for k in range(count + 1)]
        return [slice(first, stop) for first, stop in itertools.pairwise(edges)]
