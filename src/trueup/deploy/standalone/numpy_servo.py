"""Whole servo model as a module that requires only numpy."""

from trueup.deploy import servo_step
from trueup.deploy.servo import ExportRequest, ServoExport
from trueup.deploy.servo_module import servo_module
from trueup.deploy.servo_source import servo_source


def write_servo(request: ExportRequest) -> ServoExport:
    """Module of numpy: ``Servo`` computes torques, ``Bench`` steps joints with a load."""
    use = "``Servo`` computes torques for a simulator, ``Bench`` steps a load itself."
    steps = (servo_step.moved_inertia, servo_step.Servo, servo_step.Bench)
    return servo_module(request, "numpy", use, servo_source(request.model, "numpy", steps))
