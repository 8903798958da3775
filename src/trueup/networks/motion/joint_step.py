"""Compiled step of a joint over one sample, with its derivatives.

Source code for numba is generated from the equation of a step, with the derivatives of its traced
graph. In torch the step is one operation: a window costs one call per sample, and the backward
pass uses the derivatives stored by each call.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from trueup.actuators.equations.compiled import compiled
from trueup.actuators.equations.generation import function_from, function_source
from trueup.actuators.equations.tracing import Graph, pullback
from trueup.compilation import select
from trueup.networks.compiled import compiled as compiled_driver

STATES = ("position", "speed")
FOLLOWED = ("correction", "gain")
"""Differentiable inputs, in addition to the state and the parameters of the equation."""
MOVING = ("target", "on")
"""Inputs of each step within a sample, (B, substeps)."""
HELD = ("rate_gain", "voltage", "volts", "warmth", "inertia", "gravity")
"""Inputs that are constant over a sample, (B,)."""
INPUTS = (*STATES, *MOVING, *FOLLOWED, *HELD, "h")
"""Inputs of the equation of a step, before its parameters."""

_NAMES: dict[str, Any] = {
    **{name: getattr(math, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh")},
    "copysign": math.copysign, "inf": math.inf, "select": select,
}  # fmt: skip


class SampleInputs(NamedTuple):
    """Inputs of a sample in addition to the state; arrays of floats."""

    target: np.ndarray
    on: np.ndarray
    rate_gain: np.ndarray
    voltage: np.ndarray
    volts: np.ndarray
    warmth: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray


def sample_step(equation: Callable[..., Any], numbers: Sequence[str]) -> Any:
    """Compiled step of a sample for a batch of joints.

    Args:
        equation: speed after a step, as a function of :data:`INPUTS` and a dictionary of
            parameters.
        numbers: names of its parameters.

    Returns:
        ``step(position, speed, correction, gain, numbers, inputs, h)``: positions and speeds after
        the sample (B,), and their derivatives (B, 2, 4 + numbers) with respect to position, speed,
        correction, gain and numbers (numbers, B).
    """
    graph = Graph(for_speed=True)
    inputs = [graph.input(name) for name in INPUTS]
    columns = {name: graph.input(f"n_{name}") for name in numbers}
    speed = graph.value(equation(*inputs, dict(columns)))
    followed = [graph.input(name) for name in (*STATES, *FOLLOWED)]
    slopes = pullback([(speed, 1.0)], [*followed, *columns.values()])
    names = (*INPUTS, *(f"n_{name}" for name in numbers))
    text = "return " + ", ".join("{}" for _ in range(1 + len(slopes)))
    return _compiled(function_source("speed_after", names, [(text, [speed, *slopes])]), len(names))


@functools.cache
def _compiled(source: str, count: int) -> Any:
    """Step of a sample, from the source code of the speed after a step with ``count`` arguments."""
    numbers = count - len(INPUTS)
    places = range(4 + numbers)
    found = ", ".join(f"d{place}" for place in places)
    held = ", ".join(f"inputs.{name}[b]" for name in HELD)
    more = "".join(f", numbers[{place}, b]" for place in range(numbers))
    # chain rule: direct derivatives of a step, and those through the state before it
    chained = [f"s{k} = d0 * p{k} + d1 * s{k}" + (f" + d{k}" if k > 1 else "") for k in places]
    moved = [f"p{k} = p{k} + h * s{k}" for k in places]
    began = [f"p{k} = {float(k == 0)}" for k in places] + [
        f"s{k} = {float(k == 1)}" for k in places
    ]
    kept = [f"slopes[b, 0, {k}] = p{k}" for k in places]
    kept += [f"slopes[b, 1, {k}] = s{k}" for k in places]
    lines = [
        "def run(position, speed, correction, gain, numbers, inputs, h):",
        "    size = len(position)",
        "    angles, speeds = np.empty(size), np.empty(size)",
        f"    slopes = np.empty((size, 2, {len(places)}))",
        "    for b in range(size):",
        "        q, v = position[b], speed[b]",
        *(f"        {line}" for line in began),
        "        for k in range(inputs.target.shape[1]):",
        f"            v, {found} = speed_after(q, v, inputs.target[b, k], inputs.on[b, k], "
        f"correction[b], gain[b], {held}, h{more})",
        "            q = q + h * v",
        *(f"            {line}" for line in [*chained, *moved]),
        "        angles[b], speeds[b] = q, v",
        *(f"        {line}" for line in kept),
        "    return angles, speeds, slopes",
    ]
    after = compiled(function_from(source, "speed_after", dict(_NAMES)))
    driver = function_from("\n".join(lines) + "\n", "run", {"np": np, "speed_after": after})
    return compiled_driver()(driver)


class SampleStep(torch.autograd.Function):
    """The compiled step as an operation of torch."""

    @staticmethod
    def forward(
        ctx: Any, step: Any, inputs: SampleInputs, h: float, position: Tensor, speed: Tensor,
        correction: Tensor, gain: Tensor, numbers: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Positions and speeds after the sample; stores the derivatives."""
        given = [each.detach().numpy() for each in (position, speed, correction, gain, numbers)]
        angles, speeds, slopes = step(*(np.ascontiguousarray(each) for each in given), inputs, h)
        ctx.slopes = torch.from_numpy(slopes)
        return torch.from_numpy(angles), torch.from_numpy(speeds)

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple[Tensor | None, ...]:
        """Gradient from the stored derivatives."""
        shares = bars[0][:, None] * ctx.slopes[:, 0] + bars[1][:, None] * ctx.slopes[:, 1]
        position, speed, correction, gain = shares[:, :4].unbind(1)
        return None, None, None, position, speed, correction, gain, shares[:, 4:].T
