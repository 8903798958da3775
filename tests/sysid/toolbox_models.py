"""The three models of the toolbox's tutorial, written anew, with recordings of known truth."""

import mujoco
import numpy as np
from mujoco import rollout

from trueup import sysid

SPRING_MASS = """
<mujoco>
  <option timestep="0.002"><flag contact="disable"/></option>
  <worldbody>
    <body name="ball" pos="0 0 0.1">
      <inertial pos="0 0 0" mass="1" diaginertia="0.001 0.001 0.001"/>
      <joint name="slide" type="slide" axis="1 0 0" stiffness="100" damping="5"/>
      <geom type="box" size="0.05 0.05 0.05"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="slide"/></actuator>
  <sensor>
    <jointpos name="position" joint="slide"/><jointvel name="velocity" joint="slide"/>
  </sensor>
</mujoco>
"""

CART = """
<mujoco>
  <option timestep="0.002"><flag contact="disable"/></option>
  <worldbody>
    <body name="cart" pos="0 0 0.1">
      <inertial pos="0 0 0" mass="2" diaginertia="0.001 0.001 0.001"/>
      <joint name="slide" type="slide" axis="1 0 0"/><geom size="0.05"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="slide" gear="3"/></actuator>
  <sensor>
    <jointpos name="position" joint="slide"/><jointvel name="velocity" joint="slide"/>
  </sensor>
</mujoco>
"""

ARMATURE = {"joint1": 0.5, "joint2": 0.4, "joint3": 0.3, "joint4": 0.2, "joint5": 0.1}

_LINKS = [
    # axis, offset of the next joint, centre of mass, mass, inertia, damping
    ("0 0 1", 0.1, 0.05, 1.0, "0.01 0.01 0.005", 1.0),
    ("0 1 0", 0.1, 0.05, 0.8, "0.008 0.008 0.004", 0.8),
    ("0 1 0", 0.1, 0.05, 0.6, "0.006 0.006 0.003", 0.6),
    ("0 0 1", 0.08, 0.04, 0.4, "0.004 0.004 0.002", 0.4),
    ("0 1 0", 0.06, 0.03, 0.2, "0.002 0.002 0.001", 0.2),
]


def arm_xml() -> str:
    """Five hinges in a row, a motor and two sensors on each."""
    body, offset = "", 0.1
    tail = ""
    for i, (axis, length, centre, mass, inertia, damping) in enumerate(_LINKS, 1):
        body += f"""
<body name="link{i}" pos="0 0 {offset}">
  <inertial pos="0 0 {centre}" mass="{mass}" diaginertia="{inertia}"/>
  <joint name="joint{i}" axis="{axis}" range="-3.14 3.14" damping="{damping}"
         armature="{ARMATURE[f"joint{i}"]}"/>
  <geom type="capsule" fromto="0 0 0 0 0 {length}" size="0.02"/>"""
        tail += "</body>"
        offset = length
    joints = range(1, 6)
    motors = "".join(f'<motor name="act{i}" joint="joint{i}"/>' for i in joints)
    sensors = "".join(f'<jointpos name="joint{i}_pos" joint="joint{i}"/>' for i in joints)
    return f"""
<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <option integrator="implicitfast" timestep="0.002"><flag contact="disable"/></option>
  <worldbody>{body}{tail}</worldbody>
  <actuator>{motors}</actuator><sensor>{sensors}</sensor>
</mujoco>"""


def two_tones(times: np.ndarray) -> np.ndarray:
    """Force on the spring-mass [N]."""
    wave = 5 * np.sin(2 * np.pi * 1.5 * times) + 3 * np.sin(2 * np.pi * 3.7 * times)
    return wave[:, None]


def cart_force(times: np.ndarray) -> np.ndarray:
    """Command of the cart's motor."""
    wave = 3 * np.sin(2 * np.pi * 2 * times) + 2 * np.sin(2 * np.pi * 5 * times)
    return wave[:, None]


def arm_torques(times: np.ndarray) -> np.ndarray:
    """Torques of the arm's motors [N m]."""
    rows = [(5, 0.5, 0.0), (4, 0.7, 0.5), (3, 0.4, 1.0), (2, 0.9, 1.5), (1, 0.6, 2.0)]
    return np.column_stack([a * np.sin(2 * np.pi * f * times + p) for a, f, p in rows])


def record(spec, force, duration, noise=0.0, seed=0):
    """Initial state, times, controls, sensor times and sensors of a simulation of ``spec``."""
    model = spec.copy().compile()
    data = mujoco.MjData(model)
    times = np.arange(int(duration / model.opt.timestep)) * model.opt.timestep
    controls = force(times)
    start = sysid.create_initial_state(model, data.qpos, data.qvel, data.act)
    state, sensors = rollout.rollout(model, data, start, controls[:-1])
    clean = np.asarray(sensors)[0]
    noisy = clean + np.random.default_rng(seed).normal(scale=noise, size=clean.shape)
    return model, start, times, controls, np.asarray(state)[0, :, 0], noisy


def sequences(spec, force, duration, name="group", api=sysid, noise=0.0):
    """A group with one recorded sequence, made with the classes of ``api``."""
    model, start, times, controls, sensor_times, sensors = record(spec, force, duration, noise)
    return api.ModelSequences(
        name,
        spec,
        "run",
        start,
        api.TimeSeries(times, controls),
        api.TimeSeries.from_names(sensor_times, sensors, model),
    )


def spring_mass(api=sysid, **options):
    """Spec and recording of the spring-mass."""
    spec = mujoco.MjSpec.from_string(SPRING_MASS)
    return spec, sequences(spec, two_tones, 3.0, "spring_mass", api, **options)


def mass_params(api=sysid, start=2.0):
    """The ball's mass, by a modifier."""
    params = api.ParameterDict()

    def set_mass(spec, param):
        spec.body("ball").mass = param.value[0]

    params.add(api.Parameter("mass", 1.0, 0.3, 3.0, modifier=set_mass))
    params["mass"].value[:] = start
    return params


def arm(api=sysid, noise=0.0):
    """Spec and recording of the arm."""
    spec = mujoco.MjSpec.from_string(arm_xml())
    return spec, sequences(spec, arm_torques, 2.0, "arm", api, noise=noise)


def armature_params(api=sysid, start=0.01):
    """The armatures, by modifiers."""
    params = api.ParameterDict()
    for name, value in ARMATURE.items():
        params.add(
            api.Parameter(
                f"{name}_armature",
                value,
                0.001,
                1.0,
                modifier=lambda s, p, n=name: setattr(s.joint(n), "armature", p.value[0]),
            )
        )
        params[f"{name}_armature"].value[:] = start
    return params


def cart_specs():
    """The cart alone, and with one kilogram on it."""
    base, loaded = (mujoco.MjSpec.from_string(CART) for _ in range(2))
    payload = loaded.body("cart").add_body()
    payload.name, payload.mass, payload.inertia = "payload", 1.0, [0.001] * 3
    return base, loaded


def cart_params(api=sysid, mass=3.5, gear=5.25):
    """Mass and gear, by modifiers."""

    def set_mass(spec, param):
        spec.body("cart").mass = param.value[0]

    def set_gear(spec, param):
        spec.actuator("motor").gear[0] = param.value[0]

    params = api.ParameterDict()
    params.add(api.Parameter("mass", 2.0, 0.5, 5.0, modifier=set_mass))
    params.add(api.Parameter("gear", 3.0, 0.5, 8.0, modifier=set_gear))
    params["mass"].value[:] = mass
    params["gear"].value[:] = gear
    return params
