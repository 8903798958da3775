"""YAML that users and runs give: read by the quick parser, with the answers of the careful one."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import RunDirectoryError
from trueup.runs.store.yaml_file import read_mapping

PIECES = [
    *("a", "b", "1", ": ", ":", "- ", "-", "[", "]", "{", "}", ", ", ",", " ", "#", "'", '"'),
    *("*x", "|\n", "> \n", "!t ", "? ", "true", "~", "<<", "%", "@", "é", "\\n", "---\n"),
    *("=", "1e3", ".5", "2026-01-01", "0x1f", "12:30:45", "://", "\n", "\n  ", "\n    ", "\t"),
    *("\u2028", "\ufeff", "...\n"),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("document") / "experiment.yaml"


@given(st.lists(st.sampled_from(PIECES), max_size=14).map(lambda pieces: "a: " + "".join(pieces)))
def test_a_document_is_what_the_careful_parser_reads(path, text):
    path.write_text(text, encoding="utf-8")
    try:
        expected = repr(yaml.load(text, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, ValueError) as error:
        with pytest.raises(RunDirectoryError) as caught:
            read_mapping(path)
        assert str(caught.value) == f"{path} is damaged: {' '.join(str(error).split())}"
    else:
        assert repr(read_mapping(path)) == expected  # as text: NaN equals itself


@pytest.mark.parametrize("text", ["[" * 200_000, "- " * 100_000, "{a: " * 1500, "[" * 1900])
def test_a_document_that_is_nested_too_deep_never_ends_the_process(text, path):
    path.write_text(text)
    with pytest.raises(RunDirectoryError, match="is damaged"):
        read_mapping(path)
