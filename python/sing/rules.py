"""One class per rule, and SING and PlugSING around them, made by tools/make_python_fields.py: do not edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sing.optimizer import HostedOptimizer, Optimizer
from sing.options import Schema

if TYPE_CHECKING:
    from typing import Any, Literal, TypedDict

    from torch import Tensor
    from torch.optim.optimizer import ParamsT
    from typing_extensions import Unpack

    from sing.option_sets import Lookahead

    Host = Literal[
        "adamw", "sgd", "adabelief", "adafactor", "nadam", "yogi", "radam", "adabound", "adamod", "eadam", "sadam", "lion",
        "lamb", "lars", "adanorm", "schedule_free_adamw", "muon", "adahessian", "nvlamb"
    ]

    class SharedOptions(TypedDict, total=False):
        """Options that all classes take."""

        centralize: bool
        centralize_axis: int
        normalize: Literal["off", "unit_norm", "size_calibrated"]
        norm_epsilon: float
        reference_size: float
        lookahead: bool | Lookahead
        lookahead_period: int
        lookahead_alpha: float
        decay_vectors: bool
        clip_norm: float | None
        master_weights: bool
        state: Literal["float32", "bfloat16"]
        non_finite: Literal["skip_tensor", "skip_step", "throw", "pass_through"]
        maximize: bool
        learning_rate_factor: float
        foreach: bool | None
        fused: bool | None
        capturable: bool
        differentiable: bool
        slow_weights_for_evaluation: bool

    class HostOptions(SharedOptions, total=False):
        """The same, and the options of all hosts."""

        decoupled_weight_decay: bool
        momentum: float
        nesterov: bool
        dampening: float
        rectify: bool
        weight_decouple: bool
        fixed_decay: bool
        degenerated_to_sgd: bool
        print_change_log: bool
        decay_power: float
        square_epsilon: float
        scale_epsilon: float
        clip_threshold: float
        scale_parameter: bool
        relative_step: bool
        d: float
        beta2_decay: Any
        decay_rate: Any
        beta1: None
        warmup_init: bool
        momentum_decay: float
        initial_moment: float
        initial_accumulator: float
        early_momentum: bool
        final_learning_rate: float
        gamma: float
        base_learning_rate: float | None
        final_lr: float
        amsbound: bool
        beta3: float
        bias_correction: bool
        always_adapt: bool
        norm_limit: float | None
        clamp_value: float | None
        adam: bool
        debias: bool
        trust_coefficient: float
        trust_coeff: float
        trust_clip: bool
        norm_decay: float
        r: float
        ams_bound: bool
        own_warmup_steps: int
        step_power: float
        rate_power: float
        warmup_steps: int
        weight_lr_power: float
        norm_floor: float
        newton_steps: int
        newton_a: float
        newton_b: float
        newton_c: float
        rate_adjustment: Literal["original", "match_rms_adamw"]
        orthogonalize: bool
        epsilon: float
        ns_steps: int
        ns_coefficients: Any
        adjust_lr_fn: Any
        half_power: bool
        hessian_power: Any
        max_grad_norm: float | None
        grad_averaging: bool
        caution: bool
        corrected_weight_decay: bool

    class SINGOptions(HostOptions, total=False):
        """The same, and the names that the paper's authors have for options."""

        softplus: bool
        beta_softplus: float
        grad_central: bool
        grad_norm: bool
        lookahead_active: bool
        la_mergetime: int
        la_alpha: float

    class AdamWOptions(SharedOptions, total=False):
        """The same, and the names that other packages have for options of AdamW."""

        decoupled_weight_decay: bool

    class AdafactorOptions(SharedOptions, total=False):
        """The same, and the names that other packages have for options of Adafactor."""

        d: float
        eps: Any
        beta2_decay: Any
        decay_rate: Any
        beta1: None
        warmup_init: bool

    class YogiOptions(SharedOptions, total=False):
        """The same, and the names that other packages have for options of Yogi."""

        weight_decouple: bool

    class RAdamOptions(SharedOptions, total=False):
        """The same, and the names that other packages have for options of RAdam."""

        weight_decouple: bool

    class AdaBoundOptions(SharedOptions, total=False):
        """The same, and the names that other packages have for options of AdaBound."""

        weight_decouple: bool

    class AdaModOptions(SharedOptions, total=False):
        """The same, and the names that other packages have for options of AdaMod."""

        weight_decouple: bool

    class LionOptions(SharedOptions, total=False):
        """The same, and the names that other packages have for options of Lion."""

        weight_decouple: bool

    class NVLambOptions(SharedOptions, total=False):
        """The same, and the names that other packages have for options of NVLamb."""

        caution: bool
        corrected_weight_decay: bool


class SING(HostedOptimizer):
    """SING (Courtois et al. 2023) around a rule: centralized and normalized gradients, LookAhead, softplus for AdamW and AdaBelief.

    It takes the place of torch.optim.AdamW, with the same arguments in the same order, and has the published defaults. Its learning
    rate is about ten times AdamW's. The paper's authors freeze LayerNorm and LayerScale parameters
    (`sing.param_groups(model, weight_decay, freeze_norms=True)`); `normalize="size_calibrated"` gives every tensor the same step per
    element instead. Weight decay leaves out tensors of rank 0 and 1. Gradients are not changed. Their scale does not matter, so
    clipping their norm has no effect.

    `host` names another rule, whose options and defaults then take the place of AdamW's; the program calls the result `sing-<host>`.
    The authors' option names are accepted too: softplus, beta_softplus, grad_central, grad_norm, lookahead_active, la_mergetime
    and la_alpha. With the host AdamW, `eps` serves the norm as well, as in their code.

    Args:
        params: Parameters, (name, parameter) pairs as from model.named_parameters(), or groups: dicts with `params` and any of
            the options. Names appear in messages, in grad_norms() and in state files.
        lr: Step size. Default: 0.005.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        softplus_beta: Sharpness of the softplus that replaces root + epsilon; none turns it off. Default: 50.0.
        amsgrad: False, the only value that is accepted.
        host: The rule that SING wraps: one of 'adamw', 'sgd', 'adabelief', 'adafactor', 'nadam', 'yogi', 'radam', 'adabound',
            'adamod', 'eadam', 'sadam', 'lion', 'lamb', 'lars', 'adanorm', 'schedule_free_adamw', 'muon', 'adahessian', 'nvlamb'.
        centralize: Subtract each row's mean from gradients of rank 2 and higher. Default: True.
        centralize_axis: Axis of the rows; the paper uses 0. Default: 0.
        normalize: Norm that each tensor's gradient is scaled to: off, 1, or sqrt(size / reference_size). One of 'off',
            'unit_norm', 'size_calibrated'. Default: 'unit_norm'.
        norm_epsilon: Added to the norm. Default: 1e-08.
        reference_size: Number of elements of a tensor whose calibrated norm is 1. Default: 589824.0.
        lookahead: Pull the weights towards a slow copy. Default: True.
        lookahead_period: Steps between merges. Default: 5.
        lookahead_alpha: Weight of the fast weights in a merge. Default: 0.5.
        decay_vectors: Apply weight decay to tensors of rank 0 and 1 too. Default: False.
        clip_norm: Upper bound of the norm of all gradients together, as torch.nn.utils.clip_grad_norm_ applies it before the
            step; none does not clip, and normalized gradients do not change. Default: None.
        master_weights: Keep a float32 master copy of each 16-bit parameter. Default: False.
        state: Type of moments and momentum: float32 (float64 for float64 parameters), or bfloat16 with stochastic rounding. One
            of 'float32', 'bfloat16'. Default: 'float32'.
        non_finite: Policy for non-finite gradients, the same for the whole optimizer. One of 'skip_tensor', 'skip_step', 'throw',
            'pass_through'. Default: 'skip_tensor'.
        maximize: Maximize the objective instead of minimizing it. Default: False.
        learning_rate_factor: Multiplies the learning rate of every group. Default: 1.0.
        foreach, fused, capturable: Arguments of torch's optimizers, without effect: a step is one call for all tensors, which a
            CUDA graph can capture.
        differentiable: False: a step is not recorded by autograd.
        slow_weights_for_evaluation: eval() replaces the parameters by LookAhead's slow weights, and train() restores them.
            Default: False.
        options: Other options of the host.

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
        >>> lion = sing.SING(model.parameters(), lr=1e-4, betas=(0.9, 0.99), host="lion")
    """

    _schema = Schema("SING", "sing-adamw")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.005, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.0, amsgrad: bool = False, *, decoupled_decay: bool = True,
            softplus_beta: float | None = 50.0, host: Host = "adamw", **options: Unpack[SINGOptions]) -> None: ...


class PlugSING(HostedOptimizer):
    """Plug-and-play SING: an unchanged rule on gradients of unit norm, at the rule's own learning rate.

    Nothing else of SING is used: no centralization, LookAhead or softplus. It takes the place of torch.optim.AdamW, with the same
    arguments in the same order and the same defaults. `host` names another rule, whose options and defaults then take the place of
    AdamW's; the program calls the result `plugsing-<host>`. Gradients are not changed. Their scale does not matter, so clipping
    their norm has no effect.

    Args:
        params: Parameters, (name, parameter) pairs as from model.named_parameters(), or groups: dicts with `params` and any of
            the options. Names appear in messages, in grad_norms() and in state files.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.01.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        softplus_beta: Sharpness of the softplus that replaces root + epsilon; none turns it off. Default: None.
        amsgrad: False, the only value that is accepted.
        host: The rule that SING wraps: one of 'adamw', 'sgd', 'adabelief', 'adafactor', 'nadam', 'yogi', 'radam', 'adabound',
            'adamod', 'eadam', 'sadam', 'lion', 'lamb', 'lars', 'adanorm', 'schedule_free_adamw', 'muon', 'adahessian', 'nvlamb'.
        options: Other options of the host, and those that all classes take, as described for sing.SING.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.PlugSING(model.parameters(), lr=1e-3, weight_decay=1e-2)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> sorted(optimizer.state[model.weight])
        ['exp_avg', 'exp_avg_sq', 'step']
        >>> sgd = sing.PlugSING(model.parameters(), lr=1e-2, host="sgd", momentum=0.9)
    """

    _schema = Schema("PlugSING", "plugsing-adamw")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.01, amsgrad: bool = False, *, decoupled_decay: bool = True,
            softplus_beta: float | None = None, host: Host = "adamw", **options: Unpack[HostOptions]) -> None: ...


class AdamW(Optimizer):
    """AdamW alone, with gradients as they are: the program's `adamw`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="adamw")` puts SING around the rule, and
    `sing.PlugSING(params, host="adamw")` gives it gradients of unit norm.

    Names from other packages are accepted too: decoupled_weight_decay.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.01.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        softplus_beta: Sharpness of the softplus that replaces root + epsilon; none turns it off. Default: None.
        amsgrad: False, the only value that is accepted.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdamW(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("AdamW", "adamw")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.01, amsgrad: bool = False, *, decoupled_decay: bool = True,
            softplus_beta: float | None = None, **options: Unpack[AdamWOptions]) -> None: ...


class SGD(Optimizer):
    """SGD alone, with gradients as they are: the program's `sgd`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="sgd")` puts SING around the rule, and
    `sing.PlugSING(params, host="sgd")` gives it gradients of unit norm.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        momentum: Decay of the momentum; 0 keeps none. Default: 0.0.
        nesterov: Use Nesterov's momentum. Default: False.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        dampening: 0, the only value that is accepted.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.SGD(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("SGD", "sgd")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, momentum: float = 0.0, dampening: float = 0,
            weight_decay: float = 0.0, nesterov: bool = False, *, decoupled_decay: bool = False,
            **options: Unpack[SharedOptions]) -> None: ...


class AdaBelief(Optimizer):
    """AdaBelief alone, with gradients as they are: the program's `adabelief`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="adabelief")` puts SING around the rule, and
    `sing.PlugSING(params, host="adabelief")` gives it gradients of unit norm.

    Names from other packages are accepted too: weight_decouple.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the belief and to its root. Default: 1e-16.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        rectify: Rectify the variance of the adaptive step in early steps. Default: True.
        softplus_beta: Sharpness of the softplus that replaces root + epsilon; none turns it off. Default: None.
        amsgrad: False, the only value that is accepted.
        weight_decouple: The same as decoupled_decay.
        fixed_decay: False, the only value that is accepted.
        degenerated_to_sgd: True, the only value that is accepted.
        print_change_log: Has no effect.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdaBelief(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("AdaBelief", "adabelief")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-16, weight_decay: float = 0.0, amsgrad: bool = False, weight_decouple: bool = True,
            fixed_decay: bool = False, rectify: bool = True, degenerated_to_sgd: bool = True, print_change_log: bool = ..., *,
            decoupled_decay: bool = True, softplus_beta: float | None = None, **options: Unpack[SharedOptions]) -> None: ...


class Adafactor(Optimizer):
    """Adafactor alone, with gradients as they are: the program's `adafactor`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="adafactor")` puts SING around the rule, and
    `sing.PlugSING(params, host="adafactor")` gives it gradients of unit norm.

    Names from other packages are accepted too: d, eps, beta2_decay, decay_rate.

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
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Adafactor(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("Adafactor", "adafactor")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.01, *, decay_power: float = 0.8, square_epsilon: float = 1e-30,
            scale_epsilon: float = 0.001, clip_threshold: float = 1.0, scale_parameter: bool = True, relative_step: bool = False,
            weight_decay: float = 0.0, softplus_beta: float | None = None, **options: Unpack[AdafactorOptions]) -> None: ...


class NAdam(Optimizer):
    """NAdam alone, with gradients as they are: the program's `nadam`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="nadam")` puts SING around the rule, and
    `sing.PlugSING(params, host="nadam")` gives it gradients of unit norm.

    Names from other packages are accepted too: decoupled_weight_decay.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.002.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 1e-08.
        momentum_decay: Rate at which the momentum rises from beta1 / 2 to beta1. Default: 0.004.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        decoupled_weight_decay: The same as decoupled_decay.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.NAdam(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("NAdam", "nadam")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.002, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.0, momentum_decay: float = 0.004, decoupled_weight_decay: bool = False, *,
            decoupled_decay: bool = False, **options: Unpack[SharedOptions]) -> None: ...


class Yogi(Optimizer):
    """Yogi alone, with gradients as they are: the program's `yogi`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="yogi")` puts SING around the rule, and
    `sing.PlugSING(params, host="yogi")` gives it gradients of unit norm.

    Names from other packages are accepted too: weight_decouple, initial_accumulator.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.01.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment. Default: 0.001.
        initial_moment: Initial value of both moments. Default: 1e-06.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        initial_accumulator: The same as initial_moment.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Yogi(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("Yogi", "yogi")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.01, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 0.001, initial_accumulator: float = 1e-06, weight_decay: float = 0.0, *, initial_moment: float = 1e-06,
            decoupled_decay: bool = False, **options: Unpack[YogiOptions]) -> None: ...


class RAdam(Optimizer):
    """RAdam alone, with gradients as they are: the program's `radam`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="radam")` puts SING around the rule, and
    `sing.PlugSING(params, host="radam")` gives it gradients of unit norm.

    Names from other packages are accepted too: decoupled_weight_decay, weight_decouple.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the uncorrected second moment. Default: 1e-08.
        early_momentum: Take a momentum step in the early steps that cannot be rectified; off takes none, as the paper's authors
            do. Default: True.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        decoupled_weight_decay: The same as decoupled_decay.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.RAdam(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("RAdam", "radam")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.0, decoupled_weight_decay: bool = False, *, early_momentum: bool = True,
            decoupled_decay: bool = False, **options: Unpack[RAdamOptions]) -> None: ...


class AdaBound(Optimizer):
    """AdaBound alone, with gradients as they are: the program's `adabound`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="adabound")` puts SING around the rule, and
    `sing.PlugSING(params, host="adabound")` gives it gradients of unit norm.

    Names from other packages are accepted too: weight_decouple, final_lr.

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
        final_lr: The same as final_learning_rate.
        amsbound: False, the only value that is accepted.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdaBound(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("AdaBound", "adabound")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, betas: tuple[float, float] = (0.9, 0.999),
            final_lr: float = 0.1, gamma: float = 0.001, eps: float = 1e-08, weight_decay: float = 0.0, amsbound: bool = False, *,
            final_learning_rate: float = 0.1, base_learning_rate: float | None = None, decoupled_decay: bool = False,
            **options: Unpack[AdaBoundOptions]) -> None: ...


class AdaMod(Optimizer):
    """AdaMod alone, with gradients as they are: the program's `adamod`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="adamod")` puts SING around the rule, and
    `sing.PlugSING(params, host="adamod")` gives it gradients of unit norm.

    Names from other packages are accepted too: weight_decouple.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        beta3: Decay of the mean step size. Default: 0.999.
        eps: Added to the root of the second moment. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdaMod(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("AdaMod", "adamod")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, betas: tuple[float, float] = (0.9, 0.999),
            beta3: float = 0.999, eps: float = 1e-08, weight_decay: float = 0.0, *, decoupled_decay: bool = True,
            **options: Unpack[AdaModOptions]) -> None: ...


class EAdam(Optimizer):
    """EAdam alone, with gradients as they are: the program's `eadam`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="eadam")` puts SING around the rule, and
    `sing.PlugSING(params, host="eadam")` gives it gradients of unit norm.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the second moment in each step. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        amsgrad: False, the only value that is accepted.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.EAdam(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("EAdam", "eadam")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.0, amsgrad: bool = False, *, decoupled_decay: bool = False,
            **options: Unpack[SharedOptions]) -> None: ...


class SAdam(Optimizer):
    """SAdam alone, with gradients as they are: the program's `sadam`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="sadam")` puts SING around the rule, and
    `sing.PlugSING(params, host="sadam")` gives it gradients of unit norm.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.1.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the second moment if softplus is off. Default: 1e-08.
        softplus_beta: Sharpness of the softplus of the root; none uses root + epsilon. Default: 50.0.
        amsgrad: Divide by the largest second moment so far. Default: True.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.SAdam(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("SAdam", "sadam")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.1, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.0, amsgrad: bool = True, *, softplus_beta: float | None = 50.0,
            decoupled_decay: bool = False, **options: Unpack[SharedOptions]) -> None: ...


class Lion(Optimizer):
    """Lion alone, with gradients as they are: the program's `lion`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="lion")` puts SING around the rule, and
    `sing.PlugSING(params, host="lion")` gives it gradients of unit norm.

    Names from other packages are accepted too: weight_decouple.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.0001.
        betas: Decays of the two moments. Default: (0.9, 0.99).
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Lion(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("Lion", "lion")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.0001, betas: tuple[float, float] = (0.9, 0.99),
            weight_decay: float = 0.0, *, decoupled_decay: bool = True, **options: Unpack[LionOptions]) -> None: ...


class Lamb(Optimizer):
    """Lamb alone, with gradients as they are: the program's `lamb`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="lamb")` puts SING around the rule, and
    `sing.PlugSING(params, host="lamb")` gives it gradients of unit norm.

    Names from other packages are accepted too: clamp_value.

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
        clamp_value: The same as norm_limit.
        adam: False, the only value that is accepted.
        debias: False, the only value that is accepted.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Lamb(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("Lamb", "lamb")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-06, weight_decay: float = 0.0, clamp_value: float | None = 10.0, adam: bool = False,
            debias: bool = False, *, bias_correction: bool = False, always_adapt: bool = True, norm_limit: float | None = 10.0,
            decoupled_decay: bool = False, **options: Unpack[SharedOptions]) -> None: ...


class Lars(Optimizer):
    """Lars alone, with gradients as they are: the program's `lars`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="lars")` puts SING around the rule, and
    `sing.PlugSING(params, host="lars")` gives it gradients of unit norm.

    Names from other packages are accepted too: trust_coeff.

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
        dampening: 0, the only value that is accepted.
        trust_coeff: The same as trust_coefficient.
        trust_clip: False, the only value that is accepted.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Lars(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("Lars", "lars")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 1.0, momentum: float = 0.0, dampening: float = 0,
            weight_decay: float = 0.0, nesterov: bool = False, trust_coeff: float = 0.001, eps: float = 1e-08,
            trust_clip: bool = False, always_adapt: bool = False, *, trust_coefficient: float = 0.001,
            decoupled_decay: bool = False, **options: Unpack[SharedOptions]) -> None: ...


class AdaNorm(Optimizer):
    """AdaNorm alone, with gradients as they are: the program's `adanorm`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="adanorm")` puts SING around the rule, and
    `sing.PlugSING(params, host="adanorm")` gives it gradients of unit norm.

    Names from other packages are accepted too: weight_decouple, r.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.001.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        norm_decay: Decay of the running mean of the gradient's norm. Default: 0.95.
        eps: Added to the second moment and to its root. Default: 1e-08.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: False.
        r: The same as norm_decay.
        weight_decouple: The same as decoupled_decay.
        fixed_decay: False, the only value that is accepted.
        ams_bound: False, the only value that is accepted.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdaNorm(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("AdaNorm", "adanorm")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, betas: tuple[float, float] = (0.9, 0.999),
            r: float = 0.95, weight_decay: float = 0.0, weight_decouple: bool = False, fixed_decay: bool = False,
            ams_bound: bool = False, eps: float = 1e-08, *, norm_decay: float = 0.95, decoupled_decay: bool = False,
            **options: Unpack[SharedOptions]) -> None: ...


class ScheduleFreeAdamW(Optimizer):
    """ScheduleFreeAdamW alone, with gradients as they are: the program's `schedule_free_adamw`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="schedule_free_adamw")` puts SING around the rule, and
    `sing.PlugSING(params, host="schedule_free_adamw")` gives it gradients of unit norm.

    Names from other packages are accepted too: warmup_steps, r, weight_lr_power.

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
        warmup_steps: The same as own_warmup_steps.
        r: The same as step_power.
        weight_lr_power: The same as rate_power.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.ScheduleFreeAdamW(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("ScheduleFreeAdamW", "schedule_free_adamw")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.0025, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-08, weight_decay: float = 0.0, warmup_steps: int = 0, r: float = 0.0, weight_lr_power: float = 2.0, *,
            own_warmup_steps: int = 0, step_power: float = 0.0, rate_power: float = 2.0, decoupled_decay: bool = True,
            **options: Unpack[SharedOptions]) -> None: ...


class Muon(Optimizer):
    """Muon alone, with gradients as they are: the program's `muon`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="muon")` puts SING around the rule, and
    `sing.PlugSING(params, host="muon")` gives it gradients of unit norm.

    Names from other packages are accepted too: eps, ns_steps, ns_coefficients, adjust_lr_fn.

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
        epsilon: AdamW: added to the root of the second moment. Default: 1e-08.
        ns_coefficients: As in the other package; None keeps the default.
        eps: The same as norm_floor.
        ns_steps: The same as newton_steps.
        adjust_lr_fn: As in the other package; None keeps the default.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.Muon(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("Muon", "muon")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, weight_decay: float = 0.1, momentum: float = 0.95,
            nesterov: bool = True, ns_coefficients: Any = ..., eps: float = 1e-07, ns_steps: int = 5, adjust_lr_fn: Any = ..., *,
            norm_floor: float = 1e-07, newton_steps: int = 5, newton_a: float = 3.4445, newton_b: float = -4.775,
            newton_c: float = 2.0315, rate_adjustment: Literal["original", "match_rms_adamw"] = 'original',
            orthogonalize: bool = True, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-08,
            **options: Unpack[SharedOptions]) -> None: ...


class AdaHessian(Optimizer):
    """AdaHessian alone, with gradients as they are: the program's `adahessian`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="adahessian")` puts SING around the rule, and
    `sing.PlugSING(params, host="adahessian")` gives it gradients of unit norm.

    Names from other packages are accepted too: hessian_power.

    Args:
        params: As for sing.SING.
        lr: Step size. Default: 0.15.
        betas: Decays of the two moments. Default: (0.9, 0.999).
        eps: Added to the root of the curvature. Default: 0.0001.
        half_power: Divide by the curvature to the power 1/2 instead of 1. Default: False.
        weight_decay: Strength of the weight decay. Default: 0.0.
        decoupled_decay: Decay shrinks the parameter; off adds it to the standardized gradient (L2). Default: True.
        hessian_power: As in the other package; None keeps the default.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.AdaHessian(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("AdaHessian", "adahessian")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.15, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 0.0001, weight_decay: float = 0.0, hessian_power: Any = ..., *, half_power: bool = False,
            decoupled_decay: bool = True, **options: Unpack[SharedOptions]) -> None: ...


class NVLamb(Optimizer):
    """NVLamb alone, with gradients as they are: the program's `nvlamb`.

    Weight decay applies to tensors of every rank. `sing.SING(params, host="nvlamb")` puts SING around the rule, and
    `sing.PlugSING(params, host="nvlamb")` gives it gradients of unit norm.

    Names from other packages are accepted too: max_grad_norm.

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
        grad_averaging: True, the only value that is accepted.
        max_grad_norm: The same as clip_norm.
        trust_clip: False, the only value that is accepted.
        clip_norm: Upper bound of the norm of all gradients together, as torch.nn.utils.clip_grad_norm_ applies it before the
            step; none does not clip, and normalized gradients do not change. Default: 1.0.
        options: Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is
            'off' and decay_vectors is True by default.

    Example:
        >>> import torch, sing
        >>> model = torch.nn.Linear(4, 3)
        >>> optimizer = sing.NVLamb(model.parameters(), lr=1e-3)
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> optimizer.status()
        {'skipped_steps': 0, 'skipped_tensors': 0}
    """

    _schema = Schema("NVLamb", "nvlamb")

    if TYPE_CHECKING:

        def __init__(self, params: ParamsT, lr: float | Tensor = 0.001, bias_correction: bool = True,
            betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-06, weight_decay: float = 0.01,
            grad_averaging: bool = True, max_grad_norm: float | None = 1.0, trust_clip: bool = False, always_adapt: bool = False,
            *, norm_limit: float | None = None, decoupled_decay: bool = False, **options: Unpack[NVLambOptions]) -> None: ...


CLASSES: dict[str, type[Optimizer]] = {
    "SING": SING, "PlugSING": PlugSING, "AdamW": AdamW, "SGD": SGD, "AdaBelief": AdaBelief, "Adafactor": Adafactor, "NAdam":
    NAdam, "Yogi": Yogi, "RAdam": RAdam, "AdaBound": AdaBound, "AdaMod": AdaMod, "EAdam": EAdam, "SAdam": SAdam, "Lion": Lion,
    "Lamb": Lamb, "Lars": Lars, "AdaNorm": AdaNorm, "ScheduleFreeAdamW": ScheduleFreeAdamW, "Muon": Muon, "AdaHessian":
    AdaHessian, "NVLamb": NVLamb
}
__all__ = [
    "SING", "PlugSING", "AdamW", "SGD", "AdaBelief", "Adafactor", "NAdam", "Yogi", "RAdam", "AdaBound", "AdaMod", "EAdam",
    "SAdam", "Lion", "Lamb", "Lars", "AdaNorm", "ScheduleFreeAdamW", "Muon", "AdaHessian", "NVLamb"
]
