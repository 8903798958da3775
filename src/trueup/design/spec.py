"""Spec of the design of a recording: experiment, last run, and search."""

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import field_validator

from trueup._seeds import check_count, check_seed
from trueup.design.search_settings import SECONDS
from trueup.errors import ExperimentError
from trueup.runs.loop.budget import Budget
from trueup.runs.spec import InputPath, OnResume, Spec
from trueup.sysid.experiment.settings import Experiment

_LARGEST_LIBRARY = 1_000_000


class RecordingDesignSpec(Spec):
    """Common spec of designs of a robot and of a servo on its bench.

    Attributes:
      after: run directory of the last recording's fit; None without one.
      predicted: run directory of the design of that recording, to compare with its result.
      anyway: accept runs with the verdict "do not use", or with changed inputs; every
        output records this.
      library: number of pieces of the library; None until the time of the search determines it.
      polish: evaluated designs per round of the polish of a piece.
      turns: rounds of the polish over all pieces, if the limits allow.
    """

    known_limits: ClassVar[tuple[str, ...]] = ("max_seconds", "max_evaluations")

    limits: Annotated[Budget, OnResume.FORMER] = Budget(max_seconds=SECONDS)
    after: Annotated[InputPath | None, OnResume.CALL]
    predicted: Annotated[InputPath | None, OnResume.CALL] = None
    anyway: Annotated[bool, OnResume.CALL] = False
    library: Annotated[int | None, OnResume.FORMER] = None
    polish: Annotated[int, OnResume.FORMER] = 60
    turns: Annotated[int, OnResume.FORMER] = 20

    @field_validator("library")
    @classmethod
    def _whole_library(cls, value: int | None) -> int | None:
        if value is not None:
            check_count("the library of pieces", value, 1, _LARGEST_LIBRARY, ExperimentError)
        return value

    @field_validator("seed")
    @classmethod
    def _sound_seed(cls, value: int | None) -> int | None:
        if value is not None:
            check_seed(value, ExperimentError)
        return value

    def paths(self) -> list[Path]:
        # the prediction is compared before its folder may be replaced
        return [path for path in super().paths() if path != self.predicted]


class DesignSpec(RecordingDesignSpec):
    """Spec of the design of a robot's next recording.

    Attributes:
      folder: base folder of the file names of the experiment.
      experiment: the experiment; its ``design`` has duration and limits.
    """

    kind: ClassVar[str] = "design"
    noun: ClassVar[str] = "a design of a recording"
    function: ClassVar[str] = "trueup.design.design"
    format_version: ClassVar[int] = 2

    after: Annotated[InputPath | None, OnResume.CALL] = None
    folder: Annotated[InputPath, OnResume.CALL]
    experiment: Experiment

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        folder: str | os.PathLike[str],
        after: str | os.PathLike[str] | None = None,
        *,
        predicted: str | os.PathLike[str] | None = None,
        seed: int | None = None,
        **search: Any,
    ) -> "DesignSpec":
        """Spec of a design for an experiment.

        Args:
          experiment: the experiment.
          folder: base folder of its file names.
          after: run of the last recording, for values, knowledge and noise.
          predicted: run directory of the design of that recording.
          seed: random seed; None: that of the experiment.
          search: other fields.

        Raises:
          ExperimentError: a number is out of range.
        """
        return cls(
            name=experiment.name,
            experiment=experiment,
            folder=Path(folder),
            after=None if after is None else Path(after),
            predicted=None if predicted is None else Path(predicted),
            seed=experiment.seed if seed is None else seed,
            **search,
        )

    @classmethod
    def from_dict(cls, content: dict[str, Any], directory: Path, folder: Path | None) -> Self:
        if folder is None:
            return super().from_dict(content, directory, None)
        # the files of the experiment have moved together, to the given folder
        moved = {**content, "folder": str(folder.absolute())}
        return super().from_dict(moved, directory, folder).model_copy(update={"folder": folder})

    def paths(self) -> list[Path]:
        return [*super().paths(), self.folder / self.experiment.model.file]

    def identity(self) -> dict[str, Any]:
        return {**self.experiment.model_dump(mode="json"), "seed": self.seed}
