"""External torque on a joint from the rest of the robot, for load-dependent friction."""

from typing import Any

import torch


class ExternalTorque:
    """Torque of gravity, velocity and constraint forces on joints, without their own friction.

    It comes from the last forward pass, one physics step before the controls, as in any
    control law that runs before the step.

    Args:
      mj_model: compiled MuJoCo model.
      data: mjlab's data of the simulation.
      dof_ids: degrees of freedom of the joints, (joints,).
    """

    def __init__(self, mj_model: Any, data: Any, dof_ids: torch.Tensor):
        import mujoco

        self._data = data
        self._dof_ids = dof_ids
        self._friction_type = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)
        # friction rows follow those of equalities, which have at most six rows each except flexes
        rows = 6 * mj_model.neq + mj_model.nv + mj_model.ntendon
        self._rows = rows if mj_model.nflex == 0 else None
        self._own = torch.zeros(data.qfrc_bias.shape, device=dof_ids.device)

    def __call__(self) -> torch.Tensor:
        """External torque [N m], (environments, joints)."""
        data, ids = self._data, self._dof_ids
        rows = data.efc
        kind, dof, force = (a[:, : self._rows] for a in (rows.type, rows.id, rows.force))
        number = torch.arange(kind.shape[1], device=kind.device)
        mine = (kind == self._friction_type) & (number < data.nefc[:, None])
        self._own.zero_().scatter_add_(1, torch.where(mine, dof, 0).long(), force * mine)
        external = data.qfrc_constraint[:, ids]
        external -= data.qfrc_bias[:, ids]
        external -= self._own[:, ids]
        return external
