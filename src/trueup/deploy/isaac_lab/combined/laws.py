"""Equations that the writer inserts, declared for the other parts; not in the module itself.

They are those of :mod:`trueup.networks.base.equations`; ``p`` has the parameters.
"""

from pathlib import Path
from typing import Any

import torch

FOLDER = Path()
"""Folder of the module."""


def pd_law(angle: Any, error: Any, velocity: Any, wanted: Any, p: Any) -> torch.Tensor:
    """Torque of a PD law and a spring [N m]."""
    raise NotImplementedError


def pd_law_with_curve(angle: Any, error: Any, velocity: Any, wanted: Any, p: Any) -> torch.Tensor:
    """Torque of a PD law within a torque-speed curve, and a spring [N m]."""
    raise NotImplementedError


def torque_speed_curve(torque: Any, velocity: Any, p: Any) -> torch.Tensor:
    """Torque within an asymmetric torque-speed curve [N m]."""
    raise NotImplementedError
