"""Stand-ins for Isaac Lab's and Newton's actuator classes, as far as servo modules use them.

``benchmarks/simulator_contracts/check_servo_modules.py`` runs the modules in the real classes and
compares the signatures.
"""

import dataclasses
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch
import warp_stand_in


class IdealPDActuator:
    """``isaaclab.actuators.IdealPDActuator`` 2.3: buffers and the limit of efforts."""

    def __init__(self, cfg: Any, joint_names: list[str], joint_ids: Any, num_envs: int,
                 device: str, **defaults: Any):  # fmt: skip
        self.cfg, self._num_envs, self._device = cfg, num_envs, device
        self.joint_names, self.joint_indices = joint_names, joint_ids
        self.effort_limit = torch.full((num_envs, len(joint_names)), float(cfg.effort_limit))

    def _clip_effort(self, effort: torch.Tensor) -> torch.Tensor:
        return torch.clip(effort, min=-self.effort_limit, max=self.effort_limit)


@dataclasses.dataclass
class IdealPDActuatorCfg:
    """``isaaclab.actuators.IdealPDActuatorCfg`` 2.3."""

    class_type: type = object
    joint_names_expr: list[str] = dataclasses.field(default_factory=list)
    effort_limit: float | None = None
    stiffness: float | None = None
    damping: float | None = None
    armature: float | None = None
    friction: float | None = None


def configclass(cls: type) -> type:
    """``isaaclab.utils.configclass``: a dataclass whose bare values are defaults too.

    A field without a default is MISSING until it is given.
    """
    for base in cls.__mro__[1:]:
        for name, kind in vars(base).get("__annotations__", {}).items():
            if name in vars(cls):
                cls.__annotations__.setdefault(name, kind)
    for name in vars(cls).get("__annotations__", {}):
        if vars(cls).get(name) is dataclasses.MISSING:
            setattr(cls, name, dataclasses.field(default_factory=lambda: dataclasses.MISSING))
    return dataclasses.dataclass(cls)


def install_isaac_lab(monkeypatch: Any) -> None:
    """Put the stand-in in Isaac Lab's place."""
    import sys

    package, actuators, utils = map(
        ModuleType, ("isaaclab", "isaaclab.actuators", "isaaclab.utils")
    )
    actuators.IdealPDActuator = IdealPDActuator  # type: ignore[attr-defined]
    actuators.IdealPDActuatorCfg = IdealPDActuatorCfg  # type: ignore[attr-defined]
    utils.configclass = configclass  # type: ignore[attr-defined]
    for module in (package, actuators, utils):
        monkeypatch.setitem(sys.modules, module.__name__, module)


class DriveBase:
    """``newton.actuators.DriveBase`` 1.8."""

    class State:
        """State of a drive."""

    def finalize(self, device: Any, num_actuators: int) -> None:
        """Nothing to set up."""


class Actuator:
    """``newton.actuators.Actuator`` 1.8 without delay and clamping."""

    def __init__(self, indices: warp_stand_in.Array, drive: Any):
        self.indices, self.drive = indices, drive
        self._forces = warp_stand_in.Array(np.zeros(len(indices)))
        drive.finalize("cpu", len(indices))

    def state(self) -> SimpleNamespace:
        """A state of the drive."""
        return SimpleNamespace(drive_state=self.drive.state(len(self.indices), "cpu"))

    def step(self, sim_state: Any, sim_control: Any, current: Any, following: Any, dt: float):
        """Add the efforts of a step."""
        self.drive.compute(
            sim_state.joint_q, sim_state.joint_qd, sim_control.joint_target_q,
            sim_control.joint_target_qd, None, self.indices, self.indices, self.indices,
            self.indices, self._forces, current.drive_state, dt, "cpu", custom_inputs={},
        )  # fmt: skip
        if self.drive.is_stateful():
            self.drive.update_state(current.drive_state, following.drive_state)
        warp_stand_in.launch(
            _scatter, len(self.indices), [self._forces, self.indices, sim_control.joint_f]
        )


def _scatter(forces: Any, indices: Any, out: Any) -> None:
    i = warp_stand_in.module().tid()
    out[indices[i]] = out[indices[i]] + forces[i]


def install_newton(monkeypatch: Any) -> None:
    """Put the stand-in in the place of Newton and warp."""
    import sys

    package, actuators = map(ModuleType, ("newton", "newton.actuators"))
    actuators.DriveBase = DriveBase  # type: ignore[attr-defined]
    for module in (package, actuators, warp_stand_in.module()):
        monkeypatch.setitem(sys.modules, module.__name__, module)
