"""Registry of forms: file formats of simulators and runtimes, and the functions that write them.

A form has a name, common to all commands, and one entry for each thing that it supports. To add
one, write its function in the folder of the simulator and add its line to the table at the end, or
call :func:`register_form`.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trueup.errors import FitError, did_you_mean, listing
from trueup.networks.data.features import FEATURE_NAMES, SIMULATOR_FEATURE_NAMES

SERVO = "servo"
NETWORK = "network"
MODEL_DRAWS = "draws of a model"
SERVO_DRAWS = "draws of a servo"
NETWORK_DRAWS = "draws of an ensemble of networks"

THINGS = {
    SERVO: "an identified servo",
    NETWORK: "a network",
    MODEL_DRAWS: "draws of a model",
    SERVO_DRAWS: "draws of a servo",
    NETWORK_DRAWS: "draws of an ensemble of networks",
}
"""Things that can be exported, as phrases."""


@dataclass(frozen=True)
class Form:
    """A form of an export, for one thing that it supports."""

    name: str
    """Name in the library and on the command line, such as ``mjlab``."""
    thing: str
    """Thing that it supports, one of ``THINGS``."""
    description: str
    """Content of the file in a few words, for the help of the command."""
    writer: str | Callable[..., Any]
    """Function that writes it, or its location as ``module:function``, imported at the first call.

    Of a servo: from an :class:`ExportRequest` to a :class:`ServoExport`. Of a network: from a
        :class:`Deployment` and a path to Python text with its usage. Of draws: from a
        :class:`DrawsRequest` to a :class:`DrawsExport`.
    """
    suffix: str = ".py"
    """Suffix of the file of a servo or a network; empty for a folder."""
    files: tuple[str, ...] = ()
    """Names of the files that are written with draws."""
    for_simulator: bool = False
    """Whether a simulator supplies the inputs of a network: inputs that only hardware measures are
        then rejected, and so are networks that are not whole actuators."""
    is_whole: bool = False
    """Whether a servo's file contains its whole model; other forms approximate it."""
    fit: str = ""
    """Function that fits a network to the form, as ``module:function``: from a
        :class:`Deployment` to that of the written file. It raises :class:`FitError` where the form
        does not support the network. Empty where every network is supported."""
    features: tuple[str, ...] = ()
    """Features that a network trained for the form should have, where the form has few; those of
        every family that it supports."""

    def write(self, *given: Any) -> Any:
        """Call the writer of the form."""
        return (_function(self.writer) if isinstance(self.writer, str) else self.writer)(*given)

    def check_fit(self, deployment: Any) -> None:
        """Check that the form supports a network, without writing it.

        Raises:
          FitError: it does not; the message states what it supports.
        """
        if self.fit:
            _function(self.fit)(deployment)


def _function(place: str) -> Callable[..., Any]:
    module, function = place.split(":")
    return getattr(importlib.import_module(module), function)


FORMS: dict[str, dict[str, Form]] = {thing: {} for thing in THINGS}
"""Forms by thing and name, including user-registered ones; read at each look-up."""

OLD_NAMES: dict[str, dict[str, Form]] = {thing: {} for thing in THINGS}
"""Former spellings of forms, by thing, which are accepted but not listed."""


def register_form(form: Form) -> None:
    """Add a form to :data:`FORMS`, or replace it.

    Raises:
      FitError: its thing is not one of ``THINGS``.
    """
    if form.thing not in THINGS:
        raise FitError(
            f"the form {form.name!r} supports {form.thing!r}, which cannot be exported; available: "
            f"{listing(THINGS)}"
        )
    FORMS[form.thing][form.name] = form


def find_form(name: str, thing: str) -> Form:
    """Form for a thing, by name.

    Args:
      name: name of the form, or a former spelling.
      thing: one of ``THINGS``.

    Raises:
      FitError: the form is unknown, or does not support the thing; the message lists
        those that do.
    """
    forms = FORMS[thing]
    if form := forms.get(name) or OLD_NAMES[thing].get(name):
        return form
    others = [other for other in THINGS if name in FORMS[other] or name in OLD_NAMES[other]]
    if others:
        taken = " and ".join(THINGS[other] for other in others)
        raise FitError(
            f"the form {name!r} supports {taken}, not {THINGS[thing]}; forms for "
            f"{THINGS[thing]} are {listing(forms, 20)}"
        )
    raise FitError(
        f"unknown export form {name!r}; forms for {THINGS[thing]} are "
        f"{listing(forms, 20)}.{did_you_mean(name, forms)}"
    )


def whole_forms() -> tuple[str, ...]:
    """Names of the forms that contain the whole model of a servo."""
    return tuple(name for name, form in FORMS[SERVO].items() if form.is_whole)


def described_forms(thing: str) -> str:
    """Names and descriptions of the forms of a thing, for the help of a command."""
    return "; ".join(f"{name}: {form.description}" for name, form in FORMS[thing].items())


_DEPLOY = "trueup.deploy"
_MLP, _LSTM, _GRU = (f"{_DEPLOY}.isaac_lab.network:write_{f}" for f in ("mlp", "lstm", "gru"))
_MODULE = "posterior_event.py"
_FITS = {name: f"{_DEPLOY}.{name}.network:fit" for name in ("isaac_lab", "mjlab", "newton")}

for _form in (
    Form("mujoco", SERVO, "script that runs the whole model at C speed",
         f"{_DEPLOY}.mujoco.script:mujoco_script", is_whole=True),
    Form("mjcf-dcmotor", SERVO, "MJCF without code, with the motor and its limits",
         f"{_DEPLOY}.mujoco.mjcf:dcmotor", ".xml"),
    Form("mjcf-parallel", SERVO, "MJCF without code, motors in parallel that saturate together",
         f"{_DEPLOY}.mujoco.mjcf:parallel", ".xml"),
    Form("mjcf-position", SERVO, "MJCF without code, a spring of limited force",
         f"{_DEPLOY}.mujoco.mjcf:position", ".xml"),
    Form("mjlab", SERVO, "actuator class with the whole model, which reads parameter files",
         f"{_DEPLOY}.mjlab.servo:write_servo", is_whole=True),
    Form("mjlab", NETWORK, "mlp or linear network for LearnedMlpActuatorCfg",
         f"{_DEPLOY}.mjlab.network:write_network", ".pt", for_simulator=True,
         fit=_FITS["mjlab"], features=SIMULATOR_FEATURE_NAMES),
    Form("mjlab", MODEL_DRAWS, "startup event", f"{_DEPLOY}.mjlab.draws:write_draws",
         files=(_MODULE,)),
    Form("mjlab", SERVO_DRAWS, "actuator class and startup event",
         f"{_DEPLOY}.mjlab.servo_draws:write_draws", files=("posterior_servo.py",)),
    Form("mjlab", NETWORK_DRAWS, "configuration of the actuator",
         f"{_DEPLOY}.mjlab.network:write_ensemble",
         files=("posterior_network.py", "posterior_network.pt")),
    Form("isaac-lab", SERVO, "nearest of its actuator configurations",
         f"{_DEPLOY}.isaac_lab.nearest:export_isaac_lab"),
    Form("isaac-lab", NETWORK, "its actuator class of the network's family",
         f"{_DEPLOY}.isaac_lab.network:write_network", ".pt", for_simulator=True,
         fit=_FITS["isaac_lab"], features=SIMULATOR_FEATURE_NAMES),
    Form("isaac-lab", MODEL_DRAWS, "startup event", f"{_DEPLOY}.isaac_lab.draws:write_draws",
         files=(_MODULE,)),
    Form("isaac-lab", SERVO_DRAWS, "actuator class and startup event",
         f"{_DEPLOY}.isaac_lab.servo_draws:write_draws", files=("posterior_servo.py",)),
    Form("isaac-lab", NETWORK_DRAWS, "configuration of the actuator",
         f"{_DEPLOY}.isaac_lab.network:write_ensemble",
         files=("posterior_network.py", "posterior_network.pt")),
    Form("isaac-lab-bam", SERVO, "configuration of its own BAM drive, of isaaclab_newton",
         f"{_DEPLOY}.isaac_lab.bam:export_bam"),
    Form("isaac-lab-module", SERVO, "actuator class with the whole model",
         f"{_DEPLOY}.isaac_lab.servo:write_servo", is_whole=True),
    Form("isaac-lab-combined", NETWORK, "gru over a PD law, its class and JSON files in a folder",
         f"{_DEPLOY}.isaac_lab.combined_network:write_combined", "", for_simulator=True,
         fit=f"{_DEPLOY}.isaac_lab.combined_network:fit", features=FEATURE_NAMES),
    Form("newton", SERVO, "drive of its actuators with the whole model",
         f"{_DEPLOY}.newton.servo:write_servo", is_whole=True),
    Form("newton", NETWORK, "ONNX for its neural drives", f"{_DEPLOY}.newton.network:write_newton",
         ".onnx", for_simulator=True, fit=_FITS["newton"], features=SIMULATOR_FEATURE_NAMES),
    Form("playground", MODEL_DRAWS, "function domain_randomize",
         f"{_DEPLOY}.playground.draws:write_draws", files=("posterior_randomize.py",)),
    Form("numpy", SERVO, "module of numpy with the whole model",
         f"{_DEPLOY}.standalone.numpy_servo:write_servo", is_whole=True),
    Form("numpy", NETWORK, "arrays for trueup's numpy runtime",
         f"{_DEPLOY}.standalone.network_step:write_numpy", ".npz"),
    Form("torchscript", NETWORK, "one step (x, h) -> (torque, h)",
         f"{_DEPLOY}.standalone.network_step:write_torchscript", ".pt"),
    Form("onnx", NETWORK, "the same step as ONNX",
         f"{_DEPLOY}.standalone.network_step:write_onnx", ".onnx"),
    Form("torch-export", NETWORK, "the same step as an exported program of torch",
         f"{_DEPLOY}.standalone.network_step:write_torch_export", ".pt2"),
    Form("c", NETWORK, "source and header without dependencies, for firmware",
         f"{_DEPLOY}.standalone.c_network:write_c", ".c"),
    *(Form("json", thing, "no module, the rows and their description",
           f"{_DEPLOY}.draws:write_nothing")
      for thing in (MODEL_DRAWS, SERVO_DRAWS, NETWORK_DRAWS)),
):  # fmt: skip
    register_form(_form)

for _old, _new, _thing in (
    ("mjlab-module", "mjlab", SERVO),
    ("newton-module", "newton", SERVO),
    ("numpy-module", "numpy", SERVO),
    *(("isaaclab", "isaac-lab", thing) for thing in THINGS),
):
    OLD_NAMES[_thing][_old] = FORMS[_thing][_new]
for _family, _writer in (("mlp", _MLP), ("lstm", _LSTM), ("gru", _GRU)):
    # these names include the family, and reject other families
    OLD_NAMES[NETWORK][f"isaac-lab-{_family}"] = Form(
        "isaac-lab", NETWORK, "", _writer, ".pt", for_simulator=True
    )
