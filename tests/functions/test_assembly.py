"""Choosing, inserting, joining and padding: what the check of every rule cannot see."""

import numpy as np
import pytest

import zyg
from zyg.errors import MissingRuleError

from ..calls.calls import CUBE, A, V, array

windows = np.lib.stride_tricks.sliding_window_view


@pytest.mark.parametrize("trim", ["fb", "f", "b"])
@pytest.mark.parametrize("kept", [[0, 0, 1, 1, 0, 1, 0], [1, 1, 1, 1, 1, 1, 1], [0] * 7])
def test_trimmed_zeros_carry_nothing(kept, trim):
    zyg.check_gradient(lambda x: np.trim_zeros(x * kept, trim), array(7))


def test_deleted_elements_get_nothing():
    (d,) = zyg.gradient(lambda x: np.sum(np.delete(x, [0, 2], axis=1)), A)

    np.testing.assert_array_equal(d, np.tile([0.0, 1.0, 0.0, 1.0], (3, 1)))


def test_padding_by_a_function_is_refused_by_name():
    with pytest.raises(MissingRuleError, match=r"np\.pad with a function"):
        zyg.pullback(lambda x: np.pad(x, 1, lambda v, w, axis, kw: None), V)


def test_windows_are_views():
    def f(x):
        y = x * 1.5
        w = windows(y, 2)
        y[1] *= x[0]
        y[2:] += x[1]
        return np.sum(np.sin(w) * w * [1.0, 2.0]) + w[1:].reshape(-1).sum()

    assert zyg.value_and_gradient(f, V)[0] == pytest.approx(f(V), rel=1e-14)
    zyg.check_gradient(f, V, order=2)


def test_windows_can_be_written_where_they_do_not_overlap():
    def f(x):
        y = x * 1.5
        w = windows(y, 2, writeable=True)
        w[0] *= x[2]
        w[::2, 1] = x[1] ** 2
        return np.sum(np.sin(w) * w * [1.0, 2.0])

    assert zyg.value_and_gradient(f, V)[0] == pytest.approx(f(V), rel=1e-14)
    zyg.check_gradient(f, V, order=2)


def test_windows_that_overlap_are_not_written_at_once():
    def f(x):
        w = windows(x * 1.5, 2, writeable=True)
        w *= x[0]
        return np.sum(w)

    with pytest.raises(zyg.errors.MutationError, match="same memory"):
        zyg.gradient(f, V)
    with pytest.raises(ValueError, match="read-only"):
        zyg.gradient(lambda x: windows(x, 2).fill(0), V)


def test_the_room_that_padding_leaves_empty_carries_nothing():
    (d,) = zyg.gradient(lambda x: np.sum(np.pad(x, 2, "empty")[2:-2, 2:-2] * A), A)

    np.testing.assert_array_equal(d, A)


@pytest.mark.parametrize(
    ("mode", "option"), [("constant", "constant_values"), ("linear_ramp", "end_values")]
)
def test_the_values_of_padding_are_differentiated_however_they_are_given(mode, option):
    for given in (
        lambda c: c[0],
        lambda c: c[:2],
        lambda c: (c[0], 2),
        lambda c: ((c[0], c[1]), (3, c[2])),
        lambda c: c.reshape(2, 2),
    ):
        zyg.check_gradient(lambda x, c: np.pad(x, 2, mode, **{option: given(c)}), A, V)  # noqa: B023


def test_what_numpy_answers_with_a_view_is_a_view():
    def turned(x):
        y = x * 1.0
        np.rot90(y)[0, 0] = 0.0
        np.rollaxis(y, 1)[1, 0] = 0.0
        np.unstack(y)[2][0] = 0.0
        np.broadcast_arrays(y, y)[0][1, 1] = 0.0
        np.trim_zeros(y[2, 1:])[0] = 0.0
        return np.sum(y * y)

    plain = A.copy()
    for place in ((0, 3), (0, 1), (2, 0), (1, 1), (2, 1)):
        plain[place] = 0.0

    np.testing.assert_allclose(zyg.gradient(turned, A)[0], 2 * plain)


def test_integers_that_are_watched_still_index_through_ix():
    def picked(n, x):
        return np.sum(x[np.ix_(n, [0, 2])])

    _, d = zyg.gradient(picked, np.array([0, 0, 2]), A)

    np.testing.assert_array_equal(d, np.outer([2, 0, 1], [1, 0, 1, 0]))


def test_lists_may_mix_watched_numbers_with_plain_ones():
    x = np.array([0.3, 1.2, 2.5])
    for f in (
        lambda x: x * [x[0], 1, 2],
        lambda x: [x[0], 1, 2] * x,
        lambda x: np.maximum(x, [x[1], 1, 2]),
        lambda x: np.power([1, 2, x[2]], x),
        lambda x: x[:2] + [[x[0], 1], [2, x[2]]],
        lambda x: np.linspace(x, [x[0], 1, 2], 3),
        lambda x: np.interp(x, [0, 2, x[2] + 1], [x[0], 1, 2]),
        lambda x: np.polyval([x[0], 1], x),
        lambda x: np.insert(x, 1, [x[0], 1]),
    ):
        zyg.check_gradient(f, x)


def test_second_derivatives_through_gathered_elements_cost_what_the_elements_cost():
    x = np.linspace(0.1, 1.0, 1000)
    (d,) = zyg.gradient(
        lambda x: np.sum(zyg.gradient(lambda x: np.sum(windows(x, 3) ** 3), x)[0]), x
    )

    np.testing.assert_allclose(d[2:-2], 18 * x[2:-2])


def test_block_of_a_single_array_is_a_copy():
    y, _ = zyg.pullback(lambda x: np.block(x), CUBE)

    assert not np.shares_memory(y, CUBE)


def test_split_into_a_watched_number_of_parts():
    def f(x, n):
        return sum(k * np.sum(part) for k, part in enumerate(np.split(x, n)))

    g, nothing = zyg.gradient(f, np.arange(6.0), 3)

    assert g.tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
    assert nothing is None
