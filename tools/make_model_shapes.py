"""Writes bench/model_shapes.json: the parameter shapes of the models that the benchmarks step.

python tools/make_model_shapes.py [--check] writes the file, or exits with 1 if it is not what would be written.

A model is a list of parts in the order of its parameters, each a list of shapes that is repeated `repeat` times.
"""

import argparse
import json
import math
import pathlib
import sys

FILE = pathlib.Path(__file__).resolve().parent.parent / "bench" / "model_shapes.json"


def part(*shapes, repeat=1):
    return {"repeat": repeat, "shapes": [list(shape) for shape in shapes]}


def linear(outputs, inputs):
    return [(outputs, inputs), (outputs,)]


def transformer_block(width):
    """Pre-norm: norm, query-key-value, projection, norm, two layers of four times the width."""
    norm = [(width,), (width,)]
    attention = linear(3 * width, width) + linear(width, width)
    return norm + attention + norm + linear(4 * width, width) + linear(width, 4 * width)


def vit(width, layers, tokens=64, patch=16):
    """One input channel, no class token, a linear head to the pixels of a patch."""
    return [
        part((width, 1, patch, patch), (width,), (1, tokens, width)),
        part(*transformer_block(width), repeat=layers),
        part((width,), (width,), *linear(patch * patch, width)),
    ]


def gpt2(width, layers, vocabulary=50257, context=1024):
    """The head is the token embedding."""
    return [
        part((vocabulary, width), (context, width)),
        part(*transformer_block(width), repeat=layers),
        part((width,), (width,)),
    ]


def batch_norm_convolution(outputs, inputs, side):
    return [(outputs, inputs, side, side), (outputs,), (outputs,)]


def resnet18(classes=1000):
    shapes = batch_norm_convolution(64, 3, 7)
    inputs = 64
    for outputs in (64, 128, 256, 512):
        shapes += batch_norm_convolution(outputs, inputs, 3) + batch_norm_convolution(outputs, outputs, 3)
        if outputs != inputs:
            shapes += batch_norm_convolution(outputs, inputs, 1)
        shapes += 2 * batch_norm_convolution(outputs, outputs, 3)
        inputs = outputs
    return [part(*shapes, *linear(classes, inputs))]


def model(title, tensors, parts):
    """`tensors` is the count known from the model's own code, which the formulas must meet."""
    shapes = [shape for each in parts for shape in each["repeat"] * each["shapes"]]
    if len(shapes) != tensors:
        raise ValueError(f"[{title}] wanted {tensors} tensors, the formula gives {len(shapes)}")
    return {
        "title": title,
        "tensors": tensors,
        "parameters": sum(math.prod(shape) for shape in shapes),
        "parts": parts,
    }


def models():
    return {
        "resnet18": model("ResNet18", 62, resnet18()),
        "vit_s": model("ViT-S/16", 151, vit(384, 12)),
        "vit_b": model("ViT-B/16", 151, vit(768, 12)),
        "gpt2_124m": model("GPT-2 124M", 148, gpt2(768, 12)),
        "gpt2_1.5b": model("GPT-2 1.5B", 580, gpt2(1600, 48)),
        "ten_thousand": model("10 000 tensors of 64", 10000, [part((64,), repeat=10000)]),
    }


def text():
    lines = []
    for name, each in models().items():
        parts = ",\n".join(f"      {json.dumps(one)}" for one in each["parts"])
        head = ", ".join(f'"{key}": {json.dumps(each[key])}' for key in ("title", "tensors", "parameters"))
        lines.append(f'  "{name}": {{\n    {head},\n    "parts": [\n{parts}\n    ]\n  }}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    if not parser.parse_args().check:
        FILE.write_text(text(), encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") != text():
        print(f"{FILE.name} is not what tools/make_model_shapes.py writes", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
