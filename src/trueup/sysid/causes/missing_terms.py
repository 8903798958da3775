"""Causes of the error that a fit leaves: what the model lacks, or the recording has wrong.

Each is tested by a fit in which it is free, and confirmed on held-out data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from trueup.errors import SimulationError, TrueupError
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.uncertainty.start_noise import noise_from_changes
from trueup.sysid.assess.fit_covariance import residual_covariance, sequence_rows
from trueup.sysid.causes.friction_shapes import shape_candidates
from trueup.sysid.causes.machine_candidates import (
    NO_LIMIT,
    limits,
    machine_candidates,
    payloads,
)
from trueup.sysid.causes.recording_changes import (
    clock_rate,
    exchanges,
    gravity_tilts,
    late_commands,
    sensor_changes,
)
from trueup.sysid.causes.search import (
    AT_NOISE,
    ITERATIONS,
    CauseSearch,
    Choice,
    Found,
    Trial,
)
from trueup.sysid.causes.simulated_peaks import simulated_peaks
from trueup.sysid.causes.term_candidates import KINDS, candidates
from trueup.sysid.causes.texts import WORDINGS, enumerated
from trueup.sysid.fit._inner_fit import busy_seconds
from trueup.sysid.fit.late_controls import pause_of
from trueup.sysid.fit.unseen_ends import beginnings_and_ends, obstacle_to_ends

if TYPE_CHECKING:
    from trueup.sysid.experiment.preparation import Prepared

DELAY = "delay"

_EXCESS = (
    0.05  # squared error above noise, relative to noise, below which there is nothing to explain
)
_FAR = 3.0  # excess above which the start values are linearised too
_CLEAR = 1.5  # minimum change from the model in half-widths: three standard errors
_ROUNDS = 2
_NEAR = 4.0  # predicted cost over that of noise up to which the fit alone is linearised
_MOST = 0.1  # predicted part of the cost above which other causes are searched first
_REST = 0.02  # part of the first error above noise that is not explained further
_LEAST_DELAY = (
    0.5  # minimum delay, in intervals between controls: smaller ones are an effect of the hold
)
_ALWAYS_THERE = ("centre",)  # kinds whose value of zero in a model is not that of none
_PLAIN = ("limit", "clip")  # kinds without a limit in the model


@dataclass(frozen=True)
class FoundValue:
    """Estimate of an attribute of the model."""

    where: str
    """Joint, body or actuator; empty for all commands."""
    value: float
    half_width: float
    given: float
    """Value in the model; infinite where it has none."""
    unit: str
    note: str = ""
    """Note on the value in a sentence."""


@dataclass(frozen=True)
class MissingTerm:
    """A cause of the error that a fit leaves, such as a missing term of the model."""

    kind: str
    found: tuple[FoundValue, ...]
    gain: float
    """Relative reduction of the held-out error by the term."""
    moved: tuple[str, float, float] | None
    """Parameter with the largest change: its name, its value without the term and with it."""
    values: dict[str, tuple[float, float]]
    """Parameters of the fit with the term: value and half-width, by name."""
    where: str
    """Name of the held-out data."""
    by_torques: bool
    """Whether the fit is to torques, which is linear, and not by simulation."""
    share: float = np.nan
    """Fraction of the squared held-out error above noise that it explains."""
    joints: tuple[str, ...] = ()
    """Joints with exchanged columns."""
    alike: tuple[str, ...] = ()
    """Other causes that explain the held-out data equally well, as noun phrases."""

    @property
    def label(self) -> str:
        """Name of the term."""
        return WORDINGS[self.kind].label

    @property
    def cause(self) -> str:
        """The cause as a noun phrase, with its place."""
        places = list(dict.fromkeys(f.where for f in self.found if f.where)) or list(self.joints)
        short = WORDINGS[self.kind].short
        return f"{short} of {enumerated(places)}" if places else short

    @property
    def sentence(self) -> str:
        """Sentence on the cause, its values and its effect, and on what to do."""
        text = f"{self._head()}: this reduces the error on {self.where} by {_percent(self.gain)}"
        if self.moved is not None:
            name, before, after = self.moved
            text += f", and {name} is {after:.3g} in place of {before:.3g}"
        text += "."
        if self.alike:
            text += (
                f" The data cannot distinguish it from {enumerated(self.alike)}: each of them, "
                f"freed alone, leaves the same error on {self.where}."
            )
        return f"{text} {WORDINGS[self.kind].advice}"

    def _head(self) -> str:
        label = self.label
        subject = f"{label[0].upper()}{label[1:]}"
        if self.joints:
            what = "positions" if self.kind == "exchanged-sensors" else "commands"
            return f"The {what} of {enumerated(self.joints)} look exchanged, a fit shows"
        if self.kind == "clock":
            (one,) = self.found
            return f"{subject} is off, a fit with its rate estimates {one.value:.4g} s per second"
        places = [f" in {f.where}" if f.where else "" for f in self.found]
        values = enumerated(
            [
                f"{f.value:.3g} {f.unit}".strip() + f"{f.note}{at}"
                for f, at in zip(self.found, places, strict=True)
            ]
        )
        absent = all(f.given == 0 or not np.isfinite(f.given) for f in self.found)
        if absent and self.kind not in _ALWAYS_THERE:
            finder = "least squares estimates" if self.by_torques else "a fit with it estimates"
            return f"{subject} is missing, {finder} {values}"
        given = enumerated([f"{f.given:.3g} in {f.where}" for f in self.found])
        finder = "least squares estimates" if self.by_torques else "a fit of it estimates"
        return f"{subject} is fixed at {given}, {finder} {values}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "label": self.label,
            "cause": self.cause,
            "share": self.share,
            "alike": list(self.alike),
            "found": [vars(f) for f in self.found],
            "gain": self.gain,
            "sentence": self.sentence,
        }


def missing_terms(
    prepared: "Prepared",
    problem: Any,
    x: np.ndarray,
    loss: Loss | None = None,
    time_limit: float = np.inf,
) -> tuple[list[MissingTerm], str]:
    """Causes of the error that a fit leaves, the one that explains most first.

    Args:
      prepared: the experiment.
      problem: its problem.
      x: the fit ``(p,)``.
      loss: robust loss of the fit.
      time_limit: time limit [s].

    Returns:
      The causes; and the reason why some were not tested, or "".
    """
    return _Causes(prepared, problem, x, loss or Loss(), time_limit).run()


class _Causes:
    """Causes of one fit."""

    def __init__(
        self, prepared: "Prepared", problem: Any, x: np.ndarray, loss: Loss, time_limit: float
    ):
        self.prepared, self.problem = prepared, problem
        self.fit = np.asarray(x, float)
        self.start = np.asarray(problem.space.start, float)
        self._end = busy_seconds() + time_limit
        self._by_torques = prepared.experiment.search.by_torques
        self._seen, unseen, self._where = _parts(prepared)
        parameters = problem.parameters.copy()
        parameters.update_from_vector(self.fit)
        self.search = CauseSearch(self._make, parameters, self._seen, unseen, loss, self._end)
        self._models = [variant.model for variant in problem.variants]
        self._pause = 0.0 if self._by_torques else pause_of(self._seen)

    def _make(self, parameters: Any, groups: Any) -> Any:
        problem = self.prepared.problem(parameters, groups)
        problem.noise_scale = self.problem.noise_scale
        return problem

    def run(self) -> tuple[list[MissingTerm], str]:
        excess, self._noise = self._excess(self.problem, self.fit)
        if excess < _EXCESS:
            return [], ""
        linear, searched = self._choices()
        linear, searched, untested = self._affordable(linear, searched)
        remark = ""
        if untested:
            remark = (
                f"Whether {enumerated(untested)} is missing was not tested within the time budget "
                "after the fit."
            )
        first = self.search.plain().error
        out: list[MissingTerm] = []
        for number in range(_ROUNDS):
            points = [self.search.values]
            if number == 0 and excess > _FAR:
                points.append(self.start)
            # what has no gradient and was not needed first is not searched again
            found = self._round(linear, [] if number else searched, points, first)
            term = None if found is None else self._term(found)
            if found is None or term is None:
                break
            self.search.accept(found)
            out.append(term)
            if found.trial.error - self._floor() < _REST * (first - self._floor()):
                break
        return sorted(out, key=lambda term: -term.share), remark

    def _round(
        self,
        linear: list[Choice],
        searched: list[Choice],
        points: list[np.ndarray],
        first: float,
    ) -> Found | None:
        """The best further cause.

        Those without a gradient are searched where the others promise, or leave, too much.
        """
        search, floor = self.search, self._floor()
        count = len({WORDINGS[c.kind].label for c in (*linear, *searched)})
        open_ = [c for c in linear if not self._is_chosen(c)]
        offers = search.linear_offers(open_, points, _NEAR * 0.5 * self._noise)
        offers = [o for o in offers if not self._is_too_short(o)]
        rest, cost = [c for c in searched if not self._is_chosen(c)], self._cost()
        if min((o.cost for o in offers), default=np.inf) > _MOST * cost:
            offers += search.searched_offers(rest, points, cost)
            rest = []
        trials = search.tried(offers, floor, cost)
        if rest and not any(t.error < AT_NOISE * floor for t in trials):
            trials += search.tried(search.searched_offers(rest, points, cost), floor, cost)
        return search.pick(trials, count, floor, first)

    # --- causes --------------------------------------------------------------------------------

    def _choices(self) -> tuple[list[Choice], list[Choice]]:
        """Causes with a gradient at the model, and those that are searched."""
        parameters = self.search.parameters
        members: list[Any] = list(candidates(self._models, parameters, list(KINDS)))
        if self._by_torques:
            return _sets(members, singles=False), []
        recorded = [*self._seen, *self.search.unseen]
        known = {r.name for r in self.prepared.recordings if r.start_is_known}
        members += shape_candidates(recorded, parameters)
        members += machine_candidates(self._seen, parameters)
        measurement = self.prepared.experiment.measurement
        members.append(clock_rate(recorded, known))
        members += gravity_tilts(recorded, parameters)
        if not (measurement.biases or measurement.gains):
            members += sensor_changes(recorded, known)
        if not _has_delays(self.prepared, self._models):
            members.append(late_commands())
        linear = _sets(members, singles=True)
        for addition in payloads(self._seen, parameters):
            kind = addition.candidates[0].kind
            linear.append(Choice(kind, addition.candidates, (addition,)))
        searched = []
        peaks = self._peaks()
        for addition in limits(recorded, parameters, peaks):
            kind = addition.candidates[0].kind
            searched.append(Choice(kind, addition.candidates, (addition,)))
        searched += [Choice(e.kind, (), exchange=e) for e in exchanges(recorded, known)]
        return linear, searched

    def _peaks(self) -> np.ndarray:
        """Largest force of each actuator in the simulation; zero where that fails."""
        none = np.zeros(self._models[0].nu)
        if not len(none):
            return none
        problem = self.prepared.motion_problem(sequences=self._seen[:1])
        try:
            return simulated_peaks(problem, ("actuator_force",))["actuator_force"]
        except SimulationError:
            return none  # the model as in its file need not move: only its start values do

    def _affordable(
        self, linear: list[Choice], searched: list[Choice]
    ) -> tuple[list[Choice], list[Choice], list[str]]:
        """Causes within the time: a linearisation of all and fits of some; labels of the others."""
        # a batch of torques costs little more than one candidate
        batch = len(self.fit) + 1 if self._by_torques else 1
        began = busy_seconds()
        self.problem.residuals(np.tile(self.fit, (batch, 1)))
        once = (busy_seconds() - began) / batch
        count = len(self.fit)
        kept = [*linear, *searched]
        while kept:
            columns = {m.parameter.name for c in kept for m in c.members}
            looks = sum(len(m.guesses) + 1 for c in kept if c in searched for m in c.members)
            steps = count + len(columns) + looks + 3 * ITERATIONS * (count + 2)
            if once * steps <= self.search.left:
                break
            kept = kept[: len(kept) // 2]
        dropped = [c for c in (*linear, *searched) if c not in kept]
        labels = {WORDINGS[c.kind].label for c in kept}
        untested = [WORDINGS[c.kind].label for c in dropped]
        untested = [t for t in dict.fromkeys(untested) if t not in labels]
        return [c for c in linear if c in kept], [c for c in searched if c in kept], untested

    def _is_chosen(self, choice: Choice) -> bool:
        """Whether a cause, or one of its unknowns, is selected."""
        names = {m.parameter.name for c in self.search.chosen for m in c.members}
        same = any(c.exchange and c.exchange is choice.exchange for c in self.search.chosen)
        label = WORDINGS[choice.kind].label
        return (
            same
            or any(m.parameter.name in names for m in choice.members)
            or label in {WORDINGS[c.kind].label for c in self.search.chosen}
        )

    def _is_too_short(self, offer: Any) -> bool:
        """Whether a delay is within the effect of the hold of commands."""
        if offer.choice.kind != DELAY:
            return False
        return max(start[-1] for start in offer.starts) < _LEAST_DELAY * self._pause

    # --- errors --------------------------------------------------------------------------------

    def _cost(self) -> float:
        residual = self.search.problem([]).residuals(self.search.values[None])
        return float(self.search.loss.costs(residual)[0])

    def _excess(self, problem: Any, x: np.ndarray) -> tuple[float, float]:
        """Squared error above noise relative to noise, and the squared error of noise."""
        residual = problem.residuals(x[None])[0]
        floor, total = 0.0, 0.0
        for sequence, rows in sequence_rows(problem):
            error = residual[rows].reshape(sequence.measured.shape)
            starts = [window.first for window in getattr(sequence, "windows", ())]
            noise = np.nan_to_num(noise_from_changes(error, starts))
            floor += len(error) * float(np.sum(noise**2))
            total += float(np.sum(error**2))
        return total / max(floor, 1e-300) - 1.0, floor

    def _floor(self) -> float:
        """Squared held-out error of noise."""
        return self._excess(self.search.problem([], unseen=True), self.search.values)[1]

    # --- results -------------------------------------------------------------------------------

    def _term(self, found: Found) -> MissingTerm | None:
        """A confirmed cause; None if no value differs clearly from that of the model."""
        trial = found.trial
        widths = self._half_widths(trial.problem, trial.x)
        values = self._values(trial, widths)
        if not values and trial.choice.exchange is None:
            return None
        alike = [self._phrase(other) for other in found.alike]
        return MissingTerm(
            trial.choice.kind,
            values,
            found.gain,
            self._moved(trial.problem, found.before, trial.x, widths),
            {
                name: (float(trial.x[i]), float(widths[i]))
                for i, name in enumerate(trial.problem.space.names)
            },
            self._where,
            self._by_torques,
            found.share,
            () if trial.choice.exchange is None else trial.choice.exchange.joints,
            tuple(dict.fromkeys(a for a in alike if a)),
        )

    def _phrase(self, trial: Trial) -> str:
        """Noun phrase of an alternative cause."""
        places = tuple(dict.fromkeys(m.where for m in trial.choice.leading if m.where))
        short = WORDINGS[trial.choice.kind].short
        return f"{short} of {enumerated(places)}" if places else short

    def _values(self, trial: Trial, widths: np.ndarray) -> tuple[FoundValue, ...]:
        """Values of a cause that differ clearly from those of the model."""
        members = trial.choice.members
        first = len(trial.x) - len(members)
        out = []
        for i, m in enumerate(members, first):
            if m.follows or not abs(trial.x[i] - m.given) > _CLEAR * widths[i]:
                continue
            value, given, unit, note = float(trial.x[i]), m.given, m.parameter.unit, m.note
            if (trial.choice.kind in _PLAIN and given >= NO_LIMIT) or trial.choice.kind == "clip":
                given = np.inf
            if trial.choice.kind == "clock":
                value, given, unit = value / given, 1.0, ""
            if trial.choice.kind.startswith("payload"):
                given = 0.0
                place = ", ".join(f"{v:.2g}" for v in trial.x[i + 1 : i + 4])
                note = f" at ({place}) m"
            width = float(widths[i]) if m.where or trial.choice.kind == "clock" else np.nan
            out.append(FoundValue(m.where, value, width, given, unit, note))
        return tuple(out)

    def _moved(
        self, problem: Any, before: np.ndarray, after: np.ndarray, widths: np.ndarray
    ) -> tuple[str, float, float] | None:
        names = problem.space.names
        asked = [i for i in range(len(self.problem.space.names)) if "#" not in names[i]]
        if not asked:
            return None
        apart = np.array([abs(after[i] - before[i]) / max(widths[i], 1e-300) for i in asked])
        furthest = asked[int(np.argmax(apart))]
        if not apart.max() > 1.0:
            return None
        return names[furthest], float(before[furthest]), float(after[furthest])

    def _half_widths(self, problem: Any, x: np.ndarray) -> np.ndarray:
        residual, jacobian, _ = final_jacobian(problem, x, central=False)
        at_bound = problem.space.at_bound(x, 1e-6)
        try:
            found = residual_covariance(
                problem, residual, jacobian, at_bound, "auto", 0.05, Loss(), 0
            )
        except TrueupError:
            return np.full(len(x), np.inf)
        return np.nan_to_num(found.half_widths * problem.space.slope(x), nan=np.inf, posinf=np.inf)


def _percent(share: float) -> str:
    return "more than 99 %" if share > 0.99 else f"{100 * share:.2g} %"


def _sets(members: Sequence[Any], singles: bool) -> list[Choice]:
    """One choice for all unknowns of each kind, and one for each unknown."""
    out = []
    for kind in dict.fromkeys(m.kind for m in members):
        own = tuple(m for m in members if m.kind == kind)
        out.append(Choice(kind, own))
        if singles and len(own) > 1:
            out += [Choice(kind, (m,)) for m in own]
    return out


def _parts(prepared: "Prepared") -> tuple[Any, Any, str]:
    """Recordings to fit and to compare on, and a name for the latter."""
    if prepared.held_out:
        return prepared.training, prepared.held_out, "held-out data"
    if obstacle_to_ends(prepared):
        return prepared.training, prepared.training, "the data of the fit"
    beginnings, ends = beginnings_and_ends(prepared)
    return beginnings, ends, "the last quarter of each recording"


def _has_delays(prepared: "Prepared", models: Sequence[mujoco.MjModel]) -> bool:
    """Whether delays are fitted or the model has no actuators."""
    targets = [t for p in prepared.parameters.values() for t in p.targets]
    unknown = any(t.endswith("/delay") for t in targets) or prepared.experiment.measurement.delays
    return bool(unknown) or any(model.nu == 0 for model in models)
