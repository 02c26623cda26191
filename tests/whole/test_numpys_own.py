"""NumPy's own tests with the drop-ins: those that take a few seconds, of ``tests.numpys_own``."""

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
