"""Initial states of candidates on the loops of their models.

A recording determines joints that were not measured by closing loops with measured ones. A
candidate with other zeros of joints, lengths of links or initial states closes them elsewhere; an
open loop would be closed by a jerk of the constraint.
"""

from collections.abc import Callable, Sequence

import mujoco
import numpy as np

from trueup.simulation.engine.segment import Segment
from trueup.simulation.loops.closure import Loop, closed_loops

SHAPES = frozenset(
    {
        *("qpos0", "body_pos", "body_quat", "jnt_pos", "jnt_axis", "site_pos", "site_quat"),
        *("eq_data", "tendon_length0", "wrap_prm"),
    }
)
"""Fields of a model that change where its loops close."""


class ClosedStarts:
    """Closes the loops of initial states of segments, by moving the joints that follow.

    Args:
      model: the model.
      segments: segments with the degrees of freedom that follow others by loops.
    """

    def __init__(self, model: mujoco.MjModel, segments: Sequence[Segment]):
        self._model = model
        groups: dict[tuple[int, ...], list[int]] = {}
        for place, segment in enumerate(segments):
            if segment.following:
                groups.setdefault(segment.following, []).append(place)
        self._groups = [
            (closed_loops(model, set(range(model.nv)) - set(following))[0], np.array(places))
            for following, places in groups.items()
        ]

    def close(
        self,
        states: np.ndarray,
        base: np.ndarray,
        count: int,
        model_of: Callable[[int], mujoco.MjModel] | None,
    ) -> None:
        """Close the loops of changed states, in place.

        Args:
          states: states of all candidates x segments ``(n count, size)``, the time first.
          base: states of the segments ``(count, size)``, with closed loops.
          count: number of segments.
          model_of: model of a simulation, if candidates have other shapes; None: the model.
        """
        model = self._model
        state = slice(1, 1 + model.nq + model.nv)
        for loops, places in self._groups:
            rows = np.arange(len(states) // count)[:, None] * count + places
            if model_of is None:
                moved = states[rows][:, :, state] != base[places][None, :, state]
                self._settle(model, loops, states, rows[moved.any(axis=2)])
            else:
                for own in rows:
                    self._settle(model_of(int(own[0])), loops, states, own)

    def _settle(
        self, model: mujoco.MjModel, loops: Sequence[Loop], states: np.ndarray, rows: np.ndarray
    ) -> None:
        if not rows.size:
            return
        nq, nv = model.nq, model.nv
        qpos, qvel = states[rows, 1 : 1 + nq], states[rows, 1 + nq : 1 + nq + nv]
        for loop in loops:
            loop.of(model).nearest(qpos, qvel)
        states[rows, 1 : 1 + nq] = qpos
        states[rows, 1 + nq : 1 + nq + nv] = qvel
