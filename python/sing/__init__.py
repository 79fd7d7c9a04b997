"""SING: every tensor's gradient is centralized and normalized before a first-order optimizer sees it.

sing.SING replaces a torch.optim optimizer. sing.AdamW, sing.SGD, sing.AdaBelief and the other classes of sing.rules are the same
with another rule. sing.attach brings centralization, normalization and LookAhead to any other torch optimizer.
"""

from sing import schedules
from sing._version import __version__ as __version__
from sing.attach import Attachment, attach, attachment, detach
from sing.grad_scaler import GradScaler
from sing.groups import param_groups
from sing.operators import has_kernels
from sing.option_sets import Lookahead, Standardize
from sing.optimizer import SINGOptimizer
from sing.rules import *  # class SING and one class per rule
from sing.rules import __all__ as _rules
from sing.standardize import standardize_

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
