"""One hypothesis profile for all tests: the same examples in every run, no deadline."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "zyg",
    derandomize=True,
    deadline=None,
    max_examples=30,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("zyg")
