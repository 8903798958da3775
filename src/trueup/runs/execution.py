"""Where candidates are evaluated and who follows a run; nothing of it changes the history."""

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
    """Where a run evaluates its candidates, and the trackers that follow it.

    A resumed run takes over what it was started with, unless other values are given.
    """

    workers: int | None = None
    """Processes that evaluate candidates (threads, of a servo fit); 0: one a core; None: this
    process."""
    scheduler: str | None = None
    """Address of a Dask scheduler, such as ``tcp://host:8786``, or ``local``."""
    storage: str | None = None
    """Optuna storage that the finished search is written into, such as ``sqlite:///study.db``."""
    load_study: str | None = None
    """Name of a study in ``storage`` that a servo fit starts from and adds its trials to."""
    trackers: tuple[str, ...] = ()
    """Trackers by name, see :data:`trueup.runs.trackers.TRACKERS`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``experiment.yaml``; an address with a password is left out."""
        record = dataclasses.asdict(self)
        if record["storage"] and mask(record["storage"]) != record["storage"]:
            record["storage"] = None
        chosen = record.pop("trackers")
        return {**record, **{name: name in chosen for name in TRACKERS}}

    def with_former(self, record: Mapping[str, Any]) -> "Execution":
        """This execution, completed by the :meth:`to_dict` of an earlier sitting."""
        known = {field.name for field in dataclasses.fields(self)} - {"trackers"}
        if self.workers is not None or self.scheduler is not None:
            known -= {"workers", "scheduler"}
        changes = {k: record.get(k) for k in known if not getattr(self, k) and record.get(k)}
        trackers = tuple(n for n in TRACKERS if n in self.trackers or record.get(n))
        return dataclasses.replace(self, **changes, trackers=trackers)

    def check(self, name: str, space: Space, objectives: Sequence[str]) -> None:
        """Raise where the settings contradict each other, or something they name is missing.

        Args:
          name: name of the run and of its study in a storage.
          space: the unknowns.
          objectives: names of the costs.

        Raises:
          FitError: a study to load, and no storage.
          StorageError: the storage cannot be reached, has a study of that name, or the study to
            load is of another problem.
          EvaluationError: the scheduler cannot be reached.
          MissingExtraError: a package is not installed.
        """
        if self.load_study and not self.storage:
            raise FitError("--load-study names a study of a storage: give the --storage too")
        if self.storage:
            from trueup.runs.optuna_storage._export_study import check_new_study

            check_new_study(self.storage, name, self.load_study, space.names, objectives)
        self.make_trackers()

    def check_evaluator(self) -> None:
        """Raise EvaluationError where the evaluator cannot be reached."""
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
          FitError: there is no tracker of a name.
          MissingExtraError: a package that one needs is not installed.
        """
        if unknown := [each for each in self.trackers if each not in TRACKERS]:
            raise FitError(f"there is no tracker {listing(unknown)}; there are {listing(TRACKERS)}")
        return list(make_trackers(self.trackers))
