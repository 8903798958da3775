"""Accelerators that a training may ask for."""

from trueup.errors import ExperimentError


def check_accelerator(name: str) -> None:
    """Refuse an accelerator that this machine does not have.

    Args:
      name: ``train.accelerator``: auto, cpu, gpu, cuda or mps.

    Raises:
      ExperimentError: torch finds no such device.
    """
    if name in ("auto", "cpu"):
        return
    import torch

    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not (any(found.values()) if name == "gpu" else found[name]):
        present = [device for device, there in found.items() if there]
        raise ExperimentError(
            f"train.accelerator is {name}, and torch finds "
            f"{f'only {present[0]}' if present else 'no GPU'} on this machine: write "
            "train.accelerator=auto, which takes what there is"
        )
