"""Numbers as spreadsheets and instruments write them are read where they leave no doubt."""

import numpy as np
import pytest

from trueup.errors import RecordingError
from trueup.signals import read

EUROPEAN = "t;q;n\n0,000;-0,5;1\n0,010;12,25;2\n0,020;1,5E-03;3\n"
AS_READ = {"q": [-0.5, 12.25, 1.5e-3], "n": [1.0, 2.0, 3.0]}
HOW = {
    "plain": EUROPEAN.encode(),
    "byte-order mark": b"\xef\xbb\xbf" + EUROPEAN.encode(),
    "UTF-16": EUROPEAN.encode("utf-16"),
    "Latin-1": EUROPEAN.replace("\n", "\n# Gr\u00f6\u00dfe\n", 1).encode("latin-1"),
    "lines of Windows": EUROPEAN.replace("\n", "\r\n").encode(),
    "delimiter at the end": EUROPEAN.replace("\n", ";\n").encode(),
    "sep= of Excel": b"sep=;\n" + EUROPEAN.encode(),
    "tabs": EUROPEAN.replace(";", "\t").encode(),
    "blanks": EUROPEAN.replace(";", " ").encode(),
    "quoted between commas": b't,q,n\n"0,000","-0,5",1\n"0,010","12,25",2\n"0,020","1,5E-03",3\n',
    "spaces in cells": EUROPEAN.replace(";", " ; ").encode(),
}


@pytest.mark.parametrize("how", HOW)
def test_decimal_commas(how, tmp_path):
    (tmp_path / "log.csv").write_bytes(HOW[how])
    recording = read(tmp_path / "log.csv")
    np.testing.assert_allclose(recording.streams[0].times, [0.0, 0.01, 0.02])
    for name, values in AS_READ.items():
        np.testing.assert_array_equal(recording.column(name)[1], values)
    assert recording.metadata["decimal"] == ","


COLUMNS = {
    "thousands by points": (["1.234,5", "2.345", "999"], [1234.5, 2345.0, 999.0]),
    "thousands by commas": (["1,234.5", "2,345", "999"], [1234.5, 2345.0, 999.0]),
    "millions by points": (["1.234.567", "0", "1"], [1234567.0, 0.0, 1.0]),
    "millions by commas": (["1,234,567", "0", "1"], [1234567.0, 0.0, 1.0]),
    "thousands by apostrophes": (["1'234.5", "2", "3"], [1234.5, 2.0, 3.0]),
    "thousands by narrow blanks": (["1\u202f234,5", "2\u00a0345", "3"], [1234.5, 2345.0, 3.0]),
    "three decimals after a zero": (["0,125", "1,250", "2,375"], [0.125, 1.25, 2.375]),
    "three decimals after thousands": (["1234,125", "1,250", "2"], [1234.125, 1.25, 2.0]),
    "empty cells": (["", "1,5", "NaN"], [np.nan, 1.5, np.nan]),
    "words for nothing": (["n/a", "None", "null"], [np.nan] * 3),
    "what Excel writes": (["#N/A", "1,5", "2"], [np.nan, 1.5, 2.0]),
    "what C writes on Windows": (["1.#QNAN", "-1.#IND", "1.5"], [np.nan, np.nan, 1.5]),
    "infinite": (["inf", "-Infinity", "1.#INF"], [np.inf, -np.inf, np.inf]),
    "quoted": (['"1.5"', '"2"', '"-3"'], [1.5, 2.0, -3.0]),
    "signs": (["+1,5", "-,5", "2,"], [1.5, -0.5, 2.0]),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_a_column_without_doubt(case, tmp_path):
    cells, wanted = COLUMNS[case]
    rows = "\n".join(f"{k};{cell};1" for k, cell in enumerate(cells))
    (tmp_path / "log.csv").write_text(f"t;q;n\n{rows}\n", encoding="utf-8")
    np.testing.assert_array_equal(read(tmp_path / "log.csv").column("q")[1], wanted)


def test_commas_that_may_be_either_are_read_like_the_rest_of_the_file(tmp_path):
    (tmp_path / "log.csv").write_text("t;q\n0,5;1,234\n0,6;2,345\n")
    np.testing.assert_array_equal(read(tmp_path / "log.csv").column("q")[1], [1.234, 2.345])


DOUBTFUL = {
    "a comma before three digits": (
        "t;q\n0.5;1,234\n0.6;2,345\n",
        "'1,234' is ambiguous: 1.234 or 1234",
    ),
    "thousands alone": ("t;q\n0;1,000\n1;2,000\n", "'1,000' is ambiguous: 1.000 or 1000"),
    "points in a file of commas": (
        "t;q\n0,5;1.234\n0,6;2.345\n",
        "'1.234' is ambiguous: 1.234 or 1234",
    ),
    "both in one column": ("t;q\n0;1,5\n1;2.5\n", "different decimal characters"),
    "both, thousands among them": ("t;q\n0;1.234,5\n1;1,234.5\n", "different decimal characters"),
    "groups of two digits": ("t;q\n0;1.5\n1;1,23,456.5\n", "'1,23,456.5' is not a number"),
    "a comma between columns too": ("t,q\n0,5,1,5\n0,6,2,5\n", "Commas are both column separators"),
    "the same without a header": ("0,00,1,5\n0,01,2,5\n0,02,3,5\n", "decimals of numbers"),
    "a time twice": ("t;t;q\n0;1;2\n1;2;3\n", "several columns named 't'"),
    "times with nan": ("t;q\n0;1\nnan;2\n2;3\n", "'t' contains 1 values that are NaN"),
    "times with gaps": ("t;q\n0;1\n;2\n2;3\n", "'t' contains 1 values that are NaN"),
    "a line of units": ("t;q\ns;rad\n0;1\n1;2\n", "line 2, column 't': 's' is not a number"),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_leaves_a_doubt_is_refused_by_name(case, tmp_path):
    text, words = DOUBTFUL[case]
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(RecordingError) as refused:
        read(tmp_path / "log.csv")
    assert words in str(refused.value) and "log.csv" in str(refused.value)
    assert "\n" not in str(refused.value)
