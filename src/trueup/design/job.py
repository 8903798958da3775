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

from trueup.design.criterion import NORMAL, Criterion, half_scales
from trueup.design.last_run import knowledge_of
from trueup.design.motion.family import FAMILIES, MotionFamily, chirp
from trueup.design.motion.files import (
    CSV,
    LEROBOT,
    MOTION,
    ROS2,
    read_motion,
    write_csv,
    write_lerobot,
    write_ros2,
)
from trueup.design.motion.problem import channel_noise
from trueup.design.problem import DesignProblem
from trueup.design.recording_design import SECONDS, RecordingDesign, damaged
from trueup.design.recording_noise import recorded
from trueup.design.report import design_page
from trueup.design.robot.clearance import Clearance
from trueup.design.robot.designed_robot import DesignedRobot, designed_robot
from trueup.design.robot.piece_information import PieceSimulator
from trueup.design.robot.prediction import predict
from trueup.design.robot.start_states import is_start, start_of
from trueup.design.search import IDENTIFIABLE, DesignSearch
from trueup.design.table import Widths, rows_of, verdict_of
from trueup.design.unknown_reasons import no_effect_of, unknown_reasons
from trueup.fitting.judgement.verdict import Grade
from trueup.fitting.solution import Solution, Status
from trueup.knowledge.identified import IdentifiedRun, identified_run
from trueup.reports import Page
from trueup.runs.job import JobRun
from trueup.runs.loop.budget import Budget
from trueup.runs.outcome import Outcome
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.results.outputs import read_signals

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


class DesignJob(RecordingDesign):
    """A design of the next recording of a robot.

    Args:
      experiment: the experiment; ``design`` says what may be recorded.
      folder: folder that its file names refer to.
      after: run of the last recording, whose values, knowledge and noise are taken.
      predicted: run directory of the design of that recording, to be compared with its result.
      anyway: take runs whose verdict is "do not use", or whose inputs have changed, too; every
        file says so.
      library: pieces of the library; as many as the time allows where None.
      polish: designs that are evaluated for each turn of the polish of a piece.
      turns: turns of the polish over all pieces, if the limits allow so many.
      seed: seed of everything random.
      limits: limits of the search.
    """

    kind = "design"
    noun = "a design of a recording"

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
        seed = experiment.seed if seed is None else seed
        super().__init__(after, predicted, anyway, library, polish, turns, seed, limits)
        self.experiment, self.folder = experiment, folder
        self.name = experiment.name

    # --- what it is made of --------------------------------------------------------------------

    @functools.cached_property
    def last_run(self) -> IdentifiedRun | None:
        """The last run, None where the design is made from bounds and priors."""
        if self.after is None:
            return None
        return identified_run(self.after, anyway=self.anyway)

    @property
    def mark_of_run(self) -> str | None:
        return None if self.last_run is None else self.last_run.mark

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
        return {
            "folder": os.path.relpath(self.folder, directory),
            **self.search_settings(directory),
            "design_of": self.experiment.model_dump(mode="json"),
        }

    @classmethod
    def from_plain(
        cls, content: dict[str, Any], directory: RunDirectory, folder: Path | None
    ) -> "DesignJob":
        try:
            return cls(
                Experiment.model_validate(content["design_of"]),
                folder or Path(os.path.normpath(directory.path / content["folder"])),
                **cls.given_settings(content, directory),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(directory, error) from error

    def identity(self) -> dict[str, Any]:
        return {"experiment": self.experiment.model_dump(mode="json"), "seed": self.seed}

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

    # --- result --------------------------------------------------------------------------------

    @property
    def wider(self) -> str:
        """What lets more motions in, in words."""
        return (
            f"Widen design.limits, of which {100 * self.robot.limits.margin:.0f} % are kept free "
            "(margin), or choose another design.pose"
        )

    def finish(self, run: JobRun, solution: Solution) -> Outcome:
        problem: DesignProblem = self.problem
        robot, criterion = self.robot, problem.criterion
        x = self.pieces_of(solution)
        commands = np.concatenate(list(self.family.commands(x)))
        answer = problem.answer(x.reshape(1, -1), {})
        intervals = problem.intervals_of(answer)[0]
        predicted = predict(robot, commands, self.noise, self.seed or 0)
        simple = self.chirp()
        reasons = unknown_reasons(
            robot.space.names,
            functools.partial(no_effect_of, robot.parameters, robot.joints),
            problem.seen_gram(),
            intervals.mean(axis=0),
            criterion.scale,
            IDENTIFIABLE,
        )
        rows = rows_of(
            robot.space,
            robot.draws[0],
            criterion.scale,
            Widths(
                predicted.half_widths / criterion.scale,
                predicted.together(robot.known, NORMAL) / criterion.scale,
            ),
            intervals,
            None if simple is None else simple[1],
            reasons,
        )
        families = [FAMILIES[round(row[0])] for row in x]
        summary = {
            **self.bare_summary(solution),
            "verdict": verdict_of(
                rows, self.experiment.design.target_interval, self.after is not None
            ).plain(),
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
            "comparison": self.comparison,
            "after": None if self.after is None else str(self.after),
            "anyway": self.anyway and self.last_run is not None
            and self.last_run.verdict.grade is Grade.DO_NOT_USE,
            "provenance": solution.provenance,
        }  # fmt: skip
        result = Design(
            robot.joints, commands, self.experiment.design.rate, summary, run.directory.path
        )
        return Outcome(result, summary, complete=solution.status is not Status.INTERRUPTED)

    def chirp(self) -> tuple[np.ndarray, Widths] | None:
        """Chirp that people record instead, as large as the same limits allow.

        Returns:
          Commands ``(T, n)`` [rad, m] and intervals; None where even a small one exceeds the
          limits.
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
                return commands, Widths.of(self.problem.criterion, found.gram, found.spread)
        return None

    def _reached(self, commands: np.ndarray) -> list[dict[str, str | float]]:
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

    def write(self, run: JobRun, outcome: Outcome) -> None:
        self._write_commands(run.directory, outcome.result.commands)

    def write_motion(self, directory: RunDirectory, x: np.ndarray) -> None:
        self._write_commands(directory, np.concatenate(list(self.family.commands(x))))

    def _write_commands(self, directory: RunDirectory, commands: np.ndarray) -> None:
        """Write motion and experiment of the recording of commands ``(T, n)`` [rad, m]."""
        robot, rate, inside = self.robot, self.experiment.design.rate, directory.inside
        names = [robot.model.actuator(i).name for i in robot.actuators]
        write_csv(inside(CSV), rate, names, commands * robot.gears)
        write_ros2(inside(ROS2), rate, robot.joints, commands)
        write_lerobot(inside(LEROBOT), rate, robot.joints, commands, self.name)
        text = yaml.safe_dump(self._next(directory.path, names), sort_keys=False)
        atomic.write_text(inside(NEXT), text)
        buffer = io.BytesIO()
        times = np.arange(len(commands)) / rate
        np.savez_compressed(buffer, times=times, commands=commands, strip=self._strip(commands))
        atomic.write_bytes(inside(MOTION), buffer.getvalue())

    def _strip(self, commands: np.ndarray) -> np.ndarray:
        """Places of all bodies over the motion ``(poses, bodies, 3)`` and, last, their parents."""
        from trueup.design.stick_figures import body_places

        model, robot = self.robot.model, self.robot
        qpos = np.tile(robot.state[1 : 1 + model.nq], (len(commands), 1))
        qpos[:, [int(model.joint(j).qposadr[0]) for j in robot.joints]] = commands
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
    def page_of(cls, directory: RunDirectory, summary: dict[str, Any]) -> Page:
        return design_page(summary, read_motion(directory))
