"""Fits of causes over the training recordings, and their errors over the held-out ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trueup.explain.causes import SUCCESSIVE
from trueup.explain.held_out import HeldOutErrors, HeldOutFit, held_out_fit
from trueup.explain.log import ExplainedLog
from trueup.explain.offers import Offers, offers_at
from trueup.sysid.causes.freed import FreedFit, fit_freed

MODEL, ALL = "model", "all"
_SEPARATOR = " + "
_ALIKE = 0.01  # relative difference of squared errors below which start states are not refined
_SCOUTS = 4  # variants of a cause that are tried before its fit
_SCOUTED = 4  # iterations with each of them
_AT_NOISE = 1.5  # squared error, relative to that of noise, up to which a fit leaves noise alone


def key_of(causes: Sequence[str]) -> str:
    """Key of the fit of some causes; without causes, that of the model."""
    return _SEPARATOR.join(sorted(causes)) or MODEL


@dataclass
class CauseFits:
    """Fits of sets of causes.

    Args:
      log: the log with the unknowns of the causes.
      level: coverage of intervals.
      known: fits of an earlier run that was stopped, by their causes joined with `` + ``; they are
        taken when their turn comes, so that each choice sees the fits that it saw then.
      on_fit: called after each fit with all of them.
      progress: called before each fit with a description and the fraction done.
    """

    log: ExplainedLog
    level: float = 0.95
    known: dict[str, FreedFit] = field(default_factory=dict)
    on_fit: Callable[[dict[str, FreedFit]], None] = lambda fits: None
    progress: Callable[[str, float], None] = lambda text, share: None

    fits: dict[str, FreedFit] = field(default_factory=dict, init=False)
    """Fits by their causes."""
    evaluations: int = field(default=0, init=False)
    """Number of simulations of the training recordings for offers."""
    _unseen: dict[str, HeldOutFit] = field(default_factory=dict, init=False)
    _shared: set[tuple[str, str]] = field(default_factory=set, init=False)
    _done: int = field(default=0, init=False)
    _planned: int = field(default=1, init=False)

    # --- fits ----------------------------------------------------------------------------------

    def fit_of(self, causes: Sequence[str]) -> FreedFit:
        """Finished fit of some causes."""
        return self.fits[key_of(causes)]

    def has_fit(self, causes: Sequence[str]) -> bool:
        """Whether a descent found the values of some causes."""
        fit = self.fits.get(key_of(causes))
        return fit is not None and fit.complete

    @property
    def all_free(self) -> FreedFit | None:
        """Fit of all causes together; None if it was not needed."""
        return self.fits.get(ALL)

    def offers(self, chosen: Sequence[str], at: np.ndarray, causes: Sequence[str]) -> Offers:
        """Offers of further causes.

        Args:
          chosen: causes that are free anyway.
          at: values of all elements ``(p,)``.
          causes: the further causes.
        """
        free = self.columns_of(chosen)
        names = f" after {_SEPARATOR.join(chosen)}" if chosen else ""
        self._show(f"looking for causes{names}")
        found = offers_at(self.log, at, free, causes)
        self.evaluations += found.evaluations
        return found

    def columns_of(self, causes: Sequence[str]) -> np.ndarray:
        """Elements that are free in the fit of some causes."""
        return np.array(self.fit_of(causes).columns if causes else (), int)

    def columns_with(self, fit: FreedFit, causes: Sequence[str]) -> np.ndarray:
        """Elements of a fit that belong to some causes."""
        own = [self.log.columns[c] for c in causes]
        return np.intersect1d(fit.columns, np.concatenate(own) if own else ()).astype(int)

    def fit_offer(self, chosen: Sequence[str], cause: str, found: Offers) -> FreedFit:
        """Fit of selected causes and a further one, from its offers.

        Of several variants, a few iterations with each of the most promising ones decide.
        """
        causes = (*chosen, cause)
        if self.has_fit(causes):
            return self.fit_of(causes)
        begun = []
        for offer in (found.best[cause], *found.others[cause][: _SCOUTS - 1]):
            columns = np.union1d(self.columns_of(chosen), offer.variant.columns).astype(int)
            begun.append((offer.promise, columns, offer.x))
        if len(begun) > 1:
            begun = [self._scouted(cause, columns, x) for _, columns, x in begun]
        _, columns, x = min(begun, key=lambda one: one[0])
        return self.fit(causes, columns, x)

    def _scouted(
        self, cause: str, columns: np.ndarray, begin: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Cost, columns and values after a few iterations."""
        log = self.log
        fit = fit_freed(
            log.training, (cause,), columns, log.always, begin, log.guesses, iterations=_SCOUTED
        )
        self.evaluations += fit.evaluations
        return fit.cost, columns, fit.x

    def fit(self, causes: Sequence[str], columns: np.ndarray, begin: np.ndarray) -> FreedFit:
        """Fit of some causes, if it is not made.

        Args:
          causes: names of the causes.
          columns: their elements.
          begin: values of all elements ``(p,)`` to begin with.
        """
        key = key_of(causes)
        if not self.has_fit(causes):
            self._make(key, causes, columns, begin)
        return self.fits[key]

    def fit_all(self, causes: Sequence[str], begin: np.ndarray) -> FreedFit:
        """Fit of all causes together, each with the variant of its own fit."""
        if ALL not in self.fits:
            columns = [self.columns_of([c]) for c in causes]
            self._make(ALL, causes, np.unique(np.concatenate(columns)).astype(int), begin)
        return self.fits[ALL]

    def _make(
        self, key: str, causes: Sequence[str], columns: np.ndarray, begin: np.ndarray
    ) -> None:
        if key in self.known and self.known[key].complete:
            self._keep(key, self.known[key])
            return
        names = _SEPARATOR.join(causes)
        self._show("freeing all causes" if key == ALL else f"freeing {names}")
        log = self.log
        # limits that act one after the other are found with a loss of their own
        enough = self._enough(begin) if set(causes) & set(SUCCESSIVE) else np.inf
        self.keep(
            key,
            fit_freed(log.training, causes, columns, log.always, begin, log.guesses, enough),
        )

    def keep(self, key: str, fit: FreedFit) -> None:
        """Keep a fit in place of an earlier one of the same causes."""
        before = self.fits.get(key)
        if before is not None:
            fit = replace(fit, evaluations=fit.evaluations + before.evaluations)
        self._keep(key, fit)

    def _keep(self, key: str, fit: FreedFit) -> None:
        self.fits[key] = fit
        self._unseen.pop(key, None)
        self._shared = {pair for pair in self._shared if key not in pair}
        earlier = self.known.get(key)
        if earlier is None or (fit.complete and not earlier.complete):
            self.on_fit({**self.known, **self.fits})

    def _show(self, text: str) -> None:
        self.progress(text, min(self._done / self._planned, 1.0))
        self._done += 1
        self._planned = max(self._planned, self._done + 1)

    def plan(self, count: int) -> None:
        """Announce the number of fits that follow."""
        self._planned = max(self._planned, self._done + count)

    # --- errors --------------------------------------------------------------------------------

    def training_errors(self, x: np.ndarray) -> tuple[float, float]:
        """Squared error over the training recordings, and that of noise alone."""
        fit = held_out_fit(self.log.training, x, np.zeros(0, int))
        errors = HeldOutErrors.of(self.log.training, [fit])
        return float(errors.squares[0]), errors.floor

    def leaves_noise(self, fit: FreedFit) -> bool:
        """Whether a fit leaves nothing but noise over the training recordings."""
        square, floor = self.training_errors(fit.x)
        return square <= _AT_NOISE * floor

    def _enough(self, x: np.ndarray) -> float:
        """Cost at which a fit leaves noise alone, by the noise at given values."""
        return 0.5 * _AT_NOISE * self.training_errors(x)[1]

    def training_gap(self) -> float:
        """Error of the model over the training recordings, relative to noise."""
        fit = held_out_fit(self.log.training, self.log.start, self.log.always, self.log.touches)
        errors = HeldOutErrors.of(self.log.training, [fit])
        return float(np.sqrt(errors.squares[0] / max(errors.floor, 1e-300)))

    def errors(self, sets: Sequence[Sequence[str]] = ()) -> tuple[HeldOutErrors, dict[str, int]]:
        """Held-out errors of the model and of all fits, and their row by key.

        Args:
          sets: causes of the fits in addition to the model and all causes; empty: every fit.
        """
        keys = [key_of(s) for s in sets] if sets else list(self.fits)
        always = [MODEL, ALL] if ALL in self.fits else [MODEL]
        keys = list(dict.fromkeys([*always, *keys]))
        best = min(keys, key=lambda k: self.unseen(k).square)
        found = [self._from_states_of(best, k) for k in keys]
        return HeldOutErrors.of(self.log.held_out, found), {k: i for i, k in enumerate(keys)}

    def unseen(self, key: str) -> HeldOutFit:
        """Fit over the held-out recordings, by its key."""
        if key not in self._unseen:
            self._unseen[key] = self._begun_at(key, self.log.held_out.space.start[self.log.states])
        return self._unseen[key]

    def _begun_at(self, key: str, states: np.ndarray) -> HeldOutFit:
        log, x = self.log, self.log.start if key == MODEL else self.fits[key].x
        return held_out_fit(log.held_out, np.concatenate([x, states]), log.states, log.touches)

    def _from_states_of(self, best: str, key: str) -> HeldOutFit:
        """A fit over the held-out recordings, from another fit's start states if those are better.

        Contacts cause local minima of the error, in which the search for the start state can end. A
        cause must not gain from a better start state.
        """
        apart = self.unseen(key).square > (1.0 + _ALIKE) * self.unseen(best).square
        if apart and self.log.touches and (best, key) not in self._shared:
            self._shared.add((best, key))
            other = self._begun_at(key, self.unseen(best).states)
            if other.square < self.unseen(key).square:
                self._unseen[key] = other
        return self.unseen(key)
