"""Fourier transforms in machine code: NumPy's bits, and the derivatives of the rules."""

import linecache

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import zyg
from zyg.compiler import libraries

_OF_ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_OF_MANY = [f"{name}{end}" for name in _OF_ONE[:4] for end in "2n"]
_OF_REAL = {"rfft", "rfft2", "rfftn", "ihfft"}


def written(name, keywords):
    """A function of `x` alone, and one that squares what it gives with weights."""
    given = "".join(f", {key}={value!r}" for key, value in keywords.items())
    text = (
        f"def transform(x):\n    return np.fft.{name}(x{given})\n"
        f"def loss(x, w):\n    return np.sum(np.real(np.fft.{name}(x{given}) * w) ** 2)\n"
    )
    file, found = f"<np.fft.{name}(x{given})>", {"np": np}
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), found)
    return found["transform"], found["loss"]


@st.composite
def calls(draw):
    name = draw(st.sampled_from([*_OF_ONE, *_OF_MANY]))
    of_one = name in _OF_ONE
    shape = draw(st.lists(st.integers(2, 6), min_size=1 if of_one else 2, max_size=3))
    keywords = {"norm": draw(st.sampled_from([None, "backward", "ortho", "forward"]))}
    if of_one:
        keywords["axis"] = draw(st.integers(-len(shape), len(shape) - 1))
        keywords["n"] = draw(st.none() | st.integers(1, 8))
    elif draw(st.booleans()):
        axes = draw(st.permutations(range(len(shape))))
        keywords["axes"] = tuple(axes[: draw(st.integers(1, len(axes)))])
    random = np.random.default_rng(draw(st.integers(0, 99)))
    x = random.normal(size=shape)
    if name not in _OF_REAL and draw(st.booleans()):
        x = x + 1j * random.normal(size=shape)
    return name, keywords, x if draw(st.booleans()) else np.asfortranarray(x), random


@settings(max_examples=12, deadline=None)
@given(calls())
def test_value_to_the_bit_and_derivatives(call):
    name, keywords, x, random = call
    transform, loss = written(name, keywords)
    with zyg.config(fallback="error"):
        made, y = zyg.compile(transform)(x), transform(x)
        assert made.dtype == y.dtype
        assert made.strides == y.strides
        assert np.array_equal(made, y)
        w = random.normal(size=y.shape) + 1j * random.normal(size=y.shape)
        compiled = zyg.compile(loss)
        assert not compiled.inspect(x, w)["called back"]
        for mine, its in zip(zyg.gradient(compiled, x, w), zyg.gradient(loss, x, w), strict=True):
            assert mine.dtype == its.dtype
            assert mine == pytest.approx(its, rel=1e-11, abs=1e-11)
        order = 2 if name in _OF_ONE else 1  # the others are made of these
        zyg.check_gradient(lambda x: compiled(x, w), x, order=order)


@pytest.mark.parametrize("name", [*_OF_ONE, *_OF_MANY])
@pytest.mark.parametrize("dtype", [int, bool, np.int8, np.uint64, np.float32, np.complex64])
def test_of_other_types_numpys_values(name, dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    transform, _ = written(name, {})
    with zyg.config(fallback="silent"):
        rows = [outcome(f, x) for f in (zyg.compile(transform), transform)]
    assert rows[0] == rows[1]


def outcome(f, x):
    try:
        y = f(x)
    except TypeError as error:
        return type(error)
    return y.dtype, y.tobytes()


@pytest.mark.parametrize("keywords", [{"axis": 5}, {"axis": -3}, {"n": 0}, {"norm": "other"}])
@pytest.mark.parametrize("name", _OF_ONE)
def test_what_numpy_raises(name, keywords):
    transform, _ = written(name, keywords)
    with pytest.raises((ValueError, IndexError)) as its:
        transform(np.ones((3, 4)))
    with zyg.config(fallback="silent"), pytest.raises(its.type):
        zyg.compile(transform)(np.ones((3, 4)))


def spectrum(x, n):
    half = np.fft.rfft(np.fft.irfft(np.fft.rfft(x, n), n, norm="ortho"), norm="forward")
    return np.sum(np.abs(half) ** 3)


@pytest.mark.parametrize("n", [6, 7, 9, 4])
def test_text_computes_the_same(n):
    x, found = np.cos(np.arange(7.0)), {}
    exec(zyg.compile(spectrum).source(x, n), found)
    assert found["spectrum"](x, n) == pytest.approx(spectrum(x, n), rel=1e-13)


def test_lengths_are_numpys():
    compiled = zyg.compile(spectrum)
    assert compiled(np.arange(5.0), 5) == spectrum(np.arange(5.0), 5)
    for x, n in ((np.arange(5.0), 0), (np.arange(5.0), -2), (np.zeros(0), None)):
        with pytest.raises(ValueError, match="Invalid number of FFT data points"):
            compiled(x, n)


def test_rows_in_threads():
    @zyg.compile
    def total(x):
        found = np.zeros(len(x))
        for i in zyg.prange(len(x)):
            found[i] = np.sum(np.abs(np.fft.fft(x[i])) ** 3)
        return np.sum(found)

    x = np.random.default_rng(0).normal(size=(40, 64))
    expected = np.sum(np.sum(np.abs(np.fft.fft(x)) ** 3, axis=1))
    assert total(x) == pytest.approx(expected, rel=1e-12)
    zyg.check_gradient(total, x)


def test_a_numpy_without_these_loops_is_called_back(monkeypatch):
    zyg.kernels.clear()
    monkeypatch.setattr(libraries, "loops", dict)

    @zyg.compile
    def energy(x):
        return np.sum(np.abs(np.fft.fft(x)) ** 3)

    x = np.arange(5.0) ** 2
    assert energy(x) == pytest.approx(np.sum(np.abs(np.fft.fft(x)) ** 3), rel=1e-14)
    assert "fft" in energy.inspect(x)["called back"]
    zyg.check_gradient(energy, x)
    zyg.kernels.clear()


def test_loops_are_those_that_numpy_runs():
    """All of them are found in the NumPy of now, each at an address of its own."""
    assert libraries.loops().keys() == libraries.LOOPS.keys()
    assert len({*libraries.loops().values()}) == len(libraries.LOOPS)
