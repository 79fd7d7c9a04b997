"""Tests Hugging Face accelerate: prepare(), gradient accumulation, save_state() and load_state(), against a plain torch loop."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sing
from sing.attach import attach
from sing.groups import param_groups
from sing.schedules import WarmupLinear

accelerate = pytest.importorskip("accelerate")

BATCHES, ACCUMULATED = 26, 2  # 13 steps
KINDS = {
    "attach": lambda groups: attach(torch.optim.AdamW(groups, lr=0.02)),
    "attach, bfloat16": lambda groups: attach(torch.optim.SGD(groups, lr=0.5, momentum=0.9)),
    "SING": lambda groups: sing.SING(groups, lr=0.02),
    "SING, bfloat16": lambda groups: sing.SING(groups, lr=0.02),
}


def make(kind):
    torch.manual_seed(3)
    network = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 1))
    network.to(torch.bfloat16 if "bfloat16" in kind else torch.float32)
    optimizer = KINDS[kind](param_groups(network, 0.1))
    schedule = WarmupLinear(warmup_steps=2, total_steps=BATCHES // ACCUMULATED)
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(4 * BATCHES, 6, generator=generator)
    data = TensorDataset(inputs, inputs.square().sum(1, keepdim=True))
    return network, optimizer, DataLoader(data, batch_size=4), torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)


def loss_of(network, inputs, targets):
    dtype = next(network.parameters()).dtype
    return nn.functional.mse_loss(network(inputs.to(dtype)), targets.to(dtype))


class Run:
    def __init__(self, kind):
        self.accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=ACCUMULATED)
        self.network, self.optimizer, self.loader, self.scheduler = self.accelerator.prepare(*make(kind))

    def train(self, begin, end):
        for index, (inputs, targets) in enumerate(self.loader):
            if begin <= index < end:
                with self.accelerator.accumulate(self.network):
                    self.accelerator.backward(loss_of(self.network, inputs, targets))
                    self.optimizer.step()
                    self.scheduler.step()
                    self.optimizer.zero_grad()
        return self

    def weights(self):
        return [parameter.detach().clone() for parameter in self.network.parameters()]


def plain_loop(kind):
    network, optimizer, loader, scheduler = make(kind)
    for index, (inputs, targets) in enumerate(loader):
        (loss_of(network, inputs, targets) / ACCUMULATED).backward()
        if index % ACCUMULATED == ACCUMULATED - 1:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    return [parameter.detach().clone() for parameter in network.parameters()]


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_training_equals_a_plain_loop_and_resumes_exactly(kind, tmp_path):
    whole = Run(kind).train(0, BATCHES)
    assert equal(whole.weights(), plain_loop(kind))
    middle = 7 * ACCUMULATED  # in the middle of a LookAhead period
    first = Run(kind).train(0, middle)
    first.accelerator.save_state(str(tmp_path))
    assert not equal(first.weights(), whole.weights())

    second = Run(kind)
    second.accelerator.load_state(str(tmp_path))
    assert equal(first.weights(), second.weights())
    assert second.optimizer.state_dict()["param_groups"][0]["lookahead_step"] == 7
    slow = second.optimizer.state[second.optimizer.param_groups[0]["params"][0]]["slow"]
    assert slow.dtype == torch.float32
    second.train(middle, BATCHES)
    assert equal(second.weights(), whole.weights())


@pytest.mark.parametrize("kind", ["attach", "SING"])
def test_clipping_through_accelerate_has_almost_no_effect(kind):
    """The scale of a gradient affects only norm_epsilon and rounding."""
    free = Run(kind).train(0, BATCHES)
    clipped = Run(kind)
    for inputs, targets in clipped.loader:
        with clipped.accelerator.accumulate(clipped.network):
            clipped.accelerator.backward(loss_of(clipped.network, inputs, targets))
            if clipped.accelerator.sync_gradients:
                clipped.accelerator.clip_grad_norm_(clipped.network.parameters(), 0.01)
            clipped.optimizer.step()
            clipped.scheduler.step()
            clipped.optimizer.zero_grad()
    for one, other in zip(free.weights(), clipped.weights()):
        assert torch.allclose(one, other, rtol=0, atol=1e-4)


def test_attach_names_what_to_attach_to():
    wrapped = Run("attach").optimizer
    with pytest.raises(TypeError, match="attach to the optimizer inside it"):
        attach(wrapped)
