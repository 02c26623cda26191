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
)
from zyg.scipy._valued import unknown

TABLE = {
    "scipy.signal": """abcd_normalize bessel bilinear_zpk bode butter cheb1ap cheb2ap cheby1 cheby2
        chirp closest_STFT_dual_window coherence cont2discrete csd cspline1d cspline1d_eval czt
        czt_points dbode decimate deconvolve detrend dfreqresp dimpulse dlsim dstep ellip envelope
        filtfilt findfreqs firls firwin firwin2 firwin_2d freqresp freqs freqs_zpk freqz freqz_sos
        freqz_zpk gammatone gauss_spline gausspulse get_window group_delay hilbert hilbert2 iircomb
        iirdesign iirfilter iirnotch iirpeak impulse invres invresz istft kaiser_atten kaiser_beta
        lfiltic lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk lsim minimum_phase
        normalize order_filter periodogram qspline1d qspline1d_eval resample resample_poly
        savgol_coeffs sawtooth sos2tf sos2zpk sosfilt_zi sosfiltfilt sosfreqz spectrogram ss2tf
        step stft sweep_poly tf2sos tf2ss tf2zpk vectorstrength welch wiener zoom_fft zpk2sos
        zpk2ss zpk2tf""",
    "scipy.stats": """alexandergovern anderson bartlett bayes_mvs binned_statistic
        binned_statistic_2d binned_statistic_dd boxcox boxcox_llf boxcox_normmax chisquare
        circmean circstd circvar combine_pvalues cramervonmises describe differential_entropy
        directional_stats energy_distance entropy f_oneway false_discovery_control gmean gstd
        gzscore hmean iqr jarque_bera ks_1samp kstat kstatvar kstest kurtosis kurtosistest
        levene linregress lmoment median_abs_deviation moment mvsdist normaltest obrientransform
        pearsonr pmean pointbiserialr power_divergence ppcc_max quantile scoreatpercentile sem
        sigmaclip skew skewtest theilslopes tmax tmean tmin trim1 trim_mean trimboth tsem tstd
        ttest_1samp ttest_ind ttest_ind_from_stats ttest_rel tukey_hsd tvar variation
        wasserstein_distance yeojohnson yeojohnson_llf zmap zscore""",
}


# Where their code leaves an argument out, which its derivative needs


def _limit(name: str, *values: float) -> Callable[[Any, dict[str, Any]], None]:
    """Refuse an argument that has one of these values, at which another formula is taken."""

    def demand(function: Any, given: dict[str, Any]) -> None:
        x = given.get(name)
        if is_watched(x) and strip(x) in values:
            option = f"the derivative by {name!r} of {strip(x)}, where another formula is taken"
            instead = f"pass zyg.stop_gradient({name}), or a number near it"
            raise unknown(function, option, instead)

    return demand


def _leading_zeros(function: Any, given: dict[str, Any]) -> None:
    b = given["b"]
    if is_watched(b) and np.all(np.abs(strip(np.atleast_1d(b))[..., 0]) <= 1e-14):
        option = "watched coefficients that begin with 0, which are cut off"
        raise unknown(function, option, "leave the zeros out")


def _divided(function: Any, given: dict[str, Any]) -> None:
    first = np.atleast_1d(as_array(given["a"]))[0]
    if is_watched(first) and strip(first) == 1:  # else it divides
        given["b"], given["a"] = (as_array(c) / first for c in (given["b"], given["a"]))


def _with_input(function: Any, given: dict[str, Any]) -> None:
    if is_watched(given["U"]) and not np.any(strip(given["U"])):
        given["U"] = given["U"] + np.finfo(float).tiny  # else it is left out


def _of_reals(function: Any, given: dict[str, Any]) -> None:
    if any(map(is_complex, watched_leaves(given["data"]))):
        raise unknown(function, "complex numbers, of which SciPy takes the real parts", "")


def _no_sweep(function: Any, given: dict[str, Any]) -> None:
    ends = given["f0"], given["f1"]
    by_ratio = given.get("method", "li")[0] in "lh" and given.get("method", "li")[:2] != "li"
    if by_ratio and any(map(is_watched, ends)) and strip(ends[0]) == strip(ends[1]):
        raise unknown(function, "watched ends of a sweep at f0 == f1, which is another formula", "")


_PREPARED = {
    "bayes_mvs": _of_reals,
    "boxcox_llf": _limit("lmb", 0),
    "chirp": _no_sweep,
    "cspline1d": _limit("lamb", 0),
    "iqr": _limit("scale", 1),
    "lfiltic": _divided,
    "lp2hp": _limit("wo", 1),
    "lsim": _with_input,
    "mvsdist": _of_reals,
    "normalize": _leading_zeros,
    "pmean": _limit("p", 0),
    "power_divergence": _limit("lambda_", -1, 0, 1),
    "yeojohnson": _limit("lmbda", 0, 2),
    "yeojohnson_llf": _limit("lmb", 0, 2),
}


def along_own_code(module: ModuleType) -> None:
    """Register the functions of a module that are differentiated along their own code."""
    for name in TABLE[module.__name__].split():
        if function := getattr(module, name, None):  # an older SciPy has fewer
            rule: Any = functools.partial(_run, function)  # no formula: a list stays a list
            rule.__signature__ = inspect.signature(function)
            rule.is_copy = name not in _PREPARED
            composed(function)(rule)


def _run(function: Any, *args: Any, **kwargs: Any) -> Any:
    if prepare := _PREPARED.get(function.__name__):
        bound = inspect.signature(function).bind(*args, **kwargs)
        prepare(function, bound.arguments)
        args, kwargs = bound.args, bound.kwargs
    return copied(function)(*args, **kwargs)
