"""SING: every tensor's gradient is centralized and normalized before a first-order optimizer sees it.

sing.SING is a drop-in replacement for torch.optim.AdamW, and wraps other rules by `host`. sing.PlugSING is plug-and-play SING: an
unchanged rule on gradients of unit norm. sing.AdamW, sing.SGD, sing.Lion and the other classes without SING in their name are the
plain rules. sing.attach adds centralization, normalization and LookAhead to any other torch optimizer.
"""

from sing import schedules
from sing._version import __version__ as __version__
from sing.attach import Attachment, attach, attachment, detach
from sing.grad_scaler import GradScaler
from sing.groups import param_groups
from sing.operators import has_kernels
from sing.option_sets import Lookahead, Standardize
from sing.optimizer import Optimizer
from sing.rules import *  # SING, PlugSING and one class per rule
from sing.rules import __all__ as _rules
from sing.standardize import standardize_

__all__ = [
    "Attachment",
    "GradScaler",
    "Lookahead",
    "Optimizer",
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
