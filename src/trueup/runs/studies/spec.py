"""Description of a study: problem, search and start."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from trueup.fitting import Problem
from trueup.runs.loop.budget import Budget
from trueup.runs.spec import InputPath, OnResume, Spec
from trueup.runs.studies.named_problem import NamedProblem, named_problem
from trueup.runs.studies.settings import StudySettings, resolved_method


class StudySpec(Spec):
    """Spec of a study.

    Attributes:
      problem: test problem, or function in ``file``; empty for a Python object.
      file: Python file of the function.
      dimension: number of parameters of a test problem, or argument of the function.
      settings: settings of the search; the method is resolved.
      start: start values by name; None before the first call has resolved them.
      start_from: earlier result with the start values.
      named: the problem, if passed from Python.
    """

    kind: ClassVar[str] = "study"
    noun: ClassVar[str] = "a study"
    function: ClassVar[str] = "trueup.runs.study"
    format_version: ClassVar[int] = 2

    problem: str = ""
    file: Annotated[InputPath | None, OnResume.FORMER] = None
    dimension: Annotated[int | None, OnResume.FORMER] = None
    settings: StudySettings = StudySettings()
    start: Annotated[dict[str, float] | None, OnResume.FORMER] = None
    start_from: Annotated[Path | None, OnResume.FORMER, Field(exclude=True)] = None
    named: Annotated[NamedProblem | None, OnResume.CALL, Field(exclude=True)] = None

    @classmethod
    def of(
        cls,
        problem: str | Callable[..., Any] | Problem,
        settings: StudySettings | None = None,
        limits: Budget | None = None,
        *,
        dimension: int | None = None,
        start: str | os.PathLike[str] | None = None,
        name: str | None = None,
    ) -> "StudySpec":
        """Spec of a study of a problem in any form of :func:`named_problem`.

        Raises:
          ExperimentError: unknown problem.
        """
        named, settings = named_problem(problem, dimension), settings or StudySettings()
        method = resolved_method(settings.method, named.problem)
        return cls(
            name=name or named.name,
            seed=settings.seed,
            limits=limits or Budget(),
            problem=named.function,
            file=named.file,
            dimension=named.dimension,
            settings=StudySettings(**{**settings.to_dict(), "method": method}),
            start_from=None if start is None else Path(start),
            named=named,
        )

    def only_in_python(self) -> tuple[str, ...]:
        return () if self.problem else ("problem",)
