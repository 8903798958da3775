"""The signal that stopped this process, for its exit code."""

import signal

_received: list[int] = []


def clear() -> None:
    """Clear the recorded signal at the start of a command."""
    _received.clear()


def note(number: int) -> None:
    """Record a signal; called by the handlers."""
    _received.append(number)


def exit_code() -> int:
    """Exit code of a command that a signal stopped: 128 and the number of the first signal.

    130 for Ctrl-C, 143 for SIGTERM; 130 if no handler was called.
    """
    return 128 + (_received[0] if _received else signal.SIGINT)
