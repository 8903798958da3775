"""Progress of a model selection: completed and expected work."""

from collections.abc import Sequence

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

_VALIDATED = 1.8
"""Expected number of cross-validated models per step: two, or one if a single term qualifies."""

_FURTHER = 1.25
"""Expected number of steps after the first: on recordings one or two terms are selected."""

_CHANGED = 0.4
"""Expected fraction of second fits with a lower objective, which are cross-validated again."""


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
    """

    def __init__(self, sizes: Sequence[int], working: int, terms: int, parts: int):
        self._sizes, self._working = list(sizes), working
        self._terms, self._parts = terms, parts
        self._done = self._done_before = 0.0
        self._expected: list[float] = []
        self._taken = 0
        self.begin("first")

    def begin(self, stage: str, number: int = 0) -> None:
        """Start a unit of work.

        Args:
          stage: ``first``, the models without terms; ``terms``, a step that can add a term;
            ``models``, a friction model with all terms; ``again``, a second fit; ``without``, the
            selected model without a term.
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
            works = [
                self._tried(each + self._taken, effort_of(each, self._working)) for each in left
            ]
            return [*works, *self._plan("again", 0)]
        if stage == "again":
            one = _fit_work(POOLED, size) + _CHANGED * self._parts * _fit_work(AGAIN, size)
            return [one] * (POOLED_MODELS - number) + self._plan("without", 0)
        count = self._taken if self._taken >= 2 else 0
        return [self._tried(size - 1, LIGHT)] * (count - number)

    def _step(self) -> float:
        """Work of a step that can add a term."""
        size = self._working + self._taken + 1
        screened = (self._terms - self._taken) * _fit_work(BRIEF, size)
        return screened + _VALIDATED * self._tried(size, LIGHT)

    def _tried(self, size: float, effort: Effort) -> float:
        return _fit_work(effort, size) + self._parts * _fit_work(AGAIN, size)


def _fit_work(effort: Effort, size: float) -> float:
    # derivatives cost a fraction of a simulation per parameter
    return _PER_PARAMETER[id(effort)] * size * (1.0 + 0.2 * size)
