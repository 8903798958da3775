"""The battery of a robot: its voltage, lowered by the total current of all servos."""

import torch


class Battery:
    """Voltage of each environment's battery, with a resistance common to its servos.

    The current of a step lowers the voltage of the next one.

    Args:
      num_envs: number of environments.
      device: device of the tensors.
      voltage_range: open-circuit voltage, drawn uniformly [V].
      resistance_range: resistance of battery and cable, drawn uniformly [ohm].
      voltage_floor: lower limit of the voltage [V].
    """

    def __init__(
        self,
        num_envs: int,
        device: str,
        voltage_range: tuple[float, float],
        resistance_range: tuple[float, float],
        voltage_floor: float,
    ):
        self.voltage_range = voltage_range
        self.resistance_range = resistance_range
        self.voltage_floor = voltage_floor
        self.open_voltage = torch.full((num_envs, 1), float(voltage_range[0]), device=device)
        """Open-circuit voltage [V], (environments, 1)."""
        self.resistance = torch.full((num_envs, 1), float(resistance_range[0]), device=device)
        """Resistance [ohm], (environments, 1)."""
        self.current = torch.zeros((num_envs, 1), device=device)
        """Current of the last step [A], (environments, 1)."""
        self._drawn = torch.zeros_like(self.current)
        self._voltage = torch.empty_like(self.current)

    @property
    def key(self) -> tuple[tuple[float, float], tuple[float, float], float]:
        """Settings that servos on one battery have in common."""
        return self.voltage_range, self.resistance_range, self.voltage_floor

    def draw(self, env_ids: torch.Tensor | slice) -> None:
        """Redraw voltage and resistance of environments, and reset their current."""
        for values, (low, high) in (
            (self.open_voltage, self.voltage_range),
            (self.resistance, self.resistance_range),
        ):
            if low < high:
                values[env_ids] = torch.empty_like(values[env_ids]).uniform_(low, high)
        self.current[env_ids] = 0.0
        self._drawn[env_ids] = 0.0

    def voltage(self) -> torch.Tensor:
        """Voltage of this step [V], (environments, 1)."""
        torch.mul(self.current, self.resistance, out=self._voltage)
        torch.sub(self.open_voltage, self._voltage, out=self._voltage)
        return self._voltage.clamp_(min=self.voltage_floor)

    def take(self, duty: torch.Tensor, amps: torch.Tensor) -> None:
        """Add the current of some servos, duty cycle times motor current [A], in this step."""
        self._drawn += (duty * amps).sum(dim=1, keepdim=True)

    def advance(self) -> None:
        """End the step: the current lowers the voltage of the next one; regeneration is ignored."""
        torch.clamp(self._drawn, min=0.0, out=self.current)
        self._drawn.zero_()
