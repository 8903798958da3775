"""Progress of a model selection: completed and expected work."""

from collections.abc import Sequence
from dataclasses import dataclass

from trueup.actuators.selection.candidate_fits import AGAIN, BRIEF, LIGHT, POOLED, THOROUGH, Effort

POOLED_MODELS = 3
"""Number of models that are fitted a second time, from the optima of all fits."""

RICH = 10
"""Number of free parameters from which a model has several local minima."""

_PER_PARAMETER = {
    id(THOROUGH): 130.0, id(LIGHT): 95.0, id(POOLED): 55.0, id(AGAIN): 9.0, id(BRIEF): 16.0,
}  # fmt: skip
"""Work of a fit of each effort per free parameter, in candidates of a fit of light effort, as
measured on the recordings of an XL330."""

_FITTED, _VALIDATED = 1.2, 1.0
"""Expected numbers of models per step that are fitted to all logs, and cross-validated."""

_FURTHER = 0.7
"""Expected number of steps after the first: on recordings one or two terms are selected."""

_SECOND, _MAY_WIN = 0.25, 0.3
"""Expected fractions of the friction models after the first richer and the first simpler one that
are fitted to all logs, and of fitted ones that are cross-validated."""

_CHANGED = 0.2
"""Expected fraction of second fits with a lower objective, which are cross-validated again."""

_AGAIN = (1.0, 0.3, 0.1)
"""Expected fractions of the second fits: models near the best one are fitted again."""

_REFITTED, _INTERVAL = 57.0, 12.8
"""Work per free parameter of the final search, and of each fit for the intervals."""


@dataclass
class FitCourse:
    """Course of a fit that begins with a selection: one remaining time for all of it.

    Attributes:
      intervals: number of fits for the intervals, see :class:`SelectionProgress`.
      chosen: share of the whole that is done at the end of the selection.
      since: time and share at which its display began, see :class:`trueup.runs.loop.progress`.
    """

    intervals: int = 0
    chosen: float = 0.0
    since: tuple[float, float] | None = None

    def share(self, after: float | None) -> float | None:
        """Share of the whole, from that of the assessment after the selection."""
        return None if after is None else self.chosen + (1.0 - self.chosen) * after


def effort_of(size: int, working: int) -> Effort:
    """Effort of the fit of a friction model with the selected terms."""
    return THOROUGH if size >= max(working, RICH) else LIGHT


class SelectionProgress:
    """Work of a selection, in simulations of a candidate; see ``choose_model`` for its steps.

    Args:
      sizes: number of free parameters of each friction model, in the order in which all are tried.
      working: number of free parameters of the model that terms are added to.
      terms: number of terms to try.
      parts: number of parts of the logs.
      intervals: number of fits for the intervals of the selected model, which follow; 0 for a
        selection alone.
    """

    def __init__(
        self, sizes: Sequence[int], working: int, terms: int, parts: int, intervals: int = 0
    ):
        self._sizes, self._working = list(sizes), working
        self._terms, self._parts, self._intervals = terms, parts, intervals
        self._done = self._done_before = 0.0
        self._expected: list[float] = []
        self._taken = 0
        self.begin("first")

    def begin(self, stage: str, number: int = 0) -> None:
        """Start a unit of work.

        Args:
          stage: ``first``, the models without terms; ``terms``, a step that can add a term;
            ``models``, a friction model with all terms; ``again``, a second fit; ``without``, the
            selected model without a term; ``after``, its search and its intervals.
          number: number of the unit within its stage, from 0.
        """
        if stage == "terms":
            self._taken = number
        self._done_before = self._done
        self._expected = self._plan(stage, number)

    def fitted(self, effort: Effort, parameters: int) -> None:
        """Record a finished fit."""
        self._done += _fit_work(effort, parameters)

    @property
    def expected(self) -> float:
        """Expected remaining work, in simulations of the simplest model."""
        return sum(self._expected)

    @property
    def share(self) -> float:
        """Fraction of the work that is done, 0 to 1."""
        now, *later = self._expected or [0.0]
        left = max(now - (self._done - self._done_before), 0.0) + sum(later)
        return self._done / max(self._done + left, 1.0)

    def _plan(self, stage: str, number: int) -> list[float]:
        """Expected work of each unit from the given one on."""
        size = self._working + self._taken
        if stage == "first":
            begun = {min(self._sizes), self._working}
            first = sum(self._tried(each, LIGHT) for each in begun)
            return [first, *self._plan("terms" if self._terms else "models", 0)]
        if stage == "terms":
            further = min(max(_FURTHER - number, 0.4), max(self._terms - number - 1, 0))
            return [self._step(), further * self._step(), *self._plan("models", 0)]
        if stage == "models":
            # the model that terms are added to is already evaluated with them
            left = [each for each in self._sizes[number:] if each != self._working]
            works, seen = [], set()
            for each in left:
                fraction = _SECOND if (is_richer := each > self._working) in seen else 1.0
                seen.add(is_richer)
                effort = effort_of(each, self._working)
                works.append(fraction * self._fitted(each + self._taken, effort, _MAY_WIN))
            return [*works, *self._plan("again", 0)]
        if stage == "again":
            one = _fit_work(POOLED, size) + _CHANGED * self._parts * _fit_work(AGAIN, size)
            return [one * each for each in _AGAIN[number:]] + self._plan("without", 0)
        if stage == "without":
            count = self._taken if self._taken >= 2 else 0
            works = [self._fitted(size - 1, LIGHT, _MAY_WIN)] * (count - number)
            return [*works, *self._plan("after", 0)]
        if not self._intervals:
            return [0.0]
        fits = _REFITTED + self._intervals * _INTERVAL
        return [fits * size * (1.0 + 0.2 * size)]

    def _step(self) -> float:
        """Work of a step that can add a term."""
        size = self._working + self._taken + 1
        screened = (self._terms - self._taken) * _fit_work(BRIEF, size)
        return screened + self._fitted(size, LIGHT, _VALIDATED / _FITTED, _FITTED)

    def _tried(self, size: float, effort: Effort) -> float:
        return self._fitted(size, effort, 1.0)

    def _fitted(self, size: float, effort: Effort, validated: float, count: float = 1.0) -> float:
        """Work of models that are fitted to all logs, a fraction of them cross-validated."""
        cross = validated * self._parts * _fit_work(AGAIN, size)
        return count * (_fit_work(effort, size) + cross)


def _fit_work(effort: Effort, size: float) -> float:
    # derivatives cost a fraction of a simulation per parameter
    return _PER_PARAMETER[id(effort)] * size * (1.0 + 0.2 * size)
