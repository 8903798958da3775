"""Recording through the SDK of the maker from a simulated servo, and all that can go wrong."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.waiting import until

from trueup.actuators import Trajectory, read_log
from trueup.actuators.record import (
    Bench,
    DynamixelDriver,
    RecordSettings,
    SimulatedServo,
    packets,
    plan_sweep,
    record,
    record_sweep,
    recover,
    sweep_seconds,
)
from trueup.actuators.record.bus_driver import FeetechDriver
from trueup.actuators.record.control_tables import FEETECH, MX64, STS3215, XL320, XL330, Register
from trueup.actuators.record.trajectory import MotionLimits
from trueup.errors import HardwareError, RecordingError

pytest.importorskip("dynamixel_sdk")

BENCH = Bench(mass=0.12, length=0.1, arm_mass=0.02)
FAST = RecordSettings(settle=0.02, start_speed=20.0, most_retries=0.5, rate=100.0)
# A loaded machine may leave the thread of the servo waiting.
PATIENT = {"timeout": 0.3}


def swing(duration=0.4):
    return Trajectory("swing", duration, "", lambda t: 0.4 * np.sin(6 * t))


@pytest.fixture
def servo():
    with SimulatedServo() as simulated:
        yield simulated


@pytest.fixture
def driver(servo):
    with DynamixelDriver(servo.port, **PATIENT) as opened:
        yield opened


def test_a_recording_is_a_raw_log_that_can_be_read(servo, driver, tmp_path):
    shares = []
    path = record(
        driver,
        swing(),
        tmp_path / "raw" / "a.json",
        bench=BENCH,
        kp=400,
        settings=FAST,
        on_progress=shares.append,
    )
    log = read_log(path)
    assert (log.motor, log.trajectory, log.kp, log.mass) == ("xl330", "swing", 400.0, 0.12)
    assert (log.arm_mass, log.vin) == (0.02, pytest.approx(7.4))
    assert len(log) > 10
    goals, _ = swing()(log.times)
    np.testing.assert_allclose(log.goal_position, goals, atol=0.5)
    assert np.abs(log.position).max() > 0.15  # it moved
    assert log.load is not None
    assert 0.01 < np.abs(log.load).max() <= 1.0
    assert log.torque_enable.all()
    assert not servo.torque  # limp at the end
    assert servo.gain == 400
    assert not list(tmp_path.rglob("*.partial.jsonl"))
    assert shares
    assert 0 <= min(shares) <= max(shares) < 1


def test_the_torque_follows_the_trajectory(servo, driver, tmp_path):
    drop = Trajectory("drop", 0.5, "", lambda t: np.minimum(3 * t, 0.6), limp=((0.25, np.inf),))
    log = read_log(record(driver, drop, tmp_path / "a.json", bench=BENCH, kp=800, settings=FAST))
    assert log.torque_enable[0]
    assert not log.torque_enable[-1]
    assert log.load is not None
    limp = ~log.torque_enable
    assert np.abs(log.load[limp][1:]).max() == 0.0
    assert log.position[-1] < log.position.max()  # it falls


def test_readings_are_those_of_the_servo(servo, driver):
    servo.angle, servo.speed = 0.5, 0.0
    servo.volts, servo.temperature = 6.8, 41
    first = driver.read()
    assert first.position == pytest.approx(0.5, abs=0.05)
    assert (first.input_volts, first.temperature) == (pytest.approx(6.8), 41)
    driver.write_gain(150)
    driver.write_goal(0.3)
    driver.write_torque(True)
    assert (servo.gain, servo.torque) == (150, True)
    assert servo.goal == pytest.approx(0.3, abs=1e-3)


def test_zero_and_direction_of_the_bench_are_those_of_the_driver(servo):
    with DynamixelDriver(servo.port, zero=0.2, reverse=True, **PATIENT) as driver:
        assert driver.read().position == pytest.approx(0.2, abs=1e-3)
        driver.write_goal(0.5)
    assert servo.goal == pytest.approx(-0.3, abs=1e-3)


@pytest.mark.parametrize("table", [XL320, MX64, STS3215], ids=lambda t: t.motor)
def test_every_protocol_and_control_table_records(table, tmp_path):
    kind = FeetechDriver if table.motor in FEETECH else DynamixelDriver
    with (
        SimulatedServo(table, servo_id=7) as servo,
        kind(servo.port, table.motor, 7, **PATIENT) as driver,
    ):
        assert driver.limits.lowest < -2.5 < 2.5 < driver.limits.highest
        path = record(driver, swing(0.3), tmp_path / "a.json", bench=BENCH, kp=200, settings=FAST)
    log = read_log(path)
    assert log.motor == table.motor
    assert np.abs(log.position).max() > 0.05


@pytest.mark.parametrize(
    "content",
    [b"\xff\xff\xfd", b"\xff\xff\xfd\xfd", b"\xff\xff\xff\xff\xfd\x07", b"\xff\xff\xfd" * 3],
)
def test_answers_that_look_like_a_header_are_stuffed(servo, driver, content):
    """A speed of -1 count before an angle that begins with 0xFD gives FF FF FD in an answer."""
    servo._memory[200 : 200 + len(content)] = content
    assert driver._bus.read(200, len(content)) == content


@given(content=st.binary(min_size=0, max_size=20), cut=st.integers(0, 40))
@pytest.mark.parametrize("protocol", [1, 2])
def test_instructions_are_taken_whole_from_a_stream(protocol, content, cut):
    """Split anywhere and after noise, an instruction comes out as it went in."""
    if protocol == 2:
        body = bytes([packets.WRITE]) + content
        body = body.replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
        packet = b"\xff\xff\xfd\x00\x01" + (len(body) + 2).to_bytes(2, "little") + body
        packet += packets.crc16(packet).to_bytes(2, "little")
    else:
        packet = bytes([1, len(content) + 2, packets.WRITE]) + content
        packet = b"\xff\xff" + packet + bytes([packets.checksum(packet)])
    cut = min(cut, len(packet) - 1)
    buffer = bytearray(b"\x00\x13" + packet[:cut])
    assert packets.take_instruction(buffer, protocol) is None
    buffer += packet[cut:]
    taken = packets.take_instruction(buffer, protocol)
    assert taken == packets.Instruction(1, packets.WRITE, content, True)
    assert not buffer
    buffer = bytearray(packet)
    buffer[-1] ^= 1
    taken = packets.take_instruction(buffer, protocol)
    assert taken is not None
    assert not taken.intact


def test_the_checksum_is_that_of_the_manual():
    """The ping of the ROBOTIS e-Manual, Protocol 2.0: its CRC bytes are 19 4E."""
    assert packets.crc16(bytes.fromhex("FFFFFD00010300 01".replace(" ", ""))) == 0x4E19


@pytest.mark.parametrize("fault", ["lose", "corrupt"])
def test_single_packets_that_fail_are_sent_again(servo, tmp_path, fault):
    fail = getattr(servo, fault)
    with DynamixelDriver(servo.port, timeout=0.05, attempts=6) as driver:
        fail(2)
        driver.read()
        assert driver.retries >= 2
        path = interrupted(driver, tmp_path / "a.json", lambda: fail(2), duration=0.6)
    assert json.loads(path.read_text())["retried_packets"] >= 2
    assert read_log(path).duration > 0.4


@pytest.mark.parametrize("fault", ["lose", "corrupt"])
def test_too_many_lost_packets_in_a_row_are_an_error(servo, fault):
    with DynamixelDriver(servo.port, timeout=0.02, attempts=3) as driver:
        getattr(servo, fault)(100)
        with pytest.raises(HardwareError, match="no valid answer after 3 attempts to read"):
            driver.read()
        getattr(servo, fault)(0)


def test_too_large_a_share_of_lost_packets_stops_safely(servo, tmp_path):
    strict = RecordSettings(settle=0.0, start_speed=20.0, most_retries=0.001, rate=500.0)
    with (
        DynamixelDriver(servo.port, timeout=0.05, attempts=8) as driver,
        pytest.raises(HardwareError, match=r"were lost or corrupt, more than 0\.1 %.*partial"),
    ):
        interrupted(driver, tmp_path / "a.json", lambda: servo.lose(3), strict)
    assert not servo.torque


def once_recording(act):
    """Something that happens a fifth of a second into a recording: at the third report."""
    reports = []

    def on_progress(share):
        reports.append(share)
        if len(reports) == 3:
            act()

    return on_progress


def interrupted(driver, path, act, settings=FAST, duration=20.0):
    return record(
        driver,
        swing(duration),
        path,
        bench=BENCH,
        kp=400,
        settings=settings,
        on_progress=once_recording(act),
    )


def test_a_servo_that_falls_silent_is_an_error_that_warns(servo, tmp_path):
    with (
        DynamixelDriver(servo.port, timeout=0.02, attempts=3) as driver,
        pytest.raises(HardwareError, match=r"no valid answer.*SERVO MAY STILL BE DRIVEN.*partial"),
    ):
        interrupted(driver, tmp_path / "a.json", servo.fall_silent)
    assert not (tmp_path / "a.json").exists()
    assert (tmp_path / "a.partial.jsonl").exists()


def test_an_adapter_that_is_pulled_out_is_an_error_that_warns(servo, tmp_path):
    with (
        DynamixelDriver(servo.port, timeout=0.02, attempts=3) as driver,
        pytest.raises(HardwareError, match=r"SERVO MAY STILL BE DRIVEN.*Switch its power off"),
    ):
        interrupted(driver, tmp_path / "a.json", servo.unplug)
    recovered = read_log(recover(tmp_path / "a.partial.jsonl"))
    assert len(recovered) > 2


def test_a_fault_of_the_servo_stops_it(servo, driver, tmp_path):
    def overload():
        servo.fault = 0b100001

    with pytest.raises(HardwareError, match="reports a fault: input voltage, overload"):
        interrupted(driver, tmp_path / "a.json", overload)
    assert not servo.torque


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"volts": 9.5}, r"stopped: the supply voltage is 9\.5 V, outside 3\.5 to 9\.0 V"),
        ({"temperature": 75}, "stopped: the servo is at 75 degrees C, the limit is 60"),
    ],
)
def test_leaving_the_limits_stops_the_servo(servo, driver, tmp_path, change, message):
    settings = RecordSettings(settle=0.0, start_speed=20.0, patience=3, most_retries=0.5)
    with pytest.raises(HardwareError, match=message):
        interrupted(driver, tmp_path / "a.json", lambda: vars(servo).update(change), settings)
    assert not servo.torque


def test_an_angle_beyond_the_limits_stops_the_servo(servo, driver, tmp_path):
    narrow = RecordSettings(
        settle=0.0, limits=MotionLimits(lowest=-0.5, highest=0.5), margin=0.1, most_retries=0.5
    )

    def push():
        servo.angle = 1.5

    with pytest.raises(HardwareError, match=r"stopped: the servo is at .* outside its range"):
        interrupted(driver, tmp_path / "a.json", push, settings=narrow)
    assert not servo.torque


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"volts": 12.0}, r"not started: the supply voltage is 12\.0 V"),
        ({"temperature": 65}, "not started: the servo is at 65 degrees C"),
        ({"angle": 4.0}, r"not started: the servo is at 4\.\d+ rad"),
    ],
)
def test_a_servo_out_of_its_limits_is_not_started(servo, driver, tmp_path, change, message):
    vars(servo).update(change)
    if "angle" in change:
        servo._pendulum = servo._pendulum.__class__(friction=10.0)
    with pytest.raises(HardwareError, match=message):
        record(driver, swing(), tmp_path / "a.json", bench=BENCH, kp=400)
    assert not servo.torque
    assert not list(tmp_path.iterdir())


def test_the_servo_comes_to_the_start_at_limited_speed(servo, driver, tmp_path):
    servo.angle = 0.6
    servo._pendulum = servo._pendulum.__class__(friction=0.08)  # it stays where it is
    goals = []
    write_goal = driver.write_goal
    driver.write_goal = lambda angle: (goals.append((time.monotonic(), angle)), write_goal(angle))
    torques = []
    write_torque = driver.write_torque
    driver.write_torque = lambda on: (torques.append((on, servo.goal)), write_torque(on))
    settings = RecordSettings(settle=0.0, start_speed=2.0, most_retries=0.5)
    record(driver, swing(0.1), tmp_path / "a.json", bench=BENCH, kp=400, settings=settings)
    assert goals[0][1] == pytest.approx(0.6, abs=0.01)  # where it stands, before the torque is on
    assert torques[1] == (True, pytest.approx(0.6, abs=0.01))
    ramp = [(t, a) for t, a in goals if t < goals[0][0] + 0.28]
    assert len(ramp) > 3
    for (t0, a0), (t1, a1) in itertools.pairwise(ramp):
        assert abs(a1 - a0) <= 2.0 * (t1 - t0) + 0.02


def test_a_log_is_never_replaced_and_a_trajectory_is_checked_before(servo, driver, tmp_path):
    (tmp_path / "a.json").write_text("precious")
    with pytest.raises(RecordingError, match="already exists"):
        record(driver, swing(), tmp_path / "a.json", bench=BENCH, kp=400)
    narrow = RecordSettings(limits=MotionLimits(highest=0.2))
    with pytest.raises(RecordingError, match="goes up to"):
        record(driver, swing(), tmp_path / "b.json", bench=BENCH, kp=400, settings=narrow)
    with pytest.raises(RecordingError, match=r"ends with \.json"):
        record(driver, swing(), tmp_path / "b.txt", bench=BENCH, kp=400)
    assert (tmp_path / "a.json").read_text() == "precious"
    assert not servo.torque


@pytest.mark.parametrize(("number", "finish"), [("SIGINT", "limp"), ("SIGTERM", "hold")])
def test_signals_leave_the_servo_limp_or_holding(servo, driver, tmp_path, number, finish):
    former = signal.getsignal(signal.Signals[number])
    settings = RecordSettings(settle=0.0, start_speed=20.0, finish=finish, most_retries=0.5)
    with pytest.raises(KeyboardInterrupt, match=f"stopped by {number}.*partial"):
        interrupted(
            driver,
            tmp_path / "a.json",
            lambda: os.kill(os.getpid(), signal.Signals[number]),
            settings=settings,
        )
    assert signal.getsignal(signal.Signals[number]) is former
    assert servo.torque is (finish == "hold")
    if finish == "hold":
        assert servo.goal == pytest.approx(servo.angle, abs=0.3)
    log = read_log(recover(tmp_path / "a.partial.jsonl", tmp_path / "b.json"))
    assert log.header["interrupted"] is True
    assert len(log) > 2


def test_what_was_recorded_survives_the_end_of_the_process(tmp_path):
    """Killed without warning: the partial log holds every sample up to then."""
    code = (
        "import numpy as np\n"
        "from trueup.actuators import Trajectory\n"
        "from trueup.actuators.record import *\n"
        "s = RecordSettings(settle=0.0, most_retries=0.9)\n"
        "with SimulatedServo() as servo, DynamixelDriver(servo.port, timeout=0.3) as driver:\n"
        "    record(driver, Trajectory('swing', 60.0, '', np.sin), "
        f"{str(tmp_path / 'a.json')!r}, bench=Bench(0.1, 0.1), kp=400, settings=s)\n"
    )
    partial = tmp_path / "a.partial.jsonl"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        until(lambda: partial.exists() and partial.read_bytes().count(b"\n") >= 6, process)
    finally:
        process.kill()
        process.wait()
    with partial.open("ab") as file:
        file.write(b'{"timestamp": 1.2, "posi')  # a line that was cut off
    log = read_log(recover(partial))
    assert len(log) >= 5
    assert not (tmp_path / "a.json").exists()
    with pytest.raises(RecordingError, match="already exists"):
        recover(partial)


def test_a_file_that_is_no_partial_log_is_refused(tmp_path):
    for text, message in (("", "0 lines"), ("{}\n[]\n", "line 2 is not"), ("{]\n", "line 1 is")):
        path = tmp_path / "x.partial.jsonl"
        path.write_text(text)
        with pytest.raises(RecordingError, match=message):
            recover(path)


def test_an_earlier_partial_log_is_kept(servo, driver, tmp_path):
    (tmp_path / "a.partial.jsonl").write_text("earlier")
    record(driver, swing(0.1), tmp_path / "a.json", bench=BENCH, kp=400, settings=FAST)
    assert (tmp_path / "a-1.partial.jsonl").read_text() == "earlier"


def test_a_sweep_goes_on_where_it_stopped(servo, driver, tmp_path):
    trajectories = [swing(0.2), Trajectory("still", 0.2, "", np.zeros_like)]

    def plan():
        return plan_sweep(
            "xl330", tmp_path, bench=BENCH, gains=[100, 200], trajectories=trajectories
        )

    planned = plan()
    assert [item.path.name for item in planned] == [
        "xl330_m0.12_l0.1_kp100_swing_a0.02.json",
        "xl330_m0.12_l0.1_kp100_still_a0.02.json",
        "xl330_m0.12_l0.1_kp200_swing_a0.02.json",
        "xl330_m0.12_l0.1_kp200_still_a0.02.json",
    ]
    assert not list(tmp_path.iterdir())  # a plan writes nothing
    seen = []

    def stop_in_the_third(now):
        seen.append((now.number, now.seconds_left))
        if now.number == 3 and now.fraction > 0:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="kp200_swing"):
        record_sweep(driver, planned, bench=BENCH, settings=FAST, on_progress=stop_in_the_third)
    assert not servo.torque
    assert [left for _, left in seen] == sorted((left for _, left in seen), reverse=True)
    first = planned[0].path.read_bytes()
    again = plan()
    assert [item.done for item in again] == [True, True, False, False]
    assert sweep_seconds(again) < sweep_seconds(planned)
    paths = record_sweep(driver, again, bench=BENCH, settings=FAST)
    assert [read_log(path).kp for path in paths] == [100, 100, 200, 200]
    assert planned[0].path.read_bytes() == first
    with pytest.raises(RecordingError, match="contains another recording"):
        planned[0].path.write_bytes(planned[3].path.read_bytes())
        plan()


def test_a_sweep_without_anything_to_do_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="at least one gain"):
        plan_sweep("xl330", tmp_path, bench=BENCH, gains=[], trajectories=[swing()])


def test_the_wrong_servo_port_and_number_are_named(servo):
    with pytest.raises(HardwareError, match="model number 1200; a xl320 has '350'"):
        DynamixelDriver(servo.port, "xl320", **PATIENT).open()
    with pytest.raises(HardwareError, match="no valid answer after 2 attempts to ping"):
        DynamixelDriver(servo.port, servo_id=9, timeout=0.02, attempts=2).open()
    with pytest.raises(HardwareError, match="cannot be opened"):
        DynamixelDriver("/dev/no-such-port").open()
    with pytest.raises(HardwareError, match="does not support 12345"):
        DynamixelDriver(servo.port, baud_rate=12345).open()
    with pytest.raises(
        HardwareError, match=r"no control table for servo 'xl333'.* Available: 'xl330'"
    ):
        DynamixelDriver(servo.port, "xl333")


def test_the_limits_in_the_servo_hold(servo, tmp_path):
    servo._store_raw(XL330.lowest_angle, 2048 - 512)
    servo._store_raw(XL330.highest_angle, 2048 + 256)
    with DynamixelDriver(servo.port, zero=0.1, **PATIENT) as driver:
        limits = driver.limits
        assert (limits.lowest, limits.highest) == pytest.approx((-np.pi / 4 - 0.1, np.pi / 8 - 0.1))
        assert (limits.lowest_volts, limits.highest_volts) == pytest.approx((3.5, 9.0))
        assert limits.highest_temperature == 70
        with pytest.raises(RecordingError, match=r"goes up to 0\.4 rad"):
            record(driver, swing(), tmp_path / "a.json", bench=BENCH, kp=400)
    with pytest.raises(HardwareError, match="is not open"):
        _ = DynamixelDriver(servo.port).limits


def test_values_that_do_not_fit_are_refused(driver):
    with pytest.raises(HardwareError, match=r"an integer, got 0\.5"):
        driver.write_gain(0.5)
    with pytest.raises(HardwareError, match="does not fit"):
        driver.write_gain(70000)
    for wrong in ({"mass": -1.0, "length": 0.1}, {"mass": 1.0, "length": 0.1, "vin": 0.0}):
        with pytest.raises(HardwareError, match="of the bench must be"):
            Bench(**wrong)
    with pytest.raises(HardwareError, match="'limp' or 'hold'"):
        RecordSettings(finish="stop")  # type: ignore[arg-type]


@pytest.mark.parametrize("sign", ["complement", 10, 15])
@pytest.mark.parametrize("value", [-1.0, -0.3, 0.0, 0.3, 1.0])
def test_registers_decode_what_they_encode(sign, value):
    register = Register(0, 2, 1e-3, sign)
    assert register.decode(register.encode(value)) == pytest.approx(value)
