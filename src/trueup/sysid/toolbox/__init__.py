"""Functions of MuJoCo's toolbox `mujoco.sysid` on trueup's engine."""
