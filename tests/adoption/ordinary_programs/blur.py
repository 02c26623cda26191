"""A picture blurred by a Gaussian kernel, pixel by pixel, and its contrast."""

import numpy as np


def gaussian_kernel(sigma, radius=2):
    size = 2 * radius + 1
    kernel = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            r2 = (i - radius) ** 2 + (j - radius) ** 2
            kernel[i, j] = np.exp(-r2 / (2 * sigma**2))
    kernel /= kernel.sum()
    return kernel


def convolve(image, kernel):
    r = kernel.shape[0] // 2
    padded = np.pad(image, r, mode="edge")
    result = np.zeros(image.shape)
    for dy in range(kernel.shape[0]):
        for dx in range(kernel.shape[1]):
            window = padded[dy : dy + image.shape[0], dx : dx + image.shape[1]]
            result += kernel[dy, dx] * window
    return result


def stretch(image, gamma):
    low, high = np.percentile(image, [5, 95])
    return np.clip((image - low) / (high - low), 0.001, 1) ** gamma


def contrast(sigma, gamma):
    y, x = np.mgrid[0:12, 0:12]
    image = (np.sin(x * 0.9) * np.cos(y * 0.7) > 0).astype(np.float64)
    image += 0.01 * x
    blurred = stretch(convolve(image, gaussian_kernel(sigma)), gamma)
    return blurred.std() / blurred.mean()


if __name__ == "__main__":
    print(contrast(1.2, 0.8))
