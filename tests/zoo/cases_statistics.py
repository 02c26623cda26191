"""Statistics, fits, finance, games, graphs, learning."""

import numpy as np

from .case import library

X = np.array([[1.0, 0.2], [1.0, 0.9], [1.0, 1.7], [1.0, 2.2], [1.0, 3.1]])
Y = np.array([0.4, 1.1, 1.4, 2.9, 3.0])
SERIES = np.array([0.01, -0.02, 0.015, 0.007, -0.011, 0.02])

statsmodels = library("statsmodels", "statistics", "statsmodels")


@statsmodels(Y)
def ordinary_least_squares(y):
    import statsmodels.api as sm

    return sm.OLS(y, X).fit().params


@statsmodels(np.array([0.3, 0.8]))
def poisson_likelihood(params):
    import statsmodels.api as sm

    return sm.Poisson(np.array([1, 2, 0, 3, 4]), X).loglike(params)


@statsmodels(np.array([0.3, 0.8]))
def logistic_likelihood(params):
    import statsmodels.api as sm

    return sm.Logit(np.array([0, 1, 0, 1, 1]), X).loglike(params)


@statsmodels(Y)
def autocorrelation(y):
    from statsmodels.tsa.stattools import acf

    return acf(y, nlags=2, fft=False)


@statsmodels(Y)
def robust(y):
    from statsmodels.robust.norms import HuberT

    return HuberT(t=1.5).rho(y - 1.0)


@statsmodels(np.array([0.2, 0.4]), np.array([1.0, 2.0, 0.5]))
def link(p, values):
    from statsmodels.genmod.families import links

    return np.concatenate((links.Logit()(p), links.CLogLog()(p), links.Log()(values)))


lifelines = library("lifelines", "statistics", "lifelines", "autograd_gamma")


@lifelines(np.array([1.3, 0.9]))
def survival(params):
    from lifelines import WeibullFitter

    hazard = WeibullFitter()._cumulative_hazard
    return hazard(params, np.array([0.5, 1.0, 2.0]))


@lifelines(np.array([5.0, 6.1, 6.3, 2.2, 9.0]), np.array([5.5, 5.9, 7.0, 2.0, 8.0]))
def two_groups(one, other):
    from lifelines.utils import concordance_index

    return concordance_index(np.array([1, 2, 3, 4, 5]), one) + (one * other).sum()


pingouin = library("pingouin", "statistics", "pingouin")


@pingouin(Y, Y[::-1] ** 2)
def effect(x, y):
    import pingouin

    return pingouin.compute_effsize(x, y, eftype="hedges")


@pingouin(0.6)
def effect_of_another_kind(size):
    import pingouin

    return pingouin.convert_effsize(size, "cohen", "eta_square")


@pingouin(np.array([0.3, 1.2, 2.2]))
def circular_mean(angles):
    import pingouin

    return pingouin.circ_mean(angles)


uncertainties = library("uncertainties", "statistics", "uncertainties", gate=True)


@uncertainties(2.0, 0.1, 3.0)
def propagated(x, spread, y):
    from uncertainties import ufloat
    from uncertainties.umath import sin

    product = sin(ufloat(x, spread)) * ufloat(y, 0.2)
    return product.nominal_value + product.std_dev


arch = library("arch", "finance", "arch")


@arch(np.array([0.01, 0.1, 0.85]), SERIES)
def volatility(params, returns):
    from arch.univariate import GARCH

    model = GARCH(p=1, o=0, q=1)
    variance = np.zeros(6)
    bounds = np.array([[1e-8, 10.0]] * 6)
    return model.compute_variance(params, returns, variance, 0.0001, bounds)


@arch(np.array([8.0]), SERIES)
def likelihood_of_returns(params, returns):
    from arch.univariate import StudentsT

    return StudentsT().loglikelihood(params, 10 * returns, np.full(6, 0.02))


lmfit = library("lmfit", "fits", "lmfit")


@lmfit(np.linspace(-1, 2, 7), 1.3, 0.4, 0.7)
def voigt(x, amplitude, centre, width):
    from lmfit.lineshapes import pvoigt

    return pvoigt(x, amplitude, centre, width, 0.4)


@lmfit(1.3, 0.4, 0.7)
def model(amplitude, centre, width):
    from lmfit.models import GaussianModel

    gaussian = GaussianModel()
    params = gaussian.make_params(amplitude=amplitude, center=centre, sigma=width)
    return gaussian.eval(params, x=np.linspace(-1, 2, 7))


@lmfit(np.linspace(-1, 2, 7), 1.3, 0.7)
def other_shapes(x, centre, width):
    from lmfit.lineshapes import moffat, skewed_gaussian

    return moffat(x, 1.0, centre, width, 1.5) + skewed_gaussian(x, 1.0, centre, width, 0.3)


peakutils = library("PeakUtils", "fits", "peakutils")


@peakutils(np.array([1.0, 1.5, 4.0, 2.0, 1.1, 0.9]))
def peak(y):
    import peakutils

    return peakutils.centroid(np.arange(6.0), y)


@peakutils(np.array([1.0, 1.5, 4.0, 2.0, 1.1, 0.9]), tolerance=1e-3)
def background(y):
    """Iterates until a bound of its own."""
    import peakutils

    return peakutils.baseline(y, deg=1)


empyrical = library("empyrical-reloaded", "finance", "empyrical")


@empyrical(SERIES)
def sharpe(returns):
    import empyrical

    return empyrical.sharpe_ratio(returns)


@empyrical(SERIES)
def drawdown(returns):
    import empyrical

    return empyrical.max_drawdown(returns)


@empyrical(SERIES, SERIES[::-1] * 0.7 + 0.001)
def alpha_beta(returns, market):
    import empyrical

    return empyrical.alpha_beta_aligned(returns, market)


financial = library("numpy-financial", "finance", "numpy_financial", gate=True)


@financial(0.05, -100.0, 1000.0)
def future(rate, payment, present):
    import numpy_financial

    return numpy_financial.fv(rate, 10, payment, present)


@financial(0.08, np.array([-100.0, 39.0, 59.0, 55.0, 20.0]))
def present(rate, flows):
    import numpy_financial

    return numpy_financial.npv(rate, flows)


@financial(np.array([-100.0, 39.0, 59.0, 55.0, 20.0]))
def rate_of_return(flows):
    import numpy_financial

    return numpy_financial.irr(flows)


vollib = library("vollib", "finance", "vollib", "py_lets_be_rational", "cody_special")


@vollib(100.0, 95.0, 0.5, 0.01, 0.2)
def option(spot, strike, time, rate, volatility):
    from vollib.black_scholes import black_scholes

    return black_scholes("c", spot, strike, time, rate, volatility)


@vollib(100.0, 0.2)
def slope_of_the_option(spot, volatility):
    from vollib.black_scholes.greeks.analytical import delta

    return delta("c", spot, 95.0, 0.5, 0.01, volatility)


ta = library("ta", "finance", "ta")


@ta(10 + np.cumsum(np.cos(np.arange(12.0))))
def moving_average(prices):
    import pandas as pd
    from ta.trend import ema_indicator

    return ema_indicator(pd.Series(prices), window=4).dropna().to_numpy()


trueskill = library("trueskill", "games", "trueskill")


@trueskill(25.0, 30.0, 8.0)
def rated(one, other, spread):
    from trueskill import Rating, rate_1vs1

    winner, loser = rate_1vs1(Rating(one, spread), Rating(other, 7.0))
    return winner.mu + 2 * loser.mu + winner.sigma


@trueskill(25.0, 30.0)
def quality(one, other):
    from trueskill import Rating, quality_1vs1

    return quality_1vs1(Rating(one, 8.0), Rating(other, 7.0))


elote = library("elote", "games", "elote")


@elote(1400.0, 1500.0)
def expected_score(one, other):
    from elote import EloCompetitor

    return EloCompetitor(one).expected_score(EloCompetitor(other))


@elote(1400.0, 1500.0)
def glicko(one, other):
    from elote import GlickoCompetitor

    winner, loser = GlickoCompetitor(one), GlickoCompetitor(other)
    winner.beat(loser)
    return winner.rating + 2 * loser.rating


openskill = library("openskill", "games", "openskill", gate=True)


@openskill(25.0, 30.0, 8.0)
def plackett_luce(one, other, spread):
    from openskill.models import PlackettLuce

    game = PlackettLuce()
    teams = [[game.rating(mu=one, sigma=spread)], [game.rating(mu=other, sigma=7.0)]]
    (winner,), (loser,) = game.rate(teams)
    return winner.mu + 2 * loser.mu + winner.sigma


@openskill(25.0, 30.0)
def chance(one, other):
    from openskill.models import BradleyTerryFull

    game = BradleyTerryFull()
    teams = [[game.rating(mu=one)], [game.rating(mu=other)]]
    return game.predict_win(teams)[0]


nashpy = library("nashpy", "games", "nashpy")


@nashpy(np.array([[3.0, 0.0], [5.0, 1.0]]), np.array([0.3, 0.7]))
def payoff(matrix, row):
    import nashpy

    return nashpy.Game(matrix, matrix.T)[row, np.array([0.6, 0.4])]


@nashpy(np.array([[3.0, 1.0, 2.0], [2.0, 4.0, 1.0], [1.0, 2.0, 3.0]]), tolerance=1e-5)
def replicator(matrix):
    """An integrator with a tolerance of 1e-8."""
    import nashpy

    game = nashpy.Game(matrix)
    return game.replicator_dynamics(y0=np.array([0.3, 0.3, 0.4]), timepoints=np.linspace(0, 1, 3))


networkx = library("networkx", "graphs", "networkx", gate=True)
EDGES = ((0, 1), (1, 2), (2, 3), (0, 2), (1, 3))


@networkx(np.array([1.0, 2.0, 0.7, 4.0, 1.5]))
def shortest_path(weights):
    import networkx

    graph = networkx.Graph()
    for (a, b), weight in zip(EDGES, weights, strict=True):
        graph.add_edge(a, b, weight=weight)
    return networkx.dijkstra_path_length(graph, 0, 3)


@networkx(np.array([1.0, 2.0, 0.7, 4.0, 1.5]))
def rank(weights):
    import networkx

    graph = networkx.Graph()
    for (a, b), weight in zip(EDGES, weights, strict=True):
        graph.add_edge(a, b, weight=weight)
    return networkx.pagerank(graph, tol=1e-12)


@networkx(np.array([1.0, 2.0, 0.7, 4.0, 1.5]))
def laplacian(weights):
    import networkx

    graph = networkx.Graph()
    for (a, b), weight in zip(EDGES, weights, strict=True):
        graph.add_edge(a, b, weight=weight)
    return np.linalg.eigvalsh(networkx.laplacian_matrix(graph).toarray())


@networkx(np.array([1.0, 2.0, 0.7, 4.0, 1.5]))
def clustering(weights):
    import networkx

    graph = networkx.Graph()
    for (a, b), weight in zip(EDGES, weights, strict=True):
        graph.add_edge(a, b, weight=weight)
    return networkx.clustering(graph, weight="weight")


sklearn = library("scikit-learn", "learning", "sklearn")


@sklearn(X, Y.reshape(-1, 1) * np.ones(2))
def kernel(x, y):
    from sklearn.gaussian_process.kernels import RBF

    return RBF(1.3)(x, y)


@sklearn(Y, Y[::-1] ** 2)
def squared_error(y, z):
    from sklearn.metrics import mean_squared_error

    return mean_squared_error(y, z)


@sklearn(X)
def components(x):
    from sklearn.decomposition import PCA

    return PCA(1).fit(x).explained_variance_


tensorly = library("tensorly", "learning", "tensorly")


@tensorly(np.arange(1.0, 7.0).reshape(3, 2), np.arange(2.0, 10.0).reshape(4, 2))
def khatri_rao(a, b):
    import tensorly

    return tensorly.tenalg.khatri_rao([a, b])


@tensorly(np.cos(np.arange(24.0)).reshape(2, 3, 4), np.arange(6.0).reshape(2, 3))
def mode_product(tensor, matrix):
    import tensorly

    return tensorly.tenalg.mode_dot(tensor, matrix, 1)


@tensorly(np.arange(1.0, 7.0).reshape(3, 2), np.arange(2.0, 10.0).reshape(4, 2))
def reconstructed(a, b):
    import tensorly

    return tensorly.cp_to_tensor((np.ones(2), [a, b]))
