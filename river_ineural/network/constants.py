"""Numbers that both forms of the phases share."""

from __future__ import annotations

TINY = 1e-12  # keeps the norm of a dead gradient, which is exactly 0, from dividing by 0
SQRT_HALF = 0.5**0.5
BETA1, BETA2, EPSILON = 0.9, 0.99, 1e-8  # Adam's; labels are few, so squares fade fast
MOST_GRADIENT = 1e15  # of a number of a gradient, for Adam
LEAST = 1e-35  # averages of Adam below it are set to 0
PACE, TOLERATED, LEAST_RADIUS = 0.2, 0.01, 1 / 15  # of the control of the adversarial radius
RESOLUTION, ROUNDING = 1e-7, 1e-14  # relative: what varies less is a constant to float32, float64
TWO_VALUED = 1e-6  # relative: by how much the fourth moment of a flag may be above its least
FLAG = 2.0  # times its range is what a flag is divided by
SQUASHED = 0.633  # mean square of arsinh(z), z being N(0, 1)
CLOSEST, FARTHEST = 1e-30, 1e15  # spreads and scaled values whose squares float32 can hold
