"""Attribution of a gap to causes: offers of all, fits of the promising ones, forward selection.

One linearisation with the unknowns of all causes says what each promises. The most promising are
freed alone on the training recordings, and rated by the error on the held-out ones. The best is
selected; as long as it leaves a gap, each other cause is offered in addition to it (forward
selection). If the gap remains, all causes are freed together, and those that this fit needs most
are tried. Where torques are recorded, the same selection is made first on them, without a
simulation; what they show is fitted first, and what they contradict is not named. A cause that
others make superfluous is dropped, and one that another replaces better is
exchanged. Causes with held-out errors that the data do not distinguish are reported together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueup.explain.causes import SUCCESSIVE
from trueup.explain.elimination import eliminated
from trueup.explain.fits import ALL, MODEL, CauseFits, key_of
from trueup.explain.held_out import HeldOutErrors, held_out_fit
from trueup.explain.log import ExplainedLog
from trueup.explain.offers import Offer, Offers
from trueup.sysid.causes.freed import FreedFit
from trueup.sysid.causes.search import PROMISE

CHANCE = 0.05
"""Probability of naming any cause if there is no gap (familywise error rate)."""
WORTH = 0.1
"""Smallest fraction of the gap that the first cause must remove."""
FURTHER = 0.3
"""Smallest fraction of the remaining gap that a further cause must remove: a cause that is at work
removes most of it, and one that merely bends the simulation does not."""
GAP = 0.1
"""Squared error above noise, relative to noise, below which there is no gap."""
MOST = 3
"""Greatest number of selected causes."""

_REST = 0.003  # smallest part of the whole gap that each selected cause must explain
_FITS, _FURTHER_FITS = 6, 4  # fits of causes alone, and of those in addition to others
_MORE = 4  # further fits while none leaves noise alone
_RIVALS = 2  # fits of others in place of a selected cause, at least
_PROMISING = 0.15  # promised part of the cost up to which they are made
_RIVAL = 5.0  # ratio of promised costs up to which another cause may explain as much
_SLIGHT = 0.01  # part of the cost that the prediction of a linear model may be wrong by
_MARGIN = 0.05  # relative difference of squared errors within which the smaller cause is first


@dataclass
class Attribution(CauseFits):
    """Fits of causes and the selection from them; made by :func:`attribute`."""

    by_torques: "Attribution | None" = None
    """Selection by recorded torques; None where none are recorded."""
    fits_are_cheap: bool = False
    """Whether fits need no simulation."""
    chosen: list[str] = field(default_factory=list, init=False)
    """Causes that explain the gap, that with the largest share first."""
    together: dict[str, list[str]] = field(default_factory=dict, init=False)
    """Causes that the data do not distinguish from each selected one, by its name."""
    chances: dict[str, float] = field(default_factory=dict, init=False)
    """p-value of the advantage of each cause over the model."""
    _follows_torques: bool = field(default=False, init=False)
    _felt: set[str] = field(default_factory=set, init=False)
    """Causes that act, or would if a bound of theirs were wider."""

    def run(self) -> None:
        """Run the fits and select causes.

        Raises:
          KeyboardInterrupt: Ctrl-C; finished fits are in :attr:`fits`.
        """
        causes = list(self.log.columns)
        self.plan(2 * _FITS)
        self._look_alone(causes)
        self._choose()

    @property
    def acting(self) -> list[str]:
        """Causes with an effect on the simulated motion."""
        return [c for c in self.log.columns if self.fit_of([c]).acts]

    def _look_alone(self, causes: Sequence[str]) -> None:
        """Values of each cause alone: by a fit if it is promising, else by one step."""
        found = self.offers([], self.log.start, causes)
        self._felt = {
            cause
            for cause, best in found.best.items()
            if any(o.acts or np.isfinite(o.predicted) for o in (best, *found.others[cause]))
        }
        for cause, offer in found.best.items():
            if key_of([cause]) not in self.fits:
                columns = tuple(int(c) for c in offer.variant.columns)
                x = offer.x if offer.acts else self.log.start.copy()
                step = FreedFit(
                    (cause,), x, offer.cost, offer.evaluations, offer.acts, columns, complete=False
                )
                self.keep(key_of([cause]), step)
        has_gap = self._has_gap([]) or self.training_gap() ** 2 > 1.0 + GAP
        if has_gap and not self._follow_torques():
            self._fit_promising([], found, _FITS)

    def _follow_torques(self) -> bool:
        """Select the causes that torques show, if a fit of the motion confirms them."""
        if self.by_torques is None or not self.by_torques.chosen:
            return False
        shown = self.by_torques.chosen
        fit = self.by_torques.fit_of(shown)
        self.fit(shown, np.array(fit.columns, int), fit.x)
        if self._excess([])[0] <= 0 or not self._is_better(shown, []):
            return False
        gain = 1.0 - self._excess(shown)[0] / self._excess([])[0]
        self._follows_torques = gain > WORTH
        self.chosen = list(shown) if self._follows_torques else []
        return self._follows_torques

    def _fit_promising(self, chosen: Sequence[str], found: Offers, most: int) -> list[str]:
        """Fits of the most promising causes in addition to selected ones; their names.

        Where one leaves noise alone, others follow only if they promise nearly as much.
        """
        offers = sorted(
            (o for o in found.best.values() if o.promise < (1.0 - PROMISE) * found.rest),
            key=lambda o: o.promise,
        )
        self.plan(min(len(offers), most) + _FITS)
        limit, made = np.inf, []
        for number, offer in enumerate(offers[: most + _MORE]):
            if offer.promise > limit:
                break
            if number >= most and offer.promise > _PROMISING * found.rest:
                break
            if np.isfinite(limit) and offer.cause in SUCCESSIVE:
                continue  # what is evaluated, and not predicted, is that far from the best
            fit = self.fit_offer(chosen, offer.cause, found)
            made.append(offer.cause)
            if np.isfinite(limit) or not self.leaves_noise(fit):
                continue
            limit = max(_RIVAL * offer.promise, _RIVAL * fit.cost, _SLIGHT * found.rest)
        return made

    # --- choice --------------------------------------------------------------------------------

    def _choose(self) -> None:
        acting = self.acting
        if not acting:
            return
        errors, place = self.errors()
        self.chances = {c: errors.chance(place[MODEL], place[key_of([c])]) for c in acting}
        self._add_causes(acting)
        if self._follows_torques and self._has_gap(self.chosen):
            self._add_without_torques(acting)
        self._try_training()
        self._drop_superfluous()
        self._try_elimination()
        self._compare_all()
        if len(self.chosen) > 1:  # an exchanged cause may replace another one
            before = list(self.chosen)
            self._drop_superfluous()
            if self.chosen != before:
                self._compare_all()
        for cause in self.chosen:  # what each explains alone is said
            fit = self.fit_of([cause])
            self.fit([cause], np.array(fit.columns, int), fit.x)
        errors, place = self.errors()
        self.chosen.sort(key=lambda c: errors.squares[place[key_of([c])]])

    def _add_causes(self, acting: Sequence[str]) -> None:
        """Select further causes as long as a gap remains (forward selection)."""
        fitted = [c for c in acting if self.has_fit([c])]
        while len(self.chosen) < MOST and self._has_gap(self.chosen):
            if self.chosen:
                others = [c for c in acting if c not in self.chosen]
                if not others:
                    break
                found = self.offers(self.chosen, self.fit_of(self.chosen).x, others)
                fitted = self._fit_promising(self.chosen, found, _FURTHER_FITS)
            best = self._pick(fitted)
            if best is None:
                break
            self.chosen.append(best)
            self._extend(best)

    def _add_without_torques(self, acting: Sequence[str]) -> None:
        """Select causes by the motion alone, if that explains more than what torques show."""
        shown, self.chosen = self.chosen, []
        self._fit_promising([], self.offers([], self.log.start, acting), _FITS)
        self._add_causes(acting)
        if not self._is_better(self.chosen, shown):
            self.chosen = shown

    def _extend(self, cause: str) -> None:
        """Free the further unknowns of a selected cause where it leaves a gap."""
        if not self._has_gap(self.chosen):
            return
        fit, key = self.fit_of(self.chosen), key_of(self.chosen)
        own = self.columns_with(fit, [cause])
        more = [v.more for v in self.log.variants_of(cause) if np.isin(v.columns, own).all()]
        if not more or not more[0].size:
            return
        errors, place = self.errors()
        before, floor = errors.squares[place[key]], errors.floor
        self.keep(key, FreedFit(fit.causes, fit.x, fit.cost, 0, True, fit.columns, complete=False))
        wider = self.fit(self.chosen, np.union1d(fit.columns, more[0]).astype(int), fit.x)
        errors, place = self.errors()
        gain = before - errors.squares[place[key]]
        if wider.cost > fit.cost or gain < FURTHER * (before - floor):
            self.keep(key, FreedFit(**{**fit.__dict__, "evaluations": 0}))

    def _try_training(self) -> None:
        """Select causes by the errors over the training recordings, if that explains more.

        Of several causes at work, none may reduce the error over short held-out recordings by more
        than noise as long as the others are missing.
        """
        if not self._has_gap(self.chosen):
            return
        acting, grown = self.acting, list[str]()
        while len(grown) < MOST:
            rest = [c for c in acting if c not in grown]
            if grown:
                found = self.offers(grown, self.fit_of(grown).x, rest)
                self._fit_promising(grown, found, _FURTHER_FITS)
            made = {c: self.fit_of([*grown, c]).cost for c in rest if self.has_fit([*grown, c])}
            if not made:
                break
            grown.append(min(made, key=lambda c: made[c]))
            if self.leaves_noise(self.fit_of(grown)):
                break
        if grown and set(grown) != set(self.chosen) and self._is_better(grown, self.chosen):
            self.chosen = grown

    def _try_elimination(self) -> None:
        """Select causes by elimination from the fit of all, if forward selection is not sufficient.

        Forward selection can start with a cause that imitates two others, and miss both.
        """
        if not self._has_gap(self.chosen):
            return
        every = self._fit_all()
        errors, place = self.errors()
        if errors.chance(place[key_of(self.chosen)], place[ALL]) >= CHANCE:
            return
        sets = self._eliminated_by_fits() if self.fits_are_cheap else self._eliminated(every)
        errors, place = self.errors()
        sets = sorted([list(self.chosen), *sets], key=len)
        best_set = min(sets, key=lambda s: errors.squares[place[key_of(s)]])
        if not self.chosen and not self._is_better(best_set, []):
            return
        # the fewest causes with an equal error
        self.chosen = next(s for s in sets if s == best_set or not self._is_better(best_set, s))

    def _eliminated(self, every: FreedFit) -> list[list[str]]:
        """Sets of causes by the linearised fit of all, with their fits."""
        sets = [list(s) for s in eliminated(self.log, every, MOST)]
        self.plan(len(sets) + 1)
        for causes in sets:
            self._fit_without(every, causes)
        return sets

    def _eliminated_by_fits(self) -> list[list[str]]:
        """Sets of causes by dropping, one at a time, the cause that the fit of the others needs
        least.

        A limit and a gain can imitate friction and mass, far from where the fit of all is linear.
        """
        kept, fit = list(self.acting), self.fits[ALL]
        out = []
        while len(kept) > 1:
            fewer = [[c for c in kept if c != dropped] for dropped in kept]
            self.plan(len(fewer))
            made = [self._fit_without(fit, causes) for causes in fewer]
            best = min(range(len(made)), key=lambda k: made[k].cost)
            kept, fit = fewer[best], made[best]
            if len(kept) <= MOST:
                out.append(kept)
        return out

    def _fit_without(self, fit: FreedFit, causes: list[str]) -> FreedFit:
        """Fit of some causes from that of more, the others at the values of the model."""
        x, others = fit.x.copy(), [c for c in self.acting if c not in causes]
        back = self.columns_with(fit, others)
        x[back] = self.log.start[back]
        return self.fit(causes, self.columns_with(fit, causes), x)

    def _fit_all(self) -> FreedFit:
        """Fit of all causes together, from the selected ones or the best alone."""
        alone = [self.fit_of([c]) for c in self.acting]
        best = min(alone, key=lambda fit: fit.cost)
        begin = self.fit_of(self.chosen) if self.chosen else best
        return self.fit_all(self.acting, begin.x)

    def _compare_all(self) -> None:
        self.together = {}
        for cause in list(self.chosen):
            self._compare(cause, [c for c in self.acting if c not in self.chosen])

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
        """Cause with the largest further reduction of the error, if that exceeds noise.

        Of causes with equal errors, the one with the fewest unknowns is first.
        """
        rest = [c for c in rest if not self._is_contradicted([*self.chosen, c])]
        if not rest:
            return None
        errors, place = self.errors()
        squares, before = errors.squares, place[key_of(self.chosen)]
        after = {c: place[key_of([*self.chosen, c])] for c in rest}
        best = self._first_of({c: float(squares[after[c]]) for c in rest}, self.chosen)
        gain = squares[before] - squares[after[best]]
        worth = gain > (FURTHER if self.chosen else WORTH) * (squares[before] - errors.floor)
        worth = worth and gain > _REST * (squares[place[MODEL]] - errors.floor)
        return best if worth and errors.chance(before, after[best]) < self._significance else None

    def _first_of(self, squares: Mapping[str, float], others: Sequence[str]) -> str:
        """Cause with the smallest squared error.

        Of nearly equal ones, that with the fewest unknowns, and of these the more usual one.
        """
        least, order = min(squares.values()), list(self.log.columns)
        equal = [c for c in squares if squares[c] <= (1.0 + _MARGIN) * least]
        return min(equal, key=lambda c: (self._size(c, others), order.index(c)))

    def _size(self, cause: str, others: Sequence[str]) -> int:
        """Number of unknowns of a cause in its fit with others."""
        return len(self.columns_with(self.fit_of([*others, cause]), [cause]))

    def _drop_superfluous(self) -> None:
        """Drop causes that others make superfluous."""
        for cause in list(self.chosen):
            if len(self.chosen) == 1:
                return
            fewer = [c for c in self.chosen if c != cause]
            fit = self.fit_of(self.chosen)
            self.fit(fewer, self.columns_with(fit, fewer), self._without(cause))
            errors, place = self.errors()
            squares = errors.squares
            loss = squares[place[key_of(fewer)]] - squares[place[key_of(self.chosen)]]
            slight = loss < _REST * (squares[place[MODEL]] - errors.floor)
            # torques show a cause whatever others do to the motion
            slight = slight and cause not in (self.by_torques.chosen if self.by_torques else [])
            if slight or not self._is_better(self.chosen, fewer):
                self.chosen = fewer

    def _without(self, cause: str) -> np.ndarray:
        """Values of the selected causes with one of them reset to the model ``(p,)``."""
        x = self.fit_of(self.chosen).x.copy()
        x[self.log.columns[cause]] = self.log.start[self.log.columns[cause]]
        return x

    def _is_better(self, first: Sequence[str], second: Sequence[str]) -> bool:
        """Whether some causes have a smaller error than others, by more than noise."""
        errors, place = self.errors()
        return errors.chance(place[key_of(second)], place[key_of(first)]) < self._significance

    def _compare(self, cause: str, others: Sequence[str]) -> None:
        """Find causes that replace a selected one equally well; exchange it for a better one."""
        rest = [c for c in self.chosen if c != cause]
        others = self._not_excluded(cause, others)
        if rest and others:
            self.fit(rest, self.columns_with(self.fit_of(self.chosen), rest), self._without(cause))
        if others and (rest or self._follows_torques):
            at = self.fit_of(rest).x if rest else self.log.start
            found = self.offers(rest, at, others)
            for offer in self._rivals(found):
                self.fit_offer(rest, offer.cause, found)
        worth = [c for c in others if self.has_fit([*rest, c])]
        worth = [c for c in worth if not self._is_contradicted([*rest, c])]
        errors, place = self.errors()
        squares = {c: float(errors.squares[place[key_of([*rest, c])]]) for c in [cause, *worth]}
        best = self._first_of(squares, rest)
        simpler = self._size(best, rest) < self._size(cause, rest)
        if best != cause and (simpler or self._is_better([*rest, best], [*rest, cause])):
            self.chosen[self.chosen.index(cause)] = best
            worth, cause = [c for c in [cause, *worth] if c != best], best
        alike = [c for c in worth if not self._is_better([*rest, cause], [*rest, c])]
        self.together[cause] = sorted(alike, key=lambda c: squares[c])

    def _is_contradicted(self, causes: Sequence[str]) -> bool:
        """Whether the values of a fit predict recorded torques worse than those without its last
        cause."""
        if self.by_torques is None:
            return False
        problem, none = self.by_torques.log.training, np.zeros(0, int)
        before = self.fit_of(causes[:-1]).x if len(causes) > 1 else self.log.start
        fits = [held_out_fit(problem, x, none) for x in (before, self.fit_of(causes).x)]
        errors = HeldOutErrors.of(problem, fits)
        worse = errors.squares[1] > (1.0 + _MARGIN) * errors.squares[0]
        return bool(worse and errors.chance(1, 0) < self._significance)

    def _not_excluded(self, cause: str, others: Sequence[str]) -> list[str]:
        """Other causes that torques do not distinguish from one that they show."""
        shown = self.by_torques
        if shown is None or cause not in shown.chosen:
            return list(others)
        if shown._has_gap(shown.chosen) and self._has_gap(self.chosen):
            return list(others)  # something else is at work
        alike = shown.together.get(cause, [])
        return [c for c in others if c in alike or c not in shown._felt]

    def _rivals(self, found: Offers) -> list[Offer]:
        """The best two offers, and others that promise nearly the cost of the selected causes."""
        limit = max(_RIVAL * self.fit_of(self.chosen).cost, _SLIGHT * found.rest)
        offers = sorted((o for o in found.best.values() if o.acts), key=lambda o: o.promise)
        near = sum(o.promise <= limit for o in offers)
        return offers[: min(max(near, _RIVALS), _FURTHER_FITS)]

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
    torques: ExplainedLog | None = None,
) -> Attribution:
    """Run the fits of causes, and select those that explain the gap.

    Args:
      log: the log with the unknowns of the causes.
      level: coverage of intervals.
      fits: earlier fits, by their causes joined with `` + ``.
      on_fit: called after each fit with all of them.
      progress: called before each fit with a description and the fraction done.
      torques: the log with its torques in place of its motion; None where none are recorded.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    shown = None
    if torques is not None:
        shown = Attribution(torques, level, fits_are_cheap=True)
        shown.run()
    found = Attribution(log, level, dict(fits or {}), on_fit, progress, shown)
    found.run()
    return found
