"""Settings of an identified servo as an actuator of mjlab."""

from dataclasses import dataclass
from pathlib import Path

from mjlab.actuator import ActuatorCfg  # pyright: ignore

from trueup.deploy.mjlab.module.parameter_file import ServoModel, load_model
from trueup.errors import ParameterError


@dataclass(kw_only=True)
class ServoSettings(ActuatorCfg):
    """Parameter file, gains, battery and what is drawn at random of joints with a servo."""

    json_path: str | Path | None = None
    """Parameter file of the servo, as ``trueup actuator fit`` writes it, of any servo and friction
    model of this module; None takes the servo that the module was written from."""

    kp: float | None = None
    """Firmware gain; None takes the servo's own."""

    kd: float | None = None
    """Derivative gain of servos that have one; None takes the servo's own."""

    vin: float | None = None
    """Bus voltage [V]; None takes the servo's own."""

    kp_scale_range: tuple[float, float] = (1.0, 1.0)
    """Factor on the firmware gain, drawn for each joint of each environment."""

    kd_scale_range: tuple[float, float] = (1.0, 1.0)
    """Factor on the derivative gain, likewise."""

    friction_scale_range: tuple[float, float] = (1.0, 1.0)
    """Factor on the friction budget without its viscous part, likewise."""

    vin_range: tuple[float, float] | None = None
    """Open-circuit voltage of the battery [V], drawn for each environment; None takes ``vin``."""

    drop_resistance_range: tuple[float, float] = (0.0, 0.0)
    """Resistance of the battery [ohm], drawn for each environment. The current of all servos of the
    entity whose battery has the same ranges lowers its voltage, one physics step later."""

    vin_min: float = 0.0
    """Voltage that the battery does not fall below [V]."""

    winding_temperature: float = 25.0
    """Temperature of the winding [degrees C], for files whose resistance depends on it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.transmission_type != "joint":
            raise ParameterError(
                f"servos drive joints, got the transmission type {self.transmission_type!r}"
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
                    f"{name} needs a lower and an upper value, not negative, got {bounds}"
                )
        for name in ("kp", "kd", "vin"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ParameterError(f"{name} must not be negative, got {value}")

    def load(self) -> ServoModel:
        """The servo of the file, checked for what an actuator of one joint can represent.

        Raises:
          ParameterError: the file is not a servo's, or a setting has no meaning for its law.
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
