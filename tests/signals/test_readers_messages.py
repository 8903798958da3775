"""Formats of robots: MCAP, rosbag2 and LeRobot data sets."""

import json

import numpy as np
import pytest

from trueup.errors import ColumnError, RecordingError
from trueup.signals import read, read_all

_LINE = "=" * 80
JOINT_STATE = f"""std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
{_LINE}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{_LINE}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""


def joint_state(number: int, names: list[str], positions: list[float]) -> dict:
    return {
        "header": {"stamp": {"sec": 100, "nanosec": number * 10_000_000}, "frame_id": ""},
        "name": names,
        "position": positions,
        "velocity": [],
        "effort": [2.0 * value for value in positions],
    }


class TestMcap:
    @pytest.fixture
    def path(self, tmp_path):
        """Joints whose order changes, a command five times slower, and JSON messages."""
        writer_module = pytest.importorskip("mcap_ros2.writer")
        path = tmp_path / "run.mcap"
        with path.open("wb") as file:
            writer = writer_module.Writer(file)
            joints = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
            number = writer.register_msgdef("std_msgs/msg/Float64", "float64 data")
            for k in range(50):
                names, positions = ["hip", "knee"], [float(k), 10.0 * k]
                if k % 2:
                    names, positions = names[::-1], positions[::-1]
                at = 200_000_000_000 + k * 10_000_000
                message = joint_state(k, names, positions)
                writer.write_message("/joint_states", joints, message, log_time=at)
                if k % 5 == 0:
                    writer.write_message("/torque", number, {"data": float(k)}, log_time=at)
            writer.finish()
        return path

    def test_joints_by_name_with_their_stamps(self, path):
        recording = read(path)
        times, knee = recording.column("/joint_states/knee/position")
        np.testing.assert_allclose(times, 100 + np.arange(50) / 100)
        np.testing.assert_array_equal(knee, 10.0 * np.arange(50))
        assert recording.column("joint_states/hip/effort")[1].tolist() == list(range(0, 100, 2))
        assert "joint_states/hip/velocity" not in recording.columns

    def test_message_without_stamp_has_its_log_time(self, path):
        recording = read(path)
        times, values = recording.column("torque/data")
        np.testing.assert_allclose(times, 200 + np.arange(10) / 20)
        assert values.tolist() == list(range(0, 50, 5))
        assert recording.metadata["clock"] == {"joint_states": "header", "torque": "log"}

    def test_log_clock_makes_the_streams_merge(self, path):
        merged = read(path, clock="log").merged()
        np.testing.assert_allclose(
            merged.column("torque/data")[1], merged.column("joint_states/hip/position")[1]
        )
        with pytest.raises(RecordingError, match="clocks have the same origin"):
            read(path).merged()

    def test_topics(self, path):
        assert read(path, topics=["/torque"]).columns == ("torque/data",)
        with pytest.raises(RecordingError, match=r"no messages of topic 'torqe'.*'torque'"):
            read(path, topics=["torqe"])
        with pytest.raises(RecordingError, match="'header' or 'log'"):
            read(path, clock="publish")

    def test_json_messages_and_other_encodings(self, tmp_path):
        writer_module = pytest.importorskip("mcap.writer")
        path = tmp_path / "json.mcap"
        with path.open("wb") as file:
            writer = writer_module.Writer(file)
            writer.start()
            schema = writer.register_schema("arm", "jsonschema", b"{}")
            arm = writer.register_channel("arm", "json", schema)
            camera = writer.register_channel("camera", "protobuf", schema)
            for k in range(4):
                message = {"q": [k, 2 * k], "imu": {"gyro": 3.0 * k}, "mode": "run", "ok": True}
                at = k * 1_000_000
                writer.add_message(arm, at, json.dumps(message).encode(), at)
                writer.add_message(camera, at, b"\x00", at)
            writer.finish()
        recording = read(path)
        assert recording.columns == ("arm/q/0", "arm/q/1", "arm/imu/gyro", "arm/ok")
        assert recording.column("arm/imu/gyro")[1].tolist() == [0.0, 3.0, 6.0, 9.0]
        np.testing.assert_allclose(recording.streams[0].times, np.arange(4) / 1000)
        with pytest.raises(ColumnError, match="encoding protobuf"):
            recording.column("camera")

    def test_fields_that_come_and_go_have_their_own_clock(self, tmp_path):
        writer_module = pytest.importorskip("mcap_ros2.writer")
        path = tmp_path / "two.mcap"
        with path.open("wb") as file:
            writer = writer_module.Writer(file)
            joints = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
            for k in range(6):
                names = ["arm"] if k % 3 else ["arm", "gripper"]
                message = joint_state(k, names, [float(k)] * len(names))
                writer.write_message("/joint_states", joints, message, log_time=k)
            writer.finish()
        recording = read(path)
        assert recording.column("joint_states/arm/position")[1].tolist() == [0, 1, 2, 3, 4, 5]
        times, values = recording.column("joint_states/gripper/position")
        assert values.tolist() == [0.0, 3.0]
        np.testing.assert_allclose(times, [100.0, 100.03])

    def test_broken_definition_is_one_error_and_prints_nothing(self, tmp_path, capsys):
        writer_module = pytest.importorskip("mcap.writer")
        path = tmp_path / "odd.mcap"
        with path.open("wb") as file:
            writer = writer_module.Writer(file)
            writer.start()
            schema = writer.register_schema("x/Y", "ros2msg", b"float64[] 9wrong")
            channel = writer.register_channel("x", "cdr", schema)
            writer.add_message(channel, 0, b"\x00", 0)
            writer.finish()
        with pytest.raises(RecordingError, match=r"odd\.mcap"):
            read(path)
        assert capsys.readouterr().out == ""

    def test_damaged(self, path):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(
            RecordingError, match=r"is damaged or truncated after 0 messages.*mcap recover"
        ):
            read(path)
        path.write_bytes(b"\x89MCAP0\r\n")
        with pytest.raises(RecordingError, match="mcap"):
            read(path)
        path.write_bytes(b"t,q\n0,1\n")
        with pytest.raises(RecordingError, match="not a mcap file"):
            read(path)


class TestRosbag2:
    @pytest.fixture(params=["SQLITE3", "MCAP"])
    def folder(self, tmp_path, request):
        bags = pytest.importorskip("rosbags.rosbag2")
        typesys = pytest.importorskip("rosbags.typesys")
        store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
        types = store.types
        header, stamp = types["std_msgs/msg/Header"], types["builtin_interfaces/msg/Time"]
        folder = tmp_path / "bag"
        plugin = bags.StoragePlugin[request.param]
        with bags.Writer(folder, version=9, storage_plugin=plugin) as writer:
            kinds = {
                "/joint_states": "sensor_msgs/msg/JointState",
                "/torques": "std_msgs/msg/Float64MultiArray",
                "/label": "std_msgs/msg/String",
            }
            topics = {t: writer.add_connection(t, k, typestore=store) for t, k in kinds.items()}
            none = np.array([])
            layout = types["std_msgs/msg/MultiArrayLayout"]([], 0)
            for k in range(20):
                messages = {
                    "/joint_states": types[kinds["/joint_states"]](
                        header(stamp(7, k * 1_000_000), ""),
                        ["hip", "knee"],
                        np.array([1.0 * k, 2.0 * k]),
                        none,
                        none,
                    ),
                    "/torques": types[kinds["/torques"]](layout, np.array([k, -k], dtype=float)),
                    "/label": types[kinds["/label"]]("walking"),
                }
                for topic, message in messages.items():
                    raw = store.serialize_cdr(message, kinds[topic])
                    writer.write(topics[topic], 9_000_000_000 + k * 1_000_000, raw)
        return folder

    def test_topics_come_back(self, folder):
        recording = read(folder)
        times, knee = recording.column("joint_states/knee/position")
        np.testing.assert_allclose(times, 7 + np.arange(20) / 1000)
        np.testing.assert_array_equal(knee, 2.0 * np.arange(20))
        times, torque = recording.column("torques/data/1")
        np.testing.assert_allclose(times, 9 + np.arange(20) / 1000)
        np.testing.assert_array_equal(torque, -np.arange(20.0))
        assert recording.columns == (
            *("joint_states/hip/position", "joint_states/knee/position"),
            *("torques/data/0", "torques/data/1"),
        )
        assert set(recording.metadata["files"]) == {f.name for f in folder.iterdir()}  # type: ignore[call-overload]
        with pytest.raises(ColumnError, match="no numbers"):
            recording.column("label")

    def test_one_topic(self, folder):
        assert read(folder, topics=["/torques"]).streams[0].name == "torques"

    def test_database_alone(self, folder):
        for file in folder.glob("*.db3"):
            assert "torques/data/0" in read(file).columns

    def test_folder_of_bags(self, folder):
        assert [r.name for r in read_all(folder.parent)] == ["bag"]

    def test_damaged(self, folder):
        for file in folder.iterdir():
            if file.suffix != ".yaml":
                content = file.read_bytes()
                file.write_bytes(content[: len(content) // 2])
        with pytest.raises(RecordingError, match="truncated or damaged"):
            read(folder)
        (folder / "metadata.yaml").write_text("nonsense: [")
        with pytest.raises(RecordingError, match="bag"):
            read(folder)
        (folder / "metadata.yaml").unlink()
        with pytest.raises(RecordingError, match=r"not a rosbag2: metadata\.yaml"):
            read(folder, format="rosbag2")


class TestLeRobot:
    @pytest.fixture
    def folder(self, tmp_path):
        """Three episodes in two files, as version 3 lays them out."""
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        folder = tmp_path / "pick_place"
        features = {
            "action": {"dtype": "float32", "shape": [2], "names": ["pan.pos", "lift.pos"]},
            "observation.state": {
                "dtype": "float32",
                "shape": [2],
                "names": {"motors": ["a", "b"]},
            },
            "observation.force": {"dtype": "float32", "shape": [2], "names": None},
            "observation.images.top": {"dtype": "video", "shape": [4, 4, 3], "names": None},
        }
        info = {
            "codebase_version": "v3.0",
            "robot_type": "so101",
            "fps": 50,
            "total_episodes": 3,
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
            "features": features,
        }
        (folder / "meta").mkdir(parents=True)
        (folder / "meta" / "info.json").write_text(json.dumps(info))
        (folder / "data" / "chunk-000").mkdir(parents=True)
        lengths = [[4, 6], [5]]
        episode = 0
        for number, in_file in enumerate(lengths):
            index = np.concatenate([np.full(n, episode + k) for k, n in enumerate(in_file)])
            frame = np.concatenate([np.arange(n) for n in in_file])
            value = (10 * index + frame).astype(np.float32)
            vector = arrow.FixedSizeListArray.from_arrays(
                arrow.array(np.column_stack([value, -value]).ravel()), 2
            )
            table = arrow.table(
                {
                    "action": vector,
                    "observation.state": vector.cast(arrow.list_(arrow.float32())),
                    "observation.force": vector,
                    "timestamp": (frame / 50).astype(np.float32),
                    "frame_index": frame,
                    "episode_index": index,
                    "task_index": np.zeros_like(index),
                }
            )
            parquet.write_table(table, folder / "data" / "chunk-000" / f"file-{number:03d}.parquet")
            episode += len(in_file)
        return folder

    def test_every_episode_is_a_recording(self, folder):
        recordings = read_all(folder)
        assert [r.name for r in recordings] == [f"pick_place/episode_{k}" for k in range(3)]
        assert [r.streams[0].times.size for r in recordings] == [4, 6, 5]
        times, lift = recordings[1].column("action/lift.pos")
        np.testing.assert_allclose(times, np.arange(6) / 50, atol=1e-7)
        np.testing.assert_array_equal(lift, -(10.0 + np.arange(6)))
        assert recordings[2].column("observation.state/b")[1][0] == -20.0
        assert recordings[2].column("observation.force/0")[1][0] == 20.0
        assert recordings[0].metadata["fps"] == 50
        assert recordings[0].metadata["robot_type"] == "so101"

    def test_one_episode(self, folder):
        recording = read(folder, episode=2)
        assert recording.column("action/pan.pos")[1].tolist() == [20, 21, 22, 23, 24]
        with pytest.raises(RecordingError, match="no episode 7: it has 3 episodes, 0 to 2"):
            read(folder, episode=7)
        with pytest.raises(RecordingError, match=r"3 recordings.*episode="):
            read(folder)

    def test_damaged(self, folder):
        file = next((folder / "data").rglob("*.parquet"))
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        with pytest.raises(RecordingError, match=file.name):
            read_all(folder)
        file.unlink()
        assert len(read_all(folder)) in (1, 2)
        (folder / "meta" / "info.json").write_text("{")
        with pytest.raises(RecordingError, match=r"info\.json"):
            read_all(folder)

    def test_no_data(self, folder):
        for file in (folder / "data").rglob("*.parquet"):
            file.unlink()
        with pytest.raises(RecordingError, match="download all of it"):
            read_all(folder)
