"""Robots, attitudes, curves, meshes, vectors."""

import numpy as np

from .case import library

spatialmath = library("spatialmath-python", "robotics", "spatialmath")


@spatialmath(0.3, 0.4, 0.5)
def rotation(roll, pitch, yaw):
    from spatialmath.base import rpy2r

    return rpy2r(roll, pitch, yaw)


@spatialmath(0.3, 0.7)
def pose(angle, x):
    from spatialmath import SE3

    return (SE3.Rx(angle) * SE3.Tx(x)).A


@spatialmath(np.array([0.1, 0.2, 0.3]))
def exponential(twist):
    from spatialmath.base import trexp

    return trexp(twist)


@spatialmath(np.array([0.5, 0.5, 0.1, 0.7]))
def of_quaternion(q):
    from spatialmath.base import q2r

    return q2r(q)


transforms3d = library("transforms3d", "robotics", "transforms3d", gate=True)


@transforms3d(0.3, 0.4, 0.5)
def euler(a, b, c):
    from transforms3d.euler import euler2mat

    return euler2mat(a, b, c)


@transforms3d(np.array([0.5, 0.5, 0.1, 0.7]), np.array([0.9, 0.1, 0.3, 0.2]))
def product(p, q):
    from transforms3d.quaternions import qmult, quat2mat

    return quat2mat(qmult(p, q))


@transforms3d(np.array([0.3, -0.5, 0.8]), 0.7)
def about_axis(axis, angle):
    from transforms3d.axangles import axangle2mat

    return axangle2mat(axis, angle)


pytransform3d = library("pytransform3d", "robotics", "pytransform3d")


@pytransform3d(np.array([0.3, -0.5, 0.8, 0.7]))
def axis_and_angle(a):
    from pytransform3d.rotations import matrix_from_axis_angle

    return matrix_from_axis_angle(a)


@pytransform3d(np.array([0.5, 0.5, 0.1, 0.7]), np.array([0.3, 0.2, 0.1]))
def rotated(q, v):
    from pytransform3d.rotations import q_prod_vector

    return q_prod_vector(q, v)


@pytransform3d(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
def screw(coordinates):
    from pytransform3d.transformations import transform_from_exponential_coordinates

    return transform_from_exponential_coordinates(coordinates)


ikpy = library("ikpy", "robotics", "ikpy")


@ikpy(np.array([0.0, 0.4, -0.6]))
def arm(angles):
    from ikpy.chain import Chain
    from ikpy.link import OriginLink, URDFLink

    def joint(name, x):
        return URDFLink(
            name, origin_translation=[x, 0, 0.1], origin_orientation=[0, 0, 0], rotation=[0, 1, 0]
        )

    chain = Chain([OriginLink(), joint("shoulder", 0.3), joint("elbow", 0.5)])
    return chain.forward_kinematics(angles)


ahrs = library("AHRS", "robotics", "ahrs")


@ahrs(np.array([0.1, 0.2, 9.7]), np.array([20.0, 3.0, -40.0]))
def attitude(acceleration, field):
    from ahrs.filters import Tilt

    return Tilt().estimate(acceleration, field)


@ahrs(np.array([0.9, 0.1, 0.3, 0.2]), np.array([0.1, -0.2, 0.3]), np.array([0.1, 0.2, 9.7]))
def madgwick(q, turning, acceleration):
    from ahrs.filters import Madgwick

    return Madgwick().updateIMU(q, turning, acceleration)


@ahrs(48.0, 500.0)
def gravity(latitude, height):
    from ahrs.utils import WGS

    return WGS().normal_gravity(latitude, height)


geomdl = library("geomdl", "geometry", "geomdl")


@geomdl(np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.5], [4.0, 0.0]]))
def spline(points):
    from geomdl import BSpline

    curve = BSpline.Curve()
    curve.degree = 3
    curve.ctrlpts = points.tolist()
    curve.knotvector = [0, 0, 0, 0, 1, 1, 1, 1]
    return curve.evaluate_single(0.4)


@geomdl(0.3, 0.6)
def surface(u, v):
    from geomdl import BSpline

    patch = BSpline.Surface()
    patch.degree_u = patch.degree_v = 1
    patch.set_ctrlpts([[0, 0, 0], [0, 1, 1], [1, 0, 2], [1, 1, 0.5]], 2, 2)
    patch.knotvector_u = patch.knotvector_v = [0, 0, 1, 1]
    return patch.evaluate_single((u, v))


splines = library("splines", "geometry", "splines")


@splines(np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.5], [4.0, 0.0]]), 1.3)
def catmull_rom(points, t):
    import splines

    return splines.CatmullRom(points, endconditions="natural").evaluate(t)


@splines(np.array([0.1, 0.5, 0.8, 1.1]))
def hermite(values):
    import splines

    return splines.PiecewiseMonotoneCubic(values, [0, 1, 2.5, 3]).evaluate(1.7)


trimesh = library("trimesh", "geometry", "trimesh")
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0.1], [0.2, 1, 0], [0.1, 0.2, 1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


@trimesh(CORNERS)
def volume(corners):
    import trimesh

    return trimesh.Trimesh(corners, FACES, process=False).volume


@trimesh(CORNERS)
def area(corners):
    from trimesh import triangles

    return triangles.area(corners[FACES])


@trimesh(0.3, np.array([0.1, 0.4, 0.9]))
def turned(angle, axis):
    from trimesh.transformations import rotation_matrix

    return rotation_matrix(angle, axis)


vector = library("vector", "physics", "vector")


@vector(1.0, 2.0, 0.5)
def invariant_mass(pt, eta, phi):
    import vector

    one = vector.obj(pt=pt, eta=eta, phi=phi, mass=0.1)
    return (one + vector.obj(pt=2.0, eta=0.3, phi=-1.0, mass=0.2)).mass


@vector(np.array([1.0, 2.0]), np.array([0.5, -0.4]))
def boosted(x, y):
    import vector

    particles = vector.array({"x": x, "y": y, "z": [0.1, 0.3], "t": [3.0, 4.0]})
    moved = particles.boostX(0.3)
    return moved.t + moved.rho
