"""Execution settings: evaluators and trackers of a run, without effect on its history."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueup._secrets import mask
from trueup.errors import FitError, listing
from trueup.parameters import Space
from trueup.runs.trackers import TRACKERS, make_trackers


@dataclass(frozen=True)
class Execution:
    """Evaluator and trackers of a run.

    A resumed run keeps its settings, unless other values are given.
    """

    workers: int | None = None
    """Processes that evaluate candidates, threads for a servo fit; 0 uses all cores; by default
    this process alone."""
    scheduler: str | None = None
    """Dask scheduler that evaluates candidates: an address such as tcp://host:8786, or local."""
    storage: str | None = None
    """Optuna storage that the finished search is written into, such as ``sqlite:///study.db``."""
    load_study: str | None = None
    """Name of a study in ``storage`` that a servo fit starts from and adds its trials to."""
    trackers: tuple[str, ...] = ()
    """Trackers by name, such as wandb; a resumed run keeps those that it has."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``experiment.yaml``; an address with a password is omitted."""
        record = dataclasses.asdict(self)
        if record["storage"] and mask(record["storage"]) != record["storage"]:
            record["storage"] = None
        chosen = record.pop("trackers")
        return {**record, **{name: name in chosen for name in TRACKERS}}

    def with_former(self, record: Mapping[str, Any]) -> "Execution":
        """This execution, completed by the :meth:`to_dict` of an earlier session."""
        known = {field.name for field in dataclasses.fields(self)} - {"trackers"}
        if self.workers is not None or self.scheduler is not None:
            known -= {"workers", "scheduler"}
        changes = {k: record.get(k) for k in known if not getattr(self, k) and record.get(k)}
        former = [name for name in TRACKERS if record.get(name)]
        trackers = tuple(dict.fromkeys((*former, *self.trackers)))
        return dataclasses.replace(self, **changes, trackers=trackers)

    def check(self, name: str, space: Space, objectives: Sequence[str]) -> None:
        """Check that the settings are consistent and their resources exist.

        Args:
          name: name of the run and of its study in a storage.
          space: the unknowns.
          objectives: names of the costs.

        Raises:
          FitError: a study to load without a storage.
          StorageError: the storage cannot be reached, has a study of that name, or the study to
            load is of another problem.
          EvaluationError: the scheduler cannot be reached.
          MissingExtraError: a package is not installed.
        """
        if self.load_study and not self.storage:
            raise FitError("--load-study requires --storage")
        if self.storage:
            from trueup.runs.optuna_storage._export_study import check_new_study

            check_new_study(self.storage, name, self.load_study, space.names, objectives)
        self.make_trackers()

    def check_evaluator(self) -> None:
        """Raise EvaluationError if the evaluator cannot be reached."""
        evaluator = self.evaluator()
        if hasattr(evaluator, "check"):
            evaluator.check()

    def evaluator(self) -> Any:
        """The evaluator of candidates."""
        from trueup.runs.evaluators import make_evaluator

        return make_evaluator(1 if self.workers is None else self.workers, self.scheduler)

    def make_trackers(self) -> list[Any]:
        """The trackers of a run.

        Raises:
          FitError: unknown tracker.
          MissingExtraError: a package of a tracker is not installed.
        """
        if unknown := [each for each in self.trackers if each not in TRACKERS]:
            raise FitError(f"unknown tracker {listing(unknown)}; available: {listing(TRACKERS)}")
        return list(make_trackers(self.trackers))
