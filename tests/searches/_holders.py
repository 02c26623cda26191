"""Holders of three numbers by every class of Python's and NumPy's, and the ways to read them."""

# ruff: noqa: B905, C415, C416, C417, RUF015, RUF058, SIM  - the ways of writing are the matter

import array
import collections
import contextlib
import contextvars
import copy
import ctypes
import dataclasses
import enum
import functools
import heapq
import itertools
import operator
import queue
import string
import struct
import types
import typing
import weakref
from decimal import Decimal
from fractions import Fraction

import numpy as np


@dataclasses.dataclass
class Plain:
    a: object
    b: object
    c: object


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object
    b: object
    c: object


@dataclasses.dataclass(slots=True)
class Slotted:
    a: object
    b: object
    c: object


@dataclasses.dataclass(order=True, frozen=True, slots=True, kw_only=True)
class Everything:
    a: object
    b: object
    c: object
    label: str = dataclasses.field(default="x", compare=False)


class Initialised:
    def __init__(self, a, b, c):
        self.a, self.b, self.c = a, b, c

    def method(self):
        return self.a, self.b, self.c

    @property
    def all(self):
        return self.method()

    @functools.cached_property
    def once(self):
        return self.method()

    def __call__(self):
        return self.method()

    def __iter__(self):
        return iter(self.method())

    def __getitem__(self, key):
        return self.method()[key]


class Mangled:
    __slots__ = ("__a", "__dict__", "__weakref__")

    def __init__(self, a, b, c):
        self.__a, self.b, self.c = a, b, c

    def method(self):
        return self.__a, self.b, self.c


class Answers:
    """That answers every attribute."""

    def __init__(self, a, b, c):
        vars(self)["_fields"] = {"a": a, "b": b, "c": c}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return vars(self)["_fields"][name]


class Described:
    """A descriptor that keeps the values of others."""

    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, value)


class WithDescriptors:
    a, b, c = Described(), Described(), Described()

    def __init__(self, a, b, c):
        self.a, self.b, self.c = a, b, c


class Named(typing.NamedTuple):
    a: object
    b: object
    c: object


class Typed(typing.TypedDict):
    a: float
    b: float
    c: float


class Own(list):
    pass


class OwnDict(dict):
    def __missing__(self, key):
        return self["a"]


class OwnText(str):
    __slots__ = ("a", "b", "c")


class OwnError(Exception):
    def __init__(self, a, b, c):
        super().__init__("no")
        self.a, self.b, self.c = a, b, c


class OwnUser(collections.UserDict):
    pass


Pair = collections.namedtuple("Pair", "a b c")
Made = dataclasses.make_dataclass("Made", ["a", "b", "c"])
MadeFrozen = dataclasses.make_dataclass("MadeFrozen", ["a", "b", "c"], frozen=True, slots=True)
New = types.new_class("New", (), {}, lambda space: space.update(__init__=Initialised.__init__))
ByType = type("ByType", (), {"__init__": Initialised.__init__})
ByMeta = type(collections.abc.Sized)("ByMeta", (), {"__init__": Initialised.__init__})


class Structure(ctypes.Structure):
    _fields_ = (("a", ctypes.c_double), ("b", ctypes.c_double), ("c", ctypes.c_double))


def _after(x, *calls):
    for name, *args in calls:
        getattr(x, name)(*args)
    return x


def _with(x, v):
    x.a, x.b, x.c = v
    return x


def _heap(v):
    h = [*v]
    heapq.heapify(h)
    return h


def _generator(v):
    a = v[0]
    yield a
    yield from v[1:]


def _sent(v):
    g = _receiver(v)
    next(g)
    return g


def _receiver(v):
    k = 0
    while True:
        k = yield v[k]


def _queue(kind, v):
    q = kind()
    for x in v:
        q.put(x)
    return q


def _closure(v):
    a, b, c = v

    def read():
        return a, b, c

    return read


def _writer(v):
    last = None

    def read():
        nonlocal last
        last = v[0]
        return last, v[1], v[2]

    return read


def _defaults(v):
    def read(a=v[0], *, b=v[1], c=v[2]):
        return a, b, c

    return read


def _attributes_of_function(v):
    def read():
        return read.a, read.b, read.c

    return _with(read, v)


def _memo(v):
    @functools.cache
    def read(k):
        return v[k]

    return read


@contextlib.contextmanager
def _manager(v):
    yield v


def _under(cm):
    with cm as v:
        return [*v]


def _object_array(v):
    made = np.empty(3, object)
    made[:] = v
    return made


def _record(v, kind=float):
    return np.array([tuple(v)], dtype=[(n, kind) for n in "abc"])


def _node(v):
    node, child = types.SimpleNamespace(v=v[0]), Initialised(*v)
    node.child, child.parent = child, weakref.ref(child)
    return child


_KEPT: dict = {}


def _keep(x):
    _KEPT[len(_KEPT) % 8] = x
    return x


class _Asked:
    def get(self, a, b):
        return a


def _fields(x):
    return x.a, x.b, x.c


def _three(x):
    return x[0], x[1], x[2]


def _keys(x):
    return x["a"], x["b"], x["c"]


def _numbers(x):
    return x


def _slices(x):
    return *x[:2], *x[2:]


def _drained(q):
    return q.get(), q.get(), q.get()


def _popped(x):
    c, b, a = x.pop(), x.pop(), x.pop()
    return a, b, c


def _next(x):
    return next(x), next(x), next(x)


def _star(x):
    a, *rest = x
    return a, *rest


def _dict(v, kind=dict):
    return kind(zip("abc", v, strict=True))


_SEQUENCE = [_three, _star, list, lambda x: tuple(v for v in x), lambda x: list(map(abs, x))]
_OF_LIST = [
    *_SEQUENCE,
    _slices,
    lambda x: [*reversed(x)][::-1],
    lambda x: copy.copy(x),
    lambda x: copy.deepcopy(x),
    lambda x: [x[-3], x[-2], x[-1]],
    _popped,
    lambda x: [v for _, v in sorted(enumerate(x))],
    lambda x: [*itertools.chain(x)],
    lambda x: [*itertools.islice(x, 3)],
    lambda x: operator.itemgetter(0, 1, 2)(x),
    lambda x: [*map(x.__getitem__, range(3))],
    lambda x: [v for (v,) in zip(x)],
    lambda x: next(zip(*[(v,) for v in x])),
    lambda x: [*itertools.starmap(lambda v: v, zip(x))],
    lambda x: [a for a, _ in itertools.zip_longest(x, ())],
    lambda x: [*itertools.tee(x)[1]],
    lambda x: [*filter(None, x)],
]
_ITERATOR = [
    list,
    _next,
    _star,
    lambda x: [v for v in x],
    lambda x: sorted(x, key=lambda v: 0),
    lambda x: [*itertools.chain.from_iterable([x])],
    lambda x: [*itertools.tee(x)[0]],
]
_MAPPING = [
    _keys,
    lambda x: list(x.values()),
    lambda x: [v for _, v in x.items()],
    lambda x: [x[k] for k in x],
    lambda x: [x.get(k) for k in "abc"],
    lambda x: _keys({**x}),
    lambda x: operator.itemgetter("a", "b", "c")(x),
]
_OBJECT = [
    _fields,
    lambda x: operator.attrgetter("a", "b", "c")(x),
    lambda x: [getattr(x, n) for n in "abc"],
]
_DATA = [
    *_OBJECT,
    dataclasses.astuple,
    lambda x: _keys(dataclasses.asdict(x)),
    lambda x: _fields(dataclasses.replace(x)),
    lambda x: _fields(copy.copy(x)),
]
_CALLED = [lambda x: x(), lambda x: functools.partial(x)(), lambda x: [*map(lambda g: g(), [x])][0]]

# What makes a holder of three numbers, and the ways to read them.
HOLDERS = {
    "list": (list, _OF_LIST),
    "Own(list)": (Own, _OF_LIST),
    "tuple": (tuple, _SEQUENCE),
    "deque": (collections.deque, [*_SEQUENCE, _popped]),
    "deque(maxlen)": (lambda v: collections.deque(v, 3), [lambda x: (x.popleft(), *x)]),
    "UserList": (collections.UserList, [*_SEQUENCE, lambda x: x.data]),
    "nested lists": (
        lambda v: [[v[0]], [(v[1], [v[2]])]],
        [lambda x: (x[0][0], x[1][0][0], x[1][0][1][0])],
    ),
    "heap": (
        _heap,
        [lambda x: [heapq.heappop(x) for _ in range(3)], lambda x: heapq.nlargest(3, x)],
    ),
    "set": (set, [sorted]),
    "frozenset": (frozenset, [sorted]),
    "set of tuples": (lambda v: {(*v,)}, [lambda x: [*x][0]]),
    "set of objects": (lambda v: {Initialised(*v)}, [lambda x: _fields([*x][0])]),
    "dict": (_dict, [*_MAPPING, lambda x: [x.pop(k) for k in "abc"], lambda x: _keys(x | {})]),
    "dict keys": (lambda v: dict.fromkeys(v), [list]),
    "OrderedDict": (lambda v: _dict(v, collections.OrderedDict), _MAPPING),
    "defaultdict": (lambda v: collections.defaultdict(float, _dict(v)), _MAPPING),
    "Counter": (
        lambda v: collections.Counter(_dict(v)),
        [*_MAPPING, lambda x: [v for _, v in x.most_common()]],
    ),
    "UserDict": (lambda v: collections.UserDict(_dict(v)), [*_MAPPING, lambda x: _keys(x.data)]),
    "OwnUser": (lambda v: OwnUser(_dict(v)), _MAPPING),
    "OwnDict": (lambda v: OwnDict(_dict(v)), _MAPPING),
    "TypedDict": (lambda v: Typed(**_dict(v)), _MAPPING),
    "ChainMap": (lambda v: collections.ChainMap({"a": v[0]}, {"b": v[1], "c": v[2]}), _MAPPING),
    "MappingProxyType": (lambda v: types.MappingProxyType(_dict(v)), _MAPPING),
    "dict_values": (lambda v: _dict(v).values(), [list, _star]),
    "dict_items": (
        lambda v: _dict(v).items(),
        [lambda x: [v for _, v in x], lambda x: _keys(dict(x))],
    ),
    "dict_keys": (lambda v: dict.fromkeys(v).keys(), [list]),
    "dict_valueiterator": (lambda v: iter(_dict(v).values()), _ITERATOR),
    "OrderedDict values": (lambda v: _dict(v, collections.OrderedDict).values(), [list]),
    "ValuesView": (lambda v: collections.UserDict(_dict(v)).values(), [list]),
    "ItemsView": (lambda v: collections.ChainMap(_dict(v)).items(), [lambda x: [w for _, w in x]]),
    "SimpleNamespace": (
        lambda v: types.SimpleNamespace(**_dict(v)),
        [*_OBJECT, lambda x: _keys(vars(x))],
    ),
    "namedtuple": (
        Pair._make,
        [*_SEQUENCE, *_OBJECT, lambda x: _keys(x._asdict()), lambda x: x._replace()],
    ),
    "NamedTuple": (Named._make, [*_SEQUENCE, *_OBJECT]),
    "dataclass": (lambda v: Plain(*v), _DATA),
    "frozen dataclass": (lambda v: Frozen(*v), _DATA),
    "slotted dataclass": (lambda v: Slotted(*v), _DATA),
    "make_dataclass": (lambda v: Made(*v), _DATA),
    "dataclass of all options": (lambda v: Everything(**_dict(v)), _DATA),
    "frozen make_dataclass": (lambda v: MadeFrozen(*v), _DATA),
    "new_class": (lambda v: New(*v), _OBJECT),
    "type(...)": (lambda v: ByType(*v), _OBJECT),
    "ABCMeta(...)": (lambda v: ByMeta(*v), _OBJECT),
    "object": (
        lambda v: Initialised(*v),
        [*_OBJECT, *_SEQUENCE, lambda x: x.all, lambda x: x.once, lambda x: x()],
    ),
    "object, looked at before": (
        lambda v: _after(Initialised(*v), ("__getattribute__", "once")),
        [lambda x: x.once],
    ),
    "slots, mangled": (lambda v: Mangled(*v), [lambda x: x.method()]),
    "__getattr__": (lambda v: Answers(*v), _OBJECT),
    "descriptors": (lambda v: WithDescriptors(*v), _OBJECT),
    "bound method": (lambda v: Initialised(*v).method, [*_CALLED, lambda x: _fields(x.__self__)]),
    "partial": (
        lambda v: functools.partial(lambda *a, c: (*a, c), v[0], v[1], c=v[2]),
        [*_CALLED, lambda x: (*x.args, x.keywords["c"])],
    ),
    "partialmethod": (lambda v: functools.partialmethod(print, *v), [lambda x: x.args]),
    "closure": (_closure, [*_CALLED, lambda x: [c.cell_contents for c in x.__closure__]]),
    "closure that writes": (_writer, _CALLED),
    "defaults": (_defaults, _CALLED),
    "function attributes": (_attributes_of_function, _CALLED),
    "lru_cache": (_memo, [lambda x: [x(k) for k in range(3)]]),
    "cell": (lambda v: types.CellType(v), [lambda x: x.cell_contents]),
    "lambda in partial": (lambda v: functools.partial(lambda g: g(), lambda: v), _CALLED),
    "list_iterator": (iter, _ITERATOR),
    "reversed": (lambda v: reversed([*v][::-1]), _ITERATOR),
    "tuple_iterator": (lambda v: iter((*v,)), _ITERATOR),
    "deque_iterator": (lambda v: iter(collections.deque(v)), _ITERATOR),
    "generator": (_generator, _ITERATOR),
    "generator expression": (lambda v: (x for x in v), _ITERATOR),
    "generator begun": (lambda v: _after(_generator([0.0, *v]), ("__next__",)), _ITERATOR),
    "generator that is sent to": (_sent, [lambda x: [x.send(k) for k in range(3)]]),
    "map": (lambda v: map(abs, v), _ITERATOR),
    "map of a closure": (lambda v: map(lambda k: v[k], range(3)), _ITERATOR),
    "filter": (lambda v: filter(None, v), _ITERATOR),
    "zip": (lambda v: zip(v, "abc"), [lambda x: [w for w, _ in x]]),
    "enumerate": (enumerate, [lambda x: [w for _, w in x]]),
    "callable_iterator": (lambda v: iter(iter(v).__next__, None), _ITERATOR),
    "sequence iterator": (lambda v: iter(collections.UserList(v)), _ITERATOR),
    **{
        f"itertools.{f.__name__}": (
            functools.partial(lambda f, more, v: f(v, *more), f, more),
            reads,
        )
        for f, more, reads in (
            (itertools.chain, (), _ITERATOR),
            (itertools.cycle, (), [_next]),
            (itertools.islice, (3,), _ITERATOR),
            (itertools.accumulate, (lambda a, b: b,), _ITERATOR),
            (itertools.compress, ([1, 1, 1],), _ITERATOR),
            (itertools.pairwise, (), [lambda x: (lambda p: (*p[0], p[1][1]))([*x])]),
            (itertools.product, (), [lambda x: [w for (w,) in x]]),
            (itertools.zip_longest, ("abc",), [lambda x: [w for w, _ in x]]),
            (itertools.combinations, (3,), [next]),
            (itertools.permutations, (), [next]),
            (itertools.combinations_with_replacement, (1,), [lambda x: [w for (w,) in x]]),
            (itertools.groupby, (), [lambda x: [w for w, _ in x]]),
            (itertools.tee, (), [lambda x: [*x[0]]]),
        )
    },
    "itertools.repeat": (lambda v: itertools.repeat((*v,)), [next]),
    "itertools.count": (lambda v: itertools.count(*v[:2]), [lambda x: (next(x), 0.7, 2.1)]),
    "itertools.starmap": (lambda v: itertools.starmap(max, [(x, x) for x in v]), _ITERATOR),
    "itertools.takewhile": (lambda v: itertools.takewhile(lambda x: True, v), _ITERATOR),
    "itertools.dropwhile": (lambda v: itertools.dropwhile(lambda x: False, v), _ITERATOR),
    "itertools.filterfalse": (lambda v: itertools.filterfalse(lambda x: False, v), _ITERATOR),
    "queue.Queue": (functools.partial(_queue, queue.Queue), [_drained, lambda x: [*x.queue]]),
    "queue.LifoQueue": (lambda v: _queue(queue.LifoQueue, v[::-1]), [_drained]),
    "queue.PriorityQueue": (functools.partial(_queue, queue.PriorityQueue), [_drained]),
    "queue.SimpleQueue": (functools.partial(_queue, queue.SimpleQueue), [_drained]),
    "exception": (lambda v: ValueError(*v), [lambda x: x.args]),
    "own exception": (lambda v: OwnError(*v), _OBJECT),
    "StopIteration": (lambda v: StopIteration(v), [lambda x: x.value]),
    "ExceptionGroup": (
        lambda v: ExceptionGroup("", [ValueError(x) for x in v]),
        [lambda x: [e.args[0] for e in x.exceptions]],
    ),
    "str with fields": (lambda v: _with(OwnText("x"), v), _OBJECT),
    "slice": (lambda v: slice(*v), [lambda x: (x.start, x.stop, x.step)]),
    "weak reference": (lambda v: weakref.ref(_keep(Initialised(*v))), [lambda x: _fields(x())]),
    "weak proxy": (lambda v: weakref.proxy(_keep(Initialised(*v))), _OBJECT),
    "WeakValueDictionary": (
        lambda v: weakref.WeakValueDictionary(a=_keep(Initialised(*v))),
        [lambda x: _fields(x["a"])],
    ),
    "WeakKeyDictionary": (
        lambda v: weakref.WeakKeyDictionary([(_keep(Initialised(1, 2, 3)), v)]),
        [lambda x: next(iter(x.values()))],
    ),
    "parent by a weak reference": (_node, [lambda x: _fields(x.parent())]),
    "builtin method": (lambda v: [*v].__getitem__, [lambda x: [x(k) for k in range(3)]]),
    "method of dict": (lambda v: _dict(v).get, [lambda x: [x(k) for k in "abc"]]),
    "method-wrapper": (lambda v: iter(v).__next__, [lambda x: [x(), x(), x()]]),
    "methodcaller": (
        lambda v: operator.methodcaller("get", *v[:2]),
        [lambda x: (x(_Asked()), 0.7, 2.1)],
    ),
    "context manager": (_manager, [_under]),
    "nullcontext": (contextlib.nullcontext, [_under]),
    "ExitStack": (
        lambda v: _after(contextlib.ExitStack(), ("callback", print, *v)),
        [lambda x: x._exit_callbacks[0][1].__closure__[0].cell_contents],
    ),
    "array.array": (lambda v: array.array("d", v), _SEQUENCE),
    "array of float": (lambda v: array.array("f", v), [_three]),
    "memoryview": (lambda v: memoryview(array.array("d", v)), [_three, list]),
    "ctypes array": (lambda v: (ctypes.c_double * 3)(*v), [_three, list]),
    "ctypes structure": (lambda v: Structure(*v), _OBJECT),
    "ctypes float": (lambda v: [*map(ctypes.c_float, v)], [lambda x: [w.value for w in x]]),
    "ctypes pointer": (lambda v: ctypes.pointer(Structure(*v)), [lambda x: _fields(x.contents)]),
    "ctypes py_object": (lambda v: (ctypes.py_object * 3)(*v), [list]),
    "Fraction": (
        lambda v: [*map(Fraction, v)],
        [lambda x: [*map(float, x)] if isinstance(x[0], float) else x],
    ),
    "Decimal": (lambda v: [*map(Decimal, v)], [list]),
    "complex": (lambda v: [complex(v[0], v[1]), v[2]], [lambda x: (x[0].real, x[0].imag, x[1])]),
    "enum": (lambda v: enum.Enum("E", {"a": 1.0, "b": 2.0}), [lambda x: (x.a.value, 0.7, 2.1)]),
    "array": (
        np.array,
        [
            *_SEQUENCE,
            _slices,
            lambda x: x.tolist(),
            lambda x: [w.item() for w in x],
            lambda x: x.flat,
            lambda x: [w for _, w in np.ndenumerate(x)],
            lambda x: np.split(x, 3),
            lambda x: np.nditer(x),
            lambda x: memoryview(x),
            lambda x: [x.item(k) for k in range(3)],
            lambda x: np.asarray(x),
            lambda x: np.array(x.tolist()),
            lambda x: np.take(x, [0, 1, 2]),
            lambda x: x.flat[:],
            lambda x: x.view(),
            lambda x: x.ravel("K"),
            lambda x: np.broadcast_to(x, (1, 3))[0],
        ],
    ),
    "array of float32": (lambda v: np.array(v, "f4"), [_three]),
    "array of complex": (lambda v: np.array(v) + 0j, [lambda x: x.real]),
    "object array": (
        _object_array,
        [*_SEQUENCE, lambda x: x.tolist(), lambda x: x.flat, lambda x: np.array([*x])],
    ),
    "numpy numbers": (lambda v: [*map(np.float64, v)], [list]),
    "float32": (lambda v: [*map(np.float32, v)], [list]),
    "structured array": (_record, [lambda x: _keys(x[0])]),
    "np.void": (lambda v: _record(v)[0], [_keys, list, lambda x: x.item()]),
    "np.void in a list": (lambda v: [*_record(v)], [lambda x: _keys(x[0])]),
    "np.record": (lambda v: _record(v).view(np.recarray)[0], [_fields]),
    "recarray": (lambda v: _record(v).view(np.recarray), [lambda x: (x.a[0], x.b[0], x.c[0])]),
    "structured array of objects": (lambda v: _record(v, object), [lambda x: _keys(x[0])]),
    "masked array": (np.ma.array, [_three]),
    "matrix": (np.matrix, [lambda x: (x[0, 0], x[0, 1], x[0, 2])]),
    "nditer": (lambda v: np.nditer(np.array(v)), [lambda x: [w.copy() for w in x]]),
    "flatiter": (lambda v: np.array(v).flat, [list, _three]),
    "ndenumerate": (lambda v: np.ndenumerate(np.array(v)), [lambda x: [w for _, w in x]]),
    "broadcast": (lambda v: np.broadcast(np.array(v), 1), [lambda x: [w for w, _ in x]]),
    "array iterator": (lambda v: iter(np.array(v)), _ITERATOR),
    "poly1d": (np.poly1d, [lambda x: x.coeffs, lambda x: [x[2], x[1], x[0]]]),
    "Polynomial": (np.polynomial.Polynomial, [lambda x: x.coef, list]),
    "vectorize": (
        lambda v: np.vectorize(lambda k: v[k], otypes=[float]),
        [lambda x: x(np.arange(3))],
    ),
    "method of an array": (lambda v: np.array(v).item, [lambda x: [x(k) for k in range(3)]]),
    "bytes": (lambda v: struct.pack("3d", *v), [lambda x: struct.unpack("3d", x)]),
    "text": (lambda v: " ".join(map(repr, v)), [lambda x: [*map(float, x.split())]]),
    "Template": (lambda v: string.Template(repr(v[0])), [lambda x: (float(x.template), 0.7, 2.1)]),
    "ContextVar": (lambda v: _after(contextvars.ContextVar("v"), ("set", v)), [lambda x: x.get()]),
}
