"""The design of a servo's next logs as a piece of work with a run directory."""

import functools
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.record.designed_trajectories import chirp
from trueup.design.bench.choices import (
    BenchChoices,
    conditions_at_hand,
    usual_condition,
)
from trueup.design.bench.family import BenchFamily
from trueup.design.bench.files import read_plan, record_command, write_plan
from trueup.design.bench.limits import BenchLimits, torque_share
from trueup.design.bench.pieces import BenchPieces, planned_log
from trueup.design.bench.prediction import predict_logs
from trueup.design.bench.report import bench_page
from trueup.design.criterion import Criterion, half_bounds
from trueup.design.motion.family import FAMILIES, MotionFamily
from trueup.design.problem import DesignProblem
from trueup.design.recording_design import RecordingDesign, damaged
from trueup.design.search import IDENTIFIABLE, DesignSearch
from trueup.design.table import Widths, rows_of, verdict_of
from trueup.design.unknown_reasons import unknown_reasons
from trueup.errors import FitError
from trueup.fitting.judgement.verdict import Grade
from trueup.fitting.solution import Solution, Status
from trueup.knowledge.drawn_run import run_directory_of
from trueup.knowledge.servo_run import ServoRun, servo_run
from trueup.reports import Page
from trueup.runs.job import JobRun
from trueup.runs.loop.budget import Budget
from trueup.runs.outcome import Outcome
from trueup.runs.store.run_directory import RunDirectory

LIBRARY, POLISH, TURNS = 1200, 240, 8
"""Pieces of the library, designs of a turn of the polish of a log, and turns."""

_FADE = 0.5  # [s] in which a motion fades in, and out again
_DRAWS = 3  # servos that a design has to suit
_CHIRP = (0.1, 10.0)  # [Hz]
_SHRINK = (1.0, 0.8, 0.6, 0.45, 0.35, 0.25, 0.17, 0.1)
_NO_EFFECT = "no load, gain or motion that was tried changes the recorded angle"


@dataclass
class BenchDesign:
    """Designed logs of a servo; files and page lie in ``directory``."""

    logs: tuple[ServoLog, ...]
    """Logs to record, as they are simulated with the fitted servo."""
    summary: dict[str, Any]
    """Content of ``solution.json``."""
    directory: Path


class BenchDesignJob(RecordingDesign):
    """A design of a servo's next logs: load, gain and trajectory of each.

    Args:
      run: run directory of a finished servo fit, or its parameter file.
      choices: what may be recorded.
      limits_of_motion: limits of the motion.
      target: largest relative interval at which the search ends; None: it goes on.
      predicted: run directory of the design of its logs, to be compared with the result.
      anyway: take runs whose verdict is "do not use", or whose inputs have changed, too; every
        file says so.
      library: logs of the library.
      polish: designs that are evaluated for each turn of the polish of a log.
      turns: turns of the polish over all logs.
      seed: seed of everything random.
      limits: limits of the search.
    """

    kind = "bench design"
    noun = "a design of a servo's logs"

    def __init__(
        self,
        run: str | os.PathLike[str],
        choices: BenchChoices | None = None,
        limits_of_motion: BenchLimits | None = None,
        *,
        target: float | None = None,
        predicted: Path | None = None,
        anyway: bool = False,
        library: int = LIBRARY,
        polish: int = POLISH,
        turns: int = TURNS,
        seed: int | None = None,
        limits: Budget | None = None,
    ):
        after = run_directory_of(run)
        super().__init__(after, predicted, anyway, library, polish, turns, seed or 0, limits)
        self.choices = choices or BenchChoices()
        self.limits_of_motion = limits_of_motion or BenchLimits()
        self.target = target
        self.name = after.stem
        self.folder = after.parent

    # --- what it is made of ---------------------------------------------------------------------

    @functools.cached_property
    def source(self) -> ServoRun:
        """The fit and what it knows."""
        assert self.after is not None
        return servo_run(self.after, anyway=self.anyway)

    @property
    def mark_of_run(self) -> str | None:
        return self.source.mark

    @functools.cached_property
    def family(self) -> BenchFamily:
        """Family of the logs."""
        choices = self.choices
        seconds = choices.seconds / choices.logs
        motion = MotionFamily(
            np.zeros(1), self.limits_of_motion.commands(), seconds, choices.rate, _FADE / seconds
        )
        return BenchFamily(motion, conditions_at_hand(self.source, choices))

    @functools.cached_property
    def pieces(self) -> BenchPieces:
        """Simulates logs over draws of the servo."""
        source, rng = self.source, np.random.default_rng(self.seed)
        belief, space = source.belief, source.space
        draws = np.vstack([source.fit, space.from_search(belief.draw(_DRAWS - 1, rng))])
        return BenchPieces(source, self.family, self.limits_of_motion, draws)

    def make_problem(self) -> DesignProblem:
        criterion = Criterion(half_bounds(self.source.space), self.source.belief.precision)
        return DesignProblem(self.pieces, np.ones(self.choices.logs), criterion)

    def make_search(self) -> DesignSearch:
        problem: DesignProblem = self.problem
        return DesignSearch(
            problem.space,
            self.family.random(self.library or LIBRARY, np.random.default_rng([self.seed or 0, 1])),
            problem.slots,
            problem.shares,
            self.pieces.batch,
            (self.pieces.draws, self.pieces.size),
            polish=self.polish,
            rounds=self.turns,
            target=self.target,
            seed=self.seed or 0,
            fixed=2,
        )

    # --- files of the run -----------------------------------------------------------------------

    def inputs(self) -> Sequence[Path]:
        return [self.source.directory.solution]

    def plain(self, directory: Path) -> dict[str, Any]:
        return {
            **self.search_settings(directory),
            "target": self.target,
            "choices": self.choices.plain(),
            "motion_limits": self.limits_of_motion.plain(),
        }

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "BenchDesignJob":
        try:
            given = cls.given_settings(content, directory)
            run = given.pop("after")
            return cls(
                run if folder is None else folder / run.name,
                BenchChoices.from_plain(content["choices"]),
                BenchLimits(**content["motion_limits"]),
                target=content["target"],
                **given,
            )
        except (KeyError, TypeError, ValueError, AttributeError, FitError) as error:
            raise damaged(directory, error) from error

    def identity(self) -> dict[str, Any]:
        return {
            "fit": str(Path(self.after or "").resolve()),
            "choices": self.choices.plain(),
            "limits": self.limits_of_motion.plain(),
            "target": self.target,
            "seed": self.seed,
        }

    def plan(self) -> dict[str, Any]:
        return {
            "servo": self.source.model.servo.name,
            "parameters": list(self.source.space.names),
            "logs": self.choices.logs,
            "seconds_a_log": self.choices.seconds / self.choices.logs,
            "conditions": [asdict(each) for each in self.family.conditions],
            "library": self.library,
            "designs": (self.library or LIBRARY) + self.polish * self.turns * self.choices.logs,
            "simulations_a_log": self.pieces.draws,
            "seconds": self.limits.max_seconds,
            "limits": self.limits_of_motion.plain(),
        }

    @property
    def wider(self) -> str:
        """What lets more motions in, in words."""
        keep = 100 * self.limits_of_motion.margin
        return (
            f"Widen --reach, --speed or --heat, of which {keep:.0f} % are kept free, or give other "
            "masses and lengths"
        )

    # --- result ---------------------------------------------------------------------------------

    def finish(self, run: JobRun, solution: Solution) -> Outcome:
        problem: DesignProblem = self.problem
        x = self._ordered(self.pieces_of(solution))
        gram, spread, _ = problem.totals(x.reshape(1, -1))
        intervals = problem.criterion.intervals(gram, spread)[0]
        logs, motion = self.simulated(x)
        simple = self.chirp()
        reasons = unknown_reasons(
            self.source.space.names,
            lambda _: _NO_EFFECT,
            problem.seen_gram(),
            intervals.mean(axis=0),
            problem.criterion.scale,
            IDENTIFIABLE,
        )
        rows = rows_of(
            self.source.space,
            self.source.fit,
            problem.criterion.scale,
            predict_logs(self.pieces, logs, problem.criterion.scale, self.seed or 0),
            intervals,
            None if simple is None else simple[1],
            reasons,
        )
        counted = [r for r in rows if not r["unknown"]]
        summary = {
            **self.bare_summary(solution),
            "verdict": verdict_of(rows, self.target, True).plain(),
            "level": 0.95,
            "parameters": rows,
            "largest": max((r["with_known"] for r in counted), default=1.0),
            "target_interval": self.target,
            "servo": self.source.model.servo.name,
            "logs": self._log_rows(x, logs, motion),
            "chirp": None if simple is None else simple[0],
            "limits": self.limits_of_motion.plain(),
            "method": "Noise as in the residuals of the former logs; the mean over draws of it.",
            "comparison": self.comparison,
            "after": str(self.after),
            "anyway": self.anyway and self.source.verdict.grade is Grade.DO_NOT_USE,
            "provenance": solution.provenance,
        }
        result = BenchDesign(tuple(logs), summary, run.directory.path)
        return Outcome(result, summary, complete=solution.status is not Status.INTERRUPTED)

    def simulated(self, x: np.ndarray) -> tuple[list[ServoLog], Any]:
        """Planned logs of rows ``(slots, size)``, and their motion with the fitted servo."""
        logs = self.pieces.planned(x)
        return logs, self.pieces.simulator(logs).simulate(self.source.fit[None, :])

    def chirp(self) -> tuple[dict[str, Any], Widths] | None:
        """Chirps that people record instead, as many and as long, at the usual load and gain.

        From 0.1 to 10 Hz, as large as the same limits allow; the angle shrinks where the frequency
        would exceed the speed.

        Returns:
          Load, gain and angle, and intervals; None where even a small one exceeds the limits.
        """
        problem: DesignProblem = self.problem
        usual = usual_condition(self.source.prepared.training_logs)
        limits, motion = self.limits_of_motion, self.family.motion
        for share in _SHRINK:
            amplitude = share * (1 - limits.margin) * limits.reach
            shape = chirp(amplitude, *_CHIRP, speed=limits.speed, duration=motion.seconds)
            log = planned_log(
                self.pieces.template, usual, "chirp", motion.rate, np.stack(shape(motion.times))
            )
            if all(values[0] == 0 for values in self.pieces.excess([log]).values()):
                logs = [replace(log, name=f"chirp_{k}") for k in range(self.choices.logs)]
                widths = predict_logs(self.pieces, logs, problem.criterion.scale, self.seed or 0)
                return {**asdict(usual), "amplitude": amplitude}, widths
        return None

    def _ordered(self, x: np.ndarray) -> np.ndarray:
        """The logs in the order in which a load is changed least often."""
        keys = [self.family.condition(row) for row in x]
        order = sorted(range(len(x)), key=lambda k: (keys[k].length, keys[k].mass, keys[k].kp))
        return x[order]

    def _log_rows(
        self, x: np.ndarray, logs: Sequence[ServoLog], motion: Any
    ) -> list[dict[str, Any]]:
        """A record a log: condition, family, what it reaches, and the command that records it."""
        rows = []
        for k, (row, log) in enumerate(zip(x, logs, strict=True)):
            rows.append(
                {
                    **asdict(self.family.condition(row)),
                    "family": FAMILIES[round(float(row[1]))],
                    "seconds": log.duration,
                    "limp": float(np.mean(~log.torque_enable) * log.duration),
                    "angle": float(np.abs(motion.position[k][0]).max()),
                    "speed": float(np.abs(motion.speed[k][0]).max()),
                    "torque": torque_share(self.source.model, log, motion, k, vin=self.pieces.vin),
                    "file": f"{log.name}.csv",
                    "command": record_command(log),
                }
            )
        return rows

    def write(self, run: JobRun, outcome: Outcome) -> None:
        design: BenchDesign = outcome.result
        motion = self.pieces.simulator(design.logs).simulate(self.source.fit[None, :])
        write_plan(run.directory, design.logs, motion)

    def write_motion(self, directory: RunDirectory, x: np.ndarray) -> None:
        write_plan(directory, *self.simulated(self._ordered(x)))

    @classmethod
    def page_of(cls, directory: RunDirectory, summary: dict[str, Any]) -> Page:
        return bench_page(summary, read_plan(directory))
