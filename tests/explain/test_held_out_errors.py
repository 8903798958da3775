"""Errors of fits compared: by covariance matrices, by units, order and names, and in words."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from linear_log import linear_log
from scipy.linalg import toeplitz

from trueup.explain.held_out import HeldOutErrors, held_out_fit
from trueup.explain.report import cause_row, explanation_report, share_text
from trueup.explain.sentences import first_change
from trueup.fitting.uncertainty.autoregressive import AutoregressiveModel, fit_autoregressive

WHITE = AutoregressiveModel(np.ones(1), 0.7**2, 100)


def compared(*fits, noise=WHITE, floor=0.0, failed=None):
    """Errors of fits of one sequence, (T, C) each, with the same noise in every channel."""
    stacked = np.stack(fits)
    failed = (False,) * len(fits) if failed is None else failed
    return HeldOutErrors((stacked,), ((noise,) * stacked.shape[2],), floor, failed)


def draws(seed=0, count=3, size=(80, 2)):
    rng = np.random.default_rng(seed)
    return [scale * rng.normal(size=size) for scale in np.linspace(2.0, 1.0, count)]


def test_squares_are_sums_over_all_that_was_recorded():
    first, second, _ = draws()
    both = HeldOutErrors((np.stack([first, second]), np.stack([second, first])[:, :30]),
                         ((WHITE, WHITE),) * 2, 0.0, (False, False))  # fmt: skip
    expected = [np.sum(first**2) + np.sum(second[:30] ** 2),
                np.sum(second**2) + np.sum(first[:30] ** 2)]  # fmt: skip
    np.testing.assert_allclose(both.squares, expected)
    assert both.size == 2 * (80 + 30)


def test_white_noise_moves_a_difference_by_twice_the_change():
    """Standard deviation of 2 r'd: 2 s |d|."""
    first, second, _ = draws()
    errors = compared(first, second)
    assert errors.deviation(0, 1) == pytest.approx(2 * 0.7 * np.linalg.norm(second - first))
    assert errors.deviation(0, 1) == errors.deviation(1, 0) and errors.deviation(1, 1) == 0.0


@pytest.mark.parametrize("pole", [0.9, 0.5, -0.6])
def test_noise_with_memory_moves_a_difference_as_its_covariance_says(pole):
    """2 sqrt(d' C d) with the matrix of an autoregression of first order, s^2 p^k / (1 - p^2)."""
    times = np.arange(400)
    # a change that is nothing at both ends: noise before the recording does not matter
    change = (np.sin(times / 9.0) * np.exp(-(((times - 200) / 50.0) ** 2)))[:, None]
    errors = compared(0.0 * change, change, noise=AutoregressiveModel(np.array([1, -pole]), 0.2, 9))
    covariance = toeplitz(0.2 * pole**times / (1 - pole**2))
    expected = 2.0 * np.sqrt((change.T @ covariance @ change).item())
    assert errors.deviation(0, 1) == pytest.approx(expected, rel=1e-6)


def test_samples_of_noise_with_memory_count_less():
    first, second, _ = draws()
    white = compared(first, second)
    assert white.freedom == 159.0
    slow = compared(first, second, noise=AutoregressiveModel(np.array([1.0, -0.95]), 0.2, 9))
    memory = -1.0 / np.log(0.95)
    assert slow.freedom == pytest.approx(160 / (1 + 2 * memory) - 1)
    never = compared(first, second, noise=AutoregressiveModel(np.array([1.0, -1.0]), 0.2, 9))
    assert never.freedom == 2.0


def test_an_advantage_is_by_chance_or_not():
    first, second, third = draws()
    errors = compared(first, second, third)
    # nothing is better by being worse, or the same
    assert errors.chance(2, 0) == 1.0 and errors.chance(1, 1) == 1.0
    assert 0.0 <= errors.chance(0, 2) < errors.chance(1, 2) < 0.5
    # a fit that fails is no advantage, and one over it is certain
    broken = compared(first, second, third, failed=(False, True, False))
    assert broken.chance(0, 1) == 1.0 and broken.chance(1, 0) == 0.0
    assert broken.squares[1] == np.inf


def test_an_advantage_without_noise_is_certain():
    first, second, _ = draws()
    errors = compared(first, second, noise=AutoregressiveModel(np.ones(1), 0.0, 9))
    assert errors.chance(0, 1) == 0.0


def test_a_share_is_what_is_gone_of_the_error_above_noise():
    first, second, third = draws()
    floor = 0.5 * np.sum(third**2)
    errors = compared(first, second, third, floor=floor)
    squares = errors.squares
    share, low, high = errors.share(0, 2, 0.95)
    assert share == pytest.approx((squares[0] - squares[2]) / (squares[0] - floor))
    assert low < share < high <= 1.0
    assert errors.share(0, 0, 0.95)[0] == 0.0
    # worse fits have shares below nothing, the perfect one all
    assert errors.share(2, 0, 0.95)[0] < 0.0
    assert compared(first, 0.0 * first).share(0, 1, 0.95)[0] == pytest.approx(1.0)
    wide, narrow = (np.diff(errors.share(0, 2, level)[1:]).item() for level in (0.99, 0.6))
    assert wide > narrow
    broken = compared(first, second, failed=(False, True))
    assert broken.share(0, 1, 0.95) == (-np.inf, -np.inf, np.inf)
    assert broken.share(1, 0, 0.95) == (1.0, 1.0, 1.0)


def test_the_interval_of_a_share_that_is_even_over_time_is_that_of_noise():
    """Each block keeps a quarter of the squared error: no spread over blocks, noise alone."""
    wave = np.tile([[1.0, -1.0], [-1.0, 1.0]], (40, 1))
    errors = compared(wave, 0.5 * wave)
    share, low, _ = errors.share(0, 1, 0.95)
    noise = 2 * 0.7 * np.linalg.norm(0.5 * wave) / np.sum(wave**2)
    assert share == pytest.approx(0.75)
    assert share - low == pytest.approx(2.364624 * noise, rel=1e-5)  # t of 7 degrees, 97.5 %


@settings(max_examples=20)
@given(some.floats(1e-4, 1e4), some.permutations(range(3)), some.integers(0, 5))
def test_neither_units_nor_the_order_of_fits_nor_of_channels_matter(unit, order, seed):
    fits = draws(seed)
    one = compared(*fits, floor=10.0)
    noise = AutoregressiveModel(np.ones(1), (0.7 * unit) ** 2, 100)
    changed = [unit * fits[k][:, ::-1] for k in order]
    other = compared(*changed, noise=noise, floor=10.0 * unit**2)
    place = {k: n for n, k in enumerate(order)}
    for a in range(3):
        for b in range(3):
            assert other.chance(place[a], place[b]) == pytest.approx(one.chance(a, b), abs=1e-9)
            found = other.share(place[a], place[b], 0.9)
            np.testing.assert_allclose(found, one.share(a, b, 0.9), rtol=1e-6, atol=1e-9)


def test_noise_is_that_of_the_best_fit_and_never_more_than_its_error():
    log = linear_log({"delay": [0], "gains": [1]}, [0.5, 0.0])
    none = np.zeros(0, int)
    fits = [held_out_fit(log.held_out, np.array(x), none) for x in ([0.0, 0.0], [0.5, 0.0])]
    errors = HeldOutErrors.of(log.held_out, fits)
    best = fits[1].residuals[0]
    assert fits[1].square == pytest.approx(np.sum(best**2))
    expected = len(best) * np.sum(np.mean(np.diff(best, axis=0) ** 2, axis=0) / 2)
    assert errors.floor == pytest.approx(min(expected, fits[1].square))
    for model, channel in zip(errors.noise[0], best.T, strict=True):
        again = fit_autoregressive(channel)
        np.testing.assert_array_equal(model.coefficients, again.coefficients)
    turned = HeldOutErrors.of(log.held_out, fits[::-1])
    assert turned.floor == errors.floor
    np.testing.assert_array_equal(turned.squares, errors.squares[::-1])
    perfect = HeldOutErrors.of(log.held_out, [fits[1], held_out_fit_without_error(fits[1])])
    assert perfect.floor == 0.0


def held_out_fit_without_error(fit):
    return type(fit)(tuple(0.0 * r for r in fit.residuals), fit.predicted, False, fit.states)


def test_a_recording_that_diverges_is_a_large_finite_error():
    log = linear_log({"delay": [0]}, [0.5])
    fit = held_out_fit(log.held_out, np.array([np.inf]), np.zeros(0, int))
    assert fit.failed and fit.square == np.inf
    assert np.abs(fit.residuals[0]).max() == 1e9


# --- in words ------------------------------------------------------------------------------------


def value(name="kp", at=40.0, found=50.0, low=48.0, high=52.0, unit="", changed=True, **more):
    return {"name": name, "model": at, "start": at, "value": found, "low": low, "high": high,
            "unit": unit, "changed": changed, "at_bound": False} | more  # fmt: skip


def row(*parameters, **more):
    return {"cause": "gains", "label": "gains of the controller", "rank": 1, "state": "named",
            "explained": 0.9, "low": 0.85, "high": 0.94, "unknowns": len(parameters),
            "together": [], "check": "read", "parameters": list(parameters)} | more  # fmt: skip


def test_the_first_change_names_values_by_how_sure_they_are():
    sure = value("sure", 1.0, 2.0, 1.99, 2.01, "N m")
    vague = value("vague", 1.0, 2.0, 1.2, 2.8)
    same = value("same", changed=False)
    found = first_change(row(vague, same, sure), 0.9)
    assert "gains of the controller" in found and "90 % intervals" in found
    assert "90 % (85 % to 94 %)" in found
    assert found.index("sure from 1 to 2 (1.99 to 2.01) N m") < found.index("vague")
    assert "same" not in found
    assert "interval" not in first_change(row(same), 0.9)


def test_more_changes_than_fit_a_sentence_are_counted():
    found = first_change(row(*(value(f"v{k}") for k in range(5))), 0.95)
    assert "and 2 more" in found and "v3" not in found
    assert "more" not in first_change(row(*(value(f"v{k}") for k in range(3))), 0.95)


def test_a_limit_that_the_model_does_not_have_is_none():
    found = first_change(row(value("limit", np.inf, 3.0, 2.9, 3.1, "N m")), 0.95)
    assert "limit from no limit to 3 (2.9 to 3.1) N m" in found


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.954, "95.4 %"), (0.0, "0.0 %"), (-0.5, "-50.0 %"), (-1.5, "worse"), (-np.inf, "fails")],
)
def test_shares_in_words(share, words):
    assert share_text(share) == words


def test_rows_of_the_table_say_where_a_cause_stands():
    assert cause_row(row(value()))[:3] == ["1", "gains of the controller", "90.0 %"]
    told = cause_row(row(value(), state="together", together=["friction", "delay"]))
    assert "friction, delay" in told[-1]
    absent = cause_row({"rank": None, "label": "friction of contacts", "state": "not in the model"})
    assert absent[1] == "friction of contacts" and absent[-1] and absent[0] == absent[2] == ""
    assert cause_row(row(state="no effect"))[-1] != cause_row(row(state="not named"))[-1] == ""


def test_the_page_shows_errors_in_multiples_of_noise():
    summary = {
        "name": "arm", "message": "Change the gains. More.", "level": 0.95, "chosen": ["gains"],
        "held_out": ["log"], "notes": ["a note"], "causes": [row(value(at_bound=True))],
        "gap": {"noise": 0.5, "model": 2.0, "explained": 0.6, "all_free": 0.55},
        "verdict": {"grade": "use", "reasons": [], "comparisons": [], "criteria": []},
    }  # fmt: skip
    page = explanation_report(summary).html()
    assert (
        "Gap between simulation and recording: arm" in page
        and "a note" in page
        and "on a bound" in page
    )
    cells = " ".join(re.sub("<[^>]+>", " ", page).split())
    for words in ("the initial model 2 4", "named: gains 0.6 1.2", "all causes freed 0.55 1.1"):
        assert words in cells
    quiet = explanation_report({**summary, "gap": dict.fromkeys(summary["gap"], 0.0), "notes": []})
    assert "a note" not in quiet.html()
