"""Backward elimination of causes from the fit that frees all."""

import numpy as np

from trueup.explain.log import ExplainedLog
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.uncertainty.start_noise import inverse_of
from trueup.sysid.causes.freed import Freed, FreedFit


def eliminated(log: ExplainedLog, fit: FreedFit, most: int) -> list[tuple[str, ...]]:
    """Nested sets of causes, dropping the least important one at a time.

    With the Gauss-Newton model of the cost around the fit and ``H`` its second derivatives,
    resetting unknowns ``d`` to the model increases the cost by ``s' (H_dd - H_df H_ff^-1 H_fd) s /
    2``, where ``s`` is their change and ``f`` are the free ones, which readjust (optimal brain
    surgeon: Hassibi, Stork, NIPS 5, 1993).

    Args:
      log: the log.
      fit: fit of many causes.
      most: size of the largest returned set.

    Returns:
      Sets of ``most`` causes and fewer, each a subset of the previous one; empty if a simulation
        near the fit fails.
    """
    columns = np.unique(np.concatenate([fit.columns, log.always])).astype(int)
    problem = Freed(log.training, columns, fit.x)
    _, jacobian, failures = final_jacobian(problem, fit.x[columns], central=False)
    if failures:
        return []
    hessian = np.asarray(jacobian.T @ jacobian)
    space = problem.space
    back = space.to_search(log.start[columns]) - space.to_search(fit.x[columns])
    own = {c: np.intersect1d(fit.columns, log.columns[c]) for c in fit.causes}
    places = {c: np.searchsorted(columns, elements) for c, elements in own.items()}
    kept, out = list(fit.causes), []
    while len(kept) > 1:
        prices = {}
        for cause in kept:
            dropped = np.concatenate([places[c] for c in fit.causes if c not in kept or c == cause])
            prices[cause] = _cost_increase(hessian, back, dropped)
        kept.remove(min(kept, key=lambda c: prices[c]))
        if len(kept) <= most:
            out.append(tuple(kept))
    return out


def _cost_increase(hessian: np.ndarray, back: np.ndarray, dropped: np.ndarray) -> float:
    """Increase of the cost if some unknowns are reset and the others readjust."""
    free = np.setdiff1d(np.arange(len(hessian)), dropped)
    way = back[dropped]
    price = way @ hessian[np.ix_(dropped, dropped)] @ way
    if free.size:
        pull = hessian[np.ix_(free, dropped)] @ way
        price -= pull @ inverse_of(hessian[np.ix_(free, free)]) @ pull
    return float(max(price, 0.0))
