"""Samples of a posterior, with their convergence."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class PosteriorSamples:
    """Samples of the posterior of the parameters of a fit.

    Attributes:
      names: names of the ``p`` elements.
      values: ``(n, p)`` samples in parameter units; those of neighbouring rows are correlated.
      r_hat: ``(p,)`` split R-hat; 1 at convergence.
      effective_sizes: ``(p,)`` number of independent samples with the same information.
      evaluations: number of simulated candidates.
      converged: whether R-hat and effective sizes reached their limits.
      device: name of the device that simulated in single precision; '' for the CPU.
    """

    names: tuple[str, ...]
    values: np.ndarray
    r_hat: np.ndarray
    effective_sizes: np.ndarray
    evaluations: int
    converged: bool
    device: str = ""

    def of(self, elements: Sequence[int]) -> "PosteriorSamples":
        """Samples of some elements."""
        keep = np.asarray(elements, int)
        return replace(
            self,
            names=tuple(self.names[i] for i in keep),
            values=self.values[:, keep],
            r_hat=self.r_hat[keep],
            effective_sizes=self.effective_sizes[keep],
        )

    def intervals(self, level: float) -> np.ndarray:
        """Equal-tailed intervals ``(p, 2)``."""
        tail = 0.5 * (1.0 - level)
        return np.quantile(self.values, [tail, 1.0 - tail], axis=0).T

    def covariance(self) -> np.ndarray:
        """Covariance ``(p, p)``."""
        return np.atleast_2d(np.cov(self.values.T))

    def sentence(self) -> str:
        """Sentence on the convergence, for a reader."""
        worst, fewest = int(np.argmax(self.r_hat)), int(np.argmin(self.effective_sizes))
        where = f" (on {self.device}, in single precision)" if self.device else ""
        reached = (
            f"{self.evaluations} simulated candidates{where}: R-hat at most "
            f"{self.r_hat[worst]:.3f} ({self.names[worst]}), at least "
            f"{self.effective_sizes[fewest]:.0f} independent samples ({self.names[fewest]})"
        )
        return reached if self.converged else f"The sampling has not converged after {reached}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the convergence, without the samples."""
        return {
            "samples": len(self.values),
            "evaluations": self.evaluations,
            "converged": self.converged,
            "r_hat": dict(zip(self.names, self.r_hat.tolist(), strict=True)),
            "effective_sizes": dict(zip(self.names, self.effective_sizes.tolist(), strict=True)),
            "sentence": self.sentence(),
        }

    def archive(self, units: Sequence[str], targets: Sequence[str]) -> bytes:
        """Content of ``posterior.npz``: numbers and text only, as exported draws."""
        content = io.BytesIO()
        np.savez_compressed(
            content,
            values=self.values,
            names=np.array(self.names, np.str_),
            units=np.array(units, np.str_),
            targets=np.array(targets, np.str_),
        )
        return content.getvalue()
