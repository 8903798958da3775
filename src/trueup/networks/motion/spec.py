"""What the training of a correction is of: base, logs, and how they are split."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field, SkipValidation

from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.run_logs import Logs, RunLogs
from trueup.networks.motion.base import Joint, MotionBase
from trueup.networks.motion.settings import MotionSettings
from trueup.runs.spec import InputPath, OnResume, Serialised, Spec


class MotionSpec(Spec):
    """What the training of a correction of a joint's torque by its motion is of.

    Attributes:
      base: model beneath the correction.
      settings: of network and training.
      test_kp: gains whose logs test, as logs state them.
      test: trajectories or logs that test.
      validation: trajectories or logs that the correction is chosen by.
      logdir: folder of the logs, or their one file; None where several files are given.
      logs: files of the logs; None where ``logdir`` is given, or no file holds the logs.
      logs_at_hand: the logs, where a call in Python has them at hand.
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
    # their hashes are compared on resume
    logdir: Annotated[InputPath | None, OnResume.CALL] = None
    logs: Annotated[tuple[InputPath, ...] | None, OnResume.CALL] = None
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
    ) -> "MotionSpec":
        """The spec of a base, see ``train_motion``, and of logs or where they are.

        Raises:
          FitError: there is no base of that name.
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
            logs_at_hand=at_hand,
        )

    def only_in_python(self) -> tuple[str, ...]:
        return ("logs",) if self.logdir is None and self.logs is None else ()

    def run_logs(self) -> RunLogs:
        """The logs; they are read when they are used first."""
        if self.logs_at_hand is not None:
            return RunLogs(list(self.logs_at_hand), uniform=False)
        return RunLogs(self.logdir or list(self.logs or ()), uniform=False)
