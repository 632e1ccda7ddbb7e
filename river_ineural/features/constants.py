"""Constants of compiled loops and of the modules that do the same."""

from __future__ import annotations

TINY = 1e-12  # least divisor: the norm of a dead gradient is exactly 0
SQRT_HALF = 0.5**0.5
BETA1, BETA2, EPSILON = 0.9, 0.99, 1e-8  # of Adam; labels are few, so squares are forgotten fast
MOST_GRADIENT = 1e15  # largest gradient entry that Adam uses
LEAST = 1e-35  # averages of Adam below this are set to 0
PACE, TOLERATED, LEAST_RADIUS = 0.2, 0.01, 1 / 15  # control of the adversarial radius
ROUNDING = 1e-14  # a feature of a smaller relative spread counts as constant
TWO_VALUED = 1e-6  # largest relative excess of a flag's fourth moment over its bound
FLAG = 2.0  # a flag is divided by this times its range
SQUASHED = 0.633  # mean square of arsinh(z) for z ~ N(0, 1)
CLOSEST = 1e-70  # least spread of a feature that varies: its fourth power fits float64
FARTHEST = 1e15  # largest scaled value: its square fits float32
NARROW = 256  # columns up to which features are squashed
MOST_COLUMNS = 4096  # of features, up to which trees are grown: this takes up to 27 KB a column
CONSTANT = 1  # columns before those of the features: a constant, which is 0 in raw vectors
