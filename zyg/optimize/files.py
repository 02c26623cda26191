"""`save` and `load`: parameters in a file of NumPy's, which holds no code.

The file is an npz. Its arrays are the arrays of the structure; one more, `structure`, is a text in
JSON: a list of nodes, each after those in it. A node is a type and what makes one of it: a number
by its bits, an array by its name in the file, a container by pairs of a step and a node.
"""

from __future__ import annotations

import functools
import json
import os
import secrets
import types
import weakref
import zipfile
from typing import Any

import numpy as np

from zyg.base.borders import border
from zyg.base.containers import is_number, kind_of
from zyg.base.kinds import Key, Kind
from zyg.base.structure import step_of
from zyg.core.strand import is_watched, strip
from zyg.errors import StructureError, ZygError

_VERSION = 1
_PLAIN: dict[type, Any] = {list: list, tuple: tuple, dict: dict}
_SIMPLE: tuple[Any, ...] = (type(None), bool, str)
_NUMBERS: tuple[Any, ...] = (float, complex)
# What has parts, and yet is no container of parameters.
_CODE = (
    types.FunctionType, types.MethodType, types.CellType, functools.partial, weakref.ref, type,
    set, frozenset,
)  # fmt: skip
_NOTHING = object()  # in place of a `like` that is not given

# A node of the text: a type, and what makes one of it.
_Node = tuple[str, Any]


@border
def save(path: str | os.PathLike[str], parameters: Any) -> None:
    """Write numbers and arrays, in any structure, to a file that `load` reads.

    Lists, tuples, dicts, strings, bools, None, numbers and arrays of any type come back bit for
    bit, and what is met twice comes back as one. Of other containers and of objects the file has
    the name of the class and the parts. The file is replaced whole or not at all.

    Parameters
    ----------
    path : str or path
        Where to write, as it is: no suffix is added.
    parameters : any structure of numbers and arrays
        It is not modified.

    Returns
    -------
    None

    Raises
    ------
    StructureError
        There is something in it that is no data: a watched value, a function, a set, an array of
        objects or of another library; or a container is inside itself. Nothing is written.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import os, tempfile, numpy as np, zyg
    >>> path = os.path.join(tempfile.mkdtemp(), "line.npz")
    >>> zyg.save(path, {"w": np.array([1.0, 2.0]), "name": "line", "sizes": (2, 1)})
    >>> zyg.load(path)
    {'w': array([1., 2.]), 'name': 'line', 'sizes': (2, 1)}

    """
    written = _Written(parameters)
    text = json.dumps({"version": _VERSION, "nodes": written.nodes})
    beside = f"{os.fspath(path)}.{secrets.token_hex(4)}"
    try:
        with open(beside, "xb") as file:
            np.savez(file, allow_pickle=False, structure=np.array(text), **written.arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise


@border
def load(path: str | os.PathLike[str], like: Any = _NOTHING) -> Any:
    """What `save` wrote to a file. Nothing of the file is executed.

    Parameters
    ----------
    path : str or path
        The file.
    like : the same structure, optional
        Needed for objects and named tuples: their classes are those of `like`, and none of their
        methods runs. It is not modified. Where it is given, the file must have its structure:
        classes, keys, fields, strings, the shapes and types of arrays. Numbers need not have the
        type that they have in `like`: they come as they were saved.

    Returns
    -------
    the structure that was saved
        All in it is new.

    Raises
    ------
    StructureError
        The file is none of `save`, or of a later zyg; it holds objects, and there is no `like`; or
        `like` differs, in a place that the message names.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import os, tempfile, zyg
    >>> class Line:
    ...     def __init__(self, slope):
    ...         self.slope = slope
    >>> path = os.path.join(tempfile.mkdtemp(), "line.npz")
    >>> zyg.save(path, Line(2.0))
    >>> zyg.load(path, like=Line(0.0)).slope
    2.0

    """
    try:
        nodes, arrays = _contents(os.fspath(path))
        return _Read(nodes, arrays, like).made[-1]
    except ZygError:
        raise
    except (LookupError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise StructureError(
            f"zyg.load was given {os.fspath(path)!r}, which zyg.save has not written: "
            f"{type(error).__name__}: {error}.",
            "it is another kind of file, or has been damaged.",
            "pass the path that was given to zyg.save.",
        ) from error


def _contents(path: str) -> tuple[list[_Node], dict[str, Any]]:
    """The nodes and the arrays of a file."""
    with open(path, "rb") as file, np.lib.npyio.NpzFile(file, allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    text = json.loads(arrays.pop("structure").item())
    if text["version"] > _VERSION:
        raise StructureError(
            f"zyg.load was given {path!r}, which a later zyg has written: version "
            f"{text['version']} of the format.",
            f"this one reads version {_VERSION}.",
            "install the zyg that wrote it, or save the parameters with this one.",
        )
    return text["nodes"], arrays


# Writing


class _Written:
    """The nodes and the arrays of a value."""

    def __init__(self, root: Any) -> None:
        self.nodes: list[_Node] = []
        self.arrays: dict[str, Any] = {}
        self._place_of: dict[int, int | None] = {}  # by id; None as long as parts are missing
        self._met: list[Any] = []  # which keeps ids from being those of others
        waiting: list[tuple[Any, str, Any]] = [(root, "", None)]
        while waiting:
            x, path, parts = waiting.pop()
            if parts is not None:
                pairs = [(self._step(key), self._place_of[id(v)]) for key, v in parts]
                self._put(x, (_name(x), pairs))
            elif id(x) not in self._place_of:
                self._met.append(x)
                waiting += self._taken_apart(x, path)
            elif self._place_of[id(x)] is None:
                raise _unsaved(f"a {_name(x)} that is inside itself", path)

    def _taken_apart(self, x: Any, path: str) -> list[tuple[Any, str, Any]]:
        """What is to be done before a container, last first; nothing for the rest."""
        if node := self._leaf(x, path):
            self._put(x, node)
            return []
        kind = _container_kind(x)
        if kind is None:
            raise _unsaved(_described(x), path)
        self._place_of[id(x)] = None
        parts = kind.parts(x)
        self._met.append(parts)
        inner = [(v, path + step_of(key), None) for key, v in parts]
        keys = [
            (key.key, f"{path or 'the top'} (a key)", None) for key, _ in parts if type(key) is Key
        ]
        for key, where, _ in keys:
            if not _is_key(key):
                raise _unsaved(f"{_described(key)} as a key", where)
        return [(x, path, parts), *reversed(keys + inner)]

    def _leaf(self, x: Any, path: str) -> _Node | None:
        """The node of what has no parts."""
        if is_watched(x):
            raise _unsaved("a value that is being differentiated", path, "zyg.primal of it")
        if type(x) in _SIMPLE:
            return type(x).__name__, x
        if type(x) is int:
            return "int", hex(x)  # which has no limit, as decimal digits have
        if type(x) in _NUMBERS or (isinstance(x, np.generic) and x.dtype.kind not in "OV"):
            given = np.asarray(x)
            of = "numpy." * isinstance(x, np.generic)  # some of whose names are Python's, too
            return f"{of}{type(x).__name__}", (given.dtype.str, given.tobytes().hex())
        if type(x) is np.ndarray and not x.dtype.hasobject:
            name = f"array_{len(self.arrays)}"
            self.arrays[name] = x
            return "ndarray", name
        return None

    def _put(self, x: Any, node: _Node) -> None:
        self._place_of[id(x)] = len(self.nodes)
        self.nodes.append(node)

    def _step(self, key: Any) -> Any:
        """A step in JSON: a place, a field, or in a list the node of a key."""
        return [self._place_of[id(key.key)]] if type(key) is Key else key


def _container_kind(x: Any) -> Kind | None:
    """How to take a container of data apart; None for all else."""
    kind = None if isinstance(x, (*_CODE, np.ndarray)) else kind_of(x)
    return None if kind is None or kind.labels else kind


def _is_key(x: Any) -> bool:
    """Whether a key is known from the file alone: no object, and no tuple with one."""
    if type(x) is tuple:
        return all(map(_is_key, x))
    return type(x) in (*_SIMPLE, int, *_NUMBERS) or isinstance(x, np.generic)


def _described(x: Any) -> str:
    if isinstance(x, types.FunctionType):
        return f"the function {x.__qualname__}"
    if isinstance(x, type):
        return f"the class {x.__qualname__}"
    if type(x) is np.ndarray:
        return f"an array of {x.dtype}"
    return f"a {type(x).__name__}"


def _unsaved(what: str, path: str, instead: str = "the numbers and arrays in it") -> StructureError:
    return StructureError(
        f"zyg.save met {what}, at {path or 'the top'}.",
        "a file holds numbers, arrays, strings, bools, None, and containers and objects of those.",
        f"save {instead}, or leave it out.",
    )


def _name(x: Any) -> str:
    """The type of a container, as the file has it."""
    return type(x).__name__ if type(x) in _PLAIN else f"{type(x).__qualname__} object"


# Reading


class _Read:
    """The values of the nodes, the last of which is the whole."""

    def __init__(self, nodes: list[_Node], arrays: dict[str, Any], like: Any) -> None:
        self._nodes, self._arrays = nodes, arrays
        self._held: list[Any] = []  # which keeps ids from being those of others
        self._values(dict.fromkeys(range(len(nodes)), _NOTHING))  # but for objects
        if like is not _NOTHING or any(_is_object(what) for what, _ in nodes):
            self._values(self._compared(like))

    def _values(self, likes: dict[int, Any]) -> None:
        self.made: list[Any] = []
        for k, (what, data) in enumerate(self._nodes):
            is_container = what in _CONTAINERS or _is_object(what)
            self.made.append(
                self._container(what, data, likes.get(k, _NOTHING))
                if is_container
                else _leaf(what, data, self._arrays)
            )

    def _steps(self, pairs: list[Any]) -> dict[tuple[bool, Any], int]:
        """The nodes of a container's parts by their steps: whether it is a key, and which."""
        return {
            (True, self.made[step[0]]) if isinstance(step, list) else (False, step): node
            for step, node in pairs
        }

    def _container(self, what: str, pairs: list[Any], like: Any) -> Any:
        nodes = self._steps(pairs)
        if what == "dict":
            return {key: self.made[node] for (_, key), node in nodes.items()}
        if what in _CONTAINERS:
            return _CONTAINERS[what](self.made[node] for node in nodes.values())
        if like is _NOTHING:
            return None
        kind: Any = kind_of(like)
        values = {key: self.made[nodes[_plainly(key)]] for key, _ in kind.parts(like)}
        if not kind.mutable:
            return kind.make(like, values)
        copy = kind.shell(like, lambda cell: cell)
        kind.fill(copy, values)
        return copy

    def _compared(self, like: Any) -> dict[int, Any]:
        """What each node is to be like; raises at the first place that differs."""
        found: dict[int, Any] = {}
        seen: set[tuple[int, int]] = set()
        waiting = [(len(self._nodes) - 1, like, "")]
        while waiting:
            k, x, path = waiting.pop()
            if (k, id(x)) in seen:
                continue
            seen.add((k, id(x)))
            found.setdefault(k, x)
            what, data = self._nodes[k]
            is_container = what in _CONTAINERS or _is_object(what)
            if x is _NOTHING and _is_object(what):
                raise _without_class(what, path)
            here = f"a {what}" if is_container else _form(self.made[k])
            if x is not _NOTHING and here != _form(x):
                raise _differs(path, here, _form(x))
            if is_container:
                waiting += reversed(self._inside(data, x, path))
        return found

    def _inside(self, pairs: list[Any], x: Any, path: str) -> list[tuple[int, Any, str]]:
        """The parts of a container: each node, what it is to be like, its path."""
        nodes = self._steps(pairs)
        names = {step: path + step_of(Key(step[1]) if step[0] else step[1]) for step in nodes}
        if x is _NOTHING:
            return [(node, x, names[step]) for step, node in nodes.items()]
        kind: Any = kind_of(x)
        parts = {_plainly(key): (key, v) for key, v in kind.parts(x)}
        for step in nodes:
            if step not in parts:
                raise _differs(names[step], "a part", "none")
        for step, (key, _) in parts.items():
            if step not in nodes:
                raise _differs(path + step_of(key), "no part", "one")
        self._held.append(parts)
        return [(node, parts[step][1], names[step]) for step, node in nodes.items()]


_CONTAINERS: dict[str, Any] = {kind.__name__: kind for kind in _PLAIN}


def _is_object(what: str) -> bool:
    return what.endswith(" object")


def _plainly(key: Any) -> tuple[bool, Any]:
    return (True, key.key) if type(key) is Key else (False, key)


def _leaf(what: str, data: Any, arrays: dict[str, Any]) -> Any:
    """The value of a node without parts."""
    if what in _NAMES_OF_SIMPLE:
        return data
    if what == "int":
        return int(data, 16)
    if what == "ndarray":
        return arrays[data]
    dtype, bits = data
    number = np.frombuffer(bytes.fromhex(bits), dtype)[0]
    return number.item() if what in ("float", "complex") else number


_NAMES_OF_SIMPLE = {t.__name__ for t in _SIMPLE}


def _form(x: Any) -> str:
    """What must be the same in a file and in `like`."""
    x = strip(x)
    if isinstance(x, np.ndarray) and not x.dtype.hasobject:
        return f"an array of shape {x.shape} and {x.dtype}"
    if is_number(x):
        return "a number"
    container = type(x) not in _SIMPLE and _container_kind(x) is not None
    return f"a {_name(x)}" if container else repr(x)


def _differs(path: str, here: str, there: str) -> StructureError:
    return StructureError(
        f"zyg.load: {path or 'the top'}: {here} in the file, {there} in like.",
        "numbers and arrays of the file take the places of those in like.",
        "pass a like that is made as what was saved was, or the file that belongs to it.",
    )


def _without_class(what: str, path: str) -> StructureError:
    return StructureError(
        f"zyg.load: the file has a {what} at {path or 'the top'}, and no like was given.",
        "a file says what a class is called, not what it is.",
        "pass like=, a structure of the same form, whose classes are taken.",
    )
