"""Checked inputs of the design of a servo's logs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup._marks import KEY, joined
from trueup.actuators.bench.simulator import Rollouts
from trueup.actuators.logs.servo_log import ServoLog
from trueup.design.bench.conditions import conditions_at_hand
from trueup.design.bench.family import BenchFamily
from trueup.design.bench.pieces import BenchPieces
from trueup.design.bench.spec import BenchDesignSpec
from trueup.design.criterion import Criterion, half_bounds
from trueup.design.motion.family import MotionFamily
from trueup.design.problem import DesignProblem
from trueup.design.search import DesignSearch
from trueup.design.search_run import compared_prediction
from trueup.knowledge.servo_run import ServoRun, servo_run

_FADE = 0.5  # time of fading in and out of a motion [s]
_DRAWS = 3  # number of servos that a design must suit


@dataclass(frozen=True)
class PreparedBenchDesign:
    """Inputs of a design of logs."""

    spec: BenchDesignSpec
    comparison: dict[str, Any] | None
    """Comparison of the last prediction with its result; None without one."""
    source: ServoRun
    """The fit and its knowledge."""
    family: BenchFamily
    """Family of the logs."""
    pieces: BenchPieces
    """Simulator of logs over draws of the servo."""
    problem: DesignProblem
    """Information of logs, and the criterion."""

    @property
    def mark(self) -> str | None:
        """Mark of all outputs if inputs of the last runs have changed."""
        former = None if self.comparison is None else self.comparison.get(KEY)
        return joined(self.source.mark, former)

    @property
    def wider(self) -> str:
        """Advice on allowing more motions."""
        keep = 100 * self.spec.motion_limits.margin
        return (
            f"Widen reach, speed or heat, which include a margin of {keep:.0f} %, or use "
            "other masses and lengths"
        )

    def ordered(self, x: np.ndarray) -> np.ndarray:
        """Logs ``(slots, size)`` in the order with the fewest changes of the load."""
        keys = [self.family.condition(row) for row in x]
        order = sorted(range(len(x)), key=lambda k: (keys[k].length, keys[k].mass, keys[k].kp))
        return x[order]

    def simulated(self, x: np.ndarray) -> tuple[list[ServoLog], Rollouts]:
        """Planned logs of rows ``(slots, size)``, and their motion with the fitted servo."""
        logs = self.pieces.planned(x)
        return logs, self.pieces.simulator(logs).simulate(self.source.fit[None, :])


def prepare(spec: BenchDesignSpec) -> PreparedBenchDesign:
    """Read and check everything that a design of logs requires; nothing is written.

    Raises:
      FitError: no load is light enough for the servo.
      RunDirectoryError: the fit has no intervals, or has the verdict "do not use".
    """
    # an invalid prediction is reported before the slow steps
    comparison = compared_prediction(spec)
    source = servo_run(spec.after, anyway=spec.anyway)
    choices, limits = spec.choices, spec.motion_limits
    seconds = choices.seconds / choices.logs
    motion = MotionFamily(np.zeros(1), limits.commands(), seconds, choices.rate, _FADE / seconds)
    family = BenchFamily(motion, conditions_at_hand(source, choices))
    rng = np.random.default_rng(spec.seed)
    drawn = source.space.from_search(source.belief.draw(_DRAWS - 1, rng))
    pieces = BenchPieces(source, family, limits, np.vstack([source.fit, drawn]))
    criterion = Criterion(half_bounds(source.space), source.belief.precision)
    problem = DesignProblem(pieces, np.ones(choices.logs), criterion)
    return PreparedBenchDesign(spec, comparison, source, family, pieces, problem)


def make_search(prepared: PreparedBenchDesign) -> DesignSearch:
    """The search before its first batch."""
    spec, problem, pieces = prepared.spec, prepared.problem, prepared.pieces
    return DesignSearch(
        problem.space,
        prepared.family.random(spec.library, np.random.default_rng([spec.seed, 1])),
        problem.slots,
        problem.shares,
        pieces.batch,
        (pieces.draws, pieces.size),
        polish=spec.polish,
        rounds=spec.turns,
        target=spec.target,
        seed=spec.seed,
        fixed=2,
    )
