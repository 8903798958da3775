"""Callback around a law: when it runs, its inputs, the destination of its outputs.

These functions are the same for every law and every model, so they are compiled once and cached on
disk. They contain no addresses: the first argument of each is the address of the offset table of
the running MuJoCo. The layout of the header and of the plan is compiled in and has a version
(``PLAN_VERSION``) that increases with each change of it.
"""

from collections.abc import Iterable
from typing import Any

import mujoco
import numpy as np

from trueup.compilation import njit_on_disk
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

# actions that begin_step() returns to the callback
LEAVE, HOLD, RUN = 0, 1, 2

# inputs of a law, in the order of the tuple that begin_step() takes
POSITION, VELOCITY, COMMAND, SENSORS = range(4)

# columns of the table of outputs, see ``Output.row``
IN_DATA, POINTER, GROUP, INDEX_BY, WIDTH, PLAN_INDEX = range(6)
N_COLUMNS = 6

# groups of targets, in the order of ``u.GROUPS``; the last extent is no group of targets
JOINTS, ACTUATORS, COMMANDS, SENSOR_IDS, BODIES = range(len(u.GROUPS))
SENSOR_VALUES = len(u.GROUPS)

_DATA_FIELDS = ("time", "userdata", "ctrl", "qpos", "qvel", "sensordata")
_MODEL_FIELDS = (
    *("nuserdata", "nnumeric", "ntuple", "njnt", "nactuator", "nsensor", "nbody"),
    *("numeric_adr", "numeric_size", "numeric_data"),
    *("tuple_adr", "tuple_size", "tuple_objtype", "tuple_objid", "tuple_objprm"),
    *("jnt_qposadr", "jnt_dofadr", "actuator_ctrladr", "sensor_adr", "sensor_dim"),
    *("opt.timestep", "opt.integrator"),
    *("nnumericdata", "ntupledata", "nsensordata", "nq", "nv", "nu"),
)
# index of each field in the table of offsets; numba compiles module constants in
_TIME, _USERDATA, _CTRL, _QPOS, _QVEL, _SENSORDATA = range(6)
_NUSERDATA, _NNUMERIC, _NTUPLE, _NJNT, _NACTUATOR, _NSENSOR, _NBODY = range(6, 13)
_NUMERIC_ADR, _NUMERIC_SIZE, _NUMERIC_DATA = range(13, 16)
_TUPLE_ADR, _TUPLE_SIZE, _TUPLE_OBJTYPE, _TUPLE_OBJID, _TUPLE_OBJPRM = range(16, 21)
_JNT_QPOSADR, _JNT_DOFADR, _ACTUATOR_CTRLADR, _SENSOR_ADR, _SENSOR_DIM = range(21, 26)
_TIMESTEP, _INTEGRATOR = range(26, 28)
_NNUMERICDATA, _NTUPLEDATA, _NSENSORDATA, _NQ, _NV, _NU = range(28, 34)
_WARNING_NUMBER = 34

# number of objects of each group in a model, and their type
_COUNTS_OF = (_NJNT, _NACTUATOR, _NACTUATOR, _NSENSOR, _NBODY)
_TYPES_OF = tuple(
    int(kind)
    for kind in (
        mujoco.mjtObj.mjOBJ_JOINT,
        mujoco.mjtObj.mjOBJ_ACTUATOR,
        mujoco.mjtObj.mjOBJ_ACTUATOR,
        mujoco.mjtObj.mjOBJ_SENSOR,
        mujoco.mjtObj.mjOBJ_BODY,
    )
)
_RK4 = int(mujoco.mjtIntegrator.mjINT_RK4)

_MAGIC, _SIZE, _FAILURE, _FAILURE_TIME, _MODE = u.MAGIC, u.SIZE, u.FAILURE, u.FAILURE_TIME, u.MODE
_TIME_LAST, _STEPS, _HALF_STEP, _TICKS = u.TIME_LAST, u.STEPS, u.HALF_STEP, u.TICKS
_OWN_STATE, _HEADER_SIZE = u.OWN_STATE, u.HEADER_SIZE
_IDLE, _USERDATA_MAGIC = u.IDLE, float(u.USERDATA_MAGIC)


def offset_table(offsets: Offsets) -> np.ndarray:
    """Offsets for the functions of this module, in the order of their constants."""
    places = [offsets.data[name].offset for name in _DATA_FIELDS]
    places += [offsets.model[name].offset for name in _MODEL_FIELDS]
    return np.array([*places, offsets.warning_number], dtype=np.int64)


PART_GAINS, PART_STATE, PART_OTHER = range(3)


def part_table(declared: Iterable[tuple[str, str, tuple[u.Extent, ...]]]) -> np.ndarray:
    """The arrays of a law as a flat list of integers.

    Each array is stored as its kind, the plan index of its offset, the number of its extents, and
    its extents: a number, or ``-1 - k`` for the size of the k-th group.
    """
    declared = list(declared)
    places = u.plan_places(declared)
    kinds = {"gains": PART_GAINS, "state": PART_STATE}
    groups = [*u.GROUPS, "sensor_value"]
    numbers: list[int] = []
    for kind, name, extents in declared:
        sizes = [-1 - groups.index(e) if isinstance(e, str) else e for e in extents]
        numbers += [kinds.get(kind, PART_OTHER), places[kind, name], len(extents), *sizes]
    return np.array(numbers, dtype=np.int64)


def _compiled(signature: str) -> Any:
    """Compile for one signature, with a disk cache if a cache folder is writable.

    The signature also keeps numba from compiling once for each constant argument.
    """

    def decorate(function: Any) -> Any:
        return njit_on_disk(function, signature, forceinline=True)

    return decorate


@_compiled("intp(intp, intp, intp)")
def _place(table, struct, field):
    """Address of a field."""
    return struct + load_int64(table + 8 * field)


@_compiled("intp(intp, intp, intp)")
def _array(table, struct, field):
    """Address of the array of a field, or value of a size field."""
    return load_int64(_place(table, struct, field))


@_compiled("float64(intp, intp)")
def _get(base, index):
    return load_float(base + 8 * index)


@_compiled("void(intp, intp, float64)")
def _put(base, index, value):
    store_float(base + 8 * index, value)  # pyright: ignore[reportCallIssue]


@_compiled("boolean(intp, intp, intp)")
def _is_inside(address, size, length):
    """Whether a part of an array, by its first index and its size, is within the array."""
    return address >= 0 and size >= 0 and address + size <= length


@_compiled("boolean(intp, intp, intp, intp)")
def _object_fits(table, model, group, index):
    """Whether the places that a target names in ``qpos``, ``qvel``, ``ctrl`` or the sensors exist.

    A model in memory may be changed, and the callback reads and writes memory by these fields.
    """
    if group == JOINTS:
        position = load_int32(_array(table, model, _JNT_QPOSADR) + 4 * index)
        speed = load_int32(_array(table, model, _JNT_DOFADR) + 4 * index)
        return _is_inside(position, 1, _array(table, model, _NQ)) and _is_inside(
            speed, 1, _array(table, model, _NV)
        )
    if group in (ACTUATORS, COMMANDS):
        control = load_int32(_array(table, model, _ACTUATOR_CTRLADR) + 4 * index)
        return _is_inside(control, 1, _array(table, model, _NU))
    if group == SENSOR_IDS:
        address = load_int32(_array(table, model, _SENSOR_ADR) + 4 * index)
        width = load_int32(_array(table, model, _SENSOR_DIM) + 4 * index)
        return _is_inside(address, width, _array(table, model, _NSENSORDATA))
    return True


@_compiled("intp(intp, intp)")
def _find_plan(table, model):
    """Index of the custom numeric with the plan, -1 for a model without one."""
    numbers = _array(table, model, _NUMERIC_DATA)
    for i in range(_array(table, model, _NNUMERIC)):
        address = load_int32(_array(table, model, _NUMERIC_ADR) + 4 * i)
        size = load_int32(_array(table, model, _NUMERIC_SIZE) + 4 * i)
        inside = _is_inside(address, size, _array(table, model, _NNUMERICDATA))
        if inside and size >= u.PLAN_HEADER_SIZE and _get(numbers, address) == u.PLAN_MAGIC:
            return i
    return -1


@_compiled("intp(intp, intp)")
def _find_targets(table, model):
    """Index of the custom tuple of targets, -1 if there are none."""
    for i in range(_array(table, model, _NTUPLE)):
        address = load_int32(_array(table, model, _TUPLE_ADR) + 4 * i)
        size = load_int32(_array(table, model, _TUPLE_SIZE) + 4 * i)
        if not _is_inside(address, size, _array(table, model, _NTUPLEDATA)):
            continue
        if size > 0 and _get(_array(table, model, _TUPLE_OBJPRM), address) == u.PLAN_MAGIC:
            return i
    return -1


@_compiled("intp(intp, intp, intp)")
def _ids_of(table, model, found):
    """Address of the ids of the targets, 0 where there are none."""
    if found < 0:
        return 0
    address = load_int32(_array(table, model, _TUPLE_ADR) + 4 * found)
    return _array(table, model, _TUPLE_OBJID) + 4 * address


@_compiled("boolean(intp, intp, intp, intp)")
def _counts_fit(table, model, plan, found):
    """Whether the targets match the plan in number and type, and exist."""
    first = 0
    for group in range(len(_COUNTS_OF)):
        count = _get(plan, u.P_COUNTS + group)
        if not (0.0 <= count <= 1e6 and count == np.floor(count)):
            return False
        if _get(plan, u.P_STARTS + group) != first:
            return False
        first += int(count)
    size, address = 0, 0
    if found >= 0:
        size = load_int32(_array(table, model, _TUPLE_SIZE) + 4 * found)
        address = load_int32(_array(table, model, _TUPLE_ADR) + 4 * found)
    if size != first:
        return False
    types, ids = _array(table, model, _TUPLE_OBJTYPE), _array(table, model, _TUPLE_OBJID)
    values = 0
    place = address
    for group in range(len(_COUNTS_OF)):
        objects = _array(table, model, _COUNTS_OF[group])
        for _ in range(int(_get(plan, u.P_COUNTS + group))):
            index = load_int32(ids + 4 * place)
            if load_int32(types + 4 * place) != _TYPES_OF[group] or not 0 <= index < objects:
                return False
            if not _object_fits(table, model, group, index):
                return False
            if group == SENSOR_IDS:
                values += load_int32(_array(table, model, _SENSOR_DIM) + 4 * index)
            place += 1
    return _get(plan, u.P_SENSOR_VALUES) == values


@_compiled("boolean(intp, intp, intp, intp, intp, intp, intp)")
def _plan_fits(table, model, numeric, plan, found, parts, n_parts):
    """Whether a plan is the layout of the arrays of the law within ``userdata``.

    The plan is a list of numbers in a model that the user may edit, and the callback reads and
    writes memory by it. So the layout is recomputed from the law's list of arrays, and every number
    must be the same.
    """
    if _get(plan, u.P_VERSION) != u.PLAN_VERSION or not _counts_fit(table, model, plan, found):
        return False
    size = load_int32(_array(table, model, _NUMERIC_SIZE) + 4 * numeric)
    tail = u.PLAN_HEADER_SIZE
    place = parts
    for _ in range(n_parts):
        tail += 1 + load_int64(place + 16)
        place += 8 * (3 + load_int64(place + 16))
    if size < tail or _get(plan, u.P_SIZE) != tail or not _get(plan, u.P_PERIOD) >= 1.0:
        return False
    offset, gains, state, gains_start = _HEADER_SIZE, 0, 0, 0
    place = parts
    for _ in range(n_parts):
        kind, index, extents = load_int64(place), load_int64(place + 8), load_int64(place + 16)
        if _get(plan, index) != offset:
            return False
        width = 1
        for k in range(extents):
            extent = load_int64(place + 24 + 8 * k)
            if extent < 0:
                group = -1 - extent
                count = u.P_SENSOR_VALUES if group == SENSOR_VALUES else u.P_COUNTS + group
                extent = int(_get(plan, count))
            if _get(plan, index + 1 + k) != extent:
                return False
            width *= extent
        if kind == PART_GAINS:
            gains_start = gains_start if gains_start > 0 else offset
            gains += width
        elif kind == PART_STATE:
            state += width
        offset += width
        place += 8 * (3 + extents)
    if _get(plan, u.P_GAINS_START) != gains_start or _get(plan, u.P_GAINS_SIZE) != gains:
        return False
    if _get(plan, u.P_STATE_SIZE) != state or _get(plan, u.P_TOTAL) != offset:
        return False
    if _get(plan, u.P_HAS_GAINS) == 1.0:
        return size >= tail + gains
    return _get(plan, u.P_HAS_GAINS) == 0.0


@_compiled("void(intp, intp)")
def _warn(table, data):
    """Count a warning: a batch ends a simulation when its warnings increase."""
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


@_compiled("boolean(intp, intp, intp, intp, intp, intp, intp, intp, intp, float64, float64)")
def _ready(table, model, data, userdata, numeric, plan, found, parts, n_parts, law_high, law_low):
    """Whether the law may run on this simulation; records the reason if not."""
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
    # once before the first step: a plan does not change while a simulation runs
    is_first = _get(userdata, _MAGIC) == 0.0 or _get(userdata, _STEPS) == 0.0
    if is_first and not _plan_fits(table, model, numeric, plan, found, parts, n_parts):
        _fail(table, data, userdata, u.MISFIT)
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
    t + h, where the last has the time of the next step: it is recognised by the preceding half
    steps.
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
    """Copy the inputs of the law from its targets into ``userdata``; -1 marks an unused input."""
    joints = int(_get(plan, u.P_COUNTS + JOINTS))
    if inputs[POSITION] >= 0:
        place = userdata + 8 * int(_get(plan, inputs[POSITION]))
        qpos = _array(table, data, _QPOS)
        _gather_joints(table, model, qpos, _JNT_QPOSADR, targets, joints, place)
    if inputs[VELOCITY] >= 0:
        place = userdata + 8 * int(_get(plan, inputs[VELOCITY]))
        qvel = _array(table, data, _QVEL)
        _gather_joints(table, model, qvel, _JNT_DOFADR, targets, joints, place)
    if inputs[COMMAND] >= 0:
        place = userdata + 8 * int(_get(plan, inputs[COMMAND]))
        ids = targets + 4 * int(_get(plan, u.P_STARTS + COMMANDS))
        count = int(_get(plan, u.P_COUNTS + COMMANDS))
        ctrl = _array(table, data, _CTRL)
        _gather_joints(table, model, ctrl, _ACTUATOR_CTRLADR, ids, count, place)
    if inputs[SENSORS] >= 0:
        place = userdata + 8 * int(_get(plan, inputs[SENSORS]))
        ids = targets + 4 * int(_get(plan, u.P_STARTS + SENSOR_IDS))
        count = int(_get(plan, u.P_COUNTS + SENSOR_IDS))
        _gather_sensors(table, model, data, ids, count, place)


@_compiled("intp(intp, intp, intp)")
def _of_output(outputs, k, column):
    """A number of the table of outputs: see ``Output.row``."""
    return load_int64(outputs + 8 * (N_COLUMNS * k + column))


@_compiled("boolean(intp, intp, intp, intp)")
def _outputs_are_finite(userdata, plan, outputs, n_outputs):
    for k in range(n_outputs):
        start = int(_get(plan, _of_output(outputs, k, PLAN_INDEX)))
        group, width = _of_output(outputs, k, GROUP), _of_output(outputs, k, WIDTH)
        for i in range(int(_get(plan, u.P_COUNTS + group)) * width):
            if not np.isfinite(_get(userdata, start + i)):
                return False
    return True


@_compiled("void(intp, intp, intp, intp, intp, intp, intp, intp)")
def _scatter(table, model, data, userdata, targets, plan, outputs, n_outputs):
    """Write the held outputs to their fields."""
    for k in range(n_outputs):
        group, index_by = _of_output(outputs, k, GROUP), _of_output(outputs, k, INDEX_BY)
        width = _of_output(outputs, k, WIDTH)
        struct = data if _of_output(outputs, k, IN_DATA) == 1 else model
        field = load_int64(struct + _of_output(outputs, k, POINTER))
        held = userdata + 8 * int(_get(plan, _of_output(outputs, k, PLAN_INDEX)))
        ids = targets + 4 * int(_get(plan, u.P_STARTS + group))
        for i in range(int(_get(plan, u.P_COUNTS + group))):
            index = load_int32(ids + 4 * i)
            if index_by == BY_DOF:
                index = load_int32(_array(table, model, _JNT_DOFADR) + 4 * index)
            elif index_by == BY_CONTROL:
                index = load_int32(_array(table, model, _ACTUATOR_CTRLADR) + 4 * index)
            for j in range(width):
                _put(field, index * width + j, _get(held, i * width + j))


@_compiled("UniTuple(intp, 4)(intp, intp, intp, UniTuple(intp, 4), intp, intp, float64, float64)")
def begin_step(table, model, data, inputs, parts, n_parts, law_high, law_low):
    """Decide the action of a call, and gather the inputs of the law if it runs.

    Args:
        table: address of the table of offsets.
        model: address of ``mjModel``.
        data: address of ``mjData``.
        inputs: index in the plan of position, velocity, command and sensors; -1 if not read.
        parts: address of the table of the law's arrays, see :func:`part_table`.
        n_parts: number of its arrays.
        law_high: first half of the identity of the law.
        law_low: second half.

    Returns:
        ``(LEAVE | HOLD | RUN, address of userdata, of the targets, of the plan)``.
    """
    numeric = _find_plan(table, model)
    if numeric < 0:
        return LEAVE, 0, 0, 0
    address = load_int32(_array(table, model, _NUMERIC_ADR) + 4 * numeric)
    plan = _array(table, model, _NUMERIC_DATA) + 8 * address
    userdata = _array(table, data, _USERDATA)
    found = _find_targets(table, model)
    if not _ready(
        table, model, data, userdata, numeric, plan, found, parts, n_parts, law_high, law_low
    ):
        return LEAVE, 0, 0, 0
    targets = _ids_of(table, model, found)
    if not _is_new_step(table, model, data, userdata):
        return HOLD, userdata, targets, plan
    # the state follows the gains; without gains, stored as offset 0, it follows the header
    gains_end = int(_get(plan, u.P_GAINS_START) + _get(plan, u.P_GAINS_SIZE))
    state_start = max(gains_end, _HEADER_SIZE)
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
        action: the action returned by :func:`begin_step`.
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
