"""The servo of these tests: its true values."""

from trueup.actuators import ServoModel

TRUTH = ServoModel.create(
    "xl330", "m1", kt=0.35, R=3.2, armature=0.0016, friction_base=0.02, friction_viscous=0.006,
    q_offset=0.02,
)  # fmt: skip
