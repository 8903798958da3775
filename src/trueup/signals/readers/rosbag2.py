"""ROS bags: rosbag2 folders (sqlite3 or MCAP storage) and ROS 1 ``.bag`` files."""

from pathlib import Path

from trueup._memory_budget import MemoryBudget
from trueup.errors import RecordingError
from trueup.signals.readers._bag_files import check_bag
from trueup.signals.readers._messages import TopicColumns
from trueup.signals.readers._optional import import_optional
from trueup.signals.readers.contents import Contents
from trueup.signals.readers.mcap import check_clock, check_topics, is_bulky, topic_contents


def is_rosbag(folder: Path) -> bool:
    """Whether a folder is a rosbag2."""
    return (folder / "metadata.yaml").is_file()


def read_rosbag(path: Path, *, topics: list[str] | None = None, clock: str = "header") -> Contents:
    """Read the numbers of all topics of a bag, one stream per topic, columns ``topic/field``.

    A sensor_msgs/JointState gives ``topic/joint/position``, ``velocity`` and ``effort``. Bags
    without message definitions are read with those of ROS 2 Humble.

    Args:
        path: The folder with ``metadata.yaml``, its ``.db3`` file, or a ``.bag`` file.
        topics: Topics to read; None reads all.
        clock: ``header`` for the stamps in the messages where they have them, ``log`` for the
            times at which they were recorded.

    Raises:
        RecordingError: The bag is damaged or incomplete, a topic does not exist, or no topic
            contains numbers.
    """
    highlevel = import_optional("rosbags.highlevel", "Reading rosbag2", "rosbags")
    typesys = import_optional("rosbags.typesys", "Reading rosbag2", "rosbags")
    check_clock(clock)
    bag = _bag(path)
    files = check_bag(bag)
    on_disk = sum(file.stat().st_size for file in files) if files else None
    budget = MemoryBudget(bag, on_disk)
    wanted = None if topics is None else {topic.strip("/") for topic in topics}
    held: dict[str, TopicColumns] = {}
    left_out: dict[str, str] = {}
    seen: dict[str, None] = {}
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    with highlevel.AnyReader([bag], default_typestore=store) as reader:
        chosen = []
        for connection in reader.connections:
            topic = connection.topic.lstrip("/")
            if wanted is not None and topic not in wanted:
                seen[topic] = None
            elif is_bulky(connection.msgtype) or connection.msgtype not in reader.typestore.types:
                seen[topic] = None
                left_out[topic] = f"its messages are {connection.msgtype}"
            else:
                seen[topic] = None
                chosen.append(connection)
        check_topics(path, wanted, seen)
        if chosen:
            for connection, nanoseconds, raw in reader.messages(connections=chosen):
                topic = connection.topic.lstrip("/")
                columns = held.setdefault(topic, TopicColumns(topic, budget))
                message = reader.deserialize(raw, connection.msgtype)
                columns.add(nanoseconds / 1e9, message)
    contents = topic_contents(path, held, clock, left_out)
    return Contents(contents.tables, contents.metadata, files=files if path.is_dir() else ())


def _bag(path: Path) -> Path:
    """Return the path to open: a folder with metadata.yaml, or a ROS 1 file."""
    if path.is_dir():
        if not is_rosbag(path):
            raise RecordingError(
                f"The folder {path} is not a rosbag2: metadata.yaml is missing. Write it with  "
                f"ros2 bag reindex {path.name}."
            )
        return path
    if path.suffix == ".bag" or is_rosbag(path.parent) is False:
        return path
    return path.parent
