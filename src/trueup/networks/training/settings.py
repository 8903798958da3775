"""Settings of a network and of its training, without heavy imports."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from trueup._finite_numbers import check_finite
from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.networks.base.analytic import AnalyticBase
from trueup.networks.base.kinds import Base
from trueup.networks.base.servo import ServoBase
from trueup.networks.model.network import FAMILIES, Activation
from trueup.networks.plain_settings import build_settings

_USUAL_SECONDS = 600.0
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h)")
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}

MONITORS = (
    "val_rmse_epoch",
    "val_mse_epoch",
    "val_mae_epoch",
    "val_r2_epoch",
    "val_group_rmse_epoch",
    "val_settled_rmse_epoch",
    "val_settled_group_rmse_epoch",
)
"""Scores on the validation part for early stopping and for the choice of the best epoch."""

SETTLED = tuple(name for name in MONITORS if "settled" in name)
"""Scores that exclude the first half second of each validation recording."""

_SPRINGS = ("k_spring", "spring_stiffness")

AUTO = "auto"
"""Family chosen on the validation part."""

TRIED = ("gru", "mlp", "lstm")
"""Families that ``auto`` tries, unless ``families`` names some of them."""


@dataclass(frozen=True)
class ModelType:
    """Family of the network."""

    name: str = AUTO
    """Family: ``gru``, ``lstm``, ``mlp`` or ``linear``; ``auto``: a run trains all of them, with
    and without skip and base, and keeps the best on the validation part (``train_network``, which
    trains one network, trains a ``gru``)."""
    families: tuple[str, ...] = TRIED
    """Families that ``auto`` tries, such as those that a simulator supports."""

    def __post_init__(self):
        _check_choice("model.model_type.name", self.name, (AUTO, *FAMILIES))
        for family in self.families:
            _check_choice("model.model_type.families", family, TRIED)
        if not self.families:
            raise ExperimentError(
                f"model.model_type.families is empty; available: {listing(TRIED)}"
            )


@dataclass(frozen=True)
class ModelSettings:
    """The network and its optimiser, the ``model`` part of a configuration."""

    model_type: ModelType = field(default_factory=ModelType)
    gru_hidden_dim: int = 128
    """Width of the hidden layers, for every family."""
    gru_num_layers: int = 2
    """Number of hidden layers, for every family."""
    gru_dropout: float = 0.1
    """Dropout between recurrent layers in training, as a share of the values."""
    history: int = 3
    """Number of samples in the input of an ``mlp`` or ``linear`` network, including the latest."""
    activation: str = "elu"
    """Activation of an ``mlp``: ``elu``, ``relu``, ``softsign`` or ``tanh``."""
    linear_skip: bool = False
    """Add a linear model of the latest inputs in parallel to the layers. Training starts at its
    least squares solution, with an output of zero of the layers. With little data this is closer to
    a linear system than layers alone, but a nonlinear system is learned more slowly. No effect on a
    ``linear`` network."""
    torque_limit: float | None = None
    """Limit of the magnitude of the torque, part of the network [N m]; by default none."""
    learning_rate: float = 1e-3
    """Maximum learning rate, reached after the warm-up."""
    weight_decay: float = 1e-6
    """Weight decay of AdamW."""
    warmup_epochs: float | None = None
    """Number of epochs over which the learning rate increases from zero; by default 100 gradient
    steps, or a tenth of the training if that is shorter."""
    loss_diff_weight: float = 0.0
    """Weight of the squared error of the change between samples, relative to that of the torque,
    both in standard deviations of the torque."""
    use_residual: bool = False
    """Learn the difference from an analytic base in place of the whole torque."""
    k_spring: float = 0.0
    """Base: gain of a spring whose torque is k_spring (angle - theta0): a positive one pushes away
    from theta0 [N m/rad]."""
    spring_stiffness: float = 0.0
    """Base: stiffness of a spring that pulls back to theta0, the same as a negative k_spring
    [N m/rad]."""
    theta0: float = 0.0
    """Base: angle at which the spring has no torque [rad]."""
    kp_phys: float = 0.0
    """Base: proportional gain [N m/rad]."""
    kd_phys: float = 0.0
    """Base: derivative gain [N m s/rad]."""
    pd_stall_torque_phys_training: float | None = None
    """Base: stall torque, the limit of the PD law at standstill [N m]; by default none."""
    pd_no_load_speed_phys_training: float | None = None
    """Base: no-load speed, at which the torque in the direction of motion is zero [rad/s]; by
    default unlimited."""
    base_target_velocity: bool = False
    """Base: use the recorded target velocity in the derivative term; by default zero."""
    servo_base: str | dict | None = None
    """Base: parameter file of an identified servo (or its content) in place of the PD law."""
    servo_kp: float | None = None
    """Firmware gain of the servo in the recordings; by default that of the parameter file."""
    servo_vin: float | None = None
    """Bus voltage of the servo in the recordings [V]; by default that of the parameter file."""
    servo_friction: bool = True
    """Subtract the friction of the servo, for a target that is the torque on the load."""
    servo_load_gravity: float = 0.0
    """Maximum gravity torque of the load, on which the friction of M3 to M6 depends [N m]."""
    servo_load_gravity_angle: float = 0.0
    """Angle at which the load hangs down [rad]."""
    learn_base: bool = False
    """Train the gains of the base, or the parameters of the servo, too."""
    ensemble_members: int = 1
    """Number of networks trained from different seeds; their spread measures the uncertainty."""

    def __post_init__(self):
        _check_choice("model.activation", self.activation, get_args(Activation))
        for name in ("gru_hidden_dim", "gru_num_layers", "history", "ensemble_members"):
            _check_at_least(f"model.{name}", getattr(self, name), 1)
        check_finite(self, ExperimentError, "model.")
        _check_positive("model.learning_rate", self.learning_rate)
        for name in ("weight_decay", "loss_diff_weight"):
            _check_at_least(f"model.{name}", getattr(self, name), 0)
        if self.warmup_epochs is not None:
            _check_at_least("model.warmup_epochs", self.warmup_epochs, 0)
        if not 0 <= self.gru_dropout < 1:
            raise ExperimentError(
                f"model.gru_dropout is {self.gru_dropout}; it must be from 0 to below 1"
            )
        if self.torque_limit is not None:
            _check_positive("model.torque_limit", self.torque_limit)
        self._check_base()

    def _check_base(self) -> None:
        names = (*_SPRINGS, "theta0", "kp_phys", "kd_phys", "base_target_velocity")
        curve = ("pd_stall_torque_phys_training", "pd_no_load_speed_phys_training")
        given = [n for n in names if getattr(self, n)]
        given += [n for n in curve if getattr(self, n) is not None]
        of_servo = ("servo_kp", "servo_vin", "servo_load_gravity", "servo_load_gravity_angle")
        of_servo = [n for n in of_servo if getattr(self, n)]
        of_servo += [] if self.servo_friction else ["servo_friction"]
        if self.servo_base is None and of_servo:
            raise ExperimentError(
                f"{listing(f'model.{n}' for n in of_servo)} require a servo: give its parameter "
                "file as model.servo_base"
            )
        if self.servo_base is not None and given:
            raise ExperimentError(
                f"{listing(f'model.{n}' for n in given)} describe a PD law, model.servo_base a "
                "servo in its place: remove one of them"
            )
        given += ["servo_base"] if self.servo_base is not None else []
        given += ["learn_base"] if self.learn_base else []
        if given and not self.use_residual:
            raise ExperimentError(
                f"{listing(f'model.{n}' for n in given)} describe the analytic base, which is off: "
                "set model.use_residual=true, or remove them"
            )
        for name in ("kp_phys", "kd_phys", "spring_stiffness"):
            _check_at_least(f"model.{name}", getattr(self, name), 0)
        if self.k_spring and self.spring_stiffness:
            raise ExperimentError(
                "model.k_spring and model.spring_stiffness describe the same spring, with opposite "
                "signs: remove one of them"
            )
        spring = self.k_spring or self.spring_stiffness
        gains = self.kp_phys or self.kd_phys or spring or self.servo_base is not None
        if self.use_residual and not gains and not self.learn_base:
            raise ExperimentError(
                "model.use_residual is true, but the torque of the base is zero: set "
                "model.kp_phys, model.kd_phys, model.k_spring or model.spring_stiffness, or train "
                "them with model.learn_base=true"
            )
        if self.use_residual:
            _ = self.base  # checks the settings of the base

    @property
    def family(self) -> str:
        """Family of one network; a ``gru`` for ``auto``."""
        return "gru" if self.is_chosen else self.model_type.name

    @property
    def is_chosen(self) -> bool:
        """Whether the family is chosen on the validation part."""
        return self.model_type.name == AUTO

    @property
    def base(self) -> Base | None:
        """The analytic base, or None."""
        if not self.use_residual:
            return None
        if self.servo_base is not None:
            return self._servo()
        return AnalyticBase(
            kp=self.kp_phys,
            kd=self.kd_phys,
            k_spring=self.k_spring or -self.spring_stiffness,
            theta0=self.theta0,
            stall_torque=self.pd_stall_torque_phys_training,
            no_load_speed=self.pd_no_load_speed_phys_training,
            target_velocity=self.base_target_velocity,
            learned=self.learn_base,
        )

    def _servo(self) -> ServoBase:
        from trueup.actuators import load_model, model_from_dict

        source = self.servo_base
        model = model_from_dict(source) if isinstance(source, dict) else load_model(source)
        return ServoBase.of(
            model,
            kp=self.servo_kp,
            vin=self.servo_vin,
            friction=self.servo_friction,
            load_gravity=self.servo_load_gravity,
            load_gravity_angle=self.servo_load_gravity_angle,
            learned=self.learn_base,
        )

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "ModelSettings":
        """Settings from plain values.

        Raises:
          ExperimentError: a key is unknown, or a value cannot be used.
        """
        return build_settings(cls, with_current_spring(content), "model")


def with_current_spring(content: Any) -> Any:
    """The ``model`` part of a whole configuration, with the spring of an older version converted.

    Before ``spring_stiffness`` existed, ``k_spring`` was the stiffness of a spring that pulls back.
    Only a part with every key of that version is of a run: one written by hand is not converted.
    """
    former = {"k_spring", "theta0", "learn_base", "ensemble_members"}
    if not isinstance(content, Mapping) or not former <= set(content):
        return content
    if "spring_stiffness" in content:
        return content
    return {**content, "k_spring": 0.0, "spring_stiffness": content["k_spring"]}


@dataclass(frozen=True)
class EarlyStopping:
    """Early stopping of a training, before ``max_epochs``."""

    active: bool = True
    """Stop early."""
    monitor: str = "val_rmse_epoch"
    """Score that must improve."""
    mode: str = "min"
    """Direction of improvement: ``min`` or ``max``."""
    patience: int | None = None
    """Number of validations without improvement before the stop; by default 20, or a third of the
    training if that is longer."""
    min_delta: float = 1e-4
    """Minimum change that counts as an improvement, in the unit of the score."""
    verbose: bool = False
    """Log the state of early stopping in ``log.jsonl`` at each validation."""
    stopping_threshold: float | None = None
    """Score at which the training is stopped immediately; by default none."""

    def __post_init__(self):
        _check_monitor("train.early_stopping", self.monitor, self.mode)
        check_finite(self, ExperimentError, "train.early_stopping.")
        if self.patience is not None:
            _check_at_least("train.early_stopping.patience", self.patience, 1)
        _check_at_least("train.early_stopping.min_delta", self.min_delta, 0)


@dataclass(frozen=True)
class Checkpointing:
    """Checkpoints of the best epochs, and for a resume."""

    monitor: str = "val_rmse_epoch"
    """Score by which the best epoch is chosen."""
    mode: str = "min"
    """Direction of improvement: ``min`` or ``max``."""
    save_top_k: int = 1
    """Number of best epochs kept as networks in ``checkpoints``."""
    filename: str = "epoch_{epoch:03d}"
    """Pattern of their file names, with the fields ``epoch`` and the scores."""
    every_seconds: float = 30.0
    """Minimum time between checkpoints for a resume, which are at whole epochs [s]."""

    def __post_init__(self):
        _check_monitor("train.checkpointing", self.monitor, self.mode)
        check_finite(self, ExperimentError, "train.checkpointing.")
        _check_at_least("train.checkpointing.save_top_k", self.save_top_k, 1)
        _check_at_least("train.checkpointing.every_seconds", self.every_seconds, 0)
        try:
            name = self.filename.format(epoch=0, **dict.fromkeys(MONITORS, 0.0))
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            raise ExperimentError(
                f"train.checkpointing.filename is {self.filename!r}; it must be a file name with "
                f"the fields {listing(('epoch', *MONITORS))} only ({error!r})"
            ) from error
        if not name or "/" in name or "\\" in name or name.startswith("."):
            raise ExperimentError(
                f"train.checkpointing.filename is {self.filename!r}; it must be the name of a "
                "file, without a folder"
            )


@dataclass(frozen=True)
class Callbacks:
    """Files written in addition to the network."""

    learning_rate_monitor: bool = True
    """Record the learning rate in ``history.jsonl``."""
    early_summary: bool = False
    """Write ``model_summary.json`` with the layers and their weights before training."""
    test_prediction_plotter: bool = True
    """Write the predictions on the test part to ``predictions``."""


@dataclass(frozen=True)
class TrainSettings:
    """Training of a network, the ``train`` part of a configuration."""

    time: str | None = None
    """Maximum time for all networks of a run, such as ``10min``, ``90s`` or ``2h``; by default ten
    minutes, or unlimited if ``max_steps`` or ``max_epochs`` is given."""
    max_steps: int | None = None
    """Maximum number of gradient steps per network; by default limited by the time."""
    max_epochs: int | None = None
    """Maximum number of epochs per network; by default limited by ``max_steps`` or the time."""
    early_stopping: EarlyStopping = field(default_factory=EarlyStopping)
    checkpointing: Checkpointing = field(default_factory=Checkpointing)
    callbacks: Callbacks = field(default_factory=Callbacks)
    gradient_clip_val: float | None = 5.0
    """Limit of the gradient; null for none."""
    gradient_clip_algorithm: str = "norm"
    """Gradient clipping: ``norm`` limits the norm of the whole gradient, ``value`` each element."""
    accelerator: str = "auto"
    """Device: ``auto``, ``cpu``, ``gpu``, ``cuda`` or ``mps``."""
    devices: int = 1
    """Number of devices, which must be 1: the state carried between chunks is on one device."""
    precision: str = "32-true"
    """Precision: ``32-true``, or ``16-mixed`` or ``bf16-mixed`` on a GPU."""
    deterministic_trainer: bool = True
    """Use deterministic algorithms only."""
    burn_in: int = 100
    """Number of unsupervised samples before a lane, from which its initial hidden state is
    computed."""
    cold_start_share: float = 0.2
    """Share of the lanes within a recording that start with a zero hidden state, as after a
    reset."""
    mirror_share: float = 0.0
    """Share of the lanes with inverted signs of all motion, torque and current; 0.5 for a joint
    that is symmetric in both directions, without gravity and without a spring with a rest angle off
    zero."""
    input_noise: float = 0.0
    """Standard deviation of the noise added to the inputs in training, in standard deviations of
    each input."""
    group_weighting: float = 0.0
    """Weighting of groups, from 0 (all samples have equal weight) to 1 (all groups have equal
    weight, independent of the size of their torque)."""
    check_val_every_n_epoch: int | None = None
    """Number of epochs between validations; by default 1 if ``max_epochs`` is given, else as many
    as make 100 gradient steps."""
    threads: int = 1
    """Number of threads of torch on the CPU."""
    export_jit_model: bool = False
    """Export the best network to TorchScript at the end."""

    def __post_init__(self):
        check_finite(self, ExperimentError, "train.")
        for name in ("max_steps", "max_epochs", "check_val_every_n_epoch", "threads"):
            if getattr(self, name) is not None:
                _check_at_least(f"train.{name}", getattr(self, name), 1)
        if self.time is not None:
            _ = self.seconds  # checks the form of the time
        for name in ("burn_in", "input_noise"):
            _check_at_least(f"train.{name}", getattr(self, name), 0)
        if self.devices != 1:
            raise ExperimentError(
                f"train.devices is {self.devices}; it must be 1, as the state carried between "
                "chunks is kept on one device"
            )
        if self.gradient_clip_val is not None:
            _check_positive("train.gradient_clip_val", self.gradient_clip_val)
        _check_choice(
            "train.gradient_clip_algorithm", self.gradient_clip_algorithm, ("norm", "value")
        )
        _check_choice("train.precision", self.precision, ("32-true", "16-mixed", "bf16-mixed"))
        _check_choice("train.accelerator", self.accelerator, ("auto", "cpu", "gpu", "cuda", "mps"))
        for name in ("cold_start_share", "mirror_share", "group_weighting"):
            if not 0 <= getattr(self, name) <= 1:
                raise ExperimentError(
                    f"train.{name} is {getattr(self, name)}; it must be from 0 to 1"
                )

    @property
    def seconds(self) -> float | None:
        """Maximum time for all networks of a run [s]; None if steps or epochs are limited."""
        if self.time is not None:
            return seconds_of(self.time)
        return None if self.max_steps or self.max_epochs else _USUAL_SECONDS

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "TrainSettings":
        """Settings from plain values.

        Raises:
          ExperimentError: a key is unknown, or a value cannot be used.
        """
        return build_settings(cls, content, "train")


def seconds_of(text: str, name: str = "train.time") -> float:
    """Seconds of a time such as ``10min``."""
    found = _TIME.fullmatch(text.strip())
    if found is None or not float(found[1]) > 0:
        raise ExperimentError(f"{name} is {text!r}; write a number with s, min or h, such as 10min")
    return float(found[1]) * _UNITS[found[2]]


def _check_monitor(where: str, monitor: str, mode: str) -> None:
    _check_choice(f"{where}.monitor", monitor, MONITORS)
    _check_choice(f"{where}.mode", mode, ("min", "max"))
    wanted = "max" if monitor == "val_r2_epoch" else "min"
    if mode != wanted:
        raise ExperimentError(f"{where}.mode is {mode!r}; it must be {wanted!r} for {monitor}")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ExperimentError(
            f"{name} is {value!r}; it must be one of {listing(choices)}."
            f"{did_you_mean(value, choices)}"
        )


def _check_at_least(name: str, value: float, lowest: float) -> None:
    if not value >= lowest:
        raise ExperimentError(f"{name} is {value}; it must be at least {lowest}")


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise ExperimentError(f"{name} is {value}; it must be positive")
