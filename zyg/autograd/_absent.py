"""What autograd has and `zyg.autograd` has not: what is raised, and what there is instead."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from opcode import opmap
from typing import Any, NoReturn

from zyg.errors import AbsentError, AdoptionError

_IMPORT_FROM = opmap["IMPORT_FROM"]
_TAPE = "autograd's tape is made of nodes and boxes, and zyg's is not."
_SPACE = "zyg takes values of any class apart, and knows what numbers are in them."
_PART = "it is a part of autograd's own rules, and zyg's rules are others."
_INSTEAD = {
    _TAPE: (
        "use zyg.pullback(f, x), which returns the value and its pullback.",
        "Node trace toposort new_box TraceStack trace_stack box_types box_type_mappings "
        "find_top_boxed_args backward_pass sum_outgrads sparse_add SparseObject SparseBox JVPNode "
        "VJPNode",
    ),
    _SPACE: (
        "use zyg.autograd.extend.vspace(x), which takes values of any class.",
        "ArrayVSpace ComplexArrayVSpace ContainerVSpace ListVSpace TupleVSpace DictVSpace "
        "NamedTupleVSpace SequenceVSpace",
    ),
}
_KNOWN = {name: (why, fix) for why, (fix, names) in _INSTEAD.items() for name in names.split()}


def names_from(*modules: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module of autograd's whose submodules are loaded when asked for."""
    package = sys._getframe(1).f_globals["__name__"]

    def find(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        return absent(package, name)

    return find


def absent(module: str, name: str) -> NoReturn:
    """Raise for a name that a module of ours does not have: AttributeError, or ImportError."""
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"].startswith("zyg.autograd"):
        frame = frame.f_back
    importing = frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM  # which keeps no other's text
    about = _PART if module.startswith("zyg.autograd.numpy") else _ABOUT
    why, fix = _KNOWN.get(name, (about, _FIX))
    raise (AdoptionError if importing else AbsentError)(f"{module} has no {name}.", why, fix)


_ABOUT = "it has the names that autograd documents, and what libraries use besides."
_FIX = "write it with zyg's own verbs (docs/verbs.md), or ask for it in an issue."


def no_module(name: str) -> AdoptionError:
    """The error of an import of a module that autograd may have, and `zyg.autograd` has not."""
    return AdoptionError(f"there is no {name}.", _ABOUT, _FIX)
