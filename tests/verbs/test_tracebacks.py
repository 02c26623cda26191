"""What the traceback of an exception shows that leaves a verb."""

import os
import pdb
import re
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest
import trio

import zyg
from zyg.errors import ConversionError, NonScalarOutputError, ZygError

ROOT = str(Path(zyg.__file__).parents[1])


def frames_of(error):
    return [f.name for f in traceback.extract_tb(error.__traceback__)][1:]


def files_of(error):
    return {f.filename for f in traceback.extract_tb(error.__traceback__)}


def fails(x):
    return [1.0][np.size(x) + 5] * x


def f(x):
    return fails(x)


async def later(x):
    return fails(x)


ONE_FILE = [
    lambda: zyg.gradient(f, 3.0),
    lambda: zyg.value_and_gradient(f, 3.0),
    lambda: zyg.pullback(f, 3.0),
    lambda: zyg.pushforward(f, (3.0,), (1.0,)),
    lambda: zyg.jacobian(f, 3.0),
    lambda: zyg.hessian(f, 3.0),
    lambda: zyg.diaghessian(f, np.ones(2)),
    lambda: zyg.hvp(f, 3.0, 1.0),
    lambda: zyg.holomorphic(f, 3j),
    lambda: zyg.wirtinger(f, 3j),
    lambda: zyg.forwarddiff(f, 3.0),
    lambda: zyg.checkpoint(f, 3.0),
    lambda: zyg.explain(f, 3.0),
    lambda: zyg.grad(f)(3.0),
    lambda: zyg.value_and_grad(f)(3.0),
    lambda: zyg.check_gradient(f, 3.0),
    lambda: zyg.gradient(lambda a: zyg.implicit(lambda x, a: f(x), 3.0, a), 1.0),
    lambda: zyg.gradient(lambda x: zyg.checkpoint(f, x), 3.0),
    lambda: zyg.gradient(lambda x: zyg.gradient(f, x)[0], 3.0),
    lambda: zyg.foreign(f, method="difference")(3.0),
]


@zyg.compile
def element(x, k):
    return x[k] * 2


def test_frames_of_a_compiled_function():
    for call in (element, lambda x, k: zyg.gradient(element, x, k)):
        with pytest.raises(IndexError) as info:
            call(np.ones(3), 7)
        assert frames_of(info.value)[-1] == "element"
        assert files_of(info.value) == {__file__}


@pytest.mark.parametrize("call", ONE_FILE)
def test_frames_of_the_user_only(call):
    with pytest.raises(IndexError) as info:
        call()
    assert frames_of(info.value)[-2:] == ["f", "fails"]
    assert files_of(info.value) == {__file__}
    with zyg.config(full_tracebacks=True), pytest.raises(IndexError) as info:
        call()
    assert frames_of(info.value)[-2:] == ["f", "fails"]
    assert len(files_of(info.value)) > 1


def test_the_exception_is_the_same_with_its_cause_and_notes():
    cause = KeyError("cause")
    error = ValueError("f")

    def raises(x):
        error.add_note("a note")
        raise error from cause

    with pytest.raises(ValueError, match="f") as info:
        zyg.gradient(raises, 1.0)
    assert info.value is error
    assert error.__cause__ is cause
    assert error.__notes__ == ["a note"]
    assert frames_of(error)[-1:] == ["raises"]


def test_nested_gradients_keep_all_frames_of_the_user_in_order():
    def inner(y):
        return fails(y)

    def middle(x):
        return zyg.gradient(inner, x)[0]

    def outer(x):
        return zyg.gradient(middle, x)[0]

    with pytest.raises(IndexError) as info:
        zyg.gradient(outer, 1.0)
    assert frames_of(info.value)[-4:] == ["outer", "middle", "inner", "fails"]
    assert files_of(info.value) == {__file__}


def test_the_way_back_too():
    @zyg.adjoint
    def rule(x):
        def rule_pullback(y_bar):
            raise LookupError("on the way back")

        return 2 * x, rule_pullback

    with pytest.raises(LookupError) as info:
        zyg.gradient(rule, 1.0)
    assert frames_of(info.value)[-1] == "rule_pullback"
    assert files_of(info.value) == {__file__}
    _, back = zyg.pullback(rule, 1.0)
    with pytest.raises(LookupError) as info:
        back(1.0)
    assert files_of(info.value) == {__file__}


def test_a_zyg_error_ends_at_the_line_of_the_user():
    def converts(x):
        return float(x)

    with pytest.raises(ConversionError) as info:
        zyg.gradient(converts, 1.0)
    assert frames_of(info.value)[-1] == "converts"
    assert files_of(info.value) == {__file__}
    with pytest.raises(NonScalarOutputError) as info:
        zyg.gradient(np.sin, np.ones(3))
    assert frames_of(info.value) == []
    with pytest.raises(ZygError) as info:
        zyg.jacobian(lambda x: x, 1j)
    assert frames_of(info.value) == []


def test_awaited_and_in_tasks():
    with pytest.raises(IndexError) as info:
        zyg.gradient(later, 3.0)
    assert frames_of(info.value)[-2:] == ["later", "fails"]

    with pytest.raises(IndexError) as info:
        trio.run(zyg.gradient_async, later, 3.0)
    assert not any("zyg/verbs" in file for file in files_of(info.value))

    async def tasks(x):
        async with zyg.trio.open_nursery() as nursery:
            nursery.start_soon(later, x)
        return x

    with pytest.raises(ExceptionGroup) as group:
        zyg.gradient(tasks, 3.0)
    (inner,) = group.value.exceptions
    for error in (group.value, inner):
        assert not any("zyg/trio.py" in file for file in files_of(error))
    assert [x.name for x in traceback.extract_tb(inner.__traceback__)][-2:] == ["later", "fails"]


def test_threads():
    with pytest.raises(IndexError) as info:
        zyg.gradient(lambda x: sum(zyg.threads.map(fails, [x, x])), 3.0)
    assert not any("zyg/threads" in file for file in files_of(info.value))


def test_a_thread(monkeypatch):
    told = []
    monkeypatch.setattr(threading, "excepthook", told.append)

    def started(x):
        thread = zyg.threads.Thread(target=fails, args=(x,))
        thread.start()
        thread.join()
        return x

    zyg.gradient(started, 3.0)
    assert told[0].exc_type is IndexError
    assert {threading.__file__, __file__} == files_of(told[0].exc_value)


@pytest.mark.parametrize("verb", ["init", "update", "step"])
def test_a_step_of_an_optimizer(verb):
    adam = zyg.optimize.adam(0.1)
    state = adam.init({"a": 1.0})
    other = {"b": np.ones(2)}
    args = {"init": ("no number",), "update": (other, state), "step": (other, other, state)}
    with pytest.raises(ZygError) as info:
        getattr(adam, verb)(*args[verb])
    assert files_of(info.value) == {__file__}


def test_adopt():
    with pytest.raises(ZygError) as info:
        zyg.adopt("nowhere_to_be_found")
    assert files_of(info.value) == {__file__}


def test_a_traceback_that_f_has_kept_is_as_it_was():
    kept = []

    def keeps(x):
        try:
            return zyg.checkpoint(f, x)
        except IndexError as error:
            kept.extend([error.__traceback__, len(list(traceback.walk_tb(error.__traceback__)))])
            raise

    with pytest.raises(IndexError):
        zyg.gradient(keeps, 3.0)
    assert len(list(traceback.walk_tb(kept[0]))) == kept[1]


PROGRAM = """
import numpy as np, zyg
def f(x):
    y = x * 2
    breakpoint()
    return np.sum(y)
zyg.gradient(f, np.array([1.0, 2.0]))
"""


IN_A_RULE = """
import numpy as np, zyg
@zyg.adjoint
def double(y):
    breakpoint()
    def back(y_bar):
        y = y_bar + 1
        breakpoint()
        return (2 * y_bar,)
    return 2 * y, back
zyg.gradient(lambda x: np.sum(double(x)), np.array([2.0, 4.0]))
"""


@pytest.mark.parametrize("program", [PROGRAM, IN_A_RULE], ids=["in f", "in a rule"])
def test_breakpoint_shows_plain_values(tmp_path, program):
    script = tmp_path / "script.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", script], input="p y\nup\np 40 + 2\nc\np y\nc\n", text=True,
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert "[2., 4.]" in done.stdout
    assert "42" in done.stdout
    assert program is PROGRAM or "[2., 2.]" in done.stdout  # y of the way back


def test_post_mortem_is_at_the_line_of_the_user(monkeypatch):
    def converts(x):
        here = 2.5
        return float(x) * here

    seen = []
    monkeypatch.setattr(
        pdb.Pdb, "interaction", lambda self, frame, tb: seen.extend(traceback.walk_tb(tb))
    )
    with pytest.raises(ConversionError) as info:
        zyg.gradient(converts, 1.0)
    pdb.post_mortem(info.value.__traceback__)
    assert seen[-1][0].f_locals["here"] == 2.5


POST_MORTEM = """
import numpy as np, zyg
def fails(x):
    here = 2.5
    return [1.0][np.size(x)] * x
def converts(x):
    here = 3.5
    return float(x) * here
@zyg.adjoint
def rule(x):
    def back(x_bar):
        here = 4.5
        return (x_bar / {}[here],)
    return x, back
"""


@pytest.mark.slow
@pytest.mark.parametrize("shell", [["IPython", "--simple-prompt"], ["code"]], ids=["%debug", "pm"])
@pytest.mark.parametrize(
    ("call", "here", "name"),
    [
        ("gradient(fails, 1.0)", 2.5, "fails"),
        ("gradient(converts, 1.0)", 3.5, "converts"),
        ("gradient(rule, 1.0)", 4.5, "back"),
        ("optimize.minimize(fails, 1.0)", 2.5, "fails"),
    ],
)
def test_debugging_afterwards_begins_at_the_line_of_the_user(tmp_path, shell, call, here, name):
    (tmp_path / "program.py").write_text(POST_MORTEM)
    debug = "import pdb; pdb.pm()" if shell == ["code"] else "%debug"
    done = subprocess.run(
        [sys.executable, "-m", *shell], cwd=tmp_path, text=True, capture_output=True,
        input=f"from program import *\nzyg.{call}\n{debug}\np here * 1000\nw\nq\n",
        env={**os.environ, "IPYTHONDIR": str(tmp_path), "PYTHONPATH": ROOT}, timeout=120,
    )  # fmt: skip
    shown = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    assert str(1000 * here) in shown
    assert re.search(rf"> .*program\.py\(\d+\){name}\(\)", shown)
    assert os.path.join(ROOT, "zyg") not in shown
