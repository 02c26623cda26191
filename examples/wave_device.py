"""
A device that sorts light by colour
===================================

Inverse design: a small piece of glass is shaped so that light of one wavelength that falls on it
leaves through the upper half, and light of another through the lower half. Nobody draws the shape.
The wave equation is solved on a grid, by SciPy's sparse LU factors, and the gradient of the light
that arrives where it should, by the refractive index of each of 900 pixels, comes from one
more solve with the same factors.

::

    pip install -e '.[examples]' && python examples/wave_device.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

import zyg
from zyg.scipy import ndimage, sparse

# %%
# Waves on a grid
# ---------------
# The field E of a wave of frequency k obeys E'' + k² ε E = source. Near the border ε gets an
# imaginary part, so that waves that leave do not come back.

NX, NY, STEP = 84, 60, 0.1  # micrometres
WAVELENGTHS = (1.0, 1.4)
TARGETS = {1.0: slice(36, 46), 1.4: slice(14, 24)}  # where light should arrive, in y
DEVICE = (slice(26, 50), slice(11, 49))

place = np.arange(NX * NY).reshape(NX, NY)
pairs = [(place[1:], place[:-1]), (place[:, 1:], place[:, :-1])]
first = np.concatenate([a.ravel() for a, _ in pairs])
second = np.concatenate([b.ravel() for _, b in pairs])
rows = np.concatenate([place.ravel(), first, second])
columns = np.concatenate([place.ravel(), second, first])
x, y = np.indices((NX, NY))
depth = np.maximum(10 - np.minimum.reduce([x, y, NX - 1 - x, NY - 1 - y]), 0) / 10
absorbing = 2.5j * depth**2


def field(permittivity, wavelength):
    """The wave of a beam that comes from the left."""
    k = 2 * np.pi / wavelength
    diagonal = (k * STEP) ** 2 * (permittivity + absorbing) - 4
    values = np.concatenate([np.ravel(diagonal), np.ones(2 * len(first))])
    matrix = sparse.csc_array((values, (rows, columns)), shape=(NX * NY, NX * NY))
    source = np.zeros((NX, NY))
    source[13] = np.exp(-(((np.arange(NY) - NY / 2) / 10) ** 2))
    wave = sparse.linalg.splu(matrix).solve(np.ravel(source).astype(complex))
    return np.reshape(wave, (NX, NY))


# %%
# The device
# ----------
# Each pixel is air (ε = 1) or glass (ε = 2.25), or between them while the search goes on. The
# densities are blurred, so that the shape has no details much smaller than a fifth of a wavelength,
# and pushed towards the two materials.


def permittivity(densities, sharpness):
    smooth = ndimage.gaussian_filter(densities, 1.2)
    glass = 1 / (1 + np.exp(-sharpness * smooth))
    epsilon = np.ones_like(densities, shape=(NX, NY))
    epsilon[DEVICE] = 1 + 1.25 * glass
    return epsilon


def arrived(densities, sharpness):
    """For each wavelength, the intensity that arrives in the upper and in the lower window."""
    epsilon = permittivity(densities, sharpness)
    windows = []
    for wavelength in WAVELENGTHS:
        intensity = np.abs(field(epsilon, wavelength)[66]) ** 2
        windows.append(np.stack([np.sum(intensity[TARGETS[w]]) for w in WAVELENGTHS]))
    return np.stack(windows)


def failure(densities, sharpness):
    """How little light goes where it should, and how much goes where the other should."""
    light = arrived(densities, sharpness) / without
    right = np.diagonal(light)
    wrong = np.sum(light, axis=1) - right
    return np.sum(wrong / right + 1 / right)


# %%
# The search
# ----------
# First with materials that mix, which is a smooth landscape, then with two that hardly do.

start = np.random.default_rng(0).normal(size=(24, 38))
without = arrived(np.full_like(start, -100.0), 1.0)  # air everywhere
densities = 0.1 * gaussian_filter(start, 2)
for sharpness in (3.0, 20.0):
    found = zyg.optimize.minimize(
        failure, densities, (sharpness,), method="L-BFGS-B", options={"maxiter": 18}
    )
    densities = found.x
    print(f"sharpness {sharpness:4.0f}: {found.nfev} solves, failure {found.fun:.3f}")

after = arrived(densities, 20.0) / without
print("light in the windows, beside that without a device:")
for k, wavelength in enumerate(WAVELENGTHS):
    right, wrong = after[k, k], after[k, 1 - k]
    print(f"{wavelength:.1f} µm: {right:.2f} in its own, {wrong:.2f} in the other's")

# %%
# The picture
# -----------

figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharey=True)
epsilon = permittivity(densities, 20.0)
extent = (0, NX * STEP, 0, NY * STEP)
image = panels[0].imshow(epsilon.T, origin="lower", extent=extent, cmap="Greys", vmin=1, vmax=2.25)
panels[0].set(title="the device that was found: ε", xlabel="x, µm", ylabel="y, µm")
figure.colorbar(image)
for axes, wavelength in zip(panels[1:], WAVELENGTHS, strict=True):
    wave = np.real(field(epsilon, wavelength)).T
    limit = 0.6 * np.max(np.abs(wave))
    axes.imshow(wave, origin="lower", extent=extent, cmap="RdBu", vmin=-limit, vmax=limit)
    axes.contour(epsilon.T, [1.6], colors="k", linewidths=0.4, origin="lower", extent=extent)
    ends = TARGETS[wavelength]
    axes.plot([66.5 * STEP] * 2, [ends.start * STEP, ends.stop * STEP], color="C1", linewidth=4)
    axes.set(title=f"the wave of {wavelength:.1f} µm, and its window", xlabel="x, µm")
plt.show()

for k in range(2):
    assert after[k, k] > 3 * after[k, 1 - k], after
