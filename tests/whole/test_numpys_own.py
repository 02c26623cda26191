"""NumPy's and SciPy's own tests with the drop-ins: quick ones of ``tests.numpys_own``."""

import pytest

pytest.importorskip("resource", reason="Windows limits neither memory nor time")
from ..numpys_own import judged

FILES = [
    "numpy._core.tests.test_einsum",
    "numpy._core.tests.test_shape_base",
    "numpy.lib.tests.test_index_tricks",
    "numpy.lib.tests.test_shape_base",
    "numpy.lib.tests.test_stride_tricks",
    "numpy.lib.tests.test_twodim_base",
    "numpy.lib.tests.test_ufunclike",
    "numpy.fft.tests.test_helper",
]


@pytest.mark.slow
def test_numpys_tests_pass_with_the_drop_ins():
    passed, failed = judged(FILES)

    assert len(passed) == len(FILES)
    assert passed.total() > 500
    assert not failed["outside"]
    assert len(failed["inside"]) < 0.01 * passed.total(), failed["inside"]


OF_SCIPY = [
    "scipy.fftpack.tests.test_basic",
    "scipy.linalg.tests.test_basic",
    "scipy.linalg.tests.test_decomp",
    "scipy.special.tests.test_logsumexp",
]


@pytest.mark.slow
def test_scipys_tests_pass_with_the_drop_ins():
    passed, failed = judged(OF_SCIPY, quick=True)

    assert len(passed) == len(OF_SCIPY)
    assert passed.total() > 600
    assert not failed["outside"]
    assert len(failed["inside"]) < 0.01 * passed.total(), failed["inside"]
