"""Spheres lit by a lamp, ray by ray: the mean brightness of the picture."""

import numpy as np


def normalize(v):
    return v / np.linalg.norm(v)


def intersect(origin, direction, centre, radius):
    b = 2 * np.dot(direction, origin - centre)
    c = np.linalg.norm(origin - centre) ** 2 - radius**2
    delta = b**2 - 4 * c
    if delta > 0:
        t1 = (-b + np.sqrt(delta)) / 2
        t2 = (-b - np.sqrt(delta)) / 2
        if t1 > 0 and t2 > 0:
            return min(t1, t2)
    return None


def trace(origin, direction, spheres, light, depth=2):
    hits = [(intersect(origin, direction, s["centre"], s["radius"]), s) for s in spheres]
    hits = [h for h in hits if h[0] is not None]
    if not hits or depth == 0:
        return np.zeros(3)
    t, sphere = min(hits, key=lambda h: h[0])
    point = origin + t * direction
    normal = normalize(point - sphere["centre"])
    to_light = normalize(light - point)
    color = np.array([0.05, 0.05, 0.05])
    color += sphere["color"] * max(np.dot(normal, to_light), 0)
    half = normalize(to_light - direction)
    color += 0.5 * max(np.dot(normal, half), 0) ** 20
    bounced = direction - 2 * np.dot(direction, normal) * normal
    return color + sphere["shine"] * trace(
        point + 1e-4 * normal, bounced, spheres, light, depth - 1
    )


def brightness(x, radius, light_height):
    spheres = [
        {
            "centre": np.array([x, 0, -1]),
            "radius": radius,
            "color": np.array([1, 0.2, 0]),
            "shine": 0.3,
        },
        {
            "centre": np.array([1.0, 0, -2]),
            "radius": 0.9,
            "color": np.array([0, 0.4, 1]),
            "shine": 0.5,
        },
    ]
    light = np.array([2, light_height, 3])
    image = np.zeros((4, 6, 3))
    for i, v in enumerate(np.linspace(1, -1, 4)):
        for j, u in enumerate(np.linspace(-1.4, 1.4, 6)):
            eye = np.array([0, 0, 2])
            image[i, j] = np.clip(
                trace(eye, normalize(np.array([u, v, 0]) - eye), spheres, light), 0, 1
            )
    return image.mean()


if __name__ == "__main__":
    print(brightness(-0.3, 0.8, 4.0))
