"""Weather, sun, wind, water, life."""

import numpy as np

from .case import library

PRESSURE = np.array([1000.0, 900.0, 800.0, 700.0])
TEMPERATURE = np.array([20.0, 14.0, 8.0, 1.0])

metpy = library("MetPy", "meteorology", "metpy", "pint")


@metpy(850.0, 285.0)
def potential_temperature(pressure, temperature):
    from metpy.calc import potential_temperature
    from metpy.units import units

    return potential_temperature(pressure * units.hPa, temperature * units.kelvin).magnitude


@metpy(25.0, 0.6)
def dewpoint(temperature, humidity):
    from metpy.calc import dewpoint_from_relative_humidity
    from metpy.units import units

    return dewpoint_from_relative_humidity(temperature * units.degC, humidity).magnitude


@metpy(np.array([3.0, 4.0]), np.array([1.0, -2.0]))
def wind(u, v):
    from metpy.calc import wind_direction, wind_speed
    from metpy.units import units

    u, v = u * units("m/s"), v * units("m/s")
    return wind_speed(u, v).magnitude + wind_direction(u, v).magnitude


pvlib = library("pvlib", "meteorology", "pvlib")


@pvlib(np.array([30.0, 50.0]), np.array([150.0, 210.0]))
def incidence(zenith, azimuth):
    from pvlib.irradiance import aoi

    return aoi(30.0, 180.0, zenith, azimuth)


@pvlib(np.array([30.0, 60.0]))
def airmass(zenith):
    from pvlib.atmosphere import get_relative_airmass

    return get_relative_airmass(zenith)


@pvlib(800.0, 25.0, 3.0)
def cell_temperature(irradiance, air, wind):
    from pvlib.temperature import sapm_cell

    return sapm_cell(irradiance, air, wind, a=-3.47, b=-0.0594, deltaT=3)


@pvlib(7.0, 1.1)
def diode(current, factor):
    from pvlib.pvsystem import i_from_v

    return i_from_v(30.0, current, 1e-9, 0.3, 300.0, factor, method="lambertw")


@pvlib(np.array([30.0, 60.0]), np.array([500.0, 700.0]))
def clear_sky(zenith, direct):
    from pvlib.irradiance import haydavies

    return haydavies(20.0, 180.0, 150.0, direct, 1360.0, zenith, np.array([170.0, 200.0]))


windpowerlib = library("windpowerlib", "meteorology", "windpowerlib")


@windpowerlib(5.0, 0.14)
def profile(speed, exponent):
    from windpowerlib.wind_speed import hellman

    return hellman(speed, 10, 100, hellman_exponent=exponent)


@windpowerlib(np.array([5.0, 7.0]), 0.15)
def logarithmic(speed, roughness):
    from windpowerlib.wind_speed import logarithmic_profile

    return logarithmic_profile(speed, 10, 100, roughness)


@windpowerlib(np.array([280.0, 290.0]), np.array([101300.0, 100100.0]))
def density_of_air(temperature, pressure):
    from windpowerlib.density import ideal_gas

    return ideal_gas(pressure, 10, 100, temperature)


@windpowerlib(np.array([5.3, 7.7]))
def power(speed):
    from windpowerlib.power_output import power_curve

    return power_curve(speed, np.array([3.0, 6, 9, 12]), np.array([0.0, 300, 1200, 2000])) / 1e3


pyet = library("pyet", "hydrology", "pyet")


@pyet(np.array([15.0, 18.0]), np.array([20.0, 22.0]))
def evaporation(temperature, radiation):
    import pandas as pd
    import pyet

    days = pd.date_range("2020-06-01", periods=2)
    series = pd.Series(temperature, days), pd.Series(radiation, days)
    return pyet.oudin(series[0], 0.8).to_numpy() + series[1].to_numpy()


@pyet(np.array([15.0, 18.0]))
def vapour(temperature):
    from pyet.meteo_utils import calc_e0, calc_vpc

    return calc_e0(temperature) + calc_vpc(temperature)


hydroeval = library("hydroeval", "hydrology", "hydroeval", gate=True)
FLOW = np.array([1.0, 3.0, 2.0, 5.0, 4.0])


@hydroeval(FLOW[::-1] * 0.9)
def kling_gupta(simulated):
    import hydroeval

    return hydroeval.evaluator(hydroeval.kge, simulated, FLOW)


@hydroeval(FLOW[::-1] * 0.9)
def nash_sutcliffe(simulated):
    from hydroeval import nse

    return nse(simulated, FLOW)


thermofeel = library("thermofeel", "meteorology", "thermofeel")


@thermofeel(np.array([300.0, 305.0]), np.array([60.0, 40.0]))
def felt(temperature, humidity):
    import thermofeel

    return thermofeel.calculate_heat_index_simplified(temperature, humidity)


@thermofeel(np.array([290.0, 295.0]), np.array([3.0, 5.0]))
def chill(temperature, wind):
    import thermofeel

    return thermofeel.calculate_wind_chill(temperature - 25, wind)


biopython = library("biopython", "biology", "Bio")


@biopython(np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.7, 0.1]), np.array([1.0, 0.2, 2.2]))
def bond_angle(a, b, c):
    from Bio.PDB.vectors import Vector, calc_angle

    return calc_angle(Vector(a), Vector(b), Vector(c))


@biopython(np.cos(np.arange(12.0)).reshape(4, 3))
def superposed(coordinates):
    from Bio.SVDSuperimposer import SVDSuperimposer

    fit = SVDSuperimposer()
    fit.set(np.sin(np.arange(12.0)).reshape(4, 3), coordinates)
    fit.run()
    return fit.get_rms()


skbio = library("scikit-bio", "biology", "skbio")
COUNTS = np.array([12.0, 3.0, 5.0, 9.0])


@skbio(COUNTS)
def shannon(counts):
    from skbio.diversity.alpha import shannon

    return shannon(counts)


@skbio(COUNTS)
def simpson(counts):
    from skbio.diversity.alpha import simpson

    return simpson(counts)


@skbio(COUNTS / 29)
def log_ratio(composition):
    from skbio.stats.composition import clr

    return clr(composition)


@skbio(np.array([1.0, 2.0, 1.5]))
def coordinates(distances):
    from skbio import DistanceMatrix
    from skbio.stats.ordination import pcoa

    return pcoa(DistanceMatrix(distances)).eigvals.to_numpy()[:2]
