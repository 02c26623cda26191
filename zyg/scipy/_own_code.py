"""Functions of SciPy's that are differentiated along SciPy's own code.

They are written in Python, in functions that have rules. Their values are SciPy's, bit for bit; an
argument that their code hands to a compiled function without a rule is refused by that.
"""

import functools
import inspect
from types import ModuleType
from typing import Any

from zyg.adoption.copies import copied
from zyg.functions.kit import composed

TABLE = {
    "scipy.interpolate": "pade",
    "scipy.signal": """abcd_normalize bessel bode butter cheb1ap cheb2ap cheby1 cheby2
        closest_STFT_dual_window cont2discrete cspline1d cspline1d_eval czt_points dbode dfreqresp
        dimpulse dlsim dstep ellip findfreqs firls firwin firwin2 firwin_2d freqresp gammatone
        gauss_spline get_window group_delay hilbert2 iircomb iirdesign iirfilter iirnotch iirpeak
        impulse invres invresz kaiser_atten kaiser_beta lfiltic lp2bp lp2bp_zpk lp2bs lp2bs_zpk
        lp2hp lp2lp lsim minimum_phase normalize order_filter qspline1d qspline1d_eval
        savgol_coeffs sos2zpk ss2tf step tf2sos tf2ss zpk2sos zpk2ss""",
    "scipy.stats": """bartlett bayes_mvs binned_statistic binned_statistic_2d binned_statistic_dd
        boxcox_normmax combine_pvalues cramervonmises describe differential_entropy
        directional_stats false_discovery_control levene lmoment median_abs_deviation
        obrientransform pointbiserialr ppcc_max quantile scoreatpercentile sigmaclip theilslopes
        trim1 trimboth ttest_1samp ttest_ind ttest_rel""",
}


def along_own_code(module: ModuleType) -> None:
    """Register the functions of a module that are differentiated along their own code."""
    for name in TABLE[module.__name__].split():
        if function := getattr(module, name, None):  # an older SciPy has fewer
            rule: Any = functools.partial(_run, function)  # no formula: a list stays a list
            rule.__signature__ = inspect.signature(function)
            composed(function)(rule)


def _run(function: Any, *args: Any, **kwargs: Any) -> Any:
    return copied(function)(*args, **kwargs)
