"""Parameters in files: they come back bit for bit; what is refused, and what differs, by name."""

import collections
import dataclasses
import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
from zyg.errors import StructureError

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass(frozen=True)
class Layer:
    w: np.ndarray
    bias: float
    name: str = "dense"


class Model:
    def __init__(self, rows=3, columns=4):
        self.layers = [Layer(np.full((rows, columns), 0.5), 0.25), Layer(np.ones(2), 1.0)]
        self.ends = Pair(1.0, 2)


class Slotted:
    __slots__ = ("x",)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "parameters.npz"


def same(x, y):
    """Whether values have the same types and bits."""
    if isinstance(x, np.ndarray):
        return (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())
    if isinstance(x, (list, tuple)):
        return type(x) is type(y) and len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, dict):
        return same([*x.items()], [*y.items()])
    if isinstance(x, (float, complex, np.number)):
        return type(x) is type(y) and np.asarray(x).tobytes() == np.asarray(y).tobytes()
    return type(x) is type(y) and x == y


PLAIN = [
    np.str_("b"), np.datetime64("2001-01-01"),
    None, True, "text \ud800\0", 3, -(7**6000), 0.1, -0.0, float("inf"), float("nan"), 1 - 0.5j,
    np.float32(0.1), np.complex64(1j), np.int8(-3), np.bool_(True), [], (), {}, [[], ()],
    np.zeros((0, 3)), np.array(2.0), np.arange(6, dtype=np.float32).reshape(2, 3).T,
    np.array([1j, 2], np.complex64), np.array([1.0, 2.0], ">f8"), np.array(["a", "bc"]),
    {1: 2.0, "a": (1, [2.0]), None: None, (1, "b"): np.ones(2), 0.5: True},
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=lambda x: type(x).__name__)
def test_what_is_no_object_comes_back_bit_for_bit(path, value):
    zyg.save(path, value)
    assert same(zyg.load(path), value)
    assert same(zyg.load(path, like=value), value)


_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text()
)
_TREES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=50, deadline=None, derandomize=True)
@given(_TREES)
def test_any_structure_comes_back(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "any.npz"
    zyg.save(path, value)
    assert same(zyg.load(path), value)


def test_objects_come_back_in_the_classes_of_like(path):
    model, like = Model(), Model()
    model.layers[0].w[0, 1] = 9.0
    zyg.save(path, model)
    found = zyg.load(path, like)
    assert type(found) is Model
    assert type(found.layers[0]) is Layer
    assert found.layers[0].w[0, 1] == 9.0
    assert like.layers[0].w[0, 1] == 0.5
    assert found.layers[1].name == "dense"
    assert found.ends == Pair(1.0, 2)
    assert type(found.ends) is Pair


def test_other_containers_come_back_into_like(path):
    slotted = Slotted()
    slotted.x = 1.5
    value = [slotted, collections.deque([1.0], 3), collections.OrderedDict(a=1.0)]
    zyg.save(path, value)
    found = zyg.load(path, value)
    assert found[0].x == 1.5
    assert found[0] is not slotted
    assert found[1:] == value[1:]
    assert [*map(type, found)] == [*map(type, value)]


def test_what_is_met_twice_is_one_again(path):
    w = np.ones(3)
    zyg.save(path, {"encoder": w, "decoder": [w]})
    found = zyg.load(path)
    assert found["encoder"] is found["decoder"][0]


def test_depth_is_no_limit(path):
    deep = 1.0
    for _ in range(3000):
        deep = [deep]
    zyg.save(path, deep)
    found = zyg.load(path)
    for _ in range(3000):
        (found,) = found
    assert found == 1.0


@pytest.mark.parametrize(
    ("like", "message"),
    [
        (Model(3, 5), r"\.layers\[0\]\.w: an array of shape \(3, 4\) and float64 in the file, "
                      r"an array of shape \(3, 5\) and float64 in like"),
        (zyg.map(np.float32, Model()), r"\.layers\[0\]\.w: .* float64 in the file, .* float32"),
        ({"layers": 1}, "the top: a Model object in the file, a dict in like"),
        (1.0, "the top: a Model object in the file, a number in like"),
    ],
)  # fmt: skip
def test_the_first_place_that_differs_is_named(path, like, message):
    zyg.save(path, Model())
    with pytest.raises(StructureError, match=message):
        zyg.load(path, like)


@pytest.mark.parametrize(
    ("value", "like", "message"),
    [
        ([1.0], [1.0, 2.0], r"zyg.load: \[1\]: no part in the file, one in like"),
        ({"a": 1, "b": 2}, {"a": 1}, r"zyg.load: \['b'\]: a part in the file, none in like"),
        ({"act": "relu"}, {"act": "tanh"}, r"\['act'\]: 'relu' in the file, 'tanh' in like"),
        ((1,), [1], "the top: a tuple in the file, a list in like"),
        ([None], [2.0], r"\[0\]: None in the file, a number in like"),
    ],
)
def test_parts_that_differ_are_named(path, value, like, message):
    zyg.save(path, value)
    with pytest.raises(StructureError, match=message):
        zyg.load(path, like)


def test_objects_need_like(path):
    zyg.save(path, [1.0, {"m": Model()}])
    with pytest.raises(StructureError, match=r"a Model object at \[1\]\['m'\], and no like"):
        zyg.load(path)


def cycle():
    x = [1.0]
    x.append(x)
    return x


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"f": cycle}, r"the function cycle, at \['f'\]"),
        ([len], r"a builtin_function_or_method, at \[0\]"),
        ([np.tanh], r"a ufunc, at \[0\]"),
        ([Model], r"the class Model, at \[0\]"),
        (np.array([1, "a"], object), "an array of object, at the top"),
        ([np.zeros(1, "f8,i4")[0]], r"a void, at \[0\]"),
        ({(1, Pair(1, 2)): 1.0}, r"a tuple as a key, at the top \(a key\)"),
        ([{1.0}], r"a set, at \[0\]"),
        ([threading.Lock()], r"a lock, at \[0\]"),
        (cycle(), r"a list that is inside itself, at \[1\]"),
    ],
)
def test_what_is_no_data_is_refused_by_name(path, value, what):
    with pytest.raises(StructureError, match=what):
        zyg.save(path, value)
    assert not path.exists()


def test_watched_values_are_refused(path):
    with pytest.raises(StructureError, match=r"being differentiated, at \['x'\]"):
        zyg.gradient(lambda x: zyg.save(path, {"x": x}), 1.0)
    with pytest.raises(StructureError, match=r"being differentiated, at \[0\]"):
        zyg.gradient(lambda x: zyg.save(path, [x]), np.ones(2))


def test_a_file_is_replaced_whole_or_not_at_all(path, monkeypatch):
    zyg.save(path, 1.0)

    def fails(file, **arrays):
        file.write(b"half")
        raise OSError("full")

    monkeypatch.setattr(np, "savez", fails)
    with pytest.raises(OSError, match="full"):
        zyg.save(path, 2.0)
    assert zyg.load(path) == 1.0
    assert [*path.parent.iterdir()] == [path]


def test_files_of_others_are_refused(path):
    for contents in (b"", b"nothing", b"PK\x03\x04"):
        path.write_bytes(contents)
        with pytest.raises(StructureError, match=r"zyg\.save has not written"):
            zyg.load(path)
    np.savez(path, a=np.ones(2))
    with pytest.raises(StructureError, match=r"zyg\.save has not written"):
        zyg.load(path)
    np.savez(path, structure=np.array(json.dumps({"version": 2, "nodes": []})))
    with pytest.raises(StructureError, match="a later zyg has written: version 2"):
        zyg.load(path)
    with pytest.raises(FileNotFoundError):
        zyg.load(path.parent / "none.npz")
