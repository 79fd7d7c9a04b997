"""Tests the optimizers inside torch.distributed: ZeroRedundancyOptimizer, and checkpoints of torch.distributed.checkpoint."""

import copy

import pytest
import torch
from conftest import same_weights, small_model, train
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.optim import ZeroRedundancyOptimizer

import sing


@pytest.fixture
def one_process():
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("options", [{"weight_decay": 0.1}, {"host": "nadam"}])
def test_zero_redundancy_optimizer(one_process, options):
    model = small_model()
    twin = copy.deepcopy(model)
    sharded, plain = ZeroRedundancyOptimizer(model.parameters(), sing.SING, lr=0.02, **options), sing.SING(twin.parameters(), lr=0.02, **options)
    train(model, sharded, 7)
    train(twin, plain, 7)
    assert same_weights(model, twin)
    assert "slow" in sharded.optim.state[next(model.parameters())]


def test_distributed_checkpoint(one_process):
    model = small_model()
    optimizer = sing.SING(model.parameters(), lr=0.02)
    train(model, optimizer, 7)
    weights, state = copy.deepcopy(get_state_dict(model, optimizer))
    twin = small_model()
    fresh = sing.SING(twin.parameters())
    set_state_dict(twin, fresh, model_state_dict=weights, optim_state_dict=state)
    assert same_weights(model, twin)
    train(model, optimizer, 6, first=7)
    train(twin, fresh, 6, first=7)
    assert same_weights(model, twin)
