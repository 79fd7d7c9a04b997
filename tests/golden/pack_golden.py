#!/usr/bin/env python3
"""Rewrites a golden file in the fewest digits that lose nothing.

usage: pack_golden.py SOURCE DESTINATION

Gradients, starting values and the float32 cases hold float32 numbers: they are written with the fewest digits that read back, as
double and then as float, to the same float32. The other numbers keep Python's shortest form of a double.
"""
import json
import struct
import sys


def to_float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def shortest(value, single):
    if not isinstance(value, float):
        return json.dumps(value)
    if single and to_float32(value) != value:
        raise ValueError(f"[pack_golden] wanted a float32 number, got {value!r}")
    if single:
        for digits in range(1, 10):
            text = f"{value:.{digits}g}"
            if to_float32(float(text)) == value:
                return repr(float(text))
    return repr(value)


def pack(node, single):
    if isinstance(node, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{pack(v, single)}" for k, v in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ",".join(pack(each, single) for each in node) + "]"
    return shortest(node, single)


def main():
    source, destination = sys.argv[1:]
    with open(source) as stream:
        golden = json.load(stream)
    lines = []
    for key, value in golden.items():
        if key == "cases":
            packed = []
            for case in value:
                single = case["dtype"] == "float32"
                values = {k: pack(v, single and isinstance(v, dict) and k != "options") for k, v in case.items()}
                packed.append("{" + ",".join(f"{json.dumps(k)}:{v}" for k, v in values.items()) + "}")
            lines.append('"cases":[\n' + ",\n".join(packed) + "]")
        else:
            lines.append(f"{json.dumps(key)}:{pack(value, key in ('init', 'grads'))}")
    with open(destination, "w") as stream:
        stream.write("{" + ",\n".join(lines) + "}\n")


main()
