"""A gradient scaler that learns of infinities from the step itself."""

from __future__ import annotations

from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler as TorchGradScaler
from torch.optim import Optimizer as TorchOptimizer

from sing.optimizer import Optimizer


class GradScaler(TorchGradScaler):
    """A torch.amp.GradScaler that makes no pass over the gradients of SING's optimizers.

    Before each step, torch's scaler reads every gradient to look for infinities. A step of SING computes the norms of the
    gradients anyway, which show whether they are finite, and this scaler uses that result. For other optimizers it works like
    torch's.

    Args:
        device: "cuda" or "cpu". All arguments are those of torch.amp.GradScaler.

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
