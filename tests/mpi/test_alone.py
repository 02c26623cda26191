"""One rank, in the process of the tests: what needs no other."""

import subprocess
import sys

import pytest

from tests.mpi.launch import ROOT, needs_mpi

pytestmark = needs_mpi

PROGRAM = """
import numpy as np
import zyg
import zyg.numpy as znp
from mpi4py import MPI

comm = zyg.mpi.wrap(MPI.COMM_SELF)
x = np.array([1.0, 2.0])
"""


def run(text):
    """What a program says, in a process of its own: MPI is started once for each."""
    command = [sys.executable, "-c", PROGRAM + text]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)


def printed(text):
    ran = run(text)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_importing_zyg_or_its_path_starts_no_mpi():
    text = "import sys, zyg; zyg.mpi; print('mpi4py' in sys.modules, 'mpi4py.MPI' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout.split() == ["False", "False"], ran.stderr


@pytest.mark.slow
def test_the_examples_of_the_docstrings():
    assert printed("print(zyg.mpi.gradient(lambda x: comm.allreduce(x * x), 3.0, comm=comm))") == (
        "(6.0,)\n"
    )
    assert printed(
        "print(zyg.mpi.value_and_gradient(lambda x: comm.reduce(x * x), 3.0, comm=comm))"
    ) == ("(9.0, (6.0,))\n")


@pytest.mark.slow
def test_types_and_dtypes_are_those_of_what_was_sent():
    made = printed(
        "def f(x):\n"
        "    for y in (1.5, np.float64(1.5), np.float32(1.5), 1j, np.ones(2, np.float32)):\n"
        "        for watched in (False, True):\n"
        "            z = comm.allreduce(y * zyg.stop_gradient(x[0]) if not watched else y)\n"
        "            comm.isend(z, 0)\n"
        "            w = comm.recv()\n"
        "            assert type(w) is type(z), (type(w), type(z))\n"
        "    single = x.astype(np.float32)\n"
        "    comm.isend(single, 0)\n"
        "    got = comm.recv()\n"
        "    assert got.dtype == np.float32\n"
        "    return np.sum(got) + np.sum(comm.allreduce(single).astype(float))\n"
        "print(zyg.mpi.gradient(f, x, comm=comm)[0].tolist())"
    )
    assert made == "[2.0, 2.0]\n"


@pytest.mark.slow
def test_raw_calls_say_what_to_wrap():
    ran = run("zyg.gradient(lambda x: MPI.COMM_SELF.bcast(np.sum(x)), x)")
    assert "zyg.mpi.wrap(comm) has calls of mpi4py's" in ran.stderr
    ran = run("zyg.gradient(lambda x: MPI.COMM_SELF.Bcast(x), x)")
    assert "comm = zyg.mpi.wrap(comm)" in ran.stderr


@pytest.mark.slow
def test_requests_of_ours_are_none_of_mpis():
    ran = run(
        "zyg.mpi.gradient(lambda x: MPI.Request.waitall([comm.isend(x, 0)]) and x[0], x, comm=comm)"
    )
    assert "TypeError" in ran.stderr


@pytest.mark.slow
def test_messages_of_other_code_are_constants():
    made = printed(
        "def f(x):\n"
        "    MPI.COMM_SELF.isend(3.0, 0, tag=2)\n"
        "    scale = comm.recv(tag=2)\n"
        "    assert type(scale) is float\n"
        "    MPI.COMM_SELF.Isend(np.ones(2), 0, tag=3)\n"
        "    ones = znp.empty(3)\n"
        "    comm.Recv(ones, tag=3)\n"
        "    assert type(ones[0]) is np.float64\n"
        "    x = x * ones[:2]\n"
        "    return scale * np.sum(x)\n"
        "print(zyg.mpi.gradient(f, x, comm=comm)[0].tolist())"
    )
    assert made == "[3.0, 3.0]\n"


@pytest.mark.slow
def test_one_more_reading_of_a_tape_names_the_calls():
    made = run(
        "with zyg.config(check_nan=True):\n"
        "    zyg.mpi.gradient(lambda x: np.sum(np.sqrt(comm.allreduce(x - x))), x, comm=comm)"
    )
    assert "NonFiniteError" in made.stderr


@pytest.mark.slow
def test_communicators_that_are_freed_leave_nothing():
    """MPI has some two thousand at a time."""
    made = printed(
        "def f(x):\n"
        "    part = comm.Split(0, 0)\n"
        "    y = part.allreduce(x)\n"
        "    part.Free()\n"
        "    return np.sum(y * y)\n"
        "for _ in range(1100):\n"
        "    g = zyg.mpi.gradient(f, x, comm=comm)\n"
        "    zyg.mpi.pushforward(f, (x,), (x,), comm=comm)\n"
        "print(g[0].tolist())"
    )
    assert made == "[2.0, 4.0]\n"


@pytest.mark.slow
def test_a_message_is_whole_though_its_request_is_dropped():
    """MPI reads what goes to oneself when it is received."""
    made = printed(
        "def f(x):\n"
        "    for _ in range(200):\n"
        "        comm.Isend(np.sin(np.ones(50) * x[0]), 0)\n"
        "        comm.isend(np.cos(np.ones(50) * x[1]), 0)\n"
        "        junk = [np.full(50, 7.0) for _ in range(9)]\n"
        "        y = znp.empty(50)\n"
        "        comm.Recv(y)\n"
        "        z = comm.recv()\n"
        "        x = np.stack([y[3], z[4]])\n"
        "    return x[0] * x[1]\n"
        "def alone(x):\n"
        "    for _ in range(200):\n"
        "        x = np.stack([np.sin(x[0]), np.cos(x[1])])\n"
        "    return x[0] * x[1]\n"
        "g, h = zyg.mpi.gradient(f, x, comm=comm)[0], zyg.gradient(alone, x)[0]\n"
        "print(np.array_equal(g, h))"
    )
    assert made == "True\n"
