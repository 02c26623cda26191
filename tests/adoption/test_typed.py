"""`adopt(__name__)` in what is in no file: the REPL, `python -c`, stdin, cells of a notebook."""

import linecache
import math
import subprocess
import sys
from importlib.machinery import BuiltinImporter
from types import SimpleNamespace

import numpy as np
import pytest

import zyg

START = "import zyg, math\nimport numpy as np\nfrom numpy import sin\nzyg.adopt(__name__)\n"
PROGRAM = """
def f(x):
    y = np.zeros(3)
    y[0] = math.sin(x)
    return y.sum() + sin(x)

print(zyg.gradient(f, 1.0))
"""
PRINTED = f"({2 * math.cos(1.0)!r},)"


@pytest.fixture
def main():
    """The namespace of a program that was given to Python as text."""
    return {"__name__": "__main__", "__loader__": BuiltinImporter, "__spec__": None}


@pytest.fixture
def cell(monkeypatch):
    """cell(names, k, text): runs a cell of a notebook, whose text is kept as IPython keeps it."""
    numbers = {}

    def format_code_name(file):
        return ("Cell", f"In[{numbers[file]}]") if file in numbers else None

    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=format_code_name))
    shells = SimpleNamespace(initialized=lambda: True, instance=lambda: shell)
    module = SimpleNamespace(InteractiveShell=shells)
    monkeypatch.setitem(sys.modules, "IPython.core.interactiveshell", module)

    def run(names, number, text):
        file = f"/tmp/ipykernel_1/{number}.py"
        lines = text.splitlines(keepends=True)
        monkeypatch.setitem(linecache.cache, file, (len(text), None, lines, file))
        numbers[file] = number
        exec(compile(text, file, "exec"), names)

    return run


def test_a_program_without_a_file_is_adopted(main, capsys):
    exec(compile(START + PROGRAM, "<string>", "exec"), main)
    assert capsys.readouterr().out.strip() == PRINTED
    zyg.adopted().release()
    with pytest.raises(zyg.errors.ConversionError):
        zyg.gradient(main["f"], 1.0)


def test_what_is_typed_in_later_is_adopted_too(main):
    exec(START, main)
    exec("from math import exp\ndef g(x): return exp(2 * x)", main)
    assert zyg.gradient(main["g"], 0.0) == (2.0,)
    exec("table = {'exp': math.exp}", main)
    assert zyg.gradient(lambda x: main["table"]["exp"](3 * x), 0.0) == (3.0,)


def test_a_module_that_is_built_in_is_refused_as_ever():
    with pytest.raises(zyg.errors.AdoptionError, match="it is compiled"):
        zyg.adopt("itertools")


REFUSED = {
    "float(x)": "leave out float()",
    "np.float64(x)": "leave out np.float64()",
    "[float(v) for v in [x]][0]": "leave out float()",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_adoption_would_rewrite_is_refused_where_there_is_no_text(main, call):
    exec(START + f"def g(x): return {call}", main)
    with pytest.raises(zyg.errors.ConversionError) as caught:
        zyg.gradient(main["g"], 1.0)
    assert REFUSED[call] in str(caught.value)
    assert "put it in a file or a notebook, where zyg.adopt can read" in str(caught.value)


CURES = {
    "math.sin(x)": "use np.sin instead of math.sin",
    "math.fsum([x, x])": "use zyg.math.fsum instead of math.fsum",
    "float(x)": "leave out float()",
    "sinus(x)": "use np.sin instead of math.sin",
    "1 + 2 * math.hypot(x, 2.0)": "use np.hypot instead of math.hypot",
    "(lambda f: f)(math.sin)(x)": "call zyg.adopt(__name__) once",
}


@pytest.mark.parametrize("call", CURES)
def test_the_call_is_told_where_there_is_no_text(main, call):
    exec(f"import zyg, math\nfrom math import sin as sinus\ndef g(x): return {call}", main)
    with pytest.raises(zyg.errors.ConversionError) as caught:
        zyg.gradient(main["g"], 1.0)
    assert CURES[call] in str(caught.value)
    assert "call zyg.adopt(__name__) once" in str(caught.value)


def test_a_write_is_told_where_there_is_no_text(main):
    exec("import numpy as np\ndef g(x):\n y = np.zeros(3)\n y[0] = x\n return y[0]", main)
    with pytest.raises(zyg.errors.ConversionError, match=r"np\.zeros_like\(x\)"):
        zyg.gradient(main["g"], 1.0)


def test_cells_of_a_notebook_are_adopted_as_they_come(cell, main):
    cell(main, 1, START)
    cell(main, 2, "def f(x):\n    return math.sin(float(x)) * 2\n")
    assert zyg.gradient(main["f"], 0.0) == (2.0,)
    cell(main, 3, "class C:\n    def __init__(self, a): self.a = float(a)\n")
    assert zyg.gradient(lambda a: main["C"](a).a * 3, 1.0) == (3.0,)
    cell(main, 4, "def f(x):\n    return complex(x).real * 5\n")  # again, another
    assert zyg.gradient(main["f"], 1.0) == (5.0,)
    assert main["f"](1.0) == 5.0
    zyg.adopted().release()
    with pytest.raises(zyg.errors.ConversionError):
        zyg.gradient(main["f"], 1.0)


@pytest.mark.slow
def test_a_compiled_function_of_an_adopted_cell_is_compiled(cell, main):
    cell(main, 1, START)
    cell(main, 2, "@zyg.compile\ndef f(x):\n    return float(x) * math.exp(x)\n")
    assert zyg.gradient(main["f"], 0.0) == (1.0,)


def test_a_line_of_a_cell_is_told_by_the_cells_number(cell, main):
    cell(main, 7, "import math\n\ndef f(x):\n    return math.sin(x)\n")
    with pytest.raises(zyg.errors.ConversionError) as caught:
        zyg.gradient(main["f"], 1.0)
    assert "  where: cell 7, line 4, in f: return math.sin(x)\n" in str(caught.value)


def test_what_is_not_compiled_in_a_cell_is_told_by_its_number(cell, main):
    cell(main, 8, "import zyg\n\n@zyg.compile\ndef f(x):\n    return eval('x') ** 2\n")
    with pytest.warns(zyg.errors.PerformanceWarning, match="cell 8, line 5: `eval"):
        assert zyg.gradient(main["f"], 1.0) == (2.0,)


def test_a_rule_of_a_cell_is_told_by_the_cells_number(cell, main):
    cell(main, 5, "import zyg\n\n@zyg.adjoint\ndef f(x):\n    return x, lambda y_bar: 1.0\n")
    with pytest.raises(zyg.errors.AdjointError, match=r"rule of f \(cell 5, line 3\) is wrong"):
        zyg.gradient(main["f"], 1.0)


def test_explanations_name_cells(cell, main):
    cell(main, 9, "import numpy as np\ndef f(x):\n    return np.sin(x)\n")
    assert "cell 9, line 3, in f: return np.sin(x)" in str(zyg.explain(main["f"], 1.0))


@pytest.mark.parametrize("text", ["a shell that is not begun", "no shell", "an older IPython"])
def test_files_are_told_by_their_names(monkeypatch, text):
    shells = SimpleNamespace(
        initialized=lambda: text == "an older IPython",
        instance=lambda: SimpleNamespace(compile=SimpleNamespace()),
    )
    module = SimpleNamespace() if text == "no shell" else SimpleNamespace(InteractiveShell=shells)
    monkeypatch.setitem(sys.modules, "IPython.core.interactiveshell", module)
    with pytest.raises(zyg.errors.ConversionError, match=r"where: .*test_typed\.py:"):
        zyg.gradient(lambda x: float(x), np.float64(1.0))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["-c", "-", "-i", "code"])
def test_programs_that_are_in_no_file_run_adopted(how):
    program = START + PROGRAM
    options = {"-c": ["-c", program], "-": ["-"], "-i": ["-i"], "code": ["-m", "code"]}[how]
    done = subprocess.run(
        [sys.executable, *options],
        input="" if how == "-c" else program + "\nexit()\n" * (how in ("-i", "code")),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert PRINTED in done.stdout, done.stderr


@pytest.mark.slow
def test_cells_of_ipython_are_adopted_and_told_by_their_numbers():
    pytest.importorskip("IPython")
    program = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell({START!r}, store_history=True)
shell.run_cell("def f(x):\\n    return math.sin(float(x))", store_history=True)
shell.run_cell("print(zyg.gradient(f, 0.0)); zyg.adopted().release()", store_history=True)
try:
    zyg = shell.user_ns["zyg"]
    zyg.gradient(shell.user_ns["f"], 0.0)
except zyg.errors.ConversionError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert "(1.0,)" in done.stdout, done.stderr
    assert "where: cell 2, line 2, in f: return math.sin(float(x))" in done.stdout
