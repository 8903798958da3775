"""Convergence of an ensemble of chains: R-hat and effective number of samples."""

import numpy as np


def split_r_hat(chains: np.ndarray) -> np.ndarray:
    """Potential scale reduction of each parameter ``(p,)``; 1 for converged chains.

    The halves of each chain are compared with each other (Gelman et al., Bayesian Data Analysis,
    section 11.4); the walkers of an ensemble are one chain, because they depend on each other.

    Args:
      chains: values ``(chains, steps, walkers, p)``.
    """
    half = chains.shape[1] // 2
    if half < 2:
        return np.full(chains.shape[-1], np.inf)
    halves = np.concatenate([chains[:, :half], chains[:, -half:]])
    within = halves.var(axis=(1, 2)).mean(axis=0)
    between = halves.mean(axis=(1, 2)).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.sqrt(1.0 + between / within)
    # a parameter that never moved has not converged
    return np.where(within > 0.0, ratio, np.inf)


def autocorrelation_times(chains: np.ndarray) -> np.ndarray:
    """Integrated autocorrelation time of each parameter ``(p,)`` [steps], of the slowest chain."""
    from emcee.autocorr import integrated_time

    moving = chains.var(axis=(0, 1, 2)) > 0.0
    out = np.full(chains.shape[-1], np.inf)
    if chains.shape[1] < 4 or not moving.any():
        return out
    # without a tolerance a chain that is short for its time gets an estimate, which is too small
    with np.errstate(invalid="ignore"):  # a walker that did not move has no autocorrelation yet
        times = [integrated_time(chain[..., moving], tol=0) for chain in chains]
    out[moving] = np.max(np.nan_to_num(times, nan=np.inf), axis=0)
    return np.maximum(out, 1.0)


def effective_sizes(chains: np.ndarray) -> np.ndarray:
    """Number of independent samples with the same information on each mean ``(p,)``."""
    count = chains.shape[0] * chains.shape[1] * chains.shape[2]
    return count / autocorrelation_times(chains)
