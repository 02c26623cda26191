"""What is listed, printed and asked for by name: `dir`, `repr`, `isinstance`, `help`."""

import cmath
import functools
import importlib
import math
import pydoc
import re
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import trio

import zyg
from zyg.base import instead

SCIPY = (
    "", ".fft", ".fftpack", ".integrate", ".interpolate", ".linalg", ".ndimage", ".optimize",
    ".signal", ".sparse", ".spatial", ".special", ".stats",
)  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (zyg.numpy, np), (zyg.numpy.linalg, np.linalg), (zyg.numpy.lib, np.lib), (zyg.math, math),
        (zyg.cmath, cmath), (zyg.statistics, statistics), (zyg.trio, trio),
    ],
)  # fmt: skip
def test_a_drop_in_lists_what_its_module_lists(ours, theirs):
    assert dir(ours) == dir(theirs)


@pytest.mark.parametrize("name", SCIPY)
def test_drop_ins_of_scipy_list_what_scipy_lists(name):
    pytest.importorskip("scipy")
    ours, theirs = (importlib.import_module(f"{path}{name}") for path in ("zyg.scipy", "scipy"))

    assert {*dir(ours)} >= {*dir(theirs)}


def test_zyg_lists_its_functions_and_modules_without_loading_them():
    code = (
        "import sys, zyg; names = {*dir(zyg)}; "
        "assert names > {'gradient', 'compile', 'optimize', 'numpy', 'trio', 'threads'}, names; "
        "assert {*sys.modules}.isdisjoint({'trio', 'scipy', 'numba', 'jax', 'torch'}); "
        "assert zyg.math.sin(0.0) == 0.0"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_does_not_ask_for_libraries_that_are_not_there():
    assert "gradient(" in pydoc.render_doc(zyg)


def double(x):
    return 2 * x


@pytest.mark.parametrize("f", [double, lambda x: x, functools.partial(double), np.sin])
def test_what_decorators_make_prints_without_an_address(f):
    made = [
        zyg.elementwise(f), zyg.compile(f), zyg.foreign(f, method="difference"),
        zyg.foreign(f, jacobian=f), zyg.adjoint(lambda x: x),
    ]  # fmt: skip
    for g in made:
        assert re.fullmatch(r"<zyg\.\w+ [\w.<>]+>", repr(g))
    assert repr(zyg.elementwise(double)) == "<zyg.elementwise double>"
    assert repr(zyg.scalar_rule(double, 2.0)) == "<zyg.scalar_rule double>"


def test_an_executor_prints_what_it_runs_on():
    with zyg.wrap_executor(ThreadPoolExecutor(1)) as pool:
        assert repr(pool) == "<zyg.wrap_executor ThreadPoolExecutor>"


def test_nurseries_and_channels_are_what_trio_says_they_are():
    async def f(x):
        send, receive = zyg.trio.open_memory_channel(0)
        assert isinstance(send, trio.abc.SendChannel)
        assert isinstance(receive, trio.abc.ReceiveChannel)
        assert isinstance(send, zyg.trio.MemorySendChannel)
        async with zyg.trio.open_nursery() as nursery:
            assert isinstance(nursery, trio.Nursery)
            assert isinstance(nursery, zyg.trio.Nursery)
            assert {"cancel_scope", "child_tasks", "start", "start_soon"} <= {*dir(nursery)}
            nursery.start_soon(send.send, x)
            return await receive.receive()

    assert trio.run(f, 3.0) == 3.0
    assert zyg.gradient(f, 3.0) == (1.0,)


@pytest.mark.parametrize(("name", "says"), [
    ("vjp", "zyg.pullback(f, *args)"), ("jvp", "zyg.pushforward(f, args, tangents)"),
    ("jit", "zyg.compile(f)"), ("custom_vjp", "@zyg.adjoint"), ("no_grad", "zyg.stop_gradient(x)"),
    ("jacrev", 'zyg.jacobian(f, x, mode="reverse")[0]'), ("grad_and_aux", "has_aux=True"),
    ("tree_map", "zyg.map(f, *structures)"), ("backward", "zyg.gradient(f, *args)"),
    ("scan", "loops and branches"), ("nn", "zyg.optimize"),
])  # fmt: skip
def test_a_name_of_others_is_answered_with_what_to_write(name, says):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; write .*{re.escape(says)}"):
        getattr(zyg, name)
    with pytest.raises(ImportError, match=f"name '{name}' .*write .*{re.escape(says)}"):
        exec(f"from zyg import {name}")
    assert not hasattr(zyg, name)


def test_names_that_nobody_has_are_pythons_business():
    with pytest.raises(AttributeError, match=r"^module 'zyg' has no attribute 'nonsense'$") as e:
        _ = zyg.nonsense
    assert (e.value.obj, e.value.name) == (zyg, "nonsense")  # for a similar name
    with pytest.raises(ImportError, match="cannot import name 'nonsense' from 'zyg'"):
        from zyg import nonsense  # noqa: F401


def test_every_line_that_is_offered_names_what_there_is():
    for line in instead._LINES:
        for name in re.findall(r"zyg((?:\.\w+)+)", line):
            found = zyg
            for part in name[1:].split("."):
                found = getattr(found, part)


def test_what_users_call_is_listed_and_packages_are_not():
    assert {"base", "core", "verbs", "watched", "functions"}.isdisjoint(dir(zyg))
    assert {*zyg.__all__} <= {*dir(zyg)}


OWN = (
    "stats.distributions",
    "linalg.lapack",
    "signal.windows",
    "io",
    "cluster.vq",
)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["import {0}.{1}", "from {0} import {1}", "import {0}; {0}.{1}"])
def test_modules_within_scipys_are_the_drop_in_or_scipys_own(form):
    """In processes of their own, where nothing is loaded before."""
    pytest.importorskip("scipy")
    lines = ["from importlib import import_module", "import sys"]
    for name in (*OWN, "spatial.distance", "spatial.transform", "sparse.linalg"):
        parent, _, last = f"zyg.scipy.{name}".rpartition(".")
        lines += [
            form.format(parent, last),
            f"ours = import_module('{parent}.{last}')",
            f"assert (ours is import_module('scipy.{name}')) == {name in OWN}, ours",
            f"assert getattr(import_module('{parent}'), '{last}') is ours",
        ]
    lines += [
        "copies = {n for n, m in sys.modules.items() if n.startswith('zyg.scipy.')",
        "          and '/scipy/' in (m.__file__ or '').replace('/zyg/scipy', '')",
        "          and m is not sys.modules.get(n.removeprefix('zyg.'))}",
        "assert not copies, copies",
    ]
    subprocess.run([sys.executable, "-W", "ignore", "-c", "\n".join(lines)], check=True)
