"""Ensemble of networks in one file for a simulator: environment i has member i % members."""

import json
import tempfile
import warnings
from pathlib import Path

from trueup.deploy.draws import DrawsExport, DrawsRequest, title
from trueup.deploy.network import export_network
from trueup.networks.runtime.torchscript import METADATA_FILE, save_script

NETWORK_FILE = "posterior_network.pt"
"""File with the networks, next to the module."""

_USE = """
``ACTUATOR_CFG`` goes among the actuators of the robot, for {joints} joints: environment i has
network i % {count} of ``{file}``."""


def export_ensemble(request: DrawsRequest, form: str) -> DrawsExport:
    """Module with the configuration of a simulator class, and TorchScript of all networks.

    Args:
      request: the networks, and the number of joints of an environment that they drive, all of one
        kind.
      form: form of a single network for the simulator.

    Raises:
      FitError: the simulator has no actuator class for the networks.
      MissingExtraError: torch is not installed.
    """
    networks, joints = request.of.networks, request.joints
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.pt" for number in range(len(networks))]
        for network, file in zip(networks, files, strict=True):
            exported = export_network(network, form, file)
        import torch

        from trueup.deploy.ensemble_modules import GruMembers, LstmMembers, MlpMembers

        described = {METADATA_FILE: ""}
        with warnings.catch_warnings():
            # TorchScript is deprecated, but it is the format that the simulators load
            warnings.filterwarnings("ignore", ".*torch.jit.*", DeprecationWarning)
            warnings.filterwarnings("ignore", ".*torch.jit.*", FutureWarning)
            members = [torch.jit.load(str(file), _extra_files=described) for file in files]
        kinds = {"gru": GruMembers, "lstm": LstmMembers}
        module = kinds.get(networks[0].family, MlpMembers)(members, joints)
        metadata = json.loads(described[METADATA_FILE])
        metadata |= {"members": len(members), "joints": joints}
        together = Path(folder) / NETWORK_FILE
        save_script(module, together, json.dumps(metadata))
        content = together.read_bytes()
    place = f'str(Path(__file__).with_name("{NETWORK_FILE}"))'
    configuration = exported.usage.replace(repr(str(files[-1])), place)
    use = _USE.format(joints=joints, count=len(networks), file=NETWORK_FILE)
    head = title(request.run, len(networks), "the simulator", use)
    return DrawsExport((f"{head}\nfrom pathlib import Path\n\n{configuration}", content))
