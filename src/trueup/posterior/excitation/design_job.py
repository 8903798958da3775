"""The design of a recording as a piece of work with a run directory."""

import functools
import io
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup._version import __version__
from trueup.errors import ExperimentError, RunDirectoryError
from trueup.fitting.solution import Solution, Status
from trueup.fitting.verdict import Grade
from trueup.posterior.excitation.clearance import Clearance
from trueup.posterior.excitation.comparison import compared_with
from trueup.posterior.excitation.criterion import Criterion, half_scales
from trueup.posterior.excitation.design_problem import DesignProblem
from trueup.posterior.excitation.design_report import design_page
from trueup.posterior.excitation.design_search import IDENTIFIABLE, DesignSearch
from trueup.posterior.excitation.design_table import rows_of, verdict_of
from trueup.posterior.excitation.designed_robot import DesignedRobot, designed_robot
from trueup.posterior.excitation.last_run import knowledge_of
from trueup.posterior.excitation.motion_family import FAMILIES, MotionFamily, chirp
from trueup.posterior.excitation.motion_files import (
    CSV,
    LEROBOT,
    MOTION,
    ROS2,
    read_motion,
    write_csv,
    write_lerobot,
    write_ros2,
)
from trueup.posterior.excitation.motion_problem import channel_noise
from trueup.posterior.excitation.piece_information import PieceSimulator
from trueup.posterior.excitation.prediction import predict
from trueup.posterior.excitation.recording_noise import recorded
from trueup.posterior.excitation.start_states import is_start, start_of
from trueup.posterior.excitation.unknown_reasons import unknown_reasons
from trueup.posterior.identified import IdentifiedRun, identified_run
from trueup.reports import Page, read_study, study_report
from trueup.runs.job import Outcome, Run, SearchJob
from trueup.runs.solution_file import read_solution
from trueup.studies import Budget, RunDirectory, atomic
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.results.outputs import read_signals

SECONDS = 240.0
"""Time of the search [s] unless another is given."""

PIECE = 5.0  # [s] a piece is about as long
_LIBRARY = (24, 320)  # pieces at least and at most
_LIBRARY_SHARE = 0.45  # of the time of the search
_SHRINK = (1.0, 0.7, 0.5, 0.35, 0.25, 0.17, 0.12, 0.08)
NEXT = "next_experiment.yaml"


@dataclass
class Design:
    """A designed recording; files and page lie in ``directory``."""

    joints: tuple[str, ...]
    commands: np.ndarray
    """Commands ``(T, n)`` [rad, m]."""
    rate: float
    """Commands a second."""
    summary: dict[str, Any]
    """Content of ``solution.json``."""
    directory: Path


class DesignJob(SearchJob):
    """A design of the next recording.

    Args:
      experiment: the experiment; ``design`` says what may be recorded.
      folder: folder that its file names refer to.
      after: run of the last recording, whose values, knowledge and noise are taken.
      predicted: run directory of the design of that recording, to be compared with its result.
      anyway: take a run whose verdict is "do not use" too.
      library: pieces of the library; as many as the time allows where None.
      polish: designs that are evaluated for each turn of the polish of a piece.
      turns: turns of the polish over all pieces, if the limits allow so many.
      seed: seed of everything random.
      limits: limits of the search.
    """

    kind = "design"
    noun = "a design of a recording"
    known_limits = ("max_seconds", "max_evaluations")

    def __init__(
        self,
        experiment: Experiment,
        folder: Path,
        after: Path | None = None,
        *,
        predicted: Path | None = None,
        anyway: bool = False,
        library: int | None = None,
        polish: int = 60,
        turns: int = 20,
        seed: int | None = None,
        limits: Budget | None = None,
    ):
        self.experiment, self.folder = experiment, folder
        self.after, self.predicted, self.anyway = after, predicted, anyway
        self.library, self.polish, self.turns = library, polish, turns
        self.seed = experiment.seed if seed is None else seed
        self.name = experiment.name
        self.limits = limits or Budget(max_seconds=SECONDS)
        self._excluded = False

    # --- what it is made of --------------------------------------------------------------------

    @functools.cached_property
    def last_run(self) -> IdentifiedRun | None:
        """The last run, None where the design is made from bounds and priors."""
        if self.after is None:
            return None
        return identified_run(self.after, anyway=self.anyway)

    @functools.cached_property
    def robot(self) -> DesignedRobot:
        """Robot, controller, sensors and unknowns."""
        assert self.folder is not None
        estimate, known = None, None
        if self.last_run is not None:
            estimate, known = knowledge_of(self.last_run, self.experiment)
        robot = designed_robot(self.experiment, self.folder, self.seed or 0, estimate, known)
        self.notes = robot.notes
        return robot

    @functools.cached_property
    def noise(self) -> Any:
        """Noise by channel."""
        found = {}
        if self.last_run is not None:
            found = dict(
                recorded(read_signals(self.last_run.directory), self.last_run.directory.path.name)
            )
        return channel_noise(self.robot, found)

    @functools.cached_property
    def slots(self) -> int:
        """Pieces of the recording."""
        return max(1, round(self.experiment.design.duration / PIECE))

    @property
    def seen(self) -> float:
        """First part of the recording that a fit sees."""
        return 1.0 - self.experiment.held_out.fraction

    @functools.cached_property
    def family(self) -> MotionFamily:
        """Family of the pieces."""
        part, robot = self.experiment.design, self.robot
        seconds = part.duration / self.slots
        return MotionFamily(robot.pose, robot.limits.commands(), seconds, part.rate)

    @functools.cached_property
    def clearance(self) -> Clearance:
        """Distances to keep."""
        robot = self.robot
        qpos = robot.state[1 : 1 + robot.model.nq]
        part = self.experiment.design.limits
        return Clearance.of(robot.model, qpos, part.clearance * (1 + part.margin))

    def make_problem(self) -> DesignProblem:
        robot = self.robot
        share = np.clip(self.slots * self.seen - np.arange(self.slots), 0.0, 1.0)
        simulator = PieceSimulator(robot, self.family, self.noise, self.clearance)
        criterion = Criterion(half_scales(robot.parameters), robot.known)
        return DesignProblem(simulator, share, criterion)

    def make_search(self) -> DesignSearch:
        problem: DesignProblem = self.problem
        rng = np.random.default_rng([self.seed or 0, 1])
        if self.library is None:
            self.library = self._affordable(problem)
        pieces = self.family.random(self.library, rng)
        return DesignSearch(
            problem.space,
            pieces,
            self.slots,
            problem.shares,
            max(problem.simulator.batch, 4),
            (problem.simulator.draws, problem.simulator.size),
            polish=self.polish,
            rounds=self.turns,
            target=self.experiment.design.target_interval,
            seed=self.seed or 0,
        )

    def _affordable(self, problem: DesignProblem) -> int:
        """Pieces that fit into the time of the library."""
        rows = self.family.random(problem.simulator.batch, np.random.default_rng(0))
        rows[:, 2:] *= 0.2
        began = time.perf_counter()
        problem.simulator.information(rows)
        self._seconds_a_piece = (time.perf_counter() - began) / len(rows)
        seconds = self.limits.max_seconds or SECONDS
        return int(np.clip(_LIBRARY_SHARE * seconds / self._seconds_a_piece, *_LIBRARY))

    def prepare(self) -> None:
        super().prepare()
        still = self.clearance.touching
        if still:
            self.notes = [*self.notes, f"Closer than the clearance in the pose, so not watched: "
                          f"{', '.join(still[:4])}."]  # fmt: skip

    # --- files of the run ----------------------------------------------------------------------

    def inputs(self) -> Sequence[Path]:
        files = list(self.robot.inputs)
        if self.last_run is not None:
            files.append(self.last_run.directory.solution)
        return files

    def plain(self, directory: Path) -> dict[str, Any]:
        assert self.folder is not None

        def near(path: Path | None) -> str | None:
            return None if path is None else os.path.relpath(path, directory)

        return {
            "folder": near(self.folder),
            "after": near(self.after),
            "predicted": near(self.predicted),
            "anyway": self.anyway,
            "library": self.library,
            "polish": self.polish,
            "turns": self.turns,
            "seed": self.seed,
            "seconds": self.limits.max_seconds,
            "evaluations": self.limits.max_evaluations,
            "design_of": self.experiment.model_dump(mode="json"),
        }

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "DesignJob":
        def far(path: str | None) -> Path | None:
            return None if path is None else Path(os.path.normpath(directory.path / path))

        try:
            return cls(
                Experiment.model_validate(content["design_of"]),
                folder or Path(os.path.normpath(directory.path / content["folder"])),
                far(content["after"]),
                predicted=far(content["predicted"]),
                anyway=bool(content["anyway"]),
                library=content["library"],
                polish=content["polish"],
                turns=content["turns"],
                seed=content["seed"],
                limits=Budget(
                    max_seconds=content["seconds"], max_evaluations=content["evaluations"]
                ),
            )
        except (KeyError, TypeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise RunDirectoryError(f"{directory.experiment} is damaged: {reason}") from error

    def identity(self) -> dict[str, Any]:
        return {"experiment": self.experiment.model_dump(mode="json"), "seed": self.seed}

    def continuing(self, former: Any) -> "DesignJob":
        self.library, self.polish, self.turns = former.library, former.polish, former.turns
        return self

    def settings(self, hashes: Sequence[str]) -> dict[str, Any]:
        keys = ("library", "polish", "turns", "seed")
        return {**{key: getattr(self, key) for key in keys}, "inputs": list(hashes)}

    def plan(self) -> dict[str, Any]:
        problem: DesignProblem = self.problem
        draws, p = problem.simulator.draws, problem.simulator.size
        return {
            "parameters": list(self.robot.space.names),
            "joints": list(self.robot.joints),
            "signals": list(self.robot.signals),
            "pieces": self.slots,
            "library": self.library,
            "simulations_a_piece": draws * (p + 2),
            "seconds_a_piece": getattr(self, "_seconds_a_piece", None),
            "seconds": self.limits.max_seconds,
            "limits": self.robot.limits.plain(),
            "noise": {c: [n.deviation, n.source] for c, n in self.noise.items()},
            "notes": list(self.notes),
        }

    def bare_summary(self, solution: Any) -> dict[str, Any]:
        return {
            "format_version": 1,
            "trueup": __version__,
            "kind": self.kind,
            "name": self.name,
            "status": solution.status.value,
            "success": solution.success,
            "message": solution.message,
            "cost": solution.cost,
            "parameters": [],
            "notes": list(self.notes),
            "stats": solution.stats,
        }

    def has_progress(self, directory: RunDirectory) -> bool:
        return not self._excluded and super().has_progress(directory)

    # --- result --------------------------------------------------------------------------------

    def solve(self, run: Run) -> Solution:
        solution = super().solve(run)
        if solution.status is Status.START_FAILED:
            self._excluded = True
            raise ExperimentError(
                f"{solution.message}: the limits, with the margin of "
                f"{100 * self.robot.limits.margin:.0f} %, exclude every one of {self.library} "
                f"motions ({_reasons(self.problem)}). Widen design.limits, or choose another "
                "design.pose"
            )
        return solution

    def finish(self, run: Run, solution: Solution) -> Outcome:
        problem: DesignProblem = self.problem
        robot, criterion = self.robot, problem.criterion
        x = solution.x.reshape(self.slots, -1).copy()
        best = int(np.argmax(problem.shares))
        if not x[:, 2:].any():
            raise ExperimentError(
                f"no motion that keeps the limits was found within {solution.stats['evaluations']} "
                f"tries ({_reasons(problem)}): give the search more time with --seconds, or widen "
                "design.limits"
            )
        for slot in range(self.slots):
            if not x[slot, 2:].any():  # what a fit does not see shall move all the same
                x[slot] = x[best]
        commands = np.concatenate(list(self.family.commands(x)))
        answer = problem.answer(x.reshape(1, -1), {})
        intervals = problem.intervals_of(answer)[0]
        predicted = predict(robot, commands, self.noise, self.seed or 0)
        simple = self.chirp()
        baseline = None if simple is None else simple[1]
        reasons = unknown_reasons(
            robot.parameters,
            problem.seen_gram(),
            intervals.mean(axis=0),
            criterion.scale,
            robot.joints,
            IDENTIFIABLE,
        )
        rows = rows_of(robot, criterion, predicted, intervals, baseline, reasons)
        families = [FAMILIES[round(row[0])] for row in x]
        comparison = None
        if self.predicted is not None and self.after is not None:
            comparison = compared_with(self.predicted, self.after)
        summary = {
            **self.bare_summary(solution),
            "verdict": verdict_of(rows, baseline, self.experiment.design.target_interval).plain(),
            "level": self.experiment.confidence.level,
            "parameters": rows,
            "largest": max((r["relative"] for r in rows if not r["unknown"]), default=1.0),
            "target_interval": self.experiment.design.target_interval,
            "joints": list(robot.joints),
            "families": families,
            "limits": robot.limits.plain(),
            "reached": self._reached(commands),
            "noise": {c: [n.deviation, n.model.order, n.source] for c, n in self.noise.items()},
            "method": predicted.method,
            "comparison": comparison,
            "after": None if self.after is None else str(self.after),
            "anyway": self.anyway and self.last_run is not None
            and self.last_run.verdict.grade is Grade.DO_NOT_USE,
            "provenance": solution.provenance,
        }  # fmt: skip
        result = Design(
            robot.joints, commands, self.experiment.design.rate, summary, run.directory.path
        )
        return Outcome(result, summary, complete=solution.status is not Status.INTERRUPTED)

    def chirp(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Chirp that people record instead, as large as the same limits allow.

        Returns:
          Commands ``(T, n)`` [rad, m] and relative intervals ``(p,)``; None where even a small one
          exceeds the limits.
        """
        part, robot = self.experiment.design, self.robot
        limits = robot.limits.commands()
        whole = MotionFamily(robot.pose, limits, part.duration, part.rate)
        simulator = PieceSimulator(robot, whole, self.noise, self.clearance, self.seen)
        shape = chirp(robot.pose, limits, part.duration, part.rate) - robot.pose
        for share in _SHRINK:
            commands = robot.pose + share * shape
            (found,) = simulator.information_of(commands[None])
            if found.excess == 0:
                intervals = self.problem.criterion.intervals(found.gram, found.spread)
                return commands, intervals.mean(axis=0)
        return None

    def _reached(self, commands: np.ndarray) -> list[dict[str, float]]:
        """Largest position, speed and acceleration of the commands of each joint."""
        step = 1.0 / self.experiment.design.rate
        speed = np.gradient(commands, step, axis=0)
        acceleration = np.gradient(speed, step, axis=0)
        return [
            {
                "joint": joint,
                "low": float(commands[:, i].min()),
                "high": float(commands[:, i].max()),
                "speed": float(np.abs(speed[:, i]).max()),
                "acceleration": float(np.abs(acceleration[:, i]).max()),
            }
            for i, joint in enumerate(self.robot.joints)
        ]

    def write(self, run: Run, outcome: Outcome) -> None:
        design, robot, rate = outcome.result, self.robot, self.experiment.design.rate
        inside = run.directory.inside
        names = [robot.model.actuator(i).name for i in robot.actuators]
        write_csv(inside(CSV), rate, names, design.commands * robot.gears)
        write_ros2(inside(ROS2), rate, robot.joints, design.commands)
        write_lerobot(inside(LEROBOT), rate, robot.joints, design.commands, self.name)
        text = yaml.safe_dump(self._next(run.directory.path, names), sort_keys=False)
        atomic.write_text(inside(NEXT), text)
        buffer = io.BytesIO()
        times = np.arange(len(design.commands)) / rate
        np.savez_compressed(
            buffer, times=times, commands=design.commands, strip=self._strip(design)
        )
        atomic.write_bytes(inside(MOTION), buffer.getvalue())

    def _strip(self, design: Design) -> np.ndarray:
        """Places of all bodies over the motion ``(poses, bodies, 3)`` and, last, their parents."""
        from trueup.posterior.excitation.stick_strip import body_places

        model, robot = self.robot.model, self.robot
        qpos = np.tile(robot.state[1 : 1 + model.nq], (len(design.commands), 1))
        qpos[:, [int(model.joint(j).qposadr[0]) for j in robot.joints]] = design.commands
        return body_places(model, qpos)

    def _next(self, directory: Path, actuators: Sequence[str]) -> dict[str, Any]:
        """Experiment of the recording that this design is for, beside it."""
        assert self.folder is not None
        content = self.experiment.model_dump(mode="json", exclude_defaults=True)
        file = self.folder / self.experiment.model.file
        content["model"]["file"] = os.path.relpath(file, directory)
        fresh = {
            **content["recordings"][0],
            "file": "recording.csv",
            "name": "designed",
        }
        fresh.setdefault("signals", {s: s for s in self.robot.signals})
        fresh["controls"] = fresh.get("controls") or {a: a for a in actuators}
        former = []
        if self.last_run is not None:
            for entry in content["recordings"]:
                place = os.path.relpath(self.folder / entry["file"], directory)
                former.append({**entry, "file": place})
            names = {entry.get("name", Path(entry["file"]).stem) for entry in former}
            while fresh["name"] in names:
                fresh["name"] += "_next"
        initial, unknown = start_of(self.robot, fresh["name"])
        fresh["initial"] = initial.model_dump(mode="json", exclude_defaults=True)
        kept = {
            name: part
            for name, part in content["parameters"].items()
            if former or not is_start(self.experiment.parameters[name])
        }
        parts = {n: p.model_dump(mode="json", exclude_defaults=True) for n, p in unknown.items()}
        content["parameters"] = {**kept, **parts}
        content["recordings"] = [*former, fresh]
        content.pop("output", None)
        return content

    @classmethod
    def report(cls, directory: RunDirectory) -> Page:
        if not directory.solution.is_file() and directory.study.is_file():
            return study_report(read_study(directory))
        return design_page(read_solution(directory), read_motion(directory))

    def page(self, run: Run, outcome: Outcome) -> Page:
        return design_page(outcome.summary, read_motion(run.directory))


def _reasons(problem: DesignProblem) -> str:
    found = [piece.reason for piece in problem.remembered() if piece.reason]
    words = [w for reason in found for w in reason.split(", ")]
    counted = sorted({w: words.count(w) for w in words}.items(), key=lambda item: -item[1])
    return ", ".join(f"{word} in {count}" for word, count in counted[:4]) or "no reason"
