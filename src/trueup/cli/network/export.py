"""``trueup network export``: a trained network for a simulator or a runtime."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from trueup._marks import KEY
from trueup.cli.output import Output
from trueup.cli.study.options import Json, OfRuns
from trueup.deploy.forms import NETWORK, described_forms, find_form


@dataclass(frozen=True, kw_only=True)
class ExportNetwork(OfRuns):
    """Write a trained network for a simulator or a runtime, with normalisation, base and limits.

    Examples:
      trueup network export runs/knee --form torchscript --output knee.pt
      trueup network export runs/knee --form onnx --output knee.onnx
      trueup network export runs/knee --form c --output knee.c
      trueup network export runs/knee --form isaac-lab --output knee.pt
      trueup network export runs/knee --form isaac-lab-combined --output knee_for_isaac_lab
      trueup network export network.safetensors --form onnx --without base limits -o raw.onnx

    torchscript, onnx and torch-export contain one step (x, h) -> (torque, h) at the rate of the
    network; c is a source and a header without dependencies, for firmware. mjlab supports mlp and
    linear networks, isaac-lab-combined a gru; isaac-lab and newton support all families.
    Exit codes: 0 done, 2 wrong input.
    """

    network: Annotated[Positional[Path], arg(metavar="RUN|FILE")]
    """Run directory of a training, or network file (.safetensors, .npz)."""
    form: Annotated[str, arg(metavar="FORM", help=described_forms(NETWORK))]
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """File to write, or folder for isaac-lab-combined; by default named after the form, next to the
    network."""
    without: Annotated[
        tuple[Literal["normalization", "base", "limits"], ...], arg(metavar="PART [PART ...]")
    ] = ()
    """Parts to omit from the graph: normalization, base, limits. Without the base, the limits are
    omitted too, as they apply to the sum; without the normalization, both are."""
    overwrite: bool = False
    """Replace an existing output."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        return run_export(self, output)


def run_export(command: ExportNetwork, output: Output) -> int:
    """Write a network; returns the exit code.

    Raises:
      RunDirectoryError: the path contains no network.
      FitError: the network cannot be read, or is not supported by the form.
      ReportError: the output exists or cannot be written.
      MissingExtraError: a package that the form needs is not installed.
    """
    from trueup.cli.network.options import named_network, network_file
    from trueup.deploy.network import export_network
    from trueup.errors import ReportError

    form = find_form(command.form, NETWORK)
    source = network_file(command.network)
    network = named_network(source, command.anyway)
    target = command.output or source.parent / f"network_{form.name}{form.suffix}"
    if target.exists() and not command.overwrite:
        raise ReportError(f"{target} exists: replace it with --overwrite, or give another --output")
    parts = {part: part not in command.without for part in ("normalization", "base", "limits")}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        done = export_network(network, command.form, target, **parts)
    except OSError as error:
        if isinstance(error, ImportError):
            raise
        raise ReportError(f"cannot write {target}: {error.strerror or error}") from error
    output.text(f"{form.name} of {source} in {done.path}", "", done.usage.rstrip("\n"))
    output.result(
        {
            "form": form.name,
            "network": str(source),
            "output": str(done.path),
            "without": list(command.without),
            "rate_hz": network.rate,
            "features": list(network.features),
            "usage": done.usage,
            **({KEY: mark} if (mark := network.provenance.get(KEY)) else {}),
        }
    )
    return 0
