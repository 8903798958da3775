"""Sums of squares and products of lagged samples, and responses of finite length.

The sums over all samples of a recording are a Toeplitz matrix but for its ends: sums with the
newest sample give all others, with a correction of one product a lag. A history of 128 samples of
four features costs as much as a matrix of 16 columns in place of 512.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class LagSums:
    """Weighted sums over samples whose history is filled; lags feature by feature, newest first.

    Attributes:
        squares: sums of products of lagged values, shape (features x history,) * 2.
        products: sums of lagged values times the output, shape (features x history,).
        values: sums of lagged values, shape (features x history,).
        output: sum of the output.
        weight: sum of the weights.
    """

    squares: np.ndarray
    products: np.ndarray
    values: np.ndarray
    output: float = 0.0
    weight: float = 0.0

    @classmethod
    def none(cls, columns: int) -> "LagSums":
        """Sums of no sample."""
        return cls(np.zeros((columns, columns)), np.zeros(columns), np.zeros(columns))

    def add(
        self, values: np.ndarray, output: np.ndarray, weights: np.ndarray, history: int
    ) -> None:
        """Add the samples of a recording from index ``history - 1`` on; none if it is shorter.

        Args:
            values: features, shape (n, features).
            output: shape (n,).
            weights: weight of each sample, shape (n,). Most samples should have the same: the
                others are corrected one by one.
            history: length of the history [samples].
        """
        if len(values) < history:
            return
        wanted, weights = output[history - 1 :], weights[history - 1 :]
        usual = float(np.median(weights))
        if usual != 0.0:
            self._add_toeplitz(values, wanted, usual, history)
        rows = np.flatnonzero(weights != usual)
        if len(rows):
            self._add_rows(lags(values, history, rows), wanted[rows], weights[rows] - usual)

    def _add_rows(self, lagged: np.ndarray, wanted: np.ndarray, weights: np.ndarray) -> None:
        weighed = lagged * weights[:, None]
        self.squares += weighed.T @ lagged
        self.products += weighed.T @ wanted
        self.values += weighed.sum(axis=0)
        self.output += float(weights @ wanted)
        self.weight += float(weights.sum())

    def _add_toeplitz(
        self, values: np.ndarray, wanted: np.ndarray, weight: float, history: int
    ) -> None:
        count, features = len(wanted), values.shape[1]
        newest = np.column_stack([values[history - 1 :], wanted, np.ones(count)])
        # products of the newest sample, the output and 1 with each lag
        with_lag = np.stack(
            [newest.T @ values[history - 1 - k : len(values) - k] for k in range(history)]
        )
        first = with_lag[:, :features].transpose(1, 2, 0)  # feature, feature of the lag, lag
        squares = np.empty((features, history, features, history))
        squares[:, 0] = first
        squares[:, :, :, 0] = first.transpose(1, 2, 0)
        # a lag more on both sides: a sample enters at the start, another one drops out at the end
        entering, leaving = values[: history - 1][::-1], values[count : count + history - 1][::-1]
        for k in range(1, history):
            squares[:, k, :, 1:] = (
                squares[:, k - 1, :, :-1]
                + entering[k - 1, :, None, None] * entering.T
                - leaving[k - 1, :, None, None] * leaving.T
            )
        columns = features * history
        self.squares += weight * squares.reshape(columns, columns)
        self.products += weight * with_lag[:, features].T.ravel()
        self.values += weight * with_lag[:, features + 1].T.ravel()
        self.output += weight * float(wanted.sum())
        self.weight += weight * count


def lags(values: np.ndarray, history: int, rows: np.ndarray | None = None) -> np.ndarray:
    """History of each sample from index ``history - 1``, feature by feature, newest first.

    Args:
        values: features, shape (n, features).
        history: length of the history [samples].
        rows: indices of samples, counted from ``history - 1``; None: all.

    Returns:
        Shape (rows, features x history).
    """
    windows = np.lib.stride_tricks.sliding_window_view(values, history, axis=0)
    windows = (windows if rows is None else windows[rows])[:, :, ::-1]
    return windows.reshape(len(windows), -1)


def response(values: np.ndarray, weights: np.ndarray, history: int) -> np.ndarray:
    """Sum over lags of weight times value, of each sample from index ``history - 1`` on.

    Args:
        values: features, shape (n, features), with n of at least ``history``.
        weights: feature by feature, newest first, shape (features x history,).
        history: length of the history [samples].

    Returns:
        Shape (n - history + 1,).
    """
    found = np.zeros(len(values) - history + 1)
    for column, own in zip(values.T, weights.reshape(-1, history), strict=True):
        found += np.convolve(column, own, mode="valid")
    return found
