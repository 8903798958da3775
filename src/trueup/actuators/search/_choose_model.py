"""Choose friction model and extended terms by what a fit says of logs that it has not seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.actuators.catalogue.servo import Servo
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.extended_terms import ABSENT, EXTENDED_TERMS, check_terms, terms_for
from trueup.actuators.equations.friction_models import FRICTION_MODELS, friction_model
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.fit_settings import FitSettings
from trueup.actuators.search.model_faces import model_faces
from trueup.actuators.search.prepared_fit import Prepared
from trueup.actuators.search.servo_search import ServoSearch
from trueup.errors import FitError, RecordingError, listing
from trueup.fitting._minimise import minimise
from trueup.fitting.solution import Status

SPLITS = {
    "kp": "validation_kp",
    "mass": "validation_mass",
    "trajectory": "validation_trajectory",
}
"""What :func:`choose_model` may split logs by -> the setting that holds them out."""

_MEASURED = {"measured_voltage": "input_volts", "resistance_temperature": "temperature"}
_SCANNED, _DESCENTS = 64, 3  # beside what is known already
_LEAST_GAIN = 0.05


@dataclass(frozen=True)
class TriedModel:
    """A friction model with extended terms, and its error on logs that its fits have not seen."""

    model: str
    """Friction model."""
    terms: tuple[str, ...]
    """Extended terms."""
    parameters: int
    """Number of parameters that a fit determines."""
    errors: dict[str, float]
    """Mean absolute position error [rad] on the logs of each held-out value."""

    @property
    def error(self) -> float:
        """Mean of the errors [rad]."""
        return float(np.mean(list(self.errors.values())))

    @property
    def label(self) -> str:
        """Name in tables: the model, then its terms."""
        return "+".join((self.model, *self.terms))


@dataclass(frozen=True)
class ModelChoice:
    """The outcome of :func:`choose_model`."""

    chosen: TriedModel
    """What to take."""
    tried: tuple[TriedModel, ...]
    """Everything that was tried, in order."""
    by: str
    """What the logs were split by."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data; errors in rad."""
        return {
            "model": self.chosen.model,
            "terms": list(self.chosen.terms),
            "error": self.chosen.error,
            "by": self.by,
            "tried": [
                {
                    "model": t.model,
                    "terms": list(t.terms),
                    "parameters": t.parameters,
                    "error": t.error,
                    "errors": dict(t.errors),
                }
                for t in self.tried
            ],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "ModelChoice":
        """Inverse of :meth:`to_dict`."""
        tried = tuple(
            TriedModel(t["model"], tuple(t["terms"]), int(t["parameters"]), dict(t["errors"]))
            for t in content["tried"]
        )
        wanted = (content["model"], tuple(content["terms"]))
        chosen = next(t for t in tried if (t.model, t.terms) == wanted)
        return cls(chosen, tried, content["by"])


def choose_model(
    servo: str | Servo,
    logs: Sequence[ServoLog],
    *,
    settings: FitSettings | None = None,
    models: Sequence[str] = tuple(FRICTION_MODELS),
    terms: Sequence[str] | None = None,
    by: str = "kp",
    least_gain: float = _LEAST_GAIN,
    on_tried: Callable[[TriedModel], None] | None = None,
) -> ModelChoice:
    """Choose a friction model and extended terms by cross-validation over training logs.

    The logs of each gain (mass, trajectory) in turn are predicted by fits to all others. First the
    friction models are tried; then, to the best one, terms are added one at a time as long as the
    best of them lowers the error by ``least_gain``; then the friction models are tried once more
    with these terms. Of models whose errors are within ``least_gain`` of the smallest, the one with
    fewest parameters is taken. Logs for a final judgement must not be among those given here.

    Args:
      servo: servo, or its name in the catalogue.
      logs: evenly sampled training logs.
      settings: settings of the fits, ``method`` aside: they are least-squares searches, each from
        the optima of the simpler models too. Terms that it names are in every model.
      models: friction models to try.
      terms: extended terms to try; by default all that suit the servo's law and what was measured.
      by: ``"kp"``, ``"mass"`` or ``"trajectory"``.
      least_gain: relative reduction of the error that is worth more parameters.
      on_tried: told of each model as it is tried.

    Raises:
      FitError: an unknown model, term or split, or settings that hold out logs.
      RecordingError: all logs have one gain (mass, trajectory), or lack what a term reads.
    """
    settings = settings or FitSettings()
    if settings.holds_out:
        raise FitError("choose_model holds logs out itself: give it the training logs alone")
    if by not in SPLITS:
        raise FitError(f"logs cannot be split by {by!r}; they can by {listing(SPLITS)}")
    if not 0.0 <= least_gain < 1.0:
        raise FitError(f"least_gain is a share of the error, 0 to 1, got {least_gain}")
    names = [friction_model(name).name for name in dict.fromkeys(models)]
    if not names:
        raise FitError(f"there is no friction model to try; there are {listing(FRICTION_MODELS)}")
    trials = _Trials(servo, logs, settings, by, on_tried)
    always = tuple(settings.terms)
    candidates = [t for t in trials.suitable(terms) if t not in always]
    best = _simplest([trials.error(name, always) for name in names], least_gain)
    while left := [t for t in candidates if t not in best.terms]:
        found = [trials.error(best.model, (*best.terms, term)) for term in left]
        nearest = min(found, key=lambda tried: tried.error)
        if not nearest.error < (1.0 - least_gain) * best.error:
            break
        best = nearest
    if best.terms != always:
        best = _simplest([trials.error(name, best.terms) for name in names], least_gain)
    return ModelChoice(best, tuple(trials.tried.values()), by)


def _simplest(found: Sequence[TriedModel], least_gain: float) -> TriedModel:
    """The model with fewest parameters among those that are about as good as the best."""
    least = min(tried.error for tried in found)
    near = [tried for tried in found if tried.error <= least / (1.0 - least_gain)]
    return min(near, key=lambda tried: (tried.parameters, tried.error))


class _Trials:
    """Fits with each value held out, each begun from what is known of simpler models."""

    def __init__(
        self,
        servo: str | Servo,
        logs: Sequence[ServoLog],
        settings: FitSettings,
        by: str,
        on_tried: Callable[[TriedModel], None] | None,
    ):
        self.servo, self.logs, self.settings, self.by = servo, logs, settings, by
        self.tried: dict[tuple[str, frozenset[str]], TriedModel] = {}
        self._on_tried = on_tried
        self._values = list(dict.fromkeys(sorted(getattr(log, by) for log in logs)))
        self._optima: dict[tuple[str, frozenset[str], Any], dict[str, float]] = {}
        if len(self._values) < 2:
            raise RecordingError(
                f"all {len(logs)} logs have one {by}: a model can only be chosen by {by} from logs "
                "of two or more"
            )

    def suitable(self, terms: Sequence[str] | None) -> tuple[str, ...]:
        """Terms to try."""
        model = ServoModel.create(self.servo, "m1")
        law = model.servo.law
        if terms is not None:
            return check_terms(terms, law, model.servo.name)
        own = {parameter.name for parameter in model.servo.parameters}
        return tuple(
            term
            for term in terms_for(law)
            if term not in own
            and not (term == "backlash" and self.settings.scheme == "bam")
            and all(getattr(log, _MEASURED.get(term, "times")) is not None for log in self.logs)
        )

    def error(self, model: str, terms: tuple[str, ...]) -> TriedModel:
        """Errors on each value after a fit to the others."""
        key = model, frozenset(terms)
        if key not in self.tried:
            parameters, errors = 0, {}
            for value in self._values:
                label = value if isinstance(value, str) else f"{value:g}"
                parameters, errors[label] = self._held_out(model, terms, value)
            self.tried[key] = TriedModel(model, terms, parameters, errors)
            if self._on_tried is not None:
                self._on_tried(self.tried[key])
        return self.tried[key]

    def _held_out(self, model: str, terms: tuple[str, ...], value: Any) -> tuple[int, float]:
        """Number of free parameters, and the error on the logs of a value."""
        settings = replace(
            self.settings, method="least-squares", terms=terms, **{SPLITS[self.by]: (value,)}
        )
        prepared = Prepared(self.servo, model, self.logs, settings)
        own = replace(prepared.search().settings, scanned=_SCANNED, descents=_DESCENTS)
        known = self._known(prepared, model, terms, value)
        solution = minimise(
            prepared.problem, ServoSearch(prepared.space, own, settings.seed, known)
        )
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        names = prepared.space.names
        self._optima[model, frozenset(terms), value] = dict(zip(names, solution.x, strict=True))
        judged = prepared.simulator(prepared.held_out_logs)
        return len(names), float(judged.costs(solution.x[None, :])[0])

    def _known(
        self, prepared: Prepared, model: str, terms: tuple[str, ...], value: Any
    ) -> np.ndarray:
        """Optima of simpler models in the unknowns of this one ``(k, p)``."""
        space = prepared.space
        points = []
        for face in model_faces(space)[:-1]:
            optimum = self._optima.get((face.name, frozenset(terms), value))
            if optimum is not None:
                points.append(face.widened(_renamed(optimum, face.space.names)))
        for term in terms:
            fewer = self._optima.get((model, frozenset(terms) - {term}, value))
            if fewer is not None:
                for amount in (EXTENDED_TERMS[term].initial, ABSENT[term]):
                    whole = {**fewer, term: amount}
                    points.append(np.array([whole[name] for name in space.names]))
        found = np.array(points, float).reshape(-1, space.size)
        return np.clip(found, space.lower, space.upper)


_ALSO_CALLED = {
    "load_friction_motor": "load_friction_base",
    "load_friction_motor_stribeck": "load_friction_stribeck",
}


def _renamed(optimum: dict[str, float], names: Sequence[str]) -> np.ndarray:
    """Values of a simpler model by the names that a richer one has for them."""
    return np.array(
        [optimum[n] if n in optimum else optimum[_ALSO_CALLED[n]] for n in names], float
    )
