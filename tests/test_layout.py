"""The architecture: who imports whom, what is public, how large a file may be, what has a doctest."""

# ruff: noqa: E501 - one case per line

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import zyg

ROOT = Path(zyg.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# The table of zyg/__init__.py: a file imports from lower floors only.
FLOORS = {
    "errors": 0, "_protocol": 0,
    "scalar_rules": 1, "_registry": 1, "_containers": 1, "_config": 1,
    "_structure": 2,
    "_strand": 3,
    "_memory": 4,
    "_reverse": 5,
    "_entries": 6, "_crossing": 6,
    "_schedule": 7,
    "_dual": 8,
    "_elementwise": 9,
    "_bind": 10,
    "_writes": 11,
    "_attributes": 12,
    "_traced": 13,
    "_numbers": 14, "_arrays": 14,
    "rules._helpers": 14,
    "rules.*": 15, "gradients": 15, "_device": 15,
    "rules": 16, "forward": 16, "_tokens": 16, "threads": 16, "trio": 16, "asynchronous": 16,
    "jacobians": 17, "checkpoints": 17, "_samples": 17, "_patterns": 17, "_shipping": 17,
    "implicit": 18, "sparse": 18, "executors": 18, "_timeline": 18,
    "distributed": 19, "numpy": 19, "math": 19, "scipy": 19, "testing": 19, "explain": 19,
    "scipy._namespace": 19, "scipy._closures": 19, "scipy._incomplete": 19,
    "scipy._special_slopes": 20, "scipy._linalg_systems": 20, "scipy._sparse_rules": 20,
    "scipy._special_table": 21, "scipy._special_functions": 21, "scipy._linalg_factors": 21,
    "scipy._matrix_functions": 21, "scipy._sparse_linalg": 21, "scipy._signal_rules": 21,
    "scipy._optimize_rules": 21, "scipy._integrate_rules": 21,
    "scipy._distributions": 22,
    "scipy.*": 23,
    "kernels.ir": 1, "kernels.geometry": 1, "kernels.buffers": 2, "kernels.threads": 1, "kernels.vector_intrinsics": 1, "kernels.vector_exponentials": 2,
    "kernels.vector_math": 3, "kernels.plain": 1,
    "kernels.record": 2, "kernels.source": 2, "kernels.emit": 2, "kernels.native": 2,
    "kernels.loops": 2, "kernels.arrays": 3,
    "kernels.captures": 3, "kernels.functions": 3, "kernels.joins": 3, "kernels.names": 4,
    "kernels.stored": 1, "kernels.machine": 3, "kernels.compiled": 4, "kernels.branches": 3,
    "kernels.expressions": 4, "kernels.plans": 5,
    "kernels.statements": 5, "kernels.launch": 6,
    "kernels.read": 6,
    "kernels.forward": 7,
    "kernels.scalar": 8,
    "_by_element": 20, "_kernel_calls": 21,
    "broadcasting": 22,
    "__init__": 24,
}  # fmt: skip

PUBLIC = {
    "Tangent", "adjoint", "broadcast", "check_adjoint", "check_gradient", "checkpoint", "config", "diaghessian",
    "elementwise", "errors", "explain", "fixed_point", "forwarddiff", "fuse", "gradient", "gradient_async", "hessian",
    "holomorphic", "hook", "hvp", "implicit", "is_traced", "jacobian", "nestlevel",
    "nondifferentiable", "partials", "primal", "pullback", "pullback_async", "pushforward", "scalar_rule",
    "sparse_hessian", "sparse_jacobian", "stop_gradient", "value_and_gradient",
    "value_and_gradient_async", "wirtinger", "wrap_executor",
}  # fmt: skip
SUBMODULES = {
    "asynchronous", "broadcasting", "checkpoints", "distributed", "errors", "executors", "forward", "gradients",
    "jacobians", "kernels", "math", "numpy", "rules", "scalar_rules", "scipy", "sparse", "testing", "threads",
    "trio",
}  # fmt: skip


def module_of(path):
    """A file's name below zyg: "_bind", "rules.linalg", "rules" for a package's __init__."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1]) if parts[-1] == "__init__" and len(parts) > 1 else ".".join(parts)


def floor_of(module):
    package, _, _ = module.rpartition(".")
    floor = FLOORS.get(module, FLOORS.get(f"{package}.*"))
    assert floor is not None, f"zyg/{module}.py has no place in the table of floors"
    return floor


def imports(path):
    """The modules of zyg that a file imports, wherever in the file it does."""
    package = {module_of(p) for p in FILES}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "zyg" or alias.name.startswith("zyg."):
                    yield alias.name.removeprefix("zyg").removeprefix(".") or "__init__"
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno} imports relatively"
            if node.module == "zyg" or (node.module or "").startswith("zyg."):
                base = node.module.removeprefix("zyg").removeprefix(".")
                for alias in node.names:
                    inner = f"{base}.{alias.name}".removeprefix(".")
                    yield inner if inner in package else base or "__init__"


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_a_file_imports_from_lower_floors_only(path):
    module = module_of(path)
    for other in imports(path):
        assert floor_of(other) < floor_of(module), f"zyg.{module} imports zyg.{other}"


def test_the_table_in_the_package_docstring_names_every_file():
    for path in FILES:
        module = module_of(path)
        name = "rules/" if module.startswith("rules") else module.partition(".")[0]
        assert module == "__init__" or name in zyg.__doc__, module


def test_the_table_in_the_package_docstring_is_in_order_of_floors():
    words = zyg.__doc__.split()
    modules = [m for m in FLOORS if not m.startswith(("rules", "scipy.", "kernels.", "__init__"))]
    for one in modules:
        for other in modules:
            if FLOORS[one] < FLOORS[other]:
                assert words.index(one) < words.index(other), (one, other)


def test_public_names():
    for name in ("broadcast", "elementwise", "fuse", "partials"):  # loaded when asked for
        assert callable(getattr(zyg, name))
    public = {name for name in vars(zyg) if not name.startswith("_")}
    assert public - SUBMODULES == PUBLIC - SUBMODULES
    assert public >= PUBLIC


def test_every_public_function_has_a_docstring_with_a_doctest():
    parser = doctest.DocTestParser()
    for name in PUBLIC - SUBMODULES:
        doc = inspect.getdoc(getattr(zyg, name))
        assert doc, name
        examples = parser.get_examples(doc)
        assert examples, f"{name} has no doctest"
        assert len(examples) <= 6, f"the doctest of {name} is too long"
        first = doc.splitlines()[0]
        assert first.endswith("."), f"the first line of the docstring of {name} is no sentence"


def test_every_file_says_what_it_is():
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text())), path.name


def test_no_file_is_longer_than_450_lines():
    for path in FILES:
        lines = len(path.read_text().splitlines())
        assert lines <= 450, f"{module_of(path)} has {lines} lines"


def test_nothing_but_zyg_and_numpy_is_imported_by_zyg():
    code = (
        "import sys, numpy; before = set(sys.modules); import zyg; "
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    new = set(run.stdout.split()) - set(sys.stdlib_module_names)
    assert not new - {"zyg", "numpy"}  # NumPy loads numpy.fft when it is first used
    assert not new & {"numba", "trio", "scipy"}


def test_importing_zyg_changes_nothing_in_python_or_numpy():
    code = (
        "import numpy as np, sys, warnings; "
        "before = (sys.getrecursionlimit(), np.geterr(), list(warnings.filters), sys.excepthook); "
        "import zyg; "
        "assert before == "
        "(sys.getrecursionlimit(), np.geterr(), list(warnings.filters), sys.excepthook)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "py.typed").exists()


def test_no_file_uses_characters_that_cannot_be_typed():
    for path in FILES:
        assert path.read_text().isascii(), path.name
