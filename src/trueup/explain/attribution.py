"""Attribution of a gap to causes: each cause freed alone, then forward selection.

Each cause is freed alone on the training recordings, with the same budget, and rated by the error
on the held-out ones. The best is selected, and each other cause is freed in addition to it
(forward selection), until no cause reduces the error by more than noise. If the fit of all
causes has a lower error, the causes that it needs most are tried. A cause that later ones make
superfluous is dropped, and one that another replaces better is exchanged. Causes with held-out
errors that the data do not distinguish are reported together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueup.explain.elimination import eliminated
from trueup.explain.held_out import HeldOutErrors, HeldOutFit, held_out_fit
from trueup.explain.log import ExplainedLog
from trueup.sysid.causes.freed import FreedFit, fit_freed

CHANCE = 0.05
"""Probability of naming any cause if there is no gap (familywise error rate)."""
WORTH = 0.1
"""Smallest fraction of the remaining gap that a named cause must remove."""
GAP = 0.1
"""Squared error above noise, relative to noise, below which there is no gap."""
MOST = 3
"""Greatest number of selected causes."""
_ALIKE = 0.01  # relative difference of squared errors below which start states are not refined

MODEL, ALL = "model", "all"
_SEPARATOR = " + "


@dataclass
class Attribution:
    """Fits of causes and the selection from them; made by :func:`attribute`.

    Args:
      log: the log with the unknowns of the causes.
      level: coverage of intervals.
      fits: earlier fits, by their causes joined with `` + ``.
      on_fit: called after each fit with all of them.
      progress: called before each fit with a description and the fraction done.
    """

    log: ExplainedLog
    level: float = 0.95
    fits: dict[str, FreedFit] = field(default_factory=dict)
    on_fit: Callable[[dict[str, FreedFit]], None] = lambda fits: None
    progress: Callable[[str, float], None] = lambda text, share: None

    chosen: list[str] = field(default_factory=list, init=False)
    """Causes that explain the gap, in the order of selection."""
    together: dict[str, list[str]] = field(default_factory=dict, init=False)
    """Causes that the data do not distinguish from each selected one, by its name."""
    chances: dict[str, float] = field(default_factory=dict, init=False)
    """p-value of the advantage of each cause over the model."""

    _unseen: dict[str, HeldOutFit] = field(default_factory=dict, init=False)
    _shared: set[tuple[str, str]] = field(default_factory=set, init=False)
    _planned: int = field(default=1, init=False)

    def run(self) -> None:
        """Run the fits and select causes.

        Raises:
          KeyboardInterrupt: Ctrl-C; finished fits are in :attr:`fits`.
        """
        causes = list(self.log.columns)
        self._planned = len(causes) + 1
        for cause in causes:
            self._fit((cause,), self.log.start)
        self._fit_all()
        self._choose()

    # --- fits ----------------------------------------------------------------------------------

    def fit_of(self, causes: Sequence[str]) -> FreedFit:
        """Finished fit of some causes."""
        return self.fits[key_of(causes)]

    @property
    def all_free(self) -> FreedFit:
        """Fit of all causes together."""
        return self.fits[ALL]

    def _fit(self, causes: tuple[str, ...], begin: np.ndarray, fresh: Sequence[str] = ()) -> None:
        """Free causes from given values, with a line search along the new ones."""
        self._make(key_of(causes), causes, begin, fresh or causes)

    def _fit_all(self) -> None:
        causes = tuple(self.acting)
        best = min((self.fit_of([c]) for c in causes), key=lambda fit: fit.cost, default=None)
        if best is None:
            self.fits[ALL] = FreedFit((), self.log.start, np.inf, 0, acts=False)
            return
        self._make(ALL, causes, best.x, [c for c in causes if c not in best.causes] or causes)

    def _make(
        self, key: str, causes: tuple[str, ...], begin: np.ndarray, fresh: Sequence[str]
    ) -> None:
        if key in self.fits:
            return
        text = "freeing all causes" if key == ALL else f"freeing {_SEPARATOR.join(causes)}"
        self.progress(text, len(self.fits) / max(self._planned, len(self.fits) + 1))
        log = self.log
        self.fits[key] = fit_freed(
            log.training,
            causes,
            self._columns(causes),
            log.always,
            begin,
            log.guesses,
            self._columns(fresh),
        )
        self.on_fit(self.fits)

    def _columns(self, causes: Sequence[str]) -> np.ndarray:
        parts = [self.log.columns[c] for c in causes]
        return np.sort(np.concatenate(parts)) if parts else np.zeros(0, int)

    # --- choice --------------------------------------------------------------------------------

    def errors(self, sets: Sequence[Sequence[str]] = ()) -> tuple[HeldOutErrors, dict[str, int]]:
        """Held-out errors of the model and of all fits, and their row by key.

        Args:
          sets: causes of the fits in addition to the model and all causes; empty: every fit.
        """
        keys = [key_of(s) for s in sets] if sets else list(self.fits)
        keys = list(dict.fromkeys([MODEL, ALL, *keys]))
        best = min(keys, key=lambda k: self.unseen(k).square)
        found = [self._from_states_of(best, k) for k in keys]
        return HeldOutErrors.of(self.log.held_out, found), {k: i for i, k in enumerate(keys)}

    def unseen(self, key: str) -> HeldOutFit:
        """Fit over the held-out recordings, by its key."""
        if key not in self._unseen:
            self._unseen[key] = self._begun_at(key, self.log.held_out.space.start[self.log.states])
        return self._unseen[key]

    def _begun_at(self, key: str, states: np.ndarray) -> HeldOutFit:
        x = self.log.start if key == MODEL else self.fits[key].x
        return held_out_fit(self.log.held_out, np.concatenate([x, states]), self.log.states)

    def _from_states_of(self, best: str, key: str) -> HeldOutFit:
        """A fit over the held-out recordings, from another fit's start states if those are better.

        Contacts cause local minima of the error, in which the search for the start state can end. A
        cause must not gain from a better start state.
        """
        apart = self.unseen(key).square > (1.0 + _ALIKE) * self.unseen(best).square
        if apart and (best, key) not in self._shared:
            self._shared.add((best, key))
            other = self._begun_at(key, self.unseen(best).states)
            if other.square < self.unseen(key).square:
                self._unseen[key] = other
        return self.unseen(key)

    @property
    def acting(self) -> list[str]:
        """Causes with an effect on the simulated motion."""
        return [c for c in self.log.columns if self.fit_of([c]).acts]

    def _choose(self) -> None:
        acting = self.acting
        if not acting:
            return
        errors, place = self.errors()
        self.chances = {c: errors.chance(place[MODEL], place[key_of([c])]) for c in acting}
        while len(self.chosen) < MOST and self._has_gap(self.chosen):
            rest = [c for c in acting if c not in self.chosen]
            if self.chosen:
                self._planned += len(rest)
                for cause in rest:
                    self._fit((*self.chosen, cause), self.fit_of(self.chosen).x, [cause])
            best = self._pick(rest)
            if best is None:
                break
            self.chosen.append(best)
        self._drop_superfluous()
        self._try_elimination()
        self._compare_all()
        if len(self.chosen) > 1:  # an exchanged cause may replace another one
            before = list(self.chosen)
            self._drop_superfluous()
            if self.chosen != before:
                self._compare_all()
        errors, place = self.errors()
        self.chosen.sort(key=lambda c: errors.squares[place[key_of([c])]])

    def _try_elimination(self) -> None:
        """Select causes by elimination from the fit of all, if forward selection is not sufficient.

        Forward selection can start with a cause that imitates two others, and miss both.
        """
        if not self.chosen or not self._has_gap(self.chosen):
            return
        errors, place = self.errors()
        if errors.chance(place[key_of(self.chosen)], place[ALL]) >= CHANCE:
            return
        sets = [list(s) for s in eliminated(self.log, self.all_free, MOST)]
        self._planned += len(sets)
        for causes in sets:
            begin = self.all_free.x.copy()
            others = [c for c in self.log.columns if c not in causes]
            begin[self._columns(others)] = self.log.start[self._columns(others)]
            self._fit(tuple(causes), begin)
        errors, place = self.errors()
        sets = sorted([list(self.chosen), *sets], key=len)
        best = min(sets, key=lambda s: errors.squares[place[key_of(s)]])
        # the fewest causes with an equal error
        self.chosen = next(s for s in sets if s == best or not self._is_better(best, s))

    def _compare_all(self) -> None:
        self.together = {}
        for cause in list(self.chosen):
            self._compare(cause, [c for c in self.acting if c not in self.chosen])

    def training_gap(self) -> float:
        """Error of the model over the training recordings, relative to noise."""
        fit = held_out_fit(self.log.training, self.log.start, self.log.always)
        errors = HeldOutErrors.of(self.log.training, [fit])
        return float(np.sqrt(errors.squares[0] / max(errors.floor, 1e-300)))

    @property
    def _significance(self) -> float:
        """Significance level of one comparison (Bonferroni: one comparison per cause)."""
        return CHANCE / len(self.log.columns)

    def _excess(self, causes: Sequence[str]) -> tuple[float, float]:
        """Squared held-out error above noise with some causes freed, and that of noise."""
        errors, place = self.errors()
        return errors.squares[place[key_of(causes)]] - errors.floor, errors.floor

    def _has_gap(self, causes: Sequence[str]) -> bool:
        """Whether the gap that remains with some causes freed exceeds noise."""
        excess, noise = self._excess(causes)
        return bool(excess > GAP * noise)

    def _pick(self, rest: Sequence[str]) -> str | None:
        """Cause with the largest further reduction of the error, if that exceeds noise."""
        if not rest:
            return None
        errors, place = self.errors()
        squares, before = errors.squares, place[key_of(self.chosen)]
        after = {c: place[key_of([*self.chosen, c])] for c in rest}
        best = min(rest, key=lambda c: squares[after[c]])
        gain = squares[before] - squares[after[best]]
        worth = gain > WORTH * (squares[before] - errors.floor)
        return best if worth and errors.chance(before, after[best]) < self._significance else None

    def _drop_superfluous(self) -> None:
        """Drop causes that later ones make superfluous."""
        for cause in list(self.chosen[:-1]):
            fewer = [c for c in self.chosen if c != cause]
            self._fit(tuple(fewer), self._without(cause))
            if not self._is_better(self.chosen, fewer):
                self.chosen = fewer

    def _without(self, cause: str) -> np.ndarray:
        """Values of the selected causes with one of them reset to the model ``(p,)``."""
        x = self.fit_of(self.chosen).x.copy()
        x[self._columns([cause])] = self.log.start[self._columns([cause])]
        return x

    def _is_better(self, first: Sequence[str], second: Sequence[str]) -> bool:
        """Whether some causes have a smaller error than others, by more than noise."""
        errors, place = self.errors()
        return errors.chance(place[key_of(second)], place[key_of(first)]) < self._significance

    def _compare(self, cause: str, others: Sequence[str]) -> None:
        """Find causes that replace a selected one equally well; exchange it for a better one."""
        rest = [c for c in self.chosen if c != cause]
        made = {c for c in others if key_of([*rest, c]) in self.fits}
        worth = [c for c in others if c in made or self.chances[c] < CHANCE]
        if rest:
            self._planned += len(worth)
            begin = self._without(cause)
            for other in worth:
                self._fit((*rest, other), begin, [other])
        errors, place = self.errors()
        squares = errors.squares
        best = min([cause, *worth], key=lambda c: squares[place[key_of([*rest, c])]])
        if best != cause and self._is_better([*rest, best], [*rest, cause]):
            self.chosen[self.chosen.index(cause)] = best
            worth, cause = [c for c in [cause, *worth] if c != best], best
        alike = [c for c in worth if not self._is_better([*rest, cause], [*rest, c])]
        self.together[cause] = sorted(alike, key=lambda c: squares[place[key_of([*rest, c])]])

    @property
    def ranking(self) -> list[str]:
        """All causes: selected, equivalent, then the others by their reduction of the error."""
        errors, place = self.errors([[c] for c in self.log.columns])
        squares = errors.squares
        alike = [c for own in self.chosen for c in self.together.get(own, [])]
        rest = sorted(self.log.columns, key=lambda c: (squares[place[key_of([c])]], c))
        acting = set(self.acting)
        rest.sort(key=lambda c: c not in acting)
        return list(dict.fromkeys([*self.chosen, *alike, *rest]))


def attribute(
    log: ExplainedLog,
    level: float = 0.95,
    fits: Mapping[str, FreedFit] | None = None,
    on_fit: Callable[[dict[str, FreedFit]], None] = lambda fits: None,
    progress: Callable[[str, float], None] = lambda text, share: None,
) -> Attribution:
    """Run the fits of causes, and select those that explain the gap.

    Args:
      log: the log with the unknowns of the causes.
      level: coverage of intervals.
      fits: earlier fits, by their causes joined with `` + ``.
      on_fit: called after each fit with all of them.
      progress: called before each fit with a description and the fraction done.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    found = Attribution(log, level, dict(fits or {}), on_fit, progress)
    found.run()
    return found


def key_of(causes: Sequence[str]) -> str:
    """Key of the fit of some causes; without causes, that of the model."""
    return _SEPARATOR.join(sorted(causes)) or MODEL
