"""Numbers that both forms of the phases share."""

from __future__ import annotations

TINY = 1e-12  # keeps the norm of a dead gradient, which is exactly 0, from dividing by 0
SQRT_HALF = 0.5**0.5
BETA1, EPSILON = 0.9, 1e-8  # Adam's
MOST_GRADIENT = 1e15  # of a number of a gradient, for Adam
LEAST = 1e-35  # averages of Adam below it are set to 0
PACE, TOLERATED, LEAST_RADIUS = 0.2, 0.01, 1 / 15  # of the control of the adversarial radius
RESOLUTION, ROUNDING = 1e-7, 1e-14  # relative: what varies less is a constant to float32, float64
HEEDED = 0.02  # share of a step in the running mean of the relevance
FIRST_STEPS = 50  # before it counts
RELEVANCE, MOST_RELEVANT = 0.25, 4.0  # its power, and how much a feature may be enlarged or shrunk
TWO_VALUED = 1e-6  # relative: by how much the fourth moment of a flag may be above its least
FLAG = 2.0  # times its range is what a flag is divided by
CLOSEST, FARTHEST = 1e-30, 1e15  # spreads and scaled values whose squares float32 can hold
