"""Colour."""

import numpy as np

from .case import library

RGB = np.array([0.2, 0.5, 0.3])
PIXELS = np.array([[0.2, 0.5, 0.3], [0.7, 0.1, 0.4]])

colour = library("colour-science", "colour", "colour")


@colour(np.array([0.2065, 0.1219, 0.0514]))
def lab(xyz):
    import colour

    return colour.XYZ_to_Lab(xyz)


@colour(np.array([100.0, 21.57, 272.2]), np.array([95.0, 30.0, 250.0]))
def difference(lab1, lab2):
    import colour

    return colour.delta_E(lab1, lab2, method="CIE 2000")


@colour(np.array([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.05, 0.05, 0.9]]))
def corrected(matrix):
    import colour

    xyz = colour.sRGB_to_XYZ(PIXELS @ matrix.T)
    return colour.XYZ_to_Lab(xyz)


@colour(np.array([19.01, 20.0, 21.78]))
def lightness_of_the_appearance_model(xyz):
    import colour

    seen = colour.XYZ_to_CIECAM02(xyz, np.array([95.05, 100.0, 108.88]), 318.31, 20.0)
    return seen.J


@colour(np.array([0.31270, 0.32900]))
def temperature(xy):
    import colour

    return colour.temperature.xy_to_CCT_McCamy1992(xy)


colorspacious = library("colorspacious", "colour", "colorspacious", gate=True)


@colorspacious(PIXELS)
def uniform(rgb):
    from colorspacious import cspace_convert

    return cspace_convert(rgb, "sRGB1", "CAM02-UCS")


@colorspacious(RGB, PIXELS[1])
def distance(one, two):
    from colorspacious import deltaE

    return deltaE(one, two, input_space="sRGB1")


skimage = library("scikit-image", "images", "skimage")
IMAGE = 0.5 + 0.4 * np.sin(np.arange(48.0)).reshape(4, 4, 3)


@skimage(IMAGE)
def lab_of_an_image(image):
    from skimage import color

    return color.rgb2lab(image)


@skimage(IMAGE)
def hsv(image):
    from skimage import color

    return color.rgb2hsv(image)


@skimage(IMAGE[..., 0], IMAGE[..., 1])
def signal_to_noise(image, reference):
    from skimage import metrics

    return metrics.peak_signal_noise_ratio(reference, image, data_range=1.0)


@skimage(IMAGE[..., 0])
def gamma(image):
    from skimage import exposure

    return exposure.adjust_sigmoid(image, cutoff=0.5, gain=5)
