"""Sets of causes from the fit that frees all: which of them it can do without."""

import numpy as np

from trueup.explain.freed import Freed, FreedFit
from trueup.explain.log import ExplainedLog
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.uncertainty.start_noise import inverse_of


def eliminated(log: ExplainedLog, fit: FreedFit, most: int) -> list[tuple[str, ...]]:
    """Causes that are left when the least needed one is dropped, again and again.

    With the Gauss-Newton model of the cost about the fit, ``H`` its second derivatives, putting
    unknowns ``d`` back to the model costs ``s' (H_dd - H_df H_ff^-1 H_fd) s / 2`` where ``s`` is
    their way back and ``f`` are those that stay free.

    Args:
      log: the log.
      fit: fit of many causes.
      most: size of the largest set that is given.

    Returns:
      Sets of ``most`` causes and fewer, each within the one before; empty where a simulation beside
      the fit fails.
    """
    freed = np.concatenate([log.columns[c] for c in fit.causes])
    columns = np.unique(np.concatenate([freed, log.always]))
    problem = Freed(log.training, columns, fit.x)
    _, jacobian, failures = final_jacobian(problem, fit.x[columns], central=False)
    if failures:
        return []
    hessian = np.asarray(jacobian.T @ jacobian)
    space = problem.space
    back = space.to_search(log.start[columns]) - space.to_search(fit.x[columns])
    places = {c: np.searchsorted(columns, log.columns[c]) for c in fit.causes}
    kept, out = list(fit.causes), []
    while len(kept) > 1:
        prices = {}
        for cause in kept:
            dropped = np.concatenate([places[c] for c in fit.causes if c not in kept or c == cause])
            prices[cause] = _price(hessian, back, dropped)
        kept.remove(min(kept, key=lambda c: prices[c]))
        if len(kept) <= most:
            out.append(tuple(kept))
    return out


def _price(hessian: np.ndarray, back: np.ndarray, dropped: np.ndarray) -> float:
    """Growth of the cost when some unknowns go back and the others follow."""
    free = np.setdiff1d(np.arange(len(hessian)), dropped)
    way = back[dropped]
    price = way @ hessian[np.ix_(dropped, dropped)] @ way
    if free.size:
        pull = hessian[np.ix_(free, dropped)] @ way
        price -= pull @ inverse_of(hessian[np.ix_(free, free)]) @ pull
    return float(max(price, 0.0))
