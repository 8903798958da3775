"""Control laws: a Python function that MuJoCo calls at native speed.

::

    @control_law(gains={"kp": "joint", "kd": "joint"}, writes=["ctrl"])
    def pd(position, velocity, command, gains, ctrl_out):
        for i in range(len(position)):
            ctrl_out[i] = gains.kp[i] * (command[i] - position[i]) - gains.kd[i] * velocity[i]

The function is compiled by numba. The names of its arguments define what it reads and writes:

=====================  =============================================================================
argument               what it is
=====================  =============================================================================
``time``               time of the simulation [s]
``timestep``           time step of the model [s]
``period``             time from one run of the law to the next [s]
``first``              1 in the first run of a fresh state, else 0
``position``           ``(joints,)`` positions of the target joints [rad or m]
``velocity``           ``(joints,)`` their velocities [rad/s or m/s]
``command``            ``(commands,)`` controls of the command actuators
``sensors``            values of the target sensors, one sensor after the other
``gains``              ``gains.<name>``: this simulation's gains, read-only
``state``              ``state.<name>``: this simulation's controller state, zero at ``first``
``targets``            ``targets.joint``, ``.actuator``, ``.command``, ``.sensor``, ``.body``: ids
``<field>_out``        output, one value (or row) per target; see ``writes``
any other name         a whole array of ``mjData`` or ``mjModel``, read-only, such as ``qpos``
=====================  =============================================================================

Outputs are held until the law runs again and are zero before it first runs; the law writes every
element of every output each time it runs. It returns nothing, or a failure code: a whole number,
0 for none.

A filter or an integral that starts from zero causes a transient in a joint that rests elsewhere:
set it in the ``first`` run to its steady state under the first command at the first position.
``first`` is 0 where :meth:`TargetedLaw.start` is given a state. Delay lines are initialised
automatically with their first value.
"""

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from trueup.errors import LawError, listing
from trueup.simulation.control import _userdata as u

Shape = int | str | tuple[int | str, ...]


class ControlLaw:
    """A control law; made by :func:`control_law`, targeted at a model by :meth:`on`.

    Attributes:
        name: name of the function.
        function: the Python function, to call it without MuJoCo.
        gains: extents of each gain.
        state: extents of each array of controller state.
        writes: fields that the law writes.
        failures: meaning of the law's custom failure codes.
        checked: the compiled law checks every index.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        gains: Mapping[str, Shape] | Sequence[str],
        state: Mapping[str, Shape] | Sequence[str],
        writes: Sequence[str],
        failures: Mapping[int, str] | None,
        checked: bool,
    ):
        self.function = function
        self.name = function.__name__
        self.gains = _extents(self.name, "gain", gains)
        self.state = _extents(self.name, "state", state)
        self.writes = (writes,) if isinstance(writes, str) else tuple(writes)
        self.failures = dict(failures or {})
        self.checked = checked
        functools.update_wrapper(self, function)
        wrong = [code for code in self.failures if not isinstance(code, int) or code <= 0]
        if wrong:
            raise LawError(
                f"Control law {self.name!r}: failure codes must be positive integers, found "
                f"{listing(map(str, wrong))}"
            )
        if not self.writes:
            raise LawError(f"Control law {self.name!r} has no outputs: name a field in writes")

    @functools.cached_property
    def arguments(self):
        """Meaning of each argument of the law.

        Raises:
            LawError: an argument is not readable or writable by a law.
        """
        from trueup.simulation.control._arguments import resolve_arguments

        names = list(inspect.signature(self.function).parameters)
        return resolve_arguments(self.name, names, self.gains, self.state, self.writes)

    @functools.cached_property
    def number(self) -> tuple[int, int]:
        """Identity of the law's layout: two numbers below 1e6."""
        text = repr((u.PLAN_VERSION, self.name, self.arguments.declared))
        digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        return digest % 999_983, digest // 999_983 % 999_979

    @functools.cached_property
    def callback(self):
        """The compiled C callback, a ``numba.cfunc``; compiled on first use.

        Raises:
            LawError: the function does not compile.
        """
        from trueup.simulation.control._compile import compile_law

        return compile_law(self.name, self.function, self.checked, self.arguments, self.number)

    def on(
        self,
        *,
        joints: Sequence[str] = (),
        actuators: Sequence[str] = (),
        commands: Sequence[str] | None = None,
        sensors: Sequence[str] = (),
        bodies: Sequence[str] = (),
        period_steps: int = 1,
    ):
        """Target the law at objects of a model.

        Args:
            joints: hinge and slide joints of ``position``, ``velocity`` and outputs per degree
                of freedom (``qfrc_applied``, ``dof_frictionloss``).
            actuators: actuators of ``ctrl`` and other outputs per actuator.
            commands: actuators whose controls are the ``command``; by default ``actuators``. A law
                that reads its command from an actuator and writes ``ctrl`` of the same one
                overwrites it: set the control before every step then, as rollouts do, or give the
                command a separate actuator (:func:`add_command_channels`).
            sensors: sensors whose values are ``sensors``.
            bodies: bodies that ``xfrc_applied`` is for.
            period_steps: number of steps between runs of the law; its outputs are held between.

        Returns:
            A :class:`TargetedLaw`.
        """
        from trueup.simulation.control._targeted_law import TargetedLaw

        return TargetedLaw(
            law=cast(Any, self),
            joints=_names("joints", joints),
            actuators=_names("actuators", actuators),
            commands=_names("commands", actuators if commands is None else commands),
            sensors=_names("sensors", sensors),
            bodies=_names("bodies", bodies),
            period_steps=period_steps,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Python function itself."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<control law {self.name!r}, writes {listing(self.writes)}>"


def control_law(
    *,
    writes: Sequence[str],
    gains: Mapping[str, Shape] | Sequence[str] = (),
    state: Mapping[str, Shape] | Sequence[str] = (),
    failures: Mapping[int, str] | None = None,
    checked: bool = True,
) -> Callable[[Callable[..., Any]], ControlLaw]:
    """Make a control law of a Python function that numba can compile.

    Args:
        writes: fields that the law writes: ``ctrl``, ``qfrc_applied``, ``xfrc_applied``, or fields
            of the model such as ``dof_frictionloss``, which a batch has to expand. ``<field>_out``
            is then an argument of the function. A field of the model that MuJoCo reads before it
            calls the law, such as ``dof_frictionloss``, takes effect in the next step.
        gains: name of each gain and its shape, of numbers and of "joint", "actuator", "command",
            "sensor" or "body" for one per target; a list of names gives scalars.
        state: the same for the controller state.
        failures: meaning of the codes that the function returns.
        checked: check every index of the compiled function and mark a wrong one as a failure;
            otherwise a wrong index reads or writes memory out of bounds.

    Returns:
        A decorator that makes a :class:`ControlLaw`.

    Raises:
        LawError: a name or a shape is malformed.
    """

    def decorate(function: Callable[..., Any]) -> ControlLaw:
        return ControlLaw(function, gains, state, writes, failures, checked)

    return decorate


def _names(what: str, names: Sequence[str]) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) else tuple(names)
    repeated = sorted({name for name in found if found.count(name) > 1})
    if repeated:
        raise LawError(f"{what} contains duplicates: {listing(repeated)}")
    return found


def _extents(
    law: str, what: str, declared: Mapping[str, Shape] | Sequence[str]
) -> dict[str, tuple[u.Extent, ...]]:
    if not isinstance(declared, Mapping):
        names = (declared,) if isinstance(declared, str) else declared
        declared = dict.fromkeys(names, 1)
    extents = {}
    for name, shape in declared.items():
        sizes = shape if isinstance(shape, tuple) else (shape,)
        wrong = [
            size
            for size in sizes
            if size not in u.GROUPS
            and not (isinstance(size, int) and not isinstance(size, bool) and size > 0)
        ]
        if wrong or not sizes:
            raise LawError(
                f"Control law {law!r}: {what} {name!r} has shape {shape!r}; a shape consists of "
                f"positive integers and of {listing(u.GROUPS)}"
            )
        if not name.isidentifier() or name.startswith("_") or "__" in name:
            raise LawError(
                f"Control law {law!r}: {name!r} is not a valid name of a {what}; use a Python name "
                "without leading or double underscores"
            )
        extents[name] = sizes
    return extents
