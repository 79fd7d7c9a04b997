"""Tests PyTorch Lightning: its closure, checkpoint and resume, against a plain torch loop on the same batches."""

import logging
import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sing
from sing.attach import attach
from sing.groups import param_groups
from sing.schedules import WarmupCosine

lightning = pytest.importorskip("lightning.pytorch")

BATCHES, EPOCHS = 7, 2  # the first epoch ends in the middle of a LookAhead period

KINDS = {
    "attach": lambda groups: attach(torch.optim.AdamW(groups, lr=0.02)),
    "attach, fused": lambda groups: attach(torch.optim.AdamW(groups, lr=0.02, fused=True), normalize="size_calibrated"),
    "SING": lambda groups: sing.SING(groups, lr=0.02),
}


@pytest.fixture(autouse=True)
def quiet():
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def make_network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 1))


def make_loader():
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(4 * BATCHES, 6, generator=generator)
    return DataLoader(TensorDataset(inputs, inputs.square().sum(1, keepdim=True)), batch_size=4)


def make_optimizer(kind, network):
    optimizer = KINDS[kind](param_groups(network, 0.1))
    schedule = WarmupCosine(warmup_steps=3, total_steps=BATCHES * EPOCHS)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)


class Module(lightning.LightningModule):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.network = make_network()

    def training_step(self, batch, index):
        return nn.functional.mse_loss(self.network(batch[0]), batch[1])

    def configure_optimizers(self):
        optimizer, scheduler = make_optimizer(self.kind, self.network)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def fit(kind, folder, epochs, checkpoint=None, **options):
    trainer = lightning.Trainer(
        default_root_dir=folder,
        max_epochs=epochs,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    module = Module(kind)
    trainer.fit(module, make_loader(), ckpt_path=checkpoint)
    return trainer, module


def lookahead_steps(trainer):
    return {group["lookahead_step"] for group in trainer.optimizers[0].state_dict()["param_groups"]}


def weights(network):
    return [parameter.detach().clone() for parameter in network.parameters()]


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def plain_loop(kind):
    network = make_network()
    optimizer, scheduler = make_optimizer(kind, network)
    for _ in range(EPOCHS):
        for inputs, targets in make_loader():
            optimizer.zero_grad()
            nn.functional.mse_loss(network(inputs), targets).backward()
            optimizer.step()
            scheduler.step()
    return weights(network)


@pytest.mark.parametrize("kind", KINDS)
def test_fit_equals_a_plain_loop_and_resumes_exactly(kind, tmp_path):
    _, whole = fit(kind, tmp_path, EPOCHS)
    assert equal(weights(whole.network), plain_loop(kind))

    trainer, first = fit(kind, tmp_path, 1)
    assert trainer.global_step == BATCHES
    assert lookahead_steps(trainer) == {BATCHES}
    trainer.save_checkpoint(tmp_path / "first.ckpt")
    assert not equal(weights(first.network), weights(whole.network))
    trainer, second = fit(kind, tmp_path, EPOCHS, tmp_path / "first.ckpt")
    assert trainer.global_step == BATCHES * EPOCHS
    assert equal(weights(second.network), weights(whole.network))


@pytest.mark.parametrize("kind", ["attach", "SING"])
def test_clipping_the_norm_has_almost_no_effect(kind, tmp_path):
    """The scale affects only norm_epsilon and rounding: a factor of 1 + 1e-8 / 0.01 for each gradient, over 14 steps of 0.02."""
    _, free = fit(kind, tmp_path, EPOCHS)
    _, clipped = fit(kind, tmp_path, EPOCHS, gradient_clip_val=0.01)
    for one, other in zip(weights(free.network), weights(clipped.network)):
        assert torch.allclose(one, other, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", ["attach", "SING"])
def test_gradient_accumulation(kind, tmp_path):
    """Seven batches, two per step: each epoch has three whole steps and one step of a single batch."""
    trainer, module = fit(kind, tmp_path, EPOCHS, accumulate_grad_batches=2)
    assert trainer.global_step == 8
    assert lookahead_steps(trainer) == {8}
    network = make_network()
    optimizer, scheduler = make_optimizer(kind, network)
    for _ in range(EPOCHS):
        for index, (inputs, targets) in enumerate(make_loader()):
            (nn.functional.mse_loss(network(inputs), targets) / 2).backward()
            if index % 2 == 1 or index == BATCHES - 1:
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
    assert equal(weights(module.network), weights(network))
