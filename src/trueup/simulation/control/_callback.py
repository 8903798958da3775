"""C callback of a law, compiled around the functions of :mod:`._step`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import overload

from trueup.simulation.control import _userdata as u
from trueup.simulation.control._memory import argument_builder, load_float
from trueup.simulation.control._offsets import offsets
from trueup.simulation.control._step import (
    N_COLUMNS,
    RUN,
    begin_step,
    end_step,
    offset_table,
    part_table,
)

_TABLE = offset_table(offsets())
_TIME = offsets().data["time"].offset
_TIMESTEP = offsets().model["opt.timestep"].offset


@dataclass(frozen=True)
class Output:
    """One field that a law writes.

    Attributes:
        in_data: the field is one of ``mjData``, otherwise of ``mjModel``.
        pointer: offset of the field's pointer in its struct [bytes].
        group: index of the group of targets it is written for.
        index_by: BY_ID, BY_DOF or BY_CONTROL.
        width: values for each target.
        plan_index: index in the plan of its place in ``userdata``.
    """

    in_data: bool
    pointer: int
    group: int
    index_by: int
    width: int
    plan_index: int

    @property
    def row(self) -> list[int]:
        """Row in the table of outputs."""
        # the order of IN_DATA, POINTER, GROUP, INDEX_BY, WIDTH and PLAN_INDEX in _step
        place = [int(self.in_data), self.pointer, self.group]
        return [*place, self.index_by, self.width, self.plan_index]


def _return_code(value):
    """Failure code of a law's return value; 0 where it returns nothing."""


@overload(_return_code)
def _overload_return_code(value):
    if isinstance(value, types.NoneType):
        return lambda value: 0
    if isinstance(value, types.Integer | types.Boolean):
        return lambda value: int(value)
    return None


@dataclass(frozen=True)
class Callback:
    """A compiled callback and the memory that it refers to.

    Attributes:
        function: the ``numba.cfunc``.
        tables: its table of outputs and that of its arrays.
    """

    function: Any
    tables: tuple[np.ndarray, np.ndarray]

    @property
    def ctypes(self) -> Any:
        """Callback that MuJoCo installs."""
        return self.function.ctypes


def compile_callback(
    function: Any,
    sources: list[Any],
    inputs: tuple[int, int, int, int],
    outputs: list[Output],
    law_number: tuple[int, int],
    declared: Sequence[tuple[str, str, tuple[u.Extent, ...]]],
) -> Callback:
    """Compile the callback of a law.

    Args:
        function: the law, compiled by numba.
        sources: source of each argument of the law (see :mod:`._memory`). Scalars are
            0 the time, 1 the time step, 2 the control period and 3 whether the state is fresh.
        inputs: index in the plan of position, velocity, command and sensors; -1 for one not read.
        outputs: the fields it writes.
        law_number: identity of the law.
        declared: its arrays in ``userdata`` as (kind, name, extents).

    Returns:
        The callback, to be kept as long as it is installed.
    """
    build = argument_builder(sources)
    law_high, law_low = (float(number) for number in law_number)
    rows = np.array([output.row for output in outputs], dtype=np.int64).reshape(-1, N_COLUMNS)
    outputs_address, n_outputs, table = rows.ctypes.data, len(rows), _TABLE.ctypes.data
    parts = part_table(declared)
    parts_address, n_parts = parts.ctypes.data, len(declared)

    def control(model, data):
        action, userdata, targets, plan = begin_step(
            table, model, data, inputs, parts_address, n_parts, law_high, law_low
        )
        code = 0
        if action == RUN:
            timestep = load_float(model + _TIMESTEP)
            period = timestep * load_float(plan + 8 * u.P_PERIOD)
            # a state given to start() is not fresh
            has_run = load_float(userdata + 8 * u.TICKS) + load_float(userdata + 8 * u.OWN_STATE)
            first = 1.0 if has_run == 0.0 else 0.0
            scalars = (load_float(data + _TIME), timestep, period, first)
            arguments = build(model, data, userdata, targets, plan, scalars)
            try:
                code = _return_code(function(*arguments))
            except Exception:
                code = u.RAISED
        if plan != 0:
            end_step(
                table,
                model,
                data,
                userdata,
                targets,
                plan,
                outputs_address,
                n_outputs,
                action,
                code,
            )

    compiled = numba.cfunc(types.void(types.intp, types.intp), error_model="numpy")(control)
    return Callback(compiled, (rows, parts))
