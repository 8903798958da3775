"""Members of an ensemble as actuators of Isaac Lab and mjlab: each environment has its own."""

from pathlib import Path

from trueup.knowledge.draws import Draws
from trueup.knowledge.simulators import module_text
from trueup.knowledge.simulators.forms import SimulatorForm
from trueup.networks.export.ensemble_file import write_ensemble
from trueup.networks.runtime.ensemble import NetworkEnsemble

NETWORK = "posterior_network.pt"
"""File with the networks."""

_USE = """
``ACTUATOR_CFG`` goes among the actuators of the robot, for {joints} joints: environment i has
network i % {count} of ``posterior_network.pt``."""


def network_forms(ensemble: NetworkEnsemble, joints: int) -> dict[str, SimulatorForm]:
    """Forms of an ensemble, by simulator.

    Args:
      ensemble: the networks.
      joints: joints of an environment that they drive.
    """

    def form(simulator: str) -> SimulatorForm:
        def write(made: Draws, name: str, folder: Path) -> str:
            count = len(ensemble.networks)
            config = write_ensemble(ensemble, simulator, joints, folder / NETWORK)
            config = config.replace(repr(NETWORK), f'str(Path(__file__).with_name("{NETWORK}"))')
            use = _USE.format(joints=joints, count=count)
            head = module_text.title(name, count, "the simulator", use)
            return f"{head}\nfrom pathlib import Path\n\n{config}"

        return SimulatorForm("posterior_network.py", write, further=(NETWORK,))

    return {"mjlab": form("mjlab"), "isaaclab": form("isaaclab"), "json": SimulatorForm("")}
