"""A private PostgreSQL server for a test, reached through a socket in a folder of its own."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

PASSWORD = "open sesame"


def find_programs():
    """Folder of ``initdb`` and ``pg_ctl``, or None; Debian keeps them out of the path."""
    found = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders = ([Path(found).resolve().parent] if found else []) + folders
    return next((f for f in folders if (f / "initdb").exists() and (f / "pg_ctl").exists()), None)


class Server:
    """Started by :meth:`start`; its files go with :meth:`close`."""

    def __init__(self):
        self._programs = find_programs()
        self._folder = Path(tempfile.mkdtemp(prefix="trueup-postgresql-"))
        self._user = None
        if os.geteuid() == 0:  # as which PostgreSQL refuses to run
            users = {user.pw_name for user in pwd.getpwall()}
            self._user = "postgres" if "postgres" in users else "nobody"
            shutil.chown(self._folder, self._user)
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._call(
            "initdb",
            *("-D", self._data, "-U", "postgres", "-A", "scram-sha-256", "--pwfile", secret),
            *("-N", "-E", "UTF8", "--locale=C"),
        )

    @property
    def url(self):
        password = PASSWORD.replace(" ", "%20")
        return f"postgresql://postgres:{password}@/postgres?host={self._folder}"

    @property
    def _data(self):
        return self._folder / "data"

    def start(self):
        options = f"-k {self._folder} -c listen_addresses= -c fsync=off"
        log = self._folder / "log"
        self._call("pg_ctl", "-D", self._data, "-o", options, "-l", log, "-w", "start")

    def stop(self):
        self._call("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def close(self):
        if (self._data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self._folder)

    def _call(self, program, *arguments):
        subprocess.run(
            [self._programs / program, *arguments],
            user=self._user,
            cwd=self._folder,
            check=True,
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
