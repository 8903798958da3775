"""Step of a regularised Gauss-Newton model within bounds."""

import numpy as np


def box_step(
    hessian: np.ndarray, gradient: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Minimise ``1/2 s' H s + g' s`` over ``lower <= s <= upper``.

    Args:
      hessian: positive definite ``(p, p)``.
      gradient: ``(p,)``.
      lower: ``(p,)``, not positive, may be ``-inf``.
      upper: ``(p,)``, not negative, may be ``inf``.

    Returns:
      The step ``(p,)``. A Hessian that is indefinite by rounding gets a small ridge; the step is
      zero only if that fails too.
    """
    import mujoco

    whole = np.zeros(len(gradient))
    moves = np.maximum(upper, 0.0) > np.minimum(lower, 0.0)
    if not moves.any():
        return whole
    hessian, gradient = hessian[np.ix_(moves, moves)], gradient[moves]
    lower, upper = lower[moves], upper[moves]
    n = len(gradient)
    # unit diagonal: the solver's tolerances are absolute, parameters differ by orders of magnitude
    unit = 1.0 / np.sqrt(np.diag(hessian))
    scaled = hessian * unit[:, None] * unit[None, :]
    right = gradient * unit
    size = max(np.abs(right).max(), 1e-300)
    step = np.zeros((n, 1))
    scratch = np.zeros((n, n + 7))
    huge = 1e300
    low = np.clip(np.minimum(lower, 0.0) / unit / size, -huge, 0.0).reshape(n, 1)
    high = np.clip(np.maximum(upper, 0.0) / unit / size, 0.0, huge).reshape(n, 1)
    target = (right / size).reshape(n, 1)
    for ridge in (0.0, 1e-13, 1e-11, 1e-9):
        step[:] = 0.0
        regular = scaled + ridge * np.eye(n)
        if mujoco.mju_boxQP(step, scratch, None, regular, target, low, high) >= 0:
            found = np.clip(step[:, 0] * size * unit, lower, upper)
            # set elements on a bound exactly to it
            found = np.where(step[:, 0] <= low[:, 0], np.minimum(lower, 0.0), found)
            whole[moves] = np.where(step[:, 0] >= high[:, 0], np.maximum(upper, 0.0), found)
            break
    return whole
