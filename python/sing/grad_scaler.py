"""A gradient scaler that learns of infinities from the step itself."""

from __future__ import annotations

from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler as TorchGradScaler
from torch.optim import Optimizer as TorchOptimizer

from sing.optimizer import Optimizer


class GradScaler(TorchGradScaler):
    """torch.amp.GradScaler without a pass over the gradients for SING's optimizers.

    torch's scaler reads every gradient once to look for infinities, before any step. A SING step computes norms anyway and
    learns whether a gradient is finite; this scaler uses that result. For other optimizers it does the same as torch's.

    Args:
        device: "cuda" or "cpu", as torch.amp.GradScaler takes it; so are the other arguments.

    Example:
        >>> import sing
        >>> scaler = GradScaler("cpu", init_scale=1024.0)
        >>> weight = torch.nn.Parameter(torch.ones(2, 3))
        >>> optimizer = sing.SGD([weight], lr=0.1)
        >>> scaler.scale(weight.square().sum()).backward()
        >>> _ = scaler.step(optimizer)
        >>> scaler.update()
    """

    def _check_inf_per_device(self, optimizer: TorchOptimizer) -> dict[Any, Any]:
        if not isinstance(optimizer, Optimizer):
            return super()._check_inf_per_device(optimizer)
        found = {
            parameter.device: torch.zeros((), dtype=torch.float32, device=parameter.device)
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        }
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        optimizer._found_inf_per_device = found
        return found

    def step(self, optimizer: TorchOptimizer, *args: Any, **kwargs: Any) -> Any:
        """Takes the optimizer's step, which is skipped if a gradient is not finite.

        Args:
            optimizer: Any torch optimizer; other arguments are those of its step().

        Returns:
            What optimizer.step(*args, **kwargs) returns.
        """
        try:
            return super().step(optimizer, *args, **kwargs)
        finally:
            if isinstance(optimizer, Optimizer):
                optimizer._found_inf_per_device = None
