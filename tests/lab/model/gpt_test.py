"""Compares the C++ language model with transformers' GPT2LMHeadModel: logits and gradients for the same weights.

python gpt_test.py GPT_EXCHANGE    exits with 77 if a package is not installed
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# Both sides compute in double and differ in the order of their sums: a few layers of sums of up to 256 products, each rounded to
# 1.1e-16. Any float32 arithmetic would appear as 1e-7.
RELATIVE = 1e-11
HEADS = 4
# GPT-2's names -> ours.
NAMES = (
    (r"^transformer\.", ""),
    (r"^wte\.weight", "token_embed.weight"),
    (r"^wpe\.weight", "pos_embed"),
    (r"^ln_f\.", "norm."),
    (r"^h\.", "blocks."),
    (r"\.ln_(\d)\.", r".norm\1."),
    (r"\.attn\.c_attn\.", ".attn.qkv."),
    (r"\.attn\.c_proj\.", ".attn.proj."),
    (r"\.mlp\.c_fc\.", ".mlp.fc1."),
    (r"\.mlp\.c_proj\.", ".mlp.fc2."),
)
TRANSPOSED = re.compile(r"(qkv|proj|fc1|fc2)\.weight$")  # transformers' Conv1D holds [in, out]


def ours(name, tensor):
    for pattern, replacement in NAMES:
        name = re.sub(pattern, replacement, name)
    return name, (tensor.t() if TRANSPOSED.search(name) else tensor).contiguous()


def main(exchange):
    torch.manual_seed(20261119)
    config = transformers.GPT2Config(
        vocab_size=91, n_positions=24, n_embd=64, n_layer=3, n_head=HEADS, activation_function="gelu",
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, attn_implementation="eager",
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)  # biases and norms take part too
    tokens = torch.randint(91, (3, 20))
    targets = torch.randint(91, (3, 20))
    with tempfile.TemporaryDirectory() as folder:
        save_file(dict(ours(*item) for item in model.named_parameters()), f"{folder}/weights.safetensors")
        save_file({"tokens": tokens, "targets": targets}, f"{folder}/input.safetensors")
        subprocess.run([exchange, folder, str(HEADS)], check=True)
        result = load_file(pathlib.Path(folder) / "result.safetensors")
    logits = model(tokens).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
    reference = {"logits": logits.detach()}
    for name, parameter in model.named_parameters():
        plain, gradient = ours(name, parameter.grad)
        reference["gradient." + plain] = gradient
    assert set(result) == set(reference), set(result) ^ set(reference)
    worst = 0.0
    for key, tensor in reference.items():
        assert result[key].shape == tensor.shape, key
        difference = ((result[key] - tensor).abs().max() / tensor.abs().max()).item()
        assert difference <= RELATIVE, (key, difference)
        worst = max(worst, difference)
    print(f"{len(result)} tensors, worst {worst:.1e}")


if __name__ == "__main__":
    main(sys.argv[1])
