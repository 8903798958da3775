"""Accelerators of a training."""

from trueup.errors import ExperimentError


def check_accelerator(name: str) -> None:
    """Check that this machine has an accelerator.

    Args:
      name: ``train.accelerator``: auto, cpu, gpu, cuda or mps.

    Raises:
      ExperimentError: torch does not find such a device.
    """
    if name in ("auto", "cpu"):
        return
    import torch

    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not (any(found.values()) if name == "gpu" else found[name]):
        present = [device for device, there in found.items() if there]
        raise ExperimentError(
            f"train.accelerator is {name}, but torch finds "
            f"{f'only {present[0]}' if present else 'no GPU'} on this machine: set "
            "train.accelerator=auto to use any available device"
        )
