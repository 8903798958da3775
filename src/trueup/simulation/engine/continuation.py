"""Segments that continue from the previous one: open entries of their initial state.

A segment in the middle of a recording starts from its measured state. Activations, delay buffers
and unmeasured joints depend on the previous commands and on the candidate. So every candidate
simulates the recording once from segment to segment: at the start of each, the measured part of
the state is reset and the rest continues.
"""

from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from trueup.simulation.engine.segment import FULL_PHYSICS, INTEGRATION, Segment
from trueup.simulation.targets.resolution import FieldWrite

Writes = Sequence[tuple[FieldWrite, np.ndarray]]


class Continuation:
    """States at the start of segments that continue from earlier ones.

    Args:
      model: the model.
      chains: consecutive segments of each recording in the order of time. All but the first of a
        chain list the columns that they take over in ``carried``.
      places: index of a segment in the engine, by its identity; other segments only lead to
        those.
      rows: state row ``mjSTATE_INTEGRATION`` that each segment of each chain begins with.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        chains: Sequence[Sequence[Segment]],
        places: dict[int, int],
        rows: list[np.ndarray],
    ):
        self.timestep = float(model.opt.timestep)
        # segments after the last one of the engine are not needed
        lengths = [
            max([k + 1 for k, s in enumerate(c) if id(s) in places], default=0) for c in chains
        ]
        kept = [
            (c[:length], r) for c, length, r in zip(chains, lengths, rows, strict=True) if length
        ]
        # each chain runs in the simulations of its last segment, and simulations come in order
        kept.sort(key=lambda pair: places[id(pair[0][-1])])
        self.chains = [tuple(chain) for chain, _ in kept]
        self.rows = [r for _, r in kept]
        self.places = [[places.get(id(s), -1) for s in chain] for chain in self.chains]
        self.carried = [[_columns(model, s) for s in chain] for chain in self.chains]
        self.taken_over = [
            (place, columns)
            for chain, own in zip(self.places, self.carried, strict=True)
            for place, columns in zip(chain, own, strict=True)
            if place >= 0 and columns.size
        ]
        """Segment of the engine and the columns of its state row that are carried over."""

    def run(
        self,
        batch: Any,
        n: int,
        count: int,
        writes: Writes,
        longest: int,
        advance: Callable[[np.ndarray, int, np.ndarray], None],
        fill: Callable[[np.ndarray, np.ndarray], None],
    ) -> list[np.ndarray]:
        """Simulate all chains for ``n`` candidates.

        Args:
          batch: the batch, with the fields of the candidates written; its states are overwritten.
          n: number of candidates.
          count: simulations of each candidate in the batch, the first of which run the chains.
          writes: state fields and their values for the candidates.
          longest: steps simulated at once.
          advance: simulates ``(simulations, steps, controls (simulations, steps, nu))`` and records
            those in which MuJoCo raises.
          fill: sets open states of simulations to the steady state under their first command
            ``(simulations, nu)``.

        Returns:
          Values ``(n, columns)`` for each pair of ``taken_over``.
        """
        found: dict[int, np.ndarray] = {}
        lanes = [np.arange(n) * count + chain[-1] for chain in self.places]
        stage = [0] * len(self.chains)
        done = [0] * len(self.chains)
        for c, lane in enumerate(lanes):
            batch.state[lane] = self.rows[c][0]
            self._write(batch, lane, c, 0, writes)
            fill(lane, np.tile(self.chains[c][0].first_control, (n, 1)))
        while running := [c for c in range(len(lanes)) if stage[c] + 1 < len(self.chains[c])]:
            left = {c: self._steps(c, stage[c]) - done[c] for c in running}
            todo = min([longest, *left.values()])
            controls = np.stack(
                [self.chains[c][stage[c]].controls[done[c] : done[c] + todo] for c in running]
            )
            ids = np.stack([lanes[c] for c in running], axis=1).reshape(-1)
            advance(ids, todo, np.tile(controls, (n, 1, 1)))
            for c in running:
                done[c] += todo
                if done[c] == self._steps(c, stage[c]):
                    stage[c], done[c] = stage[c] + 1, 0
                    self._seat(batch, lanes[c], c, stage[c], writes, found)
        return [found[place] for place, _ in self.taken_over]

    def _steps(self, chain: int, stage: int) -> int:
        """Steps from the start of a segment of a chain to that of the next."""
        first, second = self.chains[chain][stage], self.chains[chain][stage + 1]
        return round((second.clock - first.clock) / self.timestep)

    def _seat(
        self,
        batch: Any,
        lane: np.ndarray,
        chain: int,
        stage: int,
        writes: Writes,
        found: dict[int, np.ndarray],
    ) -> None:
        """Set the measured state at the start of a segment; keep the rest."""
        columns, place = self.carried[chain][stage], self.places[chain][stage]
        kept = batch.state[lane][:, columns]
        if place >= 0 and columns.size:
            found[place] = kept
        rows = np.tile(self.rows[chain][stage], (len(lane), 1))
        rows[:, columns] = kept
        batch.state[lane] = rows
        self._write(batch, lane, chain, stage, writes)

    def _write(self, batch: Any, lane: np.ndarray, chain: int, stage: int, writes: Writes) -> None:
        """Write the initial states that are parameters.

        Those of one segment must not affect others: the search perturbs them together.
        """
        segment, only_leads = self.chains[chain][stage], self.places[chain][stage] < 0
        for write, values in writes:
            everywhere = not write.sequence and segment.begins
            if everywhere or (only_leads and write.sequence and segment.sequence == write.sequence):
                rows = batch.bind(write.field.removeprefix("state."))
                rows[np.ix_(lane, write.entries)] = values


def _columns(model: mujoco.MjModel, segment: Segment) -> np.ndarray:
    """Columns of a row ``mjSTATE_INTEGRATION`` that a segment takes over."""
    if segment.carried is None:
        return np.zeros(0, int)
    places = np.empty(mujoco.mj_stateSize(model, FULL_PHYSICS))
    numbers = np.arange(float(mujoco.mj_stateSize(model, INTEGRATION)))
    mujoco.mj_extractState(model, numbers, INTEGRATION, places, FULL_PHYSICS)
    return places.astype(int)[segment.carried]
