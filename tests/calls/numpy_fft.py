"""Calls of the rules in `functions/primitives/fft.py`."""

import numpy as np

from .calls import CUBE, A, V, array, call

NORMS = [None, "backward", "ortho", "forward"]
ODD = array(5)
# Even and odd, shorter and longer than the array: cut off and filled up.
LENGTHS = [1, 2, 3, 6, 7]
ONE_AXIS = [
    call(V), call(ODD), call(CUBE), call(CUBE, axis=0), call(CUBE, 5, 1),
    call(np.zeros((0, 3))), *(call(x, n) for n in LENGTHS for x in (V, ODD)),
    *(call(x, n, norm=norm) for norm in NORMS for x, n in ((V, None), (ODD, 4))),
    call(array(3, 2, 2), 4, axis=0, norm="ortho"),
]  # fmt: skip
TWO_AXES = [
    call(A), call(CUBE), call(CUBE, axes=(0, 2)), call(CUBE, axes=(2, 0)), call(CUBE, (5, 3)),
    call(CUBE, s=(2, 5), axes=(0, -1)), *(call(A, norm=norm) for norm in NORMS),
    *(call(A, s=(2, 5), norm=norm) for norm in NORMS), call(A, s=(-1, 3)), call(A, s=(4, -1)),
]  # fmt: skip
MANY_AXES = [
    *TWO_AXES[2:4], call(CUBE, s=(2, 5), axes=(0, -1)), call(A), call(CUBE), call(V),
    call(CUBE, axes=(1,)),
    call(CUBE, s=(3, 2, 5), axes=(2, 0, 1)), call(CUBE, axes=(-1, 0, 1), norm="ortho"),
    call(CUBE, axes=(0, 1, 0)), *(call(A, norm=norm) for norm in NORMS),
]  # fmt: skip
SHIFTS = [call(V), call(ODD), call(CUBE), call(CUBE, 0), call(CUBE, axes=(0, -1)), call(CUBE, [1])]


CALLS = {
    np.fft.fft: ONE_AXIS, np.fft.ifft: ONE_AXIS, np.fft.rfft: ONE_AXIS,
    np.fft.irfft: ONE_AXIS, np.fft.hfft: ONE_AXIS, np.fft.ihfft: ONE_AXIS,
    np.fft.fft2: TWO_AXES, np.fft.ifft2: TWO_AXES, np.fft.rfft2: TWO_AXES, np.fft.irfft2: TWO_AXES,
    np.fft.fftn: [*MANY_AXES, call(A, axes=())], np.fft.ifftn: [*MANY_AXES, call(A, axes=())],
    np.fft.rfftn: MANY_AXES, np.fft.irfftn: MANY_AXES,
    np.fft.fftshift: SHIFTS, np.fft.ifftshift: SHIFTS,
}  # fmt: skip
