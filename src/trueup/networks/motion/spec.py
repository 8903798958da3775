"""Spec of the training of a correction: base, logs and their split."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, SkipValidation

from trueup.actuators.catalogue.entries import use_catalogue
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.run_logs import Logs, RunLogs
from trueup.networks.motion.base import Joint, MotionBase
from trueup.networks.motion.settings import MotionSettings
from trueup.runs import RunDirectory
from trueup.runs.kinds import kind_of
from trueup.runs.spec import InputPath, OnResume, Place, Serialised, Spec


class MotionSpec(Spec):
    """Spec of the training of a torque correction of a joint on its motion.

    Attributes:
      base: base model of the correction.
      settings: settings of network and training.
      test_kp: gains of the test logs.
      test: trajectories or logs of the test part.
      validation: trajectories or logs for validation.
      logdir: folder of the logs, or a single file; None where several files are given.
      logs: files of the logs; None where ``logdir`` is given, or the logs are in memory only.
      catalogue: YAML file with the servo of the base, if it is not a known one.
      logs_at_hand: logs in memory, given by a call in Python.
    """

    kind: ClassVar[str] = "motion"
    noun: ClassVar[str] = "a training through the simulator"
    function: ClassVar[str] = "trueup.networks.run_motion_training"
    format_version: ClassVar[int] = 2
    known_limits: ClassVar[tuple[str, ...]] = ()
    searched: ClassVar[bool] = False

    base: Annotated[MotionBase, Serialised()]
    settings: Annotated[MotionSettings, Serialised()] = MotionSettings()
    test_kp: tuple[float, ...] = ()
    test: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    # resuming compares their hashes
    logdir: Annotated[InputPath | None, OnResume.CALL] = None
    logs: Annotated[tuple[InputPath, ...] | None, OnResume.CALL] = None
    catalogue: Annotated[InputPath | None, OnResume.FORMER] = None
    logs_at_hand: Annotated[
        SkipValidation[tuple[ServoLog, ...] | None], OnResume.CALL, Field(exclude=True)
    ] = None

    @classmethod
    def of(
        cls,
        base: Joint | MotionBase | str,
        logs: Logs,
        settings: MotionSettings | None = None,
        *,
        name: str = "motion",
        test_kp: Sequence[float] = (),
        test: Sequence[str] = (),
        validation: Sequence[str] = (),
        catalogue: Path | None = None,
    ) -> "MotionSpec":
        """The spec from a base, see ``train_motion``, and logs or their paths.

        Raises:
          FitError: unknown name of the base.
        """
        settings, source = settings or MotionSettings(), RunLogs(logs, uniform=False)
        at_hand = tuple(source.logs) if source.place is None else None
        one_path = source.place is not None and not isinstance(source.place, list)
        in_files = source.place is not None or source.in_files
        return cls(
            name=name,
            seed=settings.seed,
            base=MotionBase.of(base),
            settings=settings,
            test_kp=tuple(test_kp),
            test=tuple(test),
            validation=tuple(validation),
            logdir=source.files()[0] if one_path else None,
            logs=tuple(source.files()) if in_files and not one_path else None,
            catalogue=catalogue,
            logs_at_hand=at_hand,
        )

    @classmethod
    def from_dict(cls, content: dict[str, Any], directory: Path, folder: Path | None) -> Self:
        """The spec of a run; its servo is registered first, because the base is of it."""
        if (catalogue := content.get("catalogue")) is not None:
            use_catalogue(Place(directory, folder).found(str(catalogue)))
        # runs of former versions had servos of the package only
        return super().from_dict({"catalogue": None, **content}, directory, folder)

    def only_in_python(self) -> tuple[str, ...]:
        return ("logs",) if self.logdir is None and self.logs is None else ()

    def run_logs(self) -> RunLogs:
        """The logs, read on first use."""
        if self.logs_at_hand is not None:
            return RunLogs(list(self.logs_at_hand), uniform=False)
        return RunLogs(self.logdir or list(self.logs or ()), uniform=False)


def is_motion_run(path: Path) -> bool:
    """Whether a path is the run directory of a training through the simulator."""
    if not (path / "experiment.yaml").is_file():
        return False
    return kind_of(RunDirectory.open(path)) in (MotionSpec.kind, "model motion")
