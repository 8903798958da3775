"""The pendulum of these tests: its model and its true values."""

MODEL = """
<mujoco>
  <option timestep="0.005" integrator="implicitfast" gravity="0 0 0"/>
  <worldbody>
    <body name="arm">
      <joint name="hinge" axis="0 1 0" armature="{armature}" damping="{damping}"/>
      <inertial pos="0 0 -0.5" mass="{mass}" diaginertia="0.001 0.001 0.001"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
  <sensor><jointpos name="angle" joint="hinge"/><jointvel name="speed" joint="hinge"/></sensor>
</mujoco>
"""
TRUE = {"armature": 0.05, "damping": 0.4, "mass": 0.6}
BIAS = 0.03


def inertia(armature, mass):
    """What the motion shows of armature [kg m^2] and mass [kg]."""
    return armature + 0.25 * mass
