"""The ledger: what becomes of every public function that is given a watched value.

``python -m zyg.tools.ledger`` prints docs/coverage.md. A function of NumPy is in exactly one class:
its rule says which, or else that NumPy asks watched arguments what to do (it is refused then,
because there is no rule), or else it is named below. One of SciPy has a rule, is constant, or is
refused for a reason, as `zyg.scipy._without_rules` says; or it is missing.
"""

import textwrap
import types
import warnings
from collections.abc import Collection, Iterable
from importlib import import_module
from typing import Any

import numpy as np

from zyg.base.registry import CONSTANT, rules
from zyg.base.scipys import answers

try:
    from zyg.scipy._without_rules import OUTSIDE as OUTSIDE_REASONS
    from zyg.scipy._without_rules import REFUSED as REFUSED_BY_SCIPY
    from zyg.scipy._without_rules import SMOOTH as SMOOTH_REASONS
    from zyg.scipy._without_rules import reason_of
except ImportError:  # SciPy is not installed
    REFUSED_BY_SCIPY, OUTSIDE_REASONS, SMOOTH_REASONS = {}, ("", ""), set()

Ledger = dict[tuple[str, str], dict[str, Any]]  # (module, class) -> functions by name

DIFFERENTIATED, CALLS, CONSTANTS, REFUSED, RULELESS, OUTSIDE = (
    "differentiated", "differentiated through what they call", "constant", "refused by name",
    "missing", "outside",
)  # fmt: skip
SCIPY = [
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "sparse.linalg",
    "spatial",
    "spatial.distance",
    "special",
    "stats",
]

# The functions that NumPy calls without asking their arguments, and why each is where it is.
NAMED = {
    CALLS: """array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray fftfreq
        fromfunction full kaiser require rfftfreq""",
    CONSTANTS: """bartlett blackman hamming hanning broadcast_shapes empty eye
        identity indices isdtype isfortran isscalar issubdtype iterable mask_indices mintypecode
        ones promote_types tri zeros""",
    REFUSED: "arange asmatrix bmat from_dlpack frombuffer fromiter frompyfunc nested_iters",
}
REASONS = {
    "text": """base_repr binary_repr format_float_positional format_float_scientific fromstring
        typename""",
    "files": "fromfile fromregex genfromtxt load loadtxt save savetxt savez savez_compressed",
    "dates": "busday_count busday_offset datetime_as_string datetime_data is_busday",
    "deprecated": "in1d row_stack trapz",
    "settings and information": """get_include get_printoptions getbufsize geterr geterrcall info
        printoptions set_printoptions setbufsize seterr seterrcall show_config show_runtime test""",
}
CLASS_OF = {name: kind for kind, names in NAMED.items() for name in names.split()}
CLASS_OF.update((name, OUTSIDE) for names in REASONS.values() for name in names.split())


def public(module: Any) -> dict[str, Any]:
    """The public functions of a module, by name; classes are not functions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = {name: getattr(module, name) for name in dir(module) if name[0] != "_"}
    no_functions = (type, types.ModuleType)
    return {n: f for n, f in found.items() if callable(f) and not isinstance(f, no_functions)}


def class_of(name: str, function: Any) -> str:
    """The class of a function of NumPy; KeyError if it is in none."""
    if CLASS_OF.get(name) is OUTSIDE:
        return OUTSIDE
    if function in rules:
        return CONSTANTS if rules[function] is CONSTANT else DIFFERENTIATED
    asks = isinstance(function, np.ufunc) or hasattr(function, "_implementation")
    return REFUSED if asks else CLASS_OF[name]


def ledger() -> Ledger:
    """The functions of NumPy, SciPy and math, by module and class."""
    made: Ledger = {}
    for module in (np, np.linalg, np.fft):
        for name, f in public(module).items():
            made.setdefault((module.__name__, class_of(name, f)), {})[name] = f
    seen = {f for functions in made.values() for f in functions.values()}
    for f, rule in rules.items():
        home = getattr(f, "__module__", None) or ""
        if f not in seen and rule is not CONSTANT and home.partition(".")[0] in ("numpy", "math"):
            made.setdefault((home, DIFFERENTIATED), {})[f.__name__] = f
    for name in SCIPY:
        try:
            module, drop_in = (import_module(f"{package}.{name}") for package in _PACKAGES)
        except ImportError:
            continue
        for name, f in public(module).items():
            if name != "test":
                kind = _class_in_scipy(module.__name__, name, f, drop_in)
                made.setdefault((module.__name__, kind), {})[name] = f
    return made


_PACKAGES = "scipy", "zyg.scipy"


def _class_in_scipy(home: str, name: str, function: Any, drop_in: Any) -> str:
    """The class of a function of SciPy, or of what has zyg's in its place: a distribution."""
    if function in rules:
        return CONSTANTS if rules[function] is CONSTANT else DIFFERENTIATED
    if why := reason_of(home, name):
        return OUTSIDE if why in OUTSIDE_REASONS else REFUSED
    return DIFFERENTIATED if answers(function, drop_in, name) else RULELESS


def counts(made: Ledger, package: str = "numpy") -> tuple[int, int]:
    """How many names of a package are differentiated, and of how many functions."""
    found = [
        f
        for (module, kind), functions in made.items()
        if kind in (DIFFERENTIATED, CALLS) and module.partition(".")[0] == package
        for f in functions.values()
    ]
    return len(found), len(set(found))


_INTRODUCTION = """\
# Coverage

This page lists every public function of NumPy {version} and of the modules of SciPy that have a
drop-in, and what happens when you pass it a watched value: a number or an array that a gradient is
being taken of. Of NumPy it is about the plain names, `np.sin` and not `zyg.numpy.sin`; SciPy's are
those of `zyg.scipy`, which `zyg.adopt` puts in their place.

**zyg differentiates {names} names**, to any order. They are {functions} functions, because some
have two names: `np.abs` is `np.absolute`. Of SciPy's, {scipy} names are differentiated.

| heading | what happens |
|---|---|
| differentiated | the result has a derivative; that of a step such as `np.floor` is 0 |
| differentiated through what they call | it is written in functions that are differentiated |
| constant | the function returns what it returns for the plain value, with no derivative |
| refused by name | an error that names your line, and the function or its conversion |
| missing | the same; it is differentiable, and the error shows how to write a rule |

Of SciPy's functions that have a derivative, the share has rules:

{table}

- **Conversions** such as `np.asarray` and `np.array` make an object array of watched numbers, with
  a warning, of up to `config(object_elements=10_000)` elements. Larger ones are refused.
- **Random numbers**: write `mu + sigma * rng.normal(size=n)`, or draw of
  `zyg.numpy.random.default_rng(rng)`, whose samples move with watched parameters. A plain
  generator refuses those in a module that is not adopted.
- **Polynomials**: `np.poly1d` carries watched coefficients. The functions and classes of
  `np.polynomial` make object arrays of them, and compute with those; roots and fits refuse them.
  Both keep a watched coefficient of the highest power that is zero, where NumPy leaves it out.
  `np.polymul` and the remainder of `np.polydiv`, of arrays, leave it out, with a warning; `trim`,
  `polytrim` and `np.trim_zeros` choose by values, as an index does.
- **Classes** are not listed. `np.vectorize`, `np.ndenumerate` and the classes of `np.polynomial`
  convert watched values; `np.nditer` and `np.matrix` refuse them.

The lists are made from the registry of rules by `python -m zyg.tools.ledger`; a test compares
them.
"""


def document() -> str:
    """The text of docs/coverage.md."""
    made = ledger()
    names, functions = counts(made)
    version = ".".join(np.__version__.split(".")[:2])
    text = [_INTRODUCTION.format(version=version, names=names, functions=functions,
                                 scipy=counts(made, "scipy")[0], table=_shares(made))]  # fmt: skip
    sections = sorted(made.items(), key=_order)
    text += [_section(*item) for item in sections if item[0][0].startswith("numpy")]
    text.append("## Others: they take no arrays of numbers, or only write them down\n")
    present = {n for (_, kind), found in made.items() if kind is OUTSIDE for n in found}
    for reason, listed in REASONS.items():
        if here := present.intersection(listed.split()):
            text.append(f"{reason.capitalize()}:\n{_wrapped(here)}\n")
    text += [_section(*item) for item in sections if not item[0][0].startswith("numpy")]
    return "\n".join(filter(None, text))


def _shares(made: Ledger) -> str:
    """A table of SciPy's modules: how many functions are in each class; the share with rules."""
    rows = [f"| module | share | {' | '.join(_SHARES)} |", "|---" * (2 + len(_SHARES)) + "|"]
    found = {f"`scipy.{name}`": _sizes(made, f"scipy.{name}") for name in SCIPY}
    found["all"] = [sum(sizes) for sizes in zip(*found.values(), strict=True)]
    for name, (ruled, smooth, missing, *others) in found.items():
        if total := ruled + smooth + missing:
            sizes = ruled, smooth, missing, *others
            rows.append(f"| {name} | {100 * ruled // total} % | {' | '.join(map(str, sizes))} |")
    return "\n".join(rows)


_SHARES = (
    DIFFERENTIATED, "refused, with a derivative", RULELESS, CONSTANTS, "refused, without one",
    "takes no numbers",
)  # fmt: skip


def _sizes(made: Ledger, module: str) -> list[int]:
    """How many functions of a module there are in each column of the table."""
    ruled, missing, constant, refused, outside = (
        made.get((module, kind), ())
        for kind in (DIFFERENTIATED, RULELESS, CONSTANTS, REFUSED, OUTSIDE)
    )
    smooth = [name for name in refused if reason_of(module, name) in SMOOTH_REASONS]
    rest = len(refused) - len(smooth)
    return [len(ruled), len(smooth), len(missing), len(constant), rest, len(outside)]


def _order(item: tuple[tuple[str, str], Any]) -> tuple[str, int]:
    (module, kind), _ = item
    kinds = DIFFERENTIATED, CALLS, CONSTANTS, REFUSED, RULELESS, OUTSIDE
    return module, kinds.index(kind)


def _section(place: tuple[str, str], found: Collection[str]) -> str:
    module, kind = place
    if kind in (OUTSIDE, REFUSED) and module.startswith("scipy"):
        return _reasons(module, kind, found)
    return "" if kind is OUTSIDE else f"## `{module}`: {kind} ({len(found)})\n\n{_wrapped(found)}\n"


def _reasons(module: str, kind: str, found: Collection[str]) -> str:
    """The section of what is refused, by reasons."""
    lines = [f"## `{module}`: {'takes no numbers' if kind is OUTSIDE else kind} ({len(found)})\n"]
    for why, names in REFUSED_BY_SCIPY[module].items():
        if (kind is OUTSIDE) == (why in OUTSIDE_REASONS) and (here := {*names.split()} & {*found}):
            lines.append(f"{why[0].upper()}{why[1:]}:\n{_wrapped(here)}\n")
    return "\n".join(lines)


def _wrapped(names: Iterable[str]) -> str:
    return textwrap.fill(" ".join(f"`{n}`" for n in sorted(names)), 100, break_on_hyphens=False)


if __name__ == "__main__":
    print(document(), end="")
