"""Geodesy."""

import numpy as np

from .case import library

geographiclib = library("geographiclib", "geodesy", "geographiclib", gate=True)


@geographiclib(40.6, -73.8, 49.0, 2.55)
def inverse(lat1, lon1, lat2, lon2):
    from geographiclib.geodesic import Geodesic

    return Geodesic.WGS84.Inverse(lat1, lon1, lat2, lon2)["s12"]


@geographiclib(40.6, -73.8, 53.5, 5850e3)
def direct(lat1, lon1, azimuth, distance):
    from geographiclib.geodesic import Geodesic

    end = Geodesic.WGS84.Direct(lat1, lon1, azimuth, distance)
    return end["lat2"] + 2 * end["lon2"]


pymap3d = library("pymap3d", "geodesy", "pymap3d")


@pymap3d(42.0, -82.0, 200.0)
def cartesian(lat, lon, alt):
    import pymap3d

    return pymap3d.geodetic2ecef(lat, lon, alt)


@pymap3d(42.1, -82.2, 1000.0, 42.0, -82.0, 200.0, step=1e-4)
def seen_from(lat, lon, alt, lat0, lon0, h0):
    import pymap3d

    return pymap3d.geodetic2aer(lat, lon, alt, lat0, lon0, h0)


@pymap3d(
    np.array([660.6753e3, 700e3]), np.array([-4700.95e3, -4600e3]), np.array([4245.7e3, 4300e3])
)
def geodetic(x, y, z):
    import pymap3d

    return pymap3d.ecef2geodetic(x, y, z)


@pymap3d(10.0, 20.0, 30.0, 40.0)
def vincenty(lat1, lon1, lat2, lon2):
    from pymap3d.vincenty import vdist

    return vdist(lat1, lon1, lat2, lon2)[0]


geopy = library("geopy", "geodesy", "geopy", "geographiclib")


@geopy(41.5, -81.7, 40.7, -74.0)
def great_circle(lat1, lon1, lat2, lon2):
    from geopy.distance import great_circle

    return great_circle((lat1, lon1), (lat2, lon2)).km


@geopy(41.5, -81.7, 40.7, -74.0)
def geodesic(lat1, lon1, lat2, lon2):
    from geopy.distance import geodesic

    return geodesic((lat1, lon1), (lat2, lon2)).km


utm = library("utm", "geodesy", "utm")


@utm(51.2, 7.5)
def grid(lat, lon):
    import utm

    return utm.from_latlon(lat, lon)[:2]


@utm(340000.0, 5710000.0)
def from_grid(easting, northing):
    import utm

    return utm.to_latlon(easting, northing, 32, "U")


@utm(np.array([51.2, 51.3]), np.array([7.5, 7.7]))
def grid_of_arrays(lat, lon):
    import utm

    return utm.from_latlon(lat, lon)[:2]


pygeodesy = library("pygeodesy", "geodesy", "pygeodesy")


@pygeodesy(52.2, 0.12, 48.86, 2.35)
def ellipsoidal(lat1, lon1, lat2, lon2):
    from pygeodesy.ellipsoidalVincenty import LatLon

    return LatLon(lat1, lon1).distanceTo(LatLon(lat2, lon2))


@pygeodesy(52.2, 0.12, 48.86, 2.35)
def by_formula(lat1, lon1, lat2, lon2):
    from pygeodesy import haversine

    return haversine(lat1, lon1, lat2, lon2)


haversine = library("haversine", "geodesy", "haversine")


@haversine(45.76, 4.84, 48.86, 2.35)
def kilometres(lat1, lon1, lat2, lon2):
    from haversine import haversine

    return haversine((lat1, lon1), (lat2, lon2))


@haversine(np.array([[45.76, 4.84], [48.0, 3.0]]), np.array([[48.86, 2.35], [47.0, 1.0]]))
def of_many(one, two):
    from haversine import haversine_vector

    return haversine_vector(one, two)
