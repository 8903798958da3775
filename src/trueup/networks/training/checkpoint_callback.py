"""Callback between epochs: best weights, history, checkpoints, early stopping."""

import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import lightning.pytorch as lightning
import numpy as np

from trueup.errors import RunDirectoryError
from trueup.networks.model.network import Network
from trueup.networks.model.network_file import save_network
from trueup.networks.training.hooks import TrainingHooks
from trueup.networks.training.lightning_module import NetworkTraining
from trueup.networks.training.run_files import CHECKPOINT
from trueup.networks.training.schedule import TIME_LIMIT, epochs_within
from trueup.networks.training.settings import TrainSettings
from trueup.runs.store import atomic

LAST = CHECKPOINT
BEST = "network.safetensors"
HISTORY = "history.jsonl"
PACE_WINDOW = 9
"""Number of validations over which the duration of an epoch is measured."""
BEFORE_TRAINING = -1
"""Epoch number of the initial network, where training did not improve on it."""


class StopTraining(Exception):  # noqa: N818 - a request, not an error
    """Raised inside the trainer to end training after an epoch or between two chunks."""


class CheckpointCallback(lightning.Callback):
    """Saves the best network, history and checkpoints, and stops the training.

    Args:
        settings: settings of the training.
        directory: folder of the files; None: nothing is written.
        provenance: provenance of the saved networks.
        hooks: callbacks of the training.
        seconds: time limit of the training, over all sessions of a resumed one [s]; None: none.
        most_epochs: largest number of epochs within the time limit; None: none.
    """

    def __init__(
        self,
        settings: TrainSettings,
        directory: Path | None,
        provenance: dict[str, Any],
        hooks: TrainingHooks,
        seconds: float | None = None,
        most_epochs: int | None = None,
    ):
        self.settings = settings
        self.directory = directory
        self.provenance = provenance
        self._hooks = hooks
        self._stopping = False
        self._saved: float | None = None
        self._seconds = seconds
        self._most_epochs = most_epochs
        self._began = time.perf_counter()
        self._former_seconds = 0.0
        self._elapsed: list[float] = []
        self.best: Network | None = None
        self.best_epoch = BEFORE_TRAINING
        self.best_score = np.inf
        self.waited = 0
        self.reference = np.inf
        self.kept: list[tuple[float, str]] = []
        self.history: list[dict[str, Any]] = []
        self.reason = ""

    def state_dict(self) -> dict[str, Any]:
        """State for a resumed run, as plain values and tensors."""
        return {
            "best_epoch": self.best_epoch,
            "best_score": float(self.best_score),
            "waited": self.waited,
            "reference": float(self.reference),
            "kept": [list(entry) for entry in self.kept],
            "history": self.history,
            "reason": self.reason,
            "seconds": self.elapsed,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state of `state_dict`."""
        self.best_epoch = state_dict["best_epoch"]
        self.best_score = state_dict["best_score"]
        self.waited = state_dict["waited"]
        self.reference = state_dict["reference"]
        self.kept = [(score, name) for score, name in state_dict["kept"]]
        self.history = list(state_dict["history"])
        self.reason = state_dict["reason"]
        self._former_seconds = state_dict.get("seconds", 0.0)
        self._began = time.perf_counter()
        self._write_history()

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Add the best network to the checkpoint of the last."""
        import torch

        if self.best is not None:
            weights = {n: torch.as_tensor(v) for n, v in self.best.weights.items()}
            base = None if self.best.base is None else self.best.base.to_dict()
            checkpoint["trueup_best"] = {"weights": weights, "base": base}

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Restore the best network from the checkpoint."""
        from dataclasses import replace

        from trueup.networks.base.kinds import base_from_dict

        if "trueup_best" in checkpoint:
            best = checkpoint["trueup_best"]
            self.best = replace(
                pl_module.network.template,
                weights={n: v.numpy() for n, v in best["weights"].items()},
                base=base_from_dict(best["base"]),
                provenance=self.provenance,
            )

    def on_train_start(self, trainer: Any, pl_module: NetworkTraining) -> None:
        """Log a summary of the network if requested, and score its linear initialisation."""
        self._hooks.started(pl_module.network, trainer.current_epoch)
        # it was stopped early; a resumed trainer would continue
        trainer.should_stop = bool(self.reason)
        if self.best is None and pl_module.network.template.has_skip:
            # the initial linear network is a candidate too: training must improve on it to be kept
            pl_module.validation_step(None, 0)
            scores, pl_module.scores = pl_module.scores, {}
            self._keep(pl_module, BEFORE_TRAINING, scores)
        if self.settings.callbacks.early_summary and self.directory is not None:
            weights = {n: list(p.shape) for n, p in pl_module.network.named_parameters()}
            count = sum(p.numel() for p in pl_module.network.parameters())
            content = {"network": str(pl_module.network), "weights": weights, "parameters": count}
            atomic.write_json(self.directory / "model_summary.json", content)

    @property
    def elapsed(self) -> float:
        """Wall time of the training, with former sessions [s]."""
        return self._former_seconds + time.perf_counter() - self._began

    def on_train_batch_end(self, trainer: Any, pl_module: NetworkTraining, *more: Any) -> None:
        """Check for requests to stop; ``stop_now`` and the time limit end the epoch in progress."""
        if self._hooks.stop_at_once():
            raise StopTraining
        if self._seconds is not None and self.elapsed >= self._seconds:
            # the network of an unfinished epoch is a candidate too
            pl_module.validation_step(None, 0)
            scores, pl_module.scores = pl_module.scores, {}
            self._keep(pl_module, trainer.current_epoch, scores)
            self.reason = TIME_LIMIT
            raise StopTraining
        self._stopping = self._stopping or self._hooks.stop()

    def on_train_epoch_end(self, trainer: Any, pl_module: NetworkTraining) -> None:
        """Score the epoch, keep the best, check for the end, save.

        The first epoch of a session and the last before an end or a stop are always saved, so that
        a run resumes there.
        """
        epoch, last = trainer.current_epoch, trainer.current_epoch + 1 >= trainer.max_epochs
        scores, pl_module.scores = pl_module.scores, {}
        entry: dict[str, Any] = {"epoch": epoch, "train_loss": pl_module.training_loss, **scores}
        if self.settings.callbacks.learning_rate_monitor:
            entry["learning_rate"] = pl_module.learning_rate
        self.history.append(entry)
        words = f"epoch {epoch + 1} of {trainer.max_epochs}"
        if scores:
            self._keep(pl_module, epoch, scores)
            words += f", validation RMSE {scores['val_rmse_epoch']:.4g} N m"
            if self._is_enough(epoch, scores) or self._fit_into_time(trainer, pl_module):
                trainer.should_stop = True
            last = trainer.should_stop or epoch + 1 >= trainer.max_epochs
        self._hooks.epoch(entry)
        self._hooks.progress(words, (epoch + 1) / trainer.max_epochs)
        if self.directory is not None:
            self._append(self.directory / HISTORY, json.dumps(entry) + "\n")
            if last or self._stopping or self._is_due():
                self._save(trainer)
        if self._stopping and not last:
            raise StopTraining

    def _fit_into_time(self, trainer: Any, module: NetworkTraining) -> bool:
        """Set the number of epochs that fill the time limit; returns whether this is the last one.

        The schedule of the learning rate ends with the last epoch, also on a machine that is slower
        or faster than planned.
        """
        if self._seconds is None:
            return False
        self._elapsed = [*self._elapsed, self.elapsed][-PACE_WINDOW:]
        done, most = trainer.current_epoch + 1, self._most_epochs
        every = self.settings.check_val_every_n_epoch or 1
        epochs = epochs_within(done, self._elapsed, trainer.max_epochs, most, every, self._seconds)
        trainer.fit_loop.max_epochs = module.max_epochs = epochs
        if epochs == done and (most is None or done < most):
            self.reason = TIME_LIMIT
        return epochs == done

    def _keep(self, module: NetworkTraining, epoch: int, scores: dict[str, float]) -> None:
        settings = self.settings.checkpointing
        score = _signed(scores[settings.monitor], settings.mode)
        if score < self.best_score or self.best is None:
            self.best, self.best_epoch, self.best_score = self._network(module), epoch, score
            if self.directory is not None:
                save_network(self.best, self.directory / BEST)
        if self.directory is None or epoch == BEFORE_TRAINING:
            return
        worst = max((entry[0] for entry in self.kept), default=np.inf)
        if len(self.kept) < settings.save_top_k or score < worst:
            stem = settings.filename.format(epoch=epoch, **scores)
            folder = self.directory / "checkpoints"
            name = f"{stem}.safetensors"
            save_network(self._network(module), folder / name)
            self.kept = sorted([e for e in self.kept if e[1] != name] + [(score, name)])
            for _, old in self.kept[settings.save_top_k :]:
                (folder / old).unlink(missing_ok=True)
            self.kept = self.kept[: settings.save_top_k]

    def _is_enough(self, epoch: int, scores: dict[str, float]) -> bool:
        settings = self.settings.early_stopping
        if not settings.active:
            return False
        score = _signed(scores[settings.monitor], settings.mode)
        self.waited += 1
        if score < self.reference - settings.min_delta:
            self.reference, self.waited = score, 0
        if settings.verbose:
            self._hooks.log({"event": "early_stopping", "epoch": epoch, "waited": self.waited})
        threshold = settings.stopping_threshold
        if threshold is not None and score <= _signed(threshold, settings.mode):
            self.reason = f"{settings.monitor} reached {threshold:g}"
        else:
            assert settings.patience is not None  # set by the schedule
            if self.waited >= settings.patience:
                self.reason = f"no improvement in {self.waited} validations"
        return bool(self.reason)

    def _is_due(self) -> bool:
        if self._saved is None:
            return True
        return time.monotonic() - self._saved >= self.settings.checkpointing.every_seconds

    def _network(self, module: NetworkTraining) -> Network:
        return module.network.to_network(self.provenance)

    def _save(self, trainer: Any) -> None:
        assert self.directory is not None
        trainer.save_checkpoint(self.directory / "checkpoints" / LAST)
        self._saved = time.monotonic()

    def _write_history(self) -> None:
        if self.directory is not None:
            lines = "".join(json.dumps(entry) + "\n" for entry in self.history)
            atomic.write_text(self.directory / HISTORY, lines)

    def _append(self, path: Path, line: str) -> None:
        """Append a line; where the disk is full, a partial line is removed."""
        size = path.stat().st_size if path.exists() else 0
        try:
            with path.open("ab", buffering=0) as file:
                written = file.write(line.encode())
            if written != len(line.encode()):  # the disk is full
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            if path.exists():
                os.truncate(path, size)
            raise RunDirectoryError(
                f"cannot write {path}: {error.strerror or error}. Check the free space and the "
                "permissions of the folder"
            ) from error


def _signed(score: float, mode: str) -> float:
    return score if mode == "min" else -score
