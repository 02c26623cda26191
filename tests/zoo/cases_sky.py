"""Astronomy and satellites."""

import numpy as np

from .case import library

sgp4 = library("sgp4", "satellites", "sgp4", gate=True)

LINES = (
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)


@sgp4(30.0)
def position(minutes):
    from sgp4.earth_gravity import wgs72
    from sgp4.io import twoline2rv
    from sgp4.propagation import sgp4

    satellite = twoline2rv(*LINES, wgs72)
    r, _ = sgp4(satellite, minutes)
    return np.sqrt(r[0] ** 2 + 2 * r[1] ** 2 + 3 * r[2] ** 2)


@sgp4(0.9013, 0.0007417, 0.067)
def position_of_elements(inclination, eccentricity, motion):
    from sgp4.model import WGS72, Satrec
    from sgp4.propagation import sgp4

    satellite = Satrec()
    satellite.sgp4init(
        WGS72, "i", 25544, 25545.69339541, 3.8792e-5, 0.0, 0.0, eccentricity, 0.3083, inclination,
        1.4947, motion, 3.6861,
    )  # fmt: skip
    r, v = sgp4(satellite, 45.0)
    return r[0] + 2 * r[1] + 3 * r[2] + 500 * v[0]


skyfield = library("skyfield", "astronomy", "skyfield")


@skyfield(2459000.3, step=1e-8, tolerance=1e-5)
def sidereal_time(jd):
    """A date of 2.5 million days is rounded to 40 microseconds."""
    from skyfield.api import load

    return load.timescale(builtin=True).tt_jd(jd).gast


@skyfield(40.7, -74.0, 10.0)
def place_on_the_ground(latitude, longitude, height):
    from skyfield.api import load, wgs84

    t = load.timescale(builtin=True).utc(2020, 6, 1)
    return wgs84.latlon(latitude, longitude, elevation_m=height).at(t).position.km


@skyfield(np.array([4000.0, 5000.0, 2000.0]))
def angles(xyz):
    from skyfield.functions import to_spherical

    return to_spherical(xyz)


@skyfield(np.array([4000.0, 5000.0, 2000.0]), np.array([-5.0, 2.0, 6.0]))
def elements(r, v):
    from skyfield.api import load
    from skyfield.elementslib import OsculatingElements
    from skyfield.units import Distance, Velocity

    t = load.timescale(builtin=True).utc(2020, 6, 1)
    orbit = OsculatingElements(Distance(km=r), Velocity(km_per_s=v), t, mu_km_s=398600.44)
    return orbit.eccentricity + orbit.inclination.radians


astropy = library("astropy", "astronomy", "astropy")


@astropy(np.array([0.1, 0.5, 1.2]))
def distance_modulus(z):
    from astropy.cosmology import FlatLambdaCDM

    return FlatLambdaCDM(H0=70, Om0=0.3).efunc(z)


@astropy(2.0, 0.3, 1.1)
def gaussian(amplitude, mean, width):
    from astropy.modeling.models import Gaussian1D

    return Gaussian1D.evaluate(np.linspace(-1, 1, 5), amplitude, mean, width)


@astropy(np.array([1.0, 2.0, 3.0]))
def in_units(x):
    from astropy import units as u

    return (x * u.km).to_value(u.m) / 1000


@astropy(0.3, 0.2, 1.1, -0.4)
def angular_separation(lon1, lat1, lon2, lat2):
    from astropy.coordinates import angular_separation

    return angular_separation(lon1, lat1, lon2, lat2)


@astropy(np.array([1.0, 2.1, 2.5, 4.4, 3.0]))
def spread(data):
    from astropy.stats import biweight_location

    return biweight_location(data)


@astropy(np.array([1.0, 2.0, -2.0]))
def spherical(xyz):
    from astropy.coordinates import cartesian_to_spherical

    r, lat, lon = cartesian_to_spherical(xyz[0], xyz[1], xyz[2])
    return r.value + 2 * lat.value + 3 * lon.value


lenstronomy = library("lenstronomy", "astronomy", "lenstronomy")


@lenstronomy(1.2, 0.1, 0.05)
def deflection(theta, e1, e2):
    from lenstronomy.LensModel.lens_model import LensModel

    lens = LensModel(["SIE"])
    keywords = {"theta_E": theta, "e1": e1, "e2": e2, "center_x": 0.0, "center_y": 0.0}
    return lens.alpha(np.array([1.0, 0.5]), np.array([0.3, 1.1]), [keywords])


@lenstronomy(3.0, 0.5, 2.0)
def brightness(amplitude, radius, index):
    from lenstronomy.LightModel.light_model import LightModel

    light = LightModel(["SERSIC"])
    keywords = {
        "amp": amplitude, "R_sersic": radius, "n_sersic": index, "center_x": 0, "center_y": 0
    }  # fmt: skip
    return light.surface_brightness(np.array([1.0, 0.5]), np.array([0.3, 1.1]), [keywords])


ambiance = library("ambiance", "meteorology", "ambiance")


@ambiance(np.array([2000.0, 9000.0, 15000.0]))
def density(height):
    from ambiance import Atmosphere

    return Atmosphere(height).density


@ambiance(5000.0)
def speed_of_sound(height):
    from ambiance import Atmosphere

    return Atmosphere(height).speed_of_sound
