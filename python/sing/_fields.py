"""Options of every rule and class, made by tools/make_python_fields.py: do not edit."""

from typing import Any

from sing.field import Field

STANDARDIZE: list[Field] = [
    Field('centralize', 'bool', True, "subtract each row's mean from gradients of rank 2 and higher"),
    Field('centralize_axis', 'int', 0, 'axis of the rows; the paper uses 0', low=0.0),
    Field('normalize', 'choice', 'unit_norm', "norm that each tensor's gradient is scaled to: off, 1, or sqrt(size / reference_size)", choices=('off', 'unit_norm', 'size_calibrated')),
    Field('norm_epsilon', 'float', 1e-08, 'added to the norm', low=0.0),
    Field('reference_size', 'float', 589824.0, 'number of elements of a tensor whose calibrated norm is 1', low=1.0),
]

LOOKAHEAD: list[Field] = [
    Field('lookahead_period', 'int', 5, 'steps between merges', low=1.0),
    Field('lookahead_alpha', 'float', 0.5, 'weight of the fast weights in a merge', low=0.0, high=1.0),
]

OTHERS: list[Field] = [
    Field('decay_vectors', 'bool', False, 'apply weight decay to tensors of rank 0 and 1 too'),
    Field('clip_norm', 'optional_float', None, 'upper bound of the norm of all gradients together, as torch.nn.utils.clip_grad_norm_ applies it before the step; none does not clip, and normalized gradients do not change', low=1e-30),
    Field('master_weights', 'bool', False, 'keep a float32 master copy of each 16-bit parameter'),
    Field('non_finite', 'choice', 'skip_tensor', 'policy for non-finite gradients, the same for the whole optimizer', choices=('skip_tensor', 'skip_step', 'throw', 'pass_through')),
]

RULES: dict[str, dict[str, Any]] = {
    'adamw': {
        'fields': [
            Field('learning_rate', 'float', 0.005, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the root of the second moment', low=0.0),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
            Field('softplus_beta', 'optional_float', None, 'sharpness of the softplus that replaces root + epsilon; none turns it off', low=0.001),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'sgd': {
        'fields': [
            Field('learning_rate', 'float', 0.01, 'step size', low=0.0),
            Field('momentum', 'float', 0.0, 'decay of the momentum; 0 keeps none', low=0.0, high=1.0, open_high=True),
            Field('nesterov', 'bool', False, "use Nesterov's momentum"),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'adabelief': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the belief', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-16, 'added to the belief and to its root', low=0.0),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
            Field('rectify', 'bool', True, 'rectify the variance of the adaptive step in early steps'),
            Field('softplus_beta', 'optional_float', None, 'sharpness of the softplus that replaces root + epsilon; none turns it off', low=0.001),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'adafactor': {
        'fields': [
            Field('learning_rate', 'float', 0.01, 'step size', low=0.0),
            Field('decay_power', 'float', 0.8, "exponent of the second moment's decay, 1 - step^-power", low=0.0, high=1.0),
            Field('square_epsilon', 'float', 1e-30, 'added to the squared gradient', low=0.0),
            Field('scale_epsilon', 'float', 0.001, "lower bound of the parameter's root mean square", low=0.0),
            Field('clip_threshold', 'float', 1.0, "upper bound of an update's root mean square", low=1e-30),
            Field('scale_parameter', 'bool', True, "multiply the step by the parameter's root mean square"),
            Field('relative_step', 'bool', False, 'use the step size min(learning_rate, 1/sqrt(step))'),
            Field('weight_decay', 'float', 0.0, 'decoupled weight decay', low=0.0),
            Field('softplus_beta', 'optional_float', None, 'sharpness of the softplus that replaces the root; none turns it off', low=0.001),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'gradient': {
        'fields': [
            Field('learning_rate', 'float', 1.0, 'has no effect', low=0.0),
            Field('weight_decay', 'float', 0.0, 'has no effect', low=0.0),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'nadam': {
        'fields': [
            Field('learning_rate', 'float', 0.002, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the root of the second moment', low=0.0),
            Field('momentum_decay', 'float', 0.004, 'rate at which the momentum rises from beta1 / 2 to beta1', low=0.0),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'yogi': {
        'fields': [
            Field('learning_rate', 'float', 0.01, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 0.001, 'added to the root of the second moment', low=0.0),
            Field('initial_moment', 'float', 1e-06, 'initial value of both moments', low=0.0),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'radam': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the root of the uncorrected second moment', low=0.0),
            Field('early_momentum', 'bool', True, "take a momentum step in the early steps that cannot be rectified; off takes none, as the paper's authors do"),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'adabound': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the root of the second moment', low=0.0),
            Field('final_learning_rate', 'float', 0.1, 'step size that the bounds converge to, before the schedule', low=0.0),
            Field('gamma', 'float', 0.001, 'rate at which the bounds converge', low=1e-12),
            Field('base_learning_rate', 'optional_float', None, 'learning rate that final_learning_rate refers to; none takes learning_rate', low=1e-30),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'adamod': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('beta3', 'float', 0.999, 'decay of the mean step size', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the root of the second moment', low=0.0),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'eadam': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the second moment in each step', low=1e-30),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'sadam': {
        'fields': [
            Field('learning_rate', 'float', 0.1, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the root of the second moment if softplus is off', low=0.0),
            Field('softplus_beta', 'optional_float', 50.0, 'sharpness of the softplus of the root; none uses root + epsilon', low=0.001),
            Field('amsgrad', 'bool', True, 'divide by the largest second moment so far'),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'lion': {
        'fields': [
            Field('learning_rate', 'float', 0.0001, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'share of the momentum in a step', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.99, 'decay of the momentum', low=0.0, high=1.0, open_high=True),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'lamb': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-06, 'added to the root of the second moment', low=0.0),
            Field('weight_decay', 'float', 0.0, "strength of the weight decay, which is part of the update's norm", low=0.0),
            Field('bias_correction', 'bool', False, 'correct both moments as Adam does'),
            Field('always_adapt', 'bool', True, 'use a trust ratio for tensors without weight decay too'),
            Field('norm_limit', 'optional_float', 10.0, "upper bound of the parameter's norm in the trust ratio; none sets no bound", low=1e-30),
            Field('decoupled_decay', 'bool', False, 'decay the parameter directly, outside the trust ratio'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'lars': {
        'fields': [
            Field('learning_rate', 'float', 1.0, 'step size', low=0.0),
            Field('momentum', 'float', 0.0, 'decay of the momentum; 0 keeps none', low=0.0, high=1.0, open_high=True),
            Field('nesterov', 'bool', False, "use Nesterov's momentum"),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay, which is part of the trust ratio', low=0.0),
            Field('trust_coefficient', 'float', 0.001, "size of a step relative to the parameter's norm", low=0.0),
            Field('epsilon', 'float', 1e-08, "added to the trust ratio's denominator", low=0.0),
            Field('always_adapt', 'bool', False, 'use a trust ratio for tensors without weight decay too'),
            Field('decoupled_decay', 'bool', False, 'decay the parameter directly, outside the trust ratio'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'adanorm': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('norm_decay', 'float', 0.95, "decay of the running mean of the gradient's norm", low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the second moment and to its root', low=0.0),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'schedule_free_adamw': {
        'fields': [
            Field('learning_rate', 'float', 0.0025, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'weight of the average in the point where gradients are evaluated', low=0.001, high=1.0),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the root of the second moment', low=0.0),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('own_warmup_steps', 'int', 0, "steps of the rule's own linear warm-up", low=0.0),
            Field('step_power', 'float', 0.0, "exponent of the step's number in its weight in the average", low=0.0),
            Field('rate_power', 'float', 2.0, "exponent of the largest learning rate so far in a step's weight in the average", low=0.0),
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': True,
    },
    'muon': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('momentum', 'float', 0.95, "decay of a matrix's momentum", low=0.0, high=1.0, open_high=True),
            Field('nesterov', 'bool', True, "use Nesterov's momentum"),
            Field('weight_decay', 'float', 0.1, 'decoupled weight decay', low=0.0),
            Field('norm_floor', 'float', 1e-07, 'lower bound of the norm that a matrix is divided by', low=1e-300),
            Field('newton_steps', 'int', 5, 'Newton-Schulz iterations that orthogonalize a matrix', low=0.0, high=99.0),
            Field('newton_a', 'float', 3.4445, 'coefficient of X in the iteration', low=-100.0, high=100.0),
            Field('newton_b', 'float', -4.775, "coefficient of X X' X in the iteration", low=-100.0, high=100.0),
            Field('newton_c', 'float', 2.0315, "coefficient of X X' X X' X in the iteration", low=-100.0, high=100.0),
            Field('rate_adjustment', 'choice', 'original', "factor of a matrix's learning rate: sqrt(max(1, rows / columns)) or 0.2 sqrt(max(rows, columns))", choices=('original', 'match_rms_adamw')),
            Field('orthogonalize', 'bool', True, 'off uses AdamW for matrices too, as is usual for embeddings and output layers'),
            Field('beta1', 'float', 0.9, 'AdamW: decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'AdamW: decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'AdamW: added to the root of the second moment', low=0.0),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'adahessian': {
        'fields': [
            Field('learning_rate', 'float', 0.15, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the squared curvature', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 0.0001, 'added to the root of the curvature', low=0.0),
            Field('half_power', 'bool', False, 'divide by the curvature to the power 1/2 instead of 1'),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off adds it to the standardized gradient (L2)'),
        ],
        'takes_curvature': True,
        'averages': False,
    },
}

SCHEDULES: dict[str, list[Field]] = {
    'constant': [],
    'warmup_cosine': [
        Field('warmup_steps', 'int', 0, 'steps of the linear warm-up', low=0.0),
        Field('total_steps', 'int', 0, 'steps from the start until the final factor is reached', low=1.0),
        Field('final_factor', 'float', 0.0, 'factor from total_steps on', low=0.0, high=1.0),
    ],
    'warmup_hold_cosine': [
        Field('warmup_steps', 'int', 0, 'steps of the linear warm-up', low=0.0),
        Field('hold_steps', 'int', 0, 'steps of the full rate after the warm-up', low=0.0),
        Field('total_steps', 'int', 0, 'steps from the start until the final factor is reached', low=1.0),
        Field('final_factor', 'float', 0.0, 'factor from total_steps on', low=0.0, high=1.0),
    ],
    'warmup_inverse_square_root': [
        Field('warmup_steps', 'int', 0, 'steps of the linear warm-up', low=0.0),
    ],
    'warmup_linear': [
        Field('warmup_steps', 'int', 0, 'steps of the linear warm-up', low=0.0),
        Field('total_steps', 'int', 0, 'steps from the start until the final factor is reached', low=1.0),
        Field('final_factor', 'float', 0.0, 'factor from total_steps on', low=0.0, high=1.0),
    ],
    'piecewise_linear': [
        Field('knots', 'knots', '', 'step:factor pairs with increasing steps, for example 0:1,100:0.5'),
    ],
}

CLASSES: dict[str, dict[str, Any]] = {
    'SING': {'rule': 'adamw', 'options': {'softplus_beta': 50.0}, 'is_published': True},
    'AdamW': {'rule': 'adamw', 'options': {}, 'is_published': False},
    'SGD': {'rule': 'sgd', 'options': {}, 'is_published': False},
    'AdaBelief': {'rule': 'adabelief', 'options': {}, 'is_published': False},
    'Adafactor': {'rule': 'adafactor', 'options': {}, 'is_published': False},
    'NAdam': {'rule': 'nadam', 'options': {}, 'is_published': False},
    'Yogi': {'rule': 'yogi', 'options': {}, 'is_published': False},
    'RAdam': {'rule': 'radam', 'options': {}, 'is_published': False},
    'AdaBound': {'rule': 'adabound', 'options': {}, 'is_published': False},
    'AdaMod': {'rule': 'adamod', 'options': {}, 'is_published': False},
    'EAdam': {'rule': 'eadam', 'options': {}, 'is_published': False},
    'SAdam': {'rule': 'sadam', 'options': {}, 'is_published': False},
    'Lion': {'rule': 'lion', 'options': {}, 'is_published': False},
    'Lamb': {'rule': 'lamb', 'options': {}, 'is_published': False},
    'Lars': {'rule': 'lars', 'options': {}, 'is_published': False},
    'AdaNorm': {'rule': 'adanorm', 'options': {}, 'is_published': False},
    'ScheduleFreeAdamW': {'rule': 'schedule_free_adamw', 'options': {}, 'is_published': False},
    'Muon': {'rule': 'muon', 'options': {}, 'is_published': False},
    'AdaHessian': {'rule': 'adahessian', 'options': {}, 'is_published': False},
    'NVLamb': {'rule': 'lamb', 'options': {'weight_decay': 0.01, 'bias_correction': True, 'always_adapt': False, 'norm_limit': None, 'clip_norm': 1.0}, 'is_published': False},
}
