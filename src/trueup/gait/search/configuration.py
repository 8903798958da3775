"""Configuration of a gait optimisation as plain data."""

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

from trueup._registered_names import RegisteredName
from trueup._seeds import LARGEST_SEED
from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.costs.norm_names import ADULT
from trueup.gait.search.method_names import CMA_ES, walk_search_named, walk_searches
from trueup.gait.search.shipped_walk import NOMINAL
from trueup.gait.search.stage_settings import (
    OF_STAGES,
    STEP,
    check_stages,
    chosen_stages,
    with_values_in_all,
)

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


PATHS = ("model_file", "reference", "reference_emg", "param_path")
"""Keys that hold paths."""

ONE_OR_SEVERAL = ("tgt_vel", "tgt_slope", "reference", "reference_speed")
"""Keys that hold a value, or several."""
MOST_REPEATS = 10_000
"""Perturbed repeats at most."""
POINTS = 4
"""Points of a torque, unless given."""


class GaitConfiguration(BaseModel):
    """Configuration of a gait optimisation; the keys are the options of the command line."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False
    )

    says: str = ""
    """Purpose, in a sentence."""
    musc_model: Literal[22, 26, 80] = 22
    """Muscles: 22 in the plane, 26 or 80 in space."""
    model: str = "default"
    """Device that the model carries: ankle, hip or hip_extension; baseline: none; default: ankle
    where the exoskeleton is on, else none; names of MyoAssist's devices stand for the nearest
    one."""
    model_file: str | None = None
    """MJCF file of the walker, or one of ours by its name (planar22, myolegs26, myolegs); that of
    the number of muscles where there is none."""
    sim_time: float = Field(default=20.0, gt=0.0, le=3600.0)
    """Simulated time [s]."""
    pose_key: str = "walk_left"
    """Keyframe to start from."""
    start_in_cycle: bool = False
    """Walks start in the middle of the walk that param_path leads to: its pose, activations and
    joint_speeds instead of those of a walker that stands still."""
    joint_speeds: dict[str, float] | None = None
    """Speeds of joints at the start [rad/s, m/s], by name; those of the keyframe where absent."""
    num_strides: int = Field(default=5, ge=1)
    """Strides that are judged, the last of a walk."""
    delayed: bool = True
    """Neural delays."""
    optim_mode: Literal["single", "multispeed", "multislope", "evaluate"] = "single"
    """One condition, several speeds, or several slopes in one cost."""
    reflex_mode: Literal["uni", "ind"] = "uni"
    """The same gains for both legs, or gains of each leg's own."""
    tgt_vel: tuple[Annotated[float, Field(ge=-10.0, le=10.0)], ...] = Field(
        default=(1.25,), min_length=1
    )
    """Target speed, or several of them [m/s]."""
    tgt_vel_tol: float = Field(default=0.0, ge=0.0, le=10.0)
    """Distance from the target speed up to which the velocity is charged by its square [m/s]; 0: in
    proportion all along."""
    tgt_slope: tuple[Annotated[float, Field(ge=-45.0, le=45.0)], ...] = Field(
        default=(0.0,), min_length=1
    )
    """Slope of the ground, or several of them [deg]."""
    stairs: tuple[float, float] | None = None
    """Stairs on the ground: rise, negative for those that go down, and run of their steps [m]."""
    trunk_err_type: Literal["ref_diff", "zero_diff", "vel_square"] = "ref_diff"
    """Target of the trunk: the reference, upright, or no rate of pitch."""
    tgt_sym_th: float = Field(default=0.1, ge=0.0, le=1e3)
    """Difference between the legs that costs nothing [m]."""
    tgt_grf_th: float = Field(default=1.5, ge=0.0, le=1e3)
    """Ground reaction that costs nothing [body weights]."""
    cost: str = "kine"
    """Kind of cost."""
    weights: dict[str, float] | None = None
    """Weights of the terms instead of those of the kind."""
    reference: tuple[str, ...] | None = Field(default=None, min_length=1)
    """File with a reference gait or a norm, or one for each target speed."""
    reference_speed: tuple[str, ...] = Field(default=("Free",), min_length=1)
    """Speed of the norms of Schwartz et al. 2008 that is tracked, or one for each target speed."""
    reference_emg: str | None = None
    """File with activations to track, MyoAssist's table of 11 columns; those of the reference
    where absent."""
    exo: bool = Field(default=False, alias="ExoOn")
    """Walk with the exoskeleton."""
    use_4param_spline: bool = True
    """Four parameters for its torque; else points."""
    n_points: int = Field(default=POINTS, ge=1, le=100)
    """Points of its torque; where they are given, and nothing is said of the four parameters, its
    torque has points."""
    max_torque: float = Field(default=10.0, ge=0.0, le=1e4)
    """Its largest torque [N m]."""
    fixed_exo: bool = False
    """The search leaves it as it is: as in param_path, or at its defaults."""
    held: dict[str, float] | None = None
    """Entries that the search leaves at these values, by name."""
    moved: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Entries, or groups of them (gain, pose, activation, exoskeleton), that the search moves; it
    leaves the others at what it starts from. All where absent, or where it is all."""
    start_values: dict[str, float] | None = None
    """Entries that the search starts with at these values instead of those of param_path."""
    search: Annotated[str, RegisteredName(walk_searches, walk_search_named)] = CMA_ES
    """Search method: CMA-ES, which ``cma`` names too; a scatter of all candidates around the start,
    for a walk that another search starts from; or another that needs costs only."""
    popsize: int | None = Field(default=None, ge=4, le=100_000)
    """Candidates of a generation."""
    maxiter: int | None = Field(default=None, ge=1)
    """Generations at most."""
    sigma_gain: float = Field(default=10.0, gt=0.0, le=1e4)
    """First standard deviation of every entry, in hundredths; of a scatter, the only one."""
    exo_sigma_gain: float | None = Field(default=None, gt=0.0, le=1e4)
    """The same of the exoskeleton's entries, which are parts of their range; sigma_gain where
    absent."""
    frontal_sigma_gain: float | None = Field(default=None, gt=0.0, le=1e4)
    """The same of the gains of the frontal plane, of a walker in space; sigma_gain where absent."""
    cma_options: str = ""
    """Options of the package cma, such as tolfun:1e-9,tolx:1e-9."""
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
    """Seed of the search."""
    perturbed_repeats: int = Field(default=0, ge=0, le=MOST_REPEATS)
    """Perturbed repeats that every candidate is scored over; 0: one walk without perturbations."""
    unperturbed_repeat: bool = False
    """The first of the repeats is walked without perturbations."""
    perturbed_cost: Literal["mean", "worst"] = "mean"
    """A candidate costs the mean of its repeats, or the worst of them."""
    perturbation_seed: int = Field(default=0, ge=0, lt=2**64)  # searches draw 64 bits
    """Seed of the repeats, the same for all candidates."""
    fresh_perturbations: bool = False
    """Each generation walks over perturbations of its own; else all walk over the same."""
    perturbation_sizes: dict[str, float] | None = None
    """Sizes of perturbations: angle [deg], speed [m/s], friction [part], push [N], noise."""
    early_stop: bool = False
    """Candidates that cannot be among the better half are not walked to their end."""
    param_path: str | None = None
    """Earlier result to start from; shipped: the walk of the package; none: the nominal vector."""
    stages: dict[str, dict[str, Any]] | None = None
    """Searches that follow each other in one run: values of this configuration that hold in each,
    by its name. maxiter of the configuration limits all of them together."""
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
                f"there is no cost {value!r}; there are {listing(COSTS)}."
                f"{did_you_mean(value, COSTS)}"
            )
        return value

    @field_validator("moved")
    @classmethod
    def _all_moved(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is None or "all" not in value:
            return value
        if len(value) > 1:
            raise ValueError("'all' stands for every entry: leave the other names out")
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
                f"use_4param_spline asks for a torque of four parameters, and n_points for one of "
                f"{self.n_points} points: give one of the two"
            )
        return self

    @model_validator(mode="after")
    def _speed_of_a_reference(self) -> "GaitConfiguration":
        if self.reference is None and self.reference_speed != ("Free",):
            raise ValueError(
                f"reference_speed is {', '.join(self.reference_speed)}, and no reference is "
                "tracked: name the norms of Schwartz et al. with reference, or remove it"
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
                raise ValueError("costs of MyoAssist have no stages: leave stages or compat")
            if self.search != CMA_ES or self.fresh_perturbations:
                raise ValueError(
                    "stages are searches by CMA-ES over perturbations that stay: leave stages, or "
                    "search and fresh_perturbations"
                )
            for _, configuration in self.staged:
                del configuration  # made, so its values fit
        return self

    @property
    def staged(self) -> list[tuple[str, "GaitConfiguration"]]:
        """Name and configuration of each stage; the configuration itself where there are none."""
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
        """The configuration with other values; another kind of cost comes with its own weights.

        A value that a stage has of its own is replaced in every stage. Names under ``stages``
        choose among the stages of the configuration.

        Raises:
          GaitError: a value does not fit.
        """
        content = self.to_dict()
        if "cost" in changes:
            content["weights"] = None
        given = {key: changes[key] for key in ("use_4param_spline", "n_points") if key in changes}
        if given:  # what is said of the curve counts, whatever the configuration says of it
            curve = make_configuration(given, "the configuration")
            content["use_4param_spline"] = curve.use_4param_spline
            if curve.use_4param_spline:
                content["n_points"] = curve.n_points
        content |= changes
        names = changes.get("stages", ())
        if names is not None and not isinstance(names, Mapping):
            content["stages"] = self._stages_with(changes, names)
        return make_configuration(content, "the configuration", resolved=True)

    def _stages_with(
        self, changes: Mapping[str, Any], names: str | Sequence[str]
    ) -> dict[str, dict[str, Any]] | None:
        """The chosen stages, or all, with the values that were given for every one of them."""
        stages = self.stages
        if names:
            given = [names] if isinstance(names, str) else names
            try:
                stages = chosen_stages(stages, given, "the configuration")
            except ValueError as error:
                raise GaitError(str(error)) from error
        return None if stages is None else with_values_in_all(stages, changes)

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain data, defaults included."""
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
          GaitError: several speeds or slopes without the mode for them.
        """
        modes = {"tgt_vel": "multispeed", "tgt_slope": "multislope"}
        several = {mode: name for name, mode in modes.items() if len(getattr(self, name)) > 1}
        # where both are several, either mode says so
        if several and self.optim_mode not in several:
            mode, name = next(iter(several.items()))
            raise GaitError(f"several values of {name} need the mode {mode}")
        return [(speed, slope) for speed in self.tgt_vel for slope in self.tgt_slope]

    @property
    def references(self) -> list[tuple[str, str]]:
        """File and speed of the reference gait of each scenario; empty where none is named.

        Raises:
          GaitError: there are several of them, and not one for each target speed.
        """
        if self.reference is None:
            return []
        count = len(self.tgt_vel)
        found = []
        for name in ("reference", "reference_speed"):
            given = getattr(self, name)
            if len(given) not in (1, count):
                raise GaitError(
                    f"{name} has {len(given)} values, and there are {count} target speeds: give "
                    "one, or one for each of them"
                )
            found.append(given * count if len(given) == 1 else given)
        return [pair for pair in zip(*found, strict=True) for _ in self.tgt_slope]

    @property
    def reference_files(self) -> list[str]:
        """All files that are tracked."""
        emg = () if self.reference_emg is None else (self.reference_emg,)
        named = (name for name in self.reference or () if name != ADULT)
        return list(dict.fromkeys((*named, *emg)))


def make_configuration(content: Any, source: str, *, resolved: bool = False) -> GaitConfiguration:
    """A configuration of plain data.

    Args:
      content: the data.
      source: what errors call it.
      resolved: it is that of a run, which holds all keys, and keys without effect among them.

    Raises:
      GaitError: a key is unknown, or a value does not fit.
    """
    if not isinstance(content, dict):
        raise GaitError(f"{source} holds no keys with values")
    known = [field.alias or name for name, field in GaitConfiguration.model_fields.items()] + [
        "exo"
    ]
    unknown = [str(key) for key in content if key not in known]
    if unknown:
        raise GaitError(
            f"{source} has the unknown keys {listing(unknown)}; there are {listing(known, 60)}."
            f"{did_you_mean(unknown[0], known)}"
        )
    try:
        return GaitConfiguration.model_validate(content, context={"resolved": resolved})
    except ValidationError as error:
        raise GaitError(f"{source}: {'; '.join(_reasons(error))}") from error


def _reasons(error: ValidationError) -> list[str]:
    """What does not fit, a sentence for each value."""
    found = error.errors()
    # a list of which an item does not fit is not too short as well
    lists = {e["loc"][:-1] for e in found if len(e["loc"]) > 1}
    said = []
    for e in found:
        if e["loc"] not in lists:
            where = ".".join(map(str, e["loc"]))
            said.append(f"{where}: {_in_yaml(e['msg'])}" if where else _in_yaml(e["msg"]))
    return said


def _in_yaml(message: str) -> str:
    """A message in the words of YAML."""
    ours = message.removeprefix("Value error, ")
    if ours != message:
        return ours
    for name, other in (("Tuple", "List"), ("tuple", "list"), ("dictionary", "mapping")):
        message = message.replace(name, other)
    return message
