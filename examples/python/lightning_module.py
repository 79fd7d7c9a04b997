"""Trains with PyTorch Lightning: configure_optimizers returns SING.

python examples/python/lightning_module.py fits a small network to a function of 8 variables, in seconds on a CPU.
"""

import logging
import sys
import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sing

EPOCHS, BATCH, COUNT = 12, 64, 4096


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(8, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 1))

    def training_step(self, batch, _):
        inputs, targets = batch
        return nn.functional.mse_loss(self.network(inputs), targets)

    def validation_step(self, batch, _):
        inputs, targets = batch
        self.log("loss", nn.functional.mse_loss(self.network(inputs), targets))

    def configure_optimizers(self):
        optimizer = sing.PlugSING(sing.param_groups(self, weight_decay=1e-2), lr=5e-3)
        steps = self.trainer.estimated_stepping_batches
        schedule = sing.schedules.WarmupCosine(warmup_steps=steps // 20, total_steps=steps)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def make_loader(seed, shuffle):
    inputs = torch.randn(COUNT, 8, generator=torch.Generator().manual_seed(seed))
    targets = inputs[:, :1] * inputs[:, 1:2] + inputs[:, 2:3].sin()
    return DataLoader(TensorDataset(inputs, targets), batch_size=BATCH, shuffle=shuffle)


def main():
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    lightning.seed_everything(0, verbose=False)
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False
    )
    model = Regression()
    test = make_loader(2, shuffle=False)
    [before] = trainer.validate(model, test, verbose=False)
    trainer.fit(model, make_loader(1, shuffle=True))
    [after] = trainer.validate(model, test, verbose=False)
    print(f"test loss {before['loss']:.3f} before, {after['loss']:.3f} after")
    return 0 if after["loss"] < 0.1 * before["loss"] else 1


if __name__ == "__main__":
    sys.exit(main())
