"""MPI, whose messages are differentiated: ``comm = zyg.mpi.wrap(MPI.COMM_WORLD)``.

What a rank receives depends on what another rank sent, and its cotangent goes back there. All ranks
take a gradient together, by `value_and_gradient`.

Needs ``pip install -e '.[mpi]'``, which is mpi4py, and an MPI.
"""

from __future__ import annotations

from zyg.ranks.failures import PeerError, RankError
from zyg.ranks.requests import Request
from zyg.ranks.verbs import gradient, pullback, pushforward, value_and_gradient, wrap

__all__ = [
    "PeerError",
    "RankError",
    "Request",
    "gradient",
    "pullback",
    "pushforward",
    "value_and_gradient",
    "wrap",
]
