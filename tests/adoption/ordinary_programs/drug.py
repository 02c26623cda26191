"""A drug's way through the body, by SciPy's solver: dose, peak and area under the curve."""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import simpson, solve_ivp


@dataclass
class Patient:
    weight: float
    absorption: float
    clearance: float
    volume: float = 0.6  # litres per kg

    def rates(self, t, amounts):
        gut, blood = amounts
        taken_up = self.absorption * gut
        return [-taken_up, taken_up - self.clearance / (self.volume * self.weight) * blood]


def concentration(patient, dose, hours):
    solution = solve_ivp(
        patient.rates, (0, hours[-1]), [dose, 0.0], t_eval=hours, rtol=1e-9, atol=1e-9
    )
    if not solution.success:
        raise RuntimeError(solution.message)
    return solution.y[1] / (patient.volume * patient.weight)


def exposure(weight, absorption, clearance, dose):
    hours = np.linspace(0, 12, 25)
    levels = concentration(Patient(weight, absorption, clearance), dose, hours)
    return simpson(levels, x=hours) + levels.max()


if __name__ == "__main__":
    print(exposure(70.0, 1.2, 6.0, 400.0))
