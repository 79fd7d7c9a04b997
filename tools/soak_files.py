"""Reads the files of a run of `sing train` and compares two runs bit by bit."""

import json
import struct


def read_safetensors(path):
    """Returns the metadata and, by name, type, shape and bytes of each tensor."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    body = data[8 + size :]
    tensors = {name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])]) for name, entry in header.items()}
    return metadata, tensors


def timeless_metadata(metadata):
    """Leaves out the seconds, what depends on their number of digits, and the checksum over them."""
    kept = {key: value for key, value in metadata.items() if key not in ("state", "checksum")}
    state = json.loads(metadata["state"])
    kept["state"] = {key: value for key, value in state.items() if key not in ("seconds", "metrics_bytes")}
    return kept


def timeless_metrics(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in line.items() if key not in ("seconds", "images_per_second")} for line in lines]


def checkpoint_step(run):
    """Returns the step of the last checkpoint; None without a checkpoint."""
    try:
        metadata, _ = read_safetensors(run / "checkpoints" / "last.safetensors")
    except FileNotFoundError:
        return None
    return json.loads(metadata["state"])["step"]


def is_finished(run):
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return bool(lines) and '"status":"finished"' in lines[-1]


def temporary_files(run):
    return {str(path.relative_to(run)) for path in run.rglob("*.tmp")}


def contents(run):
    """Returns the bytes of each file by name, without the lock and temporary files."""
    files = (path for path in run.rglob("*") if path.is_file() and path.name != "lock" and path.suffix != ".tmp")
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def timeless_contents(run):
    """Returns what each file says apart from times, by name."""
    timeless = {}
    for name, data in contents(run).items():
        if name.startswith("events.out.tfevents."):  # the rest of the name is the time at which the run began
            timeless["events.out.tfevents"] = len(data)
        elif name == "metrics.jsonl":
            timeless[name] = timeless_metrics(run / name)
        elif name == "checkpoints/last.safetensors":
            metadata, tensors = read_safetensors(run / name)
            timeless |= {f"tensors of {name}": tensors, f"metadata of {name}": timeless_metadata(metadata)}
        else:
            timeless[name] = data
    return timeless


def differences(run, reference):
    """Returns a message for each respect in which a finished run differs from the reference."""
    found, wanted = timeless_contents(run), timeless_contents(reference)
    messages = [f"wanted no temporary file, got {name}" for name in sorted(temporary_files(run))]
    for name in sorted(found.keys() | wanted.keys()):
        if name not in wanted:
            messages.append(f"wanted no {name}, got one")
        elif found.get(name) != wanted[name]:
            messages.append(f"wanted {name} as in the reference, got {'another' if name in found else 'none'}")
    return messages
