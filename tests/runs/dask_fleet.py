"""A Dask scheduler and workers, forked from one process that has imported Dask.

Usage: dask_fleet.py ADDRESS WORKERS [scheduler]

With ``scheduler`` it is started too. Prints the process numbers, of the scheduler first, and ends
them all with its standard input.
"""

import asyncio
import os
import signal
import sys

from distributed import Scheduler, Worker


def forked(make):
    """Process number of a child that runs a server of Dask until it is killed."""
    child = os.fork()
    if child:
        return child

    async def serve():
        async with make() as server:
            await server.finished()

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        asyncio.run(serve())
    finally:
        os._exit(0)


def main():
    address, count, *also = sys.argv[1:]
    makes = [
        lambda number=number: Worker(address, nthreads=1, name=str(number), memory_limit=0)
        for number in range(int(count))
    ]
    if also:
        port = int(address.rpartition(":")[2])
        protocol = address.partition(":")[0]
        makes.insert(0, lambda: Scheduler(host="127.0.0.1", port=port, protocol=protocol,
                                          dashboard=False))  # fmt: skip
    children = [forked(make) for make in makes]
    print(*children, flush=True)
    sys.stdin.read()
    for child in children:
        os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
