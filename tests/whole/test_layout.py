"""The architecture: who imports whom, what is public, how large a file may be, what has a doctest."""

# ruff: noqa: E501 - one case per line

import ast
import doctest
import functools
import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import MutableMapping, MutableSequence, MutableSet
from pathlib import Path
from types import ModuleType

import pytest

import zyg
from zyg.base import containers
from zyg.base.registry import LATE
from zyg.compiler.back import python_runtime
from zyg.compiler.front import frame
from zyg.functions.operations import CONVERSION, OPERATIONS

ROOT = Path(zyg.__file__).parent
CONTRIBUTING = (ROOT.parent / "CONTRIBUTING.md").read_text()
FILES = sorted([*ROOT.rglob("*.py"), *(ROOT.parent / "zyg_cuda").rglob("*.py")])

PUBLIC = {
    "Tangent", "adjoint", "adopt", "adopted", "broadcast", "check_adjoint", "check_gradient", "checkpoint", "compile", "config", "diaghessian", "dot",
    "elementwise", "explain", "fixed_point", "flatten", "foreign", "forwarddiff", "fuse", "grad", "gradient", "gradient_async", "hessian",
    "holomorphic", "hook", "hvp", "implicit", "is_traced", "jacobian", "load", "map", "nestlevel",
    "nondifferentiable", "norm", "partials", "prange", "primal", "pullback", "pullback_async", "pushforward", "save", "scalar_rule",
    "sparse_hessian", "sparse_jacobian", "stop_gradient", "value_and_grad", "value_and_gradient",
    "value_and_gradient_async", "vmap", "wirtinger", "wrap_executor",
}  # fmt: skip
# The paths that users import, besides `zyg` itself.
PATHS = {
    "errors", "kernels", "numpy", "math", "cmath", "statistics", "scipy", "trio", "threads", "distributed",
    "autograd", "jax", "joblib", "mpi", "numba", "optimize", "ray", "torch",
}  # fmt: skip


def name_of(path):
    """A file's module: zyg.core.bind, zyg.verbs for a package's __init__."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}
PACKAGES = [m for m, path in MODULES.items() if path.name == "__init__.py" and m != "zyg"]


def floors():
    """The packages of the table in CONTRIBUTING.md, lowest first."""
    table = [line for line in CONTRIBUTING.splitlines() if line.startswith("| `zyg")]
    names = [re.findall(r"`([\w/.]+)`", row.split("|")[1]) for row in table]
    return [name.removesuffix(".py").replace("/", ".") for row in names for name in row]


def page(package):
    """The files that a package's own page names, in reading order."""
    doc = ast.get_docstring(ast.parse(MODULES[package].read_text())) or ""
    rows = re.findall(r"^([a-z_]\w*(?: [a-z_]\w*)*)(?:  +\S.*|$)", doc, re.MULTILINE)
    return [name for row in rows for name in row.split()]


# What files of a package may import for types alone, although it comes later: it holds them.
RECURSIVE = {f"zyg.compiler.front.{name}" for name in ("frame", "interpreter", "whole")}


@functools.cache
def imports(path):
    """The modules of ours that a file imports, wherever in the file it does."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno} imports relatively"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else node.module for name in inner]
        else:
            continue
        found += [name for name in names if name.partition(".")[0] in ("zyg", "zyg_cuda")]
    return found


def is_for_types(modules, other):
    """Whether modules import another where types are checked, if anywhere."""
    for module in modules:
        text = ast.parse(MODULES[module].read_text())
        checks = [
            n for n in text.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"
        ]
        inside = {n for check in checks for n in ast.walk(check)}
        if any(getattr(n, "module", "") == other for n in {*ast.walk(text)} - inside):
            return False
    return True


def floor_of(module, order):
    """The place in CONTRIBUTING.md of the package, or the file, that a module is in."""
    while module not in order:
        module = module.rpartition(".")[0]
        assert module, "no row"
    return order.index(module)


def test_every_package_and_every_file_of_its_own_has_a_row_in_the_table():
    order = floors()
    inside = [m for m in MODULES if m.count(".") == 1 and not m.startswith("zyg_cuda")]

    assert len(order) == len({*order})
    assert {*order} >= {*inside, "zyg", "zyg_cuda"}
    assert {*order} <= {*MODULES}  # files may lie lower than their packages


def test_a_file_imports_from_its_own_package_and_from_those_before_it():
    order = floors()
    for module, path in MODULES.items():
        for other in imports(path):
            assert floor_of(other, order) <= floor_of(module, order), f"{module} imports {other}"


def test_the_two_towers_do_not_know_each_other():
    for module, path in MODULES.items():
        for one, two in (("zyg.core", "zyg.compiler"), ("zyg.compiler", "zyg.core")):
            if module.startswith(one):
                assert not [other for other in imports(path) if other.startswith(two)], module


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_of_a_package_names_its_files_in_the_order_in_which_they_import(package):
    below = [m for m in MODULES if m.rpartition(".")[0] == package]
    named = [f"{package}.{name}" for name in page(package)]

    assert sorted(named) == sorted(below)
    for k, file in enumerate(named):
        inside = [m for m in MODULES if m == file or m.startswith(file + ".")]
        for other in {other for m in inside for other in imports(MODULES[m])}:
            later = [m for m in named[k + 1 :] if other == m or other.startswith(m + ".")]
            if later and not ({*later} <= RECURSIVE and is_for_types(inside, other)):
                pytest.fail(f"{file} comes before {other}, which it imports")
            assert other != package, f"{file} imports {package}, which is not ready"


def test_only_calls_of_kernels_load_the_gpu_and_only_where_an_operand_is_there():
    users = [m for m, path in MODULES.items() if any("zyg_cuda" in o for o in imports(path))]
    outside = [m for m in users if not m.startswith("zyg_cuda")]
    top = [n for n in ast.parse(MODULES[outside[0]].read_text()).body if hasattr(n, "module")]

    assert outside == ["zyg.broadcasting.calls"]
    assert not [n for n in top if "zyg_cuda" in n.module]


@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith("zyg.functions.")])
def test_a_rule_needs_one_import(module):
    kit = "zyg.functions.kit"
    named = imports(MODULES[module])
    others = {m for m in named if m != "zyg.errors" and not m.startswith("zyg.functions.")}
    is_page = MODULES[module].name == "__init__.py"
    is_lower = module in floors()
    assert module == kit or is_page or is_lower or not others, f"give it to authors through {kit}"


@pytest.mark.parametrize("module", [m for m in MODULES if m.count(".") > 1])
def test_a_rule_of_scipys_takes_of_the_floors_below_what_the_kit_has(module):
    if module.startswith("zyg.scipy._"):
        below = ("zyg.base", "zyg.core", "zyg.watched")
        assert not [other for other in imports(MODULES[module]) if other.startswith(below)]


def test_no_list_of_public_names_has_those_of_the_engine():
    for module, path in MODULES.items():
        if module.count(".") > 1 and not module.startswith(
            ("zyg.scipy", "zyg.numpy", "zyg.compiler.back.vector")
        ):
            assert "__all__" not in path.read_text(), module


def named_in_strings(path):
    """The dotted names of ours in a file's strings; docstrings may speak of what users write."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for name in re.findall(r"\bzyg(?:_cuda)?(?:\.[a-zA-Z_]\w*)+", node.value):
                yield node.lineno, name


def is_name_of_a_bridge(name):
    """Whether it is what the public path of a library, which need not be there, imports."""
    path, _, rest = name.rpartition(".")
    known = path.removeprefix("zyg.") in zyg._MODULES
    return known and rest in names_imported(MODULES[path])


def names_imported(path):
    froms = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ImportFrom)]
    return [alias.name for node in froms for alias in node.names]


def test_what_a_string_names_exists():
    for module, path in MODULES.items():
        for line, name in named_in_strings(path):
            try:
                known = name in MODULES or is_name_of_a_bridge(name)
                assert known or pkgutil.resolve_name(name)
            except (ImportError, AttributeError):
                pytest.fail(f"{module}:{line} names {name}, which does not exist")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_the_text_of_a_kernel_imports_exists(dtype):
    called = [row.name for row in OPERATIONS.values() if row.c]
    lines = python_runtime.imports([*called, "wrapping_add", "uint64"], dtype)

    exec(lines, {})
    assert {*re.findall(r"from (zyg[\w.]*)", lines)} <= {*MODULES}


# What is written of operations outside of their table, which would not fit into its rows.
TEXTS = {
    "zyg.compiler.back.llvm_simd": "LLVM's text, of vectors and of single numbers",
    "zyg.compiler.back.llvm_scalar": "LLVM's text, of single numbers where it is another",
    "zyg.compiler.front.complexes": "operations of complex numbers in those of their parts",
    "zyg.compiler.front.scalars": "how Python's numbers raise",
    "zyg.interop.words": "operations that the array API lacks, in those that it has",
    "zyg_cuda.functions": "the GPU's text, of floats and of ints",
}


def tables_of_operations(tree):
    """The dictionaries and sets of a module of which half are names of three operations or more."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Dict, ast.Set)):
            keys = node.keys if isinstance(node, ast.Dict) else node.elts
            keys = [getattr(key, "attr", getattr(key, "value", None)) for key in keys]
            known = [key for key in keys if isinstance(key, str) and key in OPERATIONS]
            known = [key for key in known if OPERATIONS[key].types != CONVERSION]
            if len(known) >= 3 and 2 * len(known) >= len(keys):
                yield node


@pytest.mark.slow
def test_what_is_known_of_operations_is_known_in_their_table():
    texts = {module: ast.parse(path.read_text()) for module, path in MODULES.items()}
    found = [module for module, tree in texts.items() for _ in tables_of_operations(tree)]

    assert {*found} == {*TEXTS}, "make it a column of zyg/functions/operations.py"
    assert len(found) < 8
    assert [*tables_of_operations(ast.parse("{'add': 1, np.sin: 2, 'exp': 3}, {'add', 'sin'}"))]


def test_the_classes_and_modules_that_are_known_by_name_exist():
    for name in (*containers._HOLDERS, *frame._FIXED, *LATE):
        assert pkgutil.resolve_name(name)


# Every dictionary, list or set at the top of a module is filled when modules are imported (a
# registry, which some module owns), or is a `Cache`; these few live with what they speak of.
REGISTRIES = {
    "zyg.autograd._primitives.primitive_jvps": "makers of tangents that users gave",
    "zyg.autograd._primitives.primitive_vjps": "makers of cotangents that users gave",
    "zyg.base.array_types._rows": "rows",
    "zyg.base.caches._all": "caches",
    "zyg.base.config._defaults": "settings",
    "zyg.base.config.least_tape": "a number that machine code reads",
    "zyg.base.config._of_blocks": "limits of blocks that something runs under",
    "zyg.base.containers.ATOMS": "types",
    "zyg.base.labelled.labelled": "classes, when their packages are in use",
    "zyg.interop.libraries.libraries": "libraries",
    "zyg.functions.operations.OPERATIONS": "operations",
    "zyg.interop.words.FUNCTIONS": "words",
    "zyg.base.marks._computing": "methods of SciPy's distributions",
    "zyg.base.marks._for_any_number": "modules",
    "zyg.base.sinks._begins": "functions that call what is being differentiated",
    "zyg.base.sinks.declared": "calls that only look at values, by their dotted names",
    "zyg.base.marks._formulas": "packages",
    "zyg.base.words._meanings": "words",
    "zyg.base.marks._plain": "math",
    "zyg.base.marks._stopping": "verbs",
    "zyg.base.marks._made": "functions that verbs make, as long as they are there",
    "zyg.base.marks._verbs": "verbs",
    "zyg.base.registry.own_verbs": "verbs of compiled functions",
    "zyg.base.words.lowerings": "loops",
    "zyg.base.registry.rules": "rules",
    "zyg.base.registry.short_ways": "rules",
    "zyg.core.strand.ARRAYS": "types",
    "zyg.core.strand.WATCHED": "types",
    "zyg.core.strand.watcher_of": "types",
    "zyg.core.entries.kinds": "entries",
    "zyg.compiling.specialize.FORMS": "verbs of compiled functions",
    "zyg.scipy._interpolate_classes.CLASSES": "classes that stand for SciPy's",
    "zyg.scipy._interpolate_classes.FUNCTIONS": "functions that make objects of these",
    "zyg.tools.ledger.CLASS_OF": "ledger",
    "zyg.verbs.checkpoints.GENERATORS": "classes of random generators",
    "zyg.verbs.checkpoints.GLOBAL_GENERATORS": "random generators",
    "zyg.watched.value.ufunc_methods": "methods",
}
LIVE = {
    "zyg.compiler.draws._drawn": "what was drawn in calls whose operands are alive",
    "zyg.adoption.originals._drop_ins": "functions and modules with a drop-in",
    "zyg.adoption.originals._originals": "the same, by their drop-ins",
    "zyg.adoption.spaces._asked": "what is adopted, until it is released",
    "zyg.adoption.spaces._spaces": "the namespaces of that",
    "zyg.base.adoptable._adopted": "their ids",
    "zyg.base.adoptable.running": "one for each function that is being differentiated",
    "zyg.base.adoptable.turns": "what adoption does when one begins or ends",
    "zyg.base.adoptable._rewritten": "codes of their functions, one for each in their sources",
    "zyg.base.buffers._idle": "memory, as much as pool_bytes allows",
    "zyg.base.bags._printing": "tangents that are being printed",
    "zyg.base.collector._off": "calls that go on with the cyclic collector off",
    "zyg.core.endings.unfinished": "what exceptions ended, until the next way in",
    "zyg.core.kept.kept_arrays": "arrays that open strands keep, which hold them",
    "zyg.verbs.checkpoints.exchanging": "gradients over ranks, while they run",
}
_CHANGES = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem",
    "remove", "setdefault", "update", "__setitem__",
}  # fmt: skip


class _Changes(ast.NodeVisitor):
    """The names that a file changes the object of, and that no function of its own gives one."""

    def __init__(self):
        self.locals, self.found, self.imported = [], set(), {}

    def visit_ImportFrom(self, node):
        for alias in node.names:
            self.imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Lambda(self, node):
        args = node.args
        names = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        names |= {a.arg for a in (args.vararg, args.kwarg) if a}
        if not isinstance(node, ast.Lambda):
            inside = [n for statement in node.body for n in ast.walk(statement)]
            names |= {n.id for n in inside if isinstance(n, ast.Name) and stored_in(n)}
            names -= {name for n in inside if isinstance(n, ast.Global) for name in n.names}
        self.locals.append(names)
        self.generic_visit(node)
        self.locals.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda  # noqa: N815

    def visit_Attribute(self, node):
        if node.attr in _CHANGES:
            self.changed(node.value)
        self.generic_visit(node)

    def visit_Subscript(self, node):
        if stored_in(node):
            self.changed(node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self.changed(node.target)
        self.generic_visit(node)

    def changed(self, target):
        name = ast.unparse(target)
        first, _, rest = name.partition(".")
        if first not in set().union(*self.locals) and not isinstance(target, ast.Subscript):
            self.found.add((first, rest))


def stored_in(node):
    return isinstance(node.ctx, (ast.Store, ast.Del))


def changed_somewhere():
    """The full names of the objects at the top of modules that some line changes."""
    visitors = {module: _Changes() for module in MODULES}
    for module, visitor in visitors.items():
        visitor.visit(ast.parse(MODULES[module].read_text()))
    imported = {
        f"{module}.{name}": full
        for module, visitor in visitors.items()
        for name, full in visitor.imported.items()
    }
    for module, visitor in visitors.items():
        for name, rest in visitor.found:
            full = f"{module}.{name}"
            while full in imported:  # also through a module that hands it on
                full = imported[full]
            yield f"{full}.{rest}" if rest else full


def tops(module):
    """What the statements at the top of a module name, with what they assign."""
    for node in ast.parse(MODULES[module].read_text()).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((t.id, node.value) for t in targets if isinstance(t, ast.Name))


def is_container(module, name, value):
    """Whether a name at the top of a module is a dict, a list, a set, or of a class of those."""
    if module.startswith(
        ("zyg_cuda", "zyg.interop.", "zyg.ray")
    ):  # which need libraries to be imported
        call = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
        kinds = ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp
        return isinstance(value, kinds) or call in ("dict", "list", "set", "defaultdict", "deque")
    made = getattr(importlib.import_module(module), name)
    return isinstance(made, (MutableMapping, MutableSequence, MutableSet))


@pytest.mark.slow
def test_what_is_global_is_a_registry_or_a_cache():
    known, changed = {**REGISTRIES, **LIVE}, {*changed_somewhere()}
    containers = {
        f"{module}.{name}"
        for module in MODULES
        for name, value in tops(module)
        if is_container(module, name, value)
    }
    grown = (containers & changed) - known.keys()
    assert not grown, "name the registry and whose it is, or make it a zyg.base.caches.Cache"
    assert known.keys() <= containers
    assert known.keys() <= changed, "nobody changes it: it is a table, and needs no owner"


def test_the_reader_of_changes_sees_them():
    head = "from zyg import m\ndef g(y):\n    global x\n"
    for line in ("x[0] = 1", "del x[0]", "x |= y", "x.update(y)", "f(x.clear)", "m.x.add(1)"):
        visitor = _Changes()
        visitor.visit(ast.parse(f"{head}    {line}\n    y.add(x)"))
        assert {(visitor.imported.get(n, n), r) for n, r in visitor.found} == {
            ("zyg.m", "x") if "m." in line else ("x", "")
        }


# What functions remember that is neither a user's nor can become much.
FEW = {
    "zyg.compiler.back.arena._shared": "first code, and final code",
    "zyg.compiler.back.object_code._machine": "one of each level of optimisation",
    "zyg.compiler.back.object_code._optimised": "one of each elementary function, type and width",
    "zyg.functions.primitives.products._best_split": "1024 of a few ints",
    "zyg.functions.primitives.products._parsed": "1024 texts of einsum",
    "zyg_cuda.functions.written": "one of each type of floats; numba keeps them anyway",
    "zyg_cuda.memory.load_of": "one of each dtype and width; numba keeps them anyway",
    "zyg_cuda.memory.store_of": "one of each dtype and width; numba keeps them anyway",
}


@pytest.mark.slow
def test_what_a_function_remembers_is_bounded_and_can_be_forgotten():
    """By `remembered`; or it is of no arguments, or of few that are nobody's."""
    few = set()
    for module, path in MODULES.items():
        functions = [n for n in ast.walk(ast.parse(path.read_text())) if hasattr(n, "returns")]
        for f in functions:
            how = {re.sub(r"\(.*", "", ast.unparse(decorator)) for decorator in f.decorator_list}
            if how & {"cache", "functools.cache", "functools.lru_cache"} and ast.unparse(f.args):
                few.add(f"{module}.{f.name}")
    assert few == FEW.keys(), "use zyg.base.caches.remembered"


def test_public_names():
    for name in zyg._LATE:  # loaded when asked for
        assert name in dir(zyg)
        assert callable(getattr(zyg, name))
    assert {*zyg._MODULES} == PATHS - {"errors", "kernels"}  # which are loaded with zyg
    modules = {n for n, v in vars(zyg).items() if isinstance(v, ModuleType)}
    public = {name for name in vars(zyg) if not name.startswith("_")}
    assert public - modules == PUBLIC
    assert {*zyg.__all__} >= PUBLIC  # from zyg import *
    assert not modules & PUBLIC, "a package would hide the function of its name, or be hidden"
    assert {n for n in modules if n not in PATHS and not n.startswith("_")} <= {*inside()}


def inside():
    """The names below zyg that are packages of the engine: no paths for users."""
    return [m.removeprefix("zyg.") for m in MODULES if m.count(".") == 1]


def test_there_are_the_paths_that_users_import():
    for path in PATHS:
        assert f"zyg.{path}" in MODULES


def test_every_public_function_has_a_docstring_with_a_doctest():
    parser = doctest.DocTestParser()
    for name in PUBLIC:
        doc = inspect.getdoc(getattr(zyg, name))
        assert doc, name
        examples = parser.get_examples(doc)
        assert examples, f"{name} has no doctest"
        assert len(examples) <= 6, f"the doctest of {name} is too long"
        first = doc.splitlines()[0]
        assert first.endswith("."), f"the first line of the docstring of {name} is no sentence"
        says = re.search(r"\braise[sd]?\b", doc, re.IGNORECASE)
        assert says or isinstance(getattr(zyg, name), type), f"{name} does not say what it raises"


def test_every_file_says_what_it_is():
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text())), path.name


# Functions of more than 40 lines of code, and why each is one.
LONG = {
    "zyg.compiler.back.vector_exponentials.exponentials": "functions of one dtype",
    "zyg.compiler.front.dispatch.plain_call": "what a call may be of, in the order in which it is asked",
    "zyg.core.reverse._step_back": "the loop over a tape, with contributions written out for speed",
    "zyg_cuda.functions._of_floats": "functions of one dtype, which numba wants as closures",
}


def lines_of_code(function, text):
    """Without its docstring, comments and empty lines."""
    doc = function.body[0].end_lineno if ast.get_docstring(function) else function.lineno
    body = text.splitlines()[doc : function.end_lineno]
    return sum(1 for line in body if line.strip() and not line.lstrip().startswith("#"))


@pytest.mark.slow
def test_no_function_is_longer_than_40_lines_without_a_reason():
    long = set()
    for module, path in MODULES.items():
        text = path.read_text()
        for f in ast.walk(ast.parse(text)):
            if (
                isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))
                and lines_of_code(f, text) > 40
            ):
                long.add(f"{module}.{f.name}")
    assert long == LONG.keys()


def test_no_file_is_longer_than_450_lines():
    for path in FILES:
        lines = len(path.read_text().splitlines())
        assert lines <= 450, f"{name_of(path)} has {lines} lines"


def test_nothing_but_zyg_and_numpy_is_imported_by_zyg():
    code = (
        "import sys, numpy; before = set(sys.modules); import zyg; "
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    new = set(run.stdout.split())
    outside = new - set(sys.stdlib_module_names)
    assert not outside - {"zyg", "numpy"}  # NumPy loads numpy.fft when it is first used
    assert not outside & {"numba", "trio", "scipy"}
    late = {"array", "decimal", "fractions", "hashlib", "heapq", "random", "string", "threading"}
    assert not new & late


def test_importing_zyg_changes_nothing_in_python_or_numpy():
    code = (
        "import numpy as np, sys, warnings; "
        "before = (sys.getrecursionlimit(), np.geterr(), list(warnings.filters), sys.excepthook); "
        "import zyg; "
        "assert before == "
        "(sys.getrecursionlimit(), np.geterr(), list(warnings.filters), sys.excepthook)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_packages_say_that_they_are_typed():
    for package in ("zyg", "zyg_cuda"):
        assert (ROOT.parent / package / "py.typed").exists()


def test_there_is_one_list_of_pythons():
    """The classifiers, which noxfile.py reads; what cannot read them says the same."""
    settings = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())
    name = "Programming Language :: Python :: 3."
    found = [c for c in settings["project"]["classifiers"] if c.startswith(name)]
    pythons = [c.rpartition(" ")[2] for c in found]
    workflow = (ROOT.parent / ".github" / "workflows" / "test.yml").read_text()

    assert pythons == sorted(pythons, key=lambda python: int(python.split(".")[1]))
    assert settings["project"]["requires-python"] == f">={pythons[0]}"
    assert settings["tool"]["ruff"]["target-version"] == "py" + pythons[0].replace(".", "")
    assert [*dict.fromkeys(re.findall(r'"(3\.\d+)"', workflow))] == pythons


def test_no_file_uses_characters_that_cannot_be_typed():
    for path in FILES:
        assert path.read_text().isascii(), path.name


def test_a_file_of_tests_that_cannot_be_imported_is_an_error(tmp_path):
    """Looked through for doctests, it would be skipped, and all its tests with it."""
    shutil.copy(ROOT.parent / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_broken.py").write_text("import no_such_module\n\n\ndef test(): pass\n")
    options = ["--import-mode=importlib", "--doctest-modules", "--doctest-ignore-import-errors"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == pytest.ExitCode.INTERRUPTED, ran.stdout
    assert "no_such_module" in ran.stdout
