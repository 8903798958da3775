"""A file is the same where no reader sees a difference, and is found where it was moved to."""

import pytest

from trueup.runs import provenance
from trueup.runs.store.input_files import hash_of, is_same, moved_file

TEXT = b"t,q\n0,1\n1,2\n"


@pytest.fixture
def entry(tmp_path):
    (tmp_path / "log.csv").write_bytes(TEXT)
    (found,) = provenance.hashed([tmp_path / "log.csv"], tmp_path)
    return found


@pytest.mark.parametrize("older", [False, True], ids=["now", "without a hash of the content"])
@pytest.mark.parametrize(
    ("content", "same"),
    [
        (TEXT, True),
        (TEXT.replace(b"\n", b"\r\n"), True),
        (TEXT.rstrip(), True),
        (TEXT + b"\n\n", True),
        (TEXT.replace(b"\n", b"\r\n").rstrip(), True),
        (TEXT.replace(b"2", b"3"), False),
        (TEXT.replace(b"\n", b"\n\n"), False),
        (TEXT + b"2,3\n", False),
        (b" " + TEXT, False),
        (b"", False),
    ],
)
def test_line_ends_alone_are_no_change(entry, tmp_path, content, same, older):
    if older:
        entry = {key: entry[key] for key in ("name", "sha256", "size")}
    (tmp_path / "log.csv").write_bytes(content)
    assert is_same(tmp_path / "log.csv", entry) is same


def test_a_file_with_the_line_ends_of_windows_may_lose_them(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(TEXT.replace(b"\n", b"\r\n"))
    (entry,) = provenance.hashed([path], tmp_path)
    path.write_bytes(TEXT)
    assert is_same(path, entry)
    assert is_same(path, {key: entry[key] for key in ("name", "sha256", "size")})


def test_line_ends_across_the_pieces_that_a_file_is_read_in(tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_bytes(b"x" * (2**20 - 1) + b"\r\n" + b"y" * 2**20 + b"\n" * 5)
    two.write_bytes(b"x" * (2**20 - 1) + b"\n" + b"y" * 2**20)
    assert hash_of(one).content == hash_of(two).content is not None


def test_bytes_that_are_no_text_count_as_they_are(tmp_path):
    path = tmp_path / "mesh.stl"
    path.write_bytes(b"\0\r\n")
    (entry,) = provenance.hashed([path], tmp_path)
    path.write_bytes(b"\0\n")
    assert "content" not in entry
    assert not is_same(path, entry)


def test_a_moved_file_is_found_by_what_it_holds(entry, tmp_path):
    deep = tmp_path / "data" / "day"
    deep.mkdir(parents=True)
    (tmp_path / "data" / "log.csv").write_text("t,q\n0,1\n1,9\n")  # of its name, and another
    (tmp_path / "log.csv").rename(deep / "renamed.csv")
    assert moved_file(entry, [tmp_path]) == deep / "renamed.csv"
    (tmp_path / ".hidden").mkdir()
    (deep / "renamed.csv").rename(tmp_path / ".hidden" / "log.csv")
    assert moved_file(entry, [tmp_path, tmp_path / "gone"]) is None


def test_the_search_for_a_moved_file_has_a_depth(entry, tmp_path):
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (tmp_path / "log.csv").rename(deep / "log.csv")
    assert moved_file(entry, [tmp_path]) is None
    assert moved_file(entry, [tmp_path / "a"]) == deep / "log.csv"
