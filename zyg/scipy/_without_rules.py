"""The functions of SciPy's that carry no derivative, and those that are refused, and why.

By module; what is in neither table and has no rule waits for one.
"""

from types import ModuleType
from typing import Any

from zyg.functions.kit import nondifferentiable, rules

# They take integers and sizes, or look at what a value is.
CONSTANT = {
    "scipy.fft": "next_fast_len prev_fast_len",
    "scipy.integrate": "lebedev_rule",
    "scipy.linalg": "dft hadamard helmert hilbert invhilbert invpascal pascal",
    "scipy.signal": "besselap buttap correlation_lags max_len_seq unit_impulse",
    "scipy.sparse": """eye eye_array identity isspmatrix_bsr isspmatrix_coo isspmatrix_csc
        isspmatrix_csr isspmatrix_dia isspmatrix_dok isspmatrix_lil""",
    "scipy.spatial.distance": "is_valid_dm is_valid_y num_obs_dm num_obs_y",
    "scipy.special": """ai_zeros bei_zeros beip_zeros ber_zeros bernoulli berp_zeros bi_zeros
        c_roots chebyc chebys chebyt chebyu erf_zeros euler fresnel_zeros fresnelc_zeros
        fresnels_zeros h_roots he_roots hermite hermitenorm jn_zeros jnjnp_zeros jnp_zeros
        jnyn_zeros kei_zeros keip_zeros kelvin_zeros ker_zeros kerp_zeros l_roots laguerre
        legendre p_roots ps_roots roots_chebyc roots_chebys roots_chebyt roots_chebyu
        roots_hermite roots_hermitenorm roots_laguerre roots_legendre roots_sh_chebyt
        roots_sh_chebyu roots_sh_legendre s_roots sh_chebyt sh_chebyu sh_legendre stirling2
        t_roots ts_roots u_roots us_roots y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros""",
    "scipy.stats": "rankdata tiecorrect",
}

SETTINGS = "it takes no numbers that move: settings, files, plots, types"
VARIABLES = "it takes random variables, and no numbers"
OUTSIDE = SETTINGS, VARIABLES
DRAWN = "it draws at random, and its result steps with what is drawn"
RANKS = "it goes by ranks and counts, which do not move with the data"
COUNTS = "it takes counts, which do not move"
FACTORS = "its factors are ordered and signed by choices, so they jump"
EXCHANGED = "it moves frequencies along a grid until none is better; firls has a rule"
HARMONICS = "its coefficients solve an eigenvalue problem that has no rule"
PARAMETER = "no formula in known functions gives the derivative in its parameters"
STABLE = "no formula in known functions gives the derivative of its density"
POLYNOMIAL = "its result is a polynomial of a class of SciPy's, which holds plain numbers"
ROUGH = "its values are rougher than a slope needs"
SEARCHED = "it searches over whole numbers or at random, and its result jumps"
OPERATOR = "a LinearOperator computes in plain numbers"
KRYLOV = "it applies any function of a matrix, by an iteration"
# What has derivatives, of which no rule is known; the others jump, or take counts.
SMOOTH = {EXCHANGED, FACTORS, HARMONICS, KRYLOV, OPERATOR, PARAMETER, POLYNOMIAL, ROUGH, STABLE}
REFUSED = {
    "scipy.fft": {
        SETTINGS: """get_workers register_backend set_backend set_global_backend set_workers
            skip_backend""",
    },
    "scipy.integrate": {DRAWN: "qmc_quad"},
    "scipy.linalg": {
        SETTINGS: "find_best_blas_type get_blas_funcs get_lapack_funcs",
        FACTORS: "cossin ordqz qz rsf2csf schur",
        "it estimates how an error grows, by an iteration that stops on a condition": "expm_cond",
    },
    "scipy.optimize": {
        SETTINGS: "linprog_verbose_callback show_options",
        SEARCHED: "bracket milp quadratic_assignment",
        "it compares a gradient with differences of values": "check_grad",
        "it takes the first step that is good enough, so it jumps": "line_search",
    },
    "scipy.signal": {
        EXCHANGED: "remez",
    },
    "scipy.sparse": {
        SETTINGS: "get_index_dtype load_npz safely_cast_index_arrays save_npz",
        DRAWN: "rand random random_array",
    },
    "scipy.sparse.linalg": {
        SETTINGS: "use_solver is_sptriangular spbandwidth",
        "it estimates a norm by an iteration that starts at random": "onenormest",
        OPERATOR: "aslinearoperator",
        KRYLOV: "funm_multiply_krylov",
    },
    "scipy.spatial": {
        SETTINGS: "convex_hull_plot_2d delaunay_plot_2d voronoi_plot_2d",
        "it finds the number of a simplex, which jumps": "tsearch",
    },
    "scipy.special": {
        SETTINGS: "geterr seterr",
        PARAMETER: """chndtridf mathieu_a mathieu_b mathieu_even_coef mathieu_odd_coef obl_cv
            obl_cv_seq pro_cv pro_cv_seq zetac""",
        POLYNOMIAL: "gegenbauer genlaguerre jacobi sh_jacobi",
        HARMONICS: "ellip_harm ellip_harm_2 ellip_normal",
        ROUGH: "itairy ncfdtridfd ncfdtridfn ncfdtrinc obl_rad2 obl_rad2_cv pro_rad2 pro_rad2_cv",
    },
    "scipy.stats": {
        SETTINGS: "boxcox_normplot make_distribution ppcc_plot probplot yeojohnson_normplot",
        VARIABLES: "abs exp log order_statistic truncate",
        DRAWN: """bootstrap dunnett goodness_of_fit monte_carlo_test multiscale_graphcorr
            ortho_group permutation_test power random_correlation random_table sobol_indices
            special_ortho_group uniform_direction unitary_group""",
        SEARCHED: "fit",
        PARAMETER: "levy_stable nchypergeom_wallenius",
        STABLE: "landau",
        RANKS: """anderson_ksamp ansari brunnermunzel bws_test chatterjeexi cumfreq
            cramervonmises_2samp ecdf epps_singleton_2samp fligner friedmanchisquare kendalltau
            kruskal ks_2samp logrank mannwhitneyu median_test mode mood page_trend_test
            percentileofscore quantile_test ranksums relfreq somersd spearmanr spearmanrho
            weightedtau wilcoxon""",
        COUNTS: """barnard_exact binomtest boschloo_exact chi2_contingency fisher_exact hypergeom
            multivariate_hypergeom nhypergeom poisson_means_test randint""",
    },
}  # fmt: skip


def reason_of(module: str, name: str) -> str:
    """Why a function of a module is refused; "" if it is not."""
    found = REFUSED.get(module, {})
    return next((why for why, names in found.items() if name in names.split()), "")


def declare(module: ModuleType) -> None:
    """Register the constants of a module, but what has a rule by now."""
    for name in CONSTANT.get(module.__name__, "").split():
        f: Any = getattr(module, name, None)
        if f is not None and f not in rules:
            nondifferentiable(f)
