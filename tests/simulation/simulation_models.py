"""Models for the tests of targets and of the batch engine."""

EVERYTHING = """
<mujoco>
  <compiler angle="{angle}" autolimits="true"/>
  <option timestep="0.002" integrator="{integrator}"><flag override="disable"/></option>
  <default><geom contype="0" conaffinity="0"/></default>
  <asset>
    <mesh name="wedge" vertex="0 0 0  .1 0 0  0 .1 0  0 0 .1"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 .1" contype="1" conaffinity="1"/>
    <body name="cart" pos="0 0 1">
      <joint name="slide" type="slide" axis="1 0 0" range="-1 1" frictionloss=".1" damping=".2"
        armature=".05" stiffness="2" actuatorfrcrange="-20 20"/>
      <geom name="cart" type="box" size=".1 .05 .05" mass="1.5"/>
      <body name="arm" pos="0 0 .05">
        <joint name="hinge" type="hinge" axis="0 1 0" range="{range}" damping=".1" stiffness="1"
          springref="{springref}" frictionloss=".02"/>
        <inertial pos=".02 0 .2" mass=".7" fullinertia=".012 .01 .004 .0005 .0002 .0001"/>
        <geom name="arm" type="capsule" size=".02" fromto="0 0 0 0 0 .4"/>
        <site name="tip" pos="0 .01 .4"/>
        <body name="bob" pos="0 0 .4">
          <joint name="ball" type="ball" damping=".01" range="{ballrange}"/>
          <geom name="bob" type="sphere" size=".04" pos=".01 0 .05" mass=".3"/>
        </body>
      </body>
    </body>
    <body name="block" pos="1 0 .06">
      <joint name="free" type="free" armature=".001" damping=".01" frictionloss=".001"/>
      <geom name="block" type="box" size=".05 .05 .05" mass=".4" contype="1" conaffinity="1"/>
    </body>
    <body name="stone" pos="-1 0 .12">
      <joint name="stone" type="free"/>
      <geom name="stone" type="mesh" mesh="wedge" mass=".2"/>
    </body>
    <body name="puck" pos="2 0 .049">
      <joint name="puck" type="slide" axis="1 0 0"/>
      <geom name="puck" type="sphere" size=".05" mass=".5"/>
    </body>
  </worldbody>
  <contact>
    <pair name="puck_floor" geom1="puck" geom2="floor" friction=".8 .8 .01 .001 .001"/>
  </contact>
  <tendon>
    <fixed name="cable" stiffness="3" damping=".1" frictionloss=".05" springlength=".1 .2"
      armature=".01">
      <joint joint="slide" coef="1"/><joint joint="hinge" coef=".3"/>
    </fixed>
  </tendon>
  <equality>
    <joint name="coupling" joint1="puck" joint2="slide" polycoef="0 .3 0 0 0"/>
    <tendon name="pull" tendon1="cable" polycoef=".05 0 0 0 0" solref=".1 1"/>
  </equality>
  <actuator>
    <position name="servo" joint="hinge" kp="8" kv=".4" ctrlrange="-1 1" forcerange="-6 6"
      delay=".006" nsample="8" interp="linear"/>
    <general name="filter" joint="slide" dyntype="filterexact" dynprm=".05" gainprm="3"
      biastype="affine" biasprm="0 -3 -.1" gear="1.5"/>
    <motor name="motor" joint="puck" gear="2"/>
  </actuator>
  <sensor>
    <jointpos name="angle" joint="hinge" delay=".004" nsample="8" interp="linear"/>
    <jointvel name="speed" joint="slide" cutoff="3"/>
    <framepos name="tip" objtype="site" objname="tip"/>
  </sensor>
</mujoco>
"""
"""Every kind of element and joint; angles in degrees or radians."""


def everything(angle: str = "radian", integrator: str = "implicitfast") -> str:
    """The model with everything, in either unit of angles."""
    scale = 57.29577951308232 if angle == "degree" else 1.0
    return EVERYTHING.format(
        angle=angle,
        integrator=integrator,
        range=f"{-1.2 * scale} {1.5 * scale}",
        ballrange=f"0 {1.1 * scale}",
        springref=0.3 * scale,
    )


PENDULUM = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body name="rod">
      <joint name="pivot" axis="0 1 0" damping=".05"/>
      <geom name="rod" type="capsule" size=".02" fromto="0 0 0 0 0 -.5" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="pivot"/></actuator>
  <sensor><jointpos name="angle" joint="pivot"/></sensor>
</mujoco>
"""

DELAYED = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body name="rod">
      <joint name="pivot" axis="0 1 0" damping=".05"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.5" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="pivot" delay=".013" nsample="10" interp="linear"/></actuator>
  <sensor>
    <jointpos name="angle" joint="pivot" delay=".0094" nsample="10" interp="linear"/>
  </sensor>
</mujoco>
"""
"""A command and a sensor that are late by no multiple of the time step."""
