import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import driven_pendulum as pendulum
import pytest

from trueup.cli import main


@pytest.fixture
def files(tmp_path: Path) -> pendulum.Files:
    return pendulum.write(tmp_path)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """Run a command with --json: its exit code and the one object on standard output."""

    def run(*arguments: object) -> tuple[int, Any]:
        code = main([*map(str, arguments), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run
