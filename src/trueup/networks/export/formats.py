"""The forms that a network is exported in, by name."""

from typing import Literal, get_args

ExportFormat = Literal[
    "torchscript",
    "onnx",
    "torch-export",
    "numpy",
    "isaac-lab-mlp",
    "isaac-lab-lstm",
    "isaac-lab-gru",
    "isaac-lab-combined",
    "mjlab",
    "newton",
]
"""What a network is exported as."""

EXPORT_FORMATS: tuple[str, ...] = get_args(ExportFormat)
"""Their names."""
