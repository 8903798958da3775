import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import chirp, lfilter

from trueup.errors import SignalError
from trueup.signals import estimate_delay

RATE = 100.0
TIMES = np.arange(2000) / RATE


def sweep(times):
    return chirp(times, 0.2, 20.0, 5.0)


def smooth_noise(seed):
    """Return a function of time: noise limited to 12 Hz, which can be shifted exactly."""
    random = np.random.default_rng(seed)
    frequencies = random.uniform(0.1, 12.0, 200)
    phases = random.uniform(0, 2 * np.pi, 200)
    return lambda times: np.cos(2 * np.pi * np.outer(times, frequencies) + phases).mean(axis=1)


class TestKnownDelay:
    @given(st.integers(0, 1000), st.floats(0.0, 0.45))
    @settings(max_examples=15, deadline=None)
    def test_noise_shifted_by_any_delay(self, seed, delay):
        signal = smooth_noise(seed)
        found = estimate_delay(TIMES, signal(TIMES), signal(TIMES - delay))
        assert found.reliable
        assert found.delay == pytest.approx(delay, abs=0.1 / RATE)
        assert found.correlation > 0.95

    @pytest.mark.parametrize("delay", [0.0, 0.003, 0.037, 0.25])
    def test_chirp_with_noise(self, delay):
        noise = np.random.default_rng(0).normal(scale=0.05, size=TIMES.size)
        found = estimate_delay(TIMES, sweep(TIMES), sweep(TIMES - delay) + noise)
        assert found.reliable
        assert found.delay == pytest.approx(delay, abs=0.1 / RATE)

    @pytest.mark.parametrize("samples", [0, 1, 5, 40])
    def test_steps_answered_through_a_lag(self, samples):
        switches = np.cumsum(np.random.default_rng(3).uniform(0.5, 1.5, 40))
        command = (np.searchsorted(switches, TIMES) % 2).astype(float)
        response = lfilter([0.3], [1.0, -0.7], np.concatenate((np.zeros(samples), command)))
        found = estimate_delay(TIMES, command, response[: TIMES.size])
        assert found.reliable
        assert found.delay == pytest.approx(samples / RATE, abs=0.7 / RATE)

    def test_one_step(self):
        found = estimate_delay(TIMES, (TIMES > 5.0) * 1.0, (TIMES > 5.085) * 1.0)
        assert found.reliable
        assert found.delay == pytest.approx(0.08, abs=1e-3)

    def test_jittered_clock(self):
        times = TIMES + np.random.default_rng(0).uniform(-2e-3, 2e-3, TIMES.size)
        found = estimate_delay(times, sweep(times), sweep(times - 0.037))
        assert found.reliable
        assert found.delay == pytest.approx(0.037, abs=1e-3)

    def test_command_is_held_between_its_samples_on_a_slower_clock(self):
        command_times = np.arange(0, 20, 0.02) + 3.0
        command = np.random.default_rng(0).normal(size=command_times.size)
        times = np.arange(0, 20, 0.001) + 3.0
        index = np.searchsorted(command_times, times - 0.013 + 1e-9, side="right") - 1
        found = estimate_delay(
            command_times, command, command[np.maximum(index, 0)], response_times=times
        )
        assert found.reliable
        assert found.delay == pytest.approx(0.013, abs=1e-4)
        assert found.resolution == pytest.approx(0.02)

    def test_offset_scale_and_drift_do_not_matter(self):
        command, response = sweep(TIMES), sweep(TIMES - 0.037)
        plain = estimate_delay(TIMES, command, response)
        other = estimate_delay(TIMES + 1e5, 1e3 * command - 7.0, 5.0 + 0.3 * TIMES + response)
        assert other.delay == pytest.approx(plain.delay, abs=1e-3)
        assert other.reliable

    def test_slow_command_and_noise_at_a_high_rate(self):
        """Differences from sample to sample are noise here, the signals themselves are not."""
        times = np.arange(10_000) / 1000.0
        errors = []
        for seed in range(8):
            random = np.random.default_rng(seed)
            tones, phases = random.uniform(1.2, 19.0, 6), random.uniform(0, 2 * np.pi, 6)
            sizes = random.uniform(0.1, 0.4, 6)
            command, late = (
                np.sin(np.outer(shifted, tones) + phases) @ sizes
                for shifted in (times, times - 0.023)
            )
            noise = 0.02 * random.normal(size=times.size)
            found = estimate_delay(times, command, late + noise)
            assert found.reliable
            errors.append(found.delay - 0.023)
        assert np.sqrt(np.mean(np.square(errors))) < 0.2e-3


class TestSignAndDirection:
    def test_inverted_response(self):
        found = estimate_delay(TIMES, sweep(TIMES), -sweep(TIMES - 0.037))
        assert found.reliable
        assert found.correlation < -0.99
        assert found.delay == pytest.approx(0.037, abs=1e-3)
        assert "inverted" in found.sentence

    def test_response_that_leads(self):
        found = estimate_delay(TIMES, sweep(TIMES), sweep(TIMES + 0.05))
        assert found.delay == pytest.approx(-0.05, abs=1e-3)
        assert "leads its command by 50 ms" in found.sentence

    def test_swapping_command_and_response_changes_the_sign(self):
        signal = smooth_noise(7)
        first = estimate_delay(TIMES, signal(TIMES), signal(TIMES - 0.123))
        second = estimate_delay(TIMES, signal(TIMES - 0.123), signal(TIMES))
        assert first.delay == pytest.approx(-second.delay, abs=1e-4)


class TestNotReliable:
    @pytest.mark.parametrize("kind", ["white", "drifting", "random walk"])
    def test_no_relation(self, kind):
        random = np.random.default_rng(11)
        poles = {"white": 0.0, "drifting": 0.98, "random walk": 1.0}[kind]
        found = [
            estimate_delay(
                TIMES,
                *(lfilter([1.0], [1.0, -poles], random.normal(size=TIMES.size)) for _ in "ab"),
            )
            for _ in range(100)
        ]
        # A false alarm has a probability of 1e-3 for each comparison.
        assert sum(estimate.reliable for estimate in found) <= 1
        assert all("No delay" in e.sentence for e in found if not e.reliable)

    def test_periodic_command_is_ambiguous(self):
        fast = 2 * np.pi * 4.0
        found = estimate_delay(TIMES, np.sin(fast * TIMES), np.sin(fast * (TIMES - 0.02)))
        assert not found.reliable
        assert found.delay == pytest.approx(0.02, abs=1e-3)
        assert "20 ms and 270 ms" in found.sentence

    def test_period_beyond_the_range_is_not_ambiguous(self):
        slow = 2 * np.pi * 1.0
        found = estimate_delay(TIMES, np.sin(slow * TIMES), np.sin(slow * (TIMES - 0.02)))
        assert found.reliable
        assert found.delay == pytest.approx(0.02, abs=1e-3)

    def test_delay_beyond_the_range(self):
        slow = 2 * np.pi * 0.2
        found = estimate_delay(
            TIMES, np.sin(slow * TIMES), np.sin(slow * (TIMES - 0.3)), max_delay=0.1
        )
        assert not found.reliable
        assert "still rises" in found.sentence

    def test_two_humps_of_similar_shape(self):
        """A servo that sags under its load seems to come before its command."""
        command = np.exp(-(((TIMES - 10.0) / 3.0) ** 2))
        response = np.exp(-(((TIMES - 9.8) / 3.3) ** 2))
        found = estimate_delay(TIMES, command, response)
        assert not found.reliable
        assert "is not significant" in found.sentence

    @pytest.mark.parametrize("which", ["command", "response"])
    def test_constant(self, which):
        signals = {"command": sweep(TIMES), "response": sweep(TIMES)}
        signals[which] = np.full(TIMES.size, 0.1)
        found = estimate_delay(TIMES, **signals)
        assert not found.reliable
        assert f"the {which} is constant" in found.sentence


class TestWrongInput:
    def test_too_short_for_the_range(self):
        with pytest.raises(SignalError, match=r"up to 0\.5 s require more than 1 s"):
            estimate_delay(TIMES[:90], sweep(TIMES[:90]), sweep(TIMES[:90]))

    def test_clocks_that_do_not_overlap(self):
        with pytest.raises(SignalError, match="overlap for 0 s"):
            estimate_delay(TIMES, TIMES, TIMES, response_times=TIMES + 100.0)

    def test_negative_range(self):
        with pytest.raises(SignalError, match="positive time"):
            estimate_delay(TIMES, TIMES, TIMES, max_delay=-1.0)

    def test_several_columns(self):
        with pytest.raises(SignalError, match="one command and one response"):
            estimate_delay(TIMES, np.zeros((TIMES.size, 2)), TIMES)

    def test_nan(self):
        response = sweep(TIMES)
        response[3] = np.nan
        with pytest.raises(SignalError, match="the response has 1 values that are NaN"):
            estimate_delay(TIMES, sweep(TIMES), response)

    def test_wildly_different_rates(self):
        times = 1e-6 * np.arange(10)
        with pytest.raises(SignalError, match="common clock"):
            estimate_delay(
                np.append(times, 100.0), np.arange(11.0), TIMES, response_times=5 * TIMES
            )


class TestRecordings:
    def test_emps_follows_its_reference_within_milliseconds(self, recorded_data):
        """The position loop of gain 160 1/s follows a ramp 6.2 ms late, the drive adds the rest."""
        from scipy.io import loadmat

        columns = loadmat(recorded_data / "emps" / "DATA_EMPS.mat")
        found = estimate_delay(columns["t"][:, 0], columns["qg"][:, 0], columns["qm"][:, 0])
        assert found.reliable
        assert 0.005 < found.delay < 0.009
        assert found.correlation > 0.999

    def test_softer_servo_is_later(self, recorded_data):
        import json

        delays = []
        for gain in (400, 200, 100):
            file = recorded_data / "xl330_bench" / f"xl330_kp{gain}_sin_time_square.json"
            entries = json.loads(file.read_text())["entries"]
            times, goal, position = (
                np.array([entry[key] for entry in entries], dtype=float)
                for key in ("timestamp", "goal_position", "position")
            )
            estimate = estimate_delay(times, goal, position)
            assert estimate.reliable
            delays.append(estimate.delay)
        assert 0.03 < delays[0] < delays[1] < delays[2] < 0.2
