"""Chemistry, thermodynamics, fluids, materials."""

import numpy as np

from .case import library

thermo = library("thermo", "thermodynamics", "thermo", "chemicals", "fluids")


@thermo(299.0, 1e6)
def compressibility(temperature, pressure):
    from thermo.eos import PR

    return PR(Tc=507.6, Pc=3025000.0, omega=0.2975, T=temperature, P=pressure).Z_l


@thermo(330.0)
def vapour_pressure(temperature):
    from thermo import VaporPressure

    liquid = VaporPressure(CASRN="7732-18-5", Tb=373.124, Tc=647.14, Pc=22048320.0, omega=0.344)
    return liquid.calculate(temperature, "WAGNER_MCGARRY") / 1e3


@thermo(340.0, 0.3)
def excess(temperature, fraction):
    from thermo import Wilson

    mixture = Wilson(
        T=temperature, xs=[fraction, 1 - fraction],
        lambda_as=[[0.0, 0.0387], [-0.2, 0.0]], lambda_bs=[[0.0, -130.0], [-420.0, 0.0]],
    )  # fmt: skip
    return mixture.GE() / 100 + mixture.gammas()[0]


chemicals = library("chemicals", "thermodynamics", "chemicals", "fluids")


@chemicals(300.0)
def antoine(temperature):
    from chemicals import Antoine

    return Antoine(temperature, A=8.95894, B=510.595, C=-15.95)


@chemicals(0.1, np.array([0.4, 0.6]), np.array([1.685, 0.742]))
def flash(guess, fractions, ratios):
    from chemicals import Rachford_Rice_flash_error

    return Rachford_Rice_flash_error(guess, fractions, ratios)


@chemicals(530.0, 3e5)
def viscosity_of_water(temperature, density):
    from chemicals import mu_IAPWS

    return 1e6 * mu_IAPWS(temperature, density / 300)


@chemicals(369.4, 4252000.0, 0.152, 300.0)
def saturation(critical_t, critical_p, omega, temperature):
    from chemicals import Lee_Kesler

    return Lee_Kesler(temperature, critical_t, critical_p, omega) / 1e5


fluids = library("fluids", "fluids", "fluids")


@fluids(1e5, 1e-4)
def friction(reynolds, roughness):
    from fluids import friction_factor

    return friction_factor(Re=reynolds, eD=roughness)


@fluids(0.5, 0.2, 3.0)
def pressure_loss(diameter, depth, speed):
    from fluids import K_from_f, contraction_sharp, dP_from_K

    loss = K_from_f(fd=0.018, L=10.0, D=diameter) + contraction_sharp(diameter, depth)
    return dP_from_K(loss, rho=1000.0, V=speed) / 1e3


@fluids(5000.0)
def standard_atmosphere(height):
    from fluids import ATMOSPHERE_1976

    return ATMOSPHERE_1976(height).rho


ht = library("ht", "heat transfer", "ht", "fluids")


@ht(400.0, 300.0, 290.0, 330.0)
def log_mean(hot_in, hot_out, cold_in, cold_out):
    from ht import LMTD

    return LMTD(hot_in, hot_out, cold_in, cold_out)


@ht(1e5, 1.2)
def nusselt(reynolds, prandtl):
    from ht import Nu_conv_internal

    return Nu_conv_internal(Re=reynolds, Pr=prandtl, Di=0.05, x=1.0, fd=0.018)


iapws = library("iapws", "thermodynamics", "iapws", gate=True)


@iapws(500.0, 3.0)
def steam(temperature, pressure):
    from iapws import IAPWS97

    water = IAPWS97(P=pressure, T=temperature)
    return water.h / 1000 + water.s


@iapws(450.0)
def saturation_pressure(temperature):
    from iapws.iapws97 import _PSat_T

    return _PSat_T(temperature)


@iapws(300.0)
def surface_tension(temperature):
    from iapws._iapws import _Tension

    return _Tension(temperature)


periodictable = library("periodictable", "chemistry", "periodictable")


@periodictable(8.1)
def scattering_length(energy):
    import periodictable

    return periodictable.xray_sld("SiO2", density=2.2, energy=energy)[0]


@periodictable(2.2)
def neutrons(density):
    import periodictable

    return periodictable.neutron_sld("SiO2", density=density, wavelength=4.75)[0]


molmass = library("molmass", "chemistry", "molmass")


@molmass(12.011, 1.008)
def mass_of_ethanol(carbon, hydrogen):
    from molmass import Spectrum

    spectrum = Spectrum({46: [46.04, carbon / 20], 47: [47.04, hydrogen]})
    return spectrum.mean


ase = library("ase", "materials", "ase")
ATOMS = np.array([[0.0, 0.0, 0.0], [0.0, 0.1, 2.6], [2.5, 0.2, 0.3], [1.2, 2.2, 1.1]])


@ase(ATOMS)
def metal(positions):
    from ase import Atoms
    from ase.calculators.emt import EMT

    return Atoms("Cu4", positions=positions, calculator=EMT()).get_potential_energy()


@ase(ATOMS)
def argon(positions):
    from ase import Atoms
    from ase.calculators.lj import LennardJones

    calculator = LennardJones(sigma=2.3, epsilon=0.4, rc=8.0)
    return Atoms("Ar4", positions=positions, calculator=calculator).get_potential_energy()


@ase(ATOMS)
def angle(positions):
    from ase.geometry import get_angles

    return get_angles(positions[1:2] - positions[0], positions[2:3] - positions[0])


@ase(np.array([[3.0, 0.1, 0.0], [0.0, 3.2, 0.2], [0.3, 0.0, 4.1]]))
def cell(vectors):
    from ase.cell import Cell

    return Cell(vectors).cellpar()
