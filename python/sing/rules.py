"""sing.SING and a class for every other rule, made from the library's list of option fields."""

from __future__ import annotations

import inspect
from typing import Any

from sing import _fields, options
from sing.optimizer import SINGOptimizer

_SING_DOC = """SING: centralizes and normalizes every tensor's gradient, then AdamW with softplus, and LookAhead.

The published optimizer (Courtois et al. 2023) with its defaults; use it in place of any torch.optim optimizer:

>>> import torch, sing
>>> model = torch.nn.Linear(4, 3)
>>> optimizer = sing.SING(model.parameters(), lr=5e-2, weight_decay=5e-2)
>>> for _ in range(3):
...     optimizer.zero_grad()
...     model(torch.randn(2, 4)).square().sum().backward()
...     _ = optimizer.step()
>>> sorted(optimizer.state[model.weight])
['exp_avg', 'exp_avg_sq', 'slow', 'step']

The learning rate is larger than AdamW's, about ten times. The paper's authors freeze LayerNorm and LayerScale parameters
(`sing.param_groups(model, weight_decay, freeze_norms=True)`); `normalize="size_calibrated"` gives every tensor the same step
per element instead. Weight decay skips tensors of rank 0 and 1, gradients are not changed, their scale does not matter, so
clipping their norm does nothing.

The authors' names are taken too: softplus, beta_softplus, grad_central, grad_norm, lookahead_active, la_mergetime, la_alpha.
`eps` then serves the norm as well, as in their code."""

_RULE_DOC = """{name} on centralized and normalized gradients, with LookAhead.

As sing.SING with `{rule}` as the host. With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

>>> import torch, sing
>>> model = torch.nn.Linear(4, 3)
>>> optimizer = sing.{name}(model.parameters(), lr=1e-3)"""

_SHARED_DOC = """
slow_weights_for_evaluation: eval() then puts LookAhead's slow weights in place of the parameters, train() gives them back.

`params` are parameters, (name, parameter) pairs as from model.named_parameters(), or groups: dicts with "params" and any of
the options. Names appear in messages, in grad_norms() and in state files."""


def _document(name: str, schema: options.Schema) -> str:
    text = _SING_DOC if name == "SING" else _RULE_DOC.format(name=name, rule=schema.rule)
    text += "\n\nOptions:\n"
    defaults = schema.defaults()
    for key, field in schema.keyword_fields():
        help_text = "decays of the two moments" if key == "betas" else field.help
        choices = f" ({', '.join(field.choices)})" if field.choices else ""
        text += f"\n{key}={defaults[key]!r}: {help_text}{choices}"
    return text + "\n" + _SHARED_DOC


def _signature(schema: options.Schema) -> inspect.Signature:
    parameter = inspect.Parameter
    listed = [parameter("params", parameter.POSITIONAL_OR_KEYWORD)]
    defaults = schema.defaults()
    for key, _ in schema.keyword_fields():
        kind = parameter.POSITIONAL_OR_KEYWORD if key == "lr" else parameter.KEYWORD_ONLY
        listed.append(parameter(key, kind, default=defaults[key]))
    listed.append(parameter("slow_weights_for_evaluation", parameter.KEYWORD_ONLY, default=False))
    return inspect.Signature(listed)


def _make_class(name: str, schema: options.Schema) -> type[SINGOptimizer]:
    members: dict[str, Any] = {
        "__doc__": _document(name, schema),
        "__module__": __name__,
        "__signature__": _signature(schema),
        "_schema": schema,
    }
    return type(name, (SINGOptimizer,), members)


SCHEMAS = options.all_schemas({"common": _fields.COMMON, "rules": _fields.RULES, "forms": _fields.FORMS, "paper": _fields.PAPER})
CLASSES = {name: _make_class(name, schema) for name, schema in SCHEMAS.items()}
globals().update(CLASSES)
__all__ = list(CLASSES)
