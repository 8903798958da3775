"""What commands print for people."""

from trueup.cli.output import Output


def test_numbers_end_at_one_place_and_words_begin_at_one(capsys):
    rows = [
        ["mass", "1.5 ± 0.1", "kg", "on a bound"],
        ["damping", "-12", "N m s/rad", ""],
        ["friction", "-", "N m", "free"],
    ]
    Output().table(["parameter", "value", "unit", "note"], rows)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "  parameter      value  unit       note"
    assert lines[2:5] == [
        "  mass       1.5 ± 0.1  kg         on a bound",
        "  damping          -12  N m s/rad",
        "  friction           -  N m        free",
    ]


def test_a_table_is_silent_for_programs(capsys):
    Output(json=True).table(["parameter"], [["mass"]])
    assert not capsys.readouterr().out
