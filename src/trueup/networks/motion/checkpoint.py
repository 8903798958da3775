"""The checkpoint of a training through the simulator: arrays and JSON in one file."""

import io
import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from trueup._input_files import DAMAGED_ARCHIVE, read_arrays
from trueup.errors import RunDirectoryError, TrueupError, reason
from trueup.runs.store import atomic

_DAMAGED = (*DAMAGED_ARCHIVE, LookupError, TypeError)
_UNREADABLE = (*_DAMAGED, AttributeError, TrueupError)
_PLAIN = "state"
_NUMBERS = ("done", "seconds", "loss_sum", "best_error", "history")


class Checkpointed(Protocol):
    """State of a training in a checkpoint, apart from its parameters."""

    module: Any
    joint: Any
    random: np.random.Generator
    best: Any
    base: Any

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """Optimizer, with its moments."""
        ...


def write_state(trainer: Checkpointed, file: Path) -> None:
    """Write the state of a training atomically, for its resumption."""
    arrays = {f"module.{n}": value.numpy() for n, value in trainer.module.state_dict().items()}
    arrays["joint.steps"] = trainer.joint.steps.detach().numpy()
    arrays["joint.gain_steps"] = trainer.joint.gain_steps.detach().numpy()
    for index, state in trainer.optimizer.state_dict()["state"].items():
        arrays |= {f"optimizer.{index}.{n}": np.asarray(value) for n, value in state.items()}
    best = trainer.best
    arrays |= {} if best is None else {f"best.{n}": value for n, value in best.weights.items()}
    plain: dict[str, Any] = {name: getattr(trainer, name) for name in _NUMBERS}
    plain["random"] = trainer.random.bit_generator.state
    plain["base"] = trainer.base.to_dict()
    arrays[_PLAIN] = np.frombuffer(json.dumps(plain).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    atomic.write_bytes(file, buffer.getvalue())


def read_state(trainer: Checkpointed, file: Path) -> None:
    """Restore the state that :func:`write_state` wrote.

    Raises:
        RunDirectoryError: the file is damaged, or belongs to another training.
    """
    try:
        arrays = read_arrays(file)
        plain = json.loads(arrays.pop(_PLAIN).tobytes())
        parts = {"module": {}, "best": {}, "optimizer": {}}
        for name, value in arrays.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = value
        weights = {n: torch.as_tensor(value) for n, value in parts["module"].items()}
        trainer.module.load_state_dict(weights)
        with torch.no_grad():
            for name in ("steps", "gain_steps"):
                getattr(trainer.joint, name).copy_(torch.as_tensor(parts["joint"][name]))
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, value in parts["optimizer"].items():
            index, _, which = name.partition(".")
            moments.setdefault(int(index), {})[which] = torch.as_tensor(value)
        groups = trainer.optimizer.state_dict()["param_groups"]
        trainer.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        trainer.random.bit_generator.state = plain["random"]
        for name in _NUMBERS:
            setattr(trainer, name, plain[name])
        trainer.base = trainer.joint.read_base(plain["base"], str(file))
        if parts["best"]:
            kept = {n: np.asarray(value) for n, value in parts["best"].items()}
            trainer.best = trainer.module.to_network()
            trainer.best.weights.update(kept)
    except _UNREADABLE as error:
        raise RunDirectoryError(
            f"{file} cannot be resumed: {reason(error)}. It is damaged or belongs to another "
            "training; start again with --overwrite"
        ) from error


def check_state(file: Path) -> None:
    """Check that a checkpoint can be read; a missing file is accepted.

    Raises:
        RunDirectoryError: the file is damaged.
    """
    if not file.is_file():
        return
    try:
        plain = json.loads(read_arrays(file)[_PLAIN].tobytes())
        _ = [plain[name] for name in (*_NUMBERS, "random", "base")]
    except _DAMAGED as error:
        raise RunDirectoryError(
            f"{file} cannot be resumed: {reason(error)}. It is damaged; start again with "
            "--overwrite"
        ) from error


def steps_and_seconds(file: Path) -> tuple[int, float]:
    """Completed steps of a checkpoint, and their time [s]; zero without a checkpoint."""
    if not file.is_file():
        return 0, 0.0
    try:
        plain = json.loads(read_arrays(file)[_PLAIN].tobytes())
        return int(plain["done"]), float(plain["seconds"])
    except _DAMAGED as error:
        raise RunDirectoryError(f"{file} is damaged: {reason(error)}") from error
