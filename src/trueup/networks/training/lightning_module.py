"""Lightning module: loss on chunks of lanes with persistent state, scores on whole recordings."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lightning.pytorch as lightning
import numpy as np
import torch
from torch import Tensor

from trueup.errors import FitError
from trueup.networks.data.features import FEATURES
from trueup.networks.evaluation.baseline_networks import is_held
from trueup.networks.evaluation.metrics import SETTLING
from trueup.networks.model.network import SKIP
from trueup.networks.model.torch_network import State, TorchNetwork
from trueup.networks.model.torch_rollouts import rollouts
from trueup.networks.training.lanes import Chunk, Lanes
from trueup.networks.training.settings import ModelSettings

SKIP_SAMPLES = 4
"""Largest history of a linear skip with the full learning rate [samples]."""


class LaneBatches:
    """The chunks of the current epoch, as an iterable for Lightning."""

    def __init__(self, lanes: Lanes, epoch: Callable[[], int]):
        self._lanes = lanes
        self._epoch = epoch

    def __iter__(self):
        # evaluated at the first chunk: a resumed trainer creates the iterator before it restores
        yield from self._lanes.chunks(self._epoch())


class NetworkTraining(lightning.LightningModule):
    """Training of one network.

    Args:
        network: initial network.
        settings: settings of the optimiser.
        max_epochs: end of the cosine schedule of the learning rate [epochs].
        seed: seed of the dropout.
        inputs: raw inputs of the stacked recordings, shape (n, inputs).
        torque: target torque, shape (n,) [N m].
        weight: weight of each sample in the loss, shape (n,).
        validation: inputs and torque of whole recordings, for the score.
        groups: group of each validation recording.
        scales: standard deviation of the torque of each group in the training part [N m].
        input_noise: standard deviation of input noise, relative to that of each input.
    """

    data_inputs: Tensor
    data_torque: Tensor
    data_weight: Tensor
    signed: Tensor
    noise_scale: Tensor

    def __init__(
        self,
        network: TorchNetwork,
        settings: ModelSettings,
        max_epochs: int,
        seed: int,
        inputs: np.ndarray,
        torque: np.ndarray,
        weight: np.ndarray,
        validation: Sequence[tuple[np.ndarray, np.ndarray]],
        groups: Sequence[str],
        scales: Mapping[str, float],
        input_noise: float = 0.0,
    ):
        super().__init__()
        self.network = network
        self.settings = settings
        self.max_epochs = max_epochs
        self.seed = seed
        for name, values in (("inputs", inputs), ("torque", torque), ("weight", weight)):
            values = torch.as_tensor(np.asarray(values, dtype=np.float32))
            self.register_buffer(f"data_{name}", values, persistent=False)
        self.validation = list(validation)
        self.groups = list(groups)
        self.scales = dict(scales)
        self.input_noise = input_noise
        template = network.template
        signed = [FEATURES[name].signed for name in template.inputs]
        deviation = dict(
            zip(template.features, template.normalization.input_deviation, strict=True)
        )
        noise = [input_noise * float(deviation.get(name, 0.0)) for name in template.inputs]
        self.register_buffer("signed", torch.tensor(signed), persistent=False)
        self.register_buffer("noise_scale", torch.tensor(noise).float(), persistent=False)
        self.state: State | None = None
        self.losses = [0.0, 0.0]
        self.learning_rate = 0.0
        self.scores: dict[str, float] = {}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW; its learning rate is set before each chunk.

        A linear skip starts at its least-squares solution, without weight decay. The inputs of a
        long one are strongly correlated, its weights large with alternating signs: they have a
        lower learning rate.
        """
        skip = [p for name, p in self.network.named_parameters() if name == SKIP]
        layers = [p for name, p in self.network.named_parameters() if name != SKIP]
        share = min(1.0, SKIP_SAMPLES / self.network.history)
        groups: list[dict[str, Any]] = [
            {"params": layers, "weight_decay": self.settings.weight_decay, "share": 1.0},
            {"params": skip, "weight_decay": 0.0, "share": share},
        ]
        return torch.optim.AdamW(
            [group for group in groups if group["params"]], lr=self.settings.learning_rate
        )

    def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int) -> Any:
        """Keep the indices on the host; the samples are on the device already."""
        return batch

    def on_train_batch_start(self, batch: Chunk, batch_idx: int) -> None:
        """Set the learning rate: linear warm-up, then half a cosine to zero."""
        if batch_idx == 0:
            # here and not at the start of the epoch, which a resumed trainer skips; seeded by the
            # epoch, so that dropout equals that of the uninterrupted run
            torch.manual_seed((self.seed * 1_000_003 + self.current_epoch) & 0x7FFFFFFF)
            self.losses = [0.0, 0.0]
        self.learning_rate = self._learning_rate(self.current_epoch + batch.progress)
        optimizer = self.optimizers(use_pl_optimizer=False)
        for group in optimizer.param_groups:  # type: ignore[union-attr]
            group["lr"] = self.learning_rate * group["share"]

    def training_step(self, batch: Chunk, batch_idx: int) -> Tensor:
        """Loss of a chunk: squared error of the normalised torque, every step supervised."""
        samples = self._indices(batch.samples)
        lanes = len(samples)
        before = self._start(batch) if batch.starts else self.network.first_of(self.state, lanes)
        mirror = batch.mirrored[:lanes]
        torque, after = self.network.unlimited(self._inputs(samples, mirror, True), before)
        self.state = _detached(after)
        supervised = torch.as_tensor(batch.supervised, device=self.device)
        weight = self.data_weight[samples] * supervised
        wanted = self.data_torque[samples] * self._signs(mirror)
        error = (torque - wanted).float() / self.network.output_deviation
        if (limit := self.network.torque_limit) is not None:
            # a saturated sample shows only that the unlimited torque is beyond the limit
            error = torch.where(is_held(torque, wanted, limit), torch.zeros_like(error), error)
        total = (weight * error.square()).sum()
        if self.settings.loss_diff_weight:
            # differences over time within the chunk, not between lanes, which are not adjacent
            change = (error[:, 1:] - error[:, :-1]).square()
            total = total + self.settings.loss_diff_weight * (weight[:, 1:] * change).sum()
        with torch.no_grad():
            self.losses[0] += float(total)
            self.losses[1] += float(weight.sum())
        if not np.isfinite(self.losses[0]):
            raise FitError(
                f"training diverged in epoch {self.current_epoch}: the loss is not finite. Lower "
                "model.learning_rate or train.gradient_clip_val"
            )
        return total / batch.nominal

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Run the network over each whole recording from a cold start, as after deployment."""
        predicted = rollouts(self.network, [inputs for inputs, _ in self.validation])
        torque = [t for _, t in self.validation]
        settling = round(SETTLING * self.network.template.rate)
        self.scores = validation_scores(predicted, torque, self.groups, self.scales, settling)

    @property
    def training_loss(self) -> float:
        """Mean loss of a supervised step in this epoch."""
        return self.losses[0] / max(self.losses[1], 1e-12)

    def _start(self, batch: Chunk) -> State | None:
        """State before a wave, from the burn-in; None: cold start of all lanes."""
        if not batch.burn_in.shape[1]:
            return None
        training = self.network.training
        self.network.eval()
        with torch.no_grad():
            burn_in = self._indices(batch.burn_in)
            _, state = self.network.unlimited(self._inputs(burn_in, batch.mirrored, False))
        self.network.train(training)
        return state

    def _learning_rate(self, epochs: float) -> float:
        warm_up = min(self.settings.warmup_epochs or 0.0, self.max_epochs / 2)
        if epochs < warm_up:
            # from a small rate: with zero the first chunk would have no effect
            share = max(epochs / warm_up, 0.01)
        else:
            done = (epochs - warm_up) / max(self.max_epochs - warm_up, 1e-9)
            share = 0.5 * (1.0 + np.cos(np.pi * min(1.0, done)))
        return self.settings.learning_rate * float(share)

    def _inputs(self, samples: Tensor, mirrored: np.ndarray, noisy: bool) -> Tensor:
        """Inputs of samples (B, T), mirrored and with noise if requested."""
        inputs = self.data_inputs[samples]
        if mirrored.any():
            turned = self._signs(mirrored)[..., None]
            inputs = inputs * torch.where(self.signed, turned, torch.ones_like(turned))
        if noisy and self.input_noise:
            inputs = inputs + self.noise_scale * torch.randn_like(inputs)
        return inputs

    def _signs(self, mirrored: np.ndarray) -> Tensor:
        """Sign of each lane, -1 where it is mirrored, shape (B, 1)."""
        return torch.as_tensor(1.0 - 2.0 * mirrored[:, None], device=self.device).float()

    def _indices(self, samples: np.ndarray) -> Tensor:
        return torch.as_tensor(samples, device=self.device)


def validation_scores(
    predicted: Sequence[np.ndarray],
    torque: Sequence[np.ndarray],
    groups: Sequence[str],
    scales: Mapping[str, float],
    settling: int = 0,
) -> dict[str, float]:
    """Scores over all samples of recordings, by the names that ``monitor`` supports.

    ``val_settled_rmse_epoch`` excludes the first ``settling`` samples of each longer recording:
    recordings cut from a motion begin in motion, unlike a simulator.

    ``val_group_rmse_epoch`` is the root mean square over the groups of each group's RMSE over its
    scale, the standard deviation of its torque in training, so that groups of small torque have
    equal weight; ``val_settled_group_rmse_epoch`` excludes the first samples.
    """
    errors = [p - t for p, t in zip(predicted, torque, strict=True)]
    error, target = np.concatenate(errors), np.concatenate(list(torque))
    squared = float(np.mean(error**2))
    settled = [e[settling:] if len(e) > settling else e for e in errors]

    def of_groups(parts: Sequence[np.ndarray]) -> float:
        relative = []
        for group in dict.fromkeys(groups):
            members = [part for part, name in zip(parts, groups, strict=True) if name == group]
            scale = scales.get(group, 0.0) or float(target.std()) or 1.0
            relative.append(float(np.mean(np.concatenate(members) ** 2)) / scale**2)
        return float(np.sqrt(np.mean(relative)))

    return {
        "val_mse_epoch": squared,
        "val_rmse_epoch": float(np.sqrt(squared)),
        "val_settled_rmse_epoch": float(np.sqrt(np.mean(np.concatenate(settled) ** 2))),
        "val_mae_epoch": float(np.mean(np.abs(error))),
        "val_r2_epoch": 1.0 - squared / max(float(target.var()), 1e-12),
        "val_group_rmse_epoch": of_groups(errors),
        "val_settled_group_rmse_epoch": of_groups(settled),
    }


def _detached(state: State) -> State:
    return (state[0].detach(), state[1].detach()) if isinstance(state, tuple) else state.detach()
