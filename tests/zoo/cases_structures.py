"""Finite elements, structures, quantum mechanics, optics, radio, plasma, units."""

import numpy as np

from .case import library

skfem = library("scikit-fem", "finite elements", "skfem")


@skfem(2.0)
def poisson(conductivity):
    from skfem import Basis, BilinearForm, ElementTriP1, LinearForm, MeshTri, condense, solve
    from skfem.helpers import dot, grad

    basis = Basis(MeshTri().refined(2), ElementTriP1())
    stiffness = BilinearForm(lambda u, v, w: conductivity * dot(grad(u), grad(v))).assemble(basis)
    load = LinearForm(lambda v, w: 1.0 * v).assemble(basis)
    return solve(*condense(stiffness, load, D=basis.get_dofs())).sum()


@skfem(np.cos(np.arange(25.0)))
def energy(u):
    from skfem import Basis, ElementTriP1, Functional, MeshTri
    from skfem.helpers import dot, grad

    basis = Basis(MeshTri().refined(2), ElementTriP1())
    field = basis.interpolate(u)
    return Functional(lambda w: dot(grad(w["u"]), grad(w["u"]))).assemble(basis, u=field)


anastruct = library("anastruct", "structures", "anastruct")


@anastruct(15000.0, 5000.0, 10.0)
def beam(axial, bending, force):
    from anastruct import SystemElements

    system = SystemElements(EA=axial, EI=bending)
    system.add_element(location=[[0, 0], [2, 0]])
    system.add_element(location=[[2, 0], [5, 1]])
    system.add_support_fixed(node_id=1)
    system.add_support_hinged(node_id=3)
    system.point_load(node_id=2, Fy=-force)
    system.solve()
    return system.get_node_displacements(node_id=2)["uy"]


pynite = library("PyNiteFEA", "structures", "Pynite")


@pynite(29000.0, 150.0, 5.0)
def deflection_of_a_beam(modulus, inertia, load):
    from Pynite import FEModel3D

    beam = FEModel3D()
    beam.add_node("A", 0, 0, 0)
    beam.add_node("B", 100, 0, 0)
    beam.add_material("steel", modulus, 11200, 0.3, 2.8e-4)
    beam.add_section("section", 20, 100, inertia, 250)
    beam.add_member("M", "A", "B", "steel", "section")
    beam.def_support("A", True, True, True, True, True, True)
    beam.add_node_load("B", "FY", -load)
    beam.analyze(check_statics=False)
    return beam.nodes["B"].DY["Combo 1"]


nutils = library("nutils", "finite elements", "nutils")


@nutils(np.array([[0.0, 1.0], [2.0, 0.5]]))
def sampled(values):
    from nutils.expression_v2 import Namespace
    from nutils.mesh import rectilinear

    topology, geometry = rectilinear([2, 1])
    basis = topology.basis("std", degree=1)
    namespace = Namespace()
    namespace.u = basis @ np.concatenate((values.ravel(), [1.0, 3.0]))
    namespace.x = geometry
    return topology.integral("u u" @ namespace, degree=2).eval()


findiff = library("findiff", "finite differences", "findiff")


@findiff(np.sin(np.linspace(0, 2, 12)))
def second_derivative(values):
    from findiff import Diff

    return (Diff(0, 2 / 11) ** 2)(values)


quimb = library("quimb", "quantum", "quimb")


@quimb(np.array([0.3, 0.4, 0.5, 0.6]))
def entanglement(amplitudes):
    import quimb

    part = quimb.ptr(quimb.dop(amplitudes), [2, 2], 0)
    return np.trace(part @ part)


@quimb(0.7, 0.2)
def rotated_bloch(angle, phase):
    import quimb

    return quimb.U_gate(angle, phase, 0.3)


toqito = library("toqito", "quantum", "toqito")
STATE = np.array([[0.6, 0.1], [0.1, 0.4]])
OTHER = np.array([[0.5, 0.2], [0.2, 0.5]])


def normal(a):
    """A density matrix, whatever a is."""
    product = a @ a.T
    return product / np.trace(product)


@toqito(STATE)
def entropy(rho):
    from toqito.state_props import von_neumann_entropy

    return von_neumann_entropy(normal(rho))


@toqito(STATE)
def trace_distance(rho):
    from toqito.state_metrics import trace_distance

    return trace_distance(normal(rho), OTHER)


@toqito(np.kron(STATE, OTHER))
def partial(rho):
    from toqito.channels import partial_trace
    from toqito.matrix_ops import tensor

    return partial_trace(rho, [0], [2, 2]) + tensor(OTHER, STATE)[:2, :2]


@toqito(STATE)
def fidelity(rho):
    from toqito.state_metrics import fidelity

    return fidelity(normal(rho), OTHER)


tmm = library("tmm", "optics", "tmm", gate=True)


@tmm(100.0, 300.0)
def reflected(first, second):
    from tmm import coh_tmm

    stack = coh_tmm("p", [1, 2.2, 3.3 + 0.3j, 1], [np.inf, first, second, np.inf], 0.3, 500.0)
    return stack["R"] + 2 * stack["T"]


@tmm(np.array([0.0, 100.0, 300.0, 0.0]), 500.0)
def of_arrays(thickness, wavelength):
    from tmm import coh_tmm

    ends = np.array([np.inf, 0, 0, np.inf])
    return coh_tmm("s", np.array([1, 2.2, 3.3, 1]), thickness + ends, 0.3, wavelength)["R"]


@tmm(1.5, 0.4)
def interface(index, angle):
    from tmm import interface_R

    return interface_R("p", 1.0, index, angle, np.arcsin(np.sin(angle) / index))


skrf = library("scikit-rf", "radio", "skrf")


@skrf(50.0, 1e-11)
def matched(resistance, capacitance):
    import skrf
    from skrf.media import DefinedGammaZ0

    line = DefinedGammaZ0(skrf.Frequency(1, 2, 3, "GHz"), z0=50)
    return np.abs(
        (line.resistor(resistance) ** line.shunt_capacitor(capacitance) ** line.match()).s
    )


@skrf(np.array([[[0.1 + 0.2j, 0.5], [0.4, 0.2 - 0.1j]]]))
def impedances(s):
    import skrf

    return np.abs(skrf.network.s2z(s))


@skrf(np.array([[[0.1 + 0.2j, 0.5], [0.4, 0.2 - 0.1j]]]))
def cascade(s):
    import skrf

    return np.abs(skrf.network.s2t(s))


plasmapy = library("plasmapy", "physics", "plasmapy", "astropy")


@plasmapy(2.0)
def debye(temperature):
    import astropy.units as u
    from plasmapy.formulary import Debye_length

    return 1e3 * Debye_length(temperature * 1e4 * u.K, 1e15 * u.m**-3).value


@plasmapy(np.array([0.3, 1.2]))
def plasma_dispersion(zeta):
    from plasmapy.dispersion import plasma_dispersion_func

    return np.real(plasma_dispersion_func(zeta))


pint = library("Pint", "units", "pint", gate=True)


@pint(3.0, 2.0)
def speed(length, time):
    import pint

    units = pint.UnitRegistry()
    return ((length * units.meter) / (time * units.minute)).to("km/hour").magnitude


@pint(np.array([20.0, 30.0]))
def temperature(celsius):
    import pint

    units = pint.UnitRegistry(autoconvert_offset_to_baseunit=True)
    return (units.Quantity(celsius, "degC").to("kelvin") ** 2).magnitude


@pint(np.array([1.0, 2.0, 4.0]))
def norm(x):
    import pint

    units = pint.UnitRegistry()
    return np.sqrt((units.Quantity(x, "cm") ** 2).sum()).to("m").magnitude


unyt = library("unyt", "units", "unyt")


@unyt(np.array([1.0, 2.0]))
def kinetic(speeds):
    import unyt

    return (0.5 * 3.0 * unyt.kg * (speeds * unyt.m / unyt.s) ** 2).to_value("J")
