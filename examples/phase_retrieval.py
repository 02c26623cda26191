"""
Phase retrieval
===============

A detector counts light, and so loses its phase. What went through an object is here found again
from six diffraction patterns, of which each was made through another known mask (Candès, Li and
Soltanolkotabi, Phase retrieval from coded diffraction patterns, 2015). The object is an array of
complex numbers, and so is the gradient: it is the direction in which the misfit grows fastest.

::

    pip install -e '.[examples]' && python examples/phase_retrieval.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg

# %%
# An object
# ---------
# It lets light through, most in the spokes of a wheel, and delays it, in smooth hills.

SIZE, MASKS = 64, 6
rng = np.random.default_rng(0)
y, x = np.mgrid[-1 : 1 : SIZE * 1j, -1 : 1 : SIZE * 1j]
radius, angle = np.hypot(x, y), np.arctan2(y, x)
spokes = (np.sin(8 * angle) > 0) & (radius > 0.15) & (radius < 0.8)
delay = 2 * np.exp(-8 * ((x - 0.3) ** 2 + y**2)) - 1.5 * np.exp(-6 * ((x + 0.4) ** 2 + y**2))
truth = np.where(spokes, 1.0, 0.4) * np.exp(1j * delay)

# %%
# What the detector sees
# ----------------------
# Each mask delays the light of each pixel by nothing, or by a quarter, a half or three quarters of
# a wave. Far behind it, the light is the Fourier transform of what went through.

masks = rng.choice([1, 1j, -1, -1j], size=(MASKS, SIZE, SIZE))


def amplitudes(image):
    """The square roots of what the detector counts."""
    return np.abs(np.fft.fft2(masks * image, norm="ortho"))


counts = rng.poisson(1000 * amplitudes(truth) ** 2)
observed = np.sqrt(counts / 1000)


def misfit(image):
    return np.sum((amplitudes(image) - observed) ** 2) / (2 * MASKS)


# %%
# The search
# ----------
# Gradient descent with momentum, with steps of one: the right ones, if the detector saw phases,
# too. It begins at the image for which the brightest spots would be brightest: the eigenvector
# with the largest eigenvalue of a matrix, by the power method.

image = rng.normal(size=(SIZE, SIZE)) + 0j
for _ in range(60):
    bright = observed**2 * np.fft.fft2(masks * image, norm="ortho")
    image = np.sum(np.conj(masks) * np.fft.ifft2(bright, norm="ortho"), axis=0)
    image *= np.linalg.norm(observed) / np.sqrt(MASKS) / np.linalg.norm(image)

before, losses = image, []
for step in range(200):
    lead = image + step / (step + 3) * (image - before)
    loss, (slope,) = zyg.value_and_gradient(misfit, lead)
    before, image = image, lead - slope
    losses.append(loss)

# %%
# A phase that is the same everywhere leaves no trace in the counts, so it is set to the true one.

overlap = np.vdot(image, truth)
image = image * overlap / np.abs(overlap)
error = np.linalg.norm(image - truth) / np.linalg.norm(truth)
print(f"misfit {losses[0]:.1f} at first, {losses[-1]:.3f} after {len(losses)} steps")
print(f"the object is off by {error:.1%}, from about 1000 photons for each pixel and mask")

# %%
# The picture
# -----------

figure, panels = plt.subplots(1, 5, figsize=(13, 2.9), layout="constrained")
shown = {
    "one of the patterns": (np.log1p(np.fft.fftshift(counts[0])), "magma"),
    "transmission, found": (np.abs(image), "gray"),
    "transmission, truth": (np.abs(truth), "gray"),
    "delay, found": (np.angle(image), "twilight"),
    "delay, truth": (np.angle(truth), "twilight"),
}
for axes, (title, (values, colours)) in zip(panels, shown.items(), strict=True):
    limits = (-np.pi, np.pi) if colours == "twilight" else (0, np.max(values))
    drawn = axes.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1])
    axes.set(title=title, xticks=[], yticks=[])
figure.colorbar(drawn, label="radians")
plt.show()

assert error < 0.04, f"off by {error:.1%}"
