"""Configuration of a gait optimisation: keys, defaults and validation."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from trueup._options import Option, settings_of
from trueup._registered_names import Names, RegisteredName
from trueup._seeds import LARGEST_SEED
from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.costs.norm_names import ADULT
from trueup.gait.costs.terms import TERMS
from trueup.gait.search.method_names import CMA_ES, walk_search_named, walk_searches
from trueup.gait.search.shipped_walk import NOMINAL
from trueup.gait.search.stage_settings import (
    OF_STAGES,
    STEP,
    check_stages,
    chosen_stages,
    with_values_in_all,
)
from trueup.simulation.warp.devices import DeviceName

COSTS = (
    "eff",
    "eff_knee",
    "vel",
    "vel_grf",
    "class",
    "kine",
    "kine_grf",
    "combined",
    "kine_grf_musc",
    "vel_musc",
    "vel_musc_grf",
)
"""Kinds of costs, the flags of the command line without their dash."""


PATHS = ("model_file", "controller", "reference", "reference_emg", "param_path")
"""Keys with paths."""

ONE_OR_SEVERAL = ("tgt_vel", "tgt_slope", "reference", "reference_speed")
"""Keys with one or several values."""
OF_SEARCHES = (
    "param_path",
    "stages",
    "start_in_cycle",
    "moved",
    "start_values",
    "search",
    "popsize",
    "maxiter",
    "sigma_gain",
    "exo_sigma_gain",
    "frontal_sigma_gain",
    "cma_options",
    "fresh_perturbations",
    "early_stop",
    "device",
)
"""Keys of a configuration that only affect a search."""

MOST_REPEATS = 10_000
"""Largest number of perturbed repeats."""
POINTS = 4
"""Default number of points of a torque curve."""


class GaitConfiguration(BaseModel):
    """Configuration of a gait optimisation; the keys are the options of the command line."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False
    )

    says: str = ""
    """Purpose, in a sentence."""
    musc_model: Annotated[Literal[22, 26, 80], Option("INT")] = 22
    """Muscles: 22 in the plane, 26 or 80 in space."""
    model: Annotated[str, Option("DEVICE")] = "default"
    """Device on the model: ankle, hip or hip_extension; baseline for none; default: ankle if the
    exoskeleton is on, else none. Device names of MyoAssist select the nearest one."""
    model_file: Annotated[str | None, Option("XML", aliases=("--model-path",))] = None
    """MJCF file of the walker, or the name of a model of the package: planar22, space26, myolegs26,
    myolegs. By default the model with the number of muscles."""
    controller: Annotated[str | None, Option("FILE")] = None
    """YAML file with own reflexes, in the form of reflexes.yaml of the package."""
    sim_time: Annotated[float, Option("S")] = Field(default=20.0, gt=0.0, le=3600.0)
    """Simulated time [s]."""
    assistance: float = Field(default=0.0, ge=0.0, le=1.0)
    """Strength of springs and dampers that hold the pelvis of a walker in space upright and in the
    plane of walking, 0 to 1; a search lowers it in stages."""
    pose_key: Annotated[str, Option("NAME")] = "walk_left"
    """Keyframe to start from."""
    start_in_cycle: bool = False
    """Start in mid-cycle of the walk of param_path: its pose, activations and joint speeds instead
    of standing still."""
    joint_speeds: dict[str, float] | None = None
    """Joint speeds at the start [rad/s, m/s], by name; by default those of the keyframe."""
    num_strides: Annotated[int, Option("INT")] = Field(default=5, ge=1)
    """Strides that the cost evaluates, the last ones of a walk."""
    delayed: Annotated[bool, Option()] = True
    """Neural delays, 1 or 0."""
    optim_mode: Annotated[Literal["single", "multispeed", "multislope", "evaluate"], Option()] = (
        "single"
    )
    """One condition, several speeds, or several slopes in one cost; evaluate: no search."""
    reflex_mode: Annotated[Literal["uni", "ind"], Option()] = "uni"
    """uni: the same gains for both legs; ind: separate gains for each leg."""
    tgt_vel: Annotated[
        tuple[Annotated[float, Field(ge=-10.0, le=10.0)], ...],
        Option("M/S [M/S ...]", name="speed", aliases=("--tgt-vel",)),
    ] = Field(default=(1.25,), min_length=1)
    """Target speed [m/s], one or several."""
    tgt_vel_tol: float = Field(default=0.0, ge=0.0, le=10.0)
    """Speed error up to which the velocity cost is quadratic [m/s]; linear beyond it."""
    tgt_slope: Annotated[
        tuple[Annotated[float, Field(ge=-45.0, le=45.0)], ...],
        Option("DEG [DEG ...]", name="slope", aliases=("--tgt-slope",)),
    ] = Field(default=(0.0,), min_length=1)
    """Slope of the ground [deg], one or several."""
    stairs: tuple[float, float] | None = None
    """Stairs: rise, negative for stairs that descend, and run of a step [m]."""
    trunk_err_type: Annotated[Literal["ref_diff", "zero_diff", "vel_square"], Option()] = "ref_diff"
    """Trunk error: pitch compared with the reference, pitch compared with upright, or squared pitch
    rate."""
    tgt_sym_th: Annotated[float, Option("M")] = Field(default=0.1, ge=0.0, le=1e3)
    """Difference between the legs below which symmetry costs nothing [m]."""
    tgt_grf_th: Annotated[float, Option("BW")] = Field(default=1.5, ge=0.0, le=1e3)
    """Ground reaction force below which it costs nothing [body weights]."""
    cost: Annotated[str, Option("KIND"), Names(lambda: COSTS)] = "kine"
    """Kind of cost; -eff means --cost eff, and so on."""
    weights: Annotated[dict[str, float] | None, Names(lambda: list(TERMS))] = None
    """Weights of cost terms by name, in place of those of the kind; other terms have none."""
    reference: tuple[str, ...] | None = Field(default=None, min_length=1)
    """File with a reference gait or a norm to track, or adult; one, or one for each speed."""
    reference_speed: tuple[str, ...] = Field(default=("Free",), min_length=1)
    """Speed of the norms of Schwartz et al. 2008 to track; one, or one for each target speed."""
    reference_emg: str | None = None
    """File with activations to track, a table of 11 columns as in MyoAssist; by default those of
    the reference."""
    exo: Annotated[bool, Option(name="ExoOn", aliases=("--exo-bool",))] = Field(
        default=False, alias="ExoOn"
    )
    """Walk with the exoskeleton, 1 or 0."""
    use_4param_spline: Annotated[bool, Option(flag=True)] = True
    """Torque curve of four parameters; else of points."""
    n_points: Annotated[int, Option("INT")] = Field(default=POINTS, ge=1, le=100)
    """Points of the torque curve, instead of four parameters."""
    max_torque: Annotated[float, Option("NM")] = Field(default=10.0, ge=0.0, le=1e4)
    """Maximum torque of the exoskeleton [N m]."""
    fixed_exo: Annotated[bool, Option(flag=True)] = False
    """Keep the torque curve as in param_path, or at its defaults; do not search it."""
    held: dict[str, float] | None = None
    """Entries of the vector held at these values, by name."""
    moved: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Entries, or groups (gain, pose, activation, exoskeleton), that the search changes; all by
    default. Others keep their start values."""
    start_values: dict[str, float] | None = None
    """Start values of entries by name, in place of those of param_path."""
    search: Annotated[str, RegisteredName(walk_searches, walk_search_named)] = CMA_ES
    """Search method: cmaes (or cma), scatter (all candidates around the start), or another search
    method that requires costs only."""
    popsize: Annotated[int | None, Option("INT", name="population", aliases=("--popsize",))] = (
        Field(default=None, ge=4, le=100_000)
    )
    """Candidates in a generation."""
    maxiter: Annotated[int | None, Option("INT", name="generations", aliases=("--maxiter",))] = (
        Field(default=None, ge=1)
    )
    """Maximum number of generations."""
    sigma_gain: Annotated[float, Option("PERCENT")] = Field(default=10.0, gt=0.0, le=1e4)
    """Initial standard deviation of the search [% of each entry]."""
    exo_sigma_gain: float | None = Field(default=None, gt=0.0, le=1e4)
    """Initial standard deviation of the exoskeleton's entries [% of their range]; by default
    sigma_gain."""
    frontal_sigma_gain: float | None = Field(default=None, gt=0.0, le=1e4)
    """Initial standard deviation of the frontal-plane gains of a 3D walker [%]; by default
    sigma_gain."""
    cma_options: Annotated[str, Option("KEY:VALUE,...")] = ""
    """Options of the package cma, such as tolfun:1e-9,tolx:1e-9."""
    seed: Annotated[int, Option("INT")] = Field(default=0, ge=0, le=LARGEST_SEED)
    """Seed of the search."""
    perturbed_repeats: int = Field(default=0, ge=0, le=MOST_REPEATS)
    """Perturbed walks that score each candidate; 0: one walk without perturbations."""
    unperturbed_repeat: bool = False
    """Make the first of the repeats without perturbations."""
    perturbed_cost: Literal["mean", "worst"] = "mean"
    """Cost of a candidate: mean or worst of its repeats."""
    perturbation_seed: int = Field(default=0, ge=0, lt=2**64)  # searches draw 64 bits
    """Seed of the repeats, the same for all candidates."""
    fresh_perturbations: bool = False
    """Draw new perturbations for each generation; else all generations share them."""
    perturbation_sizes: dict[str, float] | None = None
    """Sizes of perturbations: angle [deg], speed [m/s], friction [part], push [N], noise."""
    early_stop: bool = False
    """Stop the simulation of candidates that cannot be in the better half."""
    device: Annotated[DeviceName, Option()] = "auto"
    """Device of the walks of a search: cpu; cuda, an NVIDIA card, in single precision, after which
    the result is evaluated on the CPU; auto: a card if there is one and batches are large enough to
    pay; warp-cpu: the kernels of the card on one core, for tests."""
    param_path: Annotated[str | None, Option("PATH", aliases=("--from",))] = None
    """Start: a run directory, a vector or a parameter file; shipped: the walk of the package;
    shipped3d: that in space; nominal: the nominal vector."""
    stages: dict[str, dict[str, Any]] | None = None
    """Stages of the search, in order: by name, the values of this configuration that hold in it;
    maxiter of the configuration limits all stages together. As KEY=VALUE: names of the stages
    to run."""
    compat: Literal["myoassist"] | None = None
    """Controller order, bounds and cost of MyoAssist."""

    @field_validator(*ONE_OR_SEVERAL, "moved", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, int | float | str) else value

    @field_validator("cost")
    @classmethod
    def _known_cost(cls, value: str) -> str:
        value = value.lstrip("-")
        if value not in COSTS:
            raise ValueError(
                f"unknown cost {value!r}; available: {listing(COSTS)}.{did_you_mean(value, COSTS)}"
            )
        return value

    @field_validator("moved")
    @classmethod
    def _all_moved(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is None or "all" not in value:
            return value
        if len(value) > 1:
            raise ValueError("'all' already includes every entry; remove the other names")
        return None

    @model_validator(mode="before")
    @classmethod
    def _with_points(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("n_points") is not None:
            return {"use_4param_spline": False, **content}
        return content

    @model_validator(mode="after")
    def _one_curve(self, info: ValidationInfo) -> "GaitConfiguration":
        resolved = (info.context or {}).get("resolved", False)
        if not resolved and self.use_4param_spline and self.n_points != POINTS:
            raise ValueError(
                f"use_4param_spline and n_points exclude each other: a torque curve has four "
                f"parameters or {self.n_points} points; remove one of them"
            )
        return self

    @model_validator(mode="after")
    def _speed_of_a_reference(self) -> "GaitConfiguration":
        if self.reference is None and self.reference_speed != ("Free",):
            raise ValueError(
                f"reference_speed is {', '.join(self.reference_speed)}, but no reference is set; "
                "set reference to the norms of Schwartz et al., or remove reference_speed"
            )
        return self

    @field_validator("param_path")
    @classmethod
    def _from_nominal(cls, value: str | None) -> str | None:
        return None if value == NOMINAL else value

    @model_validator(mode="after")
    def _sound_stages(self, info: ValidationInfo) -> "GaitConfiguration":
        if self.stages is not None:
            check_stages(self.stages)
            if self.compat is not None:
                raise ValueError("compat=myoassist has no stages; remove stages or compat")
            if self.search != CMA_ES or self.fresh_perturbations:
                raise ValueError(
                    "stages require CMA-ES and the same perturbations in all generations; remove "
                    "stages, or search and fresh_perturbations"
                )
            for _, configuration in self.staged:
                del configuration  # validated by its creation
        return self

    @property
    def staged(self) -> list[tuple[str, "GaitConfiguration"]]:
        """Name and configuration of each stage; without stages, the configuration itself."""
        if self.stages is None:
            return [("", self)]
        content = {**self.to_dict(), "stages": None}
        found: list[tuple[str, GaitConfiguration]] = []
        for name, stage in self.stages.items():
            changes = {key: value for key, value in stage.items() if key not in OF_STAGES}
            if STEP in stage and found:
                changes["popsize"] = found[-1][1].popsize
            own = make_configuration({**content, **changes}, f"the stage {name!r}", resolved=True)
            found.append((name, own))
        return found

    def with_changes(self, changes: Mapping[str, Any]) -> "GaitConfiguration":
        """The configuration with other values; another kind of cost has its own weights.

        A value that a stage sets is replaced in every stage. Names under ``stages`` select stages
        of the configuration.

        Raises:
          GaitError: an invalid value.
        """
        content = self.to_dict()
        if "cost" in changes:
            content["weights"] = None
        given = {key: changes[key] for key in ("use_4param_spline", "n_points") if key in changes}
        if given:  # the changes select the kind of curve, not the configuration
            curve = make_configuration(given, "the configuration")
            content["use_4param_spline"] = curve.use_4param_spline
            if curve.use_4param_spline:
                content["n_points"] = curve.n_points
        content |= changes
        names = changes.get("stages", ())
        if names is not None and not isinstance(names, Mapping):
            content["stages"] = self._stages_with(changes, names)
        return make_configuration(content, "the configuration", resolved=True, options=True)

    def _stages_with(
        self, changes: Mapping[str, Any], names: str | Sequence[str]
    ) -> dict[str, dict[str, Any]] | None:
        """The selected stages, or all, with the changed values in each of them."""
        stages = self.stages
        if names:
            given = [names] if isinstance(names, str) else names
            try:
                stages = chosen_stages(stages, given, "the configuration")
            except ValueError as error:
                raise GaitError(str(error)) from error
        return None if stages is None else with_values_in_all(stages, changes)

    def to_dict(self) -> dict[str, Any]:
        """The configuration as JSON values, including defaults."""
        content = self.model_dump(mode="json", by_alias=True)
        for name in ONE_OR_SEVERAL:
            if content[name] is not None and len(content[name]) == 1:
                (content[name],) = content[name]
        return content

    @classmethod
    def from_dict(cls, content: Any) -> "GaitConfiguration":
        """Inverse of :meth:`to_dict`."""
        return make_configuration(content, "the configuration", resolved=True)

    @property
    def conditions(self) -> list[tuple[float, float]]:
        """Speed [m/s] and slope [deg] of each scenario.

        Raises:
          GaitError: several speeds or slopes in a mode with one condition.
        """
        modes = {"tgt_vel": "multispeed", "tgt_slope": "multislope"}
        several = {mode: name for name, mode in modes.items() if len(getattr(self, name)) > 1}
        # with several speeds and slopes, either mode is valid
        if several and self.optim_mode not in several:
            mode, name = next(iter(several.items()))
            raise GaitError(f"several values of {name} require optim_mode={mode}")
        return [(speed, slope) for speed in self.tgt_vel for slope in self.tgt_slope]

    @property
    def references(self) -> list[tuple[str, str]]:
        """File and speed of the reference gait of each scenario; empty without a reference.

        Raises:
          GaitError: several values, but not one for each target speed.
        """
        if self.reference is None:
            return []
        count = len(self.tgt_vel)
        found = []
        for name in ("reference", "reference_speed"):
            given = getattr(self, name)
            if len(given) not in (1, count):
                raise GaitError(
                    f"{name} has {len(given)} values for {count} target speeds; give one, or one "
                    "for each speed"
                )
            found.append(given * count if len(given) == 1 else given)
        return [pair for pair in zip(*found, strict=True) for _ in self.tgt_slope]

    @property
    def reference_files(self) -> list[str]:
        """Files of all tracked references."""
        emg = () if self.reference_emg is None else (self.reference_emg,)
        named = (name for name in self.reference or () if name != ADULT)
        return list(dict.fromkeys((*named, *emg)))


def make_configuration(
    content: Any, source: str, *, resolved: bool = False, options: bool = False
) -> GaitConfiguration:
    """A configuration from plain data.

    Args:
      content: mapping of keys to values.
      source: name of the configuration in messages.
      resolved: whether it is that of a run, which contains all keys, also those without effect.
      options: whether messages name the option of a key too, if its name is another.

    Raises:
      GaitError: an unknown key, or an invalid value.
    """
    if not isinstance(content, dict):
        raise GaitError(f"{source} is not a mapping of keys to values")
    known = [field.alias or name for name, field in GaitConfiguration.model_fields.items()] + [
        "exo"
    ]
    unknown = [str(key) for key in content if key not in known]
    if unknown:
        raise GaitError(
            f"{source} has unknown keys {listing(unknown)}; available: {listing(known, 60)}."
            f"{did_you_mean(unknown[0], known)}"
        )
    try:
        return GaitConfiguration.model_validate(content, context={"resolved": resolved})
    except ValidationError as error:
        raise GaitError(f"{source}: {'; '.join(_reasons(error, options))}") from error


def _reasons(error: ValidationError, options: bool) -> list[str]:
    """Reasons of a validation error, one for each value."""
    found = error.errors()
    # an invalid item of a list also makes the list too short
    lists = {e["loc"][:-1] for e in found if len(e["loc"]) > 1}
    said = []
    for e in found:
        if e["loc"] not in lists:
            where = ".".join(map(str, e["loc"]))
            if options and e["loc"]:
                where += _option_in_words(str(e["loc"][0]))
            said.append(f"{where}: {_in_yaml(e['msg'])}" if where else _in_yaml(e["msg"]))
    return said


def _option_in_words(key: str) -> str:
    """Option of a key in brackets, if its name is another."""
    option = next((s.option for s in settings_of(GaitConfiguration).values() if s.key == key), None)
    if option is None or option.name in (None, key):
        return ""
    return f" (--{option.name})"


def _in_yaml(message: str) -> str:
    """A message with the terms of YAML."""
    ours = message.removeprefix("Value error, ")
    if ours != message:
        return ours
    for name, other in (("Tuple", "List"), ("tuple", "list"), ("dictionary", "mapping")):
        message = message.replace(name, other)
    return message
