"""The experiment file: model, recordings, unknown parameters and settings of the fit.

One YAML file describes an identification completely. Unknown keys are errors.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from trueup._registered_names import RegisteredName
from trueup._seeds import LARGEST_SEED
from trueup.fitting.losses import LOSSES, loss_named
from trueup.fitting.uncertainty import METHODS
from trueup.signals.clocks.steps import HIGHEST_RATE, LOWEST_RATE
from trueup.simulation.warp.devices import DeviceName
from trueup.sysid.experiment.search_names import TORQUES, fit_method_named, fit_methods

Number = float | list[float]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
ActuatorKind = Literal["torque", "position"]
Bound = Annotated[float, Field(allow_inf_nan=True)]
"""A bound; infinite for none."""


class _Part(BaseModel):
    # numbers must be finite unless a field allows otherwise
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class FrictionHardness(_Part):
    """Solver parameters of joint friction. MuJoCo's default friction is soft: the joint creeps, and
    a fit trades Coulomb friction for viscous friction."""

    solref: tuple[float, float] | None = None
    """Time constant [s] and damping ratio, or negative stiffness and damping (MuJoCo's
    solreffriction); by default that of the model."""
    solimp: tuple[float, float, float, float, float] | None = None
    """Impedance of the friction constraint (MuJoCo's solimpfriction); by default that of the model.
    """

    @model_validator(mode="after")
    def _formats(self) -> "FrictionHardness":
        if self.solref is not None and not (
            min(self.solref) > 0 or (self.solref[0] <= 0 and self.solref[1] < 0)
        ):
            raise ValueError(
                f"solref is {list(self.solref)}; it must be a time constant and a damping ratio, "
                "both above 0, or negative stiffness and damping"
            )
        if self.solimp is not None:
            first, last, width, middle, power = self.solimp
            if min(first, last, middle) < 0 or max(first, last, middle) > 1 or width < 0:
                raise ValueError(
                    f"solimp is {list(self.solimp)}; it must be two impedances from 0 to 1, a "
                    "width of 0 or more, a midpoint from 0 to 1 and a power of 1 or more"
                )
            if power < 1:
                raise ValueError(f"the power of solimp is {power:g}; it must be at least 1")
        return self


class ModelPart(_Part):
    """The MuJoCo model and the settings of its simulation."""

    file: str
    """MJCF (or URDF) file, relative to the experiment file."""
    timestep: float | None = Field(default=None, gt=0)
    """Simulation time step [s]; by default that of the model."""
    integrator: Literal["Euler", "RK4", "implicit", "implicitfast"] | None = None
    """Integrator; by default that of the model."""
    friction: FrictionHardness = FrictionHardness()
    """Hardness of joint friction."""
    actuators: ActuatorKind | dict[str, ActuatorKind] | None = None
    """Type that replaces all actuators on joints: ``torque`` for motors with the torque as control
    (gears are kept, limits are removed), ``position`` for position servos with the gains ``kp`` and
    ``kd``. If the model has no actuators, each joint gets one with its name. Types by joint,
    ``{elbow: torque}``, replace the actuators of these joints by one each, or add one with the name
    of the joint, and keep all others. By default the actuators of the model are used as they are.
    """
    kp: Positive | dict[str, Positive] | None = Field(default=None)
    """Stiffness of position servos [N m/rad, N/m], one value for all or by actuator."""
    kd: NotNegative | dict[str, NotNegative] | None = Field(default=None)
    """Damping of position servos [N m s/rad, N s/m], one value for all or by actuator."""
    held: list[str] = []
    """Joints that are held at the position of the model: they are removed, with their actuators,
    such as those of a gripper that did not move and was not recorded."""
    delay_buffer: Positive | None = None
    """Longest delay of commands [s]: actuators without a buffer of delays get one of that length,
    so that ``actuator/*/delay`` can be an unknown."""
    base: Literal["free", "fixed"] | None = None
    """Base of the robot: ``fixed`` removes free joints, for a robot that hangs or is clamped."""

    @model_validator(mode="after")
    def _gains(self) -> "ModelPart":
        given = self.actuators
        servos = "position" in (given.values() if isinstance(given, dict) else [given])
        if servos and self.kp is None:
            raise ValueError("actuators: position needs kp, such as kp: 100 or kp: {knee: 100}")
        if not servos and (self.kp is not None or self.kd is not None):
            raise ValueError("kp and kd require actuators: position; add it, or remove them")
        return self


class ColumnPart(_Part):
    """A column of a recording and its unit."""

    column: str
    """Name of the column; ``"3"`` is the fourth column of a file without a header."""
    unit: str | None = None
    """Unit of the column, of the same quantity as the signal; by default SI."""
    scale: float = 1.0
    """Factor on the column, applied before the unit is converted."""
    offset: float = 0.0
    """Offset subtracted from the column before the factor, such as the encoder count at zero."""
    minus: str | None = None
    """Column to subtract first, such as the motor angle for the deflection of an elastic joint."""
    minus_scale: float = 1.0
    """Factor on that column, such as one over the gear ratio."""
    unwrap: bool | Positive = False
    """Continue an angle that starts again after a period: ``true`` for one turn, a number for
    another period in the unit of the column's values, such as 4096 for counts."""
    late: float = 0.0
    """Time by which the column was logged late compared with the others [s]."""
    sign_bit: Annotated[int, Field(ge=0, le=31)] = 0
    """Bit that is the sign of a whole number, such as 15 in the speed of a Feetech servo, which
    states -5 as 32773; 0 for numbers with a sign."""

    @field_validator("scale", "minus_scale")
    @classmethod
    def _not_zero(cls, given: float) -> float:
        if given == 0:
            raise ValueError("the factor is 0, which removes the column; it must not be 0")
        return given


class SignalPart(ColumnPart):
    """The columns of a signal and their unit."""

    column: str | list[str]  # pyright: ignore[reportIncompatibleVariableOverride]
    """Name of the column, or of one column per component in their order, ``[x, y, z]``; ``"3"`` is
    the fourth column of a file without a header."""


class Trim(_Part):
    """Part of a recording to use."""

    start: float | None = None
    """First time [s], on the clock of the recording."""
    end: float | None = None
    """Last time [s], on the clock of the recording."""

    @model_validator(mode="after")
    def _in_order(self) -> "Trim":
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError(f"start is {self.start:g} s; it must be before end, {self.end:g} s")
        return self


class InitialState(_Part):
    """Initial state by joint; joints that are not named keep the default of the model."""

    qpos: dict[str, float] = {}
    """Position by joint [m, rad]."""
    qvel: dict[str, float] = {}
    """Velocity by joint [m/s, rad/s]."""


class RecordingPart(_Part):
    """One recording."""

    file: str
    """File, relative to the experiment file."""
    name: str | None = None
    """Name in tables and figures; by default that of the file without its suffix."""
    model: str | None = None
    """Name of a variant of the model, such as one with a payload; by default the main model."""
    time: str | None = None
    """Time column; by default found by usual names."""
    time_unit: str | None = None
    """Unit of the time column; by default from its name (``t_ms``) or the format, else s."""
    rate: float | None = Field(default=None, ge=LOWEST_RATE, le=HIGHEST_RATE)
    """Sampling rate of a recording without a time column [Hz]."""
    rollover: float | None = Field(default=None, gt=0)
    """Value after which the time column starts again, in its unit, for a counter that is not of 16,
    24, 31 or 32 bits: those are continued by default."""
    run: int | None = Field(default=None, ge=1)
    """Number of the run, from 1, in a file whose clock starts again with each run."""
    episode: int | None = Field(default=None, ge=0)
    """Index of the episode of a LeRobot data set."""
    repair: bool = False
    """Sort rows by time, keep one of those with equal times, and bridge up to 5 missing values in a
    row."""
    time_scale: Positive = 1.0
    """Factor on the times, for a time axis that runs fast or slow."""
    leave_out: list[Literal["repeats", "spikes"]] = ["repeats", "spikes"]
    """Samples of a motor that are replaced by values between its neighbours: ``repeats`` of its
    last frame while it moves, and single ``spikes``. An empty list keeps them."""
    header: bool | None = None
    """Whether the first line of a text file contains the names of the columns; by default detected.
    """
    signals: dict[str, SignalPart | str | list[str]] = {}
    """Measured signal (a sensor of the model, or joint_qpos, joint_qvel) -> column, or one column
    per component: ``tip_position: [x, y, z]``. By default columns are matched by name if controls
    are not given either."""
    controls: dict[str, ColumnPart | str] = {}
    """Actuator -> column with its control."""
    initial: Literal["measured", "default", "estimated"] | InitialState = "measured"
    """Initial state: measured in the recording, default of the model, estimated as unknowns of the
    fit, or values by joint. The default is the whole state after a reset of MuJoCo; otherwise
    activations and delays start in the steady state of the first command."""
    trim: Trim = Trim()
    """Part of the recording to use."""
    accept: list[str] = []
    """Names of failed quality checks to accept, such as ``excitation`` for a free swing."""

    @field_validator("controls", mode="before")
    @classmethod
    def _one_column(cls, given: Any) -> Any:
        for actuator, part in given.items() if isinstance(given, dict) else ():
            columns = part.get("column") if isinstance(part, dict) else part
            if isinstance(columns, list):
                raise ValueError(
                    f"controls.{actuator} has the columns {columns}; it must be one column: list "
                    "the others under their actuators"
                )
        return given


class PriorPart(_Part):
    """Gaussian prior of a value."""

    mean: float | None = None
    """Mean; by default, for an inertia only, that of the model."""
    sd: float = Field(gt=0)
    """Standard deviation in the unit of the parameter; for an inertia without a mean, as a share of
    the values of the model."""


class ParameterPart(_Part):
    """An unknown parameter."""

    target: str | list[str] | None = None
    """Attribute of the model, such as ``joint/knee/armature``; none for a delay, gain or bias of
    the measurement."""
    inertia: str | None = None
    """Body with unknown inertial parameters, in place of a target."""
    inertia_type: Literal["mass", "density", "mass_ipos", "pseudo"] = "mass_ipos"
    """Parameterisation of the inertia: mass only, mass with moments of inertia in proportion, mass
    and centre of mass, or all ten inertial parameters (pseudo-inertia)."""
    start: Number | None = None
    """Start value; by default that of the model at the target."""
    bounds: tuple[Bound | list[Bound], Bound | list[Bound]] | Literal["auto"] | None = None
    """Lower and upper bound; auto: a factor of 20 below and above the positive value of the model,
    searched by its logarithm."""
    widen: bool = False
    """Move a bound that the fit reaches, except zero, and continue: for bounds that are guesses,
    such as those that ``import`` writes. Those of auto are moved too."""
    scale: Literal["linear", "log", "logit"] = "linear"
    """Search coordinate: the value, its logarithm, or the logit of its position between the bounds.
    """
    deviation: float | None = Field(default=None, gt=0)
    """Initial standard deviation of CMA-ES in the search coordinate; by default a fifth of the
    range."""
    prior: PriorPart | None = None
    """Gaussian prior."""
    frozen: bool = False
    """Fix the parameter at its start value: it is applied to the model, but not fitted."""
    tied_to: str | None = None
    """Parameter from which the value is copied."""
    each: bool = False
    """Separate parameter for each match of a target with a wildcard."""
    unit: str = ""
    """Unit shown in tables."""
    description: str = ""
    """Description in one line, shown in tables."""

    @model_validator(mode="after")
    def _one_place(self) -> "ParameterPart":
        if self.target is not None and self.inertia is not None:
            raise ValueError("give target or inertia, not both")
        if self.inertia is not None:
            # compared by value, as the file of a run lists every field
            fields = type(self).model_fields
            ignored = [
                name
                for name in ("start", "bounds", "widen", "scale", "deviation", "each")
                if getattr(self, name) != fields[name].default
            ]
            if ignored:
                raise ValueError(
                    f"{', '.join(ignored)} cannot be given with inertia, as start and bounds "
                    "follow from the inertia of the model: remove them"
                )
        elif self.prior is not None and self.prior.mean is None:
            raise ValueError("prior.mean is missing, such as prior: {mean: 1.0, sd: 0.1}")
        if self.bounds is None and self.tied_to is None and self.inertia is None:
            raise ValueError("bounds are missing, such as bounds: [0, 1]")
        if self.bounds == "auto" and not isinstance(self.target, str):
            raise ValueError("bounds: auto requires one target; give bounds such as [0.1, 5]")
        if self.bounds is not None and self.bounds != "auto":
            lower, upper = self.bounds
            if any(math.isnan(bound) for bound in (*_listed(lower), *_listed(upper))):
                raise ValueError("a bound is nan: give a number, or .inf for no bound")
            pairs = zip(_listed(lower), _listed(upper), strict=False)
            if any(low > high for low, high in pairs):
                raise ValueError(f"the lower bound {lower} is above the upper bound {upper}")
            pairs = zip(_listed(lower), _listed(upper), strict=False)
            if not self.frozen and all(math.isclose(low, high) for low, high in pairs):
                raise ValueError(
                    f"the bounds {lower} and {upper} are equal: give a range, or fix the parameter "
                    "with frozen: true"
                )
            if self.prior is not None and self.prior.mean is not None:
                mean = self.prior.mean
                if not min(_listed(lower)) <= mean <= max(_listed(upper)):
                    raise ValueError(
                        f"prior.mean {mean:g} is outside the bounds {lower} to {upper}: widen "
                        "them, or correct the prior"
                    )
        return self


def _listed(number: Number) -> list[float]:
    return number if isinstance(number, list) else [number]


class SignalWeight(_Part):
    """Noise and weight of a signal."""

    noise: float | None = Field(default=None, gt=0)
    """Standard deviation of the noise [SI units], which normalises the residual; by default the
    standard deviation of the signal does."""
    weight: float = Field(default=1.0, ge=0)
    """Factor on the residual; 0 excludes the signal."""


class GainPart(_Part):
    """A gain or bias of the measurement."""

    parameter: str
    """Parameter with the value."""
    target: Literal["predicted", "measured", "both"] = "predicted"
    """Side to which it is applied."""


class FilterPart(_Part):
    """Zero-phase filter on measured signals."""

    kind: Literal["butterworth", "savitzky_golay"] = "butterworth"
    """Type of the filter."""
    cutoff: float | None = Field(default=None, gt=0)
    """Cut-off frequency of the Butterworth filter [Hz]."""
    order: int = Field(default=4, ge=1)
    """Order of the filter."""
    window: float | None = Field(default=None, gt=0)
    """Window of the Savitzky-Golay filter [s]."""


class MeasurementPart(_Part):
    """Model of the sensors, from true to recorded signals. Names may contain wildcards."""

    signals: dict[str, SignalWeight] = {}
    """Signal -> noise and weight."""
    delays: dict[str, str] = {}
    """Signal -> parameter with its delay [s]."""
    gains: dict[str, GainPart | str] = {}
    """Signal -> parameter with its gain."""
    biases: dict[str, GainPart | str] = {}
    """Signal -> parameter with its bias."""
    filters: dict[str, FilterPart] = {}
    """Signal -> filter of the measured side."""


class SimulationPart(_Part):
    """Simulation of batches of candidates."""

    device: DeviceName = "auto"
    """Device of the large batches of the search: ``cpu`` simulates in double precision on all
    cores; ``cuda`` with MuJoCo Warp in single precision on an NVIDIA card (extra ``gpu``), after
    which the search ends on the CPU; ``auto`` uses a card where there is one and batches are large
    enough to pay; ``warp-cpu`` runs the kernels of the card on one core, slowly, for tests."""


class SearchPart(_Part):
    """Search of the fit."""

    method: Annotated[str, RegisteredName(fit_methods, fit_method_named)] = "least-squares"
    """Search. ``least-squares``: with a batched Jacobian and line search (``mujoco`` in MuJoCo's
    toolbox); ``scipy``: least squares of SciPy; ``cmaes``: CMA-ES over the whole box; ``auto``:
    CMA-ES from the best of Sobol points, both followed by least squares, for costs with many local
    minima; ``inverse-dynamics``: linear fit of recorded torques to recorded motion, without a
    simulation."""
    max_iters: int = Field(default=100, ge=0)
    """Maximum number of iterations."""
    starts: int = Field(default=1, ge=1, le=100_000)
    """Number of start points for ``least-squares``: the given one, then scrambled Sobol points; the
    best of them are fitted to the end."""
    population: int | None = Field(default=None, ge=4)
    """Number of candidates per generation of CMA-ES; by default 4 + 3 ln(number of unknowns)."""
    restarts: Literal["none", "ipop", "bipop"] = "none"
    """Restarts of CMA-ES: none, with a doubled population (ipop), or with larger and smaller ones
    in turn (bipop)."""
    max_evaluations: int | None = Field(default=None, ge=1)
    """Maximum number of simulated candidates of CMA-ES, before the final least squares."""
    loss: Annotated[str, RegisteredName(lambda: list(LOSSES), loss_named)] = "linear"
    """Loss of the residuals: linear, or a robust one."""
    loss_scale: Positive | Literal["auto"] = "auto"
    """Residual above which the loss deviates from the square, in units of the weighted residual;
    auto: 1.345 times the robust standard deviation of the residuals."""
    time_limit: float | None = Field(default=None, gt=0)
    """Time limit [s], at which a running batch of simulations is stopped; not supported by SciPy's
    methods."""
    difference: float = Field(default=1e-6, gt=0, lt=1)
    """Relative step of finite differences; not supported by ``scipy``."""

    @property
    def by_torques(self) -> bool:
        """Whether recorded torques are fitted, without a simulation."""
        return self.method == TORQUES


class HeldOut(_Part):
    """Data held out of the fit."""

    recordings: list[str] = []
    """Names of recordings that are held out whole."""
    fraction: float = Field(default=0.0, ge=0, lt=1)
    """Share of each other recording that is held out, at its end."""
    folds: int = Field(default=0, ge=0)
    """Number of folds of a cross-validation over recordings; 0 for none."""

    @field_validator("folds")
    @classmethod
    def _several(cls, given: int) -> int:
        if given == 1:
            raise ValueError("folds is 1; it must be 2 or more, or 0 for no cross-validation")
        return given


class ConfidencePart(_Part):
    """Intervals of the parameters."""

    method: Literal[*METHODS, "sampling"] = "auto"  # pyright: ignore[reportInvalidTypeForm]
    """Model of the noise from which the intervals are computed; ``sampling``: the posterior is
    sampled, for errors that are not Gaussian (bounds, ridges)."""
    level: float = Field(default=0.95, gt=0.5, lt=1)
    """Coverage of the intervals, as a probability."""
    profile: list[str] = []
    """Parameters with an additional interval by profile likelihood."""

    @property
    def samples(self) -> bool:
        """Whether the posterior is sampled."""
        return self.method == "sampling"

    @property
    def noise_method(self) -> str:
        """Method of the linearised covariance, with which a sampling starts."""
        return "auto" if self.samples else self.method


class OutputPart(_Part):
    """Files to write."""

    directory: str | None = None
    """Run directory; by default runs/NAME next to the experiment file."""
    report: bool = True
    """Write an HTML report."""
    video: bool = False
    """Include an overlay video in the report."""


class DesignLimits(_Part):
    """Limits of a designed motion, as values by joint or one value for all joints that are
    moved."""

    position: tuple[float, float] | dict[str, tuple[float, float]] | None = None
    """Minimum and maximum position [rad, m]; by default the range of the joint in the model, or 1
    to each side of the pose for an unlimited joint."""
    speed: Positive | dict[str, Positive] | None = None
    """Maximum speed [rad/s, m/s]; by default 2."""
    acceleration: Positive | dict[str, Positive] | None = None
    """Maximum acceleration of the command [rad/s^2, m/s^2]; by default 20."""
    torque: Positive | dict[str, Positive] | None = None
    """Maximum torque or force of the actuator [N m, N]; by default that of the model."""
    torque_rms: Positive | dict[str, Positive] | None = None
    """Maximum root mean square of the torque or force of the actuator [N m, N], a limit on the
    heating of the motor (i^2 t)."""
    clearance: float = Field(default=0.02, ge=0)
    """Minimum distance between bodies that are not adjacent, including the ground [m]."""
    margin: float = Field(default=0.1, ge=0, lt=0.9)
    """Share of each limit kept as a margin, because the robot is not known exactly."""

    @field_validator("position")
    @classmethod
    def _in_order(cls, given: Any) -> Any:
        for low, high in given.values() if isinstance(given, dict) else [given] if given else []:
            if low >= high:
                raise ValueError(
                    f"the minimum position {low:g} is not below the maximum position {high:g}"
                )
        return given


class DesignPart(_Part):
    """Next recording, designed by ``trueup design``."""

    duration: float = Field(default=20.0, gt=0, le=3600)
    """Length of the recording [s]."""
    rate: float = Field(default=200.0, gt=0, le=20_000)
    """Rate of the commands and of the samples [Hz]."""
    pose: dict[str, float] = {}
    """Position by joint at the start and the end of the motion [rad, m]; by default that of
    ``initial``, of the first keyframe, or the default of the model."""
    limits: DesignLimits = DesignLimits()
    """Limits of the motion."""
    target_interval: float | None = Field(default=None, gt=0, lt=1)
    """Target width of the intervals, as a share of the bounds of the parameter."""
    draws: int = Field(default=3, ge=1, le=32)
    """Number of parameter sets for which the design is optimised: the estimate, and draws from its
    uncertainty."""


class Experiment(_Part):
    """A complete description of an identification."""

    name: str = Field(default="experiment", pattern=r"^[\w.-]+$")
    """Name of the run."""
    model: ModelPart
    """MuJoCo model, and settings of its simulation."""
    variants: dict[str, ModelPart] = {}
    """Name -> further model with the same unknowns, such as one with a known payload."""
    recordings: Annotated[list[RecordingPart], Field(min_length=1)]
    """Recordings of the robot."""
    parameters: dict[str, ParameterPart] = {}
    """Name -> unknown parameter; ``trueup explain`` requires none."""
    measurement: MeasurementPart = MeasurementPart()
    """Model of the sensors."""
    control: Literal["zoh", "linear"] = "zoh"
    """Control between samples: held (zoh), or interpolated (linear)."""
    window: float = Field(default=0.0, ge=0)
    """Length of the windows, each simulated from the measured state [s]; 0 for one simulation per
    recording."""
    window_states: Literal["measured", "estimated"] = "measured"
    """Initial states of windows: from the measured signals, or estimated as unknowns of the fit."""
    simulation: SimulationPart = SimulationPart()
    """Device that simulates."""
    search: SearchPart = SearchPart()
    """Search of the fit."""
    held_out: HeldOut = HeldOut(fraction=0.25)
    """Data held out of the fit, for validation."""
    confidence: ConfidencePart = ConfidencePart()
    """Intervals of the parameters."""
    output: OutputPart = OutputPart()
    """Files to write."""
    design: DesignPart = DesignPart()
    """Next recording, designed by ``trueup design``."""
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
    """Seed of all random numbers."""


def on_device(experiment: Experiment, device: str | None) -> Experiment:
    """The experiment with another device of its simulations; None: the same."""
    if device is None:
        return experiment
    return experiment.model_copy(update={"simulation": SimulationPart(device=device)})  # type: ignore[arg-type]
