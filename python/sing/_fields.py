"""Option fields of every rule, made by tools/make_python_fields.py: do not edit."""

from typing import Any

COMMON: list[dict[str, Any]] = [
    {'name': 'centralize', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': "subtract each row's mean from tensors of rank 2 and more", 'choices': []},
    {'name': 'centralize_axis', 'kind': 'int', 'default': 0, 'low': 0.0, 'high': None, 'open_high': False, 'help': "the axis whose entries are rows; 0 is the paper's", 'choices': []},
    {'name': 'normalize', 'kind': 'choice', 'default': 'unit_norm', 'low': None, 'high': None, 'open_high': False, 'help': "norm given to each tensor's gradient: off, 1, or sqrt(size / reference_size)", 'choices': ['off', 'unit_norm', 'size_calibrated']},
    {'name': 'norm_epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the norm', 'choices': []},
    {'name': 'reference_size', 'kind': 'float', 'default': 589824.0, 'low': 1.0, 'high': None, 'open_high': False, 'help': 'size of a tensor whose calibrated norm is 1', 'choices': []},
    {'name': 'lookahead_period', 'kind': 'int', 'default': 5, 'low': 1.0, 'high': None, 'open_high': False, 'help': 'steps from merge to merge', 'choices': []},
    {'name': 'lookahead_alpha', 'kind': 'float', 'default': 0.5, 'low': 0.0, 'high': 1.0, 'open_high': False, 'help': 'share of the fast weights in a merge', 'choices': []},
    {'name': 'decay_vectors', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'weight decay for tensors of rank 0 and 1 too', 'choices': []},
    {'name': 'master_weights', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'keep a float32 master of each 16-bit parameter', 'choices': []},
    {'name': 'non_finite', 'kind': 'choice', 'default': 'skip_tensor', 'low': None, 'high': None, 'open_high': False, 'help': 'what becomes of a non-finite gradient; one for the whole optimizer', 'choices': ['skip_tensor', 'skip_step', 'throw', 'pass_through']},
]

RULES: dict[str, dict[str, Any]] = {
    'adamw': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.005, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the root of the second moment', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
            {'name': 'softplus_beta', 'kind': 'optional_float', 'default': None, 'low': 0.001, 'high': None, 'open_high': False, 'help': 'sharpness of the softplus that replaces root + epsilon; none: off', 'choices': []},
        ],
        'slots': ['first_moment', 'second_moment'],
    },
    'sgd': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.01, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'momentum', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the momentum; 0: none', 'choices': []},
            {'name': 'nesterov', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'look one momentum step ahead', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
        ],
        'slots': ['momentum'],
    },
    'adabelief': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the belief', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-16, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the belief and to its root', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
            {'name': 'rectify', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'rectify the variance of early steps', 'choices': []},
            {'name': 'softplus_beta', 'kind': 'optional_float', 'default': None, 'low': 0.001, 'high': None, 'open_high': False, 'help': 'sharpness of the softplus that replaces root + epsilon; none: off', 'choices': []},
        ],
        'slots': ['first_moment', 'belief'],
    },
    'adafactor': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.01, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'decay_power', 'kind': 'float', 'default': 0.8, 'low': 0.0, 'high': 1.0, 'open_high': False, 'help': "the second moment's decay is 1 - step^-power", 'choices': []},
            {'name': 'square_epsilon', 'kind': 'float', 'default': 1e-30, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the squared gradient', 'choices': []},
            {'name': 'scale_epsilon', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'least root mean square taken for a parameter', 'choices': []},
            {'name': 'clip_threshold', 'kind': 'float', 'default': 1.0, 'low': 1e-30, 'high': None, 'open_high': False, 'help': 'largest root mean square of an update', 'choices': []},
            {'name': 'scale_parameter', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': "multiply the step by the parameter's root mean square", 'choices': []},
            {'name': 'relative_step', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'step size min(learning_rate, 1/sqrt(step))', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'decoupled weight decay', 'choices': []},
            {'name': 'softplus_beta', 'kind': 'optional_float', 'default': None, 'low': 0.001, 'high': None, 'open_high': False, 'help': 'sharpness of the softplus that replaces the root; none: off', 'choices': []},
        ],
        'slots': ['second_moment', 'row_second_moment', 'column_second_moment'],
    },
    'gradient': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 1.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'has no effect', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'has no effect', 'choices': []},
        ],
        'slots': [],
    },
    'nadam': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.002, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the root of the second moment', 'choices': []},
            {'name': 'momentum_decay', 'kind': 'float', 'default': 0.004, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'how fast the momentum rises from beta1 / 2 to beta1', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
        ],
        'slots': ['first_moment', 'second_moment'],
    },
    'yogi': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.01, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the root of the second moment', 'choices': []},
            {'name': 'initial_moment', 'kind': 'float', 'default': 1e-06, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'what both moments start from', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
        ],
        'slots': ['first_moment', 'second_moment'],
    },
    'radam': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the root of the uncorrected second moment', 'choices': []},
            {'name': 'early_momentum', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'momentum alone while it is too early to rectify; off: no step, as its authors', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
        ],
        'slots': ['first_moment', 'second_moment'],
    },
    'adabound': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the root of the second moment', 'choices': []},
            {'name': 'final_learning_rate', 'kind': 'float', 'default': 0.1, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'where the bounds meet, before the schedule', 'choices': []},
            {'name': 'gamma', 'kind': 'float', 'default': 0.001, 'low': 1e-12, 'high': None, 'open_high': False, 'help': 'how fast the bounds close', 'choices': []},
            {'name': 'base_learning_rate', 'kind': 'optional_float', 'default': None, 'low': 1e-30, 'high': None, 'open_high': False, 'help': 'the learning rate for which final_learning_rate is meant; none: learning_rate', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
        ],
        'slots': ['first_moment', 'second_moment'],
    },
    'adamod': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'beta3', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the mean step size', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the root of the second moment', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
        ],
        'slots': ['first_moment', 'second_moment', 'mean_step_size'],
    },
    'eadam': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 1e-30, 'high': None, 'open_high': False, 'help': 'added to the second moment each step', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
        ],
        'slots': ['first_moment', 'second_moment'],
    },
    'sadam': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.1, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the root of the second moment where softplus is off', 'choices': []},
            {'name': 'softplus_beta', 'kind': 'optional_float', 'default': 50.0, 'low': 0.001, 'high': None, 'open_high': False, 'help': 'sharpness of the softplus of the root; none: root + epsilon', 'choices': []},
            {'name': 'amsgrad', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'divide by the largest second moment so far', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
        ],
        'slots': ['first_moment', 'second_moment', 'largest_second_moment'],
    },
    'lion': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.0001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'share of the momentum in a step', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.99, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the momentum', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'strength of the weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'decay shrinks the parameter; off: it joins the standardized gradient (L2)', 'choices': []},
        ],
        'slots': ['first_moment'],
    },
    'lamb': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-06, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the root of the second moment', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'weight decay, inside the norm', 'choices': []},
            {'name': 'bias_correction', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'correct both moments as Adam does', 'choices': []},
            {'name': 'always_adapt', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'give tensors without weight decay a trust ratio too', 'choices': []},
            {'name': 'norm_limit', 'kind': 'optional_float', 'default': 10.0, 'low': 1e-30, 'high': None, 'open_high': False, 'help': 'largest norm taken for a parameter; none: no limit', 'choices': []},
            {'name': 'clip_norm', 'kind': 'optional_float', 'default': None, 'low': 1e-30, 'high': None, 'open_high': False, 'help': 'largest norm of all gradients together; none: not clipped', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'decay the parameter itself, outside the norm', 'choices': []},
        ],
        'slots': ['first_moment', 'second_moment'],
    },
    'lars': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 1.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'momentum', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the momentum; 0: none', 'choices': []},
            {'name': 'nesterov', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'look one momentum step ahead', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'weight decay, inside the ratio', 'choices': []},
            {'name': 'trust_coefficient', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': "size of a step against the parameter's norm", 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': "added to the ratio's denominator", 'choices': []},
            {'name': 'always_adapt', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'give tensors without weight decay a trust ratio too', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'decay the parameter itself, outside the ratio', 'choices': []},
        ],
        'slots': ['momentum'],
    },
    'adanorm': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'norm_decay', 'kind': 'float', 'default': 0.95, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': "decay of the mean of the gradient's norm", 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the second moment and to its root', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'weight decay', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'decay the parameter itself, not its gradient', 'choices': []},
        ],
        'slots': ['first_moment', 'second_moment', 'gradient_norm'],
    },
    'schedule_free_adamw': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.0025, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.001, 'high': 1.0, 'open_high': False, 'help': 'share of the average in the point where gradients are taken', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the second moment', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the root of the second moment', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'weight decay', 'choices': []},
            {'name': 'own_warmup_steps', 'kind': 'int', 'default': 0, 'low': 0.0, 'high': None, 'open_high': False, 'help': "steps of a linear warm-up of the rule's own", 'choices': []},
            {'name': 'step_power', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'a step weighs its number to this power in the average', 'choices': []},
            {'name': 'rate_power', 'kind': 'float', 'default': 2.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'a step weighs the largest rate so far to this power in the average', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'decay the parameter itself, not its gradient', 'choices': []},
        ],
        'slots': ['fast', 'second_moment', 'largest_rate', 'weight_sum'],
    },
    'muon': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'momentum', 'kind': 'float', 'default': 0.95, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': "decay of a matrix's momentum", 'choices': []},
            {'name': 'nesterov', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'look one momentum step ahead', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.1, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'decoupled weight decay', 'choices': []},
            {'name': 'norm_floor', 'kind': 'float', 'default': 1e-07, 'low': 1e-300, 'high': None, 'open_high': False, 'help': 'least norm that a matrix is divided by', 'choices': []},
            {'name': 'newton_steps', 'kind': 'int', 'default': 5, 'low': 0.0, 'high': 99.0, 'open_high': False, 'help': 'iterations that make a matrix orthogonal', 'choices': []},
            {'name': 'newton_a', 'kind': 'float', 'default': 3.4445, 'low': -100.0, 'high': 100.0, 'open_high': False, 'help': 'their polynomial: of X', 'choices': []},
            {'name': 'newton_b', 'kind': 'float', 'default': -4.775, 'low': -100.0, 'high': 100.0, 'open_high': False, 'help': "of X X' X", 'choices': []},
            {'name': 'newton_c', 'kind': 'float', 'default': 2.0315, 'low': -100.0, 'high': 100.0, 'open_high': False, 'help': "of X X' X X' X", 'choices': []},
            {'name': 'rate_adjustment', 'kind': 'choice', 'default': 'original', 'low': None, 'high': None, 'open_high': False, 'help': 'the rate times sqrt(max(1, rows / columns)), or 0.2 sqrt(max(rows, columns))', 'choices': ['original', 'match_rms_adamw']},
            {'name': 'orthogonalize', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'off: AdamW for matrices too, as for embeddings and output layers', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'AdamW: decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'AdamW: decay of the second moment', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 1e-08, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'AdamW: added to the root', 'choices': []},
        ],
        'slots': ['momentum', 'second_moment'],
    },
    'adahessian': {
        'fields': [
            {'name': 'learning_rate', 'kind': 'float', 'default': 0.15, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'step size', 'choices': []},
            {'name': 'beta1', 'kind': 'float', 'default': 0.9, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the first moment', 'choices': []},
            {'name': 'beta2', 'kind': 'float', 'default': 0.999, 'low': 0.0, 'high': 1.0, 'open_high': True, 'help': 'decay of the squared curvature', 'choices': []},
            {'name': 'epsilon', 'kind': 'float', 'default': 0.0001, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'added to the root of the curvature', 'choices': []},
            {'name': 'weight_decay', 'kind': 'float', 'default': 0.0, 'low': 0.0, 'high': None, 'open_high': False, 'help': 'weight decay', 'choices': []},
            {'name': 'half_power', 'kind': 'bool', 'default': False, 'low': None, 'high': None, 'open_high': False, 'help': 'divide by the curvature to the power 1/2 instead of 1', 'choices': []},
            {'name': 'decoupled_decay', 'kind': 'bool', 'default': True, 'low': None, 'high': None, 'open_high': False, 'help': 'decay the parameter itself, not its gradient', 'choices': []},
        ],
        'slots': ['first_moment', 'curvature_moment'],
    },
}

FORMS: dict[str, dict[str, Any]] = {
    'nvlamb': {
        'rule': 'lamb',
        'options': {
            'weight_decay': 0.01,
            'bias_correction': True,
            'always_adapt': False,
            'norm_limit': None,
            'clip_norm': 1.0,
        },
    },
}

PAPER: dict[str, Any] = {
    'rule': 'adamw',
    'options': {
        'softplus_beta': 50.0,
    },
}
