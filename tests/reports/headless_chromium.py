"""A headless chromium to look at pages with: the DevTools protocol over a pipe, nothing installed.

Used by the tests of the reports and by ``benchmarks/report_size.py``.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """Return the path of a chromium on the PATH, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one page; a context manager."""

    def __init__(self, executable: str):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to descriptor 4. The shell
        # puts them there: both numbers may be taken in this process.
        line = f'exec "$0" "$@" 3<&{read_commands} 4>&{write_answers}'
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                line,
                executable,
                *FLAGS,
                f"--user-data-dir={self._profile.name}",
                "about:blank",
            ],
            pass_fds=(read_commands, write_answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        with contextlib.suppress(OSError, TimeoutError):
            self.command("Browser.close", timeout=5)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._profile.cleanup()

    def command(self, method: str, timeout: float = 60, **parameters: object) -> dict[str, Any]:
        """Send a command and return its result; events that arrive meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        wanted = self._number
        deadline = time.monotonic() + timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == wanted:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._answers], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise TimeoutError("chromium does not answer")
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise OSError("chromium has ended")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; promises are awaited."""
        result = self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait_for(self, expression: str, timeout: float = 30) -> Any:
        """Wait until a JavaScript expression is true and return its value."""
        deadline = time.monotonic() + timeout
        while not (value := self.evaluate(expression)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {timeout:g} s: {expression}")
            time.sleep(0.05)
        return value

    def window(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """Set the size of the window [pixels], the theme of the system, and touch."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        self.command("Emulation.setTouchEmulationEnabled", enabled=phone)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[theme])

    def open(self, path: Path) -> None:
        """Load a file and wait until it has loaded."""
        self.events.clear()
        self.command("Page.navigate", url=path.resolve().as_uri())
        self.wait_for(
            f"document.readyState === 'complete' && location.href.startsWith("
            f"{json.dumps(path.resolve().as_uri())})"
        )

    def screenshot(self, path: Path) -> None:
        """Write what the window shows as a PNG."""
        data = self.command("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def complaints(self) -> list[str]:
        """Return errors and warnings of the console since the page was opened."""
        self.evaluate("1")
        found = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            elif event["method"] == "Runtime.consoleAPICalled":
                if parameters["type"] in ("error", "warning", "assert"):
                    found.append(str(parameters["args"]))
            elif event["method"] == "Log.entryAdded":
                found.append(parameters["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """Return the addresses requested since the page was opened, data inside it left out."""
        self.evaluate("1")
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
            and not event["params"]["request"]["url"].startswith(("data:", "blob:"))
        ]
