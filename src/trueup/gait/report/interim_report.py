"""Interim reports of a staged search: one of the first complete walk, and one after each
stage."""

import sys

import numpy as np

from trueup.errors import GaitError
from trueup.gait.report.of_run import norms_of
from trueup.gait.report.of_walk import look_at, walk_report
from trueup.gait.search.configuration import GaitConfiguration
from trueup.gait.search.problem import GaitProblem
from trueup.gait.search.staged_problem import StagedProblem
from trueup.runs import Run
from trueup.runs.loop.generation import Generation

SOON = 150.0
"""Time after which the best walk so far is reported, even if it falls [s]."""

APART = 10.0
"""Least time before a page and between two [s]: to report a short stage takes longer than it."""


class InterimReports:
    """Writes ``report.html`` during a staged search.

    The first page shows the first walk without a fall, or after :data:`SOON` the best so far; the
    next ones show the best walk at the end of a stage, :data:`APART` at least. Other searches write
    none.

    Args:
      run: run.
      problem: problem of the search.
      name: name of the run.
      configuration: configuration of the run.
    """

    def __init__(self, run: Run, problem: GaitProblem, name: str, configuration: GaitConfiguration):
        self.run, self.problem = run, problem
        self.name, self.configuration = name, configuration
        self.shown = (run.directory.path / "report.html").is_file()
        self.stage = 0
        self.written = 0.0

    def after(self, generation: Generation) -> None:
        """Write a report of the best walk after a generation, if it is due."""
        problem = self.problem
        if not isinstance(problem, StagedProblem) or not np.isfinite(generation.cost):
            return
        stage = int(problem.stages_of(np.array([generation.cost]))[0])
        ended, self.stage = stage > self.stage, max(stage, self.stage)
        if generation.seconds < self.written + APART:
            return
        stays_up = not self.shown and self._stays_up(problem, generation)
        if not (ended or stays_up or (not self.shown and generation.seconds > SOON)):
            return
        vector = problem.parameters.complete(generation.x[None])[0]
        try:
            look = look_at(problem, vector)
            words = f"stage {problem.names[stage]}, generation {generation.number}: not finished"
            page = walk_report(look, self.name, words, norm=norms_of(self.configuration))
        except GaitError:
            return
        path = page.save(self.run.directory.path / "report.html")
        if self.run.verbose:
            what = "A walk without a fall" if stays_up else "The best walk so far"
            print(f"{what} (interim report, the search continues): {path}", file=sys.stderr)
        self.shown, self.written = True, generation.seconds

    def _stays_up(self, problem: StagedProblem, generation: Generation) -> bool:
        """Whether the best candidate is from this generation and none of its walks fell."""
        rows = np.flatnonzero((generation.x == generation.X).all(axis=1))
        return bool(len(rows)) and all(
            values[rows[0]] == 0.0
            for name, values in problem.terms.items()
            if name.rpartition(".")[2] in ("fell", "stopped")
        )
