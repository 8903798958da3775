"""Batch simulation of walks of many candidates, with compiled controllers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.errors import GaitError, SimulationError, did_you_mean, listing
from trueup.gait.compiled import entry_point
from trueup.gait.controller._exoskeleton_kernel import Clock
from trueup.gait.controller._registers import FIRST_FORCE, OF_PRESSURE
from trueup.gait.controller.exoskeleton import Knots, Profile
from trueup.gait.controller.program import compile_controller
from trueup.gait.controller.reflexes import ReflexController, default_controller
from trueup.gait.models.anatomy import LEGS
from trueup.gait.models.metabolic import muscle_fibers
from trueup.gait.models.walker import Walker
from trueup.gait.walk import _kernel as k
from trueup.gait.walk._parameters import find_pose, walk_parameters
from trueup.gait.walk.device_walks import DeviceWalks
from trueup.gait.walk.disturbance_kernel import DISTURBANCE
from trueup.gait.walk.frames import ACTIVATIONS
from trueup.gait.walk.gait_cycle import SHORTEST_STANCE, SHORTEST_SWING
from trueup.gait.walk.initial_state import free_joints, set_initial_state
from trueup.gait.walk.perturbations import (
    Perturbations,
    perturbed_vectors,
    set_disturbances,
    set_friction,
)
from trueup.gait.walk.records import End, WalkRecords
from trueup.gait.walk.settings import FRAME_PERIOD, WalkSettings
from trueup.simulation.engine.warning_capture import captured_warnings
from trueup.simulation.warp.devices import WarpDevice

SHORTEST_STANCE_OF_MYOASSIST = 0.035
"""Longest stance ignored by the exoskeleton of MyoAssist [s]."""


class WalkSimulation:
    """Simulation of the walks of parameter vectors.

    Args:
      walker: walker.
      settings: settings of the simulation.
      controller: reflex controller; by default the shipped one, with the additional reflexes of
        the walker.
      profile: torque profile of the exoskeleton, None for a walk without one.

    Raises:
      GaitError: a part required by the controller or the exoskeleton is missing, the largest
        torque exceeds that of the exoskeleton, or its actuators are not motors.
    """

    def __init__(
        self,
        walker: Walker,
        settings: WalkSettings | None = None,
        controller: ReflexController | None = None,
        profile: Profile | None = None,
    ):
        self.walker = walker
        self.settings = WalkSettings() if settings is None else settings
        self.controller = controller or default_controller(walker.anatomy.reflexes)
        self.profile = profile
        if profile is not None and not walker.has_exoskeleton:
            raise GaitError(
                f"{walker.source} has no exoskeleton (actuators "
                f"{', '.join(walker.anatomy.both(walker.anatomy.exoskeleton))}): walk without one, "
                "or choose a model that has one"
            )
        settings = self.settings
        if profile is not None:
            most = walker.exoskeleton_torque
            # MyoAssist commands torques above the limits of its devices, which saturate
            if settings.max_torque > most * (1.0 + 1e-9) and not settings.compat:
                raise GaitError(
                    f"max_torque is {settings.max_torque:g} N m; for the exoskeleton of "
                    f"{walker.source} it must be at most {most:g} N m"
                )
        self.steps = settings.steps_of(walker.model.opt.timestep)
        self.period = self.steps * walker.model.opt.timestep
        self.program, self.layout = compile_controller(
            self.controller,
            frontal=walker.frontal,
            period=self.period,
            delayed=settings.delayed,
            timestep=walker.model.opt.timestep,
            compat=settings.compat,
        )
        self.body = walker.body_map(self.layout.muscles)
        self.body.parts["optional_signals"] = FIRST_FORCE + len(self.layout.muscles)
        if self.controller.senses(OF_PRESSURE) and (self.body.parts["pressure"] < 0).any():
            raise GaitError(
                f"the controller {self.controller.name!r} senses the centre of pressure, and "
                f"{walker.source} has no sensor of it: load it with pressure=True"
            )
        self.fibers = muscle_fibers(walker)
        self.parameters = walk_parameters(
            self.controller,
            walker.anatomy,
            settings.pose,
            frontal=walker.frontal,
            profile=profile,
            per_leg=settings.per_leg,
            compat=settings.compat,
        )
        self.swing_leg = LEGS.index(find_pose(walker.anatomy, settings.pose).swing)
        walker.keyframe(settings.pose)
        known = free_joints(walker.model, self.parameters)
        for name in settings.joint_speeds:
            if name not in known:
                raise GaitError(
                    f"joint_speeds: unknown joint {name!r}; available: "
                    f"{listing(known, 60)}.{did_you_mean(name, known)}"
                )
        self._batch: Batch | None = None
        self._of_batch = (0, True)  # number of its simulations, and whether they are persistent
        self._walks: k.Walks | None = None
        self._slippery = False  # whether the batch has separate friction for each walk
        self._on_device: DeviceWalks | None = None

    def __getstate__(self) -> dict[str, Any]:
        """State for another process, without the batch and what is on a device."""
        without = {"_batch": None, "_walks": None, "_slippery": False, "_on_device": None}
        return {**self.__dict__, **without}

    @property
    def runs(self) -> int:
        """Number of controller steps of a complete walk."""
        return int(self.settings.duration / self.period + 1e-9)

    def run(
        self,
        X: np.ndarray,
        observe: Callable[[int, Batch], None] | None = None,
        perturbations: Perturbations | None = None,
        stop: Callable[[WalkRecords], np.ndarray] | None = None,
        device: WarpDevice | None = None,
    ) -> WalkRecords:
        """Walks of parameter vectors ``X (n, size)``.

        The records are overwritten by the next call.

        Args:
          X: vectors.
          observe: called with the step index and the batch after each step of the controllers,
            before the model is stepped.
          perturbations: repeats of each vector, consecutive in the records; None: no
            repeats.
          stop: called with the records before the start and whenever walks have ended; returns
            whether each walk is stopped ``(rows,)``.
          device: device that simulates, in single precision; None: the CPU. A device calls
            ``stop`` every half second of the walks, and has no ``observe``.

        Raises:
          GaitError: the vectors have another length, or hold values that are not finite.
          SimulationError: the device cannot simulate the walks, or not with ``observe``.
        """
        X = np.atleast_2d(self.parameters.check(X))
        draws = None
        if perturbations is not None:
            drawn = perturbations.draws(self.parameters, self.settings.duration)
            X, draws = (
                perturbed_vectors(X, self.parameters, self.walker, drawn),
                drawn.tiled(len(X)),
            )
        with captured_warnings():
            batch, walks = self._prepared(len(X), persistent=device is None)
            self._slippery |= set_friction(batch, draws, self._slippery)
            set_disturbances(walks.disturbances, draws, self.period, self.walker.frontal)
            state = set_initial_state(
                batch, self.walker, self.body, self.parameters, self.layout.muscles, X,
                self.settings.pose,
                self.settings.compat,
                self.settings.joint_speeds,
            )  # fmt: skip
            gains = self.parameters.values(X, "gain")
            legs = gains.reshape(len(X), -1, len(self.layout.gains))
            walks.registers[:, :, self.layout.gain_registers] = legs
            knots = self.knots(X)
            walks.curve[:] = self.curves(X)
            invalid = {**state.invalid, **(knots.invalid if knots else {})}
            records = WalkRecords(
                frames=walks.frames,
                length=walks.status[:, k.Status.length],
                ended=walks.status[:, k.Status.ended],
                invalid=invalid,
                period=self.period * self.frame_every,
                muscles=self.walker.muscle_names,
                mass=self.walker.mass,
                level=self.walker.slope == 0.0 and self.walker.stairs is None,
            )
            ids = self._start(batch, walks, state.activation, records, stop)
            if device is None:
                self._walk(batch, walks, ids, records, observe, stop)
            else:
                if observe is not None:
                    raise SimulationError("walks on a device cannot be observed; use device: cpu")
                factors = None if draws is None else draws.friction
                on_device = self.on(device)
                on_device.check(X)
                on_device.run(batch, walks, records, ids, factors, stop)
        return records

    def on(self, device: WarpDevice) -> DeviceWalks:
        """The simulation on a device, kept for further calls.

        Raises:
          SimulationError: the device cannot simulate the walks.
        """
        if self._on_device is None or self._on_device.device != device:
            self._on_device = DeviceWalks(self, device)
        return self._on_device

    @property
    def rules(self) -> np.ndarray:
        """Settings of the compiled code, an array of one."""
        settings = self.settings
        rules = np.zeros(1, dtype=k.RULES)
        rules["threshold"] = self.controller.load_threshold
        rules["period"] = self.period
        rules["frame_every"] = self.frame_every
        rules["max_torque"] = settings.max_torque
        rules["has_exo"] = self.profile is not None
        rules["exo_in_swing"] = settings.compat
        # tolerance of a nanosecond for times that are sums of periods
        rules["shortest_swing"] = 0.0 if settings.compat else SHORTEST_SWING - 1e-9
        shortest = SHORTEST_STANCE_OF_MYOASSIST if settings.compat else SHORTEST_STANCE - 1e-9
        rules["shortest_stance"] = shortest
        own, lowest, steepest = self.walker.anatomy, settings.lowest, settings.steepest
        rules["lowest"] = own.lowest if lowest is None else lowest
        if steepest is None:  # people lean into a slope
            steepest = own.steepest + (0.0 if settings.compat else abs(self.walker.slope))
        rules["steepest"] = np.deg2rad(steepest)
        return rules

    def curves(self, X: np.ndarray) -> np.ndarray:
        """Torque curves ``(n, 3, knots)``: percent of stance, torque [N m] and unset slopes."""
        knots = self.knots(X)
        if knots is None:
            curve = np.zeros((len(X), 3, 2))
            curve[:, 0] = (0.0, 100.0)
            return curve
        return np.stack([knots.percent, knots.torque, np.zeros_like(knots.torque)], axis=1)

    @property
    def frame_every(self) -> int:
        """Number of controller steps per frame."""
        if self.settings.compat:
            return 1
        return max(1, round(FRAME_PERIOD / self.period))

    @property
    def device_notes(self) -> list[str]:
        """Sentences on the simulation on a device."""
        return [] if self._on_device is None else self._on_device.notes

    @property
    def most_frames(self) -> int:
        """Largest number of frames of a walk."""
        return self.runs // self.frame_every + 1

    @property
    def frame_columns(self) -> int:
        """Number of columns of a frame."""
        return ACTIVATIONS + len(self.body.muscles)

    def _start(
        self,
        batch: Batch,
        walks: k.Walks,
        activation: np.ndarray,
        records: WalkRecords,
        stop: Callable[[WalkRecords], np.ndarray] | None,
    ) -> np.ndarray:
        """Start the controllers; returns the walks that start."""
        settings, rules = self.settings, self.rules
        if settings.compat and settings.delayed:
            batch.step()
            batch.forward()
        fields = self._fields(batch)
        target = np.full((len(walks.status), 2, 2), np.nan)
        if settings.compat and settings.delayed:
            target[:, :, 0] = self._nominal_targets(rules, fields, walks, activation, target)
        fixed = (self.program, self.body, rules, fields, walks)
        k.start_walks(*fixed, self.swing_leg, activation, target)
        ended = records.ended
        ended[list(records.invalid)] = End.could_not_start
        if stop is not None:
            ended[stop(records) & (ended == End.running)] = End.stopped
        return np.flatnonzero(ended == End.running)

    def _walk(
        self,
        batch: Batch,
        walks: k.Walks,
        ids: np.ndarray,
        records: WalkRecords,
        observe: Callable[[int, Batch], None] | None,
        stop: Callable[[WalkRecords], np.ndarray] | None,
    ) -> None:
        """Simulate the started walks ``ids`` on the CPU."""
        compat = self.settings.compat
        stage = mujoco.mjtStage.mjSTAGE_ACC if compat else mujoco.mjtStage.mjSTAGE_VEL
        stage_number = int(stage.value)
        last, ended = self.runs, records.ended
        rules, fields = self.rules, self._fields(batch)
        fixed = (self.program, self.body, self.fibers, rules, fields, walks)
        control = entry_point(k.control_walks, *fixed, ids, 0, True)
        for tick in range(last + 1):
            running = control(*fixed, ids, tick, tick < last)
            if running < len(ids):
                if stop is not None and tick < last:
                    ended[stop(records) & (ended == End.running)] = End.stopped
                ids = ids[ended[ids] == End.running]
                running = len(ids)
            if tick == last or not running:
                break
            if observe is not None:
                observe(tick, batch)
            # MuJoCo checks the order of ids at each call: none are passed while all walks continue
            batch.step(None if running == len(ended) else ids, self.steps, stage_number)

    def _nominal_targets(
        self,
        rules: np.ndarray,
        fields: k.Fields,
        walks: k.Walks,
        activation: np.ndarray,
        target: np.ndarray,
    ) -> np.ndarray:
        """Landing angles ``(n, 2)`` by the nominal gains, as in the buffers of MyoAssist."""
        places = self.layout.gain_registers
        own = walks.registers[:, :, places].copy()
        nominal = self.parameters.values(self.parameters.start[None], "gain")
        walks.registers[:, :, places] = nominal.reshape(1, -1, len(places))
        k.start_walks(
            self.program, self.body, rules, fields, walks, self.swing_leg, activation, target
        )
        walks.registers[:, :, places] = own
        return walks.rings[:, :, int(self.program.head["target_start"][0])].copy()

    def knots(self, X: np.ndarray) -> Knots | None:
        """Knots of the torque curves of vectors ``(n, size)``; None without an exoskeleton."""
        if self.profile is None:
            return None
        values = self.parameters.values(X, "exoskeleton")
        return self.profile.knots(values, self.settings.max_torque)

    def _prepared(self, n: int, persistent: bool = True) -> tuple[Batch, k.Walks]:
        """A batch and rows for ``n`` walks, reused from the last call if possible.

        A batch that also steps is ``persistent``: each simulation keeps its derived values.
        """
        fits = self._of_batch == (n, persistent)
        if self._batch is None or self._walks is None or not fits:
            self._of_batch = n, persistent
            self._batch = Batch(self.walker.model, n, self.settings.threads, persistent=persistent)
            # a batch that is not persistent fills what is bound before a pass
            self._fields(self._batch)
            self._slippery = False
            layout = self.layout
            curve = np.tile(self.curves(self.parameters.start[None]), (n, 1, 1))
            self._walks = k.Walks(
                registers=np.zeros((n, 2, len(layout.registers))),
                rings=np.zeros((n, 2, layout.ring_size)),
                measured=np.zeros((n, 2, len(layout.measured))),
                stimulation=np.zeros((n, 2, len(layout.muscles))),
                crossed=np.zeros((n, len(layout.muscles))),
                clocks=np.zeros((n, 2, len(Clock))),
                curve=curve,
                exo=np.zeros((n, 2)),
                disturbances=np.zeros(n, dtype=DISTURBANCE),
                energy=np.zeros(n),
                frames=np.zeros((n, self.most_frames, self.frame_columns)),
                status=np.zeros((n, 2), dtype=np.int64),
            )
        return self._batch, self._walks

    def _fields(self, batch: Batch) -> k.Fields:
        arrays: dict[str, Any] = {
            name: batch.bind(name) for name in k.Fields._fields if name != "warning"
        }
        return k.Fields(**arrays, warning=batch.warning)

    def with_settings(self, **changes) -> "WalkSimulation":
        """A copy of the simulation with other settings."""
        return WalkSimulation(
            self.walker, replace(self.settings, **changes), self.controller, self.profile
        )
