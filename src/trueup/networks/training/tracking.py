"""Weights & Biases beside a training: off unless ``wandb.active`` is true."""

from pathlib import Path
from typing import Any

from trueup.errors import MissingExtraError
from trueup.networks.training.configuration import WandbSettings


class Tracker:
    """Is told of a training; this one does nothing."""

    def start(self, split: str, folder: Path, configuration: dict[str, Any]) -> None:
        """A network's training begins in a folder."""

    def watch(self, module: Any) -> None:
        """The torch module that is about to be trained."""

    def epoch(self, entry: dict[str, Any]) -> None:
        """An epoch has ended: loss and scores."""

    def end(self, metrics: dict[str, Any]) -> None:
        """The network has been scored."""


class WandbTracker(Tracker):
    """Sends each epoch and the scores to Weights & Biases, one W&B run a split.

    The package's own environment variables count, such as ``WANDB_MODE=offline``. Nothing is
    written to the terminal, and neither source code nor the machine's load is sent.

    Raises:
      MissingExtraError: wandb is not installed.
    """

    def __init__(self, settings: WandbSettings):
        try:
            import wandb
        except ImportError as error:
            raise MissingExtraError("Weights & Biases", "tracking", "wandb") from error
        self._wandb, self._settings, self._run = wandb, settings, None

    def start(self, split: str, folder: Path, configuration: dict[str, Any]) -> None:
        """Begin a W&B run; the folds of a run share a group."""
        settings, wandb = self._settings, self._wandb
        run = folder.parent.name if folder.name.startswith("fold_") else folder.name
        self._run = wandb.init(
            dir=str(folder),
            project=settings.project,
            entity=settings.entity or None,
            name="-".join(filter(None, (run, split, settings.name_suffix))),
            group="-".join(filter(None, (run, settings.group_suffix))),
            config=configuration,
            reinit="create_new",
            settings=wandb.Settings(
                silent=True,
                quiet=True,
                console="off",
                disable_git=True,
                disable_code=True,
                x_disable_stats=True,
                x_disable_meta=True,
            ),
        )

    def watch(self, module: Any) -> None:
        """Send histograms of weights and gradients, where asked for."""
        if self._run is not None and self._settings.watch_log_freq:
            self._run.watch(module, log="all", log_freq=self._settings.watch_log_freq)

    def epoch(self, entry: dict[str, Any]) -> None:
        """Send the scores of an epoch."""
        if self._run is not None:
            self._run.log(entry)

    def end(self, metrics: dict[str, Any]) -> None:
        """Send the scores and end the W&B run."""
        if self._run is not None:
            self._run.summary.update({k: v for k, v in metrics.items() if not isinstance(v, list)})
            self._run.finish()
            self._run = None


def tracker_of(settings: WandbSettings) -> Tracker:
    """The tracker that the settings ask for."""
    return WandbTracker(settings) if settings.active else Tracker()
