"""Register reads and writes over a serial bus; lost packets are repeated and counted."""

import termios
import time
from typing import Any, Literal

from trueup.errors import HardwareError, MissingExtraError

_SUCCESS = 0  # codes of the dynamixel-sdk
_ALERT = 0x80  # protocol 2: the servo reports a hardware error
_CRC_ERROR = 0x03  # protocol 2: the servo received a corrupt packet
_CHECKSUM_ERROR = 0x10  # protocol 1: the servo received a corrupt packet
_WAIT = 1e-3  # longest wait for bytes before the SDK checks its timeout [s]
_SETTLE = 2e-3  # pause before a packet is repeated [s]
_INSTRUCTION_ERRORS = {
    1: "the instruction failed",
    2: "the instruction is unknown",
    4: "the value is out of range",
    5: "the data has the wrong length",
    6: "the value exceeds its limit",
    7: "the register cannot be accessed now",
}


class ServoBus:
    """Servo on a serial bus with Dynamixel Protocol 1.0 or 2.0.

    Feetech's packets use the frame format of Protocol 1.0.

    Args:
        port: serial port, such as ``/dev/ttyUSB0``.
        servo_id: ID of the servo on the bus, 0 to 252.
        protocol: 1 or 2.
        baud_rate: baud rate [bit/s].
        timeout: waiting time for an answer [s]; longer than the latency timer of a USB adapter,
            16 ms by default.
        attempts: number of attempts to send a packet.

    Raises:
        MissingExtraError: the package dynamixel-sdk is not installed.
    """

    def __init__(
        self,
        port: str,
        servo_id: int,
        *,
        protocol: Literal[1, 2],
        baud_rate: int,
        timeout: float,
        attempts: int,
    ):
        try:
            import dynamixel_sdk
        except ImportError as error:
            purpose = "communication with a servo over a serial bus"
            raise MissingExtraError(purpose, "hardware", "dynamixel-sdk") from error
        self.port = port
        self.servo_id = servo_id
        self._protocol = protocol
        self._baud_rate = baud_rate
        self._timeout = timeout
        self._attempts = attempts
        self._handler: Any = dynamixel_sdk.PortHandler(port)
        self._packets: Any = dynamixel_sdk.PacketHandler(float(protocol))
        self._handler.setPacketTimeout = self._set_timeout
        self.retries = 0
        """Number of repeated packets since the bus was opened."""
        self.alert = 0
        """Error bits of the last answer: an alert (Protocol 2.0) or the faults (1.0)."""

    def open(self) -> None:
        """Open the serial port.

        Raises:
            HardwareError: the port does not exist, is in use, or cannot run at the baud rate.
        """
        self.retries = 0
        try:
            opened = self._handler.setBaudRate(self._baud_rate)
        except (OSError, ValueError, termios.error) as error:
            raise HardwareError(
                f"{self.port}: cannot be opened: {error}. Check the cable, the name of the port "
                "and your permission to use it (group dialout)"
            ) from error
        if not opened:
            raise HardwareError(f"{self.port}: does not support {self._baud_rate} bit/s")
        # The SDK polls in a busy loop; this wait frees the processor.
        self._handler.ser.timeout = _WAIT

    def close(self) -> None:
        """Close the serial port."""
        if self._handler.is_open:
            self._handler.closePort()

    def ping(self) -> int:
        """Model number of the servo."""
        return int(self._attempt("ping", lambda: self._packets.ping(self._handler, self.servo_id)))

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the control table."""

        def exchange() -> tuple[list[int], int, int]:
            data, result, error = self._packets.readTxRx(
                self._handler, self.servo_id, address, size
            )
            if result == _SUCCESS and len(data) != size:
                raise IndexError(f"expected {size} bytes, received {len(data)}")
            return data, result, error

        return bytes(self._attempt(f"read {size} bytes at {address}", exchange))

    def write(self, address: int, content: bytes) -> None:
        """Write bytes of the control table; the servo acknowledges."""
        self._attempt(
            f"write {len(content)} bytes at {address}",
            lambda: (
                None,
                *self._packets.writeTxRx(
                    self._handler, self.servo_id, address, len(content), list(content)
                ),
            ),
        )

    @property
    def _name(self) -> str:
        return f"{self.port}: servo {self.servo_id}"

    def _set_timeout(self, bytes_expected: int) -> None:
        on_the_wire = self._handler.tx_time_per_byte * bytes_expected  # [ms]
        self._handler.setPacketTimeoutMillis(on_the_wire + 1e3 * self._timeout)

    def _attempt(self, what: str, exchange: Any) -> Any:
        reason = ""
        for attempt in range(self._attempts):
            if attempt:
                self.retries += 1
                # Discard a late answer, so that it is not taken for the answer to the next packet.
                time.sleep(_SETTLE)
            # After an interrupted exchange the SDK keeps the port marked as in use.
            self._handler.is_using = False
            try:
                value, result, error = exchange()
            except (OSError, termios.error) as lost:  # SerialException is an OSError
                raise HardwareError(
                    f"{self._name}: the port was lost ({lost}). Check cable and power"
                ) from lost
            except (IndexError, TypeError) as broken:
                # The SDK fails on answers that are shorter than their fields, such as late ones.
                reason = f"a malformed answer ({broken})"
                continue
            if result != _SUCCESS:
                reason = self._packets.getTxRxResult(result).replace("[TxRxResult] ", "")
            elif self._arrived_corrupt(error):
                reason = "the servo received a corrupt packet"
            else:
                self._check(what, error)
                return value
        raise HardwareError(
            f"{self._name}: no valid answer after {self._attempts} attempts to {what}: {reason}. "
            "Check power, cable, baud rate and ID of the servo"
        )

    def _arrived_corrupt(self, error: int) -> bool:
        if self._protocol == 1:
            return bool(error & _CHECKSUM_ERROR)
        return error & ~_ALERT == _CRC_ERROR

    def _check(self, what: str, error: int) -> None:
        if self._protocol == 1:
            self.alert = error
            return
        self.alert = error & _ALERT
        code = error & ~_ALERT
        if code:
            meaning = _INSTRUCTION_ERRORS.get(code, f"error {code}")
            raise HardwareError(f"{self._name}: rejected the request to {what}: {meaning}")
