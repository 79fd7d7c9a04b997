"""Trains with the Trainer of Hugging Face's transformers: PlugSING by `optimizer_cls_and_kwargs`.

python examples/python/huggingface_trainer.py teaches a very small GPT-2 to repeat a text of four letters, in seconds on a CPU.
"""

import os
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers

import sing

LETTERS, LENGTH, COUNT = 12, 4, 2048


class Repetitions(torch.utils.data.Dataset):
    """Random texts, each followed by itself; the loss is that of the second half."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        first = torch.randint(LETTERS, (COUNT, LENGTH), generator=generator)
        self.texts = torch.cat([first, first], dim=1)

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        labels = self.texts[index].clone()
        labels[:LENGTH] = -100
        return {"input_ids": self.texts[index], "labels": labels}


def main():
    transformers.set_seed(0)
    config = transformers.GPT2Config(
        vocab_size=LETTERS, n_positions=2 * LENGTH, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = transformers.Trainer(
            transformers.GPT2LMHeadModel(config),
            transformers.TrainingArguments(
                output_dir=folder,
                num_train_epochs=12,
                per_device_train_batch_size=64,
                lr_scheduler_type="cosine",
                warmup_steps=20,
                use_cpu=True,
                disable_tqdm=True,
                report_to=[],
                logging_strategy="no",
                save_strategy="no",
            ),
            train_dataset=Repetitions(1),
            eval_dataset=Repetitions(2),
            optimizer_cls_and_kwargs=(sing.PlugSING, {"lr": 3e-3}),  # in place of (torch.optim.AdamW, {"lr": 3e-3})
        )
        before = trainer.evaluate()["eval_loss"]
        trainer.train()
        after = trainer.evaluate()["eval_loss"]
    print(f"loss {before:.3f} before, {after:.3f} after")
    return 0 if after < 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
