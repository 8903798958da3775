"""Servos of the catalogue and of a user: control tables, drivers of users, and the clock."""

import json
import time

import numpy as np
import pytest

from trueup.actuators import Trajectory, load_catalogue, motor_torque, read_log, servos
from trueup.actuators.equations.scalar_form import scalar_law
from trueup.actuators.record import Bench, RecordSettings, record, standard_gains, table_of
from trueup.actuators.record.driver import Reading, ServoLimits
from trueup.cli import main
from trueup.cli.actuator.connection import Connection
from trueup.errors import HardwareError, ParameterError

BENCH = Bench(mass=0.3, length=0.1)
FAST = RecordSettings(settle=0.02, start_speed=20.0, most_retries=0.5, rate=100.0)

OWN = """\
{name}:
  law: voltage
  vin: 12.0
  kp: 40
  error_gain: 0.1
  parameters: {{kt: [1.0, 0.2, 3.0], R: [3.0, 0.5, 10.0], armature: [0.005, 0.0005, 0.05]}}
"""


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    monkeypatch.setattr("trueup.actuators.catalogue.entries._registered", {})


def own(tmp_path, bus="", name="mine"):
    path = tmp_path / "servos.yaml"
    path.write_text(OWN.format(name=name) + bus)
    return path


@pytest.mark.parametrize("name", servos())
def test_every_servo_of_the_catalogue_is_recorded(name, tmp_path):
    pytest.importorskip("dynamixel_sdk")
    swing = Trajectory("swing", 0.25, "", lambda t: 0.4 * np.sin(8 * t))
    servo = servos()[name]
    with Connection(port="simulated", motor=name, timeout=0.3).opened(BENCH) as driver:
        path = record(
            driver,
            swing,
            tmp_path / "a.json",
            bench=BENCH,
            kp=standard_gains(servo)[-1],
            settings=FAST,
        )
    log = read_log(path)
    assert log.motor == name
    assert np.abs(log.position).max() > 0.05
    assert log.input_volts is not None
    if servo.vin > 0:
        assert log.input_volts[0] == pytest.approx(servo.vin, abs=0.11)


@pytest.mark.parametrize("name", servos())
def test_the_law_of_numbers_is_the_law(name):
    servo = servos()[name]
    values = {p.name: p.initial for p in servo.parameters} | {"torque_saturation": 0.2}
    law, vin = scalar_law(servo, values), servo.vin if servo.vin > 0 else 24.0
    rng = np.random.default_rng(0)
    for error, speed, kp in rng.normal(0.0, [0.5, 4.0, 1.0], (20, 3)):
        kp = abs(kp) * servo.kp
        torque, duty, _ = law(error, speed, *servo.gains(kp), vin)
        expected = motor_torque(servo, values, error, speed, kp=kp, vin=vin)
        np.testing.assert_allclose((torque, duty), expected, rtol=1e-12, atol=1e-15)


def test_an_own_servo_takes_the_table_of_its_family_with_changes(tmp_path, capsys):
    pytest.importorskip("dynamixel_sdk")
    bus = """\
  bus:
    table: dynamixel
    model_numbers: [1060]
    registers:
      current: {address: 126, size: 2, unit: 0.00269, sign: complement}
    set_up: [[11, 1, 3], [84, 2, 0]]
"""
    file = own(tmp_path, bus)
    (servo,) = load_catalogue(file, replace=True)
    table = table_of(servo)
    assert (table.motor, table.protocol, table.model_numbers) == ("mine", 2, (1060,))
    assert table.current is not None
    assert table.current.decode(b"\x64\x00") == pytest.approx(0.269)
    assert [(r.address, r.size, value) for r, value in table.set_up] == [(11, 1, 3), (84, 2, 0)]
    options = ["--port", "simulated", "--motor", "mine", f"catalogue={file}"]
    assert main(["actuator", "read", *options]) == 0
    assert "12.0" in capsys.readouterr().out
    bench = ["--mass", "0.3", "--length", "0.1", "--logdir", str(tmp_path / "raw")]
    assert main(["actuator", "sweep", *options, *bench, "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)["logs"]
    # gains of an eighth to all of the servo's own, four trajectories each
    assert len(planned) == 16
    assert {name.split("_kp")[1].split("_")[0] for name in planned} == {"5", "10", "20", "40"}


@pytest.mark.parametrize("family", ["dynamixel", "dynamixel1", "feetech"])
def test_a_family_is_named_on_the_command_line(family, tmp_path, capsys):
    pytest.importorskip("dynamixel_sdk")
    options = ["--motor", "erob80_50", f"bus={family}"]
    assert table_of(servos()["erob80_50"], family).motor == "erob80_50"
    if family == "dynamixel":  # its register of the voltage holds 48 V
        assert main(["actuator", "read", "--port", "simulated", *options]) == 0
        assert "48.0" in capsys.readouterr().out
    assert main(["actuator", "read", "--port", "/dev/none", *options]) == 2
    assert "/dev/none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("bus", "message"),
    [
        ("  bus: dynamixl\n", "no control table.*'dynamixl'.*dynamixel"),
        ("  bus: {tabel: feetech}\n", "unknown key 'tabel'.*table"),
        ("  bus: {table: feetech, model_numbers: x}\n", "model_numbers: expected integers"),
        ("  bus: {table: feetech, set_up: [[1, 2]]}\n", "set_up: expected rows"),
        ("  bus: {table: feetech, registers: {sped: {}}}\n", "unknown register 'sped'.*speed"),
        ("  bus: {table: feetech, registers: {load: {address: 1}}}\n", "load: expected address"),
        (
            "  bus: {table: feetech, registers: {load: {address: 1, size: 2, unit: 0}}}\n",
            "load: expected address",
        ),
        ("", r"'mine' has no control table.*bus=.*driver="),
    ],
)
def test_a_wrong_bus_of_a_servo_is_named(bus, message, tmp_path):
    (servo,) = load_catalogue(own(tmp_path, bus), replace=True)
    with pytest.raises(HardwareError, match=message):
        table_of(servo)


def test_a_bus_that_is_no_text_is_refused_with_its_file(tmp_path):
    with pytest.raises(ParameterError, match=r"servos\.yaml: servo 'mine': bus: expected"):
        load_catalogue(own(tmp_path, "  bus: 3\n"), replace=True)


DRIVER = """\
from trueup.actuators.record import Reading, ServoLimits

class Driver:
    motor, retries = "erob80_100", 0
    limits = ServoLimits(-3.0, 3.0, 40.0, 56.0, 80.0)
    def __init__(self, port, servo_id):
        self.position = float(servo_id)
    def open(self): ...
    def close(self): ...
    def read(self):
        return Reading(self.position, 0.0, 0.0, 48.0, 25.0)
    def write_goal(self, angle): ...
    def write_torque(self, enable): ...
    def write_gain(self, kp): ...
    def __enter__(self):
        return self
    def __exit__(self, *error): ...

def open_servo(port, servo_id):
    return Driver(port, servo_id)
"""


def test_a_driver_of_a_user_reads_a_servo_on_another_bus(tmp_path, capsys):
    file = tmp_path / "ethercat.py"
    file.write_text(DRIVER)
    options = ["--port", "eth0", "--id", "2", f"driver={file}"]
    assert main(["actuator", "read", "--motor", "erob80_100", "--json", *options]) == 0
    reading = json.loads(capsys.readouterr().out)["reading"]
    assert (reading["position"], reading["input_volts"]) == (2.0, 48.0)
    assert main(["actuator", "read", "--motor", "erob80_50", *options]) == 2
    assert "'erob80_100', expected 'erob80_50'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("1 / 0", "ZeroDivisionError"),
        ("x = 1", "the function open_servo(port, servo_id) is missing"),
        ("def open_servo(port, servo_id): return 3", "returned int, not a driver"),
    ],
)
def test_a_wrong_driver_is_named(content, message, tmp_path, capsys):
    file = tmp_path / "driver.py"
    if content is not None:
        file.write_text(content)
    options = ["--port", "eth0", "--motor", "unitree_go1", f"driver={file}"]
    assert main(["actuator", "read", *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


class InstantDriver:
    """Servo that answers at once and stands where it is told to."""

    motor, retries = "xl330", 0
    limits = ServoLimits(-3.0, 3.0, 1.0, 20.0, 80.0)

    def __init__(self):
        self.position = 0.0

    def open(self): ...
    def close(self): ...
    def read(self):
        return Reading(self.position, 0.0, 0.0, 7.4, 25.0)

    def write_goal(self, angle):
        self.position = angle

    def write_torque(self, enable): ...
    def write_gain(self, kp): ...
    def __enter__(self):
        return self

    def __exit__(self, *error): ...


def test_sampling_keeps_its_clock_while_the_caller_is_busy(tmp_path):
    """Whoever is told of the progress may take longer than many samples."""
    slow = Trajectory("slow", 1.0, "", lambda t: 0.2 * np.sin(3 * t))
    path = record(
        InstantDriver(),
        slow,
        tmp_path / "a.json",
        bench=BENCH,
        kp=100,
        settings=FAST,
        on_progress=lambda share: time.sleep(0.3),
    )
    log = read_log(path)
    assert len(log) > 80  # 100 on an idle machine; 4 if it waited
    assert log.header["missed_samples"] <= 20
    assert log.header["longest_gap"] == pytest.approx(np.diff(log.times).max(), abs=1e-6)
    assert log.header["longest_gap"] < 0.2


def test_an_error_of_the_sampling_is_that_of_the_recording(tmp_path):
    class Broken(InstantDriver):
        reads = 0

        def read(self):
            self.reads += 1
            if self.reads > 30:
                raise HardwareError("the cable is gone")
            return super().read()

    still = Trajectory("still", 2.0, "", np.zeros_like)
    with pytest.raises(HardwareError, match=r"the cable is gone.*partial\.jsonl"):
        record(Broken(), still, tmp_path / "a.json", bench=BENCH, kp=100, settings=FAST)
    lines = (tmp_path / "a.partial.jsonl").read_text().splitlines()
    assert 10 < len(lines) <= 30
