"""The experiment file: what was recorded, what is unknown, how it is fitted.

One YAML file describes an identification completely. Keys that do not exist are errors.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from trueup._registered_names import RegisteredName
from trueup._seeds import LARGEST_SEED
from trueup.fitting.losses import LOSSES, loss_named
from trueup.fitting.uncertainty import METHODS
from trueup.sysid.experiment.search_names import TORQUES, fit_method_named, fit_methods

Number = float | list[float]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Bound = Annotated[float, Field(allow_inf_nan=True)]
"""A bound, infinite where there is none."""


class _Part(BaseModel):
    # numbers are finite where nothing else is said
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class FrictionHardness(_Part):
    """Solver parameters of joint friction. MuJoCo's default friction is soft: it creeps, and a fit
    trades Coulomb friction for viscous friction."""

    solref: tuple[float, float] | None = None
    """Time constant [s] and damping ratio, or negative stiffness and damping."""
    solimp: tuple[float, float, float, float, float] | None = None
    """Impedance of the friction constraint."""

    @model_validator(mode="after")
    def _formats(self) -> "FrictionHardness":
        if self.solref is not None and not (
            min(self.solref) > 0 or (self.solref[0] <= 0 and self.solref[1] < 0)
        ):
            raise ValueError(
                f"solref is a time constant and a damping ratio, both above 0, or negative "
                f"stiffness and damping; found {list(self.solref)}"
            )
        if self.solimp is not None:
            first, last, width, middle, power = self.solimp
            if min(first, last, middle) < 0 or max(first, last, middle) > 1 or width < 0:
                raise ValueError(
                    "solimp is two impedances from 0 to 1, a width from 0, a middle from 0 to 1 "
                    f"and a power from 1; found {list(self.solimp)}"
                )
            if power < 1:
                raise ValueError(f"the power of solimp is {power:g}, and at least 1 is needed")
        return self


class ModelPart(_Part):
    """The MuJoCo model and the settings of its simulation."""

    file: str
    """MJCF (or URDF) file, relative to the experiment file."""
    timestep: float | None = Field(default=None, gt=0)
    """Simulation step [s]; the model's own where absent."""
    integrator: Literal["Euler", "RK4", "implicit", "implicitfast"] | None = None
    """Integrator; the model's own where absent."""
    friction: FrictionHardness = FrictionHardness()
    """Hardness of joint friction."""
    actuators: Literal["torque", "position"] | None = None
    """Kind of all actuators on joints, in place of the model's own: ``torque`` for motors whose
    control is the torque (gears stay, limits go), ``position`` for position servos with the gains
    ``kp`` and ``kd``. A joint without an actuator gets one with its name where the model has none.
    """
    kp: Positive | dict[str, Positive] | None = Field(default=None)
    """Stiffness of position servos [N m/rad, N/m], one for all or by actuator."""
    kd: NotNegative | dict[str, NotNegative] | None = Field(default=None)
    """Damping of position servos [N m s/rad, N s/m], likewise."""
    base: Literal["free", "fixed"] | None = None
    """``fixed`` takes free joints away, for a robot that hangs or is clamped."""

    @model_validator(mode="after")
    def _gains(self) -> "ModelPart":
        if self.actuators == "position" and self.kp is None:
            raise ValueError("actuators: position needs kp, such as kp: 100 or kp: {knee: 100}")
        if self.actuators != "position" and (self.kp is not None or self.kd is not None):
            raise ValueError("kp and kd are for actuators: position")
        return self


class ColumnPart(_Part):
    """A column of a recording and its unit."""

    column: str
    """Name of the column; ``"3"`` is the fourth of a file without a header."""
    unit: str | None = None
    """Unit of the column, of the quantity that the signal has; SI where absent."""
    scale: float = 1.0
    """Factor on the column before the unit is converted."""
    offset: float = 0.0
    """Subtracted from the column before the factor, such as the encoder count at zero."""
    minus: str | None = None
    """Column that is subtracted first, such as the motor's angle for the deflection of an elastic
    joint."""
    minus_scale: float = 1.0
    """Factor on that column, such as one over the gear ratio."""

    @field_validator("scale", "minus_scale")
    @classmethod
    def _not_zero(cls, given: float) -> float:
        if given == 0:
            raise ValueError("a factor of 0 leaves nothing of the column")
        return given


class SignalPart(ColumnPart):
    """The columns of a signal and their unit."""

    column: str | list[str]  # pyright: ignore[reportIncompatibleVariableOverride]
    """Name of the column, or one for each component in their order: ``[x, y, z]``; ``"3"`` is the
    fourth of a file without a header."""


class Trim(_Part):
    """Part of a recording that is used."""

    start: float | None = None
    """First time [s], on the recording's clock."""
    end: float | None = None
    """Last time [s]."""

    @model_validator(mode="after")
    def _in_order(self) -> "Trim":
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError(f"start {self.start:g} is not before end {self.end:g}")
        return self


class InitialState(_Part):
    """Given initial state; joints that are not named keep the model's default."""

    qpos: dict[str, float] = {}
    """Position by joint [m, rad]."""
    qvel: dict[str, float] = {}
    """Velocity by joint [m/s, rad/s]."""


class RecordingPart(_Part):
    """One recording."""

    file: str
    """File, relative to the experiment file."""
    name: str | None = None
    """Name in tables and figures; the file's stem where absent."""
    model: str | None = None
    """Name of a variant of the model (such as one with a payload); the main model where absent."""
    time: str | None = None
    """Column with the time; guessed from usual names where absent."""
    time_unit: str | None = None
    """Unit of the time column; from its name (``t_ms``) or the format where absent, else s."""
    rate: float | None = Field(default=None, gt=0)
    """Samples a second, where there is no time column."""
    header: bool | None = None
    """Whether the first line of a text file names the columns; found out where absent."""
    signals: dict[str, SignalPart | str | list[str]] = {}
    """Measured signal (a sensor of the model, or joint_qpos, joint_qvel) -> column, or one column
    for each component: ``tip_position: [x, y, z]``. Absent, with controls: by the columns' names.
    """
    controls: dict[str, ColumnPart | str] = {}
    """Actuator -> column."""
    initial: Literal["measured", "default", "estimated"] | InitialState = "measured"
    """Initial state: from the recording, the model's default, unknowns of the fit, or given. The
    default is complete, as MuJoCo resets it; otherwise activations and delays begin with what
    holding the first command implies."""
    trim: Trim = Trim()
    """Part that is used."""
    accept: list[str] = []
    """Quality checks whose refusal was looked at and is accepted, such as ``excitation`` for a free
    swing."""

    @field_validator("controls", mode="before")
    @classmethod
    def _one_column(cls, given: Any) -> Any:
        for actuator, part in given.items() if isinstance(given, dict) else ():
            columns = part.get("column") if isinstance(part, dict) else part
            if isinstance(columns, list):
                raise ValueError(
                    f"controls.{actuator} is one column, and {columns} are given: name "
                    "one, and the others under their own actuators"
                )
        return given


class PriorPart(_Part):
    """Gaussian belief about a value."""

    mean: float | None = None
    """Expected value; of an inertia that of the model where absent."""
    sd: float = Field(gt=0)
    """Standard deviation; of an inertia without a mean a share of the model's values."""


class ParameterPart(_Part):
    """One unknown."""

    target: str | list[str] | None = None
    """Where it goes in the model; absent for a delay, gain or bias of the measurement."""
    inertia: str | None = None
    """Body whose inertia it describes, instead of a target."""
    inertia_type: Literal["mass", "mass_ipos", "pseudo"] = "mass_ipos"
    """Parameterisation of the inertia."""
    start: Number | None = None
    """Start value; the model's own where absent and there is a target."""
    bounds: tuple[Bound | list[Bound], Bound | list[Bound]] | Literal["auto"] | None = None
    """Lower and upper bound; auto: a factor of 20 about the model's own positive value, searched by
    its logarithm."""
    scale: Literal["linear", "log", "logit"] = "linear"
    """Whether the logarithm is searched, or the logit of the place between the bounds."""
    deviation: float | None = Field(default=None, gt=0)
    """First standard deviation of CMA-ES in the coordinate that is searched; a fifth of the range
    where absent."""
    prior: PriorPart | None = None
    """Gaussian belief."""
    frozen: bool = False
    """Applied, but not fitted."""
    tied_to: str | None = None
    """Parameter whose value this one copies."""
    each: bool = False
    """With a wildcard: one parameter for each match."""
    unit: str = ""
    """Unit, for tables."""
    description: str = ""
    """One line, for tables."""

    @model_validator(mode="after")
    def _one_place(self) -> "ParameterPart":
        if self.target is not None and self.inertia is not None:
            raise ValueError("give target or inertia, not both")
        if self.inertia is not None:
            # by value: the file of a run names all of them
            fields = type(self).model_fields
            ignored = [
                name
                for name in ("start", "bounds", "scale", "deviation", "each")
                if getattr(self, name) != fields[name].default
            ]
            if ignored:
                raise ValueError(
                    f"{', '.join(ignored)} cannot be given with inertia: start and bounds "
                    f"follow from the model's inertia"
                )
        elif self.prior is not None and self.prior.mean is None:
            raise ValueError("prior.mean is missing, such as prior: {mean: 1.0, sd: 0.1}")
        if self.bounds is None and self.tied_to is None and self.inertia is None:
            raise ValueError("bounds are missing, such as bounds: [0, 1]")
        if self.bounds == "auto" and not isinstance(self.target, str):
            raise ValueError("bounds: auto is for one target; give bounds such as [0.1, 5]")
        if self.bounds is not None and self.bounds != "auto":
            lower, upper = self.bounds
            if any(math.isnan(bound) for bound in (*_listed(lower), *_listed(upper))):
                raise ValueError("a bound is nan: give a number, or .inf where there is none")
            pairs = zip(_listed(lower), _listed(upper), strict=False)
            if any(low > high for low, high in pairs):
                raise ValueError(f"the lower bound {lower} is above the upper bound {upper}")
            pairs = zip(_listed(lower), _listed(upper), strict=False)
            if not self.frozen and all(math.isclose(low, high) for low, high in pairs):
                raise ValueError(
                    f"the bounds {lower} and {upper} are the same, so there is nothing to find: "
                    "give a range, or write frozen: true"
                )
            if self.prior is not None and self.prior.mean is not None:
                mean = self.prior.mean
                if not min(_listed(lower)) <= mean <= max(_listed(upper)):
                    raise ValueError(
                        f"prior.mean {mean:g} is outside of the bounds {lower} to {upper}: widen "
                        "them, or correct the prior"
                    )
        return self


def _listed(number: Number) -> list[float]:
    return number if isinstance(number, list) else [number]


class SignalWeight(_Part):
    """How a signal counts."""

    noise: float | None = Field(default=None, gt=0)
    """Standard deviation of its noise, in SI units; its spread normalises it where absent."""
    weight: float = Field(default=1.0, ge=0)
    """Factor on its residual; 0 leaves it out."""


class GainPart(_Part):
    """A gain or bias of the measurement."""

    parameter: str
    """Parameter with the value."""
    target: Literal["predicted", "measured", "both"] = "predicted"
    """Side that it changes."""


class FilterPart(_Part):
    """Zero-phase filter on measured signals."""

    kind: Literal["butterworth", "savitzky_golay"] = "butterworth"
    """Filter."""
    cutoff: float | None = Field(default=None, gt=0)
    """Cut-off [Hz] of the Butterworth filter."""
    order: int = Field(default=4, ge=1)
    """Order."""
    window: float | None = Field(default=None, gt=0)
    """Window [s] of the Savitzky-Golay filter."""


class MeasurementPart(_Part):
    """How sensors turn the true signals into recorded ones. Names may hold wildcards."""

    signals: dict[str, SignalWeight] = {}
    """Noise and weight by signal."""
    delays: dict[str, str] = {}
    """Signal -> parameter with its delay [s]."""
    gains: dict[str, GainPart | str] = {}
    """Signal -> parameter with its gain."""
    biases: dict[str, GainPart | str] = {}
    """Signal -> parameter with its bias."""
    filters: dict[str, FilterPart] = {}
    """Signal -> filter of the measured side."""


class SearchPart(_Part):
    """How the fit searches."""

    method: Annotated[str, RegisteredName(fit_methods, fit_method_named)] = "least-squares"
    """Search: ``least-squares`` with a batched Jacobian and line search, which MuJoCo's toolbox
    calls ``mujoco``, or scipy's; ``cmaes`` looks through the whole box by CMA-ES, ``auto`` begins
    it at the best of Sobol points, and both hand their best to least squares, for costs with many
    valleys; ``inverse-dynamics`` explains recorded torques by recorded motion, without a
    simulation."""
    max_iters: int = Field(default=100, ge=0)
    """Iterations."""
    starts: int = Field(default=1, ge=1, le=100_000)
    """Start points: the given one, then scrambled Sobol points; the best are polished. Of the
    method ``least-squares``."""
    population: int | None = Field(default=None, ge=4)
    """Candidates in a generation of CMA-ES; absent: 4 + 3 ln(number of unknowns)."""
    restarts: Literal["none", "ipop", "bipop"] = "none"
    """Restarts of CMA-ES: with a doubled population, or with larger and smaller ones in turn."""
    max_evaluations: int | None = Field(default=None, ge=1)
    """Simulated candidates of CMA-ES, before its best is polished."""
    loss: Annotated[str, RegisteredName(lambda: list(LOSSES), loss_named)] = "linear"
    """Robust loss."""
    loss_scale: Positive | Literal["auto"] = "auto"
    """Residual above which the loss bends, in units of the weighted residual; auto: 1.345 times the
    robust spread of the residuals."""
    time_limit: float | None = Field(default=None, gt=0)
    """Seconds; a batch of simulations under way is cut off. Not of scipy's methods."""
    difference: float = Field(default=1e-6, gt=0, lt=1)
    """Relative step of finite differences; the method ``scipy`` has its own."""

    @property
    def by_torques(self) -> bool:
        """Whether recorded torques are explained, without a simulation."""
        return self.method == TORQUES


class HeldOut(_Part):
    """Data that the fit does not see."""

    recordings: list[str] = []
    """Names of recordings."""
    fraction: float = Field(default=0.0, ge=0, lt=1)
    """Last part of every recording that is not named."""
    folds: int = Field(default=0, ge=0)
    """Folds of a cross-validation over recordings; 0 for none."""

    @field_validator("folds")
    @classmethod
    def _several(cls, given: int) -> int:
        if given == 1:
            raise ValueError("one fold leaves nothing to fit: give 2 or more, or 0 for none")
        return given


class ConfidencePart(_Part):
    """Intervals."""

    method: Literal[*METHODS] = "auto"  # pyright: ignore[reportInvalidTypeForm]
    """How noise is taken into account."""
    level: float = Field(default=0.95, gt=0.5, lt=1)
    """Coverage of the intervals."""
    profile: list[str] = []
    """Parameters with an interval by profile likelihood as well."""


class OutputPart(_Part):
    """What is written."""

    directory: str | None = None
    """Run directory; runs/<name> beside the experiment file where absent."""
    report: bool = True
    """HTML report."""
    video: bool = False
    """Overlay video in the report."""


class DesignLimits(_Part):
    """Limits of a designed motion. Values by joint, or one for all joints that are moved."""

    position: tuple[float, float] | dict[str, tuple[float, float]] | None = None
    """Lowest and highest position [rad, m]; the range of the model where absent, and 1 to both
    sides of the pose where the model has none."""
    speed: Positive | dict[str, Positive] | None = None
    """Highest speed [rad/s, m/s]; 2 where absent."""
    acceleration: Positive | dict[str, Positive] | None = None
    """Highest acceleration of the command [rad/s^2, m/s^2]; 20 where absent."""
    torque: Positive | dict[str, Positive] | None = None
    """Highest force of the actuator [N m, N]; that of the model where absent."""
    torque_rms: Positive | dict[str, Positive] | None = None
    """Highest root mean square of that force [N m, N]: the heat of the motor, i^2 t."""
    clearance: float = Field(default=0.02, ge=0)
    """Smallest distance between bodies that are no neighbours, the ground among them [m]."""
    margin: float = Field(default=0.1, ge=0, lt=0.9)
    """Share of each limit that is kept free, because the robot is not known exactly."""

    @field_validator("position")
    @classmethod
    def _in_order(cls, given: Any) -> Any:
        for low, high in given.values() if isinstance(given, dict) else [given] if given else []:
            if low >= high:
                raise ValueError(f"the lowest position {low:g} is not below the highest {high:g}")
        return given


class DesignPart(_Part):
    """What ``trueup design`` may record next."""

    duration: float = Field(default=20.0, gt=0, le=3600)
    """Length of the recording [s]."""
    rate: float = Field(default=200.0, gt=0, le=20_000)
    """Commands, and samples of the recording, a second."""
    pose: dict[str, float] = {}
    """Position by joint at which the motion begins and ends [rad, m]; where absent that of
    ``initial``, of the first keyframe, or the model's default."""
    limits: DesignLimits = DesignLimits()
    """Limits of the motion."""
    target_interval: float | None = Field(default=None, gt=0, lt=1)
    """Widest interval wanted, as a share of the parameter's bounds."""
    draws: int = Field(default=3, ge=1, le=32)
    """Robots that the design has to suit: the estimate, and draws of what is still open."""


class Experiment(_Part):
    """An identification, complete."""

    name: str = Field(default="experiment", pattern=r"^[\w.-]+$")
    """Name of the run."""
    model: ModelPart
    """The model."""
    variants: dict[str, ModelPart] = {}
    """Other models with the same unknowns, such as one with a known payload."""
    recordings: Annotated[list[RecordingPart], Field(min_length=1)]
    """What was recorded."""
    parameters: dict[str, ParameterPart] = {}
    """What is unknown; ``trueup explain`` needs none."""
    measurement: MeasurementPart = MeasurementPart()
    """Sensors."""
    control: Literal["zoh", "linear"] = "zoh"
    """Control between samples: held, or interpolated."""
    window: float = Field(default=0.0, ge=0)
    """Windows that start anew from the measured state [s]; 0: one simulation a recording."""
    window_states: Literal["measured", "estimated"] = "measured"
    """Initial states of windows: from the measured signals, or unknowns of the fit."""
    search: SearchPart = SearchPart()
    """The fit."""
    held_out: HeldOut = HeldOut(fraction=0.25)
    """Validation."""
    confidence: ConfidencePart = ConfidencePart()
    """Intervals."""
    output: OutputPart = OutputPart()
    """Files."""
    design: DesignPart = DesignPart()
    """Next recording, for ``trueup design``."""
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
    """Seed of everything random."""
