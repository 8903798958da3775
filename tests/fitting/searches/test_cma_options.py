"""Options of cma as text: read without evaluating, each key reachable or refused with a reason."""

import contextlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.errors import FitError
from trueup.fitting import CmaEs, CmaEsSettings, parse_cma_options
from trueup.fitting.cma_es.options import REPLACED_OPTIONS, resolve_cma_options
from trueup.fitting.test_problems import sphere


def test_pairs_are_numbers_words_and_lists():
    options = parse_cma_options(
        "tolfun:1e-9, tolstagnation = 150,CMA_active:False,maxstd:none,tolupsigma:inf,"
        "tolxstagnation:[1e-9, 20, 0.1],CMA_elitist:initial,AdaptSigma:TPA,minstd:-0.5"
    )
    assert options == {
        "tolfun": 1e-9,
        "tolstagnation": 150,
        "CMA_active": False,
        "maxstd": None,
        "tolupsigma": math.inf,
        "tolxstagnation": [1e-9, 20, 0.1],
        "CMA_elitist": "initial",
        "AdaptSigma": "TPA",
        "minstd": -0.5,
    }
    assert type(options["tolstagnation"]) is int
    assert parse_cma_options("") == parse_cma_options(" , ") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tolfum:1e-9", "no option 'tolfum'. Did you mean 'tolfun'"),
        ("cma_active:1", "Did you mean 'CMA_active'"),
        ("tolfun", "must be key:value"),
        ("tolfun:", "must be key:value"),
        (":1", "must be key:value"),
        ("tolx:1,tolx:2", "given twice"),
        ("tolfun:1e-9*2", "expected a number, true, false, none or a list"),
        (
            "tolfun:__import__('os').system('true')",
            "expected a number, true, false, none or a list",
        ),
        ("tolfun:nan", "expected a number, true, false, none or a list"),
        ("tolxstagnation:[1e-9,[2]]", "expected a number, true, false, none or a list"),
        ("AdaptSigma:CSB", "available: 'CSA', 'TPA'. Did you mean 'CSA'"),
        ("seed:3", "use the seed of the search"),
        ("bounds:[0,1]", "bounds belong to the parameters"),
        ("timeout:10", "time limit"),
        ("verb_filenameprefix:3", "the output of cma"),
        ("verbose:9", "the output of cma"),
        ("signals_filename:none", "Ctrl-C"),
    ],
)
def test_what_cannot_be_an_option_is_refused(text, words):
    with pytest.raises(FitError) as error:
        parse_cma_options(text)
    assert words in str(error.value)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="tolfunxCMA_:=,[] 0123456789.e-+()'\"", max_size=40))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(FitError):
        parse_cma_options(text)


@given(st.dictionaries(st.sampled_from(["tolx", "tolfun", "minstd"]), st.floats(allow_nan=False)))
def test_numbers_come_back_to_the_last_bit(options):
    assert parse_cma_options(",".join(f"{k}:{v!r}" for k, v in options.items())) == options


def test_every_option_of_cma_is_reachable_or_refused_with_a_reason():
    from cma import CMAOptions

    for key in CMAOptions.defaults():
        if key in REPLACED_OPTIONS or key.startswith("verb"):
            with pytest.raises(FitError, match="is not supported"):
                parse_cma_options(f"{key}:1")
        else:
            assert parse_cma_options(f"{key}:1") == {key: 1}


def test_values_that_are_no_plain_ones_are_refused():
    for value in (print, {"a": 1}, "1 + 1", math.nan, [print]):
        with pytest.raises(FitError, match="expected a number, true, false, none or a list"):
            resolve_cma_options({"tolfun": value})


@pytest.mark.parametrize(
    "text", ["CMA_sampler:VD", "CMA_sampler:VkD", "BoundaryHandler:BoundPenalty"]
)
def test_words_become_parts_of_cma(text):
    toy = sphere(4)
    search = CmaEs(toy.space, CmaEsSettings(options=parse_cma_options(text)))
    for _ in range(30):
        X = search.ask()
        search.tell(X, toy.problem.costs(X), {})
    parts = {type(search._run.strategy.sm).__name__}
    parts.add(type(search._run.strategy.boundary_handler).__name__)
    assert any(text.split(":")[1] in part for part in parts)
    assert search.cost < 0.3 * search.history[0]["cost"]
