"""What the callback does around a law: whether it runs, what it reads, where its outputs go.

The functions here are the same for every law and every model, so they are compiled once and kept on
disk. They know no address of their own: the first argument of each is the address of the table of
offsets of the running MuJoCo. What they do know, the layout of the header and of the plan, has a
version (``PLAN_VERSION``) that goes up with each change of it.
"""

from typing import Any

import numba
import numpy as np

from trueup.simulation.control import _userdata as u
from trueup.simulation.control._memory import (
    load_float,
    load_int32,
    load_int64,
    store_float,
    store_int32,
)
from trueup.simulation.control._offsets import Offsets

# how an output finds its element from the id of a target
BY_ID, BY_DOF, BY_CONTROL = 0, 1, 2

# what begin_step() tells the callback to do
LEAVE, HOLD, RUN = 0, 1, 2

N_COLUMNS = 6

_DATA_FIELDS = ("time", "userdata", "ctrl", "qpos", "qvel", "sensordata")
_MODEL_FIELDS = (
    "nuserdata",
    "nnumeric",
    "ntuple",
    "numeric_adr",
    "numeric_size",
    "numeric_data",
    "tuple_adr",
    "tuple_size",
    "tuple_objid",
    "tuple_objprm",
    "jnt_qposadr",
    "jnt_dofadr",
    "actuator_ctrladr",
    "sensor_adr",
    "sensor_dim",
    "opt.timestep",
    "opt.integrator",
)

# index in the table of offsets; compiled code takes module constants as they are
_TIME = 0
_USERDATA = 1
_CTRL = 2
_QPOS = 3
_QVEL = 4
_SENSORDATA = 5
_NUSERDATA = 6
_NNUMERIC = 7
_NTUPLE = 8
_NUMERIC_ADR = 9
_NUMERIC_SIZE = 10
_NUMERIC_DATA = 11
_TUPLE_ADR = 12
_TUPLE_SIZE = 13
_TUPLE_OBJID = 14
_TUPLE_OBJPRM = 15
_JNT_QPOSADR = 16
_JNT_DOFADR = 17
_ACTUATOR_CTRLADR = 18
_SENSOR_ADR = 19
_SENSOR_DIM = 20
_TIMESTEP = 21
_INTEGRATOR = 22
_WARNING_NUMBER = 23
_RK4 = 1

_MAGIC, _SIZE, _FAILURE, _FAILURE_TIME, _MODE = u.MAGIC, u.SIZE, u.FAILURE, u.FAILURE_TIME, u.MODE
_TIME_LAST, _STEPS, _HALF_STEP, _TICKS = u.TIME_LAST, u.STEPS, u.HALF_STEP, u.TICKS
_OWN_STATE, _HEADER_SIZE = u.OWN_STATE, u.HEADER_SIZE
_IDLE, _USERDATA_MAGIC = u.IDLE, float(u.USERDATA_MAGIC)


def offset_table(offsets: Offsets) -> np.ndarray:
    """The offsets that the functions here need, in the order of their constants."""
    places = [offsets.data[name].offset for name in _DATA_FIELDS]
    places += [offsets.model[name].offset for name in _MODEL_FIELDS]
    return np.array([*places, offsets.warning_number], dtype=np.int64)


def _compiled(signature: str) -> Any:
    """Compile for one signature, with a cache on disk unless no folder can be written.

    The signature also keeps numba from compiling once for each constant argument.
    """

    def decorate(function: Any) -> Any:
        try:
            return numba.njit(signature, cache=True, forceinline=True)(function)
        except RuntimeError:
            return numba.njit(signature, forceinline=True)(function)

    return decorate


@_compiled("intp(intp, intp, intp)")
def _place(table, struct, field):
    """Address of a field."""
    return struct + load_int64(table + 8 * field)


@_compiled("intp(intp, intp, intp)")
def _array(table, struct, field):
    """Address of the array, or value of the size, that a field holds."""
    return load_int64(_place(table, struct, field))


@_compiled("float64(intp, intp)")
def _get(base, index):
    return load_float(base + 8 * index)


@_compiled("void(intp, intp, float64)")
def _put(base, index, value):
    store_float(base + 8 * index, value)  # pyright: ignore[reportCallIssue]


@_compiled("intp(intp, intp)")
def _find_plan(table, model):
    """Address of the plan, or 0 for a model that is not prepared for a law."""
    numbers = _array(table, model, _NUMERIC_DATA)
    for i in range(_array(table, model, _NNUMERIC)):
        address = load_int32(_array(table, model, _NUMERIC_ADR) + 4 * i)
        size = load_int32(_array(table, model, _NUMERIC_SIZE) + 4 * i)
        if size >= u.PLAN_HEADER_SIZE and _get(numbers, address) == u.PLAN_MAGIC:
            return numbers + 8 * address
    return 0


@_compiled("intp(intp, intp)")
def _find_targets(table, model):
    """Address of the ids of the targets, or 0 where there are none."""
    for i in range(_array(table, model, _NTUPLE)):
        address = load_int32(_array(table, model, _TUPLE_ADR) + 4 * i)
        size = load_int32(_array(table, model, _TUPLE_SIZE) + 4 * i)
        if size > 0 and _get(_array(table, model, _TUPLE_OBJPRM), address) == u.PLAN_MAGIC:
            return _array(table, model, _TUPLE_OBJID) + 4 * address
    return 0


@_compiled("void(intp, intp)")
def _warn(table, data):
    """Count a warning: a batch ends a simulation whose warnings rise."""
    place = _place(table, data, _WARNING_NUMBER)
    store_int32(place, load_int32(place) + 1)  # pyright: ignore[reportCallIssue]


@_compiled("void(intp, intp, intp, intp)")
def _fail(table, data, userdata, code):
    if _get(userdata, _FAILURE) == 0.0:
        _put(userdata, _FAILURE, float(code))
        _put(userdata, _FAILURE_TIME, load_float(_place(table, data, _TIME)))
    _warn(table, data)


@_compiled("void(intp, intp)")
def _initialise(plan, userdata):
    """Header, default gains and a zero state, as start() writes them."""
    for i in range(int(_get(plan, u.P_TOTAL))):
        _put(userdata, i, 0.0)
    _put(userdata, _MAGIC, _USERDATA_MAGIC)
    _put(userdata, _SIZE, _get(plan, u.P_TOTAL))
    defaults = plan + 8 * int(_get(plan, u.P_SIZE))
    start = int(_get(plan, u.P_GAINS_START))
    for i in range(int(_get(plan, u.P_GAINS_SIZE))):
        _put(userdata, start + i, _get(defaults, i))


@_compiled("boolean(intp, intp, intp, intp, intp, float64, float64)")
def _ready(table, model, data, userdata, plan, law_high, law_low):
    """Whether the law may run on this simulation; marks why not."""
    size = _array(table, model, _NUSERDATA)
    if size < _HEADER_SIZE:
        _warn(table, data)
        return False
    total = _get(plan, u.P_TOTAL)
    if size < total:
        _fail(table, data, userdata, u.TOO_SMALL)
        return False
    if _get(plan, u.P_LAW_HIGH) != law_high or _get(plan, u.P_LAW_LOW) != law_low:
        _fail(table, data, userdata, u.OTHER_LAW)
        return False
    is_clear = _get(userdata, _MAGIC) == 0.0 and _get(userdata, _FAILURE) == 0.0
    if is_clear and _get(plan, u.P_HAS_GAINS) != 0.0:
        _initialise(plan, userdata)
    if _get(userdata, _MAGIC) != _USERDATA_MAGIC or _get(userdata, _SIZE) != total:
        _fail(table, data, userdata, u.NOT_STARTED)
        return False
    if _get(userdata, _MODE) == _IDLE:
        return False
    if _get(userdata, _FAILURE) != 0.0:
        _warn(table, data)
        return False
    return True


@_compiled("boolean(intp, intp, intp, intp)")
def _is_new_step(table, model, data, userdata):
    """Whether this is the first call of a step.

    ``mj_forward`` calls again at the same time. Runge-Kutta calls at t, t + h/2, t + h/2 and
    t + h, where the last has the time of the next step: it is told apart by the half steps
    before it.
    """
    time = load_float(_place(table, data, _TIME))
    last = _get(userdata, _TIME_LAST)
    if _get(userdata, _STEPS) > 0.0 and time >= last:
        if time == last:
            _put(userdata, _HALF_STEP, 0.0)
            return False
        if load_int32(_place(table, model, _INTEGRATOR)) == _RK4:
            if time - last < 0.75 * load_float(_place(table, model, _TIMESTEP)):
                _put(userdata, _HALF_STEP, 1.0)
                return False
            if _get(userdata, _HALF_STEP) != 0.0:
                _put(userdata, _HALF_STEP, 0.0)
                return False
    return True


@_compiled("boolean(intp, intp, intp, intp, intp)")
def _count_step(table, plan, data, userdata, state_start):
    """Count a new step; returns False where a start of the state has been lost."""
    time = load_float(_place(table, data, _TIME))
    if _get(userdata, _STEPS) > 0.0 and time < _get(userdata, _TIME_LAST):
        if _get(userdata, _OWN_STATE) != 0.0:
            _fail(table, data, userdata, u.BACKWARDS)
            return False
        for i in range(int(_get(plan, u.P_STATE_SIZE))):
            _put(userdata, state_start + i, 0.0)
        _put(userdata, _STEPS, 0.0)
        _put(userdata, _TICKS, 0.0)
    _put(userdata, _TIME_LAST, time)
    _put(userdata, _HALF_STEP, 0.0)
    _put(userdata, _STEPS, _get(userdata, _STEPS) + 1.0)
    return True


@_compiled("void(intp, intp, intp, intp, intp, intp, intp)")
def _gather_joints(table, model, source, addresses, ids, count, target):
    for i in range(count):
        address = load_int32(_array(table, model, addresses) + 4 * load_int32(ids + 4 * i))
        _put(target, i, _get(source, address))


@_compiled("void(intp, intp, intp, intp, intp, intp)")
def _gather_sensors(table, model, data, ids, count, target):
    values = _array(table, data, _SENSORDATA)
    k = 0
    for i in range(count):
        sensor = load_int32(ids + 4 * i)
        address = load_int32(_array(table, model, _SENSOR_ADR) + 4 * sensor)
        for j in range(load_int32(_array(table, model, _SENSOR_DIM) + 4 * sensor)):
            _put(target, k, _get(values, address + j))
            k += 1


@_compiled("void(intp, intp, intp, intp, intp, intp, UniTuple(intp, 4))")
def _gather(table, model, data, userdata, targets, plan, inputs):
    """Copy what the law reads of its targets into ``userdata``; -1 marks an input not read."""
    joints = int(_get(plan, u.P_COUNTS))
    if inputs[0] >= 0:
        place = userdata + 8 * int(_get(plan, inputs[0]))
        qpos = _array(table, data, _QPOS)
        _gather_joints(table, model, qpos, _JNT_QPOSADR, targets, joints, place)
    if inputs[1] >= 0:
        place = userdata + 8 * int(_get(plan, inputs[1]))
        qvel = _array(table, data, _QVEL)
        _gather_joints(table, model, qvel, _JNT_DOFADR, targets, joints, place)
    if inputs[2] >= 0:
        place = userdata + 8 * int(_get(plan, inputs[2]))
        ids = targets + 4 * int(_get(plan, u.P_STARTS + 2))
        count = int(_get(plan, u.P_COUNTS + 2))
        ctrl = _array(table, data, _CTRL)
        _gather_joints(table, model, ctrl, _ACTUATOR_CTRLADR, ids, count, place)
    if inputs[3] >= 0:
        place = userdata + 8 * int(_get(plan, inputs[3]))
        ids = targets + 4 * int(_get(plan, u.P_STARTS + 3))
        _gather_sensors(table, model, data, ids, int(_get(plan, u.P_COUNTS + 3)), place)


@_compiled("intp(intp, intp, intp)")
def _of_output(outputs, k, column):
    """A number of the table of outputs: see ``Output.row``."""
    return load_int64(outputs + 8 * (N_COLUMNS * k + column))


@_compiled("boolean(intp, intp, intp, intp)")
def _outputs_are_finite(userdata, plan, outputs, n_outputs):
    for k in range(n_outputs):
        start = int(_get(plan, _of_output(outputs, k, 5)))
        group, width = _of_output(outputs, k, 2), _of_output(outputs, k, 4)
        for i in range(int(_get(plan, u.P_COUNTS + group)) * width):
            if not np.isfinite(_get(userdata, start + i)):
                return False
    return True


@_compiled("void(intp, intp, intp, intp, intp, intp, intp, intp)")
def _scatter(table, model, data, userdata, targets, plan, outputs, n_outputs):
    """Write the held outputs to their fields."""
    for k in range(n_outputs):
        group, index_by = _of_output(outputs, k, 2), _of_output(outputs, k, 3)
        width = _of_output(outputs, k, 4)
        struct = data if _of_output(outputs, k, 0) == 1 else model
        field = load_int64(struct + _of_output(outputs, k, 1))
        held = userdata + 8 * int(_get(plan, _of_output(outputs, k, 5)))
        ids = targets + 4 * int(_get(plan, u.P_STARTS + group))
        for i in range(int(_get(plan, u.P_COUNTS + group))):
            index = load_int32(ids + 4 * i)
            if index_by == BY_DOF:
                index = load_int32(_array(table, model, _JNT_DOFADR) + 4 * index)
            elif index_by == BY_CONTROL:
                index = load_int32(_array(table, model, _ACTUATOR_CTRLADR) + 4 * index)
            for j in range(width):
                _put(field, index * width + j, _get(held, i * width + j))


@_compiled("UniTuple(intp, 4)(intp, intp, intp, UniTuple(intp, 4), float64, float64)")
def begin_step(table, model, data, inputs, law_high, law_low):
    """Decide what to do in a call, and gather what the law reads if it is to run.

    Args:
        table: address of the table of offsets.
        model: address of ``mjModel``.
        data: address of ``mjData``.
        inputs: index in the plan of position, velocity, command and sensors; -1 if not read.
        law_high: first half of the identity of the law.
        law_low: second half.

    Returns:
        ``(LEAVE | HOLD | RUN, address of userdata, of the targets, of the plan)``.
    """
    plan = _find_plan(table, model)
    if plan == 0:
        return LEAVE, 0, 0, 0
    userdata = _array(table, data, _USERDATA)
    if not _ready(table, model, data, userdata, plan, law_high, law_low):
        return LEAVE, 0, 0, 0
    targets = _find_targets(table, model)
    if not _is_new_step(table, model, data, userdata):
        return HOLD, userdata, targets, plan
    state_start = int(_get(plan, u.P_GAINS_START) + _get(plan, u.P_GAINS_SIZE))
    if not _count_step(table, plan, data, userdata, state_start):
        return LEAVE, 0, 0, 0
    period = int(_get(plan, u.P_PERIOD))
    if period > 1 and (int(_get(userdata, _STEPS)) - 1) % period != 0:
        return HOLD, userdata, targets, plan
    _gather(table, model, data, userdata, targets, plan, inputs)
    return RUN, userdata, targets, plan


@_compiled("void(intp, intp, intp, intp, intp, intp, intp, intp, intp, intp)")
def end_step(table, model, data, userdata, targets, plan, outputs, n_outputs, action, code):
    """Mark the failure of a law that has run, or write the outputs to their fields.

    Args:
        table: address of the table of offsets.
        model: address of ``mjModel``.
        data: address of ``mjData``.
        userdata: address of ``userdata``.
        targets: address of the ids of the targets.
        plan: address of the plan.
        outputs: address of the table of outputs.
        n_outputs: number of its rows.
        action: what :func:`begin_step` said.
        code: failure code of the law, 0 for none.
    """
    if action == RUN:
        if code == 0 and not _outputs_are_finite(userdata, plan, outputs, n_outputs):
            code = u.NOT_FINITE
        if code != 0:
            _fail(table, data, userdata, code)
            return
        _put(userdata, _TICKS, _get(userdata, _TICKS) + 1.0)
    _scatter(table, model, data, userdata, targets, plan, outputs, n_outputs)
