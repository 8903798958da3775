"""Search for causes of the error that a fit leaves, each tested by freeing it with all unknowns.

Linearisations at the fit and at the start values, with all candidates as further elements, predict
which of them reduce the cost. A fit with each of the most promising is compared on held-out data.
The best is kept, and the rest is explained in the same way with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueup.fitting.judgement.paired_errors import CHANCE, block_sums, is_clearly_worse
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import Loss
from trueup.fitting.problem import Failures
from trueup.fitting.searches.box_step import box_step
from trueup.fitting.searches.device_first import least_squares, rough_jacobian
from trueup.fitting.searches.least_squares import LeastSquaresSettings
from trueup.parameters import ParameterDict
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.assess.fit_covariance import gram_matrix
from trueup.sysid.causes.changed_problem import ChangedProblem
from trueup.sysid.causes.freed import line_search
from trueup.sysid.causes.friction_shapes import with_forces
from trueup.sysid.causes.machine_candidates import Addition, with_additions
from trueup.sysid.causes.recording_changes import Change, Exchange
from trueup.sysid.causes.term_candidates import Candidate, extended
from trueup.sysid.causes.texts import WORDINGS
from trueup.sysid.fit._inner_fit import busy_seconds, inner_fit

PROMISE = 0.02
"""Minimum predicted relative reduction of the cost for a fit."""
WORTH = 0.05
"""Minimum relative reduction of the held-out error by a cause."""
ITERATIONS = 8
"""Maximum number of iterations of a fit with a cause."""

AT_NOISE = 1.5
"""Squared held-out error, relative to that of noise, up to which a cause explains all."""

_SLIGHT = 0.01  # part of the cost that the prediction of a linear model may be wrong by
_RIVAL = 5.0  # ratio of predicted costs up to which another cause may explain as much
_MORE = 5  # number of further causes fitted while none explains all
_PROMISING = 0.15  # predicted part of the cost up to which they are
_TRIED = 6  # number of causes fitted in the first round, half of them later
_ALIKE = 0.01  # chance that one of two equally good causes counts as worse
_MARGIN = 0.05  # relative difference of squared errors within which causes are equally good
_ENOUGH = 1e-4  # relative reduction of the cost that ends a fit with a cause
_WEAK = 1e-6  # smallest effect of an element, relative to the largest over its range

Member = Candidate | Change


@dataclass(frozen=True)
class Choice:
    """A cause to test: the unknowns that it frees."""

    kind: str
    members: tuple[Member, ...]
    additions: tuple[Addition, ...] = ()
    """Elements that it adds to the model."""
    exchange: Exchange | None = None

    @property
    def leading(self) -> tuple[Member, ...]:
        """Unknowns with an effect at the model, which come first."""
        return tuple(m for m in self.members if not m.follows)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.members)


@dataclass(frozen=True)
class Offer:
    """A cause with its predicted cost, and start values of all elements of its problem."""

    choice: Choice
    cost: float
    starts: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Trial:
    """A fit with a cause, and its errors on held-out data."""

    choice: Choice
    problem: Any
    x: np.ndarray
    """All elements ``(p,)``."""
    blocks: np.ndarray
    """Sums of squared held-out residuals over blocks of time."""

    @property
    def error(self) -> float:
        """Sum of squared held-out residuals."""
        return float(self.blocks.sum())


@dataclass
class Found:
    """A cause that a fit confirms on held-out data."""

    trial: Trial
    gain: float
    """Relative reduction of the held-out error."""
    share: float
    """Fraction of the squared held-out error above noise, before any cause, that it explains."""
    before: np.ndarray
    """All elements of its problem without it."""
    alike: list[Trial] = field(default_factory=list)
    """Other causes with the same held-out error but for chance."""


class CauseSearch:
    """Rounds of fits with one more cause.

    Args:
      make: constructs the problem of parameters and recordings.
      parameters: parameters of the fit, at its values.
      seen: recordings of the fits.
      unseen: recordings of the comparison.
      loss: robust loss of the fit.
      end: value of :func:`busy_seconds` at which the search ends.
    """

    def __init__(
        self,
        make: Callable[[ParameterDict, Sequence[ModelSequences]], Any],
        parameters: ParameterDict,
        seen: Sequence[ModelSequences],
        unseen: Sequence[ModelSequences],
        loss: Loss,
        end: float,
    ):
        self._make, self.parameters = make, parameters
        self._seen, self.unseen, self.loss, self._end = list(seen), list(unseen), loss, end
        self.chosen: list[Choice] = []
        self.values = np.concatenate([p.as_vector() for p in parameters.free] or [np.zeros(0)])

    @property
    def left(self) -> float:
        """Seconds left."""
        return max(self._end - busy_seconds(), 0.0)

    # --- problems ------------------------------------------------------------------------------

    def problem(self, choices: Sequence[Choice], unseen: bool = False) -> ChangedProblem:
        """Problem with the selected causes and further ones."""
        every = [*self.chosen, *choices]
        members = [m for choice in every for m in choice.members]
        terms = [m for m in members if isinstance(m, Candidate)]
        changes = [m for m in members if isinstance(m, Change)]
        additions = [a for choice in every for a in choice.additions]
        parameters = extended(self.parameters, members)

        def make(groups: Sequence[ModelSequences]) -> Any:
            return self._make(parameters, with_forces(with_additions(groups, additions), terms))

        groups = self.unseen if unseen else self._seen
        for choice in every:
            if choice.exchange is not None:
                groups = choice.exchange.apply(groups)
        return ChangedProblem(make, groups, changes)

    def with_given(self, values: np.ndarray, choices: Sequence[Choice]) -> np.ndarray:
        """Values of a fit with causes, followed by those of the model."""
        return np.concatenate([values, [m.given for c in choices for m in c.members]])

    # --- offers --------------------------------------------------------------------------------

    def linear_offers(
        self, choices: Sequence[Choice], points: Sequence[np.ndarray], enough: float
    ) -> list[Offer]:
        """Causes whose linear model promises a lower cost, best first.

        Args:
          choices: causes to test, which may share members.
          points: values to linearise at, without those of the causes; the first is the fit.
          enough: predicted cost of a cause below which no further point is linearised.
        """
        members = {m.parameter.name: m for c in choices for m in c.leading}
        if not members:
            return []
        additions = tuple({id(a): a for c in choices for a in c.additions}.values())
        problem = self.problem([Choice("", tuple(members.values()), additions)])
        count = len(points[0])
        place = {name: count + k for k, name in enumerate(members)}
        found: dict[int, tuple[float, list[np.ndarray]]] = {}
        limit = np.inf
        for point in points:
            best = min((cost for cost, _ in found.values()), default=np.inf)
            if not self.left or best < enough:
                break
            at = np.concatenate([point, [m.given for m in members.values()]])
            residual, jacobian, _ = final_jacobian(problem, at, central=False)
            model = Quadratic(problem.space, at, residual, np.asarray(jacobian))
            own = np.arange(count)
            alone = model.cost - model.step(own)[1]
            limit = min(limit, alone)
            for number, choice in enumerate(choices):
                columns = np.array([place[m.parameter.name] for m in choice.leading], int)
                if not model.acts(columns).any():
                    continue
                step, gain = model.step(np.concatenate([own, columns]))
                values = (at + step)[np.concatenate([own, columns])]
                rest = [m.given for m in choice.members[len(columns) :]]
                values = np.concatenate([values, rest])
                cost, starts = found.get(number, (np.inf, []))
                found[number] = (min(cost, model.cost - gain), [*starts, values])
        return [
            Offer(choices[number], cost, tuple(starts))
            for number, (cost, starts) in found.items()
            if cost < (1.0 - PROMISE) * limit
        ]

    def searched_offers(
        self, choices: Sequence[Choice], points: Sequence[np.ndarray], cost: float
    ) -> list[Offer]:
        """Causes without a gradient at the model, searched along their values.

        Args:
          choices: causes to test.
          points: values of the other elements.
          cost: cost of the fit.
        """
        out = []
        for choice in choices:
            problem = self.problem([choice])
            guesses = [*[()] * len(points[0]), *(m.guesses for m in choice.members)]  # type: ignore[union-attr]
            best, starts = np.inf, []
            for point in points:
                if not self.left:
                    break
                at = self.with_given(point, [choice])
                columns = np.arange(len(point), len(at))
                found = (
                    line_search(problem, at, columns, guesses, self.loss) if len(columns) else None
                )
                x = at if found is None else found.x
                own, better = self._predicted(problem, x)
                best, starts = min(best, own), [*starts, x, better]
            if best < (1.0 - PROMISE) * cost:
                out.append(Offer(choice, best, tuple(starts)))
        return out

    def _predicted(self, problem: Any, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Cost that a linear model promises from a point, and where: values tried are coarse."""
        residual, jacobian, _ = rough_jacobian(problem, x)
        model = Quadratic(problem.space, x, residual, np.asarray(jacobian))
        step, gain = model.step(np.arange(len(x)))
        return model.cost - gain, x + step

    # --- fits ----------------------------------------------------------------------------------

    def plain(self) -> Trial:
        """The fit without a further cause."""
        return self._trial_at(Choice("", ()), self.problem([]), self.values)

    def trial(self, offer: Offer) -> Trial | None:
        """Fit with a cause; None if it fails or exceeds the time."""
        choice = offer.choice
        problem = self.problem([choice])
        starts = [self.with_given(self.values, [choice]), *offer.starts]
        begins = np.clip(np.stack(starts), problem.space.lower, problem.space.upper)
        failures: Failures = {}
        costs = self.loss.costs(problem.residuals(begins, failures))
        costs[list(failures)] = np.inf
        if not np.isfinite(costs).any() or not self.left:
            return None
        settings = LeastSquaresSettings(
            max_iters=ITERATIONS, cost_tolerance=_ENOUGH, patience=2,
            loss=self.loss.name, loss_scale=self.loss.scale,
        )  # fmt: skip
        search = least_squares(problem, settings, begins[int(np.argmin(costs))])
        fit = inner_fit(problem, search, self.left, busy_seconds)
        if not np.isfinite(fit.cost):
            return None
        return self._trial_at(choice, problem, fit.x)

    def _trial_at(self, choice: Choice, problem: Any, x: np.ndarray) -> Trial:
        unseen = self.problem([choice] if choice.members or choice.exchange else [], unseen=True)
        residual = unseen.residuals(x[None])[0, : unseen.data_rows]
        return Trial(choice, problem, x, block_sums(np.square(residual)))

    # --- selection -----------------------------------------------------------------------------

    def tried(self, offers: Sequence[Offer], floor: float, cost: float) -> list[Trial]:
        """Fits with the most promising causes, the smallest of each kind.

        Where one explains all but noise, others follow only if they promise nearly as much.

        Args:
          offers: causes.
          floor: squared held-out error of noise.
          cost: cost of the fit.
        """
        out: list[Trial] = []
        limit = np.inf
        most = _TRIED // 2 if self.chosen else _TRIED
        for number, offer in enumerate(_spread(offers)[: most + _MORE]):
            # far from the model predictions are rough: until one explains all, more are fitted
            if offer.cost > limit or (number >= most and offer.cost > _PROMISING * cost):
                break
            found = self.trial(offer)
            if found is None or not np.isfinite(found.error):
                continue
            out.append(found)
            if found.error < AT_NOISE * floor:
                limit = min(limit, max(_RIVAL * offer.cost, _SLIGHT * cost))
        return out

    def pick(self, trials: Sequence[Trial], count: int, floor: float, first: float) -> Found | None:
        """The best of some causes by held-out data, if it is confirmed.

        Args:
          trials: fits with a cause each.
          count: number of causes that were compared, for the significance.
          floor: squared held-out error of noise.
          first: squared held-out error without any cause.
        """
        if not trials:
            return None
        before = self.plain()
        best = min(trials, key=lambda t: t.error)
        alike = [t for t in trials if t is best or not _is_worse(t, best)]
        order = list(WORDINGS)  # of equal causes the simplest, then the most common one is first
        best = min(alike, key=lambda t: (t.choice.size, order.index(t.choice.kind)))
        gain = 1.0 - float(np.sqrt(best.error / max(before.error, 1e-300)))
        if gain < WORTH or not is_clearly_worse(before.blocks, best.blocks, CHANCE / count):
            return None
        share = min((before.error - best.error) / max(first - floor, 1e-300), 1.0)
        others = [t for t in alike if t is not best]
        start = self.with_given(self.values, [best.choice])
        return Found(best, gain, float(share), start, others)

    def accept(self, found: Found) -> None:
        """Keep a cause for the rounds that follow."""
        self.chosen.append(found.trial.choice)
        self.values = found.trial.x


def _is_worse(one: Trial, best: Trial) -> bool:
    """Whether a cause leaves an error that is larger, and by more than chance."""
    larger = one.error > (1.0 + _MARGIN) * best.error
    return larger and is_clearly_worse(one.blocks, best.blocks, _ALIKE)


def _spread(offers: Sequence[Offer]) -> list[Offer]:
    """Offers by cost; the smallest of those of one kind with nearly the lowest cost."""
    out: dict[str, Offer] = {}
    for kind in dict.fromkeys(o.choice.kind for o in sorted(offers, key=lambda o: o.cost)):
        own = [o for o in offers if o.choice.kind == kind]
        least = min(o.cost for o in own)
        near = [o for o in own if o.cost <= 1.1 * least]
        out[kind] = min(near, key=lambda o: (o.choice.size, o.cost))
    return sorted(out.values(), key=lambda o: o.cost)


class Quadratic:
    """Linear model of the residuals at a point."""

    def __init__(self, space: Any, x: np.ndarray, residual: np.ndarray, jacobian: np.ndarray):
        self.space, self.x = space, x
        self.cost = 0.5 * float(residual @ residual)
        self._gram, self._slope = gram_matrix(jacobian), np.asarray(jacobian.T @ residual)
        lower, upper = space.search_bounds
        z = space.to_search(x)
        self._low, self._high = lower - z, upper - z
        reach = np.where(np.isfinite(upper - lower), upper - lower, 1.0)
        effect = np.sqrt(np.diag(self._gram)) * reach
        self._acts = effect > _WEAK * max(float(effect.max(initial=0.0)), 1e-300)

    def acts(self, columns: np.ndarray) -> np.ndarray:
        """Mask of the elements that have an effect ``(k,)``."""
        return self._acts[columns]

    def step(self, columns: np.ndarray) -> tuple[np.ndarray, float]:
        """Gauss-Newton step of some elements in units of values, and its predicted reduction."""
        at = columns[self._acts[columns]]
        gram = self._gram[np.ix_(at, at)]
        gram = gram + np.diag(1e-9 * np.diag(gram))
        step = np.zeros(len(self._slope))
        step[at] = box_step(gram, self._slope[at], self._low[at], self._high[at])
        gain = -float(self._slope @ step + 0.5 * step @ self._gram @ step)
        z = self.space.to_search(self.x)
        return self.space.from_search((z + step)[None])[0] - self.x, gain
