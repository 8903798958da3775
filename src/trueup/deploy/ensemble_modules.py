"""Networks of an ensemble in one module: each environment has its own member.

The rows of a batch are environments, each with its joints in order, as in the actuator
classes of Isaac Lab and mjlab; environment i has member i % members.
"""

import torch
from torch import Tensor, nn


class MlpMembers(nn.Module):
    """``(B, inputs) -> (B, 1)``, as :class:`trueup.deploy.isaac_lab.network_modules.IsaacMlp`.

    Args:
      members: scripted modules.
      joints: number of joints of an environment.
    """

    def __init__(self, members: list[nn.Module], joints: int):
        super().__init__()
        self.members = nn.ModuleList(members)
        self.joints, self.count = joints, len(members)

    def forward(self, x: Tensor) -> Tensor:
        """Torque from the history."""
        rows = x.reshape(-1, self.joints, x.shape[1])
        torque = torch.zeros_like(rows[:, :, :1])
        for number, member in enumerate(self.members):
            own = rows[number :: self.count]
            if own.shape[0] > 0:
                answer = member(own.flatten(0, 1))
                torque[number :: self.count] = answer.reshape(-1, self.joints, 1)
        return torque.reshape(-1, 1)


class GruMembers(nn.Module):
    """``(x (B, 1, inputs), h (layers, B, hidden)) -> (torque (B, 1), h)``; arguments as above."""

    def __init__(self, members: list[nn.Module], joints: int):
        super().__init__()
        self.members = nn.ModuleList(members)
        self.gru = members[0].gru  # the actuator class reads its size
        self.joints, self.count = joints, len(members)

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """One time step."""
        environments = x.shape[0] // self.joints
        torque, after = torch.zeros_like(x[:, 0, :1]), torch.zeros_like(h)
        for number, member in enumerate(self.members):
            if number < environments:
                own = member_rows(environments, self.joints, number, self.count, x.device)
                answer, state = member(x[own], h[:, own].contiguous())
                torque[own] = answer
                after[:, own] = state
        return torque, after


class LstmMembers(nn.Module):
    """``(x (B, 1, 2), (h, c)) -> (torque (B, 1), (h, c))``; arguments as above."""

    def __init__(self, members: list[nn.Module], joints: int):
        super().__init__()
        self.members = nn.ModuleList(members)
        self.lstm = members[0].lstm  # the actuator class reads its size
        self.joints, self.count = joints, len(members)

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One time step."""
        environments = x.shape[0] // self.joints
        torque = torch.zeros_like(x[:, 0, :1])
        hidden, cell = torch.zeros_like(state[0]), torch.zeros_like(state[1])
        for number, member in enumerate(self.members):
            if number < environments:
                own = member_rows(environments, self.joints, number, self.count, x.device)
                before = (state[0][:, own].contiguous(), state[1][:, own].contiguous())
                answer, after = member(x[own], before)
                torque[own] = answer
                hidden[:, own], cell[:, own] = after[0], after[1]
        return torque, (hidden, cell)


def member_rows(
    environments: int, joints: int, number: int, count: int, device: torch.device
) -> Tensor:
    """Rows of the environments of a member."""
    rows = torch.arange(environments * joints, device=device).reshape(environments, joints)
    return rows[number::count].flatten()
