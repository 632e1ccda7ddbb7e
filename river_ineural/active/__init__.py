"""River active learners: which labels to ask for."""

from river_ineural.active.accuracy import ClassEstimate, Estimate
from river_ineural.active.base import BudgetedSampler
from river_ineural.active.budget import Budget
from river_ineural.active.decision import Decision
from river_ineural.active.ineural import INeurALSampler
from river_ineural.active.learner import ChangingLearner, Learner
from river_ineural.active.questions import Question
from river_ineural.active.samplers import MarginSampler, RandomSampler
from river_ineural.active.width import ConstantWidth, TheoreticalWidth, Width

__all__ = [
    "Budget",
    "BudgetedSampler",
    "ChangingLearner",
    "ClassEstimate",
    "ConstantWidth",
    "Decision",
    "Estimate",
    "INeurALSampler",
    "Learner",
    "MarginSampler",
    "Question",
    "RandomSampler",
    "TheoreticalWidth",
    "Width",
]
