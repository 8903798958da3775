"""Offers: the cost that each cause promises, by a linear model and by single evaluations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.explain.log import ExplainedLog, Variant
from trueup.fitting.losses import Loss
from trueup.fitting.searches.device_first import rough_jacobian
from trueup.sysid.causes.freed import Freed, costs_and_changes, line_search
from trueup.sysid.causes.search import Quadratic

_STEPS = (1.0, 0.4, 0.15)  # parts of the step of the linear model that are evaluated


@dataclass(frozen=True)
class Offer:
    """One variant of a cause, with values near the best ones and their cost."""

    cause: str
    variant: Variant
    predicted: float
    """Cost by the linear model; infinite without a slope."""
    x: np.ndarray
    """Best evaluated values of all elements ``(p,)``; without a better one, those before."""
    cost: float
    """Cost of these values."""
    acts: bool
    """Whether the unknowns change the simulated motion at all."""
    evaluations: int

    @property
    def promise(self) -> float:
        """Lowest cost to expect from a fit."""
        return min(self.predicted, self.cost)


@dataclass(frozen=True)
class Offers:
    """Offers of several causes at one point."""

    best: dict[str, Offer]
    """The most promising variant of each cause, by its name."""
    others: dict[str, list[Offer]]
    """Variants of each cause on other links, the most promising one first."""
    rest: float
    """Cost by the linear model without any of them."""
    evaluations: int


def offers_at(log: ExplainedLog, at: np.ndarray, free: np.ndarray, causes: Sequence[str]) -> Offers:
    """Offers of causes from one linearisation with the unknowns of all.

    A Gauss-Newton step in the unknowns of one cause, and in those that are free anyway, predicts
    the cost of its fit. The motion at this step, and at parts of it, is evaluated for all causes in
    one batch. What has no slope, such as a limit, is searched along its start values.

    Args:
      log: the log.
      at: values of all elements ``(p,)``.
      free: elements that are free anyway, such as those of selected causes.
      causes: names of the causes.
    """
    variants = [(cause, variant) for cause in causes for variant in log.variants_of(cause)]
    own = np.union1d(log.always, free).astype(int)
    leading = [variant.leading for _, variant in variants]
    columns = np.unique(np.concatenate([own, *leading])).astype(int)
    problem = Freed(log.training, columns, at)
    residual, jacobian, _ = rough_jacobian(problem, at[columns])
    model = Quadratic(problem.space, at[columns], residual, np.asarray(jacobian))
    rest = model.cost - model.step(np.searchsorted(columns, own))[1]
    predicted, points, owners = np.full(len(variants), np.inf), [], []
    for number, (_, variant) in enumerate(variants):
        places = np.searchsorted(columns, variant.leading)
        if not model.acts(places).any():
            continue
        step, gain = model.step(np.searchsorted(columns, np.union1d(own, variant.leading)))
        predicted[number] = model.cost - gain
        for part in _STEPS:
            point = at.copy()
            point[columns] += part * step
            points.append(np.clip(point, log.training.space.lower, log.training.space.upper))
            owners.append(number)
    costs, moved = _evaluated(log, at, points)
    evaluations = len(columns) + 1 + len(points)
    found_of: dict[str, dict[str, Offer]] = {cause: {} for cause in causes}
    for number, (cause, variant) in enumerate(variants):
        own_points = [k for k, owner in enumerate(owners) if owner == number]
        x, cost, count = at, model.cost, len(own_points)
        acts = bool(moved[own_points].any())
        if own_points:
            top = min(own_points, key=lambda k: costs[k])
            if costs[top] < cost:
                x, cost = points[top], float(costs[top])
        looks = np.array([c for c in variant.columns if log.guesses[c]], int)
        if looks.size:
            found = line_search(log.training, at, looks, log.guesses, Loss())
            acts, count = acts or found.acts, count + found.evaluations
            evaluations += found.evaluations
            if found.cost < cost:
                x, cost = found.x, found.cost
        offer = Offer(cause, variant, float(predicted[number]), x, cost, acts, count)
        own_offers, kind = found_of[cause], variant.link or variant.name
        if kind not in own_offers or offer.promise < own_offers[kind].promise:
            own_offers[kind] = offer
    ranked = {c: sorted(own.values(), key=lambda o: o.promise) for c, own in found_of.items()}
    best = {cause: own[0] for cause, own in ranked.items()}
    others = {cause: own[1:] for cause, own in ranked.items()}
    return Offers(best, others, float(rest), evaluations)


def _evaluated(
    log: ExplainedLog, at: np.ndarray, points: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Costs of points, and which of them differ from the motion at ``at``."""
    if not points:
        return np.zeros(0), np.zeros(0, bool)
    costs, moved = costs_and_changes(log.training, np.stack([at, *points]), {}, Loss())
    return costs[1:], moved[1:]
