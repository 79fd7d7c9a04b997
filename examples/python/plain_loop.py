"""Trains a small network in a plain PyTorch loop: PlugSING in place of AdamW, a schedule, resuming from a checkpoint.

python examples/python/plain_loop.py learns to tell two spirals apart, in seconds on a CPU.
"""

import pathlib
import sys
import tempfile

import torch
from torch import nn

import sing

STEPS, BATCH = 600, 256


def spirals(count, generator):
    """Returns points of two interleaved spirals, and the spiral of each."""
    label = torch.randint(2, (count,), generator=generator)
    angle = 3 * torch.pi * torch.rand(count, generator=generator).sqrt()
    turned = angle + torch.pi * label
    points = torch.stack([angle * turned.cos(), angle * turned.sin()], dim=1) / 10
    return points + 0.01 * torch.randn(count, 2, generator=generator), label


def make_model():
    return nn.Sequential(nn.Linear(2, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 2))


def make_optimizer(model):
    groups = sing.param_groups(model, weight_decay=1e-2)  # none for biases and norm layers
    optimizer = sing.PlugSING(groups, lr=5e-3)  # in place of torch.optim.AdamW(groups, lr=5e-3)
    schedule = sing.schedules.WarmupCosine(warmup_steps=30, total_steps=STEPS)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)


def train(model, optimizer, scheduler, generator, steps):
    for step in steps:
        points, labels = spirals(BATCH, generator)
        loss = nn.functional.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 100 == 0:
            print(f"step {step:3}  loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = make_model()
    optimizer, scheduler = make_optimizer(model)
    train(model, optimizer, scheduler, generator, range(STEPS // 2))

    # The second half is trained by new objects, which take their state from a checkpoint. The weights get the same bits as without it.
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "checkpoint.pt")
        trained = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
        torch.save({name: each.state_dict() for name, each in trained.items()}, path)
        saved = torch.load(path)
    model = make_model()
    model.load_state_dict(saved["model"])
    optimizer, scheduler = make_optimizer(model)
    optimizer.load_state_dict(saved["optimizer"])
    scheduler.load_state_dict(saved["scheduler"])
    train(model, optimizer, scheduler, generator, range(STEPS // 2, STEPS))

    points, labels = spirals(4000, generator)
    accuracy = (model(points).argmax(dim=1) == labels).float().mean().item()
    print(f"accuracy {100 * accuracy:.1f} %")
    return 0 if accuracy > 0.97 else 1


if __name__ == "__main__":
    sys.exit(main())
