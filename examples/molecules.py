"""
A cluster of atoms
==================

Atoms of a noble gas attract each other, and repel each other when they are too near. This finds
how thirteen of them like to sit. The energy is a double loop over the atoms, and zyg makes machine
code of it and of the forces, its gradient. Hot atoms move by Newton's law and get colder; time and
again their state is frozen, by going downhill. The lowest energy that was ever found for thirteen
atoms is -44.3268: an icosahedron.

::

    pip install -e '.[examples]' && python examples/molecules.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg

# %%
# Energy and forces
# -----------------
# Lennard-Jones' energy, in its own units.


@zyg.compile
def energy(atoms):
    total = 0.0
    for i in range(len(atoms)):
        for j in range(i):
            square = 0.0
            for k in range(3):
                square += (atoms[i, k] - atoms[j, k]) ** 2
            sixth = 1 / square**3
            total += 4 * (sixth * sixth - sixth)
    return total


def forces(atoms):
    (slope,) = zyg.gradient(energy, atoms)
    return -slope


# %%
# Movement
# --------
# Verlet's steps, which keep the total energy nearly constant: a test of the forces. A soft bowl
# keeps atoms that evaporate.

STEP, RADIUS = 0.004, 2.6


def pull(atoms):
    """What the bowl does to atoms that are too far out."""
    distance = np.linalg.norm(atoms, axis=1, keepdims=True)
    return -20 * np.maximum(distance - RADIUS, 0) * atoms / distance


def move(atoms, speeds, steps):
    """Atoms, speeds and energies, so many steps later."""
    push, energies = forces(atoms) + pull(atoms), []
    for _ in range(steps):
        speeds = speeds + STEP / 2 * push
        atoms = atoms + STEP * speeds
        push = forces(atoms) + pull(atoms)
        speeds = speeds + STEP / 2 * push
        out = np.maximum(np.linalg.norm(atoms, axis=1) - RADIUS, 0)
        energies.append((energy(atoms), np.sum(speeds**2) / 2 + 10 * np.sum(out**2)))
    return atoms, speeds, energies


# %%
# Heat, and freeze
# ----------------
# The temperature falls from round to round: each begins with new speeds.

ATOMS = 13
rng = np.random.default_rng(2)
grid = 1.2 * np.indices((3, 3, 2)).reshape(3, -1).T[:ATOMS]
atoms = grid - np.mean(grid, axis=0)
history, frozen, drift = [], [], 0.0
for temperature in np.linspace(0.4, 0.1, 30):
    speeds = np.sqrt(temperature) * rng.normal(size=atoms.shape)
    atoms, _, energies = move(atoms, speeds, 300)
    sums = np.sum(energies, axis=1)
    drift = max(drift, np.max(np.abs(sums - sums[0])))
    history += [potential for potential, _ in energies]
    frozen.append(zyg.optimize.minimize(energy, atoms, method="L-BFGS-B"))
best = min(frozen, key=lambda found: found.fun)
print(f"of {len(frozen)} frozen states the lowest is {best.fun:.4f}; the lowest known is -44.3268")
print(f"in each round the total energy stays the same up to {drift:.3f}")

# %%
# At a minimum no force is left, and the Hessian has no negative eigenvalue; six are zero, for
# moving and turning the whole.

hessian = zyg.hessian(energy, best.x).reshape(3 * ATOMS, 3 * ATOMS)
vibrations = np.linalg.eigvalsh(hessian)
print(f"eigenvalues of the Hessian: {vibrations[:7].round(2)} ...")

# %%
# The picture
# -----------

figure = plt.figure(figsize=(11, 4.5), layout="constrained")
axes = figure.add_subplot(1, 2, 1)
axes.plot(history, linewidth=0.5, color="grey", label="while the atoms move")
axes.plot(
    300 * np.arange(1, len(frozen) + 1), [f.fun for f in frozen], "o-", markersize=4, label="frozen"
)
axes.axhline(-44.3268, linestyle="--", color="C1", label="the lowest known")
axes.set(xlabel="step", ylabel="potential energy", title="a cluster of thirteen atoms gets colder")
axes.legend()

axes = figure.add_subplot(1, 2, 2, projection="3d")
places = best.x - np.mean(best.x, axis=0)
for i in range(ATOMS):
    for j in range(i):
        if np.linalg.norm(places[i] - places[j]) < 1.3:
            axes.plot(*places[[i, j]].T, color="grey", linewidth=1)
colours = np.linalg.norm(places, axis=1)
axes.scatter(*places.T, s=500, c=colours, cmap="viridis_r", edgecolors="k", depthshade=False)
axes.set(title=f"the best: {best.fun:.4f}", xlabel="x", ylabel="y", zlabel="z")
axes.set_box_aspect((1, 1, 1))
plt.show()

assert best.fun < -44.3268, f"the lowest energy found is {best.fun}"
assert vibrations[6] > 1, "the best is no minimum"
assert drift < 0.05, f"the total energy changes by {drift}"
