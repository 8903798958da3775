"""Markers, motors, springs and meshes of OpenSim models in MuJoCo."""

import base64
import struct

import mujoco
import numpy as np
import osim_files as osim
import pytest

from trueup.cli import main
from trueup.errors import GaitError
from trueup.gait import import_opensim
from trueup.gait.opensim.file import read_osim
from trueup.gait.opensim.parts.mesh_files import find_meshes

MUSCLE = osim.muscle(
    "straight",
    (osim.point("a", "femur", "0.03 -0.1 0.02"), osim.point("b", "tibia", "0.03 -0.05 0.01")),
)


def force(kind, name, **numbers):
    """A force with its properties as texts."""
    texts = "".join(f"<{key}>{value}</{key}>" for key, value in numbers.items())
    return f'<{kind} name="{name}">{texts}</{kind}>'


FORCES = [
    force("CoordinateActuator", "hip_motor", coordinate="hip", optimal_force=30, min_control=-1,
          max_control=2),
    force("CoordinateActuator", "knee_motor", socket_coordinate="/jointset/knee/knee",
          optimal_force=10, min_control="-Inf", max_control="Inf"),
    force("ActivationCoordinateActuator", "slow", coordinate="knee", optimal_force=10,
          min_control=0, max_control="Inf", activation_time_constant=0.02),
    force("SpringGeneralizedForce", "stay", coordinate="hip", stiffness=7, rest_length=0.2,
          viscosity=0.5),
    force("CoordinateLimitForce", "stop", coordinate="knee", upper_stiffness=2, upper_limit=0,
          lower_stiffness=1, lower_limit=-90, damping=0.1, transition=1e-4),
    force("PointToPointSpring", "cord", socket_body1="/ground", socket_body2="/bodyset/tibia",
          point1="0.1 1 0", point2="0 -0.1 0", stiffness=100, rest_length=0.5),
    force("HuntCrossleyForce", "floor"),
    force("BushingForce", "disc"),
    force("CoordinateActuator", "off", coordinate="hip", appliesForce="false"),
]  # fmt: skip
MARKERS = (
    '<MarkerSet><objects><Marker name="RKNE"><socket_parent_frame>/bodyset/tibia'
    '</socket_parent_frame><location>0.05 0 0.02</location></Marker><Marker name="RHIP">'
    "<body>ground</body><location>0 1 0.1</location></Marker></objects></MarkerSet>"
    "<ContactGeometrySet><objects><ContactSphere/></objects></ContactGeometrySet>"
)

POINTS = "0 0 0  1 0 0  1 1 0  0 1 0  0 0 1"
CORNERS, ENDS = "0 3 2 1 0 1 4 1 2 4 2 3 4 3 0 4", "4 7 10 13 16"
ARRAY = '<DataArray type="{}" Name="{}" NumberOfComponents="{}" format="{}">{}</DataArray>'


def vtp(points=POINTS, form="ascii"):
    """A pyramid as polygons of VTK."""
    arrays = [("Float32", "Points", 3, points), ("Int32", "connectivity", 1, CORNERS),
              ("Int32", "offsets", 1, ENDS)]  # fmt: skip
    if form == "binary":
        packed = []
        for kind, name, width, text in arrays:
            values = np.array(text.split(), "<f4" if kind == "Float32" else "<i4").tobytes()
            content = base64.b64encode(struct.pack("<I", len(values)) + values).decode()
            packed.append((kind, name, width, content))
        arrays = packed
    places, corners, ends = (ARRAY.format(k, n, w, form, text) for k, n, w, text in arrays)
    return (
        '<?xml version="1.0"?><VTKFile type="PolyData"><PolyData><Piece NumberOfPoints="5">'
        f"<Points>{places}</Points><Polys>{corners}{ends}</Polys></Piece></PolyData></VTKFile>"
    )


OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


def shown(*files):
    """Visual meshes of a body."""
    meshes = "".join(
        f"<Mesh name='m{k}'><scale_factors>0.1 0.1 0.2</scale_factors><Appearance><color>1 0 0"
        f"</color></Appearance><mesh_file>{file}</mesh_file></Mesh>"
        for k, file in enumerate(files)
    )
    return f"<attached_geometry>{meshes}</attached_geometry>"


HOSTILE = {
    "numbers.vtp": vtp("0 0 0  1 0"),
    "corners.vtp": vtp("0 0 0  1 0 0  1 1 0"),
    "words.vtp": vtp("zero"),
    "type.vtp": "<!DOCTYPE a><VTKFile/>",
    "packed.vtp": vtp(form="binary").replace("<VTKFile", '<VTKFile compressor="vtkZLib"'),
    "flat.obj": "v 0 0 0\n",
    "random.stl": "solid nothing",
    f"{'x' * 300}.vtp": "",
}
"""Files of meshes that cannot be read, by name."""


def test_meshes_that_cannot_be_read_are_not_shown(tmp_path):
    for name, text in HOSTILE.items():
        if len(name) < 200:
            (tmp_path / name).write_text(text)
    (tmp_path / "folder.vtp").mkdir()
    names = [*HOSTILE, "folder.vtp", "../../etc/passwd", ""]
    assert find_meshes(names, tmp_path) == {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with further parts, imported and written by the command."""
    place = tmp_path_factory.mktemp("parts")
    (place / "Geometry").mkdir()
    (place / "Geometry" / "femur.vtp").write_text(vtp())
    (place / "Geometry" / "packed.vtp").write_text(vtp(form="binary"))
    (place / "patella.obj").write_text(OBJ)
    (place / "broken.vtp").write_text("<VTKFile><PolyData/></VTKFile>")
    text = osim.leg([MUSCLE, *FORCES], more=MARKERS)
    files = "femur.vtp", "packed.vtp", "C:\\geometry\\patella.obj", "absent.vtp", "broken.vtp"
    end = "<inertia>0.02 0.01 0.02 0 0 0</inertia>"
    path = osim.written(place, text.replace(end, end + shown(*files), 1))
    assert main(["gait", "import", str(path), "--output", str(place / "out")]) == 0
    return place


@pytest.fixture(scope="module")
def model(folder):
    """The written model."""
    return mujoco.MjModel.from_xml_path(str(folder / "out" / "model.xml"))


def posed(model, hip=0.0, knee=0.0, **controls):
    """Data of a pose, with a speed of the hip of 1 rad/s."""
    data = mujoco.MjData(model)
    data.joint("hip").qpos[0], data.joint("knee").qpos[0] = hip, knee
    data.joint("hip").qvel[0] = 1.0
    for name, value in controls.items():
        data.actuator(name).ctrl[0] = value
    mujoco.mj_forward(model, data)
    return data


def test_coordinate_actuators_are_motors(model):
    data = posed(model, hip_motor=1.5, knee_motor=-7.0)
    assert data.joint("hip").qfrc_actuator[0] == pytest.approx(45.0)
    assert data.joint("knee").qfrc_actuator[0] == pytest.approx(-70.0)
    assert model.actuator("hip_motor").ctrlrange == pytest.approx([-1.0, 2.0])
    assert not model.actuator_ctrllimited[model.actuator("knee_motor").id]
    data = posed(model, slow=1.0)
    assert data.joint("knee").qfrc_actuator[0] == 0.0
    assert model.actuator("slow").ctrlrange == pytest.approx([0.0, 1e6])
    assert data.act_dot[model.actuator("slow").actadr[0]] == pytest.approx(1.0 / 0.02)
    names = [model.actuator(k).name for k in range(model.nu)]
    assert names == ["straight", "hip_motor", "knee_motor", "slow"]


def test_springs_of_coordinates_and_points_pull_as_in_the_file(folder):
    model = mujoco.MjModel.from_xml_path(str(folder / "out" / "model.xml"))
    model.opt.gravity[:] = 0.0
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    data = posed(model, hip=0.1, knee=-0.5)
    assert data.site("cord-P1").xpos == pytest.approx([0.1, 0.0, 1.0])
    stretched = np.linalg.norm(data.site("cord-P1").xpos - data.site("cord-P2").xpos) - 0.5
    energy = 0.5 * 100.0 * stretched**2 + 0.5 * 7.0 * (0.1 - 0.2) ** 2
    assert data.energy[0] == pytest.approx(energy)
    model.tendon_stiffness[model.tendon("cord").id] = 0.0
    assert posed(model, hip=0.1).joint("hip").qfrc_passive[0] == pytest.approx(0.7 - 0.5)
    for degrees, torque in ((-100.0, 10.0), (-80.0, 0.0), (5.0, -10.0)):  # 1 and 2 N m/deg
        found = posed(model, knee=np.deg2rad(degrees)).joint("knee").qfrc_passive[0]
        assert found == pytest.approx(torque, abs=1e-5), degrees


def test_a_limit_gets_stiff_over_its_transition(tmp_path):
    stop = force("CoordinateLimitForce", "stop", coordinate="knee", upper_stiffness=2,
                 upper_limit=-60, lower_stiffness=1, lower_limit=-90, transition=40)  # fmt: skip
    path = osim.written(tmp_path, osim.leg([MUSCLE, stop]))
    above, below = read_osim(path).parts.springs
    # OpenSim 4.6: torque at 5, 15, 30 and 50 degrees above, and at 5 and 30 below
    degrees = np.deg2rad([5.0, 15.0, 30.0, 50.0])
    assert above.force(degrees) == pytest.approx([0.1605224609, 8.2562255859, 53.7890625, 100.0])
    assert below.force(degrees[[0, 2]]) == pytest.approx([0.0802612305, 26.8945312500])
    import_opensim(path).save(tmp_path / "out")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "model.xml"))
    for beyond in degrees:
        found = -posed(model, knee=np.deg2rad(-60.0) + beyond).joint("knee").qfrc_passive[0]
        # the polynomial of a tendon follows it within 5 % of the largest torque, 131 N m
        assert found == pytest.approx(above.force(beyond), abs=6.0) and found >= 0.0
    found = posed(model, knee=np.deg2rad(-75.0)).joint("knee").qfrc_passive[0]
    assert found == pytest.approx(0.0, abs=1e-9)


def test_markers_are_sites(model):
    data = posed(model, knee=0.0)
    assert data.site("RHIP").xpos == pytest.approx([0.0, -0.1, 1.0])
    knee = data.body("tibia")
    offset = data.site("RKNE").xpos - knee.xpos
    assert knee.xmat.reshape(3, 3).T @ offset == pytest.approx([0.05, 0.0, 0.02])


def test_meshes_are_found_converted_and_shown(folder, model):
    found = sorted(path.name for path in (folder / "out" / "meshes").iterdir())
    assert found == ["femur.obj", "packed.obj", "patella.obj"]
    assert (folder / "out" / "meshes" / "femur.obj").read_text().count("f ") == 6
    assert model.nmesh == 3
    data = posed(model)
    for name in ("femur_0", "packed_1"):
        geom = next(g for g in range(model.ngeom) if model.geom_dataid[g] == model.mesh(name).id)
        mesh = model.mesh(name).id
        start, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        own = model.mesh_vert[start : start + count]
        placed = own @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        thigh = data.body("femur")
        inside = (placed - thigh.xpos) @ thigh.xmat.reshape(3, 3)
        assert inside.min(axis=0) == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)
        assert inside.max(axis=0) == pytest.approx([0.1, 0.1, 0.2], abs=1e-6)
        assert model.geom_contype[geom] == model.geom_conaffinity[geom] == 0
    assert model.body("femur").mass[0] == 8.0


def test_meshes_of_version_3_have_their_scale_and_place(tmp_path):
    shape = (
        "<VisibleObject><GeometrySet><objects><DisplayGeometry><geometry_file>a.vtp</geometry_file>"
        "<color>0 1 0</color><transform>0 0 1.5 0.1 0.2 0.3</transform><scale_factors>1 2 3"
        "</scale_factors><opacity>0.5</opacity></DisplayGeometry></objects></GeometrySet>"
        "<scale_factors>2 2 2</scale_factors><transform>0 0 0 1 0 0</transform></VisibleObject>"
    )
    end = "<inertia>0.02 0.01 0.02 0 0 0</inertia>"
    text = osim.leg([MUSCLE]).replace(end, end + shape, 1)
    (mesh,) = read_osim(osim.written(tmp_path, text)).parts.meshes
    assert (mesh.file, mesh.body, mesh.colour) == ("a.vtp", "femur", (0.0, 1.0, 0.0, 0.5))
    assert mesh.scale == pytest.approx([2.0, 4.0, 6.0])
    assert mesh.pose[:3, 3] == pytest.approx([1.1, 0.2, 0.3])
    assert mesh.pose[:3, 0] == pytest.approx([np.cos(1.5), np.sin(1.5), 0.0])


def test_each_part_is_listed_with_its_conversion(folder):
    found = import_opensim(folder / "made.osim")
    said = {one.part: (one.kind, one.words) for one in found.remarks}
    assert said["hip_motor"] == (
        "added", "a motor of hip, 30 N m at a control of 1, controls -1 to 2",
    )  # fmt: skip
    assert said["stop"][0] == "approximated" and "without damping" in said["stop"][1]
    assert said["floor"][0] == said["disc"][0] == said["ContactGeometrySet"][0] == "left out"
    assert "bushing" in said["disc"][1] and "contact" in said["floor"][1]
    assert said["geometry"][1].endswith("'absent.vtp', 'broken.vtp'")
    assert said["MarkerSet"][1].startswith("2 markers")
    assert "off" not in said and not any(one.kind == "refused" for one in found.remarks)


def test_a_property_that_a_force_lacks_is_that_of_the_default(tmp_path):
    default = force("Thelen2003Muscle", "default", activation_time_constant=0.02, Flen=1.7,
                    max_isometric_force=5)  # fmt: skip
    text = osim.leg([MUSCLE], more=f"<defaults>{default}</defaults>")
    (muscle,) = read_osim(osim.written(tmp_path, text)).muscles
    assert muscle.times == (0.02, 0.05) and muscle.curves.Flen == 1.7 and muscle.force == 1000.0


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (force("CoordinateActuator", "m", coordinate="hop"), "'m' acts on the unknown .*'hop'"),
        (force("CoordinateActuator", "m", coordinate="hip", min_control=2, max_control=1),
         "controls of 'm' must be increasing"),
        (force("PointActuator", "m"), "m: a force of the kind PointActuator"),
        (force("TorqueActuator", "m"), "m: a force of the kind TorqueActuator"),
        (force("CoordinateActuator", "m", coordinate="hip") * 2, "the same name 'm'"),
        (MUSCLE + force("CoordinateActuator", "straight", coordinate="hip"),
         "two forces have the same name 'straight'"),
        (force("PointToPointSpring", "m", body1="shin"), "unknown frame or body 'shin'"),
    ],
)  # fmt: skip
def test_parts_that_cannot_be_read_are_refused(part, words, tmp_path):
    with pytest.raises(GaitError, match=words):
        import_opensim(osim.written(tmp_path, osim.leg([part])))
