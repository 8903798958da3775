"""Export of a network, in any form."""

import os
from dataclasses import dataclass
from pathlib import Path

from trueup._marks import KEY, marked
from trueup.deploy.forms import NETWORK, Form, find_form
from trueup.errors import FitError, listing
from trueup.networks.data.features import not_deployable
from trueup.networks.model.network import Network
from trueup.networks.runtime.deployment import Deployment


@dataclass(frozen=True)
class ExportedNetwork:
    """Result of an export."""

    path: Path
    """The file, or the folder."""
    usage: str
    """Usage in the target simulator or runtime, as Python text."""


def export_network(
    network: Network,
    form: str,
    path: str | os.PathLike[str],
    *,
    normalization: bool = True,
    base: bool = True,
    limits: bool = True,
) -> ExportedNetwork:
    """Write a network for a simulator or a runtime.

    ``torchscript``, ``onnx`` (operators of set 20) and ``torch-export`` contain the stateful step
    ``(x (batch, 1, inputs), h) -> (torque (batch, 1), h)``, one call every ``1 / rate`` seconds;
    ``h`` starts at zero. Its shape is (layers, batch, hidden) for a GRU, (2 layers, batch, hidden)
    for an LSTM, hidden states before cells, and (history + 1, batch, features) for the others,
    newest first, with ones in the last row after the first sample has filled the history. Before
    the first step of a GRU or LSTM, ``onnx`` and ``torch-export`` require the ``held_steps`` of
    their metadata with the first ``x``; the other forms do so internally. Arithmetic is in single
    precision. Each
    file contains its metadata: features with units, rate, limits and included parts, as JSON
    (``metadata.json`` among the extra files of torch, the property ``metadata`` of ONNX).

    ``c`` writes a source file and a header, without dependencies: ``NAME_step`` takes the
    features of one time step and returns the torque, in double precision.

    The other forms are for the actuator classes of Isaac Lab, mjlab and Newton.

    Args:
        network: the trained network.
        form: name of a form that supports networks, see :func:`find_form`.
        path: file to write; a folder for ``isaac-lab-combined``.
        normalization: scale features and output inside the graph.
        base: add the analytic base inside the graph.
        limits: apply the torque limit inside the graph.

    Raises:
        FitError: the form is unknown, or does not support the network; the message states what it
          supports.
        MissingExtraError: torch (for all but ``numpy`` and ``newton``), onnx or onnxscript is not
            installed.
    """
    chosen = find_form(form, NETWORK)
    check_inputs(network, chosen)
    deployment = Deployment(network, normalization, base, limits)
    path = Path(path)
    with marked(network.provenance.get(KEY)):
        return ExportedNetwork(path, chosen.write(deployment, path))


def check_inputs(network: Network, form: Form) -> None:
    """Reject a network whose inputs, or whose torque alone, a simulator does not have.

    Raises:
        FitError: the form is for a simulator, and the network requires what only hardware measures
            or is a correction of another torque.
    """
    if form.for_simulator:
        _check_deployable(network, form.name)
        _check_whole(network, form.name)


def _check_deployable(network: Network, form: str) -> None:
    """Reject inputs that a simulator does not have.

    Raises:
        FitError: the network requires one.
    """
    measured = not_deployable(network.inputs)
    if measured:
        others = [name for name in network.features if name not in measured]
        raise FitError(
            f"{form} is for a simulator, but the network requires {listing(measured)}, which "
            "only hardware measures. Train without it: trueup network train "
            f"'data.features=[{','.join(others)}]'"
        )


def _check_whole(network: Network, form: str) -> None:
    """Reject a correction: the actuator class of a simulator applies the output as total torque.

    Raises:
        FitError: the network is a correction of another torque.
    """
    beneath = network.provenance.get("base")
    if isinstance(beneath, dict) and beneath.get("kind", "none") != "none":
        raise FitError(
            f"{form} requires a whole actuator, but this network is a "
            f"{network.provenance.get('target', 'correction')}. Export it as c, "
            "numpy, onnx, torchscript or torch-export, and add its torque to that of the base"
        )
