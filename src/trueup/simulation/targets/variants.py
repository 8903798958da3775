"""Variants of one model with parameters: from a batch of candidates to a batch of models."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import mujoco
import numpy as np

from trueup.errors import ModelError, ParameterError, TargetError, TrueupError
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.engine.warning_capture import captured_warnings
from trueup.simulation.targets.callback_fields import (
    CallbackFields,
    difference_when_written,
    find_callback_fields,
)
from trueup.simulation.targets.callback_use import CallbackUse
from trueup.simulation.targets.model_writes import ModelWrites, has_own_modifier
from trueup.simulation.targets.resolution import FieldWrite
from trueup.simulation.targets.spec_view import apply_modifier
from trueup.simulation.targets.verification import verify
from trueup.time_limit import check_time

_FAILURES = (ValueError, ArithmeticError, TrueupError, mujoco.FatalError)
"""Errors that make one candidate fail; any other exception is an error in a modifier."""

_SIZES = (
    *(
        "nq",
        "nv",
        "na",
        "nu",
        "nbody",
        "njnt",
        "ngeom",
        "nsite",
        "ncam",
        "nlight",
        "neq",
        "ntendon",
    ),
    *("nsensor", "nsensordata", "nuserdata", "nmocap", "nhistory", "nM", "nC", "nD", "nplugin"),
)

_SHORT_COMPILATION = 0.005
"""Compilation time [s] below which threads cost more than they save."""

BuildModel = Callable[[ParameterDict, Any], mujoco.MjModel]
"""``build_model(parameters, spec)`` compiles a candidate."""


def compile_spec(spec: Any, name: str = "model") -> mujoco.MjModel:
    """Compile a spec.

    Raises:
      ModelError: with MuJoCo's message, where it does not compile.
    """
    with captured_warnings():
        try:
            return spec.compile()
        except ValueError as error:
            raise ModelError(f"{name} does not compile: {error}") from error


class ModelVariants:
    """A spec and the parameters that change it.

    Declarative targets and body inertias are written into the batch's fields, with no compilation.
    Where a parameter has a custom modifier, candidates are compiled, in parallel, until there were
    enough to probe which fields the modifiers write; from then on fields are written instead, if
    that gives the same models. With ``build_model`` each candidate is compiled. The given spec is
    never changed.

    Args:
      spec: the model to identify.
      parameters: all parameters; frozen ones are applied too.
      build_model: replaces the compilation of a candidate.
      name: name of the model, for messages.

    Raises:
      ModelError: the spec does not compile.
      TargetError: a target that is not in the model or cannot be written into a compiled one.
    """

    def __init__(
        self,
        spec: Any,
        parameters: ParameterDict,
        build_model: BuildModel | None = None,
        name: str = "model",
    ):
        self.name = name
        self.parameters = parameters.copy()
        self.build_model = build_model
        self.spec = spec.copy()
        model = compile_spec(self.spec, name)
        own = [p.name for p in parameters.values() if has_own_modifier(p)]
        lost = [p.name for p in parameters.values() if p.modifier_lost]
        if lost and build_model is None:
            # raises the error of the parameter
            parameters[lost[0]].apply_modifier(None)
        self.compiles = bool(own) or build_model is not None
        writes = ModelWrites(model, self.parameters)
        if not self.compiles and _keep_sparsity(self.spec, model, writes.reshaped_bodies):
            model = compile_spec(self.spec, name)
            writes = ModelWrites(model, self.parameters)
        self.writes = writes
        self.model = model
        self._start = self.parameters.as_vector()
        self.callbacks = CallbackUse() if own and build_model is None else None
        if self.compiles:
            self._use_layout_of_start()
        else:
            verify(self.spec, model, self.parameters, writes)

    def __getstate__(self) -> dict[str, Any]:
        """State for another process: the compiled model in full precision, without the spec.

        Raises:
          ModelError: candidates must be compiled, which requires the spec.
        """
        if self.compiles:
            raise ModelError(
                f"the candidates of {self.name} are compiled (a modifier or build_model is given), "
                "and an MjSpec cannot be pickled: use targets, or run in one process"
            )
        return {**self.__dict__, "spec": None, "writes": self.writes.without_spec()}

    def _use_layout_of_start(self) -> None:
        """Use the model at the start values: a modifier may add bodies, such as a payload."""
        self._state_writes = self.writes
        try:
            with captured_warnings():
                start = self._compile(self.parameters.copy(), self.spec.copy())
        except _FAILURES:
            self.callbacks = None
            return  # reported when the start values are simulated
        self.model = start
        # bodies that a modifier adds before others shift their indices
        self._state_writes = ModelWrites(start, self.parameters)

    def batch(
        self, X: np.ndarray, failures: dict[int, str]
    ) -> tuple[list[mujoco.MjModel] | None, list[tuple[FieldWrite, np.ndarray]]]:
        """Return compiled models and field writes of candidates ``(n, p)`` for an engine.

        ``model`` may change in a call: an engine must use the current one.
        """
        use = self.callbacks
        if use is not None and (self._start == X).all():
            return None, self.field_writes(X)  # the model is the one at the start values
        if use is not None and use.is_due(len(X)):
            self._probe(use)
        if use is None or use.fields is None or not self._stands(use, X):
            return self.models(X, failures), self.field_writes(X)
        return None, self._all_writes(use.fields, X)

    def confirm(self, x: np.ndarray) -> bool:
        """Whether the compiled model of one candidate ``(p,)`` equals the simulated one.

        If not, candidates are compiled from now on.
        """
        use = self.callbacks
        if use is None or use.fields is None:
            return True
        try:
            with captured_warnings():
                writes = self._all_writes(use.fields, x[None, :])
                physical = [w for w in writes if not w[0].field.startswith("state.")]
                difference = difference_when_written(self.model, physical, [self.model_at(x)])
        except _FAILURES as error:
            difference = str(error)
        if difference:
            use.drop(self.name, difference)
        return not difference

    def _stands(self, use: CallbackUse, X: np.ndarray) -> bool:
        return not use.is_check_due() or self.confirm(X[0])

    def _all_writes(self, fields: CallbackFields, X: np.ndarray):
        table = self.parameters.value_table(X)
        return [*self._state_writes.fields(table), *fields.writes(table)]

    def _probe(self, use: CallbackUse) -> None:
        """Detect the fields that the callbacks write; on failure candidates are still compiled."""
        try:
            found = self._found_fields()
            reshaped = found.reshaped_bodies(self.model)
            bodies = [b for b in reshaped if self.spec.body(b) is not None]
            if bodies and _keep_sparsity(self.spec, self.model, bodies):
                with captured_warnings():
                    self.model = self._compile(self.parameters.copy(), self.spec.copy())
                self._state_writes = ModelWrites(self.model, self.parameters)
                found = self._found_fields()
        except _FAILURES as error:
            use.refuse(str(error))
        else:
            use.accept(found)

    def _found_fields(self) -> CallbackFields:
        return find_callback_fields(
            self.model, self.parameters, self._state_writes, self._compile_all
        )

    def _compile_all(self, candidates: Sequence[ParameterDict]) -> list[mujoco.MjModel]:
        """Compile candidates, each from its own copy of the spec.

        Raises:
          TargetError: one does not compile.
        """

        def build(candidate: ParameterDict) -> mujoco.MjModel:
            try:
                return self._compile(candidate, self.spec.copy())
            except _FAILURES as error:
                raise TargetError(f"a value within the bounds does not compile: {error}") from error

        with captured_warnings():
            began = time.perf_counter()
            models = [build(candidate) for candidate in candidates[:1]]
            if time.perf_counter() - began < _SHORT_COMPILATION:
                return [*models, *map(build, candidates[1:])]
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                return [*models, *pool.map(build, candidates[1:])]

    def field_writes(self, X: np.ndarray) -> list[tuple[FieldWrite, np.ndarray]]:
        """Field writes of candidates ``(n, p)``; state targets only where models are compiled."""
        table = self.parameters.value_table(X)
        if self.compiles:
            writes = self._state_writes.fields(table)
            return [w for w in writes if w[0].field.startswith("state.")]
        return self.writes.fields(table)

    def models(self, X: np.ndarray, failures: dict[int, str]) -> list[mujoco.MjModel] | None:
        """Compiled models of candidates ``(n, p)``, or None where fields are written instead.

        A candidate that does not compile gets the base model and an entry in ``failures``.

        Raises:
          TimeUpError: a time limit expired.
        """
        if not self.compiles:
            return None
        candidates = [self._at(x) for x in X]
        workers = min(os.cpu_count() or 1, len(candidates))
        # with one candidate per worker, each has its own spec anyway
        shares = self.build_model is None and len(candidates) > workers
        fresh = self._needs_fresh_spec() if shares else True

        def build(worker: int) -> None:
            spec = self.spec.copy()
            for i in range(worker, len(candidates), workers):
                check_time()
                spec = self.spec.copy() if fresh and i != worker else spec
                try:
                    models[i] = self._compile(candidates[i], spec)
                except _FAILURES as error:
                    failures[i] = f"{self.name} does not compile: {error}"
                    spec = self.spec.copy()
                    continue
                if _layout(models[i]) != layout:
                    models[i], spec = self.model, self.spec.copy()
                    failures[i] = (
                        f"{self.name} has different bodies, joints, actuators or sensors than at "
                        "the "
                        f"start values"
                    )

        layout = _layout(self.model)
        models: list[mujoco.MjModel] = [self.model] * len(candidates)
        with captured_warnings():
            if workers == 1:
                build(0)
            else:
                # time limits are those of this thread
                contexts = [copy_context() for _ in range(workers)]
                with ThreadPoolExecutor(workers) as pool:
                    list(pool.map(lambda c, w: c.run(build, w), contexts, range(workers)))
        return models

    def model_at(self, x: np.ndarray) -> mujoco.MjModel:
        """Compiled model of one candidate ``(p,)``."""
        return self._compile(self._at(x), self.spec.copy())

    def spec_at(self, x: np.ndarray, spec: Any = None) -> Any:
        """A copy of the spec, or of a fuller one of the same model, with a candidate ``(p,)``."""
        spec = (self.spec if spec is None else spec).copy()
        self._write(self._at(x), spec)
        return spec

    def _at(self, x: np.ndarray) -> ParameterDict:
        parameters = self.parameters.copy()
        parameters.update_from_vector(x)
        return parameters

    def _write(self, parameters: ParameterDict, spec: Any) -> None:
        self.writes.write_spec(spec, {n: p.as_vector() for n, p in parameters.items()})
        for param in parameters.values():
            if has_own_modifier(param):
                apply_modifier(param, spec)

    def _compile(self, parameters: ParameterDict, spec: Any) -> mujoco.MjModel:
        if self.build_model is not None:
            return self.build_model(parameters, spec)
        self._write(parameters, spec)
        return spec.compile()

    def _needs_fresh_spec(self) -> bool:
        """Whether a modifier depends on the spec as modified by an earlier candidate.

        Copying a spec with meshes costs as much as compiling it. Modifiers that set values can
        share one copy; one that scales existing values cannot, and is detected here once.
        """
        if not hasattr(self, "_fresh"):
            self._fresh = self._remembers()
        return self._fresh

    def _remembers(self) -> bool:
        """Whether the model at the start depends on values written into the same spec before."""
        here = self.parameters.copy()
        lower, upper = here.get_bounds()
        x = here.as_vector()
        reach = np.where(np.isfinite(upper - lower), upper - lower, 0.2 * np.abs(x) + 0.01)
        low, high = (np.where(np.isfinite(b), b, x) for b in (lower, upper))
        near = np.where(x + 0.1 * reach <= upper, x + 0.1 * reach, x - 0.1 * reach)
        try:
            first = self._compile(here, self.spec.copy())
        except _FAILURES:
            return True
        # a modifier may behave differently far from the start
        for away in (near, low + 0.02 * (x - low), high - 0.02 * (high - x)):
            spec = self.spec.copy()
            try:
                self._compile(self._at(away), spec)
                second = self._compile(here, spec)
            except _FAILURES:
                return True
            if not _same(first, second):
                return True
        return False


def _is_state(param: Parameter) -> bool:
    return bool(param.targets) and all(t.startswith("state/") for t in param.targets)


def _layout(model: mujoco.MjModel) -> tuple[int, ...]:
    """Sizes that all models of one batch share."""
    return tuple(getattr(model, size) for size in _SIZES)


def _same(first: mujoco.MjModel, second: mujoco.MjModel) -> bool:
    buffers = []
    for model in (first, second):
        buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
        mujoco.mj_saveModel(model, None, buffer)
        buffers.append(buffer)
    return np.array_equal(*buffers)


def _keep_sparsity(spec: Any, model: mujoco.MjModel, bodies: list[str]) -> bool:
    """Compile bodies with a changing inertia in the general form; returns whether any changed.

    A body with a diagonal inertia matrix is compiled as ``simple``, and a batch that gives it
    another inertia fails as a whole.
    """
    changed = False
    for body in bodies:
        element = spec.body(body)
        if element is None:
            raise ParameterError(f"the model has no body {body!r}")
        if model.body(body).simple[0] if hasattr(model.body(body), "simple") else True:
            element.simple = 0
            changed = True
    return changed
