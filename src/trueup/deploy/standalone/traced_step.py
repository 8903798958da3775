"""Step of a network traced by torch: ``torch.export`` and ONNX."""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueup.errors import FitError, MissingExtraError
from trueup.networks.runtime.deployment import Deployment, held_steps, metadata_text
from trueup.networks.runtime.torchscript import METADATA_FILE, torch_or_missing
from trueup.runs.store import atomic

OPSET = 20
"""Version of the ONNX operators; ONNX Runtime 1.18 and later read it."""


def write_torch_export(deployment: Deployment, path: Path, **entries: Any) -> None:
    """Write the step as a ``torch.export`` archive (``.pt2``), for any batch.

    Raises:
        FitError: the file name does not end in ``.pt2``.
        MissingExtraError: torch is not installed.
    """
    torch = torch_or_missing()
    if path.suffix != ".pt2":
        raise FitError(f"{path}: the name of an exported program must end in .pt2")
    buffer = io.BytesIO()
    entries["held_steps"] = held_steps(deployment.network)
    extra = {METADATA_FILE: metadata_text(deployment, **entries)}
    with _quiet_tracing():
        torch.export.save(_exported_program(deployment), buffer, extra_files=extra)
    atomic.write_bytes(path, buffer.getvalue())


def write_onnx(deployment: Deployment, path: Path) -> None:
    """Write the step as an ONNX file with inputs ``x``, ``h`` and outputs ``torque``, ``h_next``.

    Raises:
        MissingExtraError: torch, onnx or onnxscript is not installed.
    """
    torch = torch_or_missing()
    try:
        import onnx
        import onnxscript  # noqa: F401  torch.onnx imports it
    except ImportError as error:
        raise MissingExtraError("an ONNX export", "network", error.name or "onnx") from error
    with _quiet_tracing():
        program = torch.onnx.export(
            _exported_program(deployment),
            (),
            dynamo=True,
            opset_version=OPSET,
            input_names=["x", "h"],
            output_names=["torque", "h_next"],
            dynamic_shapes=({0: "batch"}, {1: "batch"}),  # names of the dimensions in the file
            verbose=False,
        )
    model = program.model_proto
    graph = model.graph
    # torch records the source line of each value, with local paths
    for described in (graph, *graph.node, *graph.value_info, *graph.initializer):
        del described.metadata_props[:]
    model.producer_name = "trueup"
    described = metadata_text(deployment, held_steps=held_steps(deployment.network))
    onnx.helper.set_model_props(model, {"metadata": described})
    onnx.checker.check_model(model, full_check=True)
    atomic.write_bytes(path, model.SerializeToString())


def _exported_program(deployment: Deployment) -> Any:
    """The step traced by ``torch.export``, for any batch."""
    torch = torch_or_missing()
    from trueup.networks.runtime.torch_step import deployed_module

    rows, _, width = deployment.state_shape
    x = torch.zeros(2, 1, len(deployment.inputs))
    h = torch.zeros(rows, 2, width)
    batch = torch.export.Dim("batch", min=1, max=2**20)
    module = deployed_module(deployment, False).requires_grad_(False)
    with torch.no_grad():
        return torch.export.export(module, (x, h), dynamic_shapes=({0: batch}, {1: batch}))


@contextlib.contextmanager
def _quiet_tracing() -> Iterator[None]:
    """Suppress torch's messages on its own modules and missing optional packages."""
    log = logging.getLogger("torch.onnx")
    former = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(former)
