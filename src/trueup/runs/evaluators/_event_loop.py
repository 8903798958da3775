"""An event loop in a separate thread, for a Dask client."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def event_loop() -> Iterator[Any]:
    """A running ``tornado.ioloop.IOLoop``, which ends with the context.

    A client with its own loop does not stop it when it cannot connect, or loses its scheduler.
    """
    from tornado.ioloop import IOLoop

    loops: list[Any] = []
    ends: list[asyncio.Event] = []
    started = threading.Event()

    async def run() -> None:
        loops.append(IOLoop.current())
        ends.append(asyncio.Event())
        started.set()
        await ends[0].wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="Dask client", daemon=True)
    thread.start()
    started.wait()
    try:
        yield loops[0]
    finally:
        loops[0].add_callback(ends[0].set)
        thread.join()
