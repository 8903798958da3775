"""Atomic writing of checkpoints of a training."""

import io
import os
from typing import Any

import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO

from trueup.runs.store import atomic


class AtomicCheckpoints(TorchCheckpointIO):
    """Writes a checkpoint next to the previous one, then replaces it atomically.

    The temporary file is in the folder of the checkpoint: where the disk is full, the error names
    the file, and the previous checkpoint is intact.
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
