"""What the design of a recording is of: the experiment, the last run, and the search."""

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
    """What designs have in common, whether of a robot or of a servo on its bench.

    Attributes:
      after: run directory of the last recording's fit; None for none.
      predicted: run directory of the design of that recording, to be compared with its result.
      anyway: take runs whose verdict is "do not use", or whose inputs have changed, too; every
        file says so.
      library: pieces of the library; None before the time of the search has chosen them.
      polish: designs that are evaluated for each turn of the polish of a piece.
      turns: turns of the polish over all pieces, if the limits allow so many.
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
        # what was predicted is compared before its folder may be replaced
        return [path for path in super().paths() if path != self.predicted]


class DesignSpec(RecordingDesignSpec):
    """What the design of a robot's next recording is of.

    Attributes:
      folder: folder that the file names of the experiment refer to.
      experiment: the experiment; its ``design`` says how long and within which limits.
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
        """The spec of a design for an experiment.

        Args:
          experiment: the experiment.
          folder: folder that its file names refer to.
          after: run of the last recording, whose values, knowledge and noise are taken.
          predicted: run directory of the design of that recording.
          seed: seed of everything random; that of the experiment where None.
          search: further fields.

        Raises:
          ExperimentError: a number is out of its range.
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
        # the files of the experiment have moved together: it is their folder that is named
        moved = {**content, "folder": str(folder.absolute())}
        return super().from_dict(moved, directory, folder).model_copy(update={"folder": folder})

    def paths(self) -> list[Path]:
        return [*super().paths(), self.folder / self.experiment.model.file]

    def identity(self) -> dict[str, Any]:
        return {**self.experiment.model_dump(mode="json"), "seed": self.seed}
