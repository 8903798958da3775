"""Small models of OpenSim, written for the tests."""

from pathlib import Path

import numpy as np

from trueup.gait.models.planar22 import planar22_numbers

HEAD = '<?xml version="1.0" encoding="UTF-8" ?>\n<OpenSimDocument Version="{version}">\n'


def path(body):
    """Path of a body or of the ground."""
    return "/ground" if body == "ground" else f"/bodyset/{body}"


def body(name, mass=1.0, surfaces="", more=""):
    """A body of version 4."""
    return f"""<Body name="{name}"><mass>{mass}</mass><mass_center>0 -0.2 0</mass_center>
    <inertia>0.02 0.01 0.02 0 0 0</inertia>{more}
    <WrapObjectSet><objects>{surfaces}</objects></WrapObjectSet></Body>"""


def coordinate(name, low, high, default=0.0, **flags):
    """A coordinate; flags such as locked="true"."""
    more = "".join(f"<{key}>{value}</{key}>" for key, value in flags.items())
    return f"""<Coordinate name="{name}"><default_value>{default}</default_value>
    <range>{low} {high}</range><clamped>true</clamped>{more}</Coordinate>"""


def joint(kind, name, parent, child, coordinates="", place="0 0 0", turn="0 0 0", motions=""):
    """A joint of version 4, with an offset in the parent."""
    transform = f"<SpatialTransform>{motions}</SpatialTransform>" if motions else ""
    return f"""<{kind} name="{name}">
    <socket_parent_frame>{parent}_offset</socket_parent_frame>
    <socket_child_frame>{child}_offset</socket_child_frame>
    <coordinates>{coordinates}</coordinates>
    <frames>
      <PhysicalOffsetFrame name="{parent}_offset"><socket_parent>{path(parent)}</socket_parent>
        <translation>{place}</translation><orientation>{turn}</orientation></PhysicalOffsetFrame>
      <PhysicalOffsetFrame name="{child}_offset"><socket_parent>{path(child)}</socket_parent>
        <translation>0 0 0</translation><orientation>0 0 0</orientation></PhysicalOffsetFrame>
    </frames>{transform}</{kind}>"""


def motion(name, axis, coordinates="", function="<Constant><value>0</value></Constant>"):
    """A motion of a custom joint."""
    return f"""<TransformAxis name="{name}"><coordinates>{coordinates}</coordinates>
    <axis>{axis}</axis>{function}</TransformAxis>"""


def spline(x, y, kind="SimmSpline", name="function"):
    """A function through points."""
    x, y = (" ".join(map(repr, map(float, values))) for values in (x, y))
    return f'<{kind} name="{name}"><x>{x}</x><y>{y}</y></{kind}>'


LINE = '<LinearFunction name="function"><coefficients>1 0</coefficients></LinearFunction>'


def point(name, body, place):
    """A point of a path."""
    return f"""<PathPoint name="{name}"><socket_parent_frame>{path(body)}</socket_parent_frame>
    <location>{place}</location></PathPoint>"""


def conditional(name, body, place, coordinate, low, high):
    """A point that comes and goes."""
    return f"""<ConditionalPathPoint name="{name}">
    <socket_parent_frame>{path(body)}</socket_parent_frame><location>{place}</location>
    <socket_coordinate>/jointset/{coordinate}/{coordinate}</socket_coordinate>
    <range>{low} {high}</range></ConditionalPathPoint>"""


def moving(name, body, x, y, z, coordinate):
    """A point whose components are functions of a coordinate."""
    parts = "".join(
        f"<socket_{a}_coordinate>/jointset/knee/{coordinate}</socket_{a}_coordinate><{a}_location>{f}</{a}_location>"
        for a, f in zip("xyz", (x, y, z), strict=True)
    )
    return f"""<MovingPathPoint name="{name}">
    <socket_parent_frame>{path(body)}</socket_parent_frame>{parts}</MovingPathPoint>"""


def constant(value, name="function"):
    """A function that is constant."""
    return f'<Constant name="{name}"><value>{value}</value></Constant>'


def muscle(name, points, wraps=(), kind="Thelen2003Muscle", more="", **numbers):
    """A muscle; numbers by OpenSim's names."""
    given = {
        "max_isometric_force": 1000.0,
        "optimal_fiber_length": 0.1,
        "tendon_slack_length": 0.3,
        "pennation_angle_at_optimal": 0.2,
    } | numbers
    texts = "".join(f"<{key}>{value}</{key}>" for key, value in given.items())
    wrapped = "".join(
        f'<PathWrap name="w{k}"><wrap_object>{one}</wrap_object><range>-1 -1</range></PathWrap>'
        for k, one in enumerate(wraps)
    )
    return f"""<{kind} name="{name}"><GeometryPath>
    <PathPointSet><objects>{"".join(points)}</objects></PathPointSet>
    <PathWrapSet><objects>{wrapped}</objects></PathWrapSet></GeometryPath>{texts}{more}</{kind}>"""


def surface(kind, name, sizes, place="0 0 0", turn="0 0 0", quadrant="all"):
    """A surface that muscles wrap over; sizes as texts by name."""
    texts = "".join(f"<{key}>{value}</{key}>" for key, value in sizes.items())
    return f"""<{kind} name="{name}"><xyz_body_rotation>{turn}</xyz_body_rotation>
    <translation>{place}</translation><quadrant>{quadrant}</quadrant>{texts}</{kind}>"""


def model(bodies, joints, forces="", constraints="", more=""):
    """A file of version 4."""
    return f"""{HEAD.format(version=40000)}<Model name="made">
    <gravity>0 -9.80665 0</gravity>{more}
    <BodySet><objects>{"".join(bodies)}</objects></BodySet>
    <JointSet><objects>{"".join(joints)}</objects></JointSet>
    <ConstraintSet><objects>{constraints}</objects></ConstraintSet>
    <ForceSet><objects>{"".join(forces)}</objects></ForceSet></Model></OpenSimDocument>"""


KNEE_X = ([-2.1, -1.4, -0.7, -0.3, 0.0, 0.2], [-0.0032, 0.0018, 0.0041, 0.0021, 0.0, -0.002])
KNEE_Y = ([-2.1, -1.2, -0.5, 0.0, 0.2], [-0.4226, -0.4082, -0.3990, -0.3960, -0.3959])


def leg(forces, surfaces="", tibia_surfaces="", constraints="", more=""):
    """A thigh on the ground by a pin, and a shank that slides as it turns."""
    motions = "".join(
        [
            motion("rotation1", "0 0 1", "knee", LINE),
            motion("rotation2", "0 1 0"),
            motion("rotation3", "1 0 0"),
            motion("translation1", "1 0 0", "knee", spline(*KNEE_X)),
            motion("translation2", "0 1 0", "knee", spline(*KNEE_Y)),
            motion("translation3", "0 0 1"),
        ]
    )
    return model(
        [body("femur", 8.0, surfaces), body("tibia", 3.0, tibia_surfaces)],
        [
            joint("PinJoint", "hip", "ground", "femur", coordinate("hip", -0.5, 1.5), "0 1 0"),
            joint(
                "CustomJoint", "knee", "femur", "tibia", coordinate("knee", -2.0, 0.1),
                motions=motions,
            ),
        ],
        forces,
        constraints,
        more,
    )  # fmt: skip


def written(folder: Path, text: str) -> Path:
    """The file of a text."""
    file = folder / "made.osim"
    file.write_text(text, encoding="utf-8")
    return file


def walker():
    """The walker planar22 as a file of OpenSim, with knees that bend to positive angles."""
    numbers = planar22_numbers()
    pelvis = "".join(coordinate(name, -2, 2) for name in ("pelvis_tilt", "pelvis_tx", "pelvis_ty"))
    joints = [joint("PlanarJoint", "ground_pelvis", "ground", "pelvis", pelvis)]
    bodies, forces = [], []

    def at(name, place, side):
        moved = np.array(place) + numbers["bodies"][name].get("shift", (0.0, 0.0, 0.0))
        return moved * (1.0, 1.0, 1.0 if side == "r" else -1.0)

    def text(values):
        return " ".join(f"{value!r}" for value in map(float, values))

    for side in "rl":
        for name, part in numbers["bodies"].items():
            middle = name in ("pelvis", "torso")
            if middle and side == "l":
                continue
            full = name if middle else f"{name}_{side}"
            bodies.append(
                f"""<Body name="{full}"><mass>{part["mass"]}</mass>
                <mass_center>{text(at(name, part["center"], side))}</mass_center>
                <inertia>{text(part["inertia"])} 0 0 0</inertia></Body>"""
            )
            if name == "pelvis":
                continue
            above = part["parent"]
            parent = above if above in ("pelvis", "torso") else f"{above}_{side}"
            place = text(at(above, part["place"], side))
            (moves,) = part.get("joints", (None,))
            if moves is None or moves == "mtp_angle":
                joints.append(joint("WeldJoint", full, parent, full, place=place))
                continue
            low, high = np.deg2rad(numbers["joints"][moves]["range"])
            if moves == "knee_angle":
                bend = motion("rotation1", "0 0 -1", f"{moves}_{side}", LINE)
                bend += motion("rotation2", "0 1 0") + motion("rotation3", "1 0 0")
                own = coordinate(f"{moves}_{side}", -high, -low)
                joints.append(joint("CustomJoint", full, parent, full, own, place, motions=bend))
            else:
                own = coordinate(f"{moves}_{side}", low, high)
                joints.append(joint("PinJoint", full, parent, full, own, place))
        for name, one in numbers["muscles"].items():
            points = [
                point(
                    f"p{k}",
                    body if body == "pelvis" else f"{body}_{side}",
                    text(at(body, place, side)),
                )
                for k, (body, *place) in enumerate(one["path"])
            ]
            forces.append(
                muscle(
                    f"{name}_{side}",
                    points,
                    max_isometric_force=one["force"],
                    optimal_fiber_length=one["fiber"],
                    tendon_slack_length=one["tendon"],
                    pennation_angle_at_optimal=float(np.deg2rad(one["pennation"])),
                )
            )
    return model(bodies, joints, forces)
