"""Division of a batch of candidates into chunks, one per message to a worker."""

import itertools
import math

_CHUNKS_A_WORKER = 4  # load balancing: a fast worker takes chunks from a slower one
_LATENCIES_A_CHUNK = 10.0  # minimum duration of a chunk, in latencies
_FORGETTING = 0.5  # weight of the newest batch in the mean time of a candidate


class Chunks:
    """Division of batches into chunks that hide the latency, and keep all workers busy.

    Every worker gets a chunk, and up to four if the candidates take long enough. The answers do not
    depend on the division, so it may depend on measured times.

    Args:
      latency: time from the end of one chunk to the start of the next on the same worker [s].
    """

    def __init__(self, latency: float):
        self.latency = latency
        self.seconds: float | None = None
        """Mean time of a candidate [s]; None before the first answer."""

    def measured(self, candidates: int, seconds: float) -> None:
        """Record the evaluation time of some candidates [s], summed over the workers."""
        if candidates:
            mean = seconds / candidates
            old = mean if self.seconds is None else self.seconds
            self.seconds = (1.0 - _FORGETTING) * old + _FORGETTING * mean

    def cut(self, candidates: int, workers: int) -> list[slice]:
        """Slices of a batch, in order, with lengths that differ by at most one, longer ones first.

        So the numbers of candidates of equally fast workers differ by at most one.
        """
        workers = max(1, min(workers, candidates))
        most = min(candidates, _CHUNKS_A_WORKER * workers)
        if self.seconds is None:
            count = most
        else:
            worth = candidates * self.seconds / (_LATENCIES_A_CHUNK * self.latency)
            # whole rounds: equally many chunks for each worker
            rounds = max(1, min(_CHUNKS_A_WORKER, math.floor(worth / workers)))
            count = min(most, rounds * workers)
        each, longer = divmod(candidates, count)
        edges = [k * each + min(k, longer) for k in range(count + 1)]
        return [slice(first, stop) for first, stop in itertools.pairwise(edges)]
