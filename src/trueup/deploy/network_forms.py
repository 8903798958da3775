"""Forms that the networks of a training can have, known before the training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from trueup.deploy.forms import FORMS, NETWORK, Form, find_form
from trueup.deploy.network import check_inputs
from trueup.deploy.simulator_fit import FamilyError
from trueup.errors import ExperimentError, FitError, listing
from trueup.networks.data.normalization import Normalization
from trueup.networks.model.network import RECURRENT, Network
from trueup.networks.runtime.deployment import Deployment
from trueup.networks.training.configuration import TrainingConfiguration
from trueup.networks.training.network_choice import candidates
from trueup.networks.training.settings import ModelSettings

_RATE, _SAMPLES = 100.0, 1000
"""Rate [Hz] and number of samples of a training, on which no form depends."""


@dataclass(frozen=True)
class AllowedForm:
    """A form, and the networks of a training that it supports."""

    form: str
    families: tuple[str, ...]
    """Families of the networks that it supports."""
    reason: str
    """Why it does not support the others; empty where it supports all."""

    @property
    def words(self) -> str:
        """Name of the form, with its families where it does not support all."""
        return f"{self.form} ({', '.join(self.families)})" if self.reason else self.form


def allowed_forms(configuration: TrainingConfiguration) -> list[AllowedForm]:
    """Every form of a network, with the families of a training that it supports."""
    tried = _tried(configuration.model)
    return [_allowed(form, configuration, tried) for form in FORMS[NETWORK].values()]


def forms_of_network(network: Network) -> list[str]:
    """Names of the forms that support a network with its base."""
    return [
        form.name for form in FORMS[NETWORK].values() if not _obstacle(form, Deployment(network))
    ]


def overrides_for(form: str, configuration: TrainingConfiguration) -> tuple[str, ...]:
    """Overrides of a training whose network can have a form.

    Args:
        form: name of the form.
        configuration: configuration of the training. Features and families that it gives by
            overrides stay, and are checked.

    Returns:
        Overrides for :func:`trueup.networks.training.load_configuration`, in addition to those of
        the configuration.

    Raises:
        ExperimentError: the form supports no network with the given features, family or base.
        FitError: unknown form.
    """
    found = find_form(form, NETWORK)
    given = {text.lstrip("+").split("=", 1)[0].strip() for text in configuration.overrides}
    overrides: list[str] = []
    if found.features and "data.features" not in given:
        data = replace(configuration.data, features=found.features)
        configuration = replace(configuration, data=data)
        overrides.append(f"data.features=[{','.join(found.features)}]")
    tried = _tried(configuration.model)
    allowed = _allowed(found, configuration, tried)
    if not allowed.families:
        raise ExperimentError(f"--for {found.name}: {allowed.reason}")
    if configuration.model.is_chosen and allowed.reason:
        overrides.append(f"model.model_type.families=[{','.join(allowed.families)}]")
    return tuple(overrides)


def _tried(model: ModelSettings) -> list[ModelSettings]:
    """The networks of a training, which differ in family, layers and base."""
    if not model.is_chosen:
        return [model]
    return [settings for _, settings in candidates(model, _RATE, _SAMPLES)]


def _allowed(
    form: Form, configuration: TrainingConfiguration, tried: Sequence[ModelSettings]
) -> AllowedForm:
    families, obstacles = [], []
    for settings in tried:
        network = _untrained(configuration.data.features, settings)
        if obstacle := _obstacle(form, Deployment(network)):
            obstacles.append((settings.family, obstacle))
        else:
            families.append(settings.family)
    # a family is supported where its networks with and without base are
    families = [f for f in dict.fromkeys(families) if f not in dict(obstacles)]
    # another family is tried anyway, so what its network lacks says more
    obstacles.sort(key=lambda each: isinstance(each[1], FamilyError))
    return AllowedForm(form.name, tuple(families), str(obstacles[0][1]) if obstacles else "")


def _obstacle(form: Form, deployment: Deployment) -> FitError | None:
    """Why a form does not support a network; None where it does."""
    try:
        check_inputs(deployment.network, form)
        form.check_fit(deployment)
    except FitError as error:
        return error
    return None


def _untrained(features: tuple[str, ...], settings: ModelSettings) -> Network:
    """A network whose output depends on every feature in its own way, as after a training."""
    count, width, layers = len(features), 2, settings.gru_num_layers
    draw = np.random.default_rng(0).normal
    weights: dict[str, np.ndarray] = {}
    history = 1 if settings.family in RECURRENT else settings.history
    if settings.family in RECURRENT:
        gates = (3 if settings.family == "gru" else 4) * width
        for layer in range(layers):
            inputs = width if layer else count
            weights[f"rnn.weight_ih_l{layer}"] = draw(size=(gates, inputs))
            weights[f"rnn.weight_hh_l{layer}"] = draw(size=(gates, width))
            weights[f"rnn.bias_ih_l{layer}"] = weights[f"rnn.bias_hh_l{layer}"] = np.zeros(gates)
        weights |= {"head.weight": draw(size=(1, width)), "head.bias": np.zeros(1)}
    else:
        hidden = [] if settings.family == "linear" else [width] * layers
        widths = [history * count, *hidden, 1]
        for layer, (inputs, outputs) in enumerate(pairwise(widths)):
            weights[f"layers.{layer}.weight"] = draw(size=(outputs, inputs))
            weights[f"layers.{layer}.bias"] = np.zeros(outputs)
    return Network(
        family=settings.family,  # type: ignore[arg-type]
        normalization=Normalization(features, np.zeros(count), np.ones(count), 0.0, 1.0),
        weights=weights,
        rate=_RATE,
        base=settings.base,
        history=history,
    )


def words_on_forms(allowed: Sequence[AllowedForm]) -> str:
    """Sentence on the forms that a training allows, and why it does not allow others."""
    whole = [each for each in allowed if each.families]
    others = [each for each in allowed if not each.families]
    text = f"Can be exported as {listing([each.words for each in whole], 20)}"
    if others:
        names = listing([each.form for each in others], 20)
        text += f"; not as {names} (--for FORM trains for one)"
    return text
