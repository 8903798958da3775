"""An ensemble as one file for a simulator's actuator class."""

import json
import tempfile
import warnings
from pathlib import Path

from trueup.errors import FitError, listing
from trueup.networks.export.exported_network import export_network
from trueup.networks.export.torch_files import METADATA_FILE, save_script
from trueup.networks.runtime.ensemble import NetworkEnsemble

FORMATS = {
    ("isaaclab", "linear"): "isaac-lab-mlp",
    ("isaaclab", "mlp"): "isaac-lab-mlp",
    ("isaaclab", "lstm"): "isaac-lab-lstm",
    ("isaaclab", "gru"): "isaac-lab-gru",
    ("mjlab", "linear"): "mjlab",
    ("mjlab", "mlp"): "mjlab",
}
"""Simulator and family -> format of :func:`export_network`."""


def ensemble_format(ensemble: NetworkEnsemble, simulator: str) -> str:
    """Format in which a simulator takes the networks of an ensemble.

    Raises:
      FitError: it takes no network of this family.
    """
    family = ensemble.networks[0].family
    if (simulator, family) not in FORMATS:
        taken = [kind for place, kind in FORMATS if place == simulator]
        raise FitError(
            f"{simulator} has no actuator for a network of the family {family!r}; it takes "
            f"{listing(taken)}"
        )
    return FORMATS[simulator, family]


def write_ensemble(ensemble: NetworkEnsemble, simulator: str, joints: int, path: Path) -> str:
    """Write a TorchScript in which environment i has member i % members.

    Args:
      ensemble: the networks.
      simulator: ``"isaaclab"`` or ``"mjlab"``.
      joints: joints of an environment that the actuator drives, all of one kind.
      path: file to write.

    Returns:
      The configuration of the simulator's class, as Python text.

    Raises:
      FitError: the simulator has no actuator for the networks.
      MissingExtraError: torch is not installed.
    """
    format_name = ensemble_format(ensemble, simulator)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.pt" for number in range(len(ensemble.networks))]
        for network, file in zip(ensemble.networks, files, strict=True):
            exported = export_network(network, format_name, file)
        import torch

        from trueup.networks.export.member_modules import GruMembers, LstmMembers, MlpMembers

        described = {METADATA_FILE: ""}
        with warnings.catch_warnings():
            # it is deprecated, but it is what the simulators load
            warnings.filterwarnings("ignore", ".*torch.jit.*", DeprecationWarning)
            warnings.filterwarnings("ignore", ".*torch.jit.*", FutureWarning)
            members = [torch.jit.load(str(file), _extra_files=described) for file in files]
    kinds = {"gru": GruMembers, "lstm": LstmMembers}
    module = kinds.get(ensemble.networks[0].family, MlpMembers)(members, joints)
    metadata = {**json.loads(described[METADATA_FILE]), "members": len(members), "joints": joints}
    save_script(module, path, json.dumps(metadata))
    return exported.usage.replace(repr(str(files[-1])), repr(path.name))
