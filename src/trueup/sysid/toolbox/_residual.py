"""Residual with the toolbox's signatures: recordings against simulations, in batches."""

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import mujoco
import numpy as np

from trueup.errors import FitError, SignalError, did_you_mean, listing
from trueup.fitting.problem import Failures, Problem
from trueup.parameters import ParameterDict
from trueup.signals import SignalType, TimeSeries
from trueup.signals.model_signals import sensor_mapping
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.simulation.targets.variants import ModelVariants
from trueup.sysid import model_modifier
from trueup.sysid.fit.observation_settings import ObservationSettings
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.toolbox.hooked_problem import HookedProblem
from trueup.sysid.toolbox.hooked_rollout import (
    HookedGroup,
    HookedRollout,
    Hooks,
    build_with_variants,
)
from trueup.sysid.toolbox.sequence_result import SequenceResult, gray_box_results
from trueup.sysid.toolbox.signal_transform import SignalTransform
from trueup.sysid.toolbox.transform_measurement import (
    rules_key,
    transform_rules,
    with_registered,
)

_NUM_CPUS: int = os.cpu_count() or 1

BuildModelFn: TypeAlias = Callable[[ParameterDict, mujoco.MjSpec], mujoco.MjModel]
"""``build_model(params, spec)`` compiles a candidate from a copy of the spec."""

CustomRolloutFn: TypeAlias = Callable[..., Sequence[SystemTrajectory]]
"""Replaces :func:`trueup.sysid.sysid_rollout`. Called with the keywords ``models``, ``datas``,
``control_signal``, ``initial_states``, ``param_dicts``, ``rollout_signal_mapping``,
``rollout_state_mapping`` and ``ctrl_mapping``; returns one trajectory per model."""

ModifyResidualFn: TypeAlias = Callable[..., tuple[np.ndarray, TimeSeries, TimeSeries]]
"""Replaces the comparison. Called as ``modify_residual(params, predicted, measured, model,
return_pred_all, state=...)``, with ``sensor_weights=...`` if weights are given; returns the
residual and both compared series."""

Result: TypeAlias = tuple[list[np.ndarray], list[list[TimeSeries]], list[list[TimeSeries]]]
"""Residuals, predicted and measured series; one entry per recorded sequence."""

_KEPT_PROBLEMS = 4


@dataclass(frozen=True)
class ResidualSettings:
    """Arguments of :func:`residual`, with their defaults."""

    models_sequences: Sequence[ModelSequences]
    build_model: BuildModelFn = model_modifier.apply_param_modifiers
    modify_residual: ModifyResidualFn | None = None
    custom_rollout: CustomRolloutFn | None = None
    n_threads: int = _NUM_CPUS
    return_pred_all: bool = False
    resample_true: bool = True
    sensor_weights: Mapping[str, float] | np.ndarray | None = None
    enabled_observations: Sequence[tuple[str, SignalType] | str] = ()
    signal_transform: SignalTransform | None = None

    @property
    def transform(self) -> SignalTransform | None:
        """The signal transform, given as such or as ``modify_residual=transform.apply``."""
        if self.signal_transform is not None:
            return self.signal_transform
        owner = getattr(self.modify_residual, "__self__", None)
        function = getattr(self.modify_residual, "__func__", None)
        if type(owner) is SignalTransform and function is SignalTransform.apply:
            return owner
        return None

    @property
    def weights(self) -> Mapping[str, float] | np.ndarray | None:
        """Weights of the call, else those of the transform."""
        if self.sensor_weights is not None or self.transform is None:
            return self.sensor_weights
        return self.transform.sensor_weights

    @property
    def is_batched(self) -> bool:
        """Whether whole batches are compared at once, without custom functions."""
        plain = self.modify_residual is None or self.transform is not None
        named = self.weights is None or isinstance(self.weights, Mapping)
        return plain and named and self.custom_rollout is None

    @property
    def own_build_model(self) -> BuildModelFn | None:
        """``build_model``, unless it is the default one."""
        default = self.build_model is model_modifier.apply_param_modifiers
        return None if default else self.build_model


class ResidualFunction:
    """A residual with its models and recordings; called like :func:`residual` without them.

    Its problem is constructed at the first call and cached, so that the models are read and
    verified once. A spec that is changed later requires a new residual function. Neither the
    specs nor the parameters are changed.

    Args:
      captured: arguments of :func:`residual`, and ``signal_transform``.

    Raises:
      FitError: an unknown argument, or no recording.
    """

    def __init__(self, **captured: Any):
        self.settings = _settings(captured)
        self._problems: dict[tuple, tuple[ResidualSettings, Problem]] = {}

    def __call__(self, x: np.ndarray, params: ParameterDict, **overrides: Any) -> Result:
        """Return residuals, predictions and records; see :func:`residual`."""
        settings = self._with(overrides)
        x = np.asarray(x, float)
        X = x.T if x.ndim == 2 else x.reshape(1, -1)
        if X.shape[1] != params.size:
            raise FitError(
                f"x has {X.shape[1]} elements, expected one for each of {params.size} free "
                "elements: "
                f"{listing(params.get_non_frozen_parameter_names())}"
            )
        problem = self._problem(params, settings)
        results = _results(problem, settings, X)
        return (
            [r.residuals.T if x.ndim == 2 else r.residuals[0] for r in results],
            [r.predicted for r in results],
            [r.measured for r in results],
        )

    def problem(self, params: ParameterDict, **overrides: Any) -> Problem:
        """Return the problem of these parameters, starting at their current values.

        A search evaluates it in batches: :class:`trueup.sysid.fit.problem.GrayBoxProblem` without
        custom functions.
        """
        # a shallow copy: everything is shared except the start of the search
        found = copy.copy(self._problem(params, self._with(overrides)))
        found.space = replace(found.space, start=params.space().start)
        return found

    def _with(self, overrides: dict[str, Any]) -> ResidualSettings:
        if not overrides:
            return self.settings
        captured = {f.name: getattr(self.settings, f.name) for f in fields(self.settings)}
        if "modify_residual" in overrides:
            captured["signal_transform"] = None
        return _settings({**captured, **overrides})

    def _problem(self, params: ParameterDict, settings: ResidualSettings) -> Problem:
        key = (_layout(params), _settings_key(settings, params))
        if key not in self._problems:
            while len(self._problems) >= _KEPT_PROBLEMS:
                del self._problems[next(iter(self._problems))]
            # the settings are kept too: the key contains ids of the objects that they refer to
            self._problems[key] = (settings, _make_problem(params, settings))
        return self._problems[key][1]


def build_residual_fn(**captured_kwargs: Any) -> ResidualFunction:
    """Return the residual function for :func:`trueup.sysid.optimize`.

    Args:
      captured_kwargs: arguments of :func:`residual`, at least ``models_sequences``; also
        ``signal_transform``, a :class:`trueup.sysid.SignalTransform`.

    Raises:
      FitError: an argument that does not exist, or no recording.
    """
    return ResidualFunction(**captured_kwargs)


def residual(
    x: np.ndarray,
    params: ParameterDict,
    models_sequences: Sequence[ModelSequences],
    build_model: BuildModelFn = model_modifier.apply_param_modifiers,
    modify_residual: ModifyResidualFn | None = None,
    custom_rollout: CustomRolloutFn | None = None,
    n_threads: int = _NUM_CPUS,
    return_pred_all: bool = False,
    resample_true: bool = True,
    sensor_weights: Mapping[str, float] | None = None,
    enabled_observations: Sequence[tuple[str, SignalType]] = (),
) -> Result:
    """Compare recordings with simulations: ``weight * (measured - predicted)``, normalised.

    A channel is divided by the Euclidean norm of its measurement over sqrt 2; an all-zero channel
    is not scaled. A candidate that diverges or does not compile gets large finite rows.

    Args:
      x: free elements ``(p,)``, or ``(p, n)`` with one candidate per column.
      params: the parameters; they are not changed.
      models_sequences: models with their recordings.
      build_model: compiles a candidate from a copy of the spec.
      modify_residual: replaces the comparison; see :data:`ModifyResidualFn`.
      custom_rollout: replaces the simulation; see :data:`CustomRolloutFn`.
      n_threads: threads of the simulation.
      return_pred_all: return all signals even if a transform enables only some.
      resample_true: match the clocks; otherwise sample k is step k and the first one is skipped.
      sensor_weights: factor on the residual of a signal, by name.
      enabled_observations: signals to compare, as (name, type); all recorded ones if empty.

    Returns:
      ``(residuals, predictions, records)``, lists with one entry per sequence: ``(rows,)`` or
      ``(rows, n)``, rows ordered by time and by channel within a time; and the compared series,
      one per candidate.

    Raises:
      SignalError: a recording that does not match its model.
      TargetError: a parameter that does not match a model.
    """
    function = ResidualFunction(
        models_sequences=models_sequences,
        build_model=build_model,
        modify_residual=modify_residual,
        custom_rollout=custom_rollout,
        n_threads=n_threads,
        return_pred_all=return_pred_all,
        resample_true=resample_true,
        sensor_weights=sensor_weights,
        enabled_observations=enabled_observations,
    )
    return function(x, params)


def model_residual(
    x: np.ndarray,
    params: ParameterDict,
    build_model: Callable[[ParameterDict], mujoco.MjModel],
    traj_measured: Sequence[SystemTrajectory] | SystemTrajectory,
    modify_residual: ModifyResidualFn | None = None,
    custom_rollout: CustomRolloutFn | None = None,
    n_threads: int = _NUM_CPUS,
    return_pred_all: bool = False,
    resample_true: bool = True,
    sensor_weights: Mapping[str, float] | None = None,
    enabled_observations: Sequence[tuple[str, SignalType]] = (),
) -> tuple[np.ndarray, list[TimeSeries], list[TimeSeries]]:
    """Compare one model with one or several trajectories; arguments as in :func:`residual`.

    Args:
      x: free elements ``(p,)``, or ``(p, n)`` with one candidate per column.
      params: the parameters; they are not changed.
      build_model: ``build_model(params)`` compiles a candidate.
      traj_measured: the recorded trajectories.
      modify_residual: see :func:`residual`.
      custom_rollout: see :func:`residual`.
      n_threads: see :func:`residual`.
      return_pred_all: see :func:`residual`.
      resample_true: see :func:`residual`.
      sensor_weights: see :func:`residual`.
      enabled_observations: see :func:`residual`.

    Returns:
      The residual ``(rows,)`` or ``(rows, n)``, trajectory after trajectory, and the compared
      series: of each candidate in turn, trajectory after trajectory.
    """
    single = isinstance(traj_measured, SystemTrajectory)
    trajectories = [traj_measured] if single else list(traj_measured)
    x = np.asarray(x, float)
    X = x.T if x.ndim == 2 else x.reshape(1, -1)

    def build(X: np.ndarray, failures: Failures) -> list[mujoco.MjModel]:
        models = []
        for i, row in enumerate(X):
            candidate = params.copy()
            candidate.update_from_vector(row)
            try:
                models.append(build_model(candidate))
            except ValueError as error:
                failures[i] = f"the model does not compile: {error}"
                models.append(trajectories[0].model)
        return models

    hooks = Hooks(
        modify_residual,
        custom_rollout,
        n_threads,
        return_pred_all,
        resample_true,
        sensor_weights,
        enabled_observations,
    )
    known = params.copy()
    known.apply_ties()
    results = HookedRollout(known, [HookedGroup(build, trajectories)], hooks).results(X, {})
    stacked = np.concatenate([r.residuals for r in results], axis=1)
    candidates = range(len(X))
    return (
        stacked.T if x.ndim == 2 else stacked[0],
        [r.predicted[i] for i in candidates for r in results],
        [r.measured[i] for i in candidates for r in results],
    )


def _results(problem: Problem, settings: ResidualSettings, X: np.ndarray) -> list[SequenceResult]:
    if isinstance(problem, GrayBoxProblem):
        return gray_box_results(problem, settings.models_sequences, X)
    assert isinstance(problem, HookedProblem)
    return problem.results(X, {})


def _make_problem(params: ParameterDict, settings: ResidualSettings) -> Problem:
    transform = settings.transform
    known = params if transform is None else with_registered(params, transform)
    if settings.is_batched:
        return GrayBoxProblem(
            known,
            settings.models_sequences,
            _observation_settings(settings),
            None if transform is None else transform_rules(transform, known),
            settings.own_build_model,
            settings.n_threads,
        )
    hooks = Hooks(
        settings.modify_residual if transform is None else transform.apply,
        settings.custom_rollout,
        settings.n_threads,
        settings.return_pred_all,
        settings.resample_true,
        settings.sensor_weights,
        settings.enabled_observations,
    )
    known = known.copy()
    known.apply_ties()
    groups, names = [], []
    for models in settings.models_sequences:
        variants = ModelVariants(models.spec, known, settings.own_build_model, models.name)
        build = build_with_variants(variants)
        groups.append(HookedGroup(build, models.measured_rollout, variants))
        names += models.sequence_name
    return HookedProblem(known, HookedRollout(known, groups, hooks), names)


def _observation_settings(settings: ResidualSettings) -> ObservationSettings:
    transform = settings.transform
    channels = _enabled(settings)
    if transform is not None and not channels and not settings.return_pred_all:
        channels = tuple(transform.enabled_sensors or ())
    return ObservationSettings(
        channels=channels,
        weights=_acting_weights(settings, channels),
        normalise="toolbox" if transform is None or transform.normalize else "none",
        resample=settings.resample_true,
    )


def _acting_weights(settings: ResidualSettings, channels: Sequence[str]) -> dict[str, float]:
    """Weights of the compared signals only."""
    if not isinstance(settings.weights, Mapping):
        return {}
    recorded, sensors = set(), set()
    for models in settings.models_sequences:
        sensors |= set(sensor_mapping(models.gt_model))
        for trajectory in models.measured_rollout:
            recorded |= set(trajectory.sensordata.signal_mapping or sensors)
    compared = set(channels) or recorded
    idle = (recorded | sensors) - compared
    return {name: weight for name, weight in settings.weights.items() if name not in idle}


def _enabled(settings: ResidualSettings) -> tuple[str, ...]:
    """Names of the enabled observations, with checked types."""
    names = []
    for item in settings.enabled_observations:
        name, declared = (item, None) if isinstance(item, str) else item
        for models in settings.models_sequences:
            for trajectory in models.measured_rollout:
                mapping = trajectory.sensordata.signal_mapping or {}
                if declared is not None and name in mapping and mapping[name][0] is not declared:
                    raise SignalError(
                        f"{name!r} was measured as {mapping[name][0].name} but enabled as "
                        f"{declared.name}: the types must agree"
                    )
        names.append(name)
    return tuple(names)


def _settings(captured: dict[str, Any]) -> ResidualSettings:
    known = [f.name for f in fields(ResidualSettings)]
    unknown = [name for name in captured if name not in known]
    if unknown:
        raise FitError(
            f"the residual has no argument {unknown[0]!r}; available: {listing(known)}."
            f"{did_you_mean(unknown[0], known)}"
        )
    if not captured.get("models_sequences"):
        raise FitError(
            "the residual requires models_sequences, with at least one recorded sequence"
        )
    if captured.get("signal_transform") is not None and captured.get("modify_residual") is not None:
        raise FitError("give signal_transform or modify_residual, not both")
    models = captured["models_sequences"]
    models = [models] if isinstance(models, ModelSequences) else list(models)
    return ResidualSettings(**{**captured, "models_sequences": models})


def _layout(params: ParameterDict) -> tuple:
    """All attributes of a set of parameters except their values."""
    return tuple(
        (
            p.name,
            p.shape,
            p.frozen,
            p.tied_to,
            p.targets,
            p.scale,
            p.prior,
            id(p.modifier),
            p.modifier_lost,
            p.inertia_type,
            p.inertia_body,
            p.scale_rot_inertia,
            p.min_value.tobytes(),
            p.max_value.tobytes(),
            b"" if p.is_free else p.value.tobytes(),
        )
        for p in params.values()
    )


def _settings_key(settings: ResidualSettings, params: ParameterDict) -> tuple:
    transform, weights = settings.transform, settings.sensor_weights
    if isinstance(weights, Mapping):
        weights = tuple(weights.items())
    elif weights is not None:
        weights = np.asarray(weights).tobytes()
    return (
        tuple(id(m) for m in settings.models_sequences),
        id(settings.build_model),
        id(settings.modify_residual) if transform is None else rules_key(transform, params),
        id(settings.custom_rollout),
        settings.n_threads,
        settings.return_pred_all,
        settings.resample_true,
        weights,
        tuple(settings.enabled_observations),
    )
