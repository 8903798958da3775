"""Trackers of a training: one record per network or fold, one step per epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.networks.training.configuration import TrainingConfiguration
from trueup.networks.training.hooks import TrainingHooks
from trueup.networks.training.schedule import STEPS
from trueup.runs.store.event_log import EventLog
from trueup.runs.trackers import TrackedRun, WandbTracker, make_trackers
from trueup.runs.trackers.tracker import Trackers


class SplitTrackers:
    """The record of one split in the trackers of a configuration.

    A failure of a tracker does not stop a training. The members of an ensemble are consecutive in
    one record, ``max_epochs`` steps apart.

    Args:
      configuration: configuration of the training.
      split: name of the split.
      folder: output folder of the split.
      config: plain data shown with the record.
      log: log for failures of a tracker.

    Raises:
      MissingExtraError: the package of a tracker is not installed.
    """

    def __init__(
        self,
        configuration: TrainingConfiguration,
        split: str,
        folder: Path,
        config: Mapping[str, Any],
        log: EventLog,
    ):
        self._settings = settings = configuration.wandb
        self._epochs = configuration.train.max_epochs or STEPS
        run = folder.parent.name if folder.name.startswith("fold_") else folder.name
        self._record = TrackedRun(
            folder=folder,
            name="-".join(filter(None, (run, split, settings.name_suffix))),
            config=config,
            group="-".join(filter(None, (run, settings.group_suffix))),  # shared by the folds
            step_name="epoch",
        )
        chosen = make_trackers(set(configuration.trackers) - {"wandb"})
        if settings.active or "wandb" in configuration.trackers:
            chosen = [WandbTracker(settings.project, entity=settings.entity or None), *chosen]
        self._trackers = Trackers(chosen, log)
        self._begun = False

    def following(self, hooks: TrainingHooks, member: int) -> TrainingHooks:
        """Hooks that also record the training of a member, with its index from zero."""
        before = member * self._epochs

        def started(module: Any, epochs: int) -> None:
            hooks.started(module, epochs)
            self._begin(before + epochs)
            if self._settings.watch_log_freq:
                self._trackers.tell("watch", module, self._settings.watch_log_freq)

        def epoch(entry: dict[str, Any]) -> None:
            hooks.epoch(entry)
            values = {k: float(v) for k, v in entry.items() if k != "epoch" and v is not None}
            finite = {name: value for name, value in values.items() if np.isfinite(value)}
            self._trackers.tell("log", before + entry["epoch"], finite)

        return replace(hooks, started=started, epoch=epoch)

    def end(self, metrics: Mapping[str, Any], members: int, files: Sequence[Path] = ()) -> None:
        """Record the scores of all members and the exported files; close the record."""
        self._begin(members * self._epochs)  # in case a resumed run had nothing to train
        scores = {key: value for key, value in metrics.items() if not isinstance(value, list)}
        for file in files:
            self._trackers.tell("add_file", file)
        self._trackers.tell("finish", scores)

    def _begin(self, step: int) -> None:
        if not self._begun:
            self._trackers.tell("begin", replace(self._record, first_step=step))
            self._begun = True
