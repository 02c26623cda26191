"""Rotations: values by SciPy's own bits, derivatives by differences, refusals."""

import copy
import pickle

import numpy as np
import pytest
import scipy.spatial.transform

import zyg
from zyg.errors import ConversionError, MissingRuleError, ZygError
from zyg.scipy.spatial import transform

from ..calls.calls import array

SCIPYS, OURS = scipy.spatial.transform, transform
MANY, ONE, POINTS = 0.7 * array(4, 3), np.array([0.3, -0.2, 0.7]), array(4, 3, seed=2)
OTHER = SCIPYS.Rotation.from_rotvec(ONE).apply(POINTS) + 0.1 * array(4, 3, seed=3)
WEIGHTS, TIMES = np.array([1.0, 2.0, 0.5, 0.7]), np.array([0.0, 1.0, 2.5, 3.0])
ORDERS = ("xyz", "ZYX", "zxz", "XYX", "yzx")


def check(f, *args):
    """f(module, *args) is SciPy's, where gradients run and where none does; so are derivatives."""
    expected = f(SCIPYS, *args)
    for y in (f(OURS, *args), zyg.pullback(lambda *xs: f(OURS, *xs), *args)[0]):
        assert np.array_equal(y, expected)
        assert type(y) is type(expected)
    zyg.check_gradient(lambda *xs: f(OURS, *xs), *args)


AS = {
    "quaternion": lambda m, x: m.Rotation.from_rotvec(x).as_quat(),
    "canonical": lambda m, x: m.Rotation.from_rotvec(x).as_quat(canonical=True, scalar_first=True),
    "matrix": lambda m, x: m.Rotation.from_rotvec(x, degrees=True).as_matrix(),
    "vector": lambda m, x: m.Rotation.from_rotvec(x).as_rotvec(degrees=True),
    "parameters": lambda m, x: m.Rotation.from_rotvec(x).as_mrp(),
    "of parameters": lambda m, x: m.Rotation.from_mrp(x).as_matrix(),
    "inverse": lambda m, x: m.Rotation.from_rotvec(x).inv().as_quat(),
    "power": lambda m, x: (m.Rotation.from_rotvec(x) ** -2).as_quat(),
    "product": lambda m, x: (m.Rotation.from_rotvec(x) * m.Rotation.from_rotvec(ONE)).as_quat(),
    "applied": lambda m, x: m.Rotation.from_rotvec(x).apply(POINTS, inverse=True),
}
ANGLES = {"many": MANY, "one": ONE, "none": np.zeros(3), "tiny": 1e-5 * ONE, "large": 4.2 * ONE}


@pytest.mark.parametrize("x", ANGLES.values(), ids=ANGLES)
@pytest.mark.parametrize("f", AS.values(), ids=AS)
def test_turns_of_any_size(f, x):
    check(f, x)


@pytest.mark.parametrize("order", ORDERS)
def test_angles_of_euler(order):
    for x in (MANY, ONE):
        check(lambda m, x: m.Rotation.from_rotvec(x).as_euler(order), x)
        check(lambda m, x: m.Rotation.from_euler(order, x, degrees=True).as_quat(), x)
    check(lambda m, a: m.Rotation.from_euler("z", a).as_quat(), 0.7)


def test_angles_about_any_axes():
    check(lambda m, a: m.Rotation.from_davenport(np.eye(3), "extrinsic", a).as_quat(), MANY)
    check(lambda m, x, a: m.Rotation.from_davenport(x, "i", a).as_quat(), ONE, 0.7)


def test_quaternions_are_normalised():
    check(lambda m, q: m.Rotation.from_quat(q).as_matrix(), array(3, 4))
    check(lambda m, q: m.Rotation.from_quat(q, scalar_first=True).as_quat(), array(4))


@pytest.mark.parametrize("size", [0.0, 0.3, 0.9, 2.4])
def test_matrices_are_brought_to_the_nearest_rotations(size):
    m = SCIPYS.Rotation.from_rotvec(size * MANY).as_matrix()
    for x in (m, m + 0.05 * array(4, 3, 3), m[0]):
        check(lambda m, x: m.Rotation.from_matrix(x).as_quat(), x)


def test_means():
    check(lambda m, x: m.Rotation.from_rotvec(x).mean().as_quat(), 0.5 * MANY)
    check(lambda m, x: m.Rotation.from_rotvec(x).mean().as_quat(), 0.5 * MANY[:2])
    check(lambda m, x, w: m.Rotation.from_rotvec(x).mean(w).as_matrix(), 0.5 * MANY, WEIGHTS)


def test_vectors_are_aligned():
    def turn(m, a, b, w):
        return m.Rotation.align_vectors(a, b, w)[0].as_quat()

    check(turn, POINTS, OTHER, WEIGHTS)
    check(turn, POINTS, SCIPYS.Rotation.from_rotvec(ONE).apply(POINTS), WEIGHTS)
    check(lambda m, a, b: m.Rotation.align_vectors(a, b)[1], POINTS, OTHER)


def test_what_is_constant_takes_what_is_watched():
    check(lambda m, p: m.Rotation.from_rotvec(ONE).apply(p), POINTS)
    check(
        lambda m, x: (SCIPYS.Rotation.from_rotvec(ONE) * m.Rotation.from_rotvec(x)).as_quat(), ONE
    )
    check(lambda m, x: (m.Rotation.identity() * m.Rotation.from_rotvec(x)).apply(ONE), ONE)
    check(lambda m, n: (m.Rotation.from_rotvec(ONE) ** n).as_matrix(), 0.7)
    assert zyg.gradient(lambda x: x * OURS.Rotation.random(rng=0).magnitude(), 2.0)[0] > 0


def test_sequences():
    def joined(m, x, y):
        return m.Rotation.concatenate([m.Rotation.from_rotvec(x), m.Rotation.from_rotvec(y)])

    check(lambda m, x, y: joined(m, x, y)[1:4].as_quat(), ONE, MANY)
    check(lambda m, x, y: joined(m, x, y)[np.array([2, 0])].as_quat(), ONE, MANY)
    check(lambda m, x: np.stack([r.as_rotvec() for r in m.Rotation.from_rotvec(x)]), MANY)
    check(lambda m, x: m.Rotation.from_rotvec(x).magnitude(), MANY)


@pytest.mark.parametrize("t", [0.7, 0.0, 3.0, np.array([0.3, 1.2, 2.9])])
def test_between_turns(t):
    def f(m, x):
        return m.Slerp(TIMES, m.Rotation.from_rotvec(x))(t).as_quat()

    check(f, 0.5 * MANY)


def test_times_of_turns():
    def f(m, t, k):
        return m.Slerp(k, m.Rotation.from_rotvec(0.5 * MANY))(t).as_quat()

    check(f, np.array([0.3, 1.2, 2.9]), TIMES)


def test_objects_are_scipys():
    r = OURS.Rotation.from_rotvec(MANY)
    assert isinstance(r, SCIPYS.Rotation)
    assert isinstance(SCIPYS.Rotation.identity(), OURS.Rotation)
    assert len(r) == 4
    for again in (copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r))):
        assert np.array_equal(again.as_quat(), r.as_quat())
    assert repr(r) == repr(SCIPYS.Rotation.from_rotvec(MANY))
    assert zyg.gradient(lambda x: copy.deepcopy(OURS.Rotation.from_rotvec(x)).magnitude(), ONE)[
        0
    ].any()


def test_objects_of_scipys_take_what_is_watched_as_those_of_zyg():
    """As adoption has it for those that a module holds."""
    turns = SCIPYS.Rotation.from_rotvec(0.5 * MANY)
    ours, theirs = OURS.Slerp.of(SCIPYS.Slerp(TIMES, turns)), SCIPYS.Slerp(TIMES, turns)
    assert np.array_equal(ours(0.7).as_quat(), theirs(0.7).as_quat())
    zyg.check_gradient(lambda t: ours(t).as_rotvec(), 0.7)
    zyg.check_gradient(lambda x: OURS.Rotation.of(turns).apply(x), ONE)


def test_no_turn_has_a_magnitude_of_slope_zero():
    y, back = zyg.pullback(lambda x: OURS.Rotation.from_rotvec(x).magnitude(), np.zeros(3))
    assert y == 0.0
    assert not back(1.0, zeros=True)[0].any()


def turn_of(x):
    return OURS.Rotation.from_rotvec(x)


REFUSED = {
    "gimbal": lambda x: OURS.Rotation.from_euler("xyz", [x[0], np.pi / 2, 0.0]).as_euler("xyz"),
    "as_davenport": lambda x: turn_of(x).as_davenport(np.eye(3), "e"),
    "reduce": lambda x: turn_of(x).reduce(),
    "RotationSpline": lambda x: OURS.RotationSpline(
        [0, 1, 2], turn_of(np.stack([x, 2 * x, 3 * x]))
    ),
    "one pair": lambda x: OURS.Rotation.align_vectors(x[None], x[None]),
    "sensitivity": lambda x: OURS.Rotation.align_vectors(POINTS * x, OTHER, None, True),
    "__setitem__": lambda x: OURS.Rotation.identity(2).__setitem__(0, turn_of(x)),
}


if hasattr(SCIPYS, "RigidTransform"):
    REFUSED["RigidTransform"] = lambda x: OURS.RigidTransform.from_components(x, turn_of(x))


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_formula_is_refused(name):
    with pytest.raises(MissingRuleError, match=name):
        zyg.pullback(REFUSED[name], ONE)


@pytest.mark.parametrize("f", [
    lambda x: SCIPYS.RigidTransform.from_rotation(turn_of(x)).as_matrix(),
    lambda x: SCIPYS.Rotation.concatenate([turn_of(x)]).as_quat(),
    lambda x: SCIPYS.RotationSpline([0, 1, 2], turn_of(np.stack([x, 2 * x, 3 * x])))(0.5),
])  # fmt: skip
def test_scipys_own_code_drops_nothing(f):
    if not hasattr(SCIPYS, "RigidTransform"):
        pytest.skip("SciPy has none yet")
    with pytest.raises((ZygError, TypeError)):
        zyg.pullback(f, ONE)


def test_a_watched_turn_is_not_pickled():
    with pytest.raises(ConversionError, match="pickled"):
        zyg.pullback(lambda x: pickle.dumps(turn_of(x)), ONE)


def test_a_rotation_may_be_an_argument_and_a_result():
    turns = OURS.Rotation.from_rotvec(MANY)
    (bars,) = zyg.gradient(lambda r: np.sum(r.as_matrix() ** 3), turns)
    moves = np.zeros_like(MANY) + [0.1, -0.2, 0.3]

    def f(x):
        return np.sum(OURS.Rotation.from_rotvec(x).as_matrix() ** 3)

    def quaternions(x):
        return OURS.Rotation.from_rotvec(x).as_quat()

    _, moved = zyg.pushforward(quaternions, (MANY,), (moves,))
    assert np.sum(bars._quat * moved) == pytest.approx(zyg.pushforward(f, (MANY,), (moves,))[1])
    zyg.check_gradient(
        lambda x: zyg.checkpoint(OURS.Rotation.from_rotvec, x).as_rotvec(), 0.3 * MANY
    )
    assert zyg.gradient(lambda x: len(OURS.Rotation.from_rotvec(x)) * x[0, 0], MANY)[
        0
    ].sum() == len(MANY)


@pytest.mark.skipif(not hasattr(SCIPYS.Rotation.identity(), "_quat"), reason="SciPy's is compiled")
def test_scipys_own_methods_do_not_take_a_rotation_that_moves():
    for f in (SCIPYS.Rotation.as_matrix, SCIPYS.Rotation.as_quat, SCIPYS.Rotation.inv):
        with pytest.raises(ConversionError, match="C code cannot take a watched value"):
            zyg.pullback(lambda x, f=f: f(OURS.Rotation.from_rotvec(x)), ONE)
