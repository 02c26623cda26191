"""Functions of SciPy's that are differentiated along SciPy's own code.

They are written in Python, in functions that have rules. Their values are SciPy's, bit for bit; an
argument that their code hands to a compiled function without a rule is refused by that.
"""

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from zyg.adoption.copies import copied
from zyg.functions.kit import (
    as_array,
    composed,
    is_complex,
    is_watched,
    strip,
    watched_leaves,
    with_value,
)
from zyg.scipy._closures import plain
from zyg.scipy._theirs import stats
from zyg.scipy._valued import unknown

TABLE = {
    "scipy.integrate": "cumulative_simpson cumulative_trapezoid romb",
    "scipy.linalg": """cdf2rdf clarkson_woodruff_transform companion
        convolution_matrix diagsvd eigvals_banded eigvalsh_tridiagonal expm_frechet fiedler
        fiedler_companion hankel khatri_rao leslie matmul_toeplitz toeplitz""",
    "scipy.signal": """abcd_normalize band_stop_obj bessel bilinear_zpk bode butter buttord cheb1ap
        cheb1ord cheb2ap cheb2ord cheby1 cheby2 chirp closest_STFT_dual_window coherence
        cont2discrete csd cspline1d cspline1d_eval cspline2d czt czt_points dbode decimate
        deconvolve detrend dfreqresp dimpulse dlsim dstep ellip ellipap ellipord envelope filtfilt
        findfreqs firls firwin firwin2 firwin_2d freqresp freqs freqs_zpk freqz freqz_sos freqz_zpk
        gammatone gauss_spline gausspulse get_window group_delay hilbert hilbert2 iircomb iirdesign
        iirfilter iirnotch iirpeak impulse invres invresz istft kaiser_atten kaiser_beta kaiserord
        lfiltic lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk lsim minimum_phase
        normalize order_filter periodogram qspline1d qspline1d_eval qspline2d resample
        resample_poly savgol_coeffs sawtooth sos2tf sos2zpk sosfilt_zi sosfiltfilt sosfreqz
        spectrogram spline_filter ss2tf step stft sweep_poly tf2sos tf2ss tf2zpk vectorstrength
        welch wiener zoom_fft zpk2sos zpk2ss zpk2tf""",
    "scipy.spatial.distance": "dice hamming jaccard rogerstanimoto russellrao sokalsneath yule",
    "scipy.stats": """alexandergovern anderson bartlett bayes_mvs binned_statistic
        binned_statistic_2d binned_statistic_dd boxcox boxcox_llf boxcox_normmax chisquare circmean
        circstd circvar combine_pvalues cramervonmises describe differential_entropy
        directional_stats entropy f_oneway false_discovery_control gmean gstd gzscore hmean iqr
        jarque_bera ks_1samp kstat kstatvar kstest kurtosis kurtosistest levene linregress lmoment
        median_abs_deviation moment mvsdist normaltest obrientransform pearsonr pmean pointbiserialr
        power_divergence ppcc_max quantile scoreatpercentile sem sigmaclip skew skewtest theilslopes
        tmax tmean tmin trim1 trim_mean trimboth tsem tstd ttest_1samp ttest_ind
        ttest_ind_from_stats ttest_rel tukey_hsd tvar variation yeojohnson yeojohnson_llf
        yeojohnson_normmax zmap
        zscore""",
}


# Where their code leaves an argument out, which its derivative needs


def _limit(name: str, *values: float, near: float = 0.0) -> Callable[[Any, dict[str, Any]], None]:
    """Refuse an argument (nearly) at one of these values, where another formula is taken."""

    def demand(function: Any, given: dict[str, Any]) -> None:
        x = given.get(name)
        if is_watched(x) and any(np.any(np.abs(strip(x) - v) <= near) for v in values):
            option = f"the derivative by {name!r} of {strip(x)}, where another formula is taken"
            instead = f"pass zyg.stop_gradient({name}), or a number near it"
            raise unknown(function, option, instead)

    return demand


def zero_at(name: str, place: int, least: float = 0.0) -> Callable[[Any, dict[str, Any]], None]:
    """Refuse watched coefficients that begin, or end, with 0 in all rows: that 0 is cut off."""

    def demand(function: Any, given: dict[str, Any]) -> None:
        c = np.atleast_1d(np.asarray(plain(given[name]))) if watched_leaves(given[name]) else None
        if c is not None and c.size and np.all(np.abs(c[..., place]) <= least):
            ends = "end" if place else "begin"
            option = f"watched coefficients that {ends} with 0, which are cut off"
            raise unknown(function, option, "leave the zeros out")

    return demand


def _uncut(function: Any, given: dict[str, Any]) -> None:
    """Refuse watched coefficients that begin with (nearly) 0 where the first of `a` is 1."""
    zero_at("a", 0)(function, given)
    a = np.atleast_1d(np.asarray(plain(given["a"])))
    if a.size:
        zero_at("b", 0, 1e-14 * abs(a[np.argmax(a != 0)]))(function, given)


def _of_whole_sections(function: Any, given: dict[str, Any]) -> None:
    if watched_leaves(given["sos"]) and np.any(np.asarray(plain(given["sos"]))[:, [0, 3]] == 0):
        option = "watched sections that begin with 0, which is cut off"
        raise unknown(function, option, "multiply them by np.polynomial.polynomial.polymul")


def _all_of(*demands: Callable[[Any, dict[str, Any]], None]) -> Callable[..., None]:
    def demand(function: Any, given: dict[str, Any]) -> None:
        for one in demands:
            one(function, given)

    return demand


def _divided(function: Any, given: dict[str, Any]) -> None:
    first = np.atleast_1d(as_array(given["a"]))[0]
    if is_watched(first) and strip(first) == 1:  # else it divides
        given["b"], given["a"] = (as_array(c) / first for c in (given["b"], given["a"]))


def _from_states(function: Any, given: dict[str, Any]) -> Callable[[Any], Any] | None:
    """An input of zeros is left out, and so is the time before the first one, 0."""
    if watched_leaves(given["U"]) and not np.any(plain(given["U"])):
        given["U"] = as_array(given["U"]) + _TINY
    times = np.atleast_1d(as_array(given["T"]))
    if not is_watched(times) or not np.size(times) or strip(times)[0] != 0:
        return None
    given["T"] = times + _TINY
    return lambda found: (times, *found[1:])


def _of_reals(function: Any, given: dict[str, Any]) -> None:
    if any(map(is_complex, watched_leaves(given["data"]))):
        raise unknown(function, "complex numbers, of which SciPy takes the real parts", "")


def _poles_apart_from_zero(function: Any, given: dict[str, Any]) -> None:
    at_zero = np.any(np.asarray(plain(given["p"])) == 0) and np.size(plain(given["k"]))
    if at_zero and watched_leaves(given["p"]):
        raise unknown(function, "watched poles at 0, with which coefficients are cut off")


def _between_elements(function: Any, given: dict[str, Any]) -> None:
    """Refuse a watched percentile at an element, where its slope is another on each side."""
    if not watched_leaves(given["per"]):
        return
    a, limit, axis = np.asarray(plain(given["a"])), plain(given.get("limit")), given.get("axis")
    if limit:
        a = a[(limit[0] <= a) & (a <= limit[1])]
    count = a.size if axis is None else a.shape[axis]
    places = np.asarray(plain(given["per"])) / 100.0 * (count - 1)
    if np.any(places == np.floor(places)):
        instead = "pass zyg.stop_gradient(per), or a number near it"
        raise unknown(function, "the derivative by a percentile that is an element", instead)


def _of_steep_tangent(function: Any, given: dict[str, Any]) -> None:
    q = given["Q"]
    if is_watched(q) and abs(np.cos(np.pi / 2 / strip(q))) < 1e-6:
        option = f"the derivative by 'Q' of {strip(q)}, at which a tangent is infinite"
        raise unknown(function, option, "pass zyg.stop_gradient(Q), or a number near it")


def _skewed(function: Any, given: dict[str, Any]) -> None:
    """Refuse a sample without skewness, for which SciPy takes another one."""
    options = {name: given[name] for name in ("axis", "nan_policy") if name in given}
    if watched_leaves(given["a"]) and np.any(stats.skew(plain(given["a"]), **options) == 0):
        raise unknown(function, "a sample of skewness 0, for which SciPy takes another one", "")


def _above_zero(function: Any, given: dict[str, Any]) -> None:
    """Refuse a sample with a 0, by which SciPy divides: the mean is 0 there, but moves."""
    at_zero = watched_leaves(given["a"]) and np.any(np.asarray(plain(given["a"])) == 0)
    if at_zero and plain(given.get("p", -1)) <= 0:
        raise unknown(function, "a watched sample with a 0", "leave the zeros out")


def _no_sweep(function: Any, given: dict[str, Any]) -> None:
    ends = given["f0"], given["f1"]
    by_ratio = given.get("method", "li")[0] in "lh" and given.get("method", "li")[:2] != "li"
    if by_ratio and any(map(is_watched, ends)) and strip(ends[0]) == strip(ends[1]):
        raise unknown(function, "watched ends of a sweep at f0 == f1, which is another formula", "")


def _zero_by(*names: str) -> Callable[[Any, dict[str, Any]], None]:
    """Refuse distances that are 0 where a product is, if one of these arguments moves it."""

    def demand(function: Any, given: dict[str, Any]) -> None:
        moving = [name for name in names if watched_leaves(given.get(name))]
        if moving == ["w"] and np.all(np.asarray(plain(given["w"])) != 0):
            return  # those that are counted stay as many
        if moving and function(**plain(given)) == 0:
            raise unknown(function, "vectors at which SciPy takes 0 for it", "")

    return demand


def _about_maximum(function: Any, given: dict[str, Any]) -> Callable[[Any], Any] | None:
    """Without bounds that move, from around what is found with them."""
    if not np.any(plain(given["x"])):
        raise unknown(function, "a sample of zeros, which has no maximum", "")
    if given.get("brack") is not None:
        return None
    best = function(plain(given["x"]))
    given["brack"] = best - 0.1, best, best + 0.1

    def finish(found: Any) -> Any:
        if abs(strip(found) - best) > 1e-6:
            raise unknown(function, "a maximum at a bound", "pass brack")
        return with_value(found, (best,))

    return finish


_TINY = np.finfo(float).tiny
_FEW_BITS = float(np.finfo(np.float32).eps)
_PREPARED: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "bayes_mvs": _of_reals,
    "boxcox_llf": _limit("lmb", 0),
    "chirp": _no_sweep,
    "cspline1d": _limit("lamb", 0),
    "iircomb": _of_steep_tangent,
    "invres": zero_at("k", 0),
    "invresz": _all_of(zero_at("k", -1), _poles_apart_from_zero),
    "iqr": _limit("scale", 1),
    "jaccard": _zero_by("w"),
    "lfiltic": _divided,
    "lp2hp": _limit("wo", 1),
    "lsim": _from_states,
    "mvsdist": _of_reals,
    "normalize": _uncut,
    "pmean": _all_of(_limit("p", 0), _above_zero),
    "power_divergence": _limit("lambda_", -1, 0, 1),
    "scoreatpercentile": _between_elements,
    "sos2tf": _of_whole_sections,
    "ttest_ind_from_stats": _all_of(_limit("nobs1", 1), _limit("nobs2", 1)),
    "yeojohnson": _limit("lmbda", 0, 2, near=_FEW_BITS),
    "yeojohnson_llf": _limit("lmb", 0, 2, near=_FEW_BITS),
    "yeojohnson_normmax": _about_maximum,
    "yule": _zero_by("u", "v", "w"),
}
# The same where users call; SciPy calls some of them with arguments of its own.
_PREPARED_FOR_USERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "gmean": _above_zero,
    "hmean": _above_zero,
    "normaltest": _skewed,
    "skewtest": _skewed,
    **dict.fromkeys(
        ("describe", "gstd", "gzscore", "sem", "tsem", "tstd", "tvar", "variation", "zmap",
         "zscore"),
        _limit("ddof", 0),
    ),
}  # fmt: skip


def along_own_code(module: ModuleType) -> None:
    """Register the functions of a module that are differentiated along their own code."""
    for name in TABLE[module.__name__].split():
        if function := getattr(module, name, None):  # a newer SciPy may have fewer
            rule: Any = functools.partial(_run, function)  # no formula: a list stays a list
            signature = inspect.signature(function)
            if "seed" not in signature.parameters:  # which means less where it comes by place
                rule.__signature__ = signature
            rule.is_copy = name not in _PREPARED
            composed(function)(rule)


def _run(function: Any, *args: Any, **kwargs: Any) -> Any:
    name, finish = function.__name__, None
    if prepare := _PREPARED.get(name, _PREPARED_FOR_USERS.get(name)):
        bound = inspect.signature(function).bind(*args, **kwargs)
        finish = prepare(function, bound.arguments)
        args, kwargs = bound.args, bound.kwargs
    found = copied(function)(*args, **kwargs)
    return finish(found) if finish else found
