"""Situations whose trouble is the file of the model."""

from pathlib import Path

from arm_logs import ARM
from judging import Case, Outcome, refused
from machines import Link, Machine, record, write_model, write_table

XACRO = """<?xml version="1.0"?>
<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="ur">
  <xacro:property name="upper_length" value="0.425"/>
  <xacro:include filename="$(find ur_description)/urdf/inc/ur_common.xacro"/>
  <xacro:macro name="arm" params="prefix">
    <link name="${prefix}upper_arm_link"/>
    <joint name="${prefix}shoulder_lift_joint" type="revolute">
      <origin xyz="0 0 ${upper_length}"/>
    </joint>
  </xacro:macro>
  <xacro:arm prefix="ur_"/>
</robot>
"""


def xacro(folder: Path) -> Case:
    """A xacro in place of a URDF."""
    log = record(Machine((ARM,)), 51, seconds=2)
    columns = {
        "time": log.time,
        "shoulder_lift_joint_pos": log.q[:, 0],
        "elbow_joint_pos": log.q[:, 1],
    }

    def judge(o: Outcome) -> list[str]:
        return refused(o, ("run xacro", ".xacro >", ".xacro -o"))

    return Case(
        write_model(folder, XACRO, "ur.urdf.xacro"),
        [write_table(folder / "run.csv", columns)],
        judge,
    )


def zero_inertia(folder: Path) -> Case:
    """A URDF of a CAD export in which a moving link has no mass."""
    links = (Link(**{**vars(ARM[0]), "joint": "shoulder"}), ARM[1])
    machine = Machine((links,))
    log = record(machine, 52)
    mesh = '<visual><geometry><mesh filename="package://arm_description/meshes/{}.stl"/></geometry></visual>'
    text = machine.urdf()
    inertia = links[1].inertia
    text = text.replace(
        f'<mass value="{links[1].mass}"/><inertia ixx="{inertia}" iyy="{inertia}" '
        f'izz="{inertia / 5}"',
        '<mass value="0"/><inertia ixx="0" iyy="0" izz="0"',
    )
    text = text.replace("elbow_link", "forearm").replace(
        "</inertial>", "</inertial>" + mesh.format("part")
    )
    columns = {"time": log.time}
    columns |= {f"{n}_pos": log.q[:, k] for k, n in enumerate(log.names)}
    columns |= {f"{n}_torque": log.u[:, k] for k, n in enumerate(log.names)}

    def judge(o: Outcome) -> list[str]:
        raw = "mjminval" in o.words(str(o.imported[1]))
        faults = refused(o, ("forearm",), ("mass", "inertia"))
        return [*faults, *(["the message is a raw error"] if raw else [])]

    return Case(
        write_model(folder, text, "arm.urdf"), [write_table(folder / "run.csv", columns)], judge
    )
