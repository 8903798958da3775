"""Files of a MyoAssist checkout that lie around a configuration, a vector or a model of it."""

from pathlib import Path

from trueup.gait.search.configuration import GaitConfiguration

LEVELS = 6
"""Folders above a file in which others are looked for."""

REFERENCES = [
    Path(folder) / "ref_kinematics_radians.csv"
    for folder in (
        "ref_data",
        "ctrl_optim/optim/ref_data",
        "optim/ref_data",
        "gait_norms/myoassist",
    )
]
"""Places of the reference kinematics in a folder of a checkout."""


def reference_near(*files: str | Path | None) -> Path | None:
    """MyoAssist's reference kinematics above one of the files; None where there are none."""
    for file in files:
        for folder in _folders_above(file):
            for place in REFERENCES:
                if (folder / place).is_file():
                    return folder / place
    return None


def model_near(file: str | Path, muscles: int, device: str) -> Path | None:
    """MJCF file of MyoAssist's walker with a device, above a file; None where there is none.

    MyoAssist keeps it as ``models/<folder of the muscles>/myoLeg22_2D_TUTORIAL.xml`` and the like.
    """
    for folder in _folders_above(file):
        found = sorted((folder / "models").glob(f"*/myoLeg{muscles}*_{device.upper()}.xml"))
        if found:
            return found[0]
    return None


def with_files_near(configuration: GaitConfiguration, file: str | Path) -> GaitConfiguration:
    """A configuration of a ``.bat`` or ``.sh`` file with the model and the reference around it.

    What the configuration names itself stays as it is.
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
    """Sentences that name the files of a MyoAssist checkout which a configuration uses."""
    notes = []
    if configuration.model_file and Path(configuration.model_file).name.startswith("myoLeg"):
        notes.append(f"The walker is MyoAssist's, {configuration.model_file}.")
    notes += [
        f"The reference gait is MyoAssist's, {file}."
        for file in configuration.reference_files
        if Path(file).name == REFERENCES[0].name
    ]
    return notes


def _folders_above(file: str | Path | None) -> list[Path]:
    return [] if file is None else list(Path(file).resolve().parents)[:LEVELS]
