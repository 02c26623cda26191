"""Functions of SciPy's that are differentiated along SciPy's own code.

They are written in Python, in functions that have rules. Their values are SciPy's, bit for bit; an
argument that their code hands to a compiled function without a rule is refused by that.
"""

import functools
import inspect
from types import ModuleType
from typing import Any

from zyg.adoption.copies import copied
from zyg.errors import unknown_call
from zyg.functions.kit import composed, is_complex, is_watched, strip, watched_leaves

TABLE = {
    "scipy.signal": """abcd_normalize bessel bode butter cheb1ap cheb2ap cheby1 cheby2
        closest_STFT_dual_window cont2discrete cspline1d cspline1d_eval czt_points dbode dfreqresp
        dimpulse dlsim dstep ellip findfreqs firls firwin firwin2 firwin_2d freqresp gammatone
        gauss_spline get_window group_delay hilbert2 iircomb iirdesign iirfilter iirnotch iirpeak
        impulse invres invresz kaiser_atten kaiser_beta lfiltic lp2bp lp2bp_zpk lp2bs lp2bs_zpk
        lp2hp lp2lp lsim minimum_phase normalize order_filter qspline1d qspline1d_eval
        savgol_coeffs sos2zpk ss2tf step tf2sos tf2ss zpk2sos zpk2ss""",
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


# Where a parameter has one of these values, their code takes a formula without it: a limit.
_LIMITS: dict[str, tuple[str, tuple[int, ...]]] = {
    "boxcox_llf": ("lmb", (0,)),
    "pmean": ("p", (0,)),
    "power_divergence": ("lambda_", (-1, 0, 1)),
    "yeojohnson": ("lmbda", (0, 2)),
    "yeojohnson_llf": ("lmb", (0, 2)),
}


# They make distributions of a sample, which are of real numbers.
_OF_REALS = "bayes_mvs", "mvsdist"


def along_own_code(module: ModuleType) -> None:
    """Register the functions of a module that are differentiated along their own code."""
    for name in TABLE[module.__name__].split():
        if function := getattr(module, name, None):  # an older SciPy has fewer
            rule: Any = functools.partial(_run, function)  # no formula: a list stays a list
            rule.__signature__ = inspect.signature(function)
            composed(function)(rule)


def _run(function: Any, *args: Any, **kwargs: Any) -> Any:
    if function.__name__ in _LIMITS:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
        _demand_no_limit(function.__name__, given)
    if function.__name__ in _OF_REALS and any(map(is_complex, watched_leaves((args, kwargs)))):
        name = f"scipy.stats.{function.__name__}"
        raise unknown_call(name, "SciPy would take the real parts of complex numbers", "")
    return copied(function)(*args, **kwargs)


def _demand_no_limit(function: str, given: dict[str, Any]) -> None:
    name, limits = _LIMITS[function]
    value = given.get(name)
    if is_watched(value) and strip(value) in limits:
        raise unknown_call(
            f"scipy.stats.{function}",
            f"the derivative by {name!r} of {strip(value)}, where another formula is taken",
            f"pass zyg.stop_gradient({name}), or a number near it",
        )
