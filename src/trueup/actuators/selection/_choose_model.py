"""Selection of friction model and extended terms by cross-validation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trueup.actuators.bench.loads import Bench
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.equations.extended_terms import EXTENDED_TERMS
from trueup.actuators.equations.friction_models import FRICTION_MODELS, friction_model
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.fit_settings import FitSettings
from trueup.actuators.selection.candidate_fits import (
    AGAIN,
    BRIEF,
    LIGHT,
    POOLED,
    BudgetExhaustedError,
    Candidate,
    CandidateFits,
    Effort,
    FitOrder,
    FoundFit,
)
from trueup.actuators.selection.missing_terms import pair_of
from trueup.actuators.selection.model_choice import (
    LEAST_GAIN,
    ModelChoice,
    PassedOver,
    ScreenedTerm,
    TriedModel,
    simplest,
)
from trueup.actuators.selection.parts import cross_validation_parts, split_quantities
from trueup.actuators.selection.progress import POOLED_MODELS, SelectionProgress, effort_of
from trueup.actuators.selection.suitable_terms import suitable_terms
from trueup.actuators.selection.term_evidence import evidence_for_terms
from trueup.errors import FitError, SimulationError, listing

_SCREENED = 2  # terms that a screening passes to cross-validation
_WORKING = 12  # greatest number of free parameters of the model that terms are added to
_BETTER = 0.005  # relative reduction of the objective above which a second fit is used
_HOPELESS = 2.0  # training error relative to that of the best model that no prediction makes up for
_WITHIN = {
    "m2": ("m1",),
    "m3": ("m1",),
    "m4": ("m1", "m2", "m3"),
    "m5": ("m1", "m2", "m3", "m4"),
    "m6": ("m1", "m2", "m3", "m4", "m5"),
}
"""Friction models that a friction model contains: fitted to the same logs, their error is not
smaller."""


def choose_model(
    servo: str | Servo,
    logs: Sequence[ServoLog],
    *,
    settings: FitSettings | None = None,
    models: Sequence[str] = tuple(FRICTION_MODELS),
    try_terms: Sequence[str] | None = None,
    by: str | Sequence[str] | None = "kp",
    least_gain: float = LEAST_GAIN,
    on_tried: Callable[[TriedModel], None] | None = None,
    on_progress: Callable[[str, float], None] | None = None,
    benches: Sequence[Bench] | None = None,
    workers: int = 1,
    limit: int | None = None,
    known: Mapping[str, Any] | None = None,
    on_fit: Callable[[dict[str, Any]], None] | None = None,
    intervals: int = 0,
) -> ModelChoice:
    """Select a friction model and extended terms by cross-validation over training logs.

    The logs of each gain, mass and trajectory in turn are predicted by fits to all others:

    1. The simplest friction model, then one with Stribeck and load friction, to which terms are
       added one at a time. Fits to all logs screen the terms; the best one is cross-validated, and
       the second best if the best is not kept. A term is kept if it lowers the error by
       ``least_gain``.
    2. All friction models with these terms.
    3. The best models are fitted again from all optima found, and cross-validated again
       if that lowered the objective. Then terms are removed one at a time.

    A model is not cross-validated where its fit to all logs, or that of a model that contains it,
    shows that it cannot be selected: a richer one that lowers the objective by less than
    ``least_gain``, and another whose objective is twice that of the best model.

    The result is the model with the smallest geometric mean of the errors, or one with fewer
    parameters and a mean within ``least_gain`` of it. Do not include logs that are held out for the
    final verdict.

    Args:
      servo: servo, or its name in the catalogue.
      logs: evenly sampled training logs.
      settings: settings of the fits, except ``method``: they are least-squares searches, also from
        the optima of other models. Its terms are in every model.
      models: friction models to try.
      try_terms: extended terms to try; by default all that servo law and measurements support.
      by: quantities that logs are split by, of ``"kp"``, ``"mass"`` and ``"trajectory"``; None: all
        that vary.
      least_gain: relative reduction of the error that justifies more parameters.
      on_tried: called with each evaluated model.
      on_progress: called with a description of the step, and the fraction done.
      benches: load of each log; by default the pendulum that the log describes.
      workers: number of parallel fits; the result does not depend on it.
      limit: greatest number of evaluations; the selection is among the models evaluated by then.
      known: fits of an interrupted selection, from ``on_fit``: they are not repeated.
      on_fit: called with all fits so far as plain data, after each new one.
      intervals: number of fits that follow for the intervals: ``on_progress`` counts them.

    Raises:
      FitError: an unknown model, term or split, or settings that hold out logs.
      RecordingError: all logs have one gain (mass, trajectory), or lack a measurement for a term.
      SimulationError: the simulation of a model diverges at all start values.
    """
    settings = settings or FitSettings()
    if settings.holds_out:
        raise FitError(
            "choose_model does its own cross-validation: remove the validation_* settings and pass "
            "training logs only"
        )
    if not 0.0 <= least_gain < 1.0:
        raise FitError(f"least_gain is a fraction of the error, 0 to 1, got {least_gain}")
    names = [friction_model(name).name for name in dict.fromkeys(models)]
    if not names:
        raise FitError(f"no friction models to try: choose from {listing(FRICTION_MODELS)}")
    suitable = suitable_terms(servo, logs, settings, try_terms)
    quantities = split_quantities(logs, by)
    fits = CandidateFits(
        servo,
        logs,
        settings,
        benches=benches,
        workers=workers,
        known=known,
        on_fit=None if on_fit is None else lambda order, found: on_fit(fits.to_dict()),
    )
    choosing = _Choosing(fits, by, least_gain, on_tried, on_progress, limit, intervals)
    return choosing.choose(names, suitable, ", ".join(quantities))


def with_term(tried: TriedModel, term: str) -> Candidate:
    """A model with one more term, in the order in which terms are listed."""
    order = list(EXTENDED_TERMS)
    return Candidate(tried.model, tuple(sorted((*tried.terms, term), key=order.index)))


def order_of(sizes: Mapping[str, int]) -> tuple[list[str], str]:
    """Friction models by number of free parameters, and the model that terms are added to."""
    order = sorted(sizes, key=lambda m: sizes[m])
    small = [m for m in order if sizes[m] <= _WORKING]
    return order, (small or order)[-1]


class TooFewTrialsError(FitError):
    """The evaluations were used up before a model was evaluated."""


class _Choosing:
    """Steps of a selection; the fits are done by :class:`CandidateFits`."""

    def __init__(
        self,
        fits: CandidateFits,
        by: str | Sequence[str] | None,
        least_gain: float,
        on_tried: Callable[[TriedModel], None] | None,
        on_progress: Callable[[str, float], None] | None,
        limit: int | None,
        intervals: int,
    ):
        self.fits, self.least_gain = fits, least_gain
        self.parts = cross_validation_parts(fits.logs, by)
        self.tried: dict[str, TriedModel] = {}
        self.screened: list[ScreenedTerm] = []
        self.passed_over: dict[str, PassedOver] = {}
        self._on_tried, self._on_progress, self._limit = on_tried, on_progress, limit
        self._whole: dict[str, FoundFit] = {}
        self._of_parts: dict[str, list[FoundFit]] = {}
        self._intervals = intervals
        self._progress = SelectionProgress([1], 1, 0, len(self.parts), intervals)
        self._shown = 0.0

    def choose(self, models: list[str], terms: tuple[str, ...], by: str) -> ModelChoice:
        """Evaluate all candidates and select a model."""
        always = tuple(self.fits.settings.terms)
        complete = True
        try:
            self._try_all(models, terms, always)
        except BudgetExhaustedError:
            complete = False
        if not self.tried:
            raise TooFewTrialsError(
                f"{self._limit} evaluations are too few to select a model: increase --evaluations, "
                "or choose a friction model with --model"
            )
        tried = tuple(self.tried.values())
        chosen = simplest(tried, self.least_gain)
        return ModelChoice(
            chosen,
            tried,
            by,
            tuple(self.screened),
            tuple(self.passed_over.values()),
            self.least_gain,
            self.fits.evaluations,
            complete,
            self._signs(chosen),
        )

    def _signs(self, chosen: TriedModel) -> dict[str, str]:
        """Evidence for the terms of a model, from the models without them."""
        fits, known = self.fits, {}
        for term in chosen.terms:
            if pair := pair_of(list(self.tried.values()), term, chosen):
                model, with_term = (
                    fits.model(Candidate(each.model, each.terms), each.values) for each in pair
                )
                known[term] = (model, with_term.values[term])
        return evidence_for_terms(known, fits.logs, fits.settings, fits.benches)

    def _try_all(self, models: list[str], terms: tuple[str, ...], always: tuple[str, ...]) -> None:
        sizes = {m: self.fits.parameters(Candidate(m, always)) for m in models}
        order, working = order_of(sizes)
        by_size = [sizes[m] for m in reversed(order)]
        self._progress = SelectionProgress(
            by_size, sizes[working], len(terms), len(self.parts), self._intervals
        )
        best = first = self._validated(Candidate(order[0], always))
        if working != order[0]:
            best = self._validated(Candidate(working, always), (first.values,))
        while left := [t for t in terms if t not in best.terms]:
            self._progress.begin("terms", len(terms) - len(left))
            # an evaluated model is the best of its step, or the last
            nearest = self._next_term(best, left)
            if nearest is None:
                break
            best = nearest
        for number, model in enumerate(reversed(order)):
            self._progress.begin("models", number)
            # richer models have local minima that the search for terms may have missed
            effort = effort_of(sizes[model], sizes[working])
            candidate = Candidate(model, best.terms)
            if self._may_win(candidate, self._least_cost(candidate)):
                self._try(candidate, effort=effort)
        self._second_fits()
        self._without_each_term(always)
        self._progress.begin("after")
        self._show("intervals")

    def _next_term(self, best: TriedModel, left: list[str]) -> TriedModel | None:
        """Best model with one more term; None if no term is worth it."""
        base = Candidate(best.model, best.terms)
        orders = [
            FitOrder(
                with_term(best, term),
                None,
                (best.values,),
                BRIEF,
                new_term=term,
                name="screened",
            )
            for term in left
        ]
        found = self._make(orders)
        gains = []
        for order, fit in zip(orders, found, strict=True):
            gain = 1.0 - fit.cost / best.training
            term = order.new_term
            self.screened.append(ScreenedTerm(term, base.label, gain, fit.values[term]))
            if gain > 0.5 * self.least_gain:
                gains.append((gain, term, fit.values))
        if not gains:
            return None
        gains.sort(key=lambda entry: -entry[0])
        for _, term, values in gains[:_SCREENED]:
            tried = self._try(with_term(best, term), (values,))
            # the other term is screened again next to the one that is kept
            if tried is not None and tried.error < (1.0 - self.least_gain) * best.error:
                return tried
        return None

    def _try(
        self,
        candidate: Candidate,
        starts: Sequence[Mapping[str, float]] = (),
        effort: Effort = LIGHT,
    ) -> TriedModel | None:
        """A candidate, fitted to all logs, and to the logs without each part if it may win."""
        if candidate.label in self.tried:
            return self.tried[candidate.label]
        if candidate.label in self.passed_over:
            return None
        near = [*starts, *(found.values for found in self._whole.values())]
        (whole,) = self._make([FitOrder(candidate, None, tuple(near), effort)])
        if not self._may_win(candidate, whole.cost):
            self._whole[candidate.label] = whole
            return None
        return self._validate(candidate, whole, "")

    def _validated(
        self, candidate: Candidate, starts: Sequence[Mapping[str, float]] = ()
    ) -> TriedModel:
        """A candidate, fitted to all logs and to the logs without each part."""
        near = [*starts, *(found.values for found in self._whole.values())]
        (whole,) = self._make([FitOrder(candidate, None, tuple(near), LIGHT)])
        return self._validate(candidate, whole, "")

    def _least_cost(self, candidate: Candidate) -> float:
        """Lower bound of the objective of a candidate, from models with its terms that contain it;
        0 without any."""
        costs = [
            found.cost
            for label, found in self._whole.items()
            if label.split("+")[1:] == list(candidate.terms)
            and candidate.model in _WITHIN.get(label.split("+")[0], ())
        ]
        return max(costs, default=0.0)

    def _may_win(self, candidate: Candidate, cost: float) -> bool:
        """Whether a candidate with an objective of at least ``cost`` on all logs may be selected;
        one that may not is passed over."""
        best = min(self.tried.values(), key=lambda tried: tried.error)
        richer = set(candidate.terms) > set(best.terms) or candidate.model != best.model
        contains = best.model in (candidate.model, *_WITHIN.get(candidate.model, ()))
        if set(candidate.terms) >= set(best.terms) and contains and richer:
            hopeless = cost > (1.0 - self.least_gain) * best.training
        else:
            hopeless = cost > _HOPELESS * best.training
        if hopeless and candidate.label not in self.tried:
            self.passed_over.setdefault(candidate.label, PassedOver(candidate.label, cost))
            return False
        return True

    def _validate(self, candidate: Candidate, whole: FoundFit, name: str) -> TriedModel:
        """Cross-validation errors of a candidate, with fits from its optimum on all logs."""
        simpler = [
            found
            for label, found in self._of_parts.items()
            if set(label.split("+")[1:]) <= set(candidate.terms)
        ]
        orders = [
            FitOrder(
                candidate,
                part,
                (whole.values, *(found[number].values for found in simpler)),
                AGAIN,
                name=name,
            )
            for number, part in enumerate(self.parts)
        ]
        found = self._make(orders)
        errors = {part.label: fit.error for part, fit in zip(self.parts, found, strict=True)}
        tried = TriedModel(
            candidate.model,
            candidate.terms,
            len(whole.values),
            errors,
            whole.cost,
            dict(whole.values),
        )
        self._whole[candidate.label], self._of_parts[candidate.label] = whole, found
        self.tried[candidate.label] = tried
        if self._on_tried is not None:
            self._on_tried(tried)
        return tried

    def _second_fits(self) -> None:
        """Fit the best models again, from the optima of all fits."""
        ranked = sorted(self.tried.values(), key=lambda tried: tried.error)[:POOLED_MODELS]
        limit = ranked[0].error / (1.0 - self.least_gain)
        ranked = [tried for tried in ranked if tried.error <= limit]
        for number, tried in enumerate(ranked):
            self._progress.begin("again", number)
            candidate = Candidate(tried.model, tried.terms)
            pool = [found.values for found in self._whole.values()]
            pool += [fit.values for fits in self._of_parts.values() for fit in fits]
            order = FitOrder(candidate, None, tuple(pool), POOLED, name="again")
            (whole,) = self._make([order])
            if whole.cost < (1.0 - _BETTER) * tried.training:
                self._validate(candidate, whole, "again")

    def _without_each_term(self, always: tuple[str, ...]) -> None:
        """Evaluate the selected model without each of its terms, and remove unnecessary ones."""
        chosen = simplest(list(self.tried.values()), self.least_gain)
        free = [term for term in chosen.terms if term not in always]
        if len(free) < 2:
            return
        for number, term in enumerate(free):
            self._progress.begin("without", number)
            rest = tuple(t for t in chosen.terms if t != term)
            self._try(Candidate(chosen.model, rest), (chosen.values,))

    def _show(self, words: str) -> None:
        if self._on_progress is not None:
            self._shown = max(self._shown, min(self._progress.share, 0.99))
            self._on_progress(words, self._shown)

    def _make(self, orders: list[FitOrder]) -> list[FoundFit]:
        self._show(f"fitting {orders[0].candidate.label}")
        # one evaluation is reserved for the selected model
        most = None if self._limit is None else self._limit - 1
        found = self.fits.make(orders, most)
        for order, fit in zip(orders, found, strict=True):
            self._progress.fitted(order.effort, len(fit.values))
        if not all(np.isfinite(fit.cost) for fit in found):
            label = orders[0].candidate.label
            raise SimulationError(
                f"the simulation of {label} diverges at all start values: check the "
                "logs, the bench and the bounds of the servo"
            )
        return found
