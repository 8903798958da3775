"""Initial states of candidates on the loops of their models.

A recording determines joints that were not measured by closing loops with measured ones. A
candidate with other zeros of joints, lengths of links or initial states closes them elsewhere; an
open loop would be closed by a jerk of the constraint.
"""

from collections.abc import Callable, Sequence
from copy import copy

import mujoco
import numpy as np

from trueup.simulation.engine.segment import Segment
from trueup.simulation.loops.closure import Loop, closed_loops

GEOMETRY = (
    *("qpos0", "body_pos", "body_quat", "jnt_pos", "jnt_axis", "site_pos", "site_quat"),
    *("eq_data", "tendon_length0", "wrap_prm"),
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
        field: Callable[[str], np.ndarray],
        written: Sequence[str],
    ) -> None:
        """Close the loops of changed states, in place.

        Args:
          states: states of all candidates x segments ``(n count, size)``, the time first.
          base: states of the segments ``(count, size)``, with closed loops.
          count: number of segments.
          field: values of a field of the model in all simulations, by its name.
          written: fields that differ between candidates.
        """
        if not self._groups:
            return
        model = self._model
        state = slice(1, 1 + model.nq + model.nv)
        moved = (states[:, state] != np.tile(base[:, state], (len(states) // count, 1))).any(axis=1)
        changed = {
            name: np.any(field(name)[: len(states)] != np.asarray(getattr(model, name)))
            for name in written
            if name in GEOMETRY
        }
        shift = np.zeros((len(states), model.nq))
        if changed.pop("qpos0", False):
            shift = field("qpos0")[: len(states)] - model.qpos0
            moved |= shift.any(axis=1)
        shapes = {name: field(name) for name, differs in changed.items() if differs}
        for loops, places in self._groups:
            rows = (np.arange(len(states) // count)[:, None] * count + places).reshape(-1)
            if not shapes:
                self._settle(model, loops, states, shift, rows[moved[rows]])
            for own in rows.reshape(-1, len(places)) if shapes else ():
                # segments of a candidate have one model
                candidate = copy(model)
                for name, values in shapes.items():
                    getattr(candidate, name)[...] = values[own[0]]
                self._settle(candidate, loops, states, shift, own)

    def _settle(
        self,
        model: mujoco.MjModel,
        loops: Sequence[Loop],
        states: np.ndarray,
        shift: np.ndarray,
        rows: np.ndarray,
    ) -> None:
        if not rows.size:
            return
        nq, nv = model.nq, model.nv
        # only the displacement from qpos0 enters
        qpos = states[rows, 1 : 1 + nq] - shift[rows]
        qvel = states[rows, 1 + nq : 1 + nq + nv]
        for loop in loops:
            loop.of(model).nearest(qpos, qvel)
        states[rows, 1 : 1 + nq] = qpos + shift[rows]
        states[rows, 1 + nq : 1 + nq + nv] = qvel
