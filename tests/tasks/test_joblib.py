"""joblib: calls in processes whose derivatives come back, by the backend "zyg"."""

import functools
import os

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed

import zyg
import zyg.joblib
from zyg.errors import ConversionError, RecomputationError, ShippingError

zyg.joblib.register()
pytestmark = pytest.mark.slow  # processes are begun
X = np.linspace(0.2, 1.4, 5)


def wave(x, k):
    return np.sum(np.sin(k * x) * x)


def calls(x, **options):
    return sum(Parallel(**options)(delayed(wave)(x * k, k) for k in range(9)))


def closures(x, **options):
    return sum(Parallel(**options)(delayed(lambda k: k * np.prod(x))(k) for k in range(3)))


def generator(x, **options):
    found = Parallel(return_as="generator", **options)(delayed(np.multiply)(x, k) for k in range(5))
    return sum(np.sum(y) ** 2 for y in found)


def labelled(x, k):
    return k, wave(x, k)


def unordered(x, **options):
    calls = (delayed(labelled)(x, k) for k in range(5))
    found = dict(Parallel(return_as="generator_unordered", timeout=100, **options)(calls))
    return sum(found[k] for k in range(5))


def one_after_the_other(x, **options):
    options = {**options, "n_jobs": 1}
    return sum(Parallel(**options)(delayed(wave)(x, k) for k in range(3)))


def in_batches(x, **options):
    return sum(Parallel(batch_size=3, **options)(delayed(wave)(x, k) for k in range(7)))


def containers(x, **options):
    def pair(given):
        return {"y": given["a"][0] * x, "n": 3}

    found = Parallel(**options)(delayed(pair)({"a": [x * k]}) for k in (1.0, 2.0))
    assert [y["n"] for y in found] == [3, 3]
    return np.sum(found[0]["y"] * found[1]["y"])


def nested(x, **options):
    def inner(k):
        return sum(Parallel(n_jobs=2)(delayed(wave)(x, k * j) for j in range(3)))

    return sum(Parallel(**options)(delayed(inner)(k) for k in range(3)))


def pools_of_two_sizes(x, **options):
    """joblib keeps one executor, which a second call may close before the reverse pass."""
    first = calls(x, **options)
    return first * calls(x, **{**options, "n_jobs": options["n_jobs"] + 1})


def kept_open(x, **options):
    with Parallel(**options) as parallel:
        first = sum(parallel(delayed(wave)(x, k) for k in range(3)))
        return sum(parallel(delayed(wave)(x * first, k) for k in range(3)))


PROGRAMS = [
    calls, closures, generator, unordered, one_after_the_other, in_batches, containers, nested,
    pools_of_two_sizes, kept_open,
]  # fmt: skip
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)


def both(program):
    """The program in other processes, and on threads of this one."""
    ours = functools.partial(program, n_jobs=2, backend="zyg")
    return ours, functools.partial(program, n_jobs=2, backend="threading")


@every_program
def test_the_gradient_is_that_of_the_program_on_threads(program):
    f, f0 = both(program)
    y, (g,) = zyg.value_and_gradient(f, X)
    y0, (g0,) = zyg.value_and_gradient(f0, X)

    assert y == y0
    np.testing.assert_allclose(g, g0, rtol=1e-12, atol=1e-12)
    assert zyg.gradient(f, X)[0].tobytes() == g.tobytes()
    assert f(X) == y


@every_program
def test_so_are_tangents_and_second_derivatives(program):
    f, f0 = both(program)
    pushed, pushed0 = (zyg.pushforward(h, (X,), (X**2,))[1] for h in (f, f0))
    second, second0 = (zyg.hvp(h, X, np.cos(X)) for h in (f, f0))

    np.testing.assert_allclose(pushed, pushed0, rtol=1e-12)
    np.testing.assert_allclose(second, second0, rtol=1e-10, atol=1e-10)


def test_both_modes_agree_with_differences():
    zyg.check_gradient(both(containers)[0], X)


def test_calls_run_in_other_processes_and_plainly():
    def f(x):
        found = Parallel(n_jobs=2, backend="zyg")(
            delayed(lambda x: (x * x, os.getpid(), zyg.is_traced(x)))(x) for _ in range(4)
        )
        assert os.getpid() not in {pid for _, pid, _ in found}
        return sum(y for y, _, _ in found)

    assert zyg.gradient(f, 3.0) == (24.0,)


def test_a_configuration_names_it():
    with joblib.parallel_config(backend="zyg", n_jobs=2):
        assert zyg.gradient(calls, X)[0].tobytes() == zyg.gradient(both(calls)[0], X)[0].tobytes()
        assert Parallel()(delayed(pow)(2, k) for k in range(3)) == [1, 2, 4]
        assert zyg.gradient(lambda x: x * sum(Parallel()([delayed(pow)(2, 3)])), 1.0) == (8.0,)


def test_large_arrays_go_and_come_back_when_joblib_has_taken_its_folder_away():
    x = np.ones(200_000)

    def f(x):
        return sum(Parallel(n_jobs=2, backend="zyg")(delayed(np.sum)(x * k) for k in (1, 2)))

    assert np.all(zyg.gradient(f, x)[0] == 3.0)


# What goes wrong


def test_an_exception_of_a_call_arrives_with_a_note_and_what_follows_works():
    def bad(x, k):
        if k == 2:
            raise KeyError("here")
        return x * k

    f, _ = both(lambda x, **o: sum(Parallel(**o)(delayed(bad)(x, k) for k in range(4))))
    with pytest.raises(KeyError, match="here") as caught:
        zyg.gradient(f, 1.0)
    assert "raised by bad, submitted by task 'main'" in "\n".join(caught.value.__notes__)
    assert zyg.gradient(both(calls)[0], X)[0].shape == X.shape


def test_what_a_generator_of_calls_raises_arrives():
    def f(x):
        def calls():
            for k in range(9):
                yield delayed(wave)(x, k if k < 7 else float(x))

        return sum(Parallel(n_jobs=2, backend="zyg")(calls()))

    with pytest.raises(ConversionError, match="float"):
        zyg.gradient(f, 1.5)


def test_what_cannot_be_sent_is_named():
    generator = (k for k in [1])
    f, _ = both(lambda x, **o: sum(Parallel(**o)([delayed(lambda x: x * next(generator))(x)])))
    with pytest.raises(ShippingError, match="<lambda> cannot be sent to a worker"):
        zyg.gradient(f, 1.5)


def test_unseeded_random_numbers_are_noticed():
    def noisy(x):
        return x * np.random.default_rng().normal()

    with pytest.raises(RecomputationError, match="noisy gave another value"):
        zyg.gradient(both(lambda x, **o: sum(Parallel(**o)([delayed(noisy)(x)])))[0], 1.0)


def test_a_worker_that_dies_between_the_passes_is_replaced():
    _, back = zyg.pullback(both(calls)[0], X)
    expected = back(1.0)[0].tobytes()
    with pytest.raises(Exception, match=r"terminated|closed"):
        Parallel(n_jobs=2, backend="zyg")(delayed(os._exit)(1) for _ in range(2))
    assert back(1.0)[0].tobytes() == expected


def died(parallel):
    with pytest.raises(Exception, match="terminated") as caught:
        parallel(delayed(os._exit)(1) for _ in range(2))
    return caught.value


def after_a_death(backend):
    """What plain calls do, outside of a gradient, by joblib's object itself and in its block."""
    parallel = Parallel(n_jobs=2, backend=backend)
    for given in (parallel, Parallel(n_jobs=2, backend=backend)):
        yield type(died(parallel)), given(delayed(pow)(2, k) for k in range(3))
    with parallel:
        yield type(died(parallel)), parallel(delayed(pow)(2, k) for k in range(3))
        died(Parallel(n_jobs=2, backend=backend))
        try:
            yield parallel(delayed(pow)(2, k) for k in range(3))
        except Exception as error:
            yield type(error)


def test_after_a_death_plain_calls_do_what_those_of_joblibs_own_backend_do():
    assert [*after_a_death("zyg")] == [*after_a_death("loky")]


def test_after_a_death_in_a_gradient_watched_and_plain_calls_go_on():
    def f(x):
        with Parallel(n_jobs=2, backend="zyg") as parallel:
            error = died(parallel)
            assert len(getattr(error, "__notes__", [])) == len({*getattr(error, "__notes__", [])})
            plain = sum(parallel(delayed(pow)(2, k) for k in range(3)))
            return plain * sum(parallel(delayed(np.multiply)(x, k) for k in range(3)))

    assert zyg.gradient(f, 1.5) == (21.0,)


def test_another_backend_names_the_bridge():
    with pytest.raises(ConversionError, match=r'joblib\.register\(\).*backend="zyg"'):
        zyg.gradient(functools.partial(calls, n_jobs=2, backend="loky"), X)
