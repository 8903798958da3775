"""Files of a MyoAssist checkout near a configuration, a vector or a model."""

from pathlib import Path

from trueup.gait.search.configuration import GaitConfiguration

LEVELS = 6
"""Number of parent folders of a file in which others are searched."""

REFERENCES = [
    Path(folder) / "ref_kinematics_radians.csv"
    for folder in (
        "ref_data",
        "ctrl_optim/optim/ref_data",
        "optim/ref_data",
        "gait_norms/myoassist",
    )
]
"""Paths of the reference kinematics within a checkout."""


def reference_near(*files: str | Path | None) -> Path | None:
    """Reference kinematics of MyoAssist in a parent folder of a file; None if missing."""
    for file in files:
        for folder in _folders_above(file):
            for place in REFERENCES:
                if (folder / place).is_file():
                    return folder / place
    return None


def model_near(file: str | Path, muscles: int, device: str) -> Path | None:
    """MJCF file of the MyoAssist walker with a device, near a file; None if missing.

    In MyoAssist it is ``models/<folder of the muscles>/myoLeg22_2D_TUTORIAL.xml`` or similar.
    """
    for folder in _folders_above(file):
        found = sorted((folder / "models").glob(f"*/myoLeg{muscles}*_{device.upper()}.xml"))
        if found:
            return found[0]
    return None


def with_files_near(configuration: GaitConfiguration, file: str | Path) -> GaitConfiguration:
    """A configuration of a ``.bat`` or ``.sh`` file with model and reference of its checkout.

    Explicit files of the configuration are not changed.
    """
    changes: dict[str, object] = {}
    if configuration.model_file is None:
        model = model_near(file, configuration.musc_model, configuration.model)
        if model is not None:
            changes["model_file"] = str(model)
    if configuration.reference is None:
        reference = reference_near(file, configuration.model_file)
        if reference is not None:
            changes["reference"] = (str(reference),)
    return configuration.model_copy(update=changes) if changes else configuration


def checkout_notes(configuration: GaitConfiguration) -> list[str]:
    """Notes on the files of a MyoAssist checkout that a configuration uses."""
    notes = []
    if configuration.model_file and Path(configuration.model_file).name.startswith("myoLeg"):
        notes.append(f"Walker of MyoAssist: {configuration.model_file}.")
    notes += [
        f"Reference gait of MyoAssist: {file}."
        for file in configuration.reference_files
        if Path(file).name == REFERENCES[0].name
    ]
    return notes


def _folders_above(file: str | Path | None) -> list[Path]:
    return [] if file is None else list(Path(file).resolve().parents)[:LEVELS]
