"""Spec of a training of a network: its configuration and the paths of its recordings."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from trueup.errors import RunDirectoryError
from trueup.networks.training.configuration import TrainingConfiguration
from trueup.networks.training.run_files import KIND, recorded_data_folder
from trueup.networks.training.run_recordings import data_folder
from trueup.runs import RunInterrupted
from trueup.runs.spec import InputPath, OnResume, Serialised, Spec


class TrainingInterrupted(RunInterrupted):
    """Training was stopped; the best network so far is saved, and the run can be resumed."""


class TrainingSpec(Spec):
    """Spec of a training of a network.

    Attributes:
      data_from_run: folder of the recordings; in ``experiment.yaml`` relative to the run, as both
        may move together.
      data_folder: the same as an absolute path, for a run that was moved alone.
      configuration: checked configuration; in a run read from disk the recordings have absolute
        paths.
    """

    kind: ClassVar[str] = KIND
    noun: ClassVar[str] = "the training of a network"
    function: ClassVar[str] = "trueup.networks.train"
    format_version: ClassVar[int] = 2
    known_limits: ClassVar[tuple[str, ...]] = ()
    searched: ClassVar[bool] = False
    interruption: ClassVar[type[RunInterrupted]] = TrainingInterrupted

    data_from_run: Annotated[InputPath, OnResume.CALL]
    data_folder: Annotated[Path, OnResume.CALL]
    configuration: Annotated[TrainingConfiguration, Serialised(), OnResume.CALL]

    @classmethod
    def of(cls, configuration: TrainingConfiguration, name: str) -> "TrainingSpec":
        """The spec of a configuration and a name of the run."""
        data = data_folder(configuration).resolve()
        return cls(
            name=name,
            seed=configuration.seed,
            data_from_run=data,
            data_folder=data,
            configuration=configuration,
        )

    @classmethod
    def from_dict(cls, content: dict[str, Any], directory: Path, folder: Path | None) -> Self:
        """The spec of a run, with the current paths of its recordings.

        That is ``folder``, or a folder of their name within it, if given; else their original path
        relative to the run, or the absolute one.
        """
        values = content.get("configuration", {"data": {}})
        data = values.get("data") if isinstance(values, dict) else None
        if not isinstance(values, dict) or not isinstance(data, dict):
            raise RunDirectoryError(
                f"{directory / 'experiment.yaml'} is damaged: missing 'configuration.data'. "
                "Restore it from a copy, or restart the run with --overwrite"
            )
        if "configuration" in content and isinstance(content.get("data_from_run"), str):
            place = recorded_data_folder(directory, content)
            if folder is not None:
                place = folder / place.name if (folder / place.name).is_dir() else folder
            found = str(place.absolute())
            read = {**values, "data": {**data, "data_base_dir": found}, "work_dir": None}
            content = {
                **content, "data_from_run": found, "data_folder": found, "configuration": read
            }  # fmt: skip
        return super().from_dict(content, directory, None)
