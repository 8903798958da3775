"""Configuration of a training: packaged defaults, a file, and overrides as in Hydra.

The defaults are in ``trueup/networks/configuration``. An override is ``key=value`` in Hydra's
grammar (https://hydra.cc, override grammar), such as ``model.gru_hidden_dim=256``; a group is
selected with ``data=synthetic``. An unknown key is an error.
"""

import copy
import functools
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
from trueup.networks.training.settings import ModelSettings, TrainSettings, with_current_spring
from trueup.runs.store.atomic import to_plain
from trueup.runs.trackers import TRACKERS

CONFIGURATION = Path(__file__).with_name("configuration")
"""Folder of the packaged defaults."""

GROUPS = ("data", "model", "train")
MODES = ("global", "lomo_cv")

REFUSED = {
    "data.sequence_length": "use data.sequence_duration_s, in seconds",
    "data.target_sampling_frequency_hz": "use data.rate, the common rate of all recordings [Hz]",
    "data.radius_load": "remove it; the torque depends on data.radius_accel only",
    "train.batch_size": "use data.batch_size",
    "train.num_workers": "use data.num_workers",
    "train.patience": "use train.early_stopping.patience",
    "train.log_frequency": "remove it; history.jsonl contains every epoch",
    "train.val_check_interval": "use train.check_val_every_n_epoch, in epochs",
    "train.wandb": "use wandb.active, wandb.project and so on",
    "deterministic_trainer": "use train.deterministic_trainer",
}
"""Unsupported keys of other trainers, with their replacements."""

_COLUMNS = "data.columns"


@dataclass(frozen=True)
class WandbSettings:
    """Logging to Weights & Biases; disabled unless ``active``."""

    active: bool = False
    project: str = "actuator_modeling_gru_v2"
    entity: str = ""
    name_suffix: str = ""
    group_suffix: str = ""
    watch_log_freq: int = 0

    def __post_init__(self):
        if self.watch_log_freq < 0:
            raise ExperimentError(
                f"wandb.watch_log_freq is {self.watch_log_freq}; it must not be negative"
            )


@dataclass(frozen=True)
class RolloutSettings:
    """Model with a joint that the network drives in the test; None: that of the data settings."""

    model_file: str | None = None
    """MuJoCo model with the joint and its load."""
    joint: str | None = None
    """Name of the joint, a hinge."""

    def __post_init__(self):
        if (self.model_file is None) != (self.joint is None):
            raise ExperimentError(
                "rollout.model_file and rollout.joint must be set together: set both or neither"
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
    """The configuration as nested plain values, the content of ``config.yaml`` of a run."""
    overrides: tuple[str, ...] = ()
    """The overrides of its composition."""

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values, the content of ``config.yaml`` of a run."""
        return to_plain(dict(self.values))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TrainingConfiguration":
        """The configuration of :meth:`to_dict`, all keys checked.

        Raises:
            ExperimentError: an unknown key, or an invalid value.
        """
        return check_configuration(values)

    @property
    def mark(self) -> str | None:
        """Warning for every result based on the servo; None without one."""
        servo = self.model.servo_base
        return model_from_dict(servo).provenance.get(KEY) if isinstance(servo, dict) else None

    @property
    def folder(self) -> Path:
        """Base folder of relative paths."""
        return Path.cwd() if self.work_dir is None else Path(self.work_dir).expanduser()


def load_configuration(
    overrides: Sequence[str] = (),
    file: str | os.PathLike[str] | None = None,
    *,
    anyway: bool = False,
) -> TrainingConfiguration:
    """Compose and check a configuration: defaults, then a file, then overrides.

    Args:
        overrides: ``key=value``, or ``group=name`` for another packaged file of a group.
        file: YAML with any part of the keys, such as ``config.yaml`` of a run.
        anyway: also accept a servo whose logs have changed since its fit; every file of the
            training records this.

    Raises:
        RunDirectoryError: the logs of the servo have changed since its fit.
        ExperimentError: an unknown key, an invalid value, or an unreadable file.
        MissingExtraError: hydra-core is not installed.
    """
    keys = set(known_keys())
    chosen = [_checked_group(text) for text in overrides if _key(text) in GROUPS]
    values = [_checked(text, keys) for text in overrides if _key(text) not in GROUPS]
    composed = _compose(chosen)
    if file is not None:
        content = _read(file)
        if "model" in content:
            content = {**content, "model": with_current_spring(content["model"])}
        composed = _merged(composed, content, keys)
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
      anyway: also accept a servo whose logs have changed since its fit.

    Raises:
      RunDirectoryError: the logs of the servo have changed since its fit.
      ExperimentError: an unknown key, or an invalid value.
    """
    values = dict(values)
    parts = {name: values.pop(name, {}) for name in (*GROUPS, "wandb", "rollout")}
    top = {k: values.pop(k) for k in _TOP if k in values}
    if values:
        raise ExperimentError(_unknown(next(iter(values)), known_keys()))
    mode = top.get("evaluation_mode", "global")
    if mode not in MODES:
        raise ExperimentError(
            f"unknown evaluation_mode {mode!r}.{did_you_mean(str(mode), MODES)} Available: "
            f"{listing(MODES)}"
        )
    checked = build_settings(_Top, top, "configuration")
    model = with_current_spring(parts["model"])
    parts["model"] = _with_servo(model, checked.work_dir, anyway)
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
    """All keys, dotted, including those with nested keys."""
    keys = list(_dotted(_defaults()))
    return [*keys, *(f"{_COLUMNS}.{name}" for name in (*FEATURES, *EXTRA_SIGNALS))]


def _with_servo(model: Any, work_dir: str | None, anyway: bool) -> Any:
    """The ``model`` part with the content of the servo file, so that a run is self-contained."""
    if not isinstance(model, Mapping) or not isinstance(model.get("servo_base"), str):
        return model
    path = Path("" if work_dir is None else work_dir).expanduser()
    servo = load_model(path / model["servo_base"], anyway=anyway)
    return {**model, "servo_base": model_to_dict(servo)}


def _with_place(rollout: Any, work_dir: str | None) -> Any:
    """The ``rollout`` part with the absolute path of its model."""
    if not isinstance(rollout, Mapping) or not isinstance(rollout.get("model_file"), str):
        return rollout
    path = Path("" if work_dir is None else work_dir).expanduser() / rollout["model_file"]
    if not path.is_file():
        raise ExperimentError(f"rollout.model_file: no such file {path}")
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
            raise ExperimentError(f"seed is {self.seed}; it must be from 0 to {2**31 - 1}")
        for name in self.trackers:
            if name not in TRACKERS:
                raise ExperimentError(
                    f"unknown tracker {name!r}.{did_you_mean(name, TRACKERS)} Available: "
                    f"{listing(TRACKERS)}"
                )


_TOP = tuple(_Top.__dataclass_fields__)


@functools.cache
def _defaults() -> dict[str, Any]:
    top = yaml.safe_load((CONFIGURATION / "config.yaml").read_text())
    del top["defaults"]
    for group in GROUPS:
        top[group] = yaml.safe_load((CONFIGURATION / group / "default.yaml").read_text())
    return top


def _compose(overrides: Sequence[str]) -> dict[str, Any]:
    try:
        from hydra.errors import HydraException
        from omegaconf.errors import OmegaConfBaseException
    except ImportError as error:
        raise MissingExtraError("training", "network", "hydra-core") from error
    try:
        return copy.deepcopy(_composed(tuple(overrides)))
    except (HydraException, OmegaConfBaseException) as error:
        what = str(error).strip().splitlines()[0]
        if what.startswith("Ambiguous value"):  # Hydra's word for a sweep outside a multirun
            what += (
                ": write several values as a list, KEY=[a,b], or train once for each with "
                "--multirun"
            )
        raise ExperimentError(f"the configuration cannot be composed: {what}") from error


@functools.lru_cache(maxsize=16)
def _composed(overrides: tuple[str, ...]) -> dict[str, Any]:
    """Plain values of the packaged files with overrides: Hydra takes tenths of a second."""
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with initialize_config_dir(str(CONFIGURATION), version_base="1.3", job_name="trueup"):
        configuration = compose("config", overrides=list(overrides))
    return dict(OmegaConf.to_container(configuration, resolve=True, throw_on_missing=True))  # type: ignore[arg-type]


def _checked_group(text: str) -> str:
    """A choice of a packaged file of a group, which exists."""
    group, _, name = text.lstrip("+").partition("=")
    names = sorted(path.stem for path in (CONFIGURATION / group.strip()).glob("*.yaml"))
    if name.strip() not in names:
        raise ExperimentError(
            f"{text!r}: the part {group.strip()!r} is set by one of its files, {listing(names)}, "
            f"or key by key, such as {group.strip()}.KEY=VALUE"
        )
    return text


def _checked(text: str, keys: set[str]) -> str:
    """An override in the grammar of Hydra, with its key checked."""
    if text.startswith("~"):
        raise ExperimentError(
            f"{text!r}: keys cannot be deleted; write key=value, or remove the override to use "
            "the default"
        )
    if "=" not in text:
        raise ExperimentError(
            f"{text!r} is not an override: write key=value, such as train.max_epochs=100"
        )
    key = _key(text)
    _check_key(key, keys)
    if key.startswith(f"{_COLUMNS}."):
        return (
            f"++{text.lstrip('+')}"  # the default mapping is empty; Hydra needs ++ to add entries
        )
    return text.lstrip("+")


def _check_key(key: str, keys: set[str]) -> None:
    if key.rsplit(".", 1)[-1] == "target_sampling_frequency_hz":
        key = "data.target_sampling_frequency_hz"  # in any group
    for refused, instead in REFUSED.items():
        if key == refused or key.startswith(f"{refused}."):
            raise ExperimentError(f"{key!r} is not supported: {instead}")
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
    return f"unknown configuration key {key!r}.{near} Available: {listing(shown, 60)}"


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
        raise ExperimentError(
            f"{file} contains no configuration: expected keys such as data, model"
        )
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
        if not isinstance(within, dict) or name == _COLUMNS:
            merged[key] = value
            continue
        if not isinstance(value, Mapping):
            raise ExperimentError(f"{name} is {value!r}; expected keys {listing(within)}")
        merged[key] = _merged(within, value, keys, f"{name}.")
    return merged


def _copy(source: Mapping[str, Any], target: dict[str, Any], key: str) -> None:
    *parents, last = key.split(".")
    value: Any = source
    for parent in parents:
        value = value[parent]
        target = target.setdefault(parent, {})
    target[last] = value[last]
