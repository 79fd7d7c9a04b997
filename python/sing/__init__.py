"""SING: every tensor's gradient centralized and normalized before any first-order optimizer sees it.

sing.SING replaces a torch.optim optimizer; sing.AdamW, sing.SGD, sing.AdaBelief and their siblings are the same with another
host; sing.attach brings centralization, normalization and LookAhead to any other torch optimizer.
"""

from sing import schedules
from sing.attach import Attachment, attach, attachment, detach
from sing.grad_scaler import GradScaler
from sing.groups import param_groups
from sing.lookahead import Lookahead
from sing.native import has_kernels, load_operators
from sing.optimizer import SINGOptimizer
from sing.rules import *  # one class for each rule
from sing.rules import __all__ as _rules
from sing.standardize import Standardize, standardize_

__version__ = "0.1.0"
__all__ = [
    "Attachment",
    "GradScaler",
    "Lookahead",
    "SINGOptimizer",
    "Standardize",
    "attach",
    "attachment",
    "detach",
    "has_kernels",
    "param_groups",
    "schedules",
    "standardize_",
    *_rules,
]

load_operators()
