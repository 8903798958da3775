"""Packets of Dynamixel Protocol 1.0 and 2.0: servo side, for the simulated servo.

Source: ROBOTIS e-Manual,
https://emanual.robotis.com/docs/en/dxl/protocol2/ and https://emanual.robotis.com/docs/en/dxl/protocol1/.
"""

from dataclasses import dataclass
from typing import Literal

PING, READ, WRITE, REBOOT, STATUS = 0x01, 0x02, 0x03, 0x08, 0x55
SYNC_READ, SYNC_WRITE = 0x82, 0x83
BROADCAST = 0xFE

_HEADER = b"\xff\xff\xfd"
_STUFFED = b"\xff\xff\xfd\xfd"
_POLYNOMIAL = 0x8005


@dataclass(frozen=True)
class Instruction:
    """Instruction packet from the host to a servo."""

    servo_id: int
    code: int
    parameters: bytes
    intact: bool
    """Whether the checksum is correct."""


def crc16(content: bytes) -> int:
    """CRC-16 of Protocol 2.0: polynomial x^16 + x^15 + x^2 + 1, from 0, MSB first."""
    crc = 0
    for byte in content:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (_POLYNOMIAL if crc & 0x8000 else 0)) & 0xFFFF
    return crc


def checksum(content: bytes) -> int:
    """Checksum of Protocol 1.0: the inverted low byte of the sum."""
    return ~sum(content) & 0xFF


def take_instruction(buffer: bytearray, protocol: Literal[1, 2]) -> Instruction | None:
    """Remove the first complete instruction from a buffer; None if there is none yet.

    Bytes before its header are dropped.
    """
    return _take_protocol_2(buffer) if protocol == 2 else _take_protocol_1(buffer)


def status_packet(servo_id: int, error: int, parameters: bytes, protocol: Literal[1, 2]) -> bytes:
    """Status packet: the answer of a servo."""
    if protocol == 1:
        content = bytes([servo_id, len(parameters) + 2, error]) + parameters
        return b"\xff\xff" + content + bytes([checksum(content)])
    body = bytes([STATUS, error]) + parameters
    body = body.replace(_HEADER, _STUFFED)
    packet = _HEADER + bytes([0, servo_id]) + (len(body) + 2).to_bytes(2, "little") + body
    return packet + crc16(packet).to_bytes(2, "little")


def _take_protocol_2(buffer: bytearray) -> Instruction | None:
    start = buffer.find(_HEADER)
    if start < 0:
        del buffer[: max(0, len(buffer) - 2)]
        return None
    del buffer[:start]
    if len(buffer) < 10:
        return None
    length = int.from_bytes(buffer[5:7], "little")
    if len(buffer) < 7 + length:
        return None
    packet = bytes(buffer[: 7 + length])
    del buffer[: 7 + length]
    body = packet[7:-2].replace(_STUFFED, _HEADER)
    intact = int.from_bytes(packet[-2:], "little") == crc16(packet[:-2])
    return Instruction(packet[4], body[0], body[1:], intact)


def _take_protocol_1(buffer: bytearray) -> Instruction | None:
    start = buffer.find(b"\xff\xff")
    if start < 0:
        del buffer[: max(0, len(buffer) - 1)]
        return None
    del buffer[:start]
    if len(buffer) < 6 or len(buffer) < buffer[3] + 4:
        return None
    packet = bytes(buffer[: buffer[3] + 4])
    del buffer[: len(packet)]
    return Instruction(packet[2], packet[4], packet[5:-1], packet[-1] == checksum(packet[2:-1]))
