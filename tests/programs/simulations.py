"""Programs as newcomers write them: simulations, steps of learning, filters, prices, geometry."""
# ruff: noqa: N803, N806, E741, B007, B905, E731, RUF059 - as newcomers write

import cmath
import functools
import math
import operator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .program import program

r = np.random.default_rng(0)
A3 = r.standard_normal((3, 3)) + 3 * np.eye(3)
v3 = r.standard_normal(3)


@program(np.array([1.0, 1.0, 1.0]), 10.0, 28.0, 8 / 3)
def lorenz(y0, s, rho, b):
    def rhs(y):
        x, yy, z = y
        return np.array([s * (yy - x), x * (rho - z) - yy, x * yy - b * z])

    y = y0.copy()
    traj = np.zeros((11, 3))
    traj[0] = y
    for i in range(10):
        k1 = rhs(y)
        k2 = rhs(y + 0.005 * k1)
        k3 = rhs(y + 0.005 * k2)
        k4 = rhs(y + 0.01 * k3)
        y = y + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        traj[i + 1] = y
    return traj[:, 0].std() + np.abs(traj[-1]).max()


@program(np.array([0.9, 0.1]), 0.3, 0.1)
def sir(state, beta, gamma):
    S, I = state
    R = 0.0
    history = []
    for day in range(30):
        new = beta * S * I
        rec = gamma * I
        S -= new
        I += new - rec
        R += rec
        history.append(I)
    peak = max(history)
    return peak + R


@program(np.linspace(0, 1, 20), 0.1, traced="float(x)")
def heat(u, alpha):
    u = u.copy()
    for _ in range(8):
        un = u.copy()
        u[1:-1] = un[1:-1] + alpha * (un[2:] - 2 * un[1:-1] + un[:-2])
        u[0] = 0
        u[-1] = 1
    return float(np.sum(u**2))


@program(
    r.standard_normal((5, 4)),
    r.standard_normal(4),
    np.array([0, 1, 1, 0, 1]),
    0.1,
    text_of_derivatives="by ints",
)
def logreg(X, w, y, lam):
    z = X @ w
    p = 1 / (1 + np.exp(-z))
    nll = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    return nll + lam * np.dot(w, w) / 2


@program(
    {
        "W1": r.standard_normal((4, 3)),
        "b1": np.zeros(4),
        "W2": r.standard_normal((2, 4)),
        "b2": np.zeros(2),
    },
    v3,
    1,
)
def mlp(params, x, label):
    h = np.maximum(0, params["W1"] @ x + params["b1"])
    logits = params["W2"] @ h + params["b2"]
    logits = logits - logits.max()
    logp = logits - np.log(np.sum(np.exp(logits)))
    return -logp[label]


@dataclass
class Option:
    spot: float
    strike: float
    rate: float
    vol: float
    expiry: float
    kind: str = "call"


def norm_cdf(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


@program(
    Option(100.0, 95.0, 0.05, 0.2, 1.0),
)
def black_scholes(o):
    d1 = (math.log(o.spot / o.strike) + (o.rate + o.vol**2 / 2) * o.expiry) / (
        o.vol * math.sqrt(o.expiry)
    )
    d2 = d1 - o.vol * math.sqrt(o.expiry)
    disc = o.strike * math.exp(-o.rate * o.expiry)
    if o.kind == "call":
        return o.spot * norm_cdf(d1) - disc * norm_cdf(d2)
    if o.kind == "put":
        return disc * norm_cdf(-d2) - o.spot * norm_cdf(-d1)
    raise ValueError(f"unknown kind {o.kind}")


@program(Option(100.0, 95.0, 0.05, 0.2, 1.0, "put"), 20)
def crr(o, n):
    dt = o.expiry / n
    u = math.exp(o.vol * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(o.rate * dt) - d) / (u - d)
    values = [max(o.strike - o.spot * u**j * d ** (n - j), 0.0) for j in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            hold = math.exp(-o.rate * dt) * (p * values[j + 1] + (1 - p) * values[j])
            ex = max(o.strike - o.spot * u**j * d ** (i - j), 0.0)
            values[j] = max(hold, ex)
    return values[0]


@program([100.0, 5.0, 5.0, 105.0], [0, 1, 2, 3], 0.06)
def irr_like(cash, times, rate):
    pv = 0.0
    for c, t in zip(cash, times):
        pv += c / (1 + rate) ** t
    return pv


@program(np.array([0.4, 2.0, -1.0, 0.3, 0.7, 1.1]), 3, text_of_derivatives="by ints")
def moving_average(x, k):
    out = np.convolve(x, np.ones(k) / k, mode="valid")
    return np.sqrt(np.mean(out**2))


@program(np.array([0.4, 2.0, -1.0, 0.3, 0.7, 1.1]), 0.3)
def ema(x, a):
    s = x[0]
    out = [s]
    for v in x[1:]:
        s = a * v + (1 - a) * s
        out.append(s)
    out = np.array(out)
    return np.sum((out - x) ** 2)


@program(np.sin(np.arange(16.0)), (0.2, 0.5, 0.3), (1.0, -0.4, 0.1))
def biquad(x, b, a):
    b0, b1, b2 = b
    _, a1, a2 = a
    y = np.zeros_like(x)
    z1 = z2 = 0.0
    for n in range(len(x)):
        y[n] = b0 * x[n] + z1
        z1 = b1 * x[n] - a1 * y[n] + z2
        z2 = b2 * x[n] - a2 * y[n]
    return (y**2).sum()


@program(np.sin(np.arange(8.0)))
def dft_power(x):
    N = len(x)
    total = 0.0
    for k in range(N):
        acc = 0j
        for n in range(N):
            acc += x[n] * cmath.exp(-2j * math.pi * k * n / N)
        total += (k + 1) * abs(acc) ** 2
    return total / N


@program(np.array([[0.0, 0.0], [1.0, 0.0], [1.3, 1.1], [0.2, 0.9]]))
def polygon(pts):
    area = 0.0
    per = 0.0
    n = len(pts)
    for i in range(n):
        x0, y0 = pts[i]
        x1, y1 = pts[(i + 1) % n]
        area += x0 * y1 - x1 * y0
        per += math.hypot(x1 - x0, y1 - y0)
    return abs(area) / 2 + 4 * math.pi * (abs(area) / 2) / per**2


@program(np.array([0.1, 0.7, -0.2]), np.array([1.0, 2.0, 0.5]))
def rodrigues(rv, p):
    theta = np.linalg.norm(rv)
    if theta < 1e-12:
        return p.sum()
    k = rv / theta
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    R = np.eye(3) + np.sin(theta) * K + (1 - np.cos(theta)) * K @ K
    return (R @ p) @ np.array([1.0, 2.0, 3.0])


@program("kitten", "sitting", 1.3, 0.7, differences="ties")
def edit_distance(a, b, ins, sub):
    n, m = len(a), len(b)
    D = np.zeros((n + 1, m + 1))
    for i in range(n + 1):
        D[i, 0] = i * ins
    for j in range(m + 1):
        D[0, j] = j * ins
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else sub
            D[i, j] = min(D[i - 1, j] + ins, D[i, j - 1] + ins, D[i - 1, j - 1] + cost)
    return D[n, m]


class Layer(NamedTuple):
    w: np.ndarray
    b: np.ndarray


@program(
    [Layer(r.standard_normal((3, 3)), np.zeros(3)), Layer(r.standard_normal((1, 3)), np.zeros(1))],
    v3,
    "tanh",
)
def layers(net, x, activation):
    acts = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0)}
    act = acts[activation]
    for i, layer in enumerate(net):
        x = layer.w @ x + layer.b
        if i < len(net) - 1:
            x = act(x)
    return x.item()


@program(np.array([0.2, -0.3]), 40)
def momentum_sgd(w0, steps):
    def f(w):
        return (1 - w[0]) ** 2 + 10 * (w[1] - w[0] ** 2) ** 2

    def grad(w):
        return np.array([-2 * (1 - w[0]) - 40 * w[0] * (w[1] - w[0] ** 2), 20 * (w[1] - w[0] ** 2)])

    w = w0.copy()
    v = np.zeros(2)
    for t in range(steps):
        v = 0.9 * v - 0.002 * grad(w)
        w += v
        if np.linalg.norm(v) < 1e-10:
            break
    return f(w)


@program(np.array([0.5, 1.2, 0.3]))
def adam(x):
    m = np.zeros_like(x)
    v = np.zeros_like(x)
    p = x.copy()
    for t in range(1, 6):
        g = 2 * p + np.cos(p)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        mh = m / (1 - 0.9**t)
        vh = v / (1 - 0.999**t)
        p -= 0.1 * mh / (np.sqrt(vh) + 1e-8)
    return p.sum()


@program(r.standard_normal((6, 2)), r.standard_normal((2, 2)))
def kmeans_loss(X, C):
    total = 0.0
    labels = np.zeros(len(X), dtype=int)
    for i, x in enumerate(X):
        d = np.sum((C - x) ** 2, axis=1)
        labels[i] = np.argmin(d)
        total += d[labels[i]]
    counts = np.bincount(labels, minlength=2)
    return total + counts[0]


@program(r.standard_normal((4, 3)), r.standard_normal((4, 3)), r.standard_normal((4, 3)))
def attention(Q, K, V):
    s = Q @ K.T / np.sqrt(Q.shape[-1])
    s = s - s.max(axis=-1, keepdims=True)
    w = np.exp(s)
    w /= w.sum(axis=-1, keepdims=True)
    return np.sum((w @ V) ** 2)


@program(r.standard_normal((3, 4)), np.ones(4), np.zeros(4))
def layer_norm(x, g, b):
    mu = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return (((x - mu) / np.sqrt(var + 1e-5)) * g + b).ravel()[::2].sum()


@program(np.array([[1.0, 0.2], [0.1, 0.9]]), np.array([[0.5, 0.1], [0.3, 0.4]]), [0, 1, 1, 0])
def viterbi(T, E, obs):
    score = np.log(E[:, obs[0]])
    back = []
    for o in obs[1:]:
        cand = score[:, None] + np.log(T)
        back.append(np.argmax(cand, axis=0))
        score = cand.max(axis=0) + np.log(E[:, o])
    return np.max(score)


@program(
    np.array([1.0, 2.0, 3.0]),
    np.array([4.0, 5.0, 6.0, 7.0]),
    np.array([1.0, 1, 1]),
    np.array([1.0, 2.0, 3.0, 4.0]),
)
def thomas(a, b, c, d):
    n = len(d)
    cp = np.empty(n)
    dp = np.empty(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i - 1] * cp[i - 1]
        if i < n - 1:
            cp[i] = c[i] / m
        dp[i] = (d[i] - a[i - 1] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in reversed(range(n - 1)):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return np.dot(x, x)


@program(A3 @ A3.T, v3)
def cg(A, b):
    x = np.zeros_like(b)
    res = b - A @ x
    p = res.copy()
    rs = res @ res
    for _ in range(len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        res -= alpha * Ap
        new = res @ res
        if np.sqrt(new) < 1e-12:
            break
        p = res + (new / rs) * p
        rs = new
    return x.sum()


@program(2.0, 0.3)
def kepler(M, e):
    E = M if e < 0.8 else math.pi
    for it in range(50):
        f = E - e * math.sin(E) - M
        if abs(f) < 1e-13:
            break
        E -= f / (1 - e * math.cos(E))
    else:
        raise RuntimeError("no convergence")
    return 2 * math.atan2(math.sqrt(1 + e) * math.sin(E / 2), math.sqrt(1 - e) * math.cos(E / 2))


@program(0.1, 2.0, differences="steps of a search")
def bisect(lo, hi):
    f = lambda x: x**3 - x - 0.5
    while hi - lo > 1e-3:
        mid = (lo + hi) / 2
        if f(lo) * f(mid) <= 0:
            hi = mid
        else:
            lo = mid
    return (lo + hi) / 2


@program(lambda x: math.exp(-x * x), 0.0, 1.0)
def simpson(f, a, b):
    n = 10
    h = (b - a) / n
    s = f(a) + f(b)
    s += 4 * sum(f(a + k * h) for k in range(1, n, 2))
    s += 2 * sum(f(a + k * h) for k in range(2, n, 2))
    return s * h / 3


@program(0.0, 1.0)
def adaptive_simpson(a, b, tol=1e-6):
    def f(x):
        return math.sin(3 * x) * x

    def rec(a, fa, b, fb, m, fm, whole, tol, depth):
        lm, rm = (a + m) / 2, (m + b) / 2
        flm, frm = f(lm), f(rm)
        left = (m - a) / 6 * (fa + 4 * flm + fm)
        right = (b - m) / 6 * (fm + 4 * frm + fb)
        if depth <= 0 or abs(left + right - whole) < 15 * tol:
            return left + right + (left + right - whole) / 15
        return rec(a, fa, m, fm, lm, flm, left, tol / 2, depth - 1) + rec(
            m, fm, b, fb, rm, frm, right, tol / 2, depth - 1
        )

    m = (a + b) / 2
    fa, fb, fm = f(a), f(b), f(m)
    return rec(a, fa, b, fb, m, fm, (b - a) / 6 * (fa + 4 * fm + fb), tol, 20)


@program(np.array([3.0, 1.0, 2.0, 5.0, 4.0]))
def bubble(x):
    x = x.copy()
    n = len(x)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break
    return sum(k * v for k, v in enumerate(x))


@program(np.array([3.0, 1.0, 2.0, 5.0, 4.0]), 0.5)
def quantile_loss(y, q):
    pred = np.median(y)
    e = y - pred
    return np.mean(np.where(e >= 0, q * e, (q - 1) * e)) + np.percentile(y, 25)


@program(np.array([[1.0, 0.5], [0.5, 2.0]]), np.array([0.1, 0.2]), np.array([1.0, 2.0]))
def mvn_logpdf(cov, mu, x):
    d = x - mu
    L = np.linalg.cholesky(cov)
    z = np.linalg.solve(L, d)
    return -0.5 * (z @ z) - np.log(np.diag(L)).sum() - len(x) / 2 * math.log(2 * math.pi)


@program(np.array([0.1, 0.5, 0.9]), np.array([1.0, 2.0, 1.5]), 0.3, 1e-2)
def gp_nll(x, y, ell, noise):
    K = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2 / ell**2) + noise * np.eye(len(x))
    s, ld = np.linalg.slogdet(K)
    return 0.5 * y @ np.linalg.solve(K, y) + 0.5 * ld


class Particle:
    def __init__(self, pos, vel, mass=1.0):
        self.pos = pos
        self.vel = vel
        self.mass = mass

    def kinetic(self):
        return 0.5 * self.mass * np.dot(self.vel, self.vel)

    @property
    def momentum(self):
        return self.mass * self.vel

    def step(self, force, dt):
        self.vel = self.vel + force / self.mass * dt
        self.pos = self.pos + self.vel * dt


@program(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 1.3)
def orbit(p, v, m):
    a = Particle(p, v, mass=m)
    for _ in range(20):
        rr = np.linalg.norm(a.pos)
        a.step(-a.pos / rr**3, 0.05)
    return a.kinetic() + np.sum(a.momentum) - 1 / np.linalg.norm(a.pos)


@program(np.array([0.5, -1.2, 2.0, 0.1]), "huber")
def robust(r_, kind="l2"):
    match kind:
        case "l2":
            rho = lambda t: 0.5 * t * t
        case "huber":
            rho = lambda t: 0.5 * t * t if abs(t) <= 1 else abs(t) - 0.5
        case _:
            raise ValueError(kind)
    return sum(map(rho, r_))


@program(np.arange(12.0).reshape(3, 4) / 7, np.array([[0.1, 0.2], [0.3, 0.4]]))
def conv2d(img, ker):
    H, W = img.shape
    h, w = ker.shape
    out = np.zeros((H - h + 1, W - w + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (img[i : i + h, j : j + w] * ker).sum()
    pooled = out[::2, ::2]
    return np.linalg.norm(pooled)


@program({"a": 1.5, "b": {"c": np.array([1.0, 2.0]), "d": [0.1, 0.2]}}, True)
def nested(tree, flag):
    total = tree["a"] ** 2
    for name, sub in tree["b"].items():
        if name == "c" and flag:
            total += np.prod(sub)
        else:
            total += sum(sub)
    return total


@program(np.array([1.0, 2.0, 3.0, 4.0]))
def fold(xs):
    poly = functools.reduce(lambda acc, c: acc * 0.5 + c, xs, 0.0)
    g = functools.partial(pow, exp=2) if False else (lambda t: t**2)
    return g(poly) + functools.reduce(operator.mul, xs)


@program(np.array([0.3, 0.8, 1.5, 2.2]), np.array([1.0, 0.5, 0.25, 0.1]), 1.0)
def interp_bond(knots, disc, t):
    i = np.searchsorted(knots, t)
    if i == 0:
        return disc[0]
    if i == len(knots):
        return disc[-1]
    w = (t - knots[i - 1]) / (knots[i] - knots[i - 1])
    return np.exp((1 - w) * np.log(disc[i - 1]) + w * np.log(disc[i]))


@program(np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.6, 0.3]))
def kl(p, q):
    out = 0.0
    for a, b in zip(p, q):
        if a == 0:
            continue
        assert b > 0, "q must be positive"
        out += a * (np.log(a) - np.log(b))
    return out


@program(np.array([1.0, 2.0, 0.5]), 3)
def softmax_temps(z, n):
    outs = {}
    for k in range(1, 4):
        e = np.exp(z / k)
        outs[k] = e / e.sum()
    best = outs[n]
    return -np.sum(best * np.log(best))


@program(np.array([0.1, 0.2, 0.3]), np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
def pagerank(v, M):
    v = v / v.sum()
    for it in range(100):
        w = 0.85 * M @ v + 0.05
        if np.abs(w - v).sum() < 1e-3:
            return w[0] ** 2 + it
        v = w
    return v[0]


@program(np.array([2.0, 1.0, 3.0]), 1.1)
def power_series(c, x):
    s, term, n = 0.0, 1.0, 0
    while abs(term) > 1e-10 and n < 50:
        s += c[n % len(c)] * term
        n += 1
        term *= x / n
    return s


@program(4, 0.3)
def legendre(n, x):
    if n == 0:
        return 1.0
    p0, p1 = 1.0, x
    for k in range(1, n):
        p0, p1 = p1, ((2 * k + 1) * x * p1 - k * p0) / (k + 1)
    return p1


@program(np.array([0.5, 1.0, 2.0]), np.float64(0.7), 2)
def mixed_types(x, s, k):
    y = x.astype(np.float64)
    out = 0
    for i in range(len(y)):
        out += y[i] ** k if i % 2 else y[i] * s // 1
    return round(out) + out * s
