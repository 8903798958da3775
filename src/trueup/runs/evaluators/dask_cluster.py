"""Evaluation by the workers of a Dask cluster, local or distributed."""

import contextlib
import logging
import os
from collections.abc import Iterator
from typing import Any

from trueup.errors import EvaluationError, FitError, MissingExtraError, listing
from trueup.runs.evaluators._event_loop import event_loop
from trueup.runs.evaluators.child_processes import (
    default_threads,
    environment,
    interrupts_blocked,
    restored_environment,
    thread_limits,
)
from trueup.runs.evaluators.remote_problem import RemoteProblem
from trueup.runs.evaluators.worker_task import pack

_CONNECT = 10.0  # connection timeout of a scheduler [s]
_LOGGERS = ("distributed", "tornado")


class DaskCluster:
    """Evaluate on the workers of a Dask cluster, each of them with its copy of the problem.

    The problem is sent to each worker once, also to those that join later. Candidates of a worker
    that dies are reevaluated by others; a chunk that repeatedly kills its workers is halved until
    the failing candidate is found, which is invalid. A worker evaluates one chunk at a time,
    independent of its number of threads.

    Args:
      scheduler: address of a running scheduler, such as ``"tcp://10.0.0.1:8786"``, or a cluster
        object, such as ``dask_jobqueue.SLURMCluster``; None: a local cluster is started, which
        listens on 127.0.0.1 only and ends with the study.
      workers: number of workers of a local cluster; None: one per core.
      threads: threads of compiled libraries in each worker of a local cluster; None: the cores are
        shared among the workers.
      patience: maximum waiting time without a worker [s]: in a batch system the time that a job may
        wait in the queue.

    Raises:
      FitError: a number that is not positive, or ``workers`` for a running cluster.
      MissingExtraError: Dask is not installed.
    """

    def __init__(
        self,
        scheduler: Any = None,
        *,
        workers: int | None = None,
        threads: int | None = None,
        patience: float = 600.0,
    ):
        try:
            import distributed  # noqa: F401
        except ImportError as error:
            raise MissingExtraError(
                "evaluation on a Dask cluster", "distributed", "distributed"
            ) from error
        if scheduler is not None and (workers is not None or threads is not None):
            raise FitError(
                "workers and threads are not supported with a running scheduler: set them where "
                "its workers are started, and remove them here"
            )
        if (workers or 1) < 1 or (threads or 1) < 1 or not patience > 0:
            raise FitError(
                f"a Dask cluster requires positive numbers: found workers={workers}, "
                f"threads={threads}, patience={patience}"
            )
        self.scheduler = scheduler
        self.workers = workers
        self.threads = threads
        self.patience = patience

    def check(self) -> None:
        """Check that the scheduler of an address can be reached.

        For a caller that checks this before it creates or replaces a folder.

        Raises:
          EvaluationError: it cannot be reached.
        """
        if isinstance(self.scheduler, str):
            with _quiet(), _connected(self.scheduler):
                pass

    @contextlib.contextmanager
    def over(self, problem: Any) -> Iterator[Any]:
        """A problem with the answers of ``problem``, computed by the cluster.

        Raises:
          EvaluationError: the problem cannot be sent, the scheduler cannot be reached, or there are
            no workers; within the context, if the workers are permanently lost.
        """
        payload = pack(problem, by_value=True)
        from trueup.runs.evaluators.dask_session import DaskSession

        with _quiet(), self._client() as (client, threads):
            session = DaskSession(client, self.patience)
            with session.holding(payload, threads):
                yield RemoteProblem(problem, session)

    @contextlib.contextmanager
    def _client(self) -> Iterator[tuple[Any, int | None]]:
        from distributed import Client

        if self.scheduler is not None and not isinstance(self.scheduler, str):
            with Client(self.scheduler, set_as_default=False) as client:
                yield client, None
        elif self.scheduler is not None:
            with _connected(self.scheduler) as client:
                yield client, None
        else:
            with (
                self._local_cluster() as (cluster, threads),
                Client(cluster, set_as_default=False) as client,
            ):
                yield client, threads

    @contextlib.contextmanager
    def _local_cluster(self) -> Iterator[tuple[Any, int]]:
        from dask import config
        from distributed import LocalCluster

        workers = self.workers or os.cpu_count() or 1
        threads = self.threads or default_threads(workers)
        limits = thread_limits(threads)
        settings = {
            "distributed.nanny.pre-spawn-environ": limits,
            # after one retry the halving of chunks finds the failing candidate
            "distributed.scheduler.allowed-failures": 1,
            # Its nanny restarts a worker that died; a cluster that finds it missing after this time
            # would close the nanny, though the restart may be under way.
            "distributed.deploy.lost-worker-timeout": "1000 days",
        }
        # Dask sets variables in this process when it starts a worker, again when one has died
        with restored_environment([*limits, "PYTHONHASHSEED"]), config.set(settings):
            # the threads that start workers, and the workers, inherit that
            with environment(limits), interrupts_blocked():
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    # its server is there in any case: on a free port, two clusters do not meet
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                    memory_limit=0,
                )
            with cluster:
                yield cluster, threads


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Any]:
    from distributed import Client

    with contextlib.ExitStack() as stack:
        try:
            _check_address(address)
            loop = stack.enter_context(event_loop())
            client = Client(address, timeout=_CONNECT, set_as_default=False, loop=loop)
        except (OSError, ValueError) as error:
            raise EvaluationError(
                f"the Dask scheduler at {address!r} cannot be reached: {error}. Start one with  "
                "dask scheduler --host 127.0.0.1  and use the address that it prints (tcp://...), "
                "or evaluate in this process: remove --scheduler, and resume a run that has one "
                "with  trueup study resume RUN workers=1"
            ) from error
        yield stack.enter_context(client)


def _check_address(address: str) -> None:
    """Raise ValueError unless an address is one that this process can open."""
    from distributed import Security
    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.registry import backends

    scheme, rest = parse_address(address)
    if scheme not in backends:
        raise ValueError(f"unknown protocol {scheme!r}, expected {listing(backends)}")
    parse_host_port(rest)
    if scheme in ("tls", "wss") and not Security().get_connection_args("client")["ssl_context"]:
        raise ValueError(
            "it requires TLS, and no certificate is set: give ca-file, client.cert and client.key "
            "below distributed.comm.tls in Dask's configuration"
        )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's logs on the terminal; errors are raised."""
    import distributed  # noqa: F401  configures its loggers

    names = [n for n in logging.root.manager.loggerDict if n.split(".")[0] in _LOGGERS]
    loggers = [logging.getLogger(name) for name in names]
    former = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, former, strict=True):
            logger.setLevel(level)
