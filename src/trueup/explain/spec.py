"""Spec of the explanation of a gap: experiment, causes to free, and level."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from trueup.errors import FitError
from trueup.runs.spec import OnResume, OutputPath, Spec
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.experiment.run_inputs import inputs_of_run, named_files
from trueup.sysid.experiment.settings import Experiment


class ExplanationSpec(Spec):
    """Spec of the explanation of a gap.

    Attributes:
      experiment: models and recordings; it requires no parameters. Name and seed are its own.
      folder: base folder of its file names.
      causes: causes to free; empty: all.
      level: coverage of intervals.
      anyway: accept an identified model with changed inputs of its run; every output records this.
    """

    kind: ClassVar[str] = "explanation"
    noun: ClassVar[str] = "the explanation of a gap"
    function: ClassVar[str] = "trueup.explain.explain"
    format_version: ClassVar[int] = 2
    known_limits: ClassVar[tuple[str, ...]] = ()
    searched: ClassVar[bool] = False

    experiment: Experiment
    # a missing folder is no error here: its files are searched one by one
    folder: Annotated[OutputPath, OnResume.FORMER]
    causes: tuple[str, ...] = ()
    level: float = Field(default=0.95, gt=0.5, lt=1)
    anyway: Annotated[bool, OnResume.FORMER] = False

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        folder: str | os.PathLike[str] = ".",
        causes: Sequence[str] = (),
        level: float = 0.95,
        anyway: bool = False,
    ) -> Self:
        """Spec for an experiment with file names relative to a folder.

        Raises:
          FitError: the level is out of range.
        """
        if not 0.5 < level < 1:
            raise FitError(f"the level must be between 0.5 and 1, got {level:g}")
        return cls(
            name=experiment.name,
            seed=experiment.seed,
            experiment=experiment,
            folder=Path(folder),
            causes=tuple(causes),
            level=level,
            anyway=anyway,
        )

    def run_directory(self, output: str | os.PathLike[str] | None = None) -> Path:
        """Run directory: ``output``, or by default next to those of identifications."""
        return Path(output) if output is not None else self.folder / f"runs/{self.name}-explained"

    def paths(self) -> list[Path]:
        return [self.folder / name for name in named_files(self.experiment)]

    @classmethod
    def from_dict(cls, content: dict[str, Any], directory: Path, folder: Path | None) -> Self:
        spec = super().from_dict(content, directory, None)
        run = RunDirectory(directory)
        experiment, place = inputs_of_run(run, content["folder"], folder, spec.experiment)
        return spec.model_copy(update={"experiment": experiment, "folder": place})

    def identity(self) -> dict[str, Any]:
        found = super().identity()
        return {key: value for key, value in found.items() if key != "output"}
