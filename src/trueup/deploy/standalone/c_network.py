"""A network as C: source and header without dependencies, for firmware and real-time use.

The step is that of :class:`~trueup.networks.NetworkRuntime`, in double precision: no
memory is allocated, and only ``math.h`` is included. The equations of an analytic base are
generated from the same source as in every other form.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.actuators.equations.generation import needed
from trueup.actuators.equations.tracing import Graph, Node
from trueup.errors import FitError
from trueup.networks.base.equations import pd_torque
from trueup.networks.base.servo import ServoBase
from trueup.networks.data.features import FEATURES
from trueup.networks.model.network import HELD_STEPS, RECURRENT, SKIP, Network
from trueup.networks.runtime.deployment import Deployment
from trueup.networks.runtime.record import state_size
from trueup.runs.store import atomic

_KEYWORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "main",
    ]
)

_ACTIVATIONS = {
    "elu": "v > 0.0 ? v : expm1(v)",
    "relu": "v > 0.0 ? v : 0.0",
    "softsign": "v / (1.0 + fabs(v))",
    "tanh": "tanh(v)",
}

_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "true_divide": "/", "less": "<", "greater": ">",
    "less_equal": "<=", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
    "bitwise_and": "&&", "bitwise_or": "||",
}  # fmt: skip
_CALLS = {
    "absolute": "fabs", "exp": "exp", "log": "log", "power": "pow", "sqrt": "sqrt", "sin": "sin",
    "cos": "cos", "tanh": "tanh",
}  # fmt: skip

_DOT = """\
/* four independent sums: a single one would stall on its own latency at every product */
static double {p}_dot(const double *a, const double *b, int count)
{
    double s = 0.0, t = 0.0, u = 0.0, v = 0.0;
    int i = 0;
    for (; i + 3 < count; i += 4) {
        s += a[i] * b[i];
        t += a[i + 1] * b[i + 1];
        u += a[i + 2] * b[i + 2];
        v += a[i + 3] * b[i + 3];
    }
    for (; i < count; i++) s += a[i] * b[i];
    return (s + t) + (u + v);
}

"""

_RECURRENT = """\
static void {p}_gates(const double *wx, const double *wh, const double *bx, const double *bh,
                      int inputs, int gates, const double *x, const double *h,
                      double *from_x, double *from_h)
{
    for (int g = 0; g < gates; g++) {
        from_x[g] = bx[g] + {p}_dot(wx + g * inputs, x, inputs);
        from_h[g] = bh[g] + {p}_dot(wh + g * {p}_HIDDEN, h, {p}_HIDDEN);
    }
}

static double {p}_sigmoid(double v) { return 0.5 * (1.0 + tanh(0.5 * v)); }

"""

_GRU = """\
/* torch.nn.GRU: the reset gate multiplies the hidden part of the new gate after its bias */
static void {p}_layer(const double *wx, const double *wh, const double *bx, const double *bh,
                      int inputs, const double *x, double *h)
{
    double a[3 * {p}_HIDDEN], b[3 * {p}_HIDDEN];
    {p}_gates(wx, wh, bx, bh, inputs, 3 * {p}_HIDDEN, x, h, a, b);
    for (int i = 0; i < {p}_HIDDEN; i++) {
        double reset = {p}_sigmoid(a[i] + b[i]);
        double update = {p}_sigmoid(a[{p}_HIDDEN + i] + b[{p}_HIDDEN + i]);
        double fresh = tanh(a[2 * {p}_HIDDEN + i] + reset * b[2 * {p}_HIDDEN + i]);
        h[i] += (1.0 - update) * (fresh - h[i]);
    }
}

"""

_LSTM = """\
static void {p}_layer(const double *wx, const double *wh, const double *bx, const double *bh,
                      int inputs, const double *x, double *h)
{
    double a[4 * {p}_HIDDEN], b[4 * {p}_HIDDEN];
    double *cell = h + {p}_HIDDEN;
    {p}_gates(wx, wh, bx, bh, inputs, 4 * {p}_HIDDEN, x, h, a, b);
    for (int i = 0; i < 4 * {p}_HIDDEN; i++) a[i] += b[i];
    for (int i = 0; i < {p}_HIDDEN; i++) {
        double keep = {p}_sigmoid(a[i]), forget = {p}_sigmoid(a[{p}_HIDDEN + i]);
        cell[i] = forget * cell[i] + keep * tanh(a[2 * {p}_HIDDEN + i]);
        h[i] = {p}_sigmoid(a[3 * {p}_HIDDEN + i]) * tanh(cell[i]);
    }
}

"""

_RANGE_CHECK = """\
#if {p}_RANGE_CHECK
    double within[{p}_INPUTS];
    int outside = 0;
    for (int i = 0; i < {p}_INPUTS; i++) {
        within[i] = inputs[i];
        if (i < {p}_FEATURES && (inputs[i] < {p}_lowest[i] || inputs[i] > {p}_highest[i])) {
            outside = 1;
            if ({p}_RANGE_CHECK > 1)
                within[i] = inputs[i] > {p}_highest[i] ? {p}_highest[i] : {p}_lowest[i];
        }
    }
    state->outside += outside;
    inputs = within;
#endif
"""
"""The analytic base, which is no fit, keeps the inputs as given."""

_DENSE = """\
static void {p}_dense(const double *weight, const double *bias, int inputs, int outputs,
                      int last, const double *x, double *y)
{
    for (int o = 0; o < outputs; o++) {
        double v = bias[o] + {p}_dot(weight + o * inputs, x, inputs);
        y[o] = last ? v : ({activation});
    }
}

"""


def write_c(deployment: Deployment, path: Path) -> str:
    """Write ``NAME.c`` and ``NAME.h``; return their usage as C text.

    Raises:
        FitError: the normalisation is excluded, or the suffix is not ``.c``.
    """
    if path.suffix != ".c":
        raise FitError(
            f"{path.name}: the file name must end in .c; a header with suffix .h is written next "
            "to it"
        )
    if not deployment.normalization:
        raise FitError(
            "C code takes raw features and returns torque: it cannot exclude the normalisation"
        )
    prefix = _identifier(path.stem)
    header = path.with_suffix(".h")
    atomic.write_text(path, c_source(deployment, prefix, header.name))
    atomic.write_text(header, c_header(deployment, prefix))
    network = deployment.network
    names = ", ".join(c_inputs(deployment))
    return (
        f'#include "{header.name}"\n\n{prefix}_state state;\n{prefix}_reset(&state);  '
        f"/* a cold start */\n/* every {1.0 / network.rate:g} s, inputs in the order {names} */\n"
        f"double torque = {prefix}_step(&state, inputs);  /* [N m] */\n"
    )


def c_inputs(deployment: Deployment) -> tuple[str, ...]:
    """Features of the step, in order."""
    return deployment.network.inputs if deployment.base else deployment.network.features


def c_header(deployment: Deployment, prefix: str) -> str:
    """Text of the header.

    Args:
        deployment: the network and its parts.
        prefix: prefix of all names.
    """
    network, names = deployment.network, c_inputs(deployment)
    guard = f"{prefix.upper()}_H"
    has_range = _has_range(network)
    order = "\n".join(
        f" *   [{k}] {name}: {FEATURES[name].description} [{FEATURES[name].unit}]"
        for k, name in enumerate(names)
    )
    limit = "none" if deployment.torque_limit is None else f"{deployment.torque_limit:g} N m"
    base = "none" if not deployment.base or network.base is None else _base_words(network.base)
    return f"""\
/* Learned actuator: {network.family}, written by trueup {__version__}.
 *
 * One call of {prefix}_step every {1.0 / network.rate:g} s ({network.rate:g} Hz) gives the torque.
 * Inputs, in order:
{order}
 * Analytic base inside: {base}. Torque limit inside: {limit}.
 */
#ifndef {guard}
#define {guard}

#define {prefix}_INPUTS {len(names)}
#define {prefix}_STATE {state_size(network)}
#define {prefix}_RATE {network.rate!r}
{_range_macro(prefix) if has_range else ""}
#ifdef __cplusplus
extern "C" {{
#endif

/* State of one joint. */
typedef struct {{
    double values[{prefix}_STATE];
{_range_counter(prefix) if has_range else ""}}} {prefix}_state;

/* Cold start. */
void {prefix}_reset({prefix}_state *state);

/* Torque [N m] of one time step. */
double {prefix}_step({prefix}_state *state, const double inputs[{prefix}_INPUTS]);

#ifdef __cplusplus
}}
#endif

#endif
"""


def c_source(deployment: Deployment, prefix: str, header: str) -> str:
    """Text of the source.

    Args:
        deployment: the network and its parts.
        prefix: prefix of all names.
        header: name of the header.
    """
    network = deployment.network
    stats, recurrent = network.normalization, network.family in RECURRENT
    count = len(network.features)
    parts = [
        f'#include "{header}"\n\n#include <math.h>\n\n',
        f"#define {prefix}_FEATURES {count}\n",
        f"#define {prefix}_HIDDEN {network.hidden}\n" if recurrent else "",
        f"#define {prefix}_HISTORY {network.history}\n\n",
        _array(f"{prefix}_mean", stats.input_mean),
        _array(f"{prefix}_deviation", stats.input_deviation),
        *(_array(f"{prefix}_{_identifier(n)}", w) for n, w in sorted(network.weights.items())),
        "\n",
        _DOT,
    ]
    if recurrent:
        parts += [_RECURRENT, _GRU if network.family == "gru" else _LSTM]
        body = _recurrent_body(network, prefix)
    else:
        parts.append(_DENSE.replace("{activation}", _ACTIVATIONS[network.activation]))
        body = _dense_body(network, prefix)
    text = "".join(parts).replace("{p}", prefix)
    if _has_range(network):
        text += f"#if {prefix}_RANGE_CHECK\n"
        text += _array(f"{prefix}_lowest", np.asarray(network.feature_lowest))
        text += _array(f"{prefix}_highest", np.asarray(network.feature_highest)) + "#endif\n\n"
    torque = f"{stats.output_mean!r} + {stats.output_deviation!r} * output"
    lines = [*body, f"double torque = {torque};"]
    if deployment.base and network.base is not None:
        text += _base_function(network, prefix)
        lines.insert(0, "const double *given = inputs;")
        lines.append(f"torque += {prefix}_base(given);")
    if deployment.torque_limit is not None:
        limit = repr(float(deployment.torque_limit))
        lines += [
            f"if (torque > {limit}) torque = {limit};",
            f"if (torque < -{limit}) torque = -{limit};",
        ]
    lines.append("return torque;")
    reset = ""
    if _has_range(network):
        reset = f"#if {prefix}_RANGE_CHECK\n    state->outside = 0;\n#endif\n"
        first = 1 if lines[0].startswith("const double *given") else 0
        lines.insert(first, _RANGE_CHECK.replace("{p}", prefix).rstrip("\n"))
    step = "\n".join(line if line.startswith("#") else f"    {line}" for line in lines)
    return (
        f"{text}void {prefix}_reset({prefix}_state *state)\n{{\n"
        f"    for (int i = 0; i < {prefix}_STATE; i++) state->values[i] = 0.0;\n{reset}}}\n\n"
        f"double {prefix}_step({prefix}_state *state, const double inputs[{prefix}_INPUTS])\n"
        f"{{\n{step}\n}}\n"
    )


def _has_range(network: Network) -> bool:
    return network.feature_lowest is not None and network.feature_highest is not None


def _range_macro(prefix: str) -> str:
    return f"""
/* Inputs outside the range of training: 0 no check, 1 count the steps, 2 count and clamp to it.
 * Set it for the whole program, as it changes the state: cc -D{prefix}_RANGE_CHECK=1 */
#ifndef {prefix}_RANGE_CHECK
#define {prefix}_RANGE_CHECK 0
#endif
"""


def _range_counter(prefix: str) -> str:
    return f"""\
#if {prefix}_RANGE_CHECK
    unsigned long outside; /* steps with an input outside the range of training */
#endif
"""


def _recurrent_body(network: Network, p: str) -> list[str]:
    parts = 1 if network.family == "gru" else 2
    lines = [
        f"double x[{p}_FEATURES];",
        f"for (int i = 0; i < {p}_FEATURES; i++) "
        f"x[i] = (inputs[i] - {p}_mean[i]) / {p}_deviation[i];",
    ]
    held = f"state->values[{p}_STATE - 1] != 0.0 ? {HELD_STEPS} : 0"
    lines += [
        "/* the first sample is held before the start: these steps initialise the state from zero "
        "*/",
        f"for (int held = {held}; held <= {HELD_STEPS}; held++) {{",
    ]
    for layer in range(network.layers):
        weights = ", ".join(
            f"{p}_rnn_{name}_l{layer}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        below = "x" if layer == 0 else f"state->values + {parts * (layer - 1)} * {p}_HIDDEN"
        size = f"{p}_FEATURES" if layer == 0 else f"{p}_HIDDEN"
        own = f"state->values + {parts * layer} * {p}_HIDDEN"
        lines.append(f"    {p}_layer({weights}, {size}, {below}, {own});")
    top = f"state->values + {parts * (network.layers - 1)} * {p}_HIDDEN"
    lines += [
        "}",
        f"state->values[{p}_STATE - 1] = 1.0;",
        f"double output = {p}_head_bias[0] + {p}_dot({p}_head_weight, {top}, {p}_HIDDEN);",
    ]
    return [*lines, *_skip_lines(network, p, "x", f"{p}_FEATURES")]


def _dense_body(network: Network, p: str) -> list[str]:
    lines = [
        "/* history of each feature, newest first; initially filled with the first sample */",
        f"double *filled = state->values + {p}_HISTORY * {p}_FEATURES;",
        f"for (int k = {p}_HISTORY - 1; k > 0; k--)",
        f"    for (int i = 0; i < {p}_FEATURES; i++)",
        f"        state->values[k * {p}_FEATURES + i] = *filled != 0.0",
        f"            ? state->values[(k - 1) * {p}_FEATURES + i] : inputs[i];",
        f"for (int i = 0; i < {p}_FEATURES; i++) state->values[i] = inputs[i];",
        "*filled = 1.0;",
        f"double x[{p}_FEATURES * {p}_HISTORY];",
        f"for (int i = 0; i < {p}_FEATURES; i++)",
        f"    for (int k = 0; k < {p}_HISTORY; k++)",
        f"        x[i * {p}_HISTORY + k] = "
        f"(state->values[k * {p}_FEATURES + i] - {p}_mean[i]) / {p}_deviation[i];",
    ]
    below = "x"
    for layer in range(network.layers):
        outputs, inputs = network.weights[f"layers.{layer}.weight"].shape
        last = layer == network.layers - 1
        lines += [
            f"double y{layer}[{outputs}];",
            f"{p}_dense({p}_layers_{layer}_weight, {p}_layers_{layer}_bias, {inputs}, {outputs}, "
            f"{int(last)}, {below}, y{layer});",
        ]
        below = f"y{layer}"
    lines.append(f"double output = {below}[0];")
    return [*lines, *_skip_lines(network, p, "x", f"{p}_FEATURES * {p}_HISTORY")]


def _skip_lines(network: Network, p: str, inputs: str, count: str) -> list[str]:
    if not network.has_skip:
        return []
    name = _identifier(SKIP)
    return [f"output += {p}_dot({p}_{name}, {inputs}, {count});"]


def _base_function(network: Network, prefix: str) -> str:
    """C function with the equations of the base."""
    base: Any = network.base
    graph = Graph()
    names = ("angle", "error", "velocity", "wanted")
    angle, error, velocity, wanted = (graph.input(name) for name in names)
    if isinstance(base, ServoBase):
        torque = base.equation(angle, error, velocity, base.numbers)
    else:
        wanted = wanted if base.target_velocity else 0.0
        torque = pd_torque(angle, error, velocity, wanted, base, base.has_curve)
    result = graph.value(torque)
    places: dict[str, int] = dict(
        zip(names, (network.inputs.index(n) for n in base.features), strict=False)
    )
    numbers = needed([result])
    lines = [
        f"    const double x{number} = {_operation(graph, graph.nodes[number], places)};"
        for number in numbers
    ]
    body = "\n".join(lines)
    return (
        f"/* Analytic base: {_base_words(base)}. */\n"
        f"static double {prefix}_base(const double *inputs)\n{{\n{body}\n"
        f"    return x{result.number};\n}}\n\n"
    )


def _operation(graph: Graph, node: Node, places: dict[str, int]) -> str:
    a = [f"x{number}" for number in node.operands]
    operation = node.operation
    if operation == "input":
        return f"inputs[{places[str(node.content)]}]"
    if operation == "constant":
        return _literal(float(node.content or 0.0))
    if operation in _INFIX:
        return f"{a[0]} {_INFIX[operation]} {a[1]}"
    if operation == "negative":
        return f"-{a[0]}"
    if operation == "where":
        return f"{a[0]} != 0.0 ? {a[1]} : {a[2]}"
    if operation in ("minimum", "maximum"):
        # NaN in the first operand propagates, as in the compiled form
        sign = "<" if operation == "minimum" else ">"
        return f"{a[1]} {sign} {a[0]} ? {a[1]} : {a[0]}"
    if operation == "sign":
        return f"({a[0]} > 0.0) - ({a[0]} < 0.0)"
    if operation in _CALLS:
        return f"{_CALLS[operation]}({', '.join(a)})"
    raise FitError(
        f"the analytic base contains the operation {operation!r}, which the C export does not "
        "support"
    )


def _base_words(base: Any) -> str:
    if isinstance(base, ServoBase):
        # a name from a file must not terminate the comment
        name = re.sub(r"[^\w .+-]", "_", base.servo)
        return f"servo {name}".rstrip()
    return "PD law"


def _array(name: str, values: np.ndarray) -> str:
    flat = np.asarray(values, dtype=np.float64).ravel()
    rows = [
        ", ".join(_literal(float(v)) for v in flat[first : first + 6])
        for first in range(0, len(flat), 6)
    ]
    inside = ",\n    ".join(rows)
    return f"static const double {name}[{len(flat)}] = {{\n    {inside}\n}};\n"


def _literal(number: float) -> str:
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return repr(number)


def _identifier(text: str) -> str:
    """A name in C."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not name or name[0].isdigit() or name in _KEYWORDS:
        name = f"network_{name}"
    return name
