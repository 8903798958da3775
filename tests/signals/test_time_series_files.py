"""Time series written to and read from NPZ and CSV."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import SignalError
from trueup.signals import SignalType, TimeSeries
from trueup.signals.signal_type import decode_signal_mapping, encode_signal_mapping, same_signals

RNG = np.random.default_rng(0)
TIMES = 12.5 + np.cumsum(RNG.uniform(0.001, 0.003, 20))
MAPPING = {
    "elbow, left": (SignalType.MjSensor, np.array([2])),
    "imu:acc": (SignalType.MjSensor, np.array([3, 0, 1])),
    "odd[0]": (SignalType.MjStateQVel, np.array([4])),
}
NAMED = TimeSeries(TIMES, RNG.normal(size=(20, 5)), MAPPING)
UNNAMED = TimeSeries(TIMES, RNG.normal(size=(20, 5)))


def assert_equal(loaded: TimeSeries, saved: TimeSeries):
    np.testing.assert_array_equal(loaded.times, saved.times)
    np.testing.assert_array_equal(loaded.data, saved.data)
    assert same_signals(loaded.signal_mapping, saved.signal_mapping)


@pytest.mark.parametrize("series", [NAMED, UNNAMED])
@pytest.mark.parametrize("name", ["series.npz", "series"])
def test_npz_round_trip(tmp_path, series, name):
    series.save_to_disk(tmp_path / name)
    assert_equal(TimeSeries.load_from_disk(tmp_path / name), series)


def test_npz_errors(tmp_path):
    with pytest.raises(SignalError, match=r"No such file: .*absent\.npz"):
        TimeSeries.load_from_disk(tmp_path / "absent.npz")
    np.savez(tmp_path / "other.npz", angles=TIMES)
    with pytest.raises(SignalError, match="missing times and data"):
        TimeSeries.load_from_disk(tmp_path / "other.npz")
    np.save(tmp_path / "array.npy", TIMES)
    with pytest.raises(SignalError, match="is a single array"):
        TimeSeries.load_from_disk(tmp_path / "array.npy")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(SignalError, match="archive of plain arrays"):
        TimeSeries.load_from_disk(tmp_path / "text.npz")


def test_npz_never_unpickles(tmp_path):
    np.savez(tmp_path / "objects.npz", times=TIMES, data=np.array([{}] * 20, dtype=object))
    with pytest.raises(SignalError, match="allow_pickle"):
        TimeSeries.load_from_disk(tmp_path / "objects.npz")


@pytest.mark.parametrize("series", [NAMED, UNNAMED])
def test_csv_with_header_round_trip(tmp_path, series):
    path = tmp_path / "series.csv"
    series.save_to_csv(path, header=True)
    assert_equal(TimeSeries.load_from_csv(path), series)


def test_csv_is_headerless_by_default(tmp_path):
    path = tmp_path / "series.csv"
    NAMED.save_to_csv(path)
    assert path.read_text().count("\n") == 20
    loaded = TimeSeries.load_from_csv(path)
    np.testing.assert_array_equal(loaded.data, NAMED.data)
    np.testing.assert_array_equal(loaded.times, NAMED.times)
    assert loaded.signal_mapping is None


def test_csv_header_in_words(tmp_path):
    path = tmp_path / "series.csv"
    NAMED.save_to_csv(path, header=True)
    assert path.read_text().splitlines()[0] == (
        'time,imu:acc[1]:MjSensor,imu:acc[2]:MjSensor,"elbow, left:MjSensor",imu:acc[0]:MjSensor,'
        "odd[0][0]:MjStateQVel"
    )


def test_csv_of_one_unnamed_channel(tmp_path):
    path = tmp_path / "series.csv"
    TimeSeries(TIMES, np.sin(TIMES)).save_to_csv(path)
    np.testing.assert_array_equal(TimeSeries.load_from_csv(path).data[:, 0], np.sin(TIMES))


def test_csv_with_plain_header_gives_custom_observations(tmp_path):
    path = tmp_path / "bench.csv"
    path.write_text("\ufefftime,angle,torque\n0,1,2\n\n0.1,3,4\n", encoding="utf-8")
    loaded = TimeSeries.load_from_csv(path)
    assert loaded.get_indices("torque") == (SignalType.CustomObs, np.array([1]))
    np.testing.assert_array_equal(loaded.data, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("time,a\n", "no samples"),
        ("time,a\n0,1\n1,x\n", "cannot be read"),
        ("time,a\n0,1\n1\n", "cannot be read"),
        ("time,a\n0,1,2\n", "2 header cells but 3 columns"),
        ("time,a,a\n0,1,2\n", "twice"),
        ("time,a[1]:MjSensor\n0,1\n", "components"),
        ("0,1\n0,2\n", "strictly increasing"),
    ],
)
def test_csv_errors(tmp_path, text, message):
    path = tmp_path / "series.csv"
    path.write_text(text)
    with pytest.raises(SignalError, match=message):
        TimeSeries.load_from_csv(path)


def test_csv_cannot_hold_shared_columns_or_three_axes(tmp_path):
    shared = {"a": (SignalType.MjSensor, np.array([0])), "b": (SignalType.MjSensor, np.array([0]))}
    with pytest.raises(SignalError, match="one name per column"):
        TimeSeries(TIMES, np.zeros((20, 1)), shared).save_to_csv(tmp_path / "a.csv", header=True)
    with pytest.raises(SignalError, match="refers to column 7"):
        TimeSeries(
            TIMES, np.zeros((20, 1)), {"a": (SignalType.MjSensor, np.array([7]))}
        ).save_to_csv(tmp_path / "a.csv", header=True)
    with pytest.raises(SignalError, match=r"support data of shape .*, found \(20, 1, 1\)"):
        TimeSeries(TIMES, np.zeros((20, 1, 1))).save_to_csv(tmp_path / "a.csv")
    with pytest.raises(SignalError, match=r"No such file: .*a\.csv"):
        TimeSeries.load_from_csv(tmp_path / "a.csv")


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=8)


@given(names=st.lists(NAMES, min_size=1, max_size=5, unique=True), seed=st.integers(0, 2**31))
def test_any_names_survive_a_csv(tmp_path_factory, names, seed):
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 4, len(names))
    columns = rng.permutation(int(widths.sum()))
    mapping, start = {}, 0
    for name, width in zip(names, widths):
        signal_type = SignalType(int(rng.integers(6)))
        mapping[name] = (signal_type, columns[start : start + width])
        start += width
    series = TimeSeries(np.arange(3.0), rng.normal(size=(3, len(columns))), mapping)
    path = tmp_path_factory.mktemp("csv") / "series.csv"
    series.save_to_csv(path, header=True)
    assert_equal(TimeSeries.load_from_csv(path), series)


@given(st.dictionaries(st.text(), st.tuples(st.sampled_from(SignalType), st.lists(st.integers(0)))))
def test_mapping_survives_json(mapping):
    mapping = {
        name: (kind, np.array([c % 1000 for c in columns], dtype=int))
        for name, (kind, columns) in mapping.items()
    }
    assert same_signals(decode_signal_mapping(encode_signal_mapping(mapping)), mapping)


@pytest.mark.parametrize("text", ["[1, 2]", "{", '{"a": [9, [0]]}', '{"a": 3}'])
def test_broken_mapping_is_refused(text):
    with pytest.raises(SignalError, match="mapping cannot be read"):
        decode_signal_mapping(text)


def test_same_signals():
    other = {name: MAPPING[name] for name in reversed(MAPPING)}
    assert same_signals(MAPPING, other)
    assert not same_signals(MAPPING, None)
    assert same_signals(None, None)
    assert not same_signals(MAPPING, MAPPING | {"odd[0]": (SignalType.MjStateQVel, np.array([5]))})
    assert not same_signals(MAPPING, MAPPING | {"odd[0]": (SignalType.MjSensor, np.array([4]))})
