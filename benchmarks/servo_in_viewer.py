"""Identified servos in MuJoCo's viewer, passive and managed: positions with and without a window.

An arm of two servos, M6 and M1, follows a moving goal. Run it with a display, or a virtual one::

    python benchmarks/servo_in_viewer.py
    xvfb-run -a python benchmarks/servo_in_viewer.py --png window.png

Passive (``mujoco.viewer.launch_passive``): the script steps and the window shows; positions must
equal those of the same loop without a window, bit for bit. Managed (``mujoco.viewer.launch``): the
viewer steps in its own thread, with constant goals; at the time it shows, the same number of steps
without a window must give the same positions. The position without the law is printed too, and must
differ. ``--png`` saves the screen (with ImageMagick's ``import``). Exit code 1 if a position is
wrong.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import mujoco
import mujoco.viewer
import numpy as np

from trueup.actuators import ServoModel, servo_law

STEPS = 1500
GOALS = {"shoulder": 0.8, "elbow": -0.6}

ARM = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <light pos="0 -1 1" dir="0 1 -1"/>
    <geom type="plane" size="1 1 0.1" pos="0 0 -0.3" rgba="0.6 0.7 0.8 1"/>
    <body>
      <joint name="shoulder" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.1" size="0.01" mass="0.05"/>
      <body pos="0 0 -0.1">
        <joint name="elbow" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.1" size="0.01" mass="0.05"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def main() -> int:
    """Both kinds of viewer; the managed one in a process of its own, which its window owns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--png", type=Path)
    parser.add_argument("--managed", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.managed:
        managed()
    good = passive(options.png)
    command = [sys.executable, __file__, "--managed"]
    good &= subprocess.run(command, timeout=120, check=False).returncode == 0
    return 0 if good else 1


def arm():
    """The servos, and their compiled model."""
    m6 = ServoModel.create("xl330", "m6", kt=0.4, R=3.2, armature=0.002)
    m1 = ServoModel.create("xl330", "m1", kt=0.4, R=3.2, armature=0.002)
    m1 = m1.with_values(friction_base=0.015, friction_viscous=0.006)
    m6 = m6.with_values(
        friction_base=0.01, friction_viscous=0.006, friction_stribeck=0.01, load_friction_motor=0.1,
        load_friction_external=0.1, load_friction_motor_stribeck=0.05,
        load_friction_external_stribeck=0.05, load_friction_motor_quad=0.005,
        load_friction_external_quad=0.005,
    )  # fmt: skip
    spec = mujoco.MjSpec.from_string(ARM)
    servos = servo_law(spec, {"shoulder": m6, "elbow": m1}, kp=400.0)
    return servos, servos.compile()


def stepped(steps: int, moving: bool, handle=None, with_law: bool = True) -> np.ndarray:
    """Positions ``(steps, joints)`` of a loop over ``mj_step``; a window may look on."""
    servos, model = arm() if handle is None else handle[:2]
    data = mujoco.MjData(model) if handle is None else handle[2]
    found = np.empty((steps, model.nq))

    def loop() -> None:
        for step in range(steps):
            share = np.sin(2.0 * data.time) if moving else 1.0
            data.ctrl[:] = servos.controls(goal={j: share * g for j, g in GOALS.items()})
            if handle is None:
                mujoco.mj_step(model, data)
            else:
                began = time.perf_counter()
                with handle[3].lock():
                    mujoco.mj_step(model, data)
                if step % 8 == 0:
                    handle[3].sync()
                time.sleep(max(0.0, model.opt.timestep - (time.perf_counter() - began)))
            found[step] = data.qpos

    if not with_law:
        loop()
        return found
    with servos.installed(data):
        loop()
    return found


def passive(png: Path | None) -> bool:
    """The window looks on at our own loop."""
    alone = stepped(STEPS, True)
    limp = stepped(STEPS, True, with_law=False)
    servos, model = arm()
    data = mujoco.MjData(model)
    with mujoco.viewer.launch_passive(model, data) as handle:
        watched = stepped(STEPS, True, (servos, model, data, handle))
        alive = handle.is_running()
        if png is not None:
            subprocess.run(["import", "-window", "root", str(png)], check=True, timeout=30)
    same = bool(np.array_equal(alone, watched))
    print(
        f"passive: {STEPS} steps, window {'open' if alive else 'CLOSED'}; ends at "
        f"{np.array2string(watched[-1], precision=6)}, without a window "
        f"{'the same, bit for bit' if same else 'ELSEWHERE'}; greatest distance to the motion "
        f"without the law {np.abs(watched - limp).max():.3f} rad"
    )
    return same and alive


def managed() -> None:
    """The viewer steps by itself; ends the process."""
    servos, model = arm()
    data = mujoco.MjData(model)
    data.ctrl[:] = servos.controls(goal=GOALS)
    goals = data.ctrl.copy()

    def watch() -> None:
        seen: list[tuple[int, np.ndarray]] = []
        began = time.perf_counter()
        while time.perf_counter() - began < 8.0:
            # time, positions, time again: only what no step came between counts
            before, qpos, after = data.time, data.qpos.copy(), data.time
            if before == after > 0:
                seen.append((round(before / model.opt.timestep), qpos))
            time.sleep(0.05)
        kept = np.array_equal(data.ctrl, goals)
        alone = stepped_quietly(max(step for step, _ in seen), goals)
        wrong = sum(not np.array_equal(alone[step - 1], qpos) for step, qpos in seen)
        last = seen[-1]
        print(
            f"managed: the viewer made {last[0]} steps in 8 s; of {len(seen)} looks {wrong} differ "
            f"from the same steps without a window; at {np.array2string(last[1], precision=6)}"
        )
        sys.stdout.flush()
        os._exit(0 if kept and not wrong and last[0] > 100 else 1)

    with servos.installed(data):
        threading.Thread(target=watch, daemon=True).start()
        mujoco.viewer.launch(model, data)


def stepped_quietly(steps: int, goals: np.ndarray) -> np.ndarray:
    """The same steps while the law is installed already."""
    _, model = arm()
    data = mujoco.MjData(model)
    data.ctrl[:] = goals
    found = np.empty((steps, model.nq))
    for step in range(steps):
        mujoco.mj_step(model, data)
        found[step] = data.qpos
    return found


if __name__ == "__main__":
    raise SystemExit(main())
