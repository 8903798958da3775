"""Identified servos, networks and draws for simulators and runtimes.

One folder per simulator, and one registry of forms, :data:`FORMS`, with names common to all
commands. Exported files run without trueup.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.deploy.draws import DrawsExport, DrawsRequest
    from trueup.deploy.forms import FORMS, Form, find_form, register_form
    from trueup.deploy.isaac_lab.nearest import isaac_lab_snippet
    from trueup.deploy.mujoco.mjcf import MJCF_FORMS, mjcf_snippet, set_mjcf_gains
    from trueup.deploy.network import export_network
    from trueup.deploy.servo import ExportRequest, ServoExport, export_servo

_EXPORTS = {
    "DrawsExport": "trueup.deploy.draws",
    "DrawsRequest": "trueup.deploy.draws",
    "ExportRequest": "trueup.deploy.servo",
    "FORMS": "trueup.deploy.forms",
    "Form": "trueup.deploy.forms",
    "MJCF_FORMS": "trueup.deploy.mujoco.mjcf",
    "ServoExport": "trueup.deploy.servo",
    "export_network": "trueup.deploy.network",
    "export_servo": "trueup.deploy.servo",
    "find_form": "trueup.deploy.forms",
    "isaac_lab_snippet": "trueup.deploy.isaac_lab.nearest",
    "mjcf_snippet": "trueup.deploy.mujoco.mjcf",
    "register_form": "trueup.deploy.forms",
    "set_mjcf_gains": "trueup.deploy.mujoco.mjcf",
}

__all__ = [
    "FORMS",
    "MJCF_FORMS",
    "DrawsExport",
    "DrawsRequest",
    "ExportRequest",
    "Form",
    "ServoExport",
    "export_network",
    "export_servo",
    "find_form",
    "isaac_lab_snippet",
    "mjcf_snippet",
    "register_form",
    "set_mjcf_gains",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
