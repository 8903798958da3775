"""Logs and servo of a run of servo logs, as fields of its spec."""

from typing import Annotated, Any

from pydantic import Field, InstanceOf

from trueup.actuators.catalogue.entries import servos, use_catalogue
from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.run_logs import Logs, RunLogs
from trueup.errors import RunDirectoryError, listing
from trueup.runs.spec import InputPath, OnResume, Spec
from trueup.runs.store.run_directory import RunDirectory

# An object in Python is that of the earlier run, unless that run stored it in no file.
_AT_HAND = OnResume.FORMER


class LogsSpec(Spec):
    """Spec of a run of servo logs.

    Attributes:
      actuator: name of the servo; None if parameter files or logs name it.
      log_paths: folder of the logs, or their files; empty if they are in no file.
      skip_bad_logs: skip unusable logs.
      catalogue: YAML file with additional servos.
      logs: evenly sampled logs, if passed as objects in Python.
      servo: servo, if passed as an object in Python.
    """

    actuator: str | None
    log_paths: Annotated[tuple[InputPath, ...], OnResume.FORMER] = ()
    skip_bad_logs: Annotated[bool, OnResume.FORMER] = False
    catalogue: Annotated[InputPath | None, OnResume.FORMER] = None
    logs: Annotated[tuple[InstanceOf[ServoLog], ...] | None, _AT_HAND, Field(exclude=True)] = None
    servo: Annotated[InstanceOf[Servo] | None, _AT_HAND, Field(exclude=True)] = None

    def only_in_python(self) -> tuple[str, ...]:
        found = ["logs"] if self.logs is not None and not self.log_paths else []
        if self.servo is not None and servos().get(self.servo.name) != self.servo:
            found.append("servo")
        return tuple(found)

    @property
    def servo_or_name(self) -> Servo | str | None:
        """Servo object, or its name in the catalogue."""
        return self.actuator if self.servo is None else self.servo

    def load_catalogue(self) -> None:
        """Register the servos of the catalogue file."""
        use_catalogue(self.catalogue)

    def run_logs(self) -> RunLogs:
        """Reader of the logs; reads nothing yet."""
        if self.logs is not None:
            return RunLogs(self.logs, self.skip_bad_logs, in_files=bool(self.log_paths))
        one = len(self.log_paths) == 1  # may be a folder
        return RunLogs(self.log_paths[0] if one else self.log_paths, self.skip_bad_logs)

    def check_report(self, directory: RunDirectory) -> None:
        """Raise RunDirectoryError if no report can be made from the files of a run."""
        if self.lacking:
            raise RunDirectoryError(
                f"the {listing(self.lacking)} of {directory.path} were objects in Python and are "
                f"not in any file: only the report that the run wrote exists, {directory.report}"
            )


def fields_of(servo: str | Servo | None, logs: Logs) -> dict[str, Any]:
    """Fields of a spec from the servo and logs of a call in Python.

    Logs that are identical to their files are referenced by these files.
    """
    found = RunLogs(logs)
    paths = found.files() if found.in_files else ()
    return {
        **fields_of_servo(servo),
        "log_paths": tuple(paths),
        "logs": tuple(found.logs) if found.place is None else None,
    }


def fields_of_servo(servo: str | Servo | None) -> dict[str, Any]:
    """Fields of a spec for a servo, or its name in the catalogue."""
    if isinstance(servo, Servo):
        return {"actuator": servo.name, "servo": servo}
    return {"actuator": servo, "servo": None}
