"""Settings of the GRU actuator of Isaac Lab."""

from dataclasses import MISSING

from isaaclab.actuators import IdealPDActuatorCfg  # pyright: ignore
from isaaclab.utils import configclass  # pyright: ignore

from trueup.deploy.isaac_lab.combined.actuator import CombinedGRUAndPDActuator


@configclass
class CombinedGRUAndPDActuatorCfg(IdealPDActuatorCfg):
    """A stateful GRU, alone or as the residual of an analytic PD law, on joints of an articulation.

    ``trueup network export RUN --form isaac-lab-combined`` writes the folder of its files, and this
    module with them.
    """

    class_type: type = CombinedGRUAndPDActuator
    # the network gives the torque; gains of its analytic base are in its files
    stiffness = None
    damping = None

    run_folder: str | None = None
    """Folder with network.pt, normalization_stats.json and training_config_summary.json; None: that
        of this module."""
    network_file: str | None = None
    """TorchScript ``(x_normalised (B, 1, 3), h) -> (output_normalised, h)``, if it is
    elsewhere."""
    normalization_stats_file: str | None = None
    """Statistics of features and output, if they are elsewhere."""
    training_config_summary_file: str | None = None
    """Layers, width, analytic base and rate, if they are elsewhere."""
    physics_dt: float = MISSING  # pyright: ignore
    """Time step of the simulation [s], ``sim.dt``; the network steps at its own rate."""
    stall_torque: float | None = None
    """Stall torque [N m] of a torque-speed curve on the total torque; None: no curve."""
    no_load_speed: float | None = None
    """No-load speed [rad/s] of that curve."""
    range_check: str = "off"
    """Treatment of inputs outside the range of training: ``off``, ``count`` their steps for each
    joint in ``outside`` of the actuator, or ``clamp``, which also limits the inputs of the network
    to that range."""
    gru_sequence_length: int | None = None
    """Length of the training sequences [samples]; for information only, a step takes one sample."""
