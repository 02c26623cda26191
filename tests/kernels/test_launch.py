"""Running programs over arrays: layouts, types, sums, threads, arrays to write into."""

import re
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from zyg.kernels.launch import describe, plan_for, run
from zyg.kernels.plans import CHUNK, Output, Target

from .programs import (
    MIXED,
    layouts,
    mixed_in_numpy,
    no_two_alike,
    outputs,
    program,
    summed_to,
)

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
BACKENDS = ("llvm", "python")
PRODUCT = program(("float", "float"), lambda x, y: (x * y,))
SAME = program(("float",), lambda x: (x + 0,))
FLOATS = (np.float32, np.float64, np.float16, np.int8, np.bool_)


@st.composite
def operand(draw, shape, dtypes):
    """An array of this shape in any layout, or a number."""
    if shape == () and draw(st.booleans()):
        return draw(st.sampled_from(dtypes))(3)
    array = no_two_alike(shape, start=draw(st.integers(1, 50)))
    array = array.astype(draw(st.sampled_from(dtypes)))
    array = draw(st.sampled_from([*layouts(array)]))
    if array.ndim and array.shape[0] and draw(st.booleans()):
        array = np.broadcast_to(array[:1], array.shape)
    if draw(st.booleans()):
        array = array.view()
        array.flags.writeable = False
    return array


@st.composite
def four_operands(draw):
    shapes = draw(mutually_broadcastable_shapes(num_shapes=4, max_dims=4, max_side=5, min_side=0))
    kinds = (FLOATS, FLOATS, (np.int64, np.uint8), (np.bool_,))
    pairs = zip(shapes.input_shapes, kinds, strict=True)
    return shapes.result_shape, [draw(operand(shape, kind)) for shape, kind in pairs]


def wide(x):
    return np.asarray(x) if np.asarray(x).dtype.kind == "b" else np.asarray(x, np.float64)


def expected(x, y, k, b):
    return mixed_in_numpy(
        np.asarray(x, np.float64), np.asarray(y, np.float64), wide(k), np.asarray(b)
    )


@settings(max_examples=100)
@given(four_operands())
def test_operands_of_any_layout_and_type_in_python(case):
    check_values(case, "python")


@pytest.mark.slow
@settings(max_examples=25)
@given(four_operands())
def test_operands_of_any_layout_and_type_compiled(case):
    check_values(case, "llvm")


def check_values(case, backend):
    shape, operands = case
    got = run(MIXED, operands, outputs((F64, None), (F32, None)), dtype=F64, backend=backend)
    for y, right in zip(got, expected(*operands), strict=True):
        assert type(y) is np.ndarray
        assert y.shape == shape
        np.testing.assert_allclose(y, np.broadcast_to(right, shape), rtol=1e-6)
    assert [y.dtype for y in got] == [F64, F32]


@st.composite
def sums(draw):
    shape, operands = draw(four_operands())
    wanted = []
    for _ in range(2):
        kept = tuple(n if draw(st.booleans()) else 1 for n in shape)
        drop = draw(st.integers(0, len(shape)))
        drop = 0 if any(n != 1 for n in kept[:drop]) else drop
        wanted.append(kept[drop:])
    return operands, wanted


@settings(max_examples=100)
@given(sums())
def test_sums_over_any_axes_in_python(case):
    check_sums(case, "python")


@pytest.mark.slow
@settings(max_examples=25)
@given(sums())
def test_sums_over_any_axes_compiled(case):
    check_sums(case, "llvm")


def check_sums(case, backend):
    operands, shapes = case
    full = np.broadcast_shapes(*[np.shape(x) for x in operands])
    got = run(
        MIXED,
        operands,
        outputs((F64, shapes[0]), (F64, shapes[1])),
        dtype=F64,
        backend=backend,
    )
    for y, right, shape in zip(got, expected(*operands), shapes, strict=True):
        assert y.shape == shape
        right = summed_to(np.broadcast_to(right, full), shape)
        np.testing.assert_allclose(y, right, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("layout", range(4))
def test_results_are_laid_out_as_numpys(layout):
    x = [*layouts(no_two_alike((3, 4, 5)))][layout]
    (y,) = run(PRODUCT, [x, 2.0], outputs((F64, None)), dtype=F64, backend="python")
    assert y.strides == (x * 2.0).strides


@pytest.mark.parametrize(
    ("x", "y", "shape", "letters"),
    [
        (np.ones((3, 4, 5)), np.ones((3, 4, 5)), (60,), ["F", "F"]),
        (np.ones((3, 4, 5)).T, np.ones((3, 4, 5)).T, (60,), ["F", "F"]),
        (np.ones((3, 4, 5)), np.ones(5), (12, 5), ["FF", "BF"]),
        (np.ones((3, 4, 5)), np.ones((3, 1, 1)), (3, 20), ["FF", "FB"]),
        (np.ones((3, 4, 5)), np.ones((4, 1)), (3, 4, 5), ["FFF", "BFB"]),
        (np.ones((3, 4, 5))[:, 1:3], 1.0, (3, 10), ["FF", ""]),
        (np.ones((3, 4))[:, ::2], 1.0, (6,), ["F", ""]),
        (np.ones((3, 4)), np.broadcast_to(np.ones(1), (3, 4)), (12,), ["F", "B"]),
        (np.ones((1, 1)), np.ones(()), (1,), ["", ""]),
    ],
)
def test_axes_are_merged(x, y, shape, letters):
    described = describe(PRODUCT, [x, y], outputs((F64, None)), dtype=F64, backend="python")
    assert described.shape == shape
    assert described.operands == letters


def test_a_transposed_operand_sets_the_order_of_the_loops():
    x = no_two_alike((40, 50)).T
    described = describe(PRODUCT, [x, np.ones((50, 1))], outputs((F64, None)), dtype=F64)
    assert described.shape == (40, 50)
    assert described.operands == ["FF", "BF"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("overlap", [0, 1, -3, 5])
def test_writing_over_operands_is_as_if_they_were_copied(backend, overlap):
    memory = no_two_alike((300,))
    x = memory[10:200]
    out = memory[10 + overlap : 200 + overlap]
    if overlap == 0:
        out = x
    right = x * x
    (y,) = run(PRODUCT, [x, x], [Output(F64, None, out)], dtype=F64, backend=backend)
    assert y is out
    assert (out == right).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_writing_over_an_operand_turned_round(backend):
    x = no_two_alike((20, 20))
    right = x * x.T
    run(PRODUCT, [x, x.T], [Output(F64, None, x)], dtype=F64, backend=backend)
    assert (x == right).all()


def test_an_operand_that_is_written_over_is_not_copied():
    x, y = np.ones((4, 5)), np.ones((4, 5))
    text = describe(PRODUCT, [x, y], [Output(F64, None, x)], dtype=F64).kernel.text
    (signature,) = re.findall('signature = "(.*)"', text)
    assert signature.count("float64[") == 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_writing_into_an_array_of_any_layout(backend, dtype):
    x = no_two_alike((6, 7))
    for out in layouts(np.zeros((6, 7), dtype)):
        (y,) = run(
            PRODUCT, [x, x], [Output(np.dtype(dtype), None, out)], dtype=F64, backend=backend
        )
        assert y is out
        np.testing.assert_allclose(out, (x * x).astype(dtype), rtol=1e-3)


def test_sums_are_written_into_an_array():
    x, out = no_two_alike((6, 7)), np.zeros(7)
    (y,) = run(SAME, [x], [Output(F64, (7,), out)], dtype=F64, backend="python")
    assert y is out
    assert (out == x.sum(axis=0)).all()


def test_two_results_into_arrays_that_overlap():
    x, memory = no_two_alike((10,)), np.zeros(11)
    double = program(("float",), lambda x: (x + x, x))
    targets = [Output(F64, None, memory[:10]), Output(F64, None, memory[1:])]
    run(double, [x], targets, dtype=F64)
    assert (memory == [2 * x[0], *x]).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_array_that_is_read_only_is_not_written(backend):
    out = np.zeros(5)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        run(SAME, [np.ones(5)], [Output(F64, None, out)], dtype=F64, backend=backend)
    assert (out == 0).all()


@pytest.mark.parametrize(
    "shapes",
    [((), ()), ((1, 3000), (300, 1)), ((300, 1), ()), ((1, 3000), (1, 3000))],
)
def test_sums_do_not_depend_on_the_number_of_threads(shapes):
    x = np.random.default_rng(1).standard_normal((300, 3000)).astype(np.float32)
    square = program(("float",), lambda x: (x * x, x * 3))
    assert x.size > 4 * CHUNK
    kinds = outputs((F32, shapes[0]), (F32, shapes[1]))
    one = run(square, [x], kinds, dtype=F32, workers=1)
    for workers in (2, 5):
        many = run(square, [x], kinds, dtype=F32, workers=workers)
        assert [a.tobytes() for a in many] == [a.tobytes() for a in one]
    for y, right, shape in zip(one, (x * x, x * 3), shapes, strict=True):
        np.testing.assert_allclose(y, summed_to(right, shape), rtol=1e-5, atol=1e-3)


def test_values_do_not_depend_on_the_number_of_threads():
    x = np.random.default_rng(1).standard_normal((3, 200_001))
    one, two = (
        run(PRODUCT, [x, x[:1]], outputs((F64, None)), dtype=F64, workers=n)[0] for n in (1, 2)
    )
    assert one.tobytes() == two.tobytes() == (x * x[:1]).tobytes()


@pytest.mark.parametrize("shape", [(4, 300_000), (100_000, 8), (300_000, 4)])
@pytest.mark.parametrize("kept", [0, 1])
def test_sums_of_chunks_take_little_memory(shape, kept):
    target = tuple(n if k == kept else 1 for k, n in enumerate(shape))
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    (y,) = run(SAME, [x], outputs((F32, target)), dtype=F32, workers=2)
    np.testing.assert_allclose(y, summed_to(x, target), rtol=1e-5, atol=1e-3)
    described = describe(SAME, [x], outputs((F32, target)), dtype=F32)
    assert described.chunks == (1 if described.results[0] == "F" else -(-x.size // CHUNK))


@pytest.mark.parametrize("shape", [(), (1, 1000), (1000, 1)])
def test_sums_of_float32_are_at_least_as_exact_as_numpys(shape):
    x = np.random.default_rng(2).random((1000, 1000)).astype(np.float32)
    (y,) = run(SAME, [x], outputs((F32, shape)), dtype=F32)
    right = summed_to(x, shape)
    axes = tuple(k for k, n in enumerate((1,) * (2 - len(shape)) + shape) if n == 1)
    numpys = x.sum(axis=axes, keepdims=True).reshape(shape)
    assert np.abs(y - right).max() <= np.abs(numpys - right).max()


def test_calls_from_many_threads():
    x = no_two_alike((500, 600))
    faults = []

    def work(k):
        for _ in range(20):
            (y,) = run(PRODUCT, [x, float(k)], outputs((F64, None)), dtype=F64, workers=2)
            if (y != x * k).any():
                faults.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive()
    assert faults == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_unusual_arrays(backend):
    x = no_two_alike((5, 6))
    fields = np.zeros((5, 6), [("a", "i1"), ("x", "f8")])
    fields["x"] = x
    for strange in (fields["x"], x.astype(">f8"), x.astype(np.longdouble), x.astype(">f2")):
        (y,) = run(PRODUCT, [strange, x], outputs((F64, None)), dtype=F64, backend=backend)
        assert (y == x * x).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_ints_and_bools(backend):
    count = program(("int", "bool"), lambda k, b: (k * k, b, k > 2))
    k = np.array([[1, 2, 3]], np.uint64)
    b = np.array([[True], [False]])
    kinds = [Output(np.dtype(d)) for d in (np.int32, np.bool_, np.bool_)]
    square, same, larger = run(count, [k, b], kinds, dtype=F64, backend=backend)
    assert (square == [[1, 4, 9]] * 2).all()
    assert (same == [[True] * 3, [False] * 3]).all()
    assert (larger == [[False, False, True]] * 2).all()
    kinds = [Output(np.dtype(np.int64), s) for s in ((), (2, 1), (3,))]
    square, same, larger = run(count, [k, b], kinds, dtype=F64, backend=backend)
    assert (square, same.tolist(), larger.tolist()) == (28, [[3], [0]], [0, 0, 2])


def test_what_an_input_cannot_take_is_refused():
    whole = program(("int",), lambda k: (k + 1,))
    flag = program(("bool",), lambda b: (b,))
    kinds = outputs((np.int64, None))
    for target, x in (
        (whole, 1.5),
        (whole, np.ones(3)),
        (flag, 1),
        (SAME, 1j),
        (flag, np.ones(3, int)),
    ):
        with pytest.raises(TypeError, match="cannot be"):
            run(target, [x], kinds, dtype=F64, backend="python")
    for x in (2**63, np.array([1, 2**63], np.uint64)):
        with pytest.raises(OverflowError):
            run(whole, [x], kinds, dtype=F64)
    with pytest.raises(TypeError, match="cannot be stored"):
        run(SAME, [np.ones(3)], outputs((np.int64, None)), dtype=F64)


def test_float16_overflows_to_infinity_silently():
    (y,) = run(PRODUCT, [np.float16([300]), 300], outputs((np.float16, None)), dtype=F32)
    assert y.dtype == np.float16
    assert y[0] == np.inf


def test_large_results_are_reused_memory():
    x = np.ones((600, 600))
    (y,) = run(PRODUCT, [x, 2.0], outputs((F64, None)), dtype=F64)
    was = y.ctypes.data
    del y
    assert run(PRODUCT, [x, 3.0], outputs((F64, None)), dtype=F64)[0].ctypes.data == was


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_kernel_says_whether_what_it_checks_is_finite(backend, dtype, workers):
    n = CHUNK + 77 if backend == "llvm" else 40
    x = np.linspace(-3, 3, n).astype(dtype)
    both = program(("float",), lambda x: (x + 0, x * x))
    outputs = [Output(dtype), Output(dtype, checked=True)]
    plan = plan_for(both, [x], outputs, Target(dtype, "fast", backend))

    assert plan.checked == (1,)
    assert plan.run([x], [None, None], workers)[1]
    for bad in (np.inf, -np.inf, np.nan, -np.nan, np.finfo(dtype).max):  # whose square is infinite
        for k in (0, n // 2, n - 1):
            spoiled = x.copy()
            spoiled[k] = bad
            assert not plan.run([spoiled], [None, None], workers)[1]
    x[3] = np.sqrt(np.finfo(dtype).max) * 0.999
    assert plan.run([x], [None, None], workers)[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_results_that_are_stored_as_they_are_computed_are_checked(backend):
    x = no_two_alike((4, 3))
    wanted = {
        "in full": (Output(F64, checked=True), True),
        "in memory given": (Output(F64, out=np.empty((4, 3)), checked=True), True),
        "in another type": (Output(np.dtype(np.float16), checked=True), False),
        "summed": (Output(F64, (3,), checked=True), False),
        "unasked": (Output(F64), False),
    }
    for name, (output, checked) in wanted.items():
        plan = plan_for(SAME, [x], [output], Target(F64, "fast", backend))
        assert (plan.checked == (0,)) is checked, name
