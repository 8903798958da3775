"""What the design of a servo's next logs is of: the fit, what may be recorded, and the search."""

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar

from trueup.design.bench.choices import BenchChoices
from trueup.design.bench.limits import BenchLimits
from trueup.design.spec import RecordingDesignSpec
from trueup.knowledge.drawn_run import run_directory_of
from trueup.runs.spec import InputPath, OnResume, Serialised

LIBRARY, POLISH, TURNS = 1200, 240, 8
"""Pieces of the library, designs of a turn of the polish of a log, and turns."""


class BenchDesignSpec(RecordingDesignSpec):
    """What the design of a servo's next logs is of.

    Attributes:
      after: run directory of the servo fit.
      choices: what may be recorded.
      motion_limits: limits of the motion.
      target: largest relative interval at which the search ends; None: it searches to its limits.
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
        """The spec of a design that follows a servo fit.

        Args:
          run: run directory of a finished servo fit, or its parameter file.
          choices: what may be recorded.
          motion_limits: limits of the motion; those of a recording where None.
          predicted: run directory of the design of its logs.
          library: logs of the library.
          seed: seed of everything random; 0 where None.
          search: further fields.

        Raises:
          ExperimentError: a number is out of its range.
          RunDirectoryError: the parameter file is of no run.
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
        # however the fit is named, it is the same one
        return {**super().identity(), "after": str(self.after.resolve())}
