"""Spec of a training over the joints of a MuJoCo model: an experiment and settings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from trueup.networks.motion.settings import MotionSettings
from trueup.runs import RunDirectory
from trueup.runs.spec import OnResume, OutputPath, Serialised, Spec
from trueup.sysid.experiment.run_inputs import inputs_of_run
from trueup.sysid.experiment.settings import Experiment, OutputPart


class ModelMotionSpec(Spec):
    """Spec of a training of a correction for each joint of a model.

    Attributes:
      folder: folder that the file names of the experiment refer to; in ``experiment.yaml`` relative
        to the run.
      validation: validation recordings, for the choice of the corrections.
      anyway: whether to accept an identified model with inputs changed since its run; every file
        records this.
      settings: settings of networks and training.
      experiment: the experiment; parameters are optional. Its held-out recordings are the test.
    """

    kind: ClassVar[str] = "model motion"
    noun: ClassVar[str] = "a training through the simulator"
    function: ClassVar[str] = "trueup.networks.run_model_training"
    format_version: ClassVar[int] = 2
    known_limits: ClassVar[tuple[str, ...]] = ()
    searched: ClassVar[bool] = False

    # resuming compares its files by their hashes
    folder: Annotated[OutputPath, OnResume.FORMER]
    validation: tuple[str, ...] = ()
    anyway: Annotated[bool, OnResume.FORMER] = False
    settings: Annotated[MotionSettings, Serialised()] = MotionSettings()
    experiment: Experiment

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        folder: Path,
        settings: MotionSettings | None = None,
        *,
        validation: Sequence[str] = (),
        name: str = "",
        anyway: bool = False,
    ) -> "ModelMotionSpec":
        """The spec of an experiment; the name of the experiment is the default name of the run."""
        settings = settings or MotionSettings()
        return cls(
            name=name or experiment.name,
            seed=settings.seed,
            folder=folder,
            validation=tuple(map(str, validation)),
            anyway=anyway,
            settings=settings,
            # the output folder of an identification is irrelevant here
            experiment=experiment.model_copy(update={"output": OutputPart()}),
        )

    @classmethod
    def from_dict(cls, content: dict[str, Any], directory: Path, folder: Path | None) -> Self:
        """The spec of a run; its files are found by their hashes in several folders."""
        spec = super().from_dict(content, directory, folder)
        run, recorded = RunDirectory(directory), content["folder"]
        experiment, place = inputs_of_run(run, recorded, folder, spec.experiment)
        return spec.model_copy(update={"experiment": experiment, "folder": place})
