"""Writes the seed inputs of safetensors_fuzz: eight bytes of payload size, then the JSON text."""

import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


VECTOR = tensor("F32", [2], 0, 8)
MATRIX_THEN_SCALAR = {"w": tensor("BF16", [2, 3], 0, 12), "step": tensor("I64", [], 12, 20)}

# name: (payload size, header as an object or as text)
SEEDS = {
    "accept_nothing": (0, {}),
    "accept_padded": (0, "{}      "),
    "accept_vector": (8, {"w": VECTOR}),
    "accept_matrix_then_scalar": (20, MATRIX_THEN_SCALAR),
    "accept_header_order_reversed": (20, dict(reversed(MATRIX_THEN_SCALAR.items()))),
    "accept_float64_float16": (
        10,
        {"a": tensor("F64", [1], 0, 8), "b": tensor("F16", [1, 1], 8, 10)},
    ),
    "accept_empty_tensors": (
        4,
        {"a": tensor("F32", [0], 4, 4), "b": tensor("F32", [1], 0, 4), "c": tensor("F64", [3, 0], 0, 0)},
    ),
    "accept_metadata": (8, {"__metadata__": {"format": "pt", "größe": "\0\"\\"}, "w": VECTOR}),
    "accept_unicode_name": (8, {"重み 😀\0": VECTOR}),
    "accept_largest_payload": (2**64 - 2, {"w": tensor("F16", [2**63 - 1], 0, 2**64 - 2)}),
    "refuse_too_short": (0, ""),
    "refuse_array": (0, "[]"),
    "refuse_unclosed": (8, '{"w":{"dtype":"F32"'),
    "refuse_text_after": (0, "{}x"),
    "refuse_nul_after": (0, "{}\0{"),
    "refuse_depth": (0, '{"w":' + "[" * 200),
    "refuse_depth_of_objects": (0, '{"w":' + '{"a":' * 100),
    "refuse_comment": (0, "{/* */}"),
    "refuse_lone_surrogate": (0, '{"\\ud800":{}}'),
    "refuse_key_twice": (8, '{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"shape":[2]}}'),
    "refuse_tensor_twice": (0, '{"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"w":{}}'),
    "refuse_metadata_number": (0, {"__metadata__": {"a": 1}}),
    "refuse_unknown_key": (8, {"w": {**VECTOR, "color": 1}}),
    "refuse_unknown_dtype": (8, {"w": tensor("I32", [2], 0, 8)}),
    "refuse_negative_size": (8, {"w": tensor("F32", [-2], 0, 8)}),
    "refuse_fractional_size": (8, {"w": tensor("F32", [2.0], 0, 8)}),
    "refuse_huge_integer": (8, {"w": tensor("F32", [10**30], 0, 8)}),
    "refuse_infinite_number": (8, '{"w":{"shape":[1e999]}}'),
    "refuse_overflowing_shape": (0, {"w": tensor("F32", [2**32, 2**32], 0, 0)}),
    "refuse_hole": (24, {"a": VECTOR, "b": tensor("F32", [2], 16, 24)}),
    "refuse_overlap": (12, {"a": VECTOR, "b": tensor("F32", [2], 4, 12)}),
    "refuse_truncated": (7, {"w": VECTOR}),
    "refuse_trailing": (9, {"w": VECTOR}),
    "refuse_three_offsets": (8, {"w": {**VECTOR, "data_offsets": [0, 8, 8]}}),
}


def main():
    CORPUS.mkdir(exist_ok=True)
    for name, (payload_bytes, header) in SEEDS.items():
        compact = (",", ":")
        text = header if isinstance(header, str) else json.dumps(header, separators=compact, ensure_ascii=False)
        (CORPUS / name).write_bytes(struct.pack("<Q", payload_bytes) + text.encode())
    invalid_utf8 = struct.pack("<Q", 0) + b'{"\xff\xfe":{}}'
    (CORPUS / "refuse_invalid_utf8").write_bytes(invalid_utf8)


if __name__ == "__main__":
    main()
