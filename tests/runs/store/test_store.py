"""The store keeps history and state together, exactly, and refuses what is not its own."""

import os
import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import RunDirectoryError
from trueup.runs import Store
from trueup.runs.store.state_codec import decode_state, encode_state

_STATE = {"n": 2**100, "step": -np.inf, "mean": np.array([[1.0, np.nan]]), "list": [1, None, "a"]}


def _filled(path):
    store = Store.create(path, ("a", "b"), "hash")
    store.commit(0, [[1.0, 2.0], [3.0, 4.0]], [0.5, np.nan], {1: "fell \udcff"}, _STATE)
    store.record(1, [[0.1, -0.0]], [np.inf], info={"step": 0.25}, seconds=1.5)
    store.flush({"last": 1})
    return store


def test_history_comes_back_to_the_last_bit(tmp_path):
    _filled(tmp_path / "study.sqlite").close()
    with Store.open(tmp_path / "study.sqlite") as store:
        history = store.history()
        assert store.names == history.names == ("a", "b")
        assert store.settings_hash == "hash"
        assert store.evaluations == 3
        assert store.seconds() == 1.5
        assert store.failed_evaluations() == 1
    assert history.X.tobytes() == np.array([[1.0, 2.0], [3.0, 4.0], [0.1, -0.0]]).tobytes()
    np.testing.assert_array_equal(history.costs, [[0.5], [np.nan], [np.inf]])
    np.testing.assert_array_equal(history.generation, [0, 0, 1])
    np.testing.assert_array_equal(history.candidate, [0, 1, 0])
    assert history.reasons == {1: "fell ?"}
    assert history.generations == [
        {"generation": 0, "evaluations": 2, "seconds": 0.0},
        {"generation": 1, "evaluations": 3, "seconds": 1.5, "step": 0.25},
    ]


def test_only_the_last_state_is_kept(tmp_path):
    with Store.create(tmp_path / "study.sqlite", ("a",)) as store:
        assert store.last_state() is None
        store.commit(0, [[1.0]], [1.0], None, _STATE)
        generation, state = store.last_state()
        assert generation == 0
        assert state["n"] == 2**100
        assert state["step"] == -np.inf
        np.testing.assert_array_equal(state["mean"], _STATE["mean"])
        store.commit(1, [[1.0]], [1.0], None, {"x": 1})
        assert store.last_state() == (1, {"x": 1})
        assert store._connection.execute("SELECT count(*) FROM state_arrays").fetchone() == (0,)


def test_several_objectives(tmp_path):
    with Store.create(tmp_path / "study.sqlite", ("a",)) as store:
        store.commit(0, [[1.0], [2.0]], [[1.0, np.nan], [2.0, 3.0]], None, {})
        np.testing.assert_array_equal(store.history().costs, [[1.0, np.nan], [2.0, 3.0]])


def test_best_leaves_out_what_is_invalid(tmp_path):
    with Store.create(tmp_path / "study.sqlite", ("a",)) as store:
        assert store.best() is None
        assert store.history().X.shape == (0, 1)
        store.commit(0, [[1.0], [2.0]], [np.nan, np.inf], None, {})
        assert store.best() is None
        store.commit(1, [[3.0], [4.0], [5.0]], [-np.inf, 7.0, 1.0], {2: "fell"}, {})
        generation, x, cost = store.best()
        assert (generation, x.tolist(), cost) == (1, [4.0], 7.0)


def test_what_is_not_flushed_is_not_there(tmp_path):
    with _filled(tmp_path / "study.sqlite") as store:
        store.record(2, [[1.0, 1.0]], [1.0])
        assert store.has_pending
    with Store.open(tmp_path / "study.sqlite") as store:
        assert store.evaluations == 3
        assert store.last_state() == (1, {"last": 1})


def test_a_full_disk_keeps_the_last_commit_and_what_waits(tmp_path):
    path = tmp_path / "study.sqlite"
    with _filled(path) as store:
        pages = store._pragma("page_count")
        store._connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite says: disk is full
        store.record(2, np.zeros((2000, 2)), np.zeros(2000))
        with pytest.raises(RunDirectoryError, match=r"full.*last checkpoint is kept.*--resume"):
            store.flush({"last": 2})
        with Store.open(path) as reader:
            assert reader.last_state() == (1, {"last": 1})
            assert len(reader.history().X) == 3
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.flush({"last": 2})
        assert store.last_state() == (2, {"last": 2})


def test_a_state_that_cannot_be_saved_says_where(tmp_path):
    with Store.create(tmp_path / "study.sqlite", ("a",)) as store:
        for bad in (
            {"a": [object()]},
            {"a": {1: 2}},
            {"a": np.array([None])},
            {"a": {"$array": 1}},
        ):
            store.record(0, [[1.0]], [1.0])
            with pytest.raises(TypeError, match=r"state\.a"):
                store.flush(bad)
            store._pending.clear()


def test_shapes_that_do_not_fit(tmp_path):
    with (
        Store.create(tmp_path / "study.sqlite", ("a",)) as store,
        pytest.raises(ValueError, match="do not match 1 parameters"),
    ):
        store.record(0, [[1.0, 2.0]], [1.0])


def test_create_does_not_overwrite(tmp_path):
    _filled(tmp_path / "study.sqlite").close()
    with pytest.raises(RunDirectoryError, match=r"already exists.*--resume"):
        Store.create(tmp_path / "study.sqlite", ("a",))


def test_a_file_whose_making_was_cut_off_is_blank(tmp_path):
    path = tmp_path / "study.sqlite"
    assert Store.is_blank(path)
    assert not path.exists()
    path.touch()
    assert Store.is_blank(path)
    Store.create(path, ("a",)).close()
    assert not Store.is_blank(path)


def test_foreign_files_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "study.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE trials (number INTEGER)")
    connection.close()
    before = path.read_bytes()
    for attempt in (Store.open, Store.is_blank, lambda p: Store.create(p, ("a",))):
        with pytest.raises(RunDirectoryError, match="is not a study file of trueup"):
            attempt(path)
    assert path.read_bytes() == before
    path.write_text("a letter, long enough to be no header of SQLite" * 100)
    for attempt in (Store.open, Store.is_blank, lambda p: Store.create(p, ("a",))):
        with pytest.raises(RunDirectoryError, match="is not a study file of trueup"):
            attempt(path)


def test_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "study.sqlite"
    _filled(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(RunDirectoryError, match=r"format is 2.*up to 1.*newer trueup"):
        Store.open(path)


@pytest.mark.parametrize("damage", ["middle", "cut"])
def test_a_damaged_file_is_told_so(tmp_path, damage):
    path = tmp_path / "study.sqlite"
    with _filled(path) as store:
        store.commit(2, np.random.default_rng(0).normal(size=(500, 2)), np.zeros(500), None, {})
    size = path.stat().st_size
    if damage == "cut":
        os.truncate(path, size // 2)
    else:
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (size - 8192))
    with pytest.raises(RunDirectoryError, match=r"study\.sqlite is damaged.*--output"):
        Store.open(path)


def test_no_file(tmp_path):
    with pytest.raises(RunDirectoryError, match="saved no history"):
        Store.open(tmp_path / "study.sqlite")


def test_a_reader_beside_the_writer(tmp_path):
    path = tmp_path / "study.sqlite"
    with _filled(path) as store, Store.open(path) as reader:
        store.commit(2, [[1.0, 1.0]], [1.0], None, {})
        assert len(reader.history().X) == 4
        reader.record(3, [[1.0, 1.0]], [1.0])
        with pytest.raises(RunDirectoryError, match="cannot write"):
            reader.flush({})


_keys = st.text().filter(lambda key: key not in ("$array", "$float"))
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(_keys, _json, max_size=4))
def test_states_come_back(state):
    document, arrays = encode_state(state)
    assert arrays == {}
    assert decode_state(document, arrays) == state


@given(st.sampled_from(["<f8", ">f4", "<i8", "?", "<c16", "<U3"]), st.integers(0, 3))
def test_arrays_come_back_with_type_and_shape(kind, size):
    array = np.arange(2 * size).astype(kind).reshape(2, size)
    document, arrays = encode_state({"a": {"b": array, "x": array}, "a.b": array[:1]})
    back = decode_state(document, arrays)["a"]["b"]
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_a_damaged_state_is_told_so():
    document, arrays = encode_state({"a": np.ones(3)})
    for content in ({}, dict.fromkeys(arrays, b"\x93NUMPY")):
        with pytest.raises(RunDirectoryError, match="damaged"):
            decode_state(document, content)


def test_no_journal_stays_beside_a_closed_study(tmp_path):
    _filled(tmp_path / "study.sqlite").close()
    assert [file.name for file in tmp_path.iterdir()] == ["study.sqlite"]
