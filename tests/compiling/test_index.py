"""The next process finds machine code by the code of a function, without reading its source."""

import ast
import marshal
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import zyg

ROOT = Path(__file__).parents[2]
# What would be read, and what reads it.
SPY = """
import linecache, sys
import numpy as np, zyg

def refused(*args, **kwargs):
    raise AssertionError("source was read")

def demand_from_disk():
    linecache.getlines = linecache.getline = linecache.checkcache = refused
    sys.modules["zyg.compiler.front.interpreter"] = None  # an import raises

def came_from_disk():
    return "zyg.compiler.front.source" not in sys.modules
"""
PROGRAM = """
import math, sys
import numpy as np, zyg
import helper

scale = 2.0
weights = np.array([1.0, 2.0, 3.0])
power = 2

def make(n):
    def inner(x, m={default}):
        return helper.h(x) * n + m
    return inner

inner = make({cell})

@zyg.compile
def f(xs, a):
    total = 0.0
    for k in range(len(xs)):
        total += inner(xs[k]) * weights[k] * a ** power
    return total * scale

xs = np.array([0.5, -1.0, 2.0])
print(f(xs, 1.5), zyg.gradient(f, xs, 1.5), zyg.value_and_gradient(f, xs, 1.5))
"""
HELPER = "import math\ndef h(x): return math.sin(x) * {0}\n"
DISK = '\nassert ("zyg.compiler.front.interpreter" not in sys.modules) == {0}, "from disk: {0}"\n'


def run(folder, program=PROGRAM, helper="3", cell="2", default="1", from_disk=None, check=True,
        root=ROOT):  # fmt: skip
    """What a program prints that runs in a process of its own, with machine code in a folder."""
    (folder / "helper.py").write_text(HELPER.format(helper))
    text = program.replace("{cell}", cell).replace("{default}", default)
    text += "" if from_disk is None else DISK.format(from_disk)
    (folder / "program.py").write_text(text)
    environment = {**os.environ, "ZYG_CACHE_DIR": str(folder / "kept"), "PYTHONPATH": str(root),
                   "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
    done = subprocess.run([sys.executable, "-W", "error", str(folder / "program.py")],
                          env=environment, capture_output=True, text=True)  # fmt: skip
    assert not done.returncode or not check, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with the machine code of PROGRAM, and what it prints."""
    folder = tmp_path_factory.mktemp("kept")
    return folder, run(folder, from_disk=False)


@pytest.fixture
def ran(tmp_path, kept):
    """What PROGRAM printed, whose machine code lies in a copy at `tmp_path`."""
    folder, said = kept
    shutil.copytree(folder / "kept", tmp_path / "kept")  # with the permissions
    return said


@pytest.mark.slow
def test_the_next_process_reads_no_source_and_computes_the_same(tmp_path, ran):
    spying = SPY.strip() + "\ndemand_from_disk()\n" + PROGRAM + "\nassert came_from_disk()"

    assert run(tmp_path, spying) == ran
    assert run(tmp_path, "\n\n\n" + PROGRAM, from_disk=True) == ran  # in other lines


MATRICES = """
import numpy as np, zyg
scale = 2.0

@zyg.compile
def f(xs):
    return np.sum(np.sin(xs * scale)) * xs[0]

xs = np.array([0.5, -1.0, 2.0])
print(zyg.jacobian(f, xs), zyg.hessian(f, xs), zyg.hvp(f, xs, xs))
scale = 3.0
print(zyg.hessian(f, xs))
"""


@pytest.mark.slow
def test_matrices_of_derivatives_are_found_too(tmp_path):
    first = run(tmp_path, MATRICES)
    spying = (
        "import zyg.compiling.specialize as s\n"
        "def refused(*args): raise AssertionError('it was read')\ns.specialize = refused\n"
    )

    assert run(tmp_path, spying + MATRICES) == first


PARAMETERS = """
import sys
import numpy as np, zyg

@zyg.compile
def loss(p, x):
    return np.sum(np.tanh(p["w"] * x + p["b"][0])) * p["b"][1]

p = {"w": np.array([0.5, -1.0, 2.0]), "b": [0.3, 2.0]}
print(loss(p, 2.0), zyg.gradient(loss, p, 2.0), zyg.gradient(loss, {**p, "c": 1.0}, 2.0))
"""


@pytest.mark.slow
def test_functions_of_dicts_are_found_too(tmp_path):
    assert run(tmp_path, PARAMETERS, from_disk=False) == run(tmp_path, PARAMETERS, from_disk=True)


CHANGES = [
    {"helper": "4"}, {"cell": "5"}, {"default": "7"},
    {"program": PROGRAM.replace("power = 2", "power = 3")},
    {"program": PROGRAM.replace("total * scale", "total - scale")},
    {"program": PROGRAM.replace("def make", "def range(n): return [0]\ndef make")},
    {"program": PROGRAM.replace("np.array([1.0, 2.0, 3.0])", "[1.0, 2.0, 3.5]")},
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_what_has_changed_is_compiled_anew(tmp_path, ran, change):
    (tmp_path / "other").mkdir()

    assert run(tmp_path, **change, from_disk=False) == run(tmp_path / "other", **change)


@pytest.mark.slow
def test_what_another_zyg_compiled_is_compiled_anew(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "zyg", copy / "zyg", ignore=shutil.ignore_patterns("__pycache__"))
    named = PROGRAM + "\nfrom zyg.compiler.back import stored\nprint(stored.name_of('text'))"
    first = run(tmp_path, named, from_disk=False, root=copy)
    assert run(tmp_path, named, from_disk=True, root=copy) == first

    with (copy / "zyg" / "compiler/back/target.py").open("a") as file:
        file.write("# edited")
    assert run(tmp_path, named, from_disk=False, root=copy) != first


@pytest.mark.slow
def test_captured_floats_and_arrays_are_read_at_each_call(tmp_path, ran):
    changed = PROGRAM.replace("scale = 2.0", "scale = 4.0").replace("[1.0, 2.0", "[1.0, 5.0")
    again = "\nscale = 0.5\nprint(f(xs, 1.5))\npower = 1\nprint(f(xs, 1.5))"
    (tmp_path / "other").mkdir()

    assert run(tmp_path, changed, from_disk=True) == run(tmp_path / "other", changed)
    assert run(tmp_path, changed + again) == run(tmp_path / "other", changed + again)


def files(folder, pattern):
    found = [*(folder / "kept").glob(pattern)]
    assert found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["*.marshal", "*.o"])
@pytest.mark.parametrize("harm", ["damaged", "shortened", "others may write", "gone"])
def test_what_is_not_as_it_was_written_is_compiled_anew(tmp_path, ran, pattern, harm):
    for file in files(tmp_path, pattern):
        content = file.read_bytes()
        if harm == "damaged":
            file.write_bytes(content[:-3] + b"~" + content[-2:])
        elif harm == "shortened":
            file.write_bytes(content[: len(content) // 2])
        elif harm == "gone":
            file.unlink()
        else:
            file.chmod(0o666)

    assert run(tmp_path, from_disk=False) == ran
    assert run(tmp_path, from_disk=True) == ran


@pytest.mark.slow
def test_what_is_another_users_is_compiled_anew(tmp_path, ran):
    other = "import os\nown = os.getuid()\nos.getuid = lambda: own + 1\n" + PROGRAM

    assert run(tmp_path, other, from_disk=False) == ran


@pytest.mark.slow
def test_a_file_that_says_what_does_not_fit_is_compiled_anew(tmp_path, ran):
    from zyg.compiler.back import stored

    for file in files(tmp_path, "*.marshal"):
        said = repr(marshal.loads(file.read_bytes()[32:])).replace("'global'", "'item'")
        content = marshal.dumps(ast.literal_eval(said))
        file.write_bytes(stored._checksum(content) + content)

    assert run(tmp_path, from_disk=False) == ran


@pytest.mark.slow
def test_two_processes_at_once_both_have_it(tmp_path):
    (tmp_path / "helper.py").write_text(HELPER.format("3"))
    (tmp_path / "program.py").write_text(PROGRAM.replace("{cell}", "2").replace("{default}", "1"))
    environment = {**os.environ, "ZYG_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen([sys.executable, str(tmp_path / "program.py")], env=environment,
                                stdout=subprocess.PIPE, text=True) for _ in range(2)]  # fmt: skip
    said = [process.communicate()[0] for process in running]

    assert said[0] == said[1] == run(tmp_path, from_disk=True)


@pytest.mark.slow
@pytest.mark.parametrize(("call", "rule"), [
    ("np.sin(x)", "zyg.config(fallback='silent')\nzyg.scalar_rule(np.sin, lambda x, y: 7.0)"),
    ("helper.h(x)", "helper.h = zyg.scalar_rule(helper.h, lambda x, y: 5.0)"),
])  # fmt: skip
def test_rules_of_the_users_are_those_that_are_there(tmp_path, call, rule):
    text = PROGRAM.replace("helper.h(x)", call)
    with_rule = text.replace("scale = 2.0", f"scale = 2.0\n{rule}")
    (tmp_path / "other").mkdir()
    run(tmp_path, text)

    assert run(tmp_path, with_rule) == run(tmp_path / "other", with_rule)
    assert run(tmp_path, text, from_disk=True) == run(tmp_path, text)


def inverse(x):
    return 1.0 / x


def test_an_entry_that_was_found_and_stops_is_asked_once():
    zyg.compile(inverse)(2.0)
    again = zyg.compile(inverse)
    assert again(2.0) == 0.5

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            again(0.0)
    assert len(again.entries("value")) == 1
