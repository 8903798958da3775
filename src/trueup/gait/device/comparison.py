"""Results of the conditions of a comparison at equal speed, and significance of differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats
from scipy.interpolate import PchipInterpolator

from trueup.gait.device.conditions import CONDITIONS
from trueup.gait.device.settings import DeviceSettings
from trueup.gait.report.walk_verdict import natural_criteria
from trueup.gait.search._make_problem import make_problem
from trueup.gait.search.earlier_runs import configuration_of_run, vector_file
from trueup.gait.search.fresh_perturbations import final_candidates
from trueup.gait.search.problem import Scenario, evaluate
from trueup.gait.walk.gait_cycle import mean_cycle
from trueup.gait.walk.series import WalkSeries, observe_walks
from trueup.runs.store.database import Store
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution

DURATION, STRIDES = 20.0, 10
"""Duration of the evaluated walks [s], and number of evaluated strides of each leg."""

QUANTITIES = {"effort": "s/(kg m)", "metabolic_rate": "W/kg"}
"""Compared quantities with units; per kg of total mass, as the cost terms."""

LEVEL = 0.05
"""Significance level of a difference."""

FEWEST = 5
"""Smallest number of walks for a value at equal speed."""

PERCENT = np.linspace(0.0, 100.0, 101)
"""Percent of stance of a torque curve."""


@dataclass(frozen=True)
class Measured:
    """A quantity at the target speed, by linear regression over the last candidates of a search.

    Attributes:
      value: the quantity; NaN where too few walks are complete.
      error: standard error of the quantity.
      lasted: number of complete walks.
      walked: number of all walks.
    """

    value: float
    error: float
    lasted: int
    walked: int

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        known = np.isfinite(self.value)
        return {
            "value": self.value if known else None,
            "standard_error": self.error if known else None,
            "lasted": self.lasted,
            "walked": self.walked,
        }


@dataclass(frozen=True)
class Torque:
    """Torque of a device over stance, for one search.

    Attributes:
      torque: torque at each percent of stance ``(101,)`` [N m].
      peak: largest torque [N m].
      peak_at: percent of stance of the peak.
      rise: percent of stance from its onset to the peak.
      fall: percent of stance from the peak to the end of the torque.
      stance: duration of stance [s].
      work: work per stride on both legs, per total mass [J/kg].
      power: mean power over the gait cycle, of the right leg ``(101,)`` [W].
    """

    torque: np.ndarray
    peak: float
    peak_at: float
    rise: float
    fall: float
    stance: float
    work: float
    power: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values, without the curves."""
        seconds = 0.01 * self.stance
        return {
            "peak_Nm": self.peak,
            "peak_at_percent_of_stance": self.peak_at,
            "rise_s": self.rise * seconds,
            "fall_s": self.fall * seconds,
            "stance_s": self.stance,
            "work_J_kg": self.work,
        }


@dataclass(frozen=True)
class ConditionResult:
    """Result of a search of a condition.

    Attributes:
      condition: name of the condition.
      seed: seed of the search.
      quantities: quantities at the target speed, by name.
      lasted: duration of its best walk without perturbations [s].
      speed: mean speed of that walk [m/s].
      survived: number of survived perturbed repeats, and their total number.
      torque: torque of the device; None for conditions without torque.
      natural: criteria of naturalness of that walk, as in its verdict.
    """

    condition: str
    seed: int
    quantities: Mapping[str, Measured]
    lasted: float
    speed: float
    survived: tuple[int, int]
    torque: Torque | None = None
    natural: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Difference:
    """Relative difference of a quantity between two conditions, over pairs of seeds.

    Attributes:
      quantity: name of the quantity.
      condition: condition.
      other: condition that it is compared with.
      per_body: whether per kg of body mass; otherwise per kg of total mass.
      changes: difference of each seed ``(seeds,)`` [%]; NaN where a value is unknown.
    """

    quantity: str
    condition: str
    other: str
    per_body: bool
    changes: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Differences of the seeds with known values [%]."""
        return self.changes[np.isfinite(self.changes)]

    @property
    def mean(self) -> float:
        """Mean over the seeds [%]; NaN without any."""
        return float(self.known.mean()) if len(self.known) else np.nan

    @property
    def error(self) -> float:
        """Standard error of the mean [%]; NaN of fewer than two seeds."""
        return float(stats.sem(self.known)) if len(self.known) > 1 else np.nan

    @property
    def probability(self) -> float:
        """Two-sided p-value of Student's paired t-test."""
        if not self.error > 0.0:
            return np.nan
        test: Any = stats.ttest_1samp(self.known, 0.0)
        return float(test.pvalue)

    @property
    def is_significant(self) -> bool:
        """Whether the difference is significant at the significance level `LEVEL`."""
        return bool(self.probability < LEVEL)

    @property
    def words(self) -> str:
        """Text with mean, standard error and significance."""
        if not len(self.known):
            return "unknown: too few walks are complete"
        if not np.isfinite(self.error):
            return f"{self.mean:+.1f} % with one seed (no standard error)"
        sure = "" if self.is_significant else ", not significant"
        return f"{self.mean:+.1f} ± {self.error:.1f} %{sure}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {
            "quantity": self.quantity,
            "arm": self.condition,
            "compared_with": self.other,
            "per": "body mass" if self.per_body else "carried mass",
            "mean_percent": _plain(self.mean),
            "standard_error_percent": _plain(self.error),
            "p": _plain(self.probability),
            "significant": self.is_significant,
            "seeds_percent": [_plain(value) for value in self.changes],
        }


@dataclass(frozen=True)
class DeviceComparison:
    """Result of a comparison.

    Attributes:
      settings: settings of the comparison.
      results: results of searches, by seed and condition.
      masses: total mass of each condition [kg].
      differences: differences between conditions.
    """

    settings: DeviceSettings
    results: Sequence[ConditionResult]
    masses: Mapping[str, float]
    differences: Sequence[Difference]

    def of(self, condition: str) -> list[ConditionResult]:
        """Results of the searches of a condition, by seed."""
        return [result for result in self.results if result.condition == condition]

    def difference(
        self, quantity: str, other: str = "without", per_body: bool = True
    ) -> Difference:
        """Difference between the device on and another condition."""
        (found,) = [
            one
            for one in self.differences
            if (one.quantity, one.other, one.per_body) == (quantity, other, per_body)
        ]
        return found

    @property
    def naturalness(self) -> str:
        """Naturalness of the walks without the device."""
        judged = {one.seed: one.natural for one in self.of("without") if one.natural}
        if not judged:
            return (
                "Whether the walk without the device is natural is unknown: no stride was judged."
            )
        missed = {seed: [one for one in found if not one["met"]] for seed, found in judged.items()}
        seed = max(missed, key=lambda seed: len(missed[seed]))
        count = len(judged[seed])
        if not missed[seed]:
            return f"The walk without the device is natural by all of its {count} criteria."
        named = [
            f"{one['name']} {one['value']:.3g} {one['unit']} "
            f"({'at most' if one['at_most'] else 'at least'} {one['limit']:.3g})"
            for one in missed[seed]
        ]
        return (
            f"The walk without the device is not natural: it misses {len(missed[seed])} of {count} "
            f"criteria (seed {seed}): {'; '.join(named)}. What a device changes in it need not be "
            "what it changes in people."
        )

    @property
    def is_natural(self) -> bool:
        """Whether the walks without the device meet all criteria of naturalness."""
        without = [one.natural for one in self.of("without")]
        return all(found and all(one["met"] for one in found) for found in without)

    @property
    def headline(self) -> str:
        """Summary of the effect of the device on the metabolic rate."""
        found, settings = self.difference("metabolic_rate"), self.settings
        return (
            f"Metabolic rate with the device {settings.model} (up to {settings.max_torque:g} N m) "
            f"at {settings.speed:g} m/s, per kg of body mass, compared with walking without it: "
            f"{found.words}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        return {
            "kind": "device comparison",
            "settings": self.settings.to_dict(),
            "headline": self.headline,
            "naturalness": self.naturalness,
            "masses_kg": dict(self.masses),
            "results": [
                {
                    "arm": one.condition,
                    "seed": one.seed,
                    "lasted_s": one.lasted,
                    "speed_m_s": _plain(one.speed),
                    "repeats_survived": one.survived[0],
                    "repeats": one.survived[1],
                    "natural_criteria": len(one.natural),
                    "natural_criteria_met": sum(bool(each["met"]) for each in one.natural),
                    **{name: value.to_dict() for name, value in one.quantities.items()},
                    **({} if one.torque is None else {"torque": one.torque.to_dict()}),
                }
                for one in self.results
            ],
            "differences": [one.to_dict() for one in self.differences],
        }


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def condition_result(condition: str, directory: RunDirectory) -> ConditionResult:
    """Result of the finished search of a condition.

    Args:
      condition: name of the condition.
      directory: run directory of the search.

    Raises:
      RunDirectoryError: a file of the run is missing or damaged.
    """
    configuration = configuration_of_run(directory)
    problem = make_problem(configuration)
    parameters = problem.parameters
    vector = np.loadtxt(vector_file(directory.path))
    with Store.open(directory.study) as store:
        history = store.history()
    scenario = problem.scenarios[0]
    simulation = scenario.simulation.with_settings(duration=DURATION)
    long = Scenario(simulation, replace(scenario.objective, strides=STRIDES))
    last = final_candidates(history.X, history.costs[:, 0], history.generation)
    _, terms = evaluate(long, np.vstack([parameters.complete(last), vector]))
    speed = scenario.objective.speed
    quantities = {
        name: at_speed({key: values[:-1] for key, values in terms.items()}, name, speed)
        for name in QUANTITIES
    }
    solution = read_solution(directory)
    survival = next(iter(solution.get("survival", {}).values()), {})
    torque = None
    if simulation.profile is not None:
        _, (series,) = observe_walks(simulation, vector[None])
        percent, knots, _ = simulation.curves(vector[None])[0]
        assert series is not None  # a best walk exists, see above
        torque = torque_of(percent, knots, series)
    return ConditionResult(
        condition,
        configuration.seed,
        quantities,
        float(terms["lasted"][-1]),
        float(terms["speed"][-1]),
        (int(survival.get("survived", 0)), int(survival.get("perturbations", 0))),
        torque,
        tuple(natural_criteria(solution.get("verdict") or {})),
    )


def at_speed(terms: Mapping[str, np.ndarray], name: str, speed: float) -> Measured:
    """A term at a speed [m/s], by linear regression over the walks that are complete over
    :data:`DURATION`."""
    lasts = (terms["lasted"] >= DURATION - 0.02) & np.isfinite(terms[name])
    lasted = int(lasts.sum())
    if lasted < FEWEST or np.ptp(terms["speed"][lasts]) == 0.0:
        return Measured(np.nan, np.nan, lasted, len(lasts))
    line: Any = stats.linregress(terms["speed"][lasts] - speed, terms[name][lasts])
    return Measured(float(line.intercept), float(line.intercept_stderr), lasted, len(lasts))


def torque_of(percent: np.ndarray, knots: np.ndarray, series: WalkSeries) -> Torque:
    """Torque of a device.

    Args:
      percent: percent of stance of the knots of its curve, increasing.
      knots: torque at them [N m].
      series: walk with the device.
    """
    places, first = np.unique(percent, return_index=True)
    curve = PchipInterpolator(places, knots[first])(PERCENT)
    peak = int(np.argmax(curve))
    on = np.flatnonzero(curve > 0.01 * curve[peak]) if curve[peak] > 0.0 else np.array([peak])
    strides = [series.strides(leg) for leg in range(2)]
    durations = [series.period * (one.lift_off - one.start) for leg in strides for one in leg]
    power = mean_cycle(series.device_power[:, 0], strides[0])
    works = [
        series.period * series.device_power[one.start : one.end, leg].sum()
        for leg, found in enumerate(strides)
        for one in found
    ]
    return Torque(
        curve,
        float(curve[peak]),
        float(PERCENT[peak]),
        float(PERCENT[peak] - PERCENT[on[0]]),
        float(PERCENT[on[-1]] - PERCENT[peak]),
        float(np.mean(durations)) if durations else np.nan,
        2.0 * float(np.mean(works)) / series.mass if works else np.nan,
        np.zeros(len(PERCENT)) if power is None else power.mean,
    )


def compared(settings: DeviceSettings, results: Sequence[ConditionResult]) -> DeviceComparison:
    """Comparison of all finished searches."""
    masses = {condition: settings.mass(condition) for condition in CONDITIONS}
    by_condition = {
        condition: {one.seed: one for one in results if one.condition == condition}
        for condition in CONDITIONS
    }
    differences = []
    for quantity in QUANTITIES:
        for other in ("without", "off"):
            pairs = [
                (
                    one.quantities[quantity].value,
                    by_condition[other][seed].quantities[quantity].value,
                )
                for seed, one in by_condition["with"].items()
                if seed in by_condition[other]
            ]
            own, their = np.array(pairs, float).reshape(-1, 2).T
            heavier = masses["with"] / masses[other]
            differences += [
                Difference(quantity, "with", other, True, 100.0 * (own / their * heavier - 1.0)),
                Difference(quantity, "with", other, False, 100.0 * (own / their - 1.0)),
            ]
    return DeviceComparison(settings, list(results), masses, differences)
