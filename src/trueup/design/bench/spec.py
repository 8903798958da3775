"""Spec of the design of a servo's next logs: fit, available conditions, and search."""

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar

from trueup.design.bench.choices import BenchChoices
from trueup.design.bench.limits import BenchLimits
from trueup.design.spec import RecordingDesignSpec
from trueup.knowledge.drawn_run import run_directory_of
from trueup.runs.spec import InputPath, OnResume, Serialised

LIBRARY, POLISH, TURNS = 1200, 240, 8
"""Pieces of the library, designs per round of the polish of a log, and rounds."""


class BenchDesignSpec(RecordingDesignSpec):
    """Spec of the design of a servo's next logs.

    Attributes:
      after: run directory of the servo fit.
      choices: available conditions.
      motion_limits: limits of the motion.
      target: largest relative interval at which the search ends; None: no such end.
    """

    kind: ClassVar[str] = "bench design"
    noun: ClassVar[str] = "a design of a servo's logs"
    function: ClassVar[str] = "trueup.design.design_bench"
    format_version: ClassVar[int] = 2

    seed: int = 0
    after: InputPath
    library: Annotated[int, OnResume.FORMER] = LIBRARY
    polish: Annotated[int, OnResume.FORMER] = POLISH
    turns: Annotated[int, OnResume.FORMER] = TURNS
    choices: Annotated[BenchChoices, Serialised()] = BenchChoices()
    motion_limits: Annotated[BenchLimits, Serialised()] = BenchLimits()
    target: float | None = None

    @classmethod
    def of(
        cls,
        run: str | os.PathLike[str],
        choices: BenchChoices | None = None,
        motion_limits: BenchLimits | None = None,
        *,
        predicted: str | os.PathLike[str] | None = None,
        library: int | None = None,
        seed: int | None = None,
        **search: Any,
    ) -> "BenchDesignSpec":
        """Spec of a design after a servo fit.

        Args:
          run: run directory of a finished servo fit, or its parameter file.
          choices: available conditions.
          motion_limits: limits of the motion; None: those of a recording.
          predicted: run directory of the design of its logs.
          library: logs of the library.
          seed: random seed; None: 0.
          search: other fields.

        Raises:
          ExperimentError: a number is out of range.
          RunDirectoryError: the parameter file does not belong to a run.
        """
        after = run_directory_of(run)
        return cls(
            name=after.stem,
            after=after,
            choices=choices or BenchChoices(),
            motion_limits=motion_limits or BenchLimits(),
            predicted=None if predicted is None else Path(predicted),
            library=LIBRARY if library is None else library,
            seed=0 if seed is None else seed,
            **search,
        )

    def identity(self) -> dict[str, Any]:
        # the identity does not depend on how the fit is named
        return {**super().identity(), "after": str(self.after.resolve())}
