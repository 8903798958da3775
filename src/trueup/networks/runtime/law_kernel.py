"""The control law that runs networks inside MuJoCo.

The weights are stored in the model, as custom ``numeric`` elements that all simulations share. As
gains of the law, each simulation would have a copy; as constants of the code, each network would
be compiled separately.
"""

import functools
import math
from typing import Any

import numpy as np

from trueup.networks.runtime.kernel import network_functions
from trueup.networks.runtime.record import HEADER
from trueup.networks.runtime.servo_rows import ServoLayout
from trueup.simulation.control import ControlLaw, control_law

RECORD_MAGIC = 271828.0
"""Marker before and after the numbers of the networks in the model."""
CHUNK = 400
"""Numbers per element; the XML reader of MuJoCo accepts at most 500."""

CONSTANT, POSITION, VELOCITY, ERROR, FROM_COMMAND = -1, 0, 1, 2, 3
"""Sources of a feature; from ``FROM_COMMAND`` the command channels, the goal first."""

_NO_NETWORK, _BAD_NETWORK, _OTHER_STEP = 1, 2, 3
_FAILURES = {
    _NO_NETWORK: "the model contains no network: compile it from the spec of network_law",
    _BAD_NETWORK: "the numbers of the networks are not contiguous in the model",
    _OTHER_STEP: "the time step was changed: a network must be stepped at its trained rate",
}


def law_size(inputs: int, memory: int) -> tuple[int, int]:
    """Sizes rounded up to a few values, so that networks share compiled laws."""
    return 4 * math.ceil(inputs / 4), max(32, 2 ** math.ceil(math.log2(memory)))


@functools.cache
def networks_control(inputs: int, memory: int, layout: ServoLayout) -> ControlLaw:
    """The control law for networks up to a size.

    Args:
        inputs: largest number of inputs of a network.
        memory: largest state size of a network.
        layout: layout of the servo bases.

    Returns:
        The law. Its commands are ordered by channel, then by joint; it writes ``ctrl``.
    """
    network_step = network_functions(layout).step

    @control_law(
        gains={
            "network": "joint",
            "sources": ("joint", inputs),
            "constants": ("joint", inputs),
            "rate": 1,
        },
        state={"memory": ("joint", memory), "features": ("joint", inputs), "torque": "joint"},
        writes=["ctrl"],
        failures=_FAILURES,
    )
    def networks(
        position, velocity, command, period, gains, state, numeric_adr, numeric_data, ctrl_out
    ):
        # other numerics of the model may precede those of the networks: search for the marker
        start = -1
        for k in range(len(numeric_adr)):
            if numeric_data[numeric_adr[k]] == RECORD_MAGIC:
                start = numeric_adr[k]
                break
        if start < 0:
            return _NO_NETWORK
        # elements are contiguous in a compiled model; the end marker detects any other layout
        total = int(numeric_data[start + 1])
        if start + total > len(numeric_data) or numeric_data[start + total - 1] != RECORD_MAGIC:
            return _BAD_NETWORK
        # a network is a discrete-time system, valid at its trained rate only
        if abs(period * gains.rate[0] - 1.0) > 1e-3:
            return _OTHER_STEP
        joints = len(position)
        for i in range(joints):
            features = state.features[i]
            for k in range(len(features)):
                source = int(gains.sources[i, k])
                if source == POSITION:
                    features[k] = position[i]
                elif source == VELOCITY:
                    features[k] = velocity[i]
                elif source == ERROR:
                    features[k] = command[i] - position[i]
                elif source == CONSTANT:
                    features[k] = gains.constants[i, k]
                else:
                    # commands are ordered by channel, then by joint
                    features[k] = command[(source - FROM_COMMAND) * joints + i]
            # a view without a copy; a record defines its length by its header, so the view extends
            # to
            # the end of all records
            record = numeric_data[start + int(gains.network[i]) : start + total]
            work = np.empty(int(record[HEADER.work_size]))
            state.torque[i] = network_step(record, features, state.memory[i], work)
            ctrl_out[i] = state.torque[i]
        return 0

    return networks


def model_numbers(records: list[np.ndarray]) -> tuple[np.ndarray, list[int]]:
    """Numbers of the networks in the model, and the start index of each network.

    Returns:
        Numbers: marker, count, records, marker; and the start index of each record.
    """
    places, place = [], 2
    for record in records:
        places.append(place)
        place += len(record)
    body = np.concatenate(records)
    return np.concatenate([[RECORD_MAGIC, place + 1.0], body, [RECORD_MAGIC]]), places


def add_numbers(spec: Any, numbers: np.ndarray) -> None:
    """Add numbers to a spec as custom numerics, contiguous in the compiled model."""
    for k, start in enumerate(range(0, len(numbers), CHUNK)):
        name = f"trueup_networks_{k}"
        spec.add_numeric(name=name, data=numbers[start : start + CHUNK].tolist())
