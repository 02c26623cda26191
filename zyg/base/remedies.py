"""The one remedy for the call that was refused, found in the source of the line that made it."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable
from traceback import walk_tb
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from zyg.base.adoptable import adoptable, is_adopted, outside
from zyg.base.caches import Cache
from zyg.base.scipys import (
    NO_RULE,
    instead_of,
    instead_of_scipy,
    is_scipys,
    public_name,
    scipys_among,
)
from zyg.base.sinks import is_known, names_at
from zyg.cells import read_again
from zyg.errors import is_installed, is_users, user_frame

_ANY = "use functions of zyg.numpy or zyg.math"
_OF_ADOPTED = "use NumPy's functions on x itself, not on what is made of it"
_NO_METHOD = re.compile(r"no callable (\w+) method")
_PLAIN_VALUE = "zyg.stop_gradient(x) gives the plain value if that is what you want"


# What to call instead of a function of these packages, of which some rename their frames.
BRIDGES = {
    "torch": "zyg.torch.wrap(f)(x)",
    "jax": "zyg.jax.wrap(f)(x)",
    "jaxlib": "zyg.jax.wrap(f)(x)",
    "numba": "zyg.numba.wrap(f)(x)",
}
WRITING = "json", "tqdm"  # what takes plain numbers, and makes texts of them
WRAP = (  # a communicator of MPI
    "zyg: if it is a watched array, wrap the communicator, comm = zyg.mpi.wrap(comm), and take the "
    "gradient with zyg.mpi.value_and_gradient(f, *args, comm=comm) on all ranks."
)
# What sends values, and their derivatives, to another process instead of these packages.
_EXECUTOR = "zyg.wrap_executor(pool) has calls that are differentiated"
_POOL = "zyg.wrap_executor(ProcessPoolExecutor()) has calls that are differentiated"
_CLUSTER = "zyg.distributed.wrap_client(client) has tasks that are differentiated"
SENDERS = {
    "joblib": 'call zyg.joblib.register(): joblib.parallel_config(backend="zyg") has calls in '
    'processes that are differentiated, backend="threading" in threads',
    "joblib.memory": "f.func(x) for f(x): joblib keeps what the function f.func returns",
    "loky": _EXECUTOR,
    "distributed": _CLUSTER,
    "dask": _CLUSTER,
    "ray": "write from zyg import ray for import ray: its tasks are differentiated, and its actors "
    "by the arguments of their calls, not by what their class holds",
    "multiprocessing": _POOL,
    "concurrent": _EXECUTOR,
    "aiomultiprocess": _POOL,
}


def remedy(otherwise: str = "") -> str:
    """What to write in place of the call of the user's that runs now, or for the plain value."""
    by_adoption = _of_library()
    return f"{by_adoption}." if by_adoption else f"{instead(otherwise)}; {_PLAIN_VALUE}."


def instead(otherwise: str = "") -> str:
    """What to write in place of the call of the user's that runs now.

    In a library that is to adopt it; in the user's own lines what the call says, or `otherwise`.
    """
    frame = user_frame()
    if by_adoption := _of_library():
        return by_adoption
    caller = outside(frame)
    if frame is None or caller is None:
        return _ANY
    if caller is frame:
        cure, alone = _of_call(frame)
        cure = cure or otherwise
    else:
        cure, alone = instead_of_scipy(_up(frame)), False
    if alone or cure.startswith(NO_RULE):
        return cure
    adopt = f"call {call} once" if (call := adoptable(caller)) else ""
    known = ", or ".join(filter(None, [cure, adopt]))
    return known or (_OF_ADOPTED if is_adopted(caller.f_globals) else _ANY)


_told: Cache[tuple[int, int, bool], tuple[CodeType, str]] = Cache(1024)


def instead_as_told() -> str:
    """`instead()`, found once for each call of the user's, of what is not refused but slow."""
    frame = outside(user_frame())
    if frame is None:
        return instead()
    code = frame.f_code  # by its identity: the hash of a code takes its time
    at = id(code), frame.f_lasti, is_adopted(frame.f_globals)
    known = _told.get(at)
    if known is None or known[0] is not code:
        known = _told.put(at, (code, instead()))
    return known[1]


def _up(frame: FrameType | None) -> list[FrameType]:
    """The frames of SciPy's from this one outwards."""
    frames = []
    while frame is not None and is_scipys(frame):
        frames.append(frame)
        frame = frame.f_back
    return frames


def instead_of_objects(error: BaseException) -> str:
    """What to write where an exception says that an array of watched objects is none of numbers."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    scipys = scipys_among(frames)
    cure = instead_of_scipy(scipys) if scipys else ""
    if cure.startswith(NO_RULE):
        return cure
    if found := _NO_METHOD.search(str(error)):  # which plain numbers have not
        return f"write np.{found[1]}(np.stack(xs)) for np.{found[1]}(xs) of a list of both kinds"
    theirs = [f for f in frames if outside(f) is f and is_users(f.f_code.co_filename)]
    call = adoptable(theirs[-1]) if theirs else ""
    if call and is_installed(theirs[-1].f_code.co_filename):
        return f"call {call} once"
    ways = ["use np.stack([x, y]) instead of np.array([x, y])", "x instead of np.asarray(x)"]
    adopt = "or call zyg.adopt(__name__) once" if call else ""
    return ", ".join(filter(None, [*ways, cure.removeprefix("use "), adopt]))


def _of_library() -> str:
    """What to do where an installed library is what runs, and can be adopted."""
    caller = outside(user_frame())
    if caller is None or not is_installed(caller.f_code.co_filename):
        return ""
    package = caller.f_globals.get("__name__", "").partition(".")[0]
    if is_known(caller):
        return (
            "write the call as a statement, by the function's name, or give it zyg.stop_gradient(x)"
            ": numbers that it returns have no derivative"
        )
    if package in BRIDGES:
        return f"call {BRIDGES[package]} instead of f(x)"
    return f"call {adopt} once, and try again" if (adopt := adoptable(caller)) else ""


def _of_call(frame: FrameType) -> tuple[str, bool]:
    """What to write in place of the call that a frame is at, if something is known.

    And whether nothing else helps.
    """
    call = _running_call(frame)
    f = _called(call, frame) if call else None
    if call is None or f is None:
        return "", False
    if alone := next((say(f, call) for is_of, say in _ALONE if is_of(f)), ""):
        return alone, True
    return next((say(f, call) for is_of, say in _CURES if is_of(f)), ""), False


def _running_call(frame: FrameType) -> ast.Call | None:
    """The call that a frame is at, if it is one; without its source, of the argument x."""
    code = frame.f_code
    line, last, start, end = list(code.co_positions())[frame.f_lasti // 2]
    if line is None or last is None or start is None or end is None:
        return None
    lines = [linecache.getline(code.co_filename, n, frame.f_globals) for n in range(line, last + 1)]
    text = "".join(lines).encode()
    text = text[start : len(text) - len(lines[-1].encode()) + end]
    text = text or f"{'.'.join(names_at(code, frame.f_lasti))}(x)".encode()
    try:
        with read_again():
            tree = ast.parse(b"(" + text + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.Call) else None


def _called(call: ast.Call, frame: FrameType) -> Any:
    """The function of a call, if its name is one of a variable's or a module's."""
    names, node = [], call.func
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    scopes = (frame.f_locals, frame.f_globals, frame.f_builtins)
    value = next((s[node.id] for s in scopes if node.id in s), None)
    for name in reversed(names):
        is_namespace = isinstance(value, (ModuleType, type)) or _is_random(value)
        is_namespace = (
            is_namespace or _is_of_ctypes(value, "ctypes") or _is_of_ctypes(value, "cffi.api")
        )
        is_namespace = is_namespace or (name == "astype" and isinstance(value, np.ndarray))
        value = getattr(value, name, None) if is_namespace else None
    return getattr(value, "original", value)  # of a drop-in


def _is_random(x: Any) -> bool:
    """Whether a value is a generator of NumPy's, which is not loaded to tell."""
    return type(x).__module__.startswith("numpy.random")


def _is_of_ctypes(x: Any, module: str) -> bool:
    """Whether a value is a library ("ctypes") or a function ("_ctypes") of ctypes."""
    return any(t.__module__ == module for t in type(x).__mro__)


# What to write in place of a call, by the function that was called.


def _of_math(f: Any, call: ast.Call) -> str:
    name = f.__name__
    return (
        f"use {'np' if hasattr(np, name) else 'zyg.math'}.{name} instead of {f.__module__}.{name}"
    )


def _of_conversion(f: Any, call: ast.Call) -> str:
    said = f"leave out {ast.unparse(call.func)}(), or use x.astype(...) for an array"
    if f is complex and len(call.args) == 2:
        said = "write {} + 1j * {} instead of complex".format(*map(_factor, call.args))
    frame = user_frame()
    if frame is None or linecache.getlines(frame.f_code.co_filename, frame.f_globals):
        return said
    typed = ", or put it in a file or a notebook, where zyg.adopt can read the function"
    return said + typed if is_adopted(frame.f_globals) else said


def _factor(node: ast.expr) -> str:
    """The text of an expression, as a factor."""
    return f"({ast.unparse(node)})" if isinstance(node, ast.BinOp) else ast.unparse(node)


def _of_list(f: Any, call: ast.Call) -> str:
    """A flat list is stacked; NumPy alone has nothing for a nested one."""
    name, given = ast.unparse(call.func), call.args[0] if call.args else None
    flat = _is_flat(given)
    if given and flat:
        return f"write np.stack({ast.unparse(given)}) instead of {name}"
    if flat is None:
        return f"leave out {name}(), or use zyg.numpy.{f.__name__}"
    return f"use zyg.numpy.{f.__name__} instead of {name}"


def _is_flat(given: ast.expr | None) -> bool | None:
    """Whether a list of numbers or arrays is given; None if it is no list that is known."""
    nested = (ast.List, ast.Tuple, ast.ListComp)
    if isinstance(given, (ast.List, ast.Tuple)):
        return not any(isinstance(x, (*nested, ast.Starred)) for x in given.elts)
    if isinstance(given, ast.ListComp):
        return not isinstance(given.elt, nested)
    frame = user_frame()
    value = frame.f_locals.get(given.id) if frame and isinstance(given, ast.Name) else None
    if isinstance(value, (list, tuple)):
        return not any(isinstance(x, (list, tuple)) for x in value)
    return None


# What draws whole numbers, or an order: and the distribution of each in scipy.stats, if it is one.
WHOLE_DRAWS = {
    "binomial": "binom", "choice": "", "geometric": "geom", "hypergeometric": "", "integers": "",
    "logseries": "", "multinomial": "", "multivariate_hypergeometric": "",
    "negative_binomial": "nbinom", "poisson": "poisson", "randint": "", "random_integers": "",
    "zipf": "",
}  # fmt: skip


def instead_of_whole(name: str) -> str:
    """What to write in place of a draw that does not move with its parameters."""
    logpmf = f"stats.{WHOLE_DRAWS[name]}.logpmf(k, p)" if WHOLE_DRAWS[name] else "the log of its p"
    return (
        f"draw k with zyg.stop_gradient(p), and multiply what depends on it by "
        f"np.exp(s - zyg.stop_gradient(s)), where s is {logpmf}; or draw of a continuous "
        "distribution near it"
    )


def _of_draw(f: Any, call: ast.Call) -> str:
    name, generator = f.__name__, ast.unparse(call.func).rpartition(".")[0]
    if name in WHOLE_DRAWS and (name != "choice" or "p" in [k.arg for k in call.keywords]):
        return instead_of_whole(name)
    if name == "shuffle":
        return f"write x[:] = x[{generator}.permutation(len(x))]"
    written = "write mu + sigma * rng.normal(size=n) instead of rng.normal(mu, sigma, n), or "
    if type(f.__self__).__name__ == "RandomState":
        return f"use zyg.numpy.random.{name} or a generator, zyg.numpy.random.default_rng(seed)"
    return (written if name == "normal" else "") + (
        f"draw of zyg.numpy.random.default_rng({generator}), which shares its state"
    )


def _of_astype(f: Any, call: ast.Call) -> str:
    """An array of objects, of watched numbers, that is to be one of numbers."""
    array = ast.unparse(call.func).rpartition(".")[0]
    stacked = f"np.stack([*{array}])" if f.__self__.ndim == 1 else f"np.stack([*{array}.flat])"
    shaped = "" if f.__self__.ndim == 1 else f".reshape({array}.shape)"
    return f"write {stacked}{shaped} instead of {array}.astype"


def _of_argument(f: Any, call: ast.Call) -> str:
    """A flat list that is given to a function of NumPy's for an array."""
    lists = (x for x in call.args if isinstance(x, (ast.List, ast.ListComp)) and _is_flat(x))
    given = next((ast.unparse(x) for x in lists), "")
    return f"pass np.stack({given}) instead of {given}" if given else ""


def _of_compiled(f: Any, call: ast.Call) -> str:
    """Of a compiled function or class of SciPy's, which no frame runs."""
    name = public_name(f, f.__module__)
    return instead_of(name) if name else ""


_ARRAYS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)
_CURES: list[tuple[Callable[[Any], bool], Callable[[Any, ast.Call], str]]] = [
    (lambda f: getattr(f, "__module__", "") in ("math", "cmath"), _of_math),
    (
        lambda f: getattr(f, "__module__", "") == "statistics",
        lambda f, call: f"use zyg.statistics.{f.__name__} instead of statistics.{f.__name__}",
    ),
    (lambda f: any(f is g for g in _ARRAYS), _of_list),
    (
        lambda f: f in (float, complex) or (isinstance(f, type) and issubclass(f, np.generic)),
        _of_conversion,
    ),
    (
        lambda f: f is np.lib.stride_tricks.as_strided,
        lambda f, call: "use zyg.numpy.lib.stride_tricks.as_strided instead of NumPy's",
    ),
    (lambda f: f is np.full, lambda f, call: "write x * np.ones(n) instead of np.full(n, x)"),
    (lambda f: f is np.fromiter, lambda f, call: "write np.stack([...]) instead of np.fromiter"),
    (lambda f: _is_random(getattr(f, "__self__", None)), _of_draw),
    (lambda f: isinstance(f, np.vectorize), lambda f, call: "use zyg.broadcast(f, *arrays)"),
    (lambda f: str(getattr(f, "__module__", "")).startswith("scipy."), _of_compiled),
    (
        lambda f: isinstance(f, np.ufunc) or str(getattr(f, "__module__", "")).startswith("numpy"),
        _of_argument,
    ),
]
# The same, of calls that adoption leaves as they are.
_ALONE: list[tuple[Callable[[Any], bool], Callable[[Any, ast.Call], str]]] = [
    (lambda f: isinstance(getattr(f, "__self__", None), np.ndarray), _of_astype),
    (
        lambda f: f is np.arange,
        lambda f, call: (
            "write start + step * np.arange(n), and zyg.stop_gradient(x) for an end x, which only "
            "says how many"
        ),
    ),
    (
        lambda f: isinstance(f, type) and f.__module__ in ("fractions", "decimal"),
        lambda f, call: (
            f"leave out {ast.unparse(call.func)}(), and give the gradient a {f.__name__} at which "
            "it is taken: f gets it watched"
        ),
    ),
    (
        lambda f: _is_of_ctypes(f, "_ctypes"),
        lambda f, call: (
            "wrap the C function: zyg.foreign(f, jacobian=), or zyg.scalar_rule(f, *partials) "
            "with partial derivatives that accept watched values"
        ),
    ),
    (
        lambda f: type(f).__module__ == "_cffi_backend",
        lambda f, call: "wrap the C function: zyg.foreign(f, jacobian=), or method=",
    ),
]
