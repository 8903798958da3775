"""Options of a gait optimisation, named as in a configuration; nothing heavy is imported."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from trueup.cli.registered_names import WalkMethod
from trueup.cli.study.options import OfRuns
from trueup.errors import GaitError, listing
from trueup.gait.costs.terms import TERMS
from trueup.gait.search.path_words import path_or_word

Switch = Literal["1", "0", "True", "False", "true", "false"]
"""Words of a switch, those of MyoAssist too."""
Pairs = tuple[tuple[str, float], ...] | Literal["none"] | None
"""Numbers by name, as an option takes them; none in place of what the configuration gives."""
PAIRS = arg(metavar="NAME VALUE [NAME VALUE ...]|none")
BY_NAME = ("joint_speeds", "weights", "held", "start_values", "perturbation_sizes")
"""Options that take such numbers."""
NAMING = (*BY_NAME, "moved", "stages")
"""Options that take as many names as are given."""
SWITCHES = ("delayed", "exo", "unperturbed_repeat", "fresh_perturbations", "early_stop")
"""Options that take 1 or 0."""


@dataclass(frozen=True, kw_only=True)
class GaitOverrides:
    """What replaces values of a configuration."""

    model_file: Annotated[Path | None, arg(aliases=["--model-path"], metavar="XML")] = None
    """MJCF file of the walker, or one of ours: planar22, myolegs26, myolegs; else by muscles."""
    musc_model: Annotated[int | None, arg(metavar="INT")] = None
    """Muscles: 22 in the plane, 26 or 80 in space."""
    model: Annotated[str | None, arg(metavar="DEVICE")] = None
    """Device that the model carries: ankle, hip, hip_extension, or baseline for none."""
    sim_time: Annotated[float | None, arg(metavar="S")] = None
    """Simulated time [s]."""
    pose_key: Annotated[str | None, arg(metavar="NAME")] = None
    """Keyframe to start from."""
    start_in_cycle: bool = False
    """Start in the middle of the walk of --param-path, its joints in motion, not from standing."""
    joint_speeds: Annotated[Pairs, PAIRS] = None
    """Speeds of joints at the start [rad/s, m/s], such as knee_angle_r -6; else the keyframe's."""
    num_strides: Annotated[int | None, arg(metavar="INT")] = None
    """Strides that are judged."""
    delayed: Switch | None = None
    """Neural delays, 1 or 0."""
    optim_mode: Literal["single", "multispeed", "multislope", "evaluate"] | None = None
    """One condition, several speeds, or several slopes in one cost; evaluate: no search."""
    reflex_mode: Literal["uni", "ind"] | None = None
    """The same gains for both legs, or gains of each leg's own."""
    tgt_vel: Annotated[
        tuple[float, ...] | None, arg(aliases=["--speed"], metavar="M/S [M/S ...]")
    ] = None
    """Target speed, or several of them [m/s]."""
    tgt_vel_tol: Annotated[float | None, arg(metavar="M/S")] = None
    """Distance from the target speed up to which the velocity is charged by its square [m/s]."""
    tgt_slope: Annotated[
        tuple[float, ...] | None, arg(aliases=["--slope"], metavar="DEG [DEG ...]")
    ] = None
    """Slope of the ground, or several of them [deg]."""
    stairs: Annotated[tuple[float, float] | None, arg(metavar="RISE RUN")] = None
    """Stairs on the ground: rise, negative downwards, and run of their steps [m]."""
    trunk_err_type: Literal["ref_diff", "zero_diff", "vel_square"] | None = None
    """Target of the trunk: the reference, upright, or no rate of pitch."""
    tgt_sym_th: Annotated[float | None, arg(metavar="M")] = None
    """Difference between the legs that costs nothing [m]."""
    tgt_grf_th: Annotated[float | None, arg(metavar="BW")] = None
    """Ground reaction that costs nothing [body weights]."""
    cost: Annotated[str | None, arg(metavar="KIND")] = None
    """Kind of cost, such as eff, vel, kine or combined; so do -eff, -vel and so on."""
    cost_eff: Annotated[bool, arg(name="eff", aliases=["-eff"])] = False
    """Cost: effort."""
    cost_eff_knee: Annotated[bool, arg(name="eff-knee", aliases=["-eff_knee"])] = False
    """Cost: effort and pain."""
    cost_vel: Annotated[bool, arg(name="vel", aliases=["-vel"])] = False
    """Cost: speed and symmetry."""
    cost_vel_grf: Annotated[bool, arg(name="vel-grf", aliases=["-vel_grf"])] = False
    """Cost: effort, speed and ground reaction."""
    cost_class: Annotated[bool, arg(name="class", aliases=["-class"])] = False
    """Cost: effort, speed, trunk and pain."""
    cost_kine: Annotated[bool, arg(name="kine", aliases=["-kine"])] = False
    """Cost: effort, speed and a reference gait."""
    cost_kine_grf: Annotated[bool, arg(name="kine-grf", aliases=["-kine_grf"])] = False
    """Cost: the same and ground reaction."""
    cost_combined: Annotated[bool, arg(name="combined", aliases=["-combined"])] = False
    """Cost: all of them."""
    cost_kine_grf_musc: Annotated[bool, arg(name="kine-grf-musc", aliases=["-kine_grf_musc"])] = (
        False
    )
    """Cost: reference gait, ground reaction and activations."""
    cost_vel_musc: Annotated[bool, arg(name="vel-musc", aliases=["-vel_musc"])] = False
    """Cost: speed and activations."""
    cost_vel_musc_grf: Annotated[bool, arg(name="vel-musc-grf", aliases=["-vel_musc_grf"])] = False
    """Cost: speed, activations and ground reaction."""
    weights: Annotated[
        Pairs,
        arg(
            metavar="NAME VALUE [NAME VALUE ...]|none",
            help="Weights of terms instead of those of a kind, such as effort 300 velocity 100. "
            f"Terms: {', '.join(TERMS)}; others weigh nothing.",
        ),
    ] = None
    reference: Annotated[tuple[Path, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Reference gait to track: a file, a norm, or adult, which is taken at 1.25 m/s where absent;
    or one for each target speed."""
    reference_speed: Annotated[tuple[str, ...] | None, arg(metavar="NAME [NAME ...]")] = None
    """Speed of the norms of Schwartz et al. that is tracked, such as Slow; or one for each."""
    reference_emg: Annotated[Path | None, arg(metavar="CSV")] = None
    """Activations to track: MyoAssist's table of 11 columns."""
    exo: Annotated[Switch | None, arg(aliases=["--ExoOn", "--exo-bool", "--exo_bool"])] = None
    """Walk with the exoskeleton, 1 or 0."""
    use_4param_spline: bool = False
    """Four parameters for its torque; else points."""
    n_points: Annotated[int | None, arg(metavar="INT")] = None
    """Points of its torque, instead of the four parameters."""
    max_torque: Annotated[float | None, arg(metavar="NM")] = None
    """Its largest torque [N m]."""
    fixed_exo: bool = False
    """The search leaves it as it is: as in --param-path, or at its defaults."""
    held: Annotated[Pairs, PAIRS] = None
    """Entries of the vector that the search leaves at these values, such as exo_peak 0.2."""
    moved: Annotated[tuple[str, ...] | None, arg(metavar="NAME [NAME ...]")] = None
    """Entries that the search moves, or groups: gain, pose, activation, exoskeleton; or all."""
    start_values: Annotated[Pairs, PAIRS] = None
    """Entries that the search starts with at these values, such as exo_peak 0.06; or none."""
    search: WalkMethod | None = None
    """Search method: CMA-ES, which cma names too, or a scatter of all candidates around the start;
    others search as they do in a study."""
    popsize: Annotated[int | None, arg(metavar="INT")] = None
    """Candidates of a generation."""
    maxiter: Annotated[int | None, arg(metavar="INT")] = None
    """Generations at most."""
    sigma_gain: Annotated[float | None, arg(metavar="GAIN")] = None
    """First standard deviation of every entry, in hundredths; of a scatter, the only one."""
    exo_sigma_gain: Annotated[float | None, arg(metavar="GAIN")] = None
    """The same of the exoskeleton's entries alone."""
    frontal_sigma_gain: Annotated[float | None, arg(metavar="GAIN")] = None
    """The same of the gains of the frontal plane alone, of a walker in space."""
    cma_options: Annotated[str | None, arg(metavar="KEY:VALUE,...")] = None
    """Options of the package cma by name, such as tolfun:1e-9,tolx:1e-9."""
    seed: Annotated[int | None, arg(metavar="INT")] = None
    """Seed of the search."""
    perturbed_repeats: Annotated[int | None, arg(metavar="INT")] = None
    """Perturbed repeats that every candidate is scored over; 0: none."""
    unperturbed_repeat: Switch | None = None
    """The first of the repeats is walked without perturbations, 1 or 0."""
    perturbed_cost: Literal["mean", "worst"] | None = None
    """A candidate costs the mean of its repeats, or the worst of them."""
    perturbation_seed: Annotated[int | None, arg(metavar="INT")] = None
    """Seed of the repeats."""
    perturbation_sizes: Annotated[Pairs, PAIRS] = None
    """Sizes of angle [deg], speed [m/s], friction [part], push [N], noise; else their defaults."""
    fresh_perturbations: Switch | None = None
    """Each generation walks over perturbations of its own, 1 or 0."""
    early_stop: Switch | None = None
    """Candidates that cannot be among the better half are not walked to their end, 1 or 0."""
    param_path: Annotated[Path | None, arg(aliases=["--from"], metavar="PATH")] = None
    """Start from an earlier result: a run directory, a vector or a parameter file; shipped: the
    walk of the package; nominal: the nominal vector."""
    stages: Annotated[tuple[str, ...] | None, arg(metavar="NAME [NAME ...]")] = None
    """Stages of the configuration that are searched; those that fit the start where absent."""
    compat: Literal["myoassist"] | None = None
    """Controller order, bounds and cost of MyoAssist."""

    @property
    def changes(self) -> dict[str, Any]:
        """Values that are given, by key of a configuration.

        Raises:
          GaitError: several costs are given, or a name twice.
        """
        given: dict[str, Any] = {}
        for field in dataclasses.fields(GaitOverrides):
            value = getattr(self, field.name)
            if value is None or value is False or field.name.startswith("cost_"):
                continue
            check_not_empty(field.name, value)
            if isinstance(value, Path):
                value = path_or_word(value)
            if isinstance(value, tuple) and all(isinstance(path, Path) for path in value):
                value = tuple(map(path_or_word, value))
            given[field.name] = value
        flags = [
            field.name.removeprefix("cost_")
            for field in dataclasses.fields(GaitOverrides)
            if field.name.startswith("cost_") and getattr(self, field.name)
        ]
        if self.cost is not None:
            flags.append(self.cost.lstrip("-"))
        if len(set(flags)) > 1:
            raise GaitError(f"the costs {listing(flags)} exclude each other: give one of them")
        if flags and self.weights:
            raise GaitError(f"the cost {flags[0]!r} has weights of its own: leave it or --weights")
        if flags:
            given["cost"] = flags[0]
        for option in BY_NAME:
            if option in given:
                given[option] = _by_name(option, given[option])
        for name in SWITCHES:
            if name in given:
                given[name] = given[name] in ("1", "True", "true")
        if "exo" in given:
            given["ExoOn"] = given.pop("exo")
        return given

    @staticmethod
    def check_words(words: Sequence[str]) -> None:
        """Raise GaitError where an option with names is given twice: only the last would count."""
        names = [word.partition("=")[0].replace("_", "-") for word in words]
        for name in NAMING:
            option = f"--{name.replace('_', '-')}"
            if names.count(option) > 1:
                raise GaitError(f"{option} is given twice: give it once, with all names")


@dataclass(frozen=True, kw_only=True)
class WalkOfTarget(GaitOverrides, OfRuns):
    """Walk of a run, or of a vector with a configuration."""

    target: Annotated[Positional[Path], arg(metavar="RUN|FILE")]
    """Run directory, or a file with a vector such as *_Best.txt."""
    config: Annotated[str | None, arg(metavar="CONFIG")] = None
    """Configuration that a file belongs to, by name or file."""
    threads: Annotated[int, arg(metavar="INT")] = 0
    """Threads that simulate."""

    @property
    def walk(self) -> Any:
        """The walk that is named."""
        from trueup.gait.search.given_walks import given_walk

        return given_walk(self.target, self.config, self.changes, self.threads, anyway=self.anyway)


def check_not_empty(field: str, value: Any) -> None:
    """Raise GaitError where an option is given without any of its values."""
    # what a variable that is empty leaves of an option
    if value == () or (isinstance(value, tuple) and "" in value):
        raise GaitError(
            f"--{field.replace('_', '-')} is given without a value: give some, or leave it out"
        )


def _by_name(option: str, pairs: tuple[tuple[str, float], ...] | str) -> dict[str, float] | None:
    if isinstance(pairs, str):  # none
        return None
    names = [name for name, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise GaitError(f"--{option.replace('_', '-')} gives {listing(twice)} twice")
    return dict(pairs)
