"""A loan's payments from a generator, and its rate of return, with the standard library only."""

import itertools
import math
from functools import reduce
from statistics import mean


def payments(principal, rate, months, fee):
    annuity = principal * rate / (1 - math.pow(1 + rate, -months))
    balance = principal
    for month in itertools.count(1):
        interest = balance * rate
        balance += interest - annuity
        yield {"month": month, "paid": annuity + fee, "interest": interest}
        if month == months:
            return


def present_value(flows, rate):
    return reduce(lambda total, f: total + f[1] / (1 + rate) ** f[0], enumerate(flows), 0)


def internal_rate(flows, low=0.0, high=1.0):
    middle = (low + high) / 2
    value = present_value(flows, middle)
    if abs(high - low) < 1e-3:
        slope = sum(-t * f / (1 + middle) ** (t + 1) for t, f in enumerate(flows))
        return middle - value / slope
    return internal_rate(flows, low, middle) if value < 0 else internal_rate(flows, middle, high)


def effective_rate(principal, rate, fee):
    schedule = list(payments(principal, rate, 24, fee))
    monthly = internal_rate([-principal, *(p["paid"] for p in schedule)])
    burden = mean(p["interest"] for p in schedule) / schedule[0]["paid"]
    return math.expm1(12 * math.log1p(monthly)) + 0.01 * burden


if __name__ == "__main__":
    print(effective_rate(10000.0, 0.004, 5.0))
