"""Which causes explain a gap: each freed alone, then together, one after the other.

Each cause is freed alone on the training recordings, with the same budget, and judged by the error
on the held-out ones. The best is taken; what it leaves is searched with each further cause freed
beside it (forward selection), until nothing takes away more than noise does. Where the fit of all
causes then does better, the causes that it needs most are tried. A cause that the later ones make
superfluous is dropped, and one that another replaces better is exchanged. Causes whose held-out
errors the data cannot tell apart stand together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueup.explain.elimination import eliminated
from trueup.explain.freed import FreedFit, fit_freed
from trueup.explain.held_out import HeldOutErrors, HeldOutFit, held_out_fit
from trueup.explain.log import ExplainedLog

CHANCE = 0.05
"""Probability of naming any cause where there is no gap."""
WORTH = 0.1
"""Share of what is left of the gap that a cause has to take away to be named."""
GAP = 0.1
"""Squared error above that of noise, in multiples of it, below which there is no gap."""
MOST = 3
"""Causes at most that are named one after the other."""
_ALIKE = 0.01  # part of a squared error by which fits differ that need no better state

MODEL, ALL = "model", "all"
_SEPARATOR = " + "


@dataclass
class Attribution:
    """Fits of causes and what follows from them; made by :func:`attribute`.

    Args:
      log: the log with the unknowns of the causes.
      level: coverage of intervals.
      fits: fits that were made before, by their causes joined with `` + ``.
      on_fit: called after each fit with all of them.
      progress: called before each fit with what is freed and the share that is done.
    """

    log: ExplainedLog
    level: float = 0.95
    fits: dict[str, FreedFit] = field(default_factory=dict)
    on_fit: Callable[[dict[str, FreedFit]], None] = lambda fits: None
    progress: Callable[[str, float], None] = lambda text, share: None

    chosen: list[str] = field(default_factory=list, init=False)
    """Causes that explain the gap, in the order in which they were found."""
    together: dict[str, list[str]] = field(default_factory=dict, init=False)
    """Causes that the data cannot tell from each chosen one, by its name."""
    chances: dict[str, float] = field(default_factory=dict, init=False)
    """Probability of the advantage of each cause over the model, where it has none."""

    _unseen: dict[str, HeldOutFit] = field(default_factory=dict, init=False)
    _shared: set[tuple[str, str]] = field(default_factory=set, init=False)
    _planned: int = field(default=1, init=False)

    def run(self) -> None:
        """Make the fits and choose.

        Raises:
          KeyboardInterrupt: Ctrl-C; the fits that were made are in :attr:`fits`.
        """
        causes = list(self.log.columns)
        self._planned = len(causes) + 1
        for cause in causes:
            self._fit((cause,), self.log.start)
        self._fit_all()
        self._choose()

    # --- fits ----------------------------------------------------------------------------------

    def fit_of(self, causes: Sequence[str]) -> FreedFit:
        """The fit of some causes, which was made."""
        return self.fits[key_of(causes)]

    @property
    def all_free(self) -> FreedFit:
        """The fit of all causes at once."""
        return self.fits[ALL]

    def _fit(self, causes: tuple[str, ...], begin: np.ndarray, fresh: Sequence[str] = ()) -> None:
        """Free causes from some values on, looking along those that are fresh."""
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
        """Held-out errors of the model, of all fits made, and their place by key.

        Args:
          sets: causes of the fits beside the model and all causes; every fit where empty.
        """
        keys = [key_of(s) for s in sets] if sets else list(self.fits)
        keys = list(dict.fromkeys([MODEL, ALL, *keys]))
        best = min(keys, key=lambda k: self.unseen(k).square)
        found = [self._from_states_of(best, k) for k in keys]
        return HeldOutErrors.of(self.log.held_out, found), {k: i for i, k in enumerate(keys)}

    def unseen(self, key: str) -> HeldOutFit:
        """A fit over the held-out recordings, by its key."""
        if key not in self._unseen:
            self._unseen[key] = self._begun_at(key, self.log.held_out.space.start[self.log.states])
        return self._unseen[key]

    def _begun_at(self, key: str, states: np.ndarray) -> HeldOutFit:
        x = self.log.start if key == MODEL else self.fits[key].x
        return held_out_fit(self.log.held_out, np.concatenate([x, states]), self.log.states)

    def _from_states_of(self, best: str, key: str) -> HeldOutFit:
        """A fit over the held-out recordings, from those states if they suit it better.

        Contacts make valleys of the error, in which a search for the state may end. No cause is to
        be credited with a better state.
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
        """Causes that change the simulated motion."""
        return [c for c in self.log.columns if self.fit_of([c]).acts]

    def _choose(self) -> None:
        acting = self.acting
        if not acting:
            return
        errors, place = self.errors()
        self.chances = {c: errors.chance(place[MODEL], place[key_of([c])]) for c in acting}
        while len(self.chosen) < MOST and self._is_left(self.chosen):
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
        if len(self.chosen) > 1:  # one that was exchanged may do the work of another
            before = list(self.chosen)
            self._drop_superfluous()
            if self.chosen != before:
                self._compare_all()
        errors, place = self.errors()
        self.chosen.sort(key=lambda c: errors.squares[place[key_of([c])]])

    def _try_elimination(self) -> None:
        """Take the causes that the fit of all keeps, where those found one by one do not suffice.

        A cause that imitates two others is found first, and leads away from them.
        """
        if not self.chosen or not self._is_left(self.chosen):
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
        # the fewest causes that do as well
        self.chosen = next(s for s in sets if s == best or not self._is_better(best, s))

    def _compare_all(self) -> None:
        self.together = {}
        for cause in list(self.chosen):
            self._compare(cause, [c for c in self.acting if c not in self.chosen])

    def training_gap(self) -> float:
        """Error of the model over the training recordings, in multiples of that of noise."""
        fit = held_out_fit(self.log.training, self.log.start, self.log.always)
        errors = HeldOutErrors.of(self.log.training, [fit])
        return float(np.sqrt(errors.squares[0] / max(errors.floor, 1e-300)))

    @property
    def _chance(self) -> float:
        """Probability at which one comparison counts: there are as many as causes (Bonferroni)."""
        return CHANCE / len(self.log.columns)

    def _excess(self, causes: Sequence[str]) -> tuple[float, float]:
        """Squared held-out error above noise that causes leave, and that of noise."""
        errors, place = self.errors()
        return errors.squares[place[key_of(causes)]] - errors.floor, errors.floor

    def _is_left(self, causes: Sequence[str]) -> bool:
        """Whether causes leave a gap that is larger than noise."""
        excess, noise = self._excess(causes)
        return bool(excess > GAP * noise)

    def _pick(self, rest: Sequence[str]) -> str | None:
        """The cause that takes away most beside those chosen, where that is more than noise."""
        if not rest:
            return None
        errors, place = self.errors()
        squares, before = errors.squares, place[key_of(self.chosen)]
        after = {c: place[key_of([*self.chosen, c])] for c in rest}
        best = min(rest, key=lambda c: squares[after[c]])
        gain = squares[before] - squares[after[best]]
        worth = gain > WORTH * (squares[before] - errors.floor)
        return best if worth and errors.chance(before, after[best]) < self._chance else None

    def _drop_superfluous(self) -> None:
        """Drop causes that the later ones replace."""
        for cause in list(self.chosen[:-1]):
            fewer = [c for c in self.chosen if c != cause]
            self._fit(tuple(fewer), self._without(cause))
            if not self._is_better(self.chosen, fewer):
                self.chosen = fewer

    def _without(self, cause: str) -> np.ndarray:
        """Values of the chosen causes with one of them back at the model ``(p,)``."""
        x = self.fit_of(self.chosen).x.copy()
        x[self._columns([cause])] = self.log.start[self._columns([cause])]
        return x

    def _is_better(self, first: Sequence[str], second: Sequence[str]) -> bool:
        """Whether some causes leave less error than others, by more than noise."""
        errors, place = self.errors()
        return errors.chance(place[key_of(second)], place[key_of(first)]) < self._chance

    def _compare(self, cause: str, others: Sequence[str]) -> None:
        """Find causes that do as well in the place of a chosen one; take one that does better."""
        beside = [c for c in self.chosen if c != cause]
        made = {c for c in others if key_of([*beside, c]) in self.fits}
        worth = [c for c in others if c in made or self.chances[c] < CHANCE]
        if beside:
            self._planned += len(worth)
            begin = self._without(cause)
            for other in worth:
                self._fit((*beside, other), begin, [other])
        errors, place = self.errors()
        squares = errors.squares
        best = min([cause, *worth], key=lambda c: squares[place[key_of([*beside, c])]])
        if best != cause and self._is_better([*beside, best], [*beside, cause]):
            self.chosen[self.chosen.index(cause)] = best
            worth, cause = [c for c in [cause, *worth] if c != best], best
        alike = [c for c in worth if not self._is_better([*beside, cause], [*beside, c])]
        self.together[cause] = sorted(alike, key=lambda c: squares[place[key_of([*beside, c])]])

    @property
    def ranking(self) -> list[str]:
        """All causes: those chosen, those alike to them, then the others by what they explain."""
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
    """Make the fits of causes, and choose those that explain the gap.

    Args:
      log: the log with the unknowns of the causes.
      level: coverage of intervals.
      fits: fits that were made before, by their causes joined with `` + ``.
      on_fit: called after each fit with all of them.
      progress: called before each fit with what is freed and the share that is done.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    found = Attribution(log, level, dict(fits or {}), on_fit, progress)
    found.run()
    return found


def key_of(causes: Sequence[str]) -> str:
    """Key of the fit of some causes; of none, the model."""
    return _SEPARATOR.join(sorted(causes)) or MODEL
