"""Description of an identification: an experiment, and the folder of its files."""

import os
from pathlib import Path
from typing import Any, ClassVar, Self

from trueup.errors import RunDirectoryError, TrueupError
from trueup.runs.loop.budget import Budget
from trueup.runs.spec import Spec
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.experiment.run_inputs import inputs_of_run, named_files
from trueup.sysid.experiment.settings import Experiment

_FREE_ON_RESUME: Any = {"output": ..., "confidence": ..., "design": ..., "search": {"time_limit"}}
"""Keys of an experiment without effect on the fit."""


class IdentificationSpec(Spec):
    """Description of an identification.

    Its ``experiment.yaml`` is an experiment file with all settings, and the folder to which its
    file names are relative.

    Attributes:
      experiment: models, recordings, parameters and settings of the fit; name, seed and limits
        are those of the experiment.
      folder: folder to which its file names are relative.
    """

    kind: ClassVar[str] = "identification"
    noun: ClassVar[str] = "an identification"
    function: ClassVar[str] = "trueup.sysid.identify"
    known_limits: ClassVar[tuple[str, ...]] = ("max_seconds",)
    limits_of_call: ClassVar[bool] = False

    experiment: Experiment
    folder: Path

    @classmethod
    def of(cls, experiment: Experiment, folder: str | os.PathLike[str] = ".") -> Self:
        """Spec of an experiment with file names relative to a folder."""
        return cls(
            name=experiment.name,
            seed=experiment.seed,
            limits=Budget(max_seconds=experiment.search.time_limit),
            experiment=experiment,
            folder=Path(folder),
        )

    def run_directory(self, output: str | os.PathLike[str] | None = None) -> Path:
        """Run directory: ``output``, or that of the experiment."""
        if output is not None:
            return Path(output)
        return self.folder / (self.experiment.output.directory or f"runs/{self.name}")

    def paths(self) -> list[Path]:
        return [self.folder / name for name in named_files(self.experiment)]

    def to_dict(self, directory: Path) -> dict[str, Any]:
        folder = os.path.relpath(self.folder, directory)
        return {"folder": folder, **self.experiment.model_dump(mode="json")}

    @classmethod
    def from_dict(cls, content: dict[str, Any], directory: Path, folder: Path | None) -> Self:
        run = RunDirectory(directory)
        last = list(Experiment.model_fields)[-1]
        if content.get("kind") and last not in content:
            # a run writes every key: a missing one would silently become its default
            raise RunDirectoryError(
                f"{run.experiment} is damaged: it ends before its last key, {last}"
            )
        try:
            # load from the file, so that messages name its lines
            experiment = load_experiment(run.experiment)
        except TrueupError as error:
            if str(directory) in str(error):
                raise
            raise RunDirectoryError(f"{run.experiment} is damaged: {error}") from error
        return cls.of(*inputs_of_run(run, content.get("folder"), folder, experiment))

    def identity(self) -> dict[str, Any]:
        return self.experiment.model_dump(mode="json", exclude=_FREE_ON_RESUME)

    def resumed_by(self, call: Self) -> Self:
        """The spec of the call; its experiment may differ in keys without effect on the fit."""
        return call

    def with_limits(self, limits: Budget) -> Self:
        limited = super().with_limits(limits)
        search = self.experiment.search.model_copy(
            update={"time_limit": limited.limits.max_seconds}
        )
        experiment = self.experiment.model_copy(update={"search": search})
        return limited.model_copy(update={"experiment": experiment})
