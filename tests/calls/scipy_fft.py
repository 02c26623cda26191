"""Calls of zyg.scipy.fft and zyg.scipy.fftpack."""

from zyg.scipy import fft, fftpack

from .calls import V, W, array, call

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
PLANE = ("fft2", "ifft2", "rfft2", "irfft2")
ALL = ("fftn", "ifftn", "rfftn", "irfftn")
IMAGE, WIDE = array(3, 4), array(5)
NORMS = ("backward", "ortho", "forward")


def cosines(name):
    """Calls of a transform by cosines or sines, of every type."""
    if name.endswith("n"):
        return [call(IMAGE), call(IMAGE, 3, axes=(0,), norm="ortho"), call(IMAGE, s=(2, 5))]
    return [
        *(call(W, kind) for kind in (1, 2, 3, 4)),
        *(call(IMAGE, kind, norm=norm, axis=0) for kind in (1, 2, 3, 4) for norm in NORMS),
        *(call(WIDE, kind, orthogonalize=True) for kind in (1, 2, 3)),
        call(WIDE, 2, 3), call(WIDE, 3, 7, norm="ortho", orthogonalize=False), call(WIDE, n=2),
    ]  # fmt: skip


CALLS = {
    **{
        getattr(fft, name): [call(WIDE), call(IMAGE, 3, 0, "ortho", workers=1), call(V, n=5)]
        for name in ONE
    },
    **{getattr(fft, name): [call(IMAGE), call(IMAGE, (2, 5), norm="forward")] for name in PLANE},
    **{getattr(fft, name): [call(IMAGE), call(IMAGE, axes=(0,))] for name in ALL},
    **{
        getattr(fft, f"{way}hfft{end}"): [
            call(IMAGE),
            call(IMAGE, (2, 5), norm="forward"),
            call(IMAGE, axes=(0, 1), norm="ortho"),
        ]
        for way in ("", "i")
        for end in ("2", "n")
    },
    **{
        getattr(fft, name): [
            call(WIDE, 0.3, 1.2, order=1),
            call(IMAGE, 0.3, 1.2, 0.1, 0.2, order=1),
            call(V, 1.0, 2),
        ]
        for name in ("fht", "ifht")
    },
    fft.fhtoffset: [call(0.3, 1.2, order=1), call(0.3, 1.2, 0.1, 0.2, order=1)],
    **{
        getattr(fft, way + name): cosines(way + name)
        for way in ("", "i")
        for name in ("dct", "dst", "dctn", "dstn")
    },
    fft.fftshift: [call(WIDE), call(IMAGE, 0)],
    fft.ifftshift: [call(WIDE), call(IMAGE, axes=(0, 1))],
    **{getattr(fftpack, name): [call(WIDE), call(IMAGE, 3, 0)] for name in ("fft", "ifft")},
    **{
        getattr(fftpack, name): [call(IMAGE), call(IMAGE, (2, 5), (0, 1))]
        for name in ("fft2", "ifft2", "fftn", "ifftn")
    },
    **{
        getattr(fftpack, way + name): [call(WIDE), call(IMAGE, 3, 5, 0, "ortho")]
        for way in ("", "i")
        for name in ("dct", "dst")
    },
    **{
        getattr(fftpack, way + name): [call(IMAGE), call(IMAGE, 2, shape=(2, 5), norm="ortho")]
        for way in ("", "i")
        for name in ("dctn", "dstn")
    },
}
