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
from zyg.tools.elsewhere import LINES

SCIPY = (
    "", ".fft", ".fftpack", ".integrate", ".linalg", ".optimize", ".signal", ".sparse", ".spatial",
    ".special", ".stats",
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


def test_zyg_lists_what_users_call_and_no_package_of_the_engine():
    engine = {"adoption", "base", "core", "functions", "tools", "verbs", "watched"}
    assert engine.isdisjoint(dir(zyg))
    assert engine.isdisjoint(zyg.__all__)
    assert not [name for name in dir(zyg) if name.startswith("_") and not name.startswith("__")]


@pytest.mark.parametrize("name", LINES)
def test_a_name_of_another_library_tells_the_line_to_write(name):
    assert not hasattr(zyg, name)
    with pytest.raises(AttributeError) as caught:
        getattr(zyg, name)
    assert str(caught.value).startswith(f"module 'zyg' has no attribute {name!r}: ")
    assert str(caught.value).endswith(LINES[name])


def test_an_import_of_such_a_name_tells_the_line_too():
    with pytest.raises(ImportError, match=r"name 'vjp' from 'zyg': .*y, back = zyg\."):
        from zyg import vjp  # noqa: F401


@pytest.mark.parametrize("name", ["gradiant", "no_such_name"])
def test_any_other_name_is_answered_as_python_does(name):
    with pytest.raises(AttributeError, match=f"^module 'zyg' has no attribute '{name}'$"):
        getattr(zyg, name)
    with pytest.raises(ImportError, match=f"^cannot import name '{name}' from 'zyg' "):
        exec(f"from zyg import {name}")


@pytest.mark.parametrize(
    "name",
    [
        "vjp", "jvp", "derivative", "jacrev", "jacfwd", "hess", "vhp", "elementwise_grad",
        "grad_and_value", "remat", "tree_map", "tree_flatten", "check_grads", "gradgradcheck",
        "stop_grad",
    ],
)  # fmt: skip
def test_the_line_for_a_name_of_another_library_runs(name):
    x = np.array([1.0, 2.0])
    given = {"zyg": zyg, "f": np.square if name == "tree_map" else lambda x: np.sum(x * x * x)}
    given |= {"np": np, "x": x, "dx": x, "v": x, "args": (x,), "tree": [x]}
    exec(LINES[name].partition(", or ")[0], given)


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
