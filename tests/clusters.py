"""Clusters of Dask's on this machine, for tests."""

import contextlib

import dask
import distributed


@contextlib.contextmanager
def client_of(where, threads=1):
    """A client of one worker "here", in this process, or of two that are "processes".

    15 s after a worker was lost, Dask gives up the one in its place if that is not there: on a busy
    machine, one that was lost a little later is still on its way.
    """
    n = {"here": 1, "processes": 2}[where]
    options = {"threads_per_worker": threads, "dashboard_address": ":0", "silence_logs": 50}
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(n, processes=n == 2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
