"""The configuration of a training: packaged defaults, a file, and overrides as in Hydra.

``trueup/networks/configuration`` holds the defaults. An override is ``key=value`` in Hydra's
grammar (https://hydra.cc, override grammar), such as ``model.gru_hidden_dim=256``; a group is
chosen with ``data=synthetic``. A key that does not exist is an error, never an addition.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from trueup._input_files import read_settings, safe_yaml
from trueup._marks import KEY
from trueup.actuators.catalogue.parameter_file import load_model, model_from_dict, model_to_dict
from trueup.errors import ExperimentError, MissingExtraError, did_you_mean, listing, reason
from trueup.networks.data.features import FEATURES
from trueup.networks.data.settings import EXTRA_SIGNALS, DataSettings
from trueup.networks.plain_settings import build_settings
from trueup.networks.training.settings import ModelSettings, TrainSettings
from trueup.runs.store.atomic import to_plain
from trueup.runs.trackers import TRACKERS

CONFIGURATION = Path(__file__).with_name("configuration")
"""Folder of the packaged defaults."""

GROUPS = ("data", "model", "train")
MODES = ("global", "lomo_cv")

REFUSED = {
    "data.sequence_length": "the length of a stretch is data.sequence_duration_s, in seconds",
    "data.target_sampling_frequency_hz": "the rate that all recordings are put on is data.rate",
    "data.radius_load": "no torque depends on it; the accelerometer's radius is data.radius_accel",
    "train.batch_size": "it is data.batch_size",
    "train.num_workers": "it is data.num_workers",
    "train.patience": "it is train.early_stopping.patience",
    "train.log_frequency": "every epoch is in history.jsonl",
    "train.val_check_interval": "it is train.check_val_every_n_epoch, in epochs",
    "train.wandb": "it is wandb.active, wandb.project and so on",
    "deterministic_trainer": "it is train.deterministic_trainer",
}
"""Keys of other trainers that mean nothing here, with what to do instead."""

_COLUMNS = "data.columns"


@dataclass(frozen=True)
class WandbSettings:
    """What is sent to Weights & Biases; nothing unless ``active``."""

    active: bool = False
    project: str = "actuator_modeling_gru_v2"
    entity: str = ""
    name_suffix: str = ""
    group_suffix: str = ""
    watch_log_freq: int = 0

    def __post_init__(self):
        if self.watch_log_freq < 0:
            raise ExperimentError(f"wandb.watch_log_freq is {self.watch_log_freq}; at least 0")


@dataclass(frozen=True)
class RolloutSettings:
    """A model whose joint the network drives in the test; none: the joint of the data settings."""

    model_file: str | None = None
    """MuJoCo model with the joint and its load."""
    joint: str | None = None
    """Name of the joint, a hinge."""

    def __post_init__(self):
        if (self.model_file is None) != (self.joint is None):
            raise ExperimentError(
                "rollout.model_file and rollout.joint belong together: give both or none"
            )


@dataclass(frozen=True)
class TrainingConfiguration:
    """A checked configuration."""

    data: DataSettings
    model: ModelSettings
    train: TrainSettings
    wandb: WandbSettings = field(default_factory=WandbSettings)
    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    debug: bool = False
    seed: int = 42
    evaluation_mode: str = "global"
    trackers: tuple[str, ...] = ()
    work_dir: str | None = None
    outputs_dir: str = "outputs"
    values: Mapping[str, Any] = field(default_factory=dict)
    """The same as nested plain values, which ``config.yaml`` of a run holds."""
    overrides: tuple[str, ...] = ()
    """The overrides that it was composed with."""

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values, as ``config.yaml`` of a run holds them."""
        return to_plain(dict(self.values))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TrainingConfiguration":
        """The configuration of :meth:`to_dict`, all keys checked.

        Raises:
            ExperimentError: a key does not exist, or a value cannot be used.
        """
        return check_configuration(values)

    @property
    def mark(self) -> str | None:
        """What is said of everything that is trained on the servo; None for nothing."""
        servo = self.model.servo_base
        return model_from_dict(servo).provenance.get(KEY) if isinstance(servo, dict) else None

    @property
    def folder(self) -> Path:
        """Folder that relative paths refer to."""
        return Path.cwd() if self.work_dir is None else Path(self.work_dir).expanduser()


def load_configuration(
    overrides: Sequence[str] = (),
    file: str | os.PathLike[str] | None = None,
    *,
    anyway: bool = False,
) -> TrainingConfiguration:
    """Compose and check a configuration: defaults, then a file, then overrides.

    Args:
        overrides: ``key=value`` each, or ``group=name`` for another packaged file of a group.
        file: YAML with any part of the keys, such as ``config.yaml`` of a run.
        anyway: take a servo of a fit whose logs have changed since too; every file of the training
            says so.

    Raises:
        RunDirectoryError: the logs of the servo have changed since its fit.
        ExperimentError: a key does not exist, a value cannot be used, or the file cannot be read.
        MissingExtraError: hydra-core is not installed.
    """
    keys = set(known_keys())
    chosen = [text for text in overrides if _key(text) in GROUPS]
    values = [_checked(text, keys) for text in overrides if _key(text) not in GROUPS]
    composed = _compose(chosen)
    if file is not None:
        composed = _merged(composed, _read(file), keys)
    if values:
        overridden = _compose([*chosen, *values])
        for text in values:
            _copy(overridden, composed, _key(text))
    return replace(check_configuration(composed, anyway=anyway), overrides=tuple(overrides))


def check_configuration(
    values: Mapping[str, Any], *, anyway: bool = False
) -> TrainingConfiguration:
    """A configuration from nested plain values, all keys checked.

    Args:
      values: the values.
      anyway: take a servo of a fit whose logs have changed since too.

    Raises:
      RunDirectoryError: the logs of the servo have changed since its fit.
      ExperimentError: a key does not exist, or a value cannot be used.
    """
    values = dict(values)
    parts = {name: values.pop(name, {}) for name in (*GROUPS, "wandb", "rollout")}
    top = {k: values.pop(k) for k in _TOP if k in values}
    if values:
        raise ExperimentError(_unknown(next(iter(values)), known_keys()))
    mode = top.get("evaluation_mode", "global")
    if mode not in MODES:
        raise ExperimentError(
            f"evaluation_mode {mode!r} does not exist.{did_you_mean(str(mode), MODES)} There are "
            f"{listing(MODES)}"
        )
    checked = build_settings(_Top, top, "configuration")
    parts["model"] = _with_servo(parts["model"], checked.work_dir, anyway)
    parts["rollout"] = _with_place(parts["rollout"], checked.work_dir)
    return TrainingConfiguration(
        data=DataSettings.from_dict(parts["data"]),
        model=ModelSettings.from_dict(parts["model"]),
        train=TrainSettings.from_dict(parts["train"]),
        wandb=build_settings(WandbSettings, parts["wandb"], "wandb"),
        rollout=build_settings(RolloutSettings, parts["rollout"], "rollout"),
        values={**top, **parts},
        **{name: getattr(checked, name) for name in _TOP},
    )


def known_keys() -> list[str]:
    """All keys, dotted, parts with keys within them included."""
    keys = list(_dotted(_defaults()))
    return [*keys, *(f"{_COLUMNS}.{name}" for name in (*FEATURES, *EXTRA_SIGNALS))]


def _with_servo(model: Any, work_dir: str | None, anyway: bool) -> Any:
    """The ``model`` part with the content of the servo's file, so that a run holds all it needs."""
    if not isinstance(model, Mapping) or not isinstance(model.get("servo_base"), str):
        return model
    path = Path("" if work_dir is None else work_dir).expanduser()
    servo = load_model(path / model["servo_base"], anyway=anyway)
    return {**model, "servo_base": model_to_dict(servo)}


def _with_place(rollout: Any, work_dir: str | None) -> Any:
    """The ``rollout`` part with the whole path of its model, which a run may be far from."""
    if not isinstance(rollout, Mapping) or not isinstance(rollout.get("model_file"), str):
        return rollout
    path = Path("" if work_dir is None else work_dir).expanduser() / rollout["model_file"]
    if not path.is_file():
        raise ExperimentError(f"rollout.model_file: there is no file {path}")
    return {**rollout, "model_file": str(path.resolve())}


@dataclass(frozen=True)
class _Top:
    debug: bool = False
    seed: int = 42
    evaluation_mode: str = "global"
    trackers: tuple[str, ...] = ()
    work_dir: str | None = None
    outputs_dir: str = "outputs"

    def __post_init__(self):
        if not 0 <= self.seed < 2**31:
            raise ExperimentError(f"seed is {self.seed}; from 0 to {2**31 - 1}")
        for name in self.trackers:
            if name not in TRACKERS:
                raise ExperimentError(
                    f"there is no tracker {name!r}.{did_you_mean(name, TRACKERS)} There are "
                    f"{listing(TRACKERS)}"
                )


_TOP = tuple(_Top.__dataclass_fields__)


def _defaults() -> dict[str, Any]:
    top = yaml.safe_load((CONFIGURATION / "config.yaml").read_text())
    del top["defaults"]
    for group in GROUPS:
        top[group] = yaml.safe_load((CONFIGURATION / group / "default.yaml").read_text())
    return top


def _compose(overrides: Sequence[str]) -> dict[str, Any]:
    try:
        from hydra import compose, initialize_config_dir
        from hydra.errors import HydraException
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException
    except ImportError as error:
        raise MissingExtraError("training", "network", "hydra-core") from error
    try:
        with initialize_config_dir(str(CONFIGURATION), version_base="1.3", job_name="trueup"):
            configuration = compose("config", overrides=list(overrides))
        content = OmegaConf.to_container(configuration, resolve=True, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException) as error:
        what = str(error).strip().splitlines()[0]
        raise ExperimentError(f"the configuration cannot be composed: {what}") from error
    return dict(content)  # type: ignore[arg-type]


def _checked(text: str, keys: set[str]) -> str:
    """An override whose key exists, as Hydra takes it."""
    if text.startswith("~"):
        raise ExperimentError(
            f"{text!r}: every key has a value, so none can be deleted; write key=value, or leave "
            "it out for its default"
        )
    if "=" not in text:
        raise ExperimentError(
            f"{text!r} is no override: write key=value, such as train.max_epochs=100"
        )
    key = _key(text)
    _check_key(key, keys)
    if key.startswith(f"{_COLUMNS}."):
        return f"++{text.lstrip('+')}"  # a mapping that starts empty takes new entries
    return text.lstrip("+")


def _check_key(key: str, keys: set[str]) -> None:
    if key.rsplit(".", 1)[-1] == "target_sampling_frequency_hz":
        key = "data.target_sampling_frequency_hz"  # wherever it stands
    for refused, instead in REFUSED.items():
        if key == refused or key.startswith(f"{refused}."):
            raise ExperimentError(f"{key!r} has no effect in this trainer: {instead}")
    if key not in keys:
        raise ExperimentError(_unknown(key, keys))


def _unknown(key: str, keys: Sequence[str] | set[str]) -> str:
    near = did_you_mean(key, keys)
    if not near:
        last = key.rsplit(".", 1)[-1]
        same = sorted(known for known in keys if known.rsplit(".", 1)[-1] == last)
        near = did_you_mean(same[0], same) if same else ""
    part = key.split(".", 1)[0]
    within = sorted(known for known in keys if known.startswith(f"{part}."))
    shown = within or sorted({known.split(".", 1)[0] for known in keys})
    return f"there is no key {key!r} in the configuration.{near} There are {listing(shown, 60)}"


def _key(text: str) -> str:
    return text.split("=", 1)[0].lstrip("+").strip()


def _dotted(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")


def _read(file: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        content = safe_yaml(read_settings(Path(file)))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ExperimentError(
            f"{file} cannot be read as a configuration: {reason(error)}"
        ) from error
    if not isinstance(content, dict):
        raise ExperimentError(f"{file} holds no configuration: expected keys such as data, model")
    return content


def _merged(
    base: dict[str, Any], update: Mapping[str, Any], keys: set[str], prefix: str = ""
) -> dict[str, Any]:
    merged = dict(base)
    for key, value in update.items():
        name = f"{prefix}{key}"
        if name != _COLUMNS and not name.startswith(f"{_COLUMNS}."):
            _check_key(name, keys)
        within = merged.get(key)
        nested = isinstance(value, Mapping) and isinstance(within, dict) and name != _COLUMNS
        merged[key] = _merged(within, value, keys, f"{name}.") if nested else value  # type: ignore[arg-type]
    return merged


def _copy(source: Mapping[str, Any], target: dict[str, Any], key: str) -> None:
    *parents, last = key.split(".")
    value: Any = source
    for parent in parents:
        value = value[parent]
        target = target.setdefault(parent, {})
    target[last] = value[last]
