"""Writes of a set of parameters into one model, resolved once and used for batches."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from trueup.errors import TargetError, listing
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.targets.body_inertia import (
    BodyInertiaModifier,
    Inertial,
    inertia_writes,
    inertial_from_value,
    inertial_of,
    make_explicit,
    set_spec_inertial,
)
from trueup.simulation.targets.resolution import FieldWrite, ResolvedTarget, resolve, write_spec


@dataclass(frozen=True)
class ParameterWrite:
    """Writes of one parameter into a model."""

    name: str
    targets: tuple[ResolvedTarget, ...] = ()
    body: str = ""
    """Body whose inertia the parameter describes."""
    base: Inertial | None = None


class ModelWrites:
    """Changes of one model by the declarative parameters of a set.

    Args:
      model: the compiled model.
      parameters: the parameters; those with a custom modifier are skipped.

    Raises:
      TargetError: a target that the model does not have, or two that write the same number.
    """

    def __init__(self, model: mujoco.MjModel, parameters: ParameterDict):
        self.model = model
        self.parameters = parameters
        self.writes = [w for p in parameters.values() if (w := _find(model, p)) is not None]
        self._check_overlap()
        self._check_inertia()

    @property
    def bodies(self) -> list[str]:
        """Bodies whose inertia is written."""
        named = {b for w in self.writes for t in w.targets for b in t.bodies}
        return sorted(named | {w.body for w in self.writes if w.body})

    @property
    def reshaped_bodies(self) -> list[str]:
        """Bodies whose centre of mass or rotational inertia is written, not the mass alone."""
        bodies = {w.body for w in self.writes if w.body}
        for write in self.writes:
            for target in write.targets:
                if any(f.field in ("body_ipos", "body_inertia") for f in target.fields):
                    bodies |= set(target.bodies)
        return sorted(bodies)

    def without_spec(self) -> "ModelWrites":
        """The same writes without those into the spec, which cannot be pickled."""
        light = object.__new__(type(self))
        light.model, light.parameters = self.model, self.parameters
        light.writes = [
            replace(write, targets=tuple(replace(t, spec=()) for t in write.targets))
            for write in self.writes
        ]
        return light

    def fields(self, table: dict[str, np.ndarray]) -> list[tuple[FieldWrite, np.ndarray]]:
        """Field writes of a batch of candidates.

        Args:
          table: values ``(n, size)`` by parameter, from :meth:`ParameterDict.value_table`.

        Returns:
          Pairs of a write and its values ``(n, entries)``.
        """
        out: list[tuple[FieldWrite, np.ndarray]] = []
        for write in self.writes:
            values = table[write.name]
            if write.base is not None:
                param = self.parameters[write.name]
                arrays = inertial_from_value(
                    write.base, _kind(param), param.scale_rot_inertia, values
                )
                places = inertia_writes(self.model, write.body)
                out += [(places[field], array) for field, array in arrays.items()]
            for target in write.targets:
                out += [(f, values[:, f.source] * f.factor) for f in target.fields]
        return out

    def write_spec(self, spec: Any, values: dict[str, np.ndarray]) -> None:
        """Write one candidate into a spec.

        Args:
          spec: the ``MjSpec`` to change.
          values: flat value of each parameter by name.
        """
        if self.bodies:
            make_explicit(spec, self.model, self.bodies)
        for write in self.writes:
            value = values[write.name]
            if write.base is not None:
                param = self.parameters[write.name]
                arrays = inertial_from_value(
                    write.base, _kind(param), param.scale_rot_inertia, value[None, :]
                )
                inertial = Inertial(
                    float(arrays["body_mass"][0, 0]),
                    arrays["body_ipos"][0],
                    arrays["body_iquat"][0],
                    arrays["body_inertia"][0],
                )
                set_spec_inertial(spec, write.body, inertial)
            for target in write.targets:
                for place in target.spec:
                    write_spec(spec, place, float(value[place.source]))

    def _check_overlap(self) -> None:
        owner: dict[tuple[str, str, int], str] = {}
        for write in self.writes:
            places = [f for t in write.targets for f in t.fields]
            if write.body:
                places += list(inertia_writes(self.model, write.body).values())
            for place in places:
                for entry in place.entries:
                    key = (place.field, place.sequence, int(entry))
                    other = owner.setdefault(key, write.name)
                    if other != write.name:
                        raise TargetError(
                            f"parameters {other!r} and {write.name!r} both write "
                            f"{place.field}[{int(entry)}]; remove one, or tie it to the other"
                        )

    def _check_inertia(self) -> None:
        """Raise TargetError if the bounds allow a rotational inertia that is not physical.

        A principal moment is at most the sum of the other two (triangle inequality). The condition
        is linear, so it is satisfied within the bounds if it is satisfied at their corners.
        """
        ends: dict[int, tuple[tuple[str, int], float, float]] = {}
        for write in self.writes:
            param = self.parameters[write.name]
            param = param if param.tied_to is None else self.parameters.tie_source(param)
            lower, upper = param.get_bounds() if param.is_free else (param.value, param.value)
            for place in (f for target in write.targets for f in target.fields):
                if place.field != "body_inertia":
                    continue
                for entry, k in zip(place.entries, place.source, strict=True):
                    k = int(k)
                    ends[int(entry)] = ((param.name, k), float(lower[k]), float(upper[k]))
        for body in sorted({entry // 3 for entry in ends}):
            written = {e % 3: end for e, end in ends.items() if e // 3 == body}
            unknowns = list(dict.fromkeys(key for key, _, _ in written.values()))
            for corner in itertools.product((0, 1), repeat=len(unknowns)):
                moments = np.array(self.model.body_inertia[body], float)
                for axis, (key, low, high) in written.items():
                    moments[axis] = (low, high)[corner[unknowns.index(key)]]
                with np.errstate(invalid="ignore"):  # a bound may be infinite
                    possible = moments <= (moments.sum() - moments) * (1 + 1e-9)
                if not possible.all():
                    self._refuse_inertia(body, unknowns, moments)

    def _refuse_inertia(
        self, body: int, unknowns: list[tuple[str, int]], moments: np.ndarray
    ) -> None:
        name = self.model.body(body).name
        shown = ", ".join(f"{moment:.3g}" for moment in moments)
        names = listing(dict.fromkeys(parameter for parameter, _ in unknowns))
        raise TargetError(
            f"the bounds of {names} allow the principal moments ({shown}) kg m^2 of body {name!r}, "
            "which are not physical: each must be at most the sum of the other two. Narrow the "
            "bounds, "
            f"or use one parameter for the whole inertia that is always physical: inertia: {name}, "
            f"inertia_type: pseudo"
        )


def _kind(param: Parameter):
    assert param.inertia_type is not None
    return param.inertia_type


def _find(model: mujoco.MjModel, param: Parameter) -> ParameterWrite | None:
    if param.targets:
        ends = param.get_bounds() if param.is_free else (param.value, param.value)
        found = tuple(resolve(t, model, param.size, *ends) for t in param.targets)
        return ParameterWrite(param.name, found)
    own = param.modifier is None or isinstance(param.modifier, BodyInertiaModifier)
    if param.inertia_type is not None and param.inertia_body is not None and own:
        body = param.inertia_body
        modifier = param.modifier
        base = modifier.base if isinstance(modifier, BodyInertiaModifier) else None
        return ParameterWrite(param.name, (), body, base or inertial_of(model, body))
    return None


def has_own_modifier(param: Parameter) -> bool:
    """Whether a parameter is applied by a custom Python function."""
    if isinstance(param.modifier, BodyInertiaModifier):
        return False
    return param.modifier is not None or param.modifier_lost
