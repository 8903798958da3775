"""Settings of an identified servo as an actuator of mjlab."""

from dataclasses import dataclass
from pathlib import Path

from mjlab.actuator import ActuatorCfg  # pyright: ignore

from trueup.deploy.mjlab.module.parameter_file import ServoModel, load_model
from trueup.errors import ParameterError


@dataclass(kw_only=True)
class ServoSettings(ActuatorCfg):
    """Parameter file, gains, battery and random ranges of joints that are driven by a servo."""

    json_path: str | Path | None = None
    """Parameter file written by ``trueup actuator fit``, for any servo and friction model supported
    by this module; by default the servo that the module was exported from."""

    kp: float | None = None
    """Firmware gain; by default that of the servo."""

    kd: float | None = None
    """Derivative gain, for servos that have one; by default that of the servo."""

    vin: float | None = None
    """Bus voltage [V]; by default that of the servo."""

    kp_scale_range: tuple[float, float] = (1.0, 1.0)
    """Factor on the firmware gain, drawn for each joint of each environment."""

    kd_scale_range: tuple[float, float] = (1.0, 1.0)
    """Factor on the derivative gain, drawn for each joint of each environment."""

    friction_scale_range: tuple[float, float] = (1.0, 1.0)
    """Factor on the friction budget without its viscous part, drawn for each joint of each
    environment."""

    vin_range: tuple[float, float] | None = None
    """Open-circuit voltage of the battery [V], drawn for each environment; by default ``vin``."""

    drop_resistance_range: tuple[float, float] = (0.0, 0.0)
    """Internal resistance of the battery [ohm], drawn for each environment. The current of all
    servos of the entity with the same battery ranges lowers the voltage one physics step later."""

    vin_min: float = 0.0
    """Minimum voltage of the battery [V]."""

    winding_temperature: float = 25.0
    """Temperature of the winding [degrees C], for servos with a temperature-dependent
    resistance."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.transmission_type != "joint":
            raise ParameterError(
                f"servos drive joints: expected the transmission type 'joint', got "
                f"{self.transmission_type!r}"
            )
        for name in ("frictionloss", "viscous_damping"):
            if getattr(self, name) is not None:
                raise ParameterError(
                    f"{name} is set by the parameter file of the servo: remove it; "
                    "friction_scale_range scales the friction"
                )
        for name in (
            "kp_scale_range",
            "kd_scale_range",
            "friction_scale_range",
            "vin_range",
            "drop_resistance_range",
        ):
            bounds = getattr(self, name)
            if bounds is not None and not 0 <= bounds[0] <= bounds[1] < float("inf"):
                raise ParameterError(
                    f"{name} must be a lower and an upper value, neither negative, got {bounds}"
                )
        for name in ("kp", "kd", "vin"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ParameterError(f"{name} must not be negative, got {value}")

    def load(self) -> ServoModel:
        """The servo of the file, checked for what an actuator of one joint can represent.

        Raises:
          ParameterError: the file is not of a servo, or a setting does not apply to its law.
        """
        model = load_model(self.json_path)
        law, source = model.servo.law, self.json_path or "this module"
        if "backlash" in model.terms:
            raise ParameterError(
                f"{source}: backlash needs a second body between motor and joint, which an "
                "actuator cannot add: fit the servo without it, or model the play in the MJCF"
            )
        has_rate = law in ("current_pd", "torque_pd")
        if not has_rate and (self.kd is not None or self.kd_scale_range != (1.0, 1.0)):
            raise ParameterError(
                f"{source}: {model.servo.name!r} has no derivative gain: keep kd and "
                "kd_scale_range at their defaults"
            )
        battery = (self.vin, self.vin_range, self.drop_resistance_range)
        if law == "torque_pd" and battery != (None, None, (0.0, 0.0)):
            raise ParameterError(
                f"{source}: the law of {model.servo.name!r} has no voltage: keep vin, "
                "vin_range and drop_resistance_range at their defaults"
            )
        return model
