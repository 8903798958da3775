"""Law with targets in a model: started, read and checked in its simulations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import ArrayLike

from trueup.errors import LawError, listing
from trueup.simulation.control import _userdata as u
from trueup.simulation.control._arguments import Arguments
from trueup.simulation.control._targets import target_rows

Simulation = Batch | mujoco.MjData
"""Simulations that a law runs in: a batch or a single one."""


class Law(Protocol):
    """Part of a :class:`ControlLaw` that a targeted law uses."""

    name: str
    failures: dict[int, str]

    @property
    def arguments(self) -> Arguments:
        """Meaning of each argument of the law."""
        ...

    @property
    def number(self) -> tuple[int, int]:
        """Identity of the law's layout."""
        ...

    @property
    def callback(self) -> Any:
        """The compiled C callback."""
        ...


@dataclass(frozen=True)
class TargetedLaw:
    """A law and the objects it acts on; made by :meth:`ControlLaw.on`.

    Attributes:
        law: the law.
        joints: names of the joints.
        actuators: names of the actuators.
        commands: names of the actuators whose controls are the command.
        sensors: names of the sensors.
        bodies: names of the bodies.
        period_steps: number of steps between runs of the law.
    """

    law: Law
    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    commands: tuple[str, ...]
    sensors: tuple[str, ...]
    bodies: tuple[str, ...]
    period_steps: int = 1

    def __post_init__(self):
        steps = self.period_steps
        if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps < 1_000_000:
            raise LawError(f"period_steps must be a positive integer, found {steps!r}")

    @property
    def targets(self) -> dict[str, tuple[str, ...]]:
        """Names of the objects by group, in the order of ``GROUPS``."""
        named = (self.joints, self.actuators, self.commands, self.sensors, self.bodies)
        return dict(zip(u.GROUPS, named, strict=True))

    def layout(self, model: mujoco.MjModel) -> u.Layout:
        """The layout of gains and state in ``userdata`` of a prepared model.

        Raises:
            LawError: the model is not prepared for this law and these targets.
        """
        plan = u.find_plan(model)
        if plan is None:
            raise LawError(
                f"The model is not prepared for control law {self.law.name!r}: compile it from "
                "prepare_spec(spec, law)"
            )
        counts = {group: len(names) for group, names in self.targets.items()}
        values = float(plan[u.P_SENSOR_VALUES])
        values = int(values) if 0 <= values < 1e6 else 0
        layout = u.make_layout(self.law.arguments.declared, counts, values)
        expected = u.encode_plan(layout, self.law.number, self.period_steps, None)
        found = plan[: expected.size].copy()
        found[u.P_HAS_GAINS] = 0
        if found.size != expected.size or not np.array_equal(found, expected):
            raise LawError(
                f"The model is prepared for another law, other targets or another period than "
                f"{self.law.name!r} on {self._described()}: compile it from prepare_spec(spec, law)"
            )
        if model.nuserdata < layout.size:
            raise LawError(
                f"The model has nuserdata {model.nuserdata}; control law {self.law.name!r} needs "
                f"{layout.size}: compile it from prepare_spec(spec, law), without changing "
                "nuserdata"
            )
        return layout

    def start(
        self,
        simulation: Simulation,
        gains: Mapping[str, ArrayLike] | None = None,
        *,
        state: Mapping[str, ArrayLike] | None = None,
        ids: ArrayLike | None = None,
    ) -> None:
        """Write gains and a fresh state into simulations, and clear their failures.

        Call it after a reset and after the initial positions are written: a reset clears
        ``userdata``. For a law that reads derived fields it also runs ``mj_forward``, so that the
        law's first run sees the values of this simulation's initial state with its outputs at zero.

        Args:
            simulation: a ``Batch`` or an ``MjData`` of a prepared model.
            gains: each gain as a number, as an array of the gain's shape, or for a batch as an
                array ``(n, *shape)``; ``(n,)`` for a gain that is a single number. Omitted gains
                keep the defaults given to :func:`prepare_spec`.
            state: controller state that does not start at zero, in the same forms.
            ids: the simulations of the batch; all if None.

        Raises:
            LawError: a gain is missing, unknown, of the wrong shape or not finite; the model is not
                prepared; the law reads derived fields and the batch is not persistent; the law
                writes a field of the model that the batch has not expanded.
        """
        model = _model(simulation)
        layout = self.layout(model)
        if isinstance(simulation, Batch):
            self._check_batch(simulation)
            chosen = np.arange(simulation.nsim) if ids is None else np.asarray(ids)
            chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        elif ids is not None:
            raise LawError("ids are supported for a batch only; an MjData is a single simulation")
        else:
            chosen = np.zeros(1, dtype=int)
        userdata = _userdata(simulation)
        all_rows = userdata if userdata.ndim == 2 else userdata[None]
        rows = np.zeros((len(chosen), layout.size))
        self._fill(rows, layout, "gains", self._all_gains(model, layout, gains or {}))
        self._fill(rows, layout, "state", state or {})
        derived = self.law.arguments.derived
        u.write_header(rows, layout, u.IDLE if derived else u.RUNNING, bool(state))
        all_rows[chosen, : layout.size] = rows
        self._clear_model_outputs(simulation, model, chosen)
        if derived:
            if isinstance(simulation, Batch):
                simulation.forward(ids=np.sort(chosen))
            else:
                mujoco.mj_forward(model, simulation)
            all_rows[chosen, u.MODE] = u.RUNNING

    def gains(self, simulation: Simulation) -> dict[str, np.ndarray]:
        """Live views of the gains: ``(n, *shape)`` in a batch, ``shape`` in an ``MjData``."""
        return self._views(simulation, "gains")

    def state(self, simulation: Simulation) -> dict[str, np.ndarray]:
        """Live views of the controller state, as :meth:`gains`."""
        return self._views(simulation, "state")

    def inputs(self, simulation: Simulation) -> dict[str, np.ndarray]:
        """Inputs of the law from its targets in its last run, as :meth:`gains`."""
        return self._views(simulation, "inputs")

    def outputs(self, simulation: Simulation) -> dict[str, np.ndarray]:
        """Outputs of the law in its last run, by field, as :meth:`gains`."""
        return self._views(simulation, "outputs")

    def failures(self, simulation: Simulation) -> dict[int, str]:
        """Reason by simulation in which the law failed; index 0 for an ``MjData``.

        A law that has failed no longer runs and raises a warning in each step, so that a rollout
        of a batch ends there.
        """
        userdata = np.atleast_2d(_userdata(simulation))
        if userdata.shape[1] < u.HEADER_SIZE:
            return dict.fromkeys(range(len(userdata)), u.FAILURES[u.TOO_SMALL])
        failed = {}
        for index in np.flatnonzero(userdata[:, u.FAILURE]):
            code, time = int(userdata[index, u.FAILURE]), userdata[index, u.FAILURE_TIME]
            known = u.FAILURES | self.law.failures
            reason = known.get(code, f"the law returned the failure code {code}")
            failed[int(index)] = f"at {time:.6g} s: {reason}"
        return failed

    def _views(self, simulation: Simulation, kind: str) -> dict[str, np.ndarray]:
        layout, userdata = self.layout(_model(simulation)), _userdata(simulation)
        return {name: layout.view(userdata, kind, name) for name in layout.names(kind)}

    def _all_gains(
        self, model: mujoco.MjModel, layout: u.Layout, gains: Mapping[str, ArrayLike]
    ) -> dict[str, ArrayLike]:
        plan = u.find_plan(model)
        block = layout.block("gains")
        values: dict[str, ArrayLike] = {}
        if plan is not None and plan[u.P_HAS_GAINS]:
            defaults = np.zeros(block.stop)
            defaults[block] = plan[int(plan[u.P_SIZE]) :][: block.stop - block.start]
            values |= {name: layout.view(defaults, "gains", name) for name in layout.names("gains")}
        values |= dict(gains)
        missing = [name for name in layout.names("gains") if name not in values]
        if missing:
            raise LawError(
                f"Control law {self.law.name!r} needs the gains {listing(layout.names('gains'))}; "
                f"missing: {listing(missing)}"
            )
        return values

    def _fill(
        self, rows: np.ndarray, layout: u.Layout, kind: str, values: Mapping[str, ArrayLike]
    ) -> None:
        for name, value in values.items():
            view, numbers = layout.view(rows, kind, name), np.asarray(value, dtype=float)
            shape = layout.part(kind, name).shape
            if shape == (1,) and numbers.shape == (len(rows),):
                numbers = numbers[:, None]
            if numbers.shape not in ((), shape, view.shape):
                raise LawError(
                    f"{name!r} has shape {numbers.shape}; {kind} {name!r} of control law "
                    f"{self.law.name!r} takes a number, {shape}, or here {view.shape}"
                )
            if not np.isfinite(numbers).all():
                raise LawError(f"{kind} {name!r} of control law {self.law.name!r} is not finite")
            view[...] = numbers

    def _check_batch(self, batch: Batch) -> None:
        arguments = self.law.arguments
        if arguments.derived and not batch.persistent:
            raise LawError(
                f"Control law {self.law.name!r} reads {listing(arguments.derived)}, which is not "
                "part of a simulation's state: in this batch it would read the values of another "
                "simulation. Construct the batch with persistent=True"
            )
        shared = [name for name in arguments.model_writes if not _per_simulation(batch, name)]
        if shared:
            raise LawError(
                f"Control law {self.law.name!r} writes {listing(shared)}, which the simulations of "
                "this batch share: call "
                + ", ".join(f"batch.expand({name!r})" for name in shared)
                + " first"
            )

    def _clear_model_outputs(
        self, simulation: Simulation, model: mujoco.MjModel, chosen: np.ndarray
    ) -> None:
        """Zero the model fields that the law writes, its outputs before the first run."""
        for name in self.law.arguments.model_writes:
            rows = target_rows(model, name, self.targets)
            if isinstance(simulation, Batch) and simulation._models is None:
                simulation.expand(name)[np.ix_(chosen, rows)] = 0.0
            elif isinstance(simulation, Batch):
                for sim in chosen:
                    getattr(simulation._model_of(int(sim)), name)[rows] = 0.0
            else:
                getattr(model, name)[rows] = 0.0

    def _described(self) -> str:
        named = {group: names for group, names in self.targets.items() if names}
        return "; ".join(f"{group} {listing(names)}" for group, names in named.items()) or "nothing"


def _per_simulation(batch: Batch, field: str) -> bool:
    """Whether each simulation of a batch has its own values of a model field."""
    models = batch._models
    if models is not None:
        return not isinstance(models, mujoco.MjModel) and len({id(m) for m in models}) == batch.nsim
    return field in batch._expanded


def _model(simulation: Simulation) -> mujoco.MjModel:
    if isinstance(simulation, Batch | mujoco.MjData):
        return simulation.model
    raise LawError(
        f"A law runs in a mujoco.batch.Batch or in a mujoco.MjData, found {type(simulation)}"
    )


def _userdata(simulation: Simulation) -> np.ndarray:
    return simulation.bind("userdata") if isinstance(simulation, Batch) else simulation.userdata
