"""Checkpoints of a training, written in one step."""

import io
import os
from typing import Any

import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO

from trueup.runs.store import atomic


class AtomicCheckpoints(TorchCheckpointIO):
    """Writes a checkpoint beside the former one and replaces that in one step.

    The temporary file lies in the folder of the checkpoint: a full disk is reported by the name of
    the file that does not fit, and the former checkpoint stays whole.
    """

    def save_checkpoint(
        self,
        checkpoint: dict[str, Any],
        path: str | os.PathLike[str],
        storage_options: Any = None,
    ) -> None:
        """Write a checkpoint.

        Raises:
            RunDirectoryError: the folder cannot be written, or the disk is full.
        """
        content = io.BytesIO()
        torch.save(checkpoint, content)
        atomic.write_bytes(path, content.getvalue())
