"""Options of every rule and class, made by tools/make_python_fields.py: do not edit."""

from typing import Any

from sing.field import Field

STANDARDIZE: list[Field] = [
    Field('centralize', 'bool', True, "subtract each row's mean from tensors of rank 2 and more"),
    Field('centralize_axis', 'int', 0, "the axis whose entries are rows; 0 is the paper's", low=0.0),
    Field('normalize', 'choice', 'unit_norm', "norm given to each tensor's gradient: off, 1, or sqrt(size / reference_size)", choices=('off', 'unit_norm', 'size_calibrated')),
    Field('norm_epsilon', 'float', 1e-08, 'added to the norm', low=0.0),
    Field('reference_size', 'float', 589824.0, 'size of a tensor whose calibrated norm is 1', low=1.0),
]

LOOKAHEAD: list[Field] = [
    Field('lookahead_period', 'int', 5, 'steps from merge to merge', low=1.0),
    Field('lookahead_alpha', 'float', 0.5, 'share of the fast weights in a merge', low=0.0, high=1.0),
]

OTHERS: list[Field] = [
    Field('decay_vectors', 'bool', False, 'weight decay for tensors of rank 0 and 1 too'),
    Field('master_weights', 'bool', False, 'keep a float32 master of each 16-bit parameter'),
    Field('non_finite', 'choice', 'skip_tensor', 'what becomes of a non-finite gradient; one for the whole optimizer', choices=('skip_tensor', 'skip_step', 'throw', 'pass_through')),
]

RULES: dict[str, dict[str, Any]] = {
    'adamw': {
        'fields': [
            Field('learning_rate', 'float', 0.005, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the root of the second moment', low=0.0),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
            Field('softplus_beta', 'optional_float', None, 'sharpness of the softplus that replaces root + epsilon; none: off', low=0.001),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'sgd': {
        'fields': [
            Field('learning_rate', 'float', 0.01, 'step size', low=0.0),
            Field('momentum', 'float', 0.0, 'decay of the momentum; 0: none', low=0.0, high=1.0, open_high=True),
            Field('nesterov', 'bool', False, 'look one momentum step ahead'),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
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
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
            Field('rectify', 'bool', True, 'rectify the variance of early steps'),
            Field('softplus_beta', 'optional_float', None, 'sharpness of the softplus that replaces root + epsilon; none: off', low=0.001),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'adafactor': {
        'fields': [
            Field('learning_rate', 'float', 0.01, 'step size', low=0.0),
            Field('decay_power', 'float', 0.8, "the second moment's decay is 1 - step^-power", low=0.0, high=1.0),
            Field('square_epsilon', 'float', 1e-30, 'added to the squared gradient', low=0.0),
            Field('scale_epsilon', 'float', 0.001, 'least root mean square taken for a parameter', low=0.0),
            Field('clip_threshold', 'float', 1.0, 'largest root mean square of an update', low=1e-30),
            Field('scale_parameter', 'bool', True, "multiply the step by the parameter's root mean square"),
            Field('relative_step', 'bool', False, 'step size min(learning_rate, 1/sqrt(step))'),
            Field('weight_decay', 'float', 0.0, 'decoupled weight decay', low=0.0),
            Field('softplus_beta', 'optional_float', None, 'sharpness of the softplus that replaces the root; none: off', low=0.001),
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
            Field('momentum_decay', 'float', 0.004, 'how fast the momentum rises from beta1 / 2 to beta1', low=0.0),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
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
            Field('initial_moment', 'float', 1e-06, 'what both moments start from', low=0.0),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
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
            Field('early_momentum', 'bool', True, 'momentum alone while it is too early to rectify; off: no step, as its authors'),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
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
            Field('final_learning_rate', 'float', 0.1, 'where the bounds meet, before the schedule', low=0.0),
            Field('gamma', 'float', 0.001, 'how fast the bounds close', low=1e-12),
            Field('base_learning_rate', 'optional_float', None, 'the learning rate for which final_learning_rate is meant; none: learning_rate', low=1e-30),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
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
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'eadam': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the second moment each step', low=1e-30),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'sadam': {
        'fields': [
            Field('learning_rate', 'float', 0.1, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the root of the second moment where softplus is off', low=0.0),
            Field('softplus_beta', 'optional_float', 50.0, 'sharpness of the softplus of the root; none: root + epsilon', low=0.001),
            Field('amsgrad', 'bool', True, 'divide by the largest second moment so far'),
            Field('weight_decay', 'float', 0.0, 'strength of the weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
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
            Field('decoupled_decay', 'bool', True, 'decay shrinks the parameter; off: it joins the standardized gradient (L2)'),
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
            Field('weight_decay', 'float', 0.0, 'weight decay, inside the norm', low=0.0),
            Field('bias_correction', 'bool', False, 'correct both moments as Adam does'),
            Field('always_adapt', 'bool', True, 'give tensors without weight decay a trust ratio too'),
            Field('norm_limit', 'optional_float', 10.0, 'largest norm taken for a parameter; none: no limit', low=1e-30),
            Field('clip_norm', 'optional_float', None, 'largest norm of all gradients together; none: not clipped', low=1e-30),
            Field('decoupled_decay', 'bool', False, 'decay the parameter itself, outside the norm'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'lars': {
        'fields': [
            Field('learning_rate', 'float', 1.0, 'step size', low=0.0),
            Field('momentum', 'float', 0.0, 'decay of the momentum; 0: none', low=0.0, high=1.0, open_high=True),
            Field('nesterov', 'bool', False, 'look one momentum step ahead'),
            Field('weight_decay', 'float', 0.0, 'weight decay, inside the ratio', low=0.0),
            Field('trust_coefficient', 'float', 0.001, "size of a step against the parameter's norm", low=0.0),
            Field('epsilon', 'float', 1e-08, "added to the ratio's denominator", low=0.0),
            Field('always_adapt', 'bool', False, 'give tensors without weight decay a trust ratio too'),
            Field('decoupled_decay', 'bool', False, 'decay the parameter itself, outside the ratio'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'adanorm': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('norm_decay', 'float', 0.95, "decay of the mean of the gradient's norm", low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the second moment and to its root', low=0.0),
            Field('weight_decay', 'float', 0.0, 'weight decay', low=0.0),
            Field('decoupled_decay', 'bool', False, 'decay the parameter itself, not its gradient'),
        ],
        'takes_curvature': False,
        'averages': False,
    },
    'schedule_free_adamw': {
        'fields': [
            Field('learning_rate', 'float', 0.0025, 'step size', low=0.0),
            Field('beta1', 'float', 0.9, 'share of the average in the point where gradients are taken', low=0.001, high=1.0),
            Field('beta2', 'float', 0.999, 'decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'added to the root of the second moment', low=0.0),
            Field('weight_decay', 'float', 0.0, 'weight decay', low=0.0),
            Field('own_warmup_steps', 'int', 0, "steps of a linear warm-up of the rule's own", low=0.0),
            Field('step_power', 'float', 0.0, 'a step weighs its number to this power in the average', low=0.0),
            Field('rate_power', 'float', 2.0, 'a step weighs the largest rate so far to this power in the average', low=0.0),
            Field('decoupled_decay', 'bool', True, 'decay the parameter itself, not its gradient'),
        ],
        'takes_curvature': False,
        'averages': True,
    },
    'muon': {
        'fields': [
            Field('learning_rate', 'float', 0.001, 'step size', low=0.0),
            Field('momentum', 'float', 0.95, "decay of a matrix's momentum", low=0.0, high=1.0, open_high=True),
            Field('nesterov', 'bool', True, 'look one momentum step ahead'),
            Field('weight_decay', 'float', 0.1, 'decoupled weight decay', low=0.0),
            Field('norm_floor', 'float', 1e-07, 'least norm that a matrix is divided by', low=1e-300),
            Field('newton_steps', 'int', 5, 'iterations that make a matrix orthogonal', low=0.0, high=99.0),
            Field('newton_a', 'float', 3.4445, 'their polynomial: of X', low=-100.0, high=100.0),
            Field('newton_b', 'float', -4.775, "of X X' X", low=-100.0, high=100.0),
            Field('newton_c', 'float', 2.0315, "of X X' X X' X", low=-100.0, high=100.0),
            Field('rate_adjustment', 'choice', 'original', 'the rate times sqrt(max(1, rows / columns)), or 0.2 sqrt(max(rows, columns))', choices=('original', 'match_rms_adamw')),
            Field('orthogonalize', 'bool', True, 'off: AdamW for matrices too, as for embeddings and output layers'),
            Field('beta1', 'float', 0.9, 'AdamW: decay of the first moment', low=0.0, high=1.0, open_high=True),
            Field('beta2', 'float', 0.999, 'AdamW: decay of the second moment', low=0.0, high=1.0, open_high=True),
            Field('epsilon', 'float', 1e-08, 'AdamW: added to the root', low=0.0),
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
            Field('weight_decay', 'float', 0.0, 'weight decay', low=0.0),
            Field('half_power', 'bool', False, 'divide by the curvature to the power 1/2 instead of 1'),
            Field('decoupled_decay', 'bool', True, 'decay the parameter itself, not its gradient'),
        ],
        'takes_curvature': True,
        'averages': False,
    },
}

SCHEDULES: dict[str, list[Field]] = {
    'constant': [],
    'warmup_cosine': [
        Field('warmup_steps', 'int', 0, 'steps of linear rise', low=0.0),
        Field('total_steps', 'int', 0, 'steps until the final factor, warm-up included', low=1.0),
        Field('final_factor', 'float', 0.0, 'factor from total_steps on', low=0.0, high=1.0),
    ],
    'warmup_hold_cosine': [
        Field('warmup_steps', 'int', 0, 'steps of linear rise', low=0.0),
        Field('hold_steps', 'int', 0, 'steps of full rate after the rise', low=0.0),
        Field('total_steps', 'int', 0, 'steps until the final factor, warm-up and hold included', low=1.0),
        Field('final_factor', 'float', 0.0, 'factor from total_steps on', low=0.0, high=1.0),
    ],
    'warmup_inverse_square_root': [
        Field('warmup_steps', 'int', 0, 'steps of linear rise', low=0.0),
    ],
    'warmup_linear': [
        Field('warmup_steps', 'int', 0, 'steps of linear rise', low=0.0),
        Field('total_steps', 'int', 0, 'steps until the final factor, warm-up included', low=1.0),
        Field('final_factor', 'float', 0.0, 'factor from total_steps on', low=0.0, high=1.0),
    ],
    'piecewise_linear': [
        Field('knots', 'knots', '', 'step:factor pairs in rising order of steps, as in 0:1,100:0.5'),
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
