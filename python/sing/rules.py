"""SING and one class per rule, made by tools/make_python_fields.py: do not edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sing.optimizer import SINGOptimizer
from sing.options import Schema

if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from torch import Tensor
    from torch.optim.optimizer import ParamsT
    from typing_extensions import Unpack

    class SharedOptions(TypedDict, total=False):
        """Options that all classes take."""

        centralize: bool
        centralize_axis: int
        normalize: Literal["off", "unit_norm", "size_calibrated"]
        norm_epsilon: float
        reference_size: float
        lookahead: bool
        lookahead_period: int
        lookahead_alpha: float
        decay_vectors: bool
        clip_norm: float | None
        master_weights: bool
        non_finite: Literal["skip_tensor", "skip_step", "throw", "pass_through"]
        maximize: bool
        capturable: bool
        learning_rate_factor: float
        slow_weights_for_evaluation: bool

    class AuthorsOptions(SharedOptions, total=False):
        """The same, and the names that the paper's authors have for options."""

        softplus: bool
        beta_softplus: float
        grad_central: bool
        grad_norm: bool
        lookahead_active: bool
        la_mergetime: int
        la_alpha: float


class SING(SINGOptimizer):
    """SING (Courtois et al. 2023): AdamW with softplus on centralized and normalized gradients, with LookAhead.

    It has the published defaults and takes the place of any torch.optim optimizer. Its learning rate is about ten times AdamW's.
    The paper's authors freeze LayerNorm and LayerScale parameters (`sing.param_groups(model, weight_decay, freeze_norms=True)`);
    `normalize="size_calibrated"` gives every tensor the same step per element instead. Weight decay leaves out tensors of rank 0
    and 1. Gradients are not changed. Their scale does not matter, so clipping their norm has no effect.

    The authors' option names are taken too: softplus, beta_softplus, grad_central, grad_norm, lookahead_active, la_mergetime and
    la_alpha. `eps` then serves the norm as well, as in their code.

    Args:
        params: Parameters, (name, parameter) pairs as from model.named_parameters(), or groups: dicts with `params` and any of
            the options. Names appear in messages, in grad_norms() and in state files.
        lr: Step size. Default: 0.005.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        softplus_beta: Sharpness of the softplus that replaces root + epsilon; none turns it off. Default: 50.0.
        centralize: Subtract each row's mean from gradients of rank 2 and higher. Default: True.
        centralize_axis: Axis of the rows; the paper uses 0. Default: 0.
        normalize: Norm that each tensor's gradient is scaled to: off, 1, or sqrt(size / reference_size). One of 'off',
            'unit_norm', 'size_calibrated'. Default: 'unit_norm'.
        norm_epsilon: Added to the norm. Default: 1e-08.
        reference_size: Number of elements of a tensor whose calibrated norm is 1. Default: 589824.0.
        lookahead: Draw the weights to a slow copy. Default: True.
        lookahead_period: Steps between merges. Default: 5.
        lookahead_alpha: Weight of the fast weights in a merge. Default: 0.5.
        decay_vectors: Apply weight decay to tensors of rank 0 and 1 too. Default: False.
        clip_norm: Upper bound of the norm of all gradients together, as torch.nn.utils.clip_grad_norm_ applies it before the
            step; none does not clip, and normalized gradients do not change. Default: None.
        master_weights: Keep a float32 master copy of each 16-bit parameter. Default: False.
        non_finite: Policy for non-finite gradients, the same for the whole optimizer. One of 'skip_tensor', 'skip_step', 'throw',
            'pass_through'. Default: 'skip_tensor'.
        maximize: Go up instead of down. Default: False.
        capturable: Has no effect: a step on a CUDA device is always capturable. Default: True.
        learning_rate_factor: Multiplies the learning rate of every group. Default: 1.0.
        slow_weights_for_evaluation: eval() puts LookAhead's slow weights in place of the parameters, and train() gives them back.
            Default: False.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.SING(model.parameters(), lr=5e-2, weight_decay=5e-2)
        >>> for _ in range(3):
        ...     optimizer.zero_grad()
        ...     model(torch.randn(2, 4)).square().sum().backward()
        ...     _ = optimizer.step()
        >>> sorted(optimizer.state[model.weight])
        ['exp_avg', 'exp_avg_sq', 'slow', 'step']
    """

    _schema = Schema("SING")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.005, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.0, decoupled_decay: bool = True, softplus_beta: float | None = 50.0,
            **options: Unpack[AuthorsOptions]) -> None: ...


class AdamW(SINGOptimizer):
    """AdamW on centralized and normalized gradients, with LookAhead; its rule in the library is `adamw`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.005.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        softplus_beta: Sharpness of the softplus that replaces root + epsilon; none turns it off. Default: None.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdamW(model.parameters(), lr=1e-3)
    """

    _schema = Schema("AdamW")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.005, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.0, decoupled_decay: bool = True, softplus_beta: float | None = None,
            **options: Unpack[SharedOptions]) -> None: ...


class SGD(SINGOptimizer):
    """SGD on centralized and normalized gradients, with LookAhead; its rule in the library is `sgd`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.01.
        momentum: Decay of the momentum; 0 keeps none. Default: 0.0.
        nesterov: Use Nesterov's momentum. Default: False.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.SGD(model.parameters(), lr=1e-3)
    """

    _schema = Schema("SGD")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.01, *, momentum: float = 0.0, nesterov: bool = False,
            weight_decay: float = 0.0, decoupled_decay: bool = True, **options: Unpack[SharedOptions]) -> None: ...


class AdaBelief(SINGOptimizer):
    """AdaBelief on centralized and normalized gradients, with LookAhead; its rule in the library is `adabelief`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the belief and to its root. Default: 1e-16.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        rectify: Rectify the variance of the adaptive step in early steps. Default: True.
        softplus_beta: Sharpness of the softplus that replaces root + epsilon; none turns it off. Default: None.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdaBelief(model.parameters(), lr=1e-3)
    """

    _schema = Schema("AdaBelief")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-16, weight_decay: float = 0.0, decoupled_decay: bool = True, rectify: bool = True,
            softplus_beta: float | None = None, **options: Unpack[SharedOptions]) -> None: ...


class Adafactor(SINGOptimizer):
    """Adafactor on centralized and normalized gradients, with LookAhead; its rule in the library is `adafactor`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.01.
        decay_power: Exponent of the second moment's decay, 1 - step^-power. Default: 0.8.
        square_epsilon: Added to the squared gradient. Default: 1e-30.
        scale_epsilon: Lower bound of the parameter's root mean square. Default: 0.001.
        clip_threshold: Upper bound of an update's root mean square. Default: 1.0.
        scale_parameter: Multiply the step by the parameter's root mean square. Default: True.
        relative_step: Use the step size min(learning_rate, 1/sqrt(step)). Default: False.
        weight_decay: Decoupled weight decay. Default: 0.0.
        softplus_beta: Sharpness of the softplus that replaces the root; none turns it off. Default: None.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Adafactor(model.parameters(), lr=1e-3)
    """

    _schema = Schema("Adafactor")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.01, *, decay_power: float = 0.8, square_epsilon: float = 1e-30,
            scale_epsilon: float = 0.001, clip_threshold: float = 1.0, scale_parameter: bool = True, relative_step: bool = False,
            weight_decay: float = 0.0, softplus_beta: float | None = None, **options: Unpack[SharedOptions]) -> None: ...


class NAdam(SINGOptimizer):
    """NAdam on centralized and normalized gradients, with LookAhead; its rule in the library is `nadam`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.002.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-08.
        momentum_decay: Rate at which the momentum rises from beta1 / 2 to beta1. Default: 0.004.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.NAdam(model.parameters(), lr=1e-3)
    """

    _schema = Schema("NAdam")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.002, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, momentum_decay: float = 0.004, weight_decay: float = 0.0, decoupled_decay: bool = False,
            **options: Unpack[SharedOptions]) -> None: ...


class Yogi(SINGOptimizer):
    """Yogi on centralized and normalized gradients, with LookAhead; its rule in the library is `yogi`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.01.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 0.001.
        initial_moment: Initial value of both moments. Default: 1e-06.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Yogi(model.parameters(), lr=1e-3)
    """

    _schema = Schema("Yogi")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.01, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 0.001, initial_moment: float = 1e-06, weight_decay: float = 0.0, decoupled_decay: bool = False,
            **options: Unpack[SharedOptions]) -> None: ...


class RAdam(SINGOptimizer):
    """RAdam on centralized and normalized gradients, with LookAhead; its rule in the library is `radam`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the uncorrected second moment. Default: 1e-08.
        early_momentum: Take a momentum step in the early steps that cannot be rectified; off takes none, as the paper's authors
            do. Default: True.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.RAdam(model.parameters(), lr=1e-3)
    """

    _schema = Schema("RAdam")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, early_momentum: bool = True, weight_decay: float = 0.0, decoupled_decay: bool = False,
            **options: Unpack[SharedOptions]) -> None: ...


class AdaBound(SINGOptimizer):
    """AdaBound on centralized and normalized gradients, with LookAhead; its rule in the library is `adabound`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-08.
        final_learning_rate: Step size that the bounds converge to, before the schedule. Default: 0.1.
        gamma: Rate at which the bounds converge. Default: 0.001.
        base_learning_rate: Learning rate that final_learning_rate refers to; none takes learning_rate. Default: None.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdaBound(model.parameters(), lr=1e-3)
    """

    _schema = Schema("AdaBound")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, final_learning_rate: float = 0.1, gamma: float = 0.001, base_learning_rate: float | None = None,
            weight_decay: float = 0.0, decoupled_decay: bool = False, **options: Unpack[SharedOptions]) -> None: ...


class AdaMod(SINGOptimizer):
    """AdaMod on centralized and normalized gradients, with LookAhead; its rule in the library is `adamod`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        beta3: Decay of the mean step size. Default: 0.999.
        eps: Added to the root of the second moment. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdaMod(model.parameters(), lr=1e-3)
    """

    _schema = Schema("AdaMod")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, *, betas: tuple[float, float] = (0.9, 0.999),
            beta3: float = 0.999, eps: float = 1e-08, weight_decay: float = 0.0, decoupled_decay: bool = True,
            **options: Unpack[SharedOptions]) -> None: ...


class EAdam(SINGOptimizer):
    """EAdam on centralized and normalized gradients, with LookAhead; its rule in the library is `eadam`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the second moment in each step. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.EAdam(model.parameters(), lr=1e-3)
    """

    _schema = Schema("EAdam")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.0, decoupled_decay: bool = False,
            **options: Unpack[SharedOptions]) -> None: ...


class SAdam(SINGOptimizer):
    """SAdam on centralized and normalized gradients, with LookAhead; its rule in the library is `sadam`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.1.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment if softplus is off. Default: 1e-08.
        softplus_beta: Sharpness of the softplus of the root; none uses root + epsilon. Default: 50.0.
        amsgrad: Divide by the largest second moment so far. Default: True.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.SAdam(model.parameters(), lr=1e-3)
    """

    _schema = Schema("SAdam")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.1, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, softplus_beta: float | None = 50.0, amsgrad: bool = True, weight_decay: float = 0.0,
            decoupled_decay: bool = False, **options: Unpack[SharedOptions]) -> None: ...


class Lion(SINGOptimizer):
    """Lion on centralized and normalized gradients, with LookAhead; its rule in the library is `lion`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.0001.
        betas: Decays of the two moments. Default: (0.9, 0.99).
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Lion(model.parameters(), lr=1e-3)
    """

    _schema = Schema("Lion")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.0001, *, betas: tuple[float, float] = (0.9, 0.99),
            weight_decay: float = 0.0, decoupled_decay: bool = True, **options: Unpack[SharedOptions]) -> None: ...


class Lamb(SINGOptimizer):
    """Lamb on centralized and normalized gradients, with LookAhead; its rule in the library is `lamb`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-06.
        weight_decay: Strength of the weight decay, which is part of the update's norm. Default: 0.0.
        bias_correction: Correct both moments as Adam does. Default: False.
        always_adapt: Use a trust ratio for tensors without weight decay too. Default: True.
        norm_limit: Upper bound of the parameter's norm in the trust ratio; none sets no bound. Default: 10.0.
        decoupled_decay: Decay the parameter directly, outside the trust ratio. Default: False.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Lamb(model.parameters(), lr=1e-3)
    """

    _schema = Schema("Lamb")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-06, weight_decay: float = 0.0, bias_correction: bool = False, always_adapt: bool = True,
            norm_limit: float | None = 10.0, decoupled_decay: bool = False, **options: Unpack[SharedOptions]) -> None: ...


class Lars(SINGOptimizer):
    """Lars on centralized and normalized gradients, with LookAhead; its rule in the library is `lars`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 1.0.
        momentum: Decay of the momentum; 0 keeps none. Default: 0.0.
        nesterov: Use Nesterov's momentum. Default: False.
        weight_decay: Strength of the weight decay, which is part of the trust ratio. Default: 0.0.
        trust_coefficient: Size of a step relative to the parameter's norm. Default: 0.001.
        eps: Added to the trust ratio's denominator. Default: 1e-08.
        always_adapt: Use a trust ratio for tensors without weight decay too. Default: False.
        decoupled_decay: Decay the parameter directly, outside the trust ratio. Default: False.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Lars(model.parameters(), lr=1e-3)
    """

    _schema = Schema("Lars")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 1.0, *, momentum: float = 0.0, nesterov: bool = False,
            weight_decay: float = 0.0, trust_coefficient: float = 0.001, eps: float = 1e-08, always_adapt: bool = False,
            decoupled_decay: bool = False, **options: Unpack[SharedOptions]) -> None: ...


class AdaNorm(SINGOptimizer):
    """AdaNorm on centralized and normalized gradients, with LookAhead; its rule in the library is `adanorm`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        norm_decay: Decay of the running mean of the gradient's norm. Default: 0.95.
        eps: Added to the second moment and to its root. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdaNorm(model.parameters(), lr=1e-3)
    """

    _schema = Schema("AdaNorm")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, *, betas: tuple[float, float] = (0.9, 0.999),
            norm_decay: float = 0.95, eps: float = 1e-08, weight_decay: float = 0.0, decoupled_decay: bool = False,
            **options: Unpack[SharedOptions]) -> None: ...


class ScheduleFreeAdamW(SINGOptimizer):
    """ScheduleFreeAdamW on centralized and normalized gradients, with LookAhead; its rule in the library is `schedule_free_adamw`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.0025.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.0.
        own_warmup_steps: Steps of the rule's own linear warm-up. Default: 0.
        step_power: Exponent of the step's number in its weight in the average. Default: 0.0.
        rate_power: Exponent of the largest learning rate so far in a step's weight in the average. Default: 2.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.ScheduleFreeAdamW(model.parameters(), lr=1e-3)
    """

    _schema = Schema("ScheduleFreeAdamW")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.0025, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.0, own_warmup_steps: int = 0, step_power: float = 0.0,
            rate_power: float = 2.0, decoupled_decay: bool = True, **options: Unpack[SharedOptions]) -> None: ...


class Muon(SINGOptimizer):
    """Muon on centralized and normalized gradients, with LookAhead; its rule in the library is `muon`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        momentum: Decay of a matrix's momentum. Default: 0.95.
        nesterov: Use Nesterov's momentum. Default: True.
        weight_decay: Decoupled weight decay. Default: 0.1.
        norm_floor: Lower bound of the norm that a matrix is divided by. Default: 1e-07.
        newton_steps: Newton-Schulz iterations that orthogonalize a matrix. Default: 5.
        newton_a: Coefficient of X in the iteration. Default: 3.4445.
        newton_b: Coefficient of X X' X in the iteration. Default: -4.775.
        newton_c: Coefficient of X X' X X' X in the iteration. Default: 2.0315.
        rate_adjustment: Factor of a matrix's learning rate: sqrt(max(1, rows / columns)) or 0.2 sqrt(max(rows, columns)). One of
            'original', 'match_rms_adamw'. Default: 'original'.
        orthogonalize: Off uses AdamW for matrices too, as is usual for embeddings and output layers. Default: True.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: AdamW: added to the root of the second moment. Default: 1e-08.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Muon(model.parameters(), lr=1e-3)
    """

    _schema = Schema("Muon")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, *, momentum: float = 0.95, nesterov: bool = True,
            weight_decay: float = 0.1, norm_floor: float = 1e-07, newton_steps: int = 5, newton_a: float = 3.4445,
            newton_b: float = -4.775, newton_c: float = 2.0315,
            rate_adjustment: Literal["original", "match_rms_adamw"] = 'original', orthogonalize: bool = True,
            betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-08, **options: Unpack[SharedOptions]) -> None: ...


class AdaHessian(SINGOptimizer):
    """AdaHessian on centralized and normalized gradients, with LookAhead; its rule in the library is `adahessian`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.15.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the curvature. Default: 0.0001.
        half_power: Divide by the curvature to the power 1/2 instead of 1. Default: False.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdaHessian(model.parameters(), lr=1e-3)
    """

    _schema = Schema("AdaHessian")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.15, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 0.0001, half_power: bool = False, weight_decay: float = 0.0, decoupled_decay: bool = True,
            **options: Unpack[SharedOptions]) -> None: ...


class NVLamb(SINGOptimizer):
    """NVLamb on centralized and normalized gradients, with LookAhead; its rule in the library is `lamb`.

    With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-06.
        weight_decay: Strength of the weight decay, which is part of the update's norm. Default: 0.01.
        bias_correction: Correct both moments as Adam does. Default: True.
        always_adapt: Use a trust ratio for tensors without weight decay too. Default: False.
        norm_limit: Upper bound of the parameter's norm in the trust ratio; none sets no bound. Default: None.
        decoupled_decay: Decay the parameter directly, outside the trust ratio. Default: False.
        clip_norm: Upper bound of the norm of all gradients together, as torch.nn.utils.clip_grad_norm_ applies it before the
            step; none does not clip, and normalized gradients do not change. Default: 1.0.
        options: Options that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.NVLamb(model.parameters(), lr=1e-3)
    """

    _schema = Schema("NVLamb")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, *, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-06, weight_decay: float = 0.01, bias_correction: bool = True, always_adapt: bool = False,
            norm_limit: float | None = None, decoupled_decay: bool = False, **options: Unpack[SharedOptions]) -> None: ...


CLASSES: dict[str, type[SINGOptimizer]] = {
    "SING": SING, "AdamW": AdamW, "SGD": SGD, "AdaBelief": AdaBelief, "Adafactor": Adafactor, "NAdam": NAdam, "Yogi": Yogi,
    "RAdam": RAdam, "AdaBound": AdaBound, "AdaMod": AdaMod, "EAdam": EAdam, "SAdam": SAdam, "Lion": Lion, "Lamb": Lamb, "Lars":
    Lars, "AdaNorm": AdaNorm, "ScheduleFreeAdamW": ScheduleFreeAdamW, "Muon": Muon, "AdaHessian": AdaHessian, "NVLamb": NVLamb
}
__all__ = [
    "SING", "AdamW", "SGD", "AdaBelief", "Adafactor", "NAdam", "Yogi", "RAdam", "AdaBound", "AdaMod", "EAdam", "SAdam", "Lion",
    "Lamb", "Lars", "AdaNorm", "ScheduleFreeAdamW", "Muon", "AdaHessian", "NVLamb"
]
