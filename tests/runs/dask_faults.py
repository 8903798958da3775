"""Faults of Dask workers, for a test and a benchmark: what happens, to whom, and when it ends."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from remote_study import OneCost

FLEET = Path(__file__).with_name("dask_fleet.py")
LOST_AFTER = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "2 s"}
"""Environment of a scheduler that gives up workers that are silent, sooner than usual."""


def free_address(protocol: str = "tcp") -> str:
    """An address of this machine at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"{protocol}://127.0.0.1:{probe.getsockname()[1]}"


@contextlib.contextmanager
def fleet(
    address: str, workers: int = 4, scheduler: bool = True, **environment: str
) -> Iterator[list[int]]:
    """A scheduler and workers; their process numbers, of the scheduler first."""
    command = [sys.executable, str(FLEET), address, str(workers), *["scheduler"][:scheduler]]
    path = os.pathsep.join([str(FLEET.parent), *sys.path])
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **LOST_AFTER, **environment, "PYTHONPATH": path},
        text=True,
    )
    assert process.stdout is not None
    children = [int(word) for word in process.stdout.readline().split()]
    try:
        yield children
    finally:
        for child in children:  # one that is stopped can only be killed
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        process.communicate()


class Needy(OneCost):
    """A problem that needs memory and a disk, which single processes do not have.

    Args:
      folder: the files ``full`` and ``hungry`` in it hold the numbers of these processes.
      pause: of each candidate [s].
    """

    def __init__(self, folder: Path, pause: float = 0.02):
        super().__init__(pause)
        self.folder = folder

    def costs(self, X, failures=None):
        """Costs of the sphere, where there is space."""
        for name in ("full", "hungry"):
            file = self.folder / name
            if file.is_file() and str(os.getpid()) in file.read_text().split():
                if name == "hungry":
                    np.ones(2**50)
                with Path("/dev/full").open("wb", buffering=0) as disk:
                    disk.write(b"x")
        return super().costs(X, failures)


def openssl(folder: Path) -> dict[str, str]:
    """Make an authority and a certificate; returns the environment that gives them to Dask."""
    ca, key, cert = folder / "ca.pem", folder / "key.pem", folder / "cert.pem"

    def run(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    new = ("req", "-newkey", "rsa:2048", "-nodes", "-subj")
    run(*new, "/CN=robots", "-x509", "-days", "2", "-keyout", "ca.key", "-out", ca.name)
    run(*new, "/CN=dask", "-keyout", key.name, "-out", "cert.csr")
    signed = ("-CA", ca.name, "-CAkey", "ca.key", "-CAcreateserial", "-days", "2")
    run("x509", "-req", "-in", "cert.csr", *signed, "-out", cert.name)
    found = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}
    found["DASK_DISTRIBUTED__COMM__TLS__CA_FILE"] = str(ca)
    for who in ("SCHEDULER", "WORKER", "CLIENT"):
        found[f"DASK_DISTRIBUTED__COMM__TLS__{who}__CERT"] = str(cert)
        found[f"DASK_DISTRIBUTED__COMM__TLS__{who}__KEY"] = str(key)
    return found
