"""``trueup network export``: a trained network for a simulator or a runtime."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from trueup.cli.output import Output
from trueup.cli.study_options import Json
from trueup.networks.export.formats import ExportFormat

NETWORK_FILE = "network.safetensors"
"""File of a run that holds its network."""


@dataclass(frozen=True, kw_only=True)
class ExportNetwork:
    """Write a trained network for a simulator or a runtime, with normalisation, base and limits.

    Examples:
      trueup network export runs/knee --format torchscript --output knee.pt
      trueup network export runs/knee --format onnx --output knee.onnx
      trueup network export runs/knee --format isaac-lab-lstm --output knee.pt
      trueup network export runs/knee --format isaac-lab-combined --output knee_for_isaac_lab
      trueup network export network.safetensors --format onnx --without base limits -o raw.onnx

    torchscript, onnx and torch-export hold one step (x, h) -> (torque, h) at the network's rate.
    isaac-lab-mlp and mjlab take an mlp or a linear network, isaac-lab-lstm an lstm, isaac-lab-gru
    and isaac-lab-combined a gru; newton takes each. Exit codes: 0 done, 2 wrong input.
    """

    network: Annotated[Positional[Path], arg(metavar="RUN|FILE")]
    """Folder of a training run, or its network file (.safetensors, .npz)."""
    format: Annotated[ExportFormat, arg(aliases=["--to"])]
    """What to write."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """File to write, a folder for isaac-lab-combined; named after the format, beside the network,
    where absent."""
    without: Annotated[
        tuple[Literal["normalization", "base", "limits"], ...], arg(metavar="PART [PART ...]")
    ] = ()
    """Leave parts out of the graph: normalization, base, limits. Without the base there is no limit
    inside either, as it is one of the sum; without normalization there is neither."""
    overwrite: bool = False
    """Replace what is there."""
    json: Json = False

    def run(self, output: Output) -> int:
        """Run the command; returns the exit code."""
        return run_export(self, output)


def run_export(command: ExportNetwork, output: Output) -> int:
    """Write a network; returns the exit code.

    Raises:
      FitError: the network cannot be read, or does not fit the format.
      ReportError: the output exists or cannot be written.
      MissingExtraError: a package that the format needs is not installed.
    """
    from trueup.errors import ReportError
    from trueup.networks.export import export_network
    from trueup.networks.export._export_network import SUFFIXES

    source = network_file(command.network)
    network = read_network(source)
    suffix = SUFFIXES.get(command.format, ".pt")
    target = command.output or source.parent / f"network_{command.format}{suffix}"
    if target.exists() and not command.overwrite:
        raise ReportError(f"{target} exists: give another --output, or --overwrite")
    parts = {part: part not in command.without for part in ("normalization", "base", "limits")}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        done = export_network(network, command.format, target, **parts)
    except OSError as error:
        if isinstance(error, ImportError):
            raise
        raise ReportError(f"cannot write {target}: {error.strerror or error}") from error
    output.text(f"{command.format} of {source} in {done.path}", "", done.usage.rstrip("\n"))
    output.result(
        {
            "format": command.format,
            "network": str(source),
            "output": str(done.path),
            "without": list(command.without),
            "rate_hz": network.rate,
            "features": list(network.features),
            "usage": done.usage,
        }
    )
    return 0


def network_file(path: Path) -> Path:
    """The network file that a run or a file means.

    Raises:
      FitError: there is none.
    """
    from trueup.errors import FitError, listing

    if path.is_dir():
        found = path / NETWORK_FILE
        if found.is_file():
            return found
        inner = sorted(str(each.parent) for each in path.glob(f"*/{NETWORK_FILE}"))
        hint = f" These folders in it do: {listing(inner)}" if inner else ""
        raise FitError(f"{path} holds no {NETWORK_FILE}: it is no finished training run.{hint}")
    if not path.exists():
        raise FitError(f"{path} does not exist; give the folder of a training run, or its network")
    return path


def read_network(path: Path) -> Any:
    """The network of a ``.safetensors`` or ``.npz`` file.

    Raises:
      FitError: the file is damaged or something else; nothing in it is ever run.
    """
    from trueup.errors import FitError
    from trueup.networks import load_network
    from trueup.networks.export import load_numpy_network

    if path.suffix == ".npz":
        return load_numpy_network(path)
    if path.suffix in (".pt", ".ckpt", ".pth", ".pkl"):
        raise FitError(
            f"{path} is a checkpoint or a program, which reading could run: give the folder of the "
            f"training run, or its {NETWORK_FILE}"
        )
    return load_network(path)
