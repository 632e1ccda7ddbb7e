"""The methods that the paper compares with I-NeurAL.

The paper's Random and Margin are `active.RandomSampler` and `active.MarginSampler` around a
`RetrainedNetwork`.
"""

from river_ineural.baselines.alps import ALPS
from river_ineural.baselines.network import RetrainedNetwork
from river_ineural.baselines.ntk import NeuALNTKD, NeuALNTKF

__all__ = ["ALPS", "NeuALNTKD", "NeuALNTKF", "RetrainedNetwork"]
