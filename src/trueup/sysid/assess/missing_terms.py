"""Detection of missing terms of a model, by fits with them and confirmation on held-out data.

A term is an attribute of the model that is not fitted: the Coulomb or viscous friction, the
armature or the spring of a joint, the mass of a body. One linearisation of the fit with all of them
predicts which kinds reduce the cost; a fit with each of these is then compared on held-out data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from trueup.errors import TrueupError
from trueup.fitting.judgement.paired_errors import CHANCE, block_sums, is_clearly_worse
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.searches.box_step import box_step
from trueup.sysid.assess.fit_covariance import gram_matrix, residual_covariance
from trueup.sysid.assess.friction_shapes import SHAPES, shape_candidates, with_forces
from trueup.sysid.assess.late_commands import late_fit
from trueup.sysid.assess.term_candidates import KINDS, Candidate, candidates, extended
from trueup.sysid.fit._inner_fit import REFIT_ITERATIONS, busy_seconds, refit
from trueup.sysid.fit.late_controls import late_controls
from trueup.sysid.fit.unseen_ends import beginnings_and_ends, obstacle_to_ends

if TYPE_CHECKING:
    from trueup.sysid.experiment.preparation import Prepared

DELAY = "delay"
DELAY_LABEL = "a delay of the commands"

_PROMISE = 0.02  # minimum predicted relative reduction of the cost for a fit
_WORTH = 0.05  # minimum relative reduction of the held-out error to report a term
_CLEAR = 1.5  # minimum change from the model in half-widths: three standard errors
_TRIED = 3  # number of kinds fitted per round
_ROUNDS = 2
_SHOWN = 6  # maximum joints in a sentence


_LABELS = {
    **{name: kind.label for name, kind in KINDS.items()},
    **{name: shape.label for name, shape in SHAPES.items()},
    DELAY: DELAY_LABEL,
}


@dataclass(frozen=True)
class FoundValue:
    """Estimate of an attribute of the model."""

    where: str
    """Joint, body or actuator; empty for all commands."""
    value: float
    half_width: float
    given: float
    """Value in the model."""
    unit: str
    note: str = ""
    """Note on the value in a sentence."""


@dataclass(frozen=True)
class MissingTerm:
    """A missing term of the model."""

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

    @property
    def label(self) -> str:
        """Name of the term."""
        return _LABELS[self.kind]

    @property
    def sentence(self) -> str:
        """Sentence on the missing term, its values and its effect."""
        label, zero = self.label, all(f.given == 0 for f in self.found)
        places = [f" in {f.where}" if f.where else "" for f in self.found]
        values = _and(
            [
                f"{f.value:.3g} {f.unit}{f.note}{at}"
                for f, at in zip(self.found, places, strict=True)
            ]
        )
        finder = "least squares estimates" if self.by_torques else "a fit with it estimates"
        if zero:
            head = f"{label[0].upper()}{label[1:]} is missing, {finder} {values}"
        else:
            given = _and([f"{f.given:.3g} in {f.where}" for f in self.found])
            finder = "least squares estimates" if self.by_torques else "a fit of it estimates"
            head = f"{label[0].upper()}{label[1:]} is fixed at {given}, {finder} {values}"
        text = f"{head}: this reduces the error on {self.where} by {100 * self.gain:.2g} %"
        if self.moved is not None:
            name, before, after = self.moved
            text += f", and {name} is {after:.3g} in place of {before:.3g}"
        if self.kind in SHAPES:
            return (
                f"{text}. MuJoCo's joints do not support this friction: the other values are "
                "valid at "
                "the speeds of the recordings, or a control law must add it."
            )
        return f"{text}. Estimate it, or set its value in the model."

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
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
    """Missing terms of the model of a fit.

    Args:
      prepared: the experiment.
      problem: its problem.
      x: the fit ``(p,)``.
      loss: robust loss of the fit.
      time_limit: time limit [s].

    Returns:
      The terms, largest reduction first; and the reason why some were not tested, or "".
    """
    return _Search(prepared, problem, x, loss or Loss(), time_limit).run()


@dataclass(frozen=True)
class _Trial:
    """A fit with an additional term, confirmed on held-out data."""

    left: float
    """Sum of squared residuals on held-out data."""
    term: MissingTerm
    more: list[Candidate]
    """Added parameters."""
    values: np.ndarray
    """All unknowns."""


class _Search:
    """Forward selection: rounds of fits with one more kind of term."""

    def __init__(
        self, prepared: "Prepared", problem: Any, x: np.ndarray, loss: Loss, time_limit: float
    ):
        self.prepared, self.problem, self.loss = prepared, problem, loss
        self.parameters = problem.parameters.copy()
        self.parameters.update_from_vector(x)
        self.values = np.asarray(x, float)
        self._end = busy_seconds() + time_limit
        self._models = [variant.model for variant in problem.variants]
        self._by_torques = prepared.experiment.search.by_torques
        self._seen, self._unseen, self._where = _parts(prepared)
        recorded = [*self._seen, *self._unseen]
        self._shaped = [] if self._by_torques else shape_candidates(recorded, self.parameters)
        self._may_be_late = not self._by_torques and not _has_delays(prepared, self._models)

    @property
    def _left(self) -> float:
        """Seconds left."""
        return max(self._end - busy_seconds(), 0.0)

    def run(self) -> tuple[list[MissingTerm], str]:
        wanted = [*KINDS, *dict.fromkeys(c.kind for c in self._shaped)]
        kinds = self._affordable(wanted)
        remark = ""
        if len(kinds) < len(wanted):
            untried = list(dict.fromkeys(_LABELS[k] for k in wanted if k not in kinds))
            remark = (
                f"Whether {_and(untried)} is missing was not tested within the time budget "
                "after the fit."
            )
        chosen: list[Candidate] = []
        out: list[MissingTerm] = []
        for _ in range(_ROUNDS):
            rest = [k for k in kinds if k not in {c.kind for c in chosen}]
            offers = self._offers(rest, chosen) if rest else []
            trials = [self._trial(offer, chosen) for offer in offers[:_TRIED]]
            trials.append(self._late_trial(chosen))
            confirmed = [trial for trial in trials if trial is not None]
            if not confirmed:
                break
            best = min(confirmed, key=lambda trial: trial.left)
            chosen += best.more
            self.values = best.values
            if best.term.kind == DELAY:
                delay = best.term.found[0].value
                self._seen, self._unseen = (
                    late_controls(groups, delay) for groups in (self._seen, self._unseen)
                )
                self._may_be_late = False
            out.append(best.term)
        return out, remark

    def _affordable(self, kinds: list[str]) -> list[str]:
        """The kinds within the time budget: a linearisation, and fits of a few iterations."""
        began = busy_seconds()
        self.problem.residuals(self.values[None])
        once = busy_seconds() - began
        count = len(self.values)
        while kinds:
            more = len(self._candidates(kinds))
            steps = (count + more + 1) + _TRIED * REFIT_ITERATIONS * (count + 2)
            if once * steps <= self._left:
                break
            kinds = kinds[:-1]
        return kinds

    def _offers(self, kinds: list[str], chosen: list[Candidate]) -> list[tuple[str, np.ndarray]]:
        """Kinds with a predicted reduction of the cost, best first, with their steps."""
        more = self._candidates(kinds)
        if not more:
            return []
        problem = self._problem([*chosen, *more], self._seen)
        point = np.concatenate([self.values, [c.given for c in more]])
        residual, jacobian, _ = final_jacobian(problem, point, central=False)
        gram, slope = gram_matrix(jacobian), np.asarray(jacobian.T @ residual)
        cost = 0.5 * float(residual @ residual)
        count = len(self.values)
        names = np.array(["" if i < count else more[i - count].kind for i in range(len(point))])
        alone = self._step(problem, point, gram, slope, names == "")[1]
        found = []
        for kind in dict.fromkeys(c.kind for c in more):
            step, gain = self._step(problem, point, gram, slope, (names == "") | (names == kind))
            acts = np.diag(gram)[names == kind].any()
            if acts and gain - alone > _PROMISE * cost:
                found.append((gain, kind, (point + step)[(names == "") | (names == kind)]))
        found.sort(key=lambda offer: -offer[0])
        best: dict[str, tuple[str, np.ndarray]] = {}
        for _, kind, start in found:
            best.setdefault(
                _LABELS[kind], (kind, start)
            )  # the best of one friction at several speeds
        return list(best.values())

    def _candidates(self, kinds: Sequence[str]) -> list[Candidate]:
        """Attributes of the model, and friction that MuJoCo does not support."""
        plain = [kind for kind in kinds if kind in KINDS]
        more = candidates(self._models, self.parameters, plain)
        return [*more, *(c for c in self._shaped if c.kind in kinds)]

    def _step(
        self,
        problem: Any,
        point: np.ndarray,
        gram: np.ndarray,
        slope: np.ndarray,
        columns: np.ndarray,
    ) -> tuple[np.ndarray, float]:
        """A Gauss-Newton step of some columns in units of values, and its predicted reduction."""
        space = problem.space
        z = space.to_search(point)
        lower, upper = space.search_bounds
        acts = columns & (np.diag(gram) > 0)
        at = np.flatnonzero(acts)
        G = gram[np.ix_(at, at)]
        G = G + np.diag(1e-9 * np.diag(G))
        step = np.zeros(len(z))
        step[at] = box_step(G, slope[at], (lower - z)[at], (upper - z)[at])
        gain = -float(slope @ step + 0.5 * step @ gram @ step)
        return space.from_search((z + step)[None])[0] - point, gain

    def _trial(self, offer: tuple[str, np.ndarray], chosen: list[Candidate]) -> "_Trial | None":
        """A fit with one kind, if confirmed."""
        kind, start = offer
        more = self._candidates([kind])
        plain = np.concatenate([self.values, [c.given for c in more]])
        problem = self._problem([*chosen, *more], self._seen)
        costs = self.loss.costs(problem.residuals(np.stack([plain, start])))
        begin = start if costs[1] < costs[0] else plain
        fit = refit(problem, begin, self.loss, self._left)
        if fit is None:
            return None
        unseen = self._problem([*chosen, *more], self._unseen)
        before, after = unseen.residuals(np.stack([plain, fit.x]))[:, : unseen.data_rows]
        gain, left = self._gain(before, after)
        if gain is None:
            return None
        widths = self._half_widths(problem, fit.x)
        found = tuple(
            FoundValue(
                c.where, float(fit.x[i]), float(widths[i]), c.given, c.parameter.unit, c.note
            )
            for i, c in enumerate(more, len(self.values))
            if abs(fit.x[i] - c.given) > _CLEAR * widths[i]
        )
        if not found:
            return None
        term = self._term(kind, found, gain, problem, plain, fit.x, widths)
        return _Trial(left, term, more, fit.x)

    def _late_trial(self, chosen: list[Candidate]) -> "_Trial | None":
        """A fit with delayed commands, if confirmed."""
        if not self._may_be_late:
            return None

        def problem_of(groups: Any) -> Any:
            return self._problem(chosen, groups)

        fit = late_fit(problem_of, self._seen, self.values, _PROMISE, self.loss, self._left)
        if fit is None:
            return None
        delay, x = fit
        before = self._problem(chosen, self._unseen)
        after = self._problem(chosen, late_controls(self._unseen, delay))
        rows = slice(0, before.data_rows)
        gain, left = self._gain(
            before.residuals(self.values[None])[0, rows], after.residuals(x[None])[0, rows]
        )
        if gain is None:
            return None
        problem = self._problem(chosen, late_controls(self._seen, delay))
        widths = self._half_widths(problem, x)
        found = (FoundValue("", delay, np.nan, 0.0, "s"),)
        term = self._term(DELAY, found, gain, problem, self.values, x, widths)
        return _Trial(left, term, [], x)

    def _gain(self, before: np.ndarray, after: np.ndarray) -> tuple[float | None, float]:
        """Relative reduction of the held-out error by a term, and the remaining cost.

        None if the reduction is too small or not significant.
        """
        first, second = block_sums(np.square(np.stack([before, after], axis=1))).T
        gain = 1.0 - float(np.sqrt(second.sum() / max(first.sum(), 1e-300)))
        is_clear = is_clearly_worse(first, second, CHANCE / len(_LABELS))
        return (gain if gain >= _WORTH and is_clear else None), float(second.sum())

    def _term(
        self,
        kind: str,
        found: tuple[FoundValue, ...],
        gain: float,
        problem: Any,
        before: np.ndarray,
        after: np.ndarray,
        widths: np.ndarray,
    ) -> MissingTerm:
        moved = self._moved(problem, before, after, widths)
        values = {
            name: (float(after[i]), float(widths[i]))
            for i, name in enumerate(self.problem.space.names)
        }
        return MissingTerm(kind, found, gain, moved, values, self._where, self._by_torques)

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
        widths = found.half_widths * problem.space.slope(x)
        return np.where(np.isnan(widths), np.inf, widths)

    def _problem(self, more: Sequence[Candidate], groups: Any) -> Any:
        groups = with_forces(groups, more)
        problem = self.prepared.problem(extended(self.parameters, more), groups)
        problem.noise_scale = self.problem.noise_scale
        return problem


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


def _and(parts: Sequence[str]) -> str:
    """List of parts as text, limited to the first."""
    shown = [*parts] if len(parts) <= _SHOWN else [*parts[:_SHOWN], f"{len(parts) - _SHOWN} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
