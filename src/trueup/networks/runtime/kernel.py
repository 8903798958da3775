"""Compiled steps of a network: one joint, one time step; and a recurrent layer over a sequence.

The results are those of :class:`trueup.networks.NetworkRuntime` up to rounding, as sums of products
are reordered for vectorisation.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types

from trueup.actuators.equations._parameter_layout import columns_named
from trueup.compilation import intrinsic
from trueup.networks.compiled import compiled
from trueup.networks.model.network import HELD_STEPS, Network
from trueup.networks.runtime.record import ELU, GRU, HEADER, LSTM, RELU, SOFTSIGN
from trueup.networks.runtime.servo_kernel import pd_law, servo_torque
from trueup.networks.runtime.servo_rows import ServoLayout, servo_layout

_TAYLOR = tuple(1.0 / math.factorial(k) for k in range(12, -1, -1))


@intrinsic
def _bits_of(typingctx, value):
    """The bits of a double as an integer."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def _float_of(typingctx, bits):
    """The double with the given bits."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@compiled(fastmath={"contract"})
def _exp(value):
    """exp() to about one unit in the last place, without branch or call: loops vectorise.

    ``exp(x) = 2^k exp(r)`` with ``|r| <= log(2) / 2`` and the Taylor polynomial of degree 13 for
    ``exp(r)``.
    """
    # within +-700 the result is a normal double; comparisons, unlike min and max, preserve NaN
    value = 700.0 if value > 700.0 else value
    value = -700.0 if value < -700.0 else value
    # k = round(x / log(2)): adding 1.5 x 2^52 leaves no fractional bits, and k in the lowest bits
    shifted = value * 1.4426950408889634 + 6755399441055744.0
    whole = shifted - 6755399441055744.0
    # log(2) in two parts, of which the first times k is exact (W. J. Cody and W. Waite, "Software
    # Manual for the Elementary Functions", 1980; the constants are those of fdlibm)
    rest = (value - whole * 0.6931471803691238) - whole * 1.9082149292705877e-10
    series = 1.0 / 6227020800.0
    for term in _TAYLOR:
        series = series * rest + term
    # 2^k: k plus the bias 1023, shifted into the exponent bits of a double
    return series * _float_of((_bits_of(shifted) + 1023) << 52)


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _multiply(matrix, bias, vector, result):
    """``result = matrix @ vector + bias``, with the matrix (rows, columns) in row-major order.

    Blocks of four rows read the vector from memory a quarter as often.
    """
    columns, rows = len(vector), len(result)
    zero = matrix.dtype.type(0)
    blocks = rows // 4
    for block in range(blocks):
        i = 4 * block
        a = matrix[i * columns : (i + 1) * columns]
        b = matrix[(i + 1) * columns : (i + 2) * columns]
        c = matrix[(i + 2) * columns : (i + 3) * columns]
        d = matrix[(i + 3) * columns : (i + 4) * columns]
        sum_a, sum_b, sum_c, sum_d = zero, zero, zero, zero
        for j in range(columns):
            value = vector[j]
            sum_a += a[j] * value
            sum_b += b[j] * value
            sum_c += c[j] * value
            sum_d += d[j] * value
        result[i], result[i + 1] = sum_a + bias[i], sum_b + bias[i + 1]
        result[i + 2], result[i + 3] = sum_c + bias[i + 2], sum_d + bias[i + 3]
    for i in range(4 * blocks, rows):
        total = zero
        for j in range(columns):
            total += matrix[i * columns + j] * vector[j]
        result[i] = total + bias[i]


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _product(first, second):
    """Sum of the products of two vectors."""
    total = 0.0
    for i in range(len(first)):
        total += first[i] * second[i]
    return total


@compiled(fastmath={"contract"})
def _gru_gates(from_input, from_state, state):
    """Next state of a GRU layer, in place.

    ``n = tanh(W x + b + r (U h + c))`` and ``h' = h + (1 - z) (n - h)`` (K. Cho et al., EMNLP 2014,
    in the variant of torch.nn.GRU, whose reset gate ``r`` multiplies after the bias ``c``).
    """
    hidden = len(state)
    for i in range(2 * hidden):
        from_input[i] = 1.0 / (1.0 + _exp(-(from_input[i] + from_state[i])))
    reset, update = from_input[:hidden], from_input[hidden : 2 * hidden]
    new = from_input[2 * hidden :]
    from_state = from_state[2 * hidden :]
    for i in range(hidden):
        # tanh(x) = 1 - 2 / (1 + exp(2 x)), which does not overflow with the limited exp
        trial = 1.0 - 2.0 / (1.0 + _exp(2.0 * (new[i] + reset[i] * from_state[i])))
        state[i] += (1.0 - update[i]) * (trial - state[i])


@compiled(fastmath={"contract"})
def _lstm_gates(from_input, from_state, state, cell):
    """Next state and cell of an LSTM layer, in place.

    ``c' = f c + i g`` and ``h' = o tanh(c')`` (S. Hochreiter and J. Schmidhuber, Neural Computation
    9, 1997, with forget gate), gates in the order of torch.nn.LSTM: i, f, g, o.
    """
    hidden = len(state)
    for i in range(4 * hidden):
        # g is a tanh: tanh(x) = 2 sigmoid(2 x) - 1 allows one vectorised loop over all gates
        scale = 2.0 if i // hidden == 2 else 1.0
        from_input[i] = 1.0 / (1.0 + _exp(-scale * (from_input[i] + from_state[i])))
    enter, forget = from_input[:hidden], from_input[hidden : 2 * hidden]
    new, output = from_input[2 * hidden : 3 * hidden], from_input[3 * hidden :]
    for i in range(hidden):
        cell[i] = forget[i] * cell[i] + enter[i] * (2.0 * new[i] - 1.0)
        state[i] = output[i] * (1.0 - 2.0 / (1.0 + _exp(2.0 * cell[i])))


@compiled()
def _activate(kind, values):
    """Apply an activation function in place; tanh for kinds without a separate case."""
    for i in range(len(values)):
        value = values[i]
        if kind == ELU:
            if value < 0.0:
                values[i] = math.expm1(value)
        elif kind == RELU:
            values[i] = max(value, 0.0)
        elif kind == SOFTSIGN:
            values[i] = value / (1.0 + abs(value))
        else:
            values[i] = math.tanh(value)


@compiled()
def _recurrent(record, inputs, state, work):
    """Normalised output of a GRU or an LSTM."""
    layers, hidden = int(record[HEADER.layers]), int(record[HEADER.hidden])
    features = int(record[HEADER.features])
    is_gru = int(record[HEADER.family]) == GRU
    gates = 3 if is_gru else 4
    start = len(HEADER)
    # the record has the means, the deviations, the widths of the layers, then the weights
    for i in range(features):
        work[i] = (inputs[i] - record[start + i]) / record[start + features + i]
    start += 2 * features + layers
    layer_input = work[:features]
    linear = 0.0
    if record[HEADER.has_skip] != 0.0:
        linear = _product(record[start : start + features], layer_input)
        start += features
    from_input = work[features : features + gates * hidden]
    from_state = work[features + gates * hidden : features + 2 * gates * hidden]
    for layer in range(layers):
        columns, rows = len(layer_input), gates * hidden
        weight_ih = record[start : start + rows * columns]
        start += rows * columns
        weight_hh = record[start : start + rows * hidden]
        start += rows * hidden
        # a GRU has one state per layer, an LSTM the state and the cell
        place = layer * hidden * (1 if is_gru else 2)
        own = state[place : place + hidden]
        _multiply(weight_ih, record[start : start + rows], layer_input, from_input)
        _multiply(weight_hh, record[start + rows : start + 2 * rows], own, from_state)
        start += 2 * rows
        if is_gru:
            _gru_gates(from_input, from_state, own)
        else:
            _lstm_gates(from_input, from_state, own, state[place + hidden : place + 2 * hidden])
        layer_input = own
    # the buffer of the gates is free now
    output = from_input[:1]
    head, bias = record[start : start + hidden], record[start + hidden : start + hidden + 1]
    _multiply(head, bias, layer_input, output)
    return output[0] + linear


@compiled()
def _feed_forward(record, inputs, state, work):
    """Normalised output of a network with a history.

    The state contains the raw features of the history, newest first, and a mark of a filled
    history. At a cold start the first sample fills the whole history.
    """
    layers, features = int(record[HEADER.layers]), int(record[HEADER.features])
    history, half = int(record[HEADER.history]), len(work) // 2
    filled = history * features
    for i in range(filled - 1, features - 1, -1):
        state[i] = state[i - features] if state[filled] != 0.0 else inputs[i % features]
    # element by element: for slices numba compiles an error of unequal lengths, which takes seconds
    for feature in range(features):
        state[feature] = inputs[feature]
    start = len(HEADER)
    for feature in range(features):
        mean, deviation = record[start + feature], record[start + features + feature]
        for k in range(history):
            work[feature * history + k] = (state[k * features + feature] - mean) / deviation
    widths = record[start + 2 * features : start + 2 * features + layers]
    start += 2 * features + layers
    columns = history * features
    # two halves of the scratch memory alternate as input and output of the layers
    values, following = work[:half], work[half:]
    linear = 0.0
    if record[HEADER.has_skip] != 0.0:
        linear = _product(record[start : start + columns], values[:columns])
        start += columns
    for layer in range(layers):
        rows = int(widths[layer])
        weight = record[start : start + rows * columns]
        bias = record[start + rows * columns : start + rows * columns + rows]
        _multiply(weight, bias, values[:columns], following[:rows])
        if layer < layers - 1:
            _activate(int(record[HEADER.activation]), following[:rows])
        start += rows * columns + rows
        values, following, columns = following, values, rows
    return values[0] + linear


_pd_torque = pd_law(HEADER._fields, False)
_pd_torque_within_curve = pd_law(HEADER._fields, True)


@compiled()
def _base_torque(record, inputs):
    """Torque of a PD law as base [N m], with its parameters in the header."""
    angle, error = (
        inputs[int(record[HEADER.angle_column])],
        inputs[int(record[HEADER.error_column])],
    )
    velocity, wanted = inputs[int(record[HEADER.velocity_column])], 0.0
    if record[HEADER.wanted_column] >= 0.0:
        wanted = inputs[int(record[HEADER.wanted_column])]
    if record[HEADER.stall_torque] >= 0.0:
        return _pd_torque_within_curve(record, angle, error, velocity, wanted)
    return _pd_torque(record, angle, error, velocity, wanted)


@compiled()
def gru_sequence(from_input, weight_hh, bias_hh, state, result):
    """States of a GRU layer over time.

    Args:
      from_input: contribution of the input to the gates ``(n, 3 hidden)``, overwritten.
      weight_hh: hidden weights ``(3 hidden x hidden,)`` in row-major order.
      bias_hh: hidden bias ``(3 hidden,)``.
      state: state ``(hidden,)``, updated in place.
      result: output, states ``(n, hidden)``.
    """
    from_state = np.empty_like(bias_hh)
    for t in range(len(from_input)):
        _multiply(weight_hh, bias_hh, state, from_state)
        _gru_gates(from_input[t], from_state, state)
        result[t] = state


@compiled()
def lstm_sequence(from_input, weight_hh, bias_hh, state, cell, result):
    """States of an LSTM layer over time; arguments as for `gru_sequence`, and the cell."""
    from_state = np.empty_like(bias_hh)
    for t in range(len(from_input)):
        _multiply(weight_hh, bias_hh, state, from_state)
        _lstm_gates(from_input[t], from_state, state, cell)
        result[t] = state


JOINT = columns_named(
    ("inertia", "coulomb", "viscous", "gravity", "gravity_angle", "spring", "spring_angle")
)
"""Parameters of a joint driven by a network."""
PLACES = columns_named(("angle", "velocity", "error"))
"""Columns of the simulated features of a joint among the inputs."""


class NetworkFunctions(NamedTuple):
    """Compiled functions that step a network."""

    step: Any
    """``step(record, inputs, state, work)``: torque [N m] of one joint after one time step: the
    record of the network, see ``network_record``; raw features ``(inputs,)``; state of the joint
    ``(state size,)``, updated in place; scratch memory ``(work size,)``."""
    step_joints: Any
    """``step_joints(record, inputs, state, work, torque)``: steps a batch of joints: inputs and
    state ``(joints, ...)``, torque ``(joints,)``."""
    drive_joint: Any
    """``drive_joint(record, state, work, inputs, places, target, angles, velocities, joint, step,
    substeps, every, lowest, highest)``: drives a joint with a network.

    - ``record``, ``state``, ``work``: as for ``step``.
    - ``inputs``: recorded features, shape (n, inputs); those of the joint are simulated.
    - ``places``: columns of :data:`PLACES`, -1 for missing ones.
    - ``target``: target angle, shape (n,) [rad].
    - ``angles``, ``velocities``: recorded states, shape (n,) [rad, rad/s].
    - ``joint``: parameters of :data:`JOINT`.
    - ``step``: sample interval [s].
    - ``substeps``: steps of the joint per sample.
    - ``every``: interval of resets to the recorded state [samples].
    - ``lowest``, ``highest``: angles beyond which the joint counts as diverged [rad].

    Returns angle, velocity, torque, shape (n,) each, and the number of valid samples."""


def functions_of(network: Network) -> NetworkFunctions:
    """Compiled functions that step a network."""
    return network_functions(servo_layout([network.base]))


@functools.cache
def network_functions(layout: ServoLayout) -> NetworkFunctions:
    """Compiled functions that step networks, with the layout of their servo bases."""
    servo = servo_torque(layout)

    @compiled()
    def network_step(record, inputs, state, work):
        begun = int(record[HEADER.state_size]) - 1
        if int(record[HEADER.family]) <= LSTM:
            # cold start: the state results from holding the first sample
            for _ in range(HELD_STEPS if state[begun] == 0.0 else 0):
                _recurrent(record, inputs, state, work)
            output = _recurrent(record, inputs, state, work)
        else:
            output = _feed_forward(record, inputs, state, work)
        state[begun] = 1.0
        torque = record[HEADER.output_mean] + record[HEADER.output_deviation] * output
        if record[HEADER.has_base] != 0.0:
            if record[HEADER.servo] >= 0.0:
                row = record[int(record[HEADER.servo]) :]
                angle = inputs[int(record[HEADER.angle_column])]
                error = inputs[int(record[HEADER.error_column])]
                torque += servo(row, angle, error, inputs[int(record[HEADER.velocity_column])])
            else:
                torque += _base_torque(record, inputs)
        if record[HEADER.limit] >= 0.0:
            torque = min(max(torque, -record[HEADER.limit]), record[HEADER.limit])
        return torque

    @compiled()
    def step_joints(record, inputs, state, work, torque):
        for joint in range(len(torque)):
            torque[joint] = network_step(record, inputs[joint], state[joint], work)

    @compiled()
    def drive_joint(
        record, state, work, inputs, places, target, angles, velocities, joint, step, substeps,
        every, lowest, highest,
    ):  # fmt: skip
        count = len(angles)
        angle_out, velocity_out, torque_out = np.empty(count), np.empty(count), np.empty(count)
        small = step / substeps
        angle, velocity = angles[0], velocities[0]
        row = np.empty(inputs.shape[1])
        for sample in range(count):
            if sample % every == 0:
                angle, velocity = angles[sample], velocities[sample]
            for column in range(len(row)):
                row[column] = inputs[sample, column]
            if places[PLACES.angle] >= 0:
                row[places[PLACES.angle]] = angle
            if places[PLACES.velocity] >= 0:
                row[places[PLACES.velocity]] = velocity
            if places[PLACES.error] >= 0:
                row[places[PLACES.error]] = target[sample] - angle
            torque = network_step(record, row, state[0], work)
            angle_out[sample], velocity_out[sample], torque_out[sample] = angle, velocity, torque
            for _ in range(substeps):
                # semi-implicit Euler: speed by the forces at the old state, then angle by the new
                # speed
                free = torque - joint[JOINT.viscous] * velocity
                free -= joint[JOINT.gravity] * np.sin(angle - joint[JOINT.gravity_angle])
                free -= joint[JOINT.spring] * (angle - joint[JOINT.spring_angle])
                # Coulomb friction is limited to the torque that stops the joint within the step, so
                # that it holds a joint at rest and does not reverse its motion
                stopping = free + velocity * joint[JOINT.inertia] / small
                free -= min(max(stopping, -joint[JOINT.coulomb]), joint[JOINT.coulomb])
                velocity += small * free / joint[JOINT.inertia]
                angle += small * velocity
            if not lowest <= angle <= highest:
                for rest in range(sample + 1, count):
                    angle_out[rest], velocity_out[rest] = angle_out[sample], velocity_out[sample]
                    torque_out[rest] = torque_out[sample]
                return angle_out, velocity_out, torque_out, sample + 1
        return angle_out, velocity_out, torque_out, count

    return NetworkFunctions(network_step, step_joints, drive_joint)
