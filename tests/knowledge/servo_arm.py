"""A hanging arm of two joints with position servos, and the experiment of its next recording."""

MODEL = """
<mujoco model="arm">
  <compiler angle="radian"/>
  <option timestep="0.005" integrator="implicitfast"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 0.1" pos="0 0 -0.62"/>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" range="-1.5 1.5" armature="{armature}" damping="0.2"
             frictionloss="{friction}"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02" mass="0.4"/>
      <body name="lower" pos="0 0 -0.25">
        <joint name="elbow" axis="0 1 0" range="-1.5 1.5" armature="0.02" damping="0.2"/>
        <inertial pos="0 0 -0.125" mass="{mass}" diaginertia="0.002 0.002 0.0001"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02"/>
      </body>
    </body>
    <body name="other" pos="0.52 0 0">
      <joint name="spare" axis="0 1 0" frictionloss="0.1" damping="0.1"/>
      <geom size="0.03" pos="0 0 -0.1" mass="0.1"/>
    </body>
  </worldbody>
  <actuator>
    <position name="shoulder" joint="shoulder" kp="20" kv="0.5" forcerange="-12 12"/>
    <position name="elbow" joint="elbow" kp="20" kv="0.5" forcerange="-12 12"/>
    <motor name="winch" joint="spare"/>
  </actuator>
</mujoco>
"""
GUESS = {"armature": 0.03, "friction": 0.1, "mass": 0.3}
TRUTH = {"armature": 0.034, "friction": 0.09, "mass": 0.32}
NOISE = 1e-3


def experiment():
    """Content of the experiment file."""
    return {
        "name": "arm",
        "model": {"file": "arm.xml"},
        "recordings": [
            {
                "file": "log.csv",
                "time": "t",
                "signals": {"shoulder_qpos": "q1", "elbow_qpos": "q2"},
                "controls": {"shoulder": "shoulder", "elbow": "elbow"},
            }
        ],
        "parameters": {
            "armature": {"target": "joint/shoulder/armature", "bounds": [0.0, 0.2]},
            "friction": {"target": "joint/shoulder/frictionloss", "bounds": [0.0, 1.0]},
            "mass": {"target": "body/lower/mass", "bounds": [0.1, 1.0]},
            "spare": {"target": "joint/spare/frictionloss", "bounds": [0.0, 1.0]},
        },
        "measurement": {"signals": {"*_qpos": {"noise": NOISE}}},
        "held_out": {"fraction": 0.0},
        "design": {
            "duration": 6.0,
            "rate": 100.0,
            "draws": 2,
            "limits": {"speed": 4.0, "acceleration": 40.0, "clearance": 0.01},
        },
    }
