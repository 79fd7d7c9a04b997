"""Tests that a run continues in Python from a state file of C++, and the reverse, with the bits of an uninterrupted run."""

import errno
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch

import sing
from sing.operators import operators


def make(weights):
    matrix = torch.nn.Parameter(weights[:30].reshape(6, 5).clone())
    vector = torch.nn.Parameter(weights[30:].clone())
    groups = [
        {"params": [("matrix", matrix)]},
        {"params": [("vector", vector)], "lr": 0.01, "lookahead_period": 3},
    ]
    return matrix, vector, sing.SING(groups, lr=0.03, weight_decay=0.1)


def take_steps(folder: pathlib.Path, first: int, last: int, layout=torch.contiguous_format) -> None:
    """Does in Python what state_exchange does."""
    weights = torch.frombuffer(bytearray((folder / "weights.bin").read_bytes()), dtype=torch.float32)
    matrix, vector, optimizer = make(weights)
    if first > 0:
        optimizer.load(folder / "state.safetensors")
    for step in range(first, last):
        flat = torch.cat([matrix.detach().reshape(-1), vector.detach()])
        offsets = torch.tensor([(i * 7 + step) % 5 - 2 for i in range(37)], dtype=torch.float32)
        gradient = flat * 0.5 + offsets
        matrix.grad, vector.grad = gradient[:30].reshape(6, 5), gradient[30:]
        optimizer.step()
    optimizer.save(folder / "state.safetensors")
    after = torch.cat([matrix.detach().reshape(-1), vector.detach()])
    (folder / "weights.bin").write_bytes(bytes(after.numpy().tobytes()))


@pytest.mark.parametrize("order", ["cpp,python", "python,cpp", "cpp,python,cpp", "python,python"])
def test_either_side_resumes(order, tmp_path, build_program):
    program = build_program("state_exchange")
    start = torch.randn(37)

    def run(folder, who, first, last):
        if who == "cpp":
            subprocess.run([program, str(folder), str(first), str(last)], check=True)
        else:
            take_steps(folder, first, last)

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
        (folder / "weights.bin").write_bytes(start.numpy().tobytes())
    run(whole, "cpp", 0, 12)
    sides = order.split(",")
    for position, who in enumerate(sides):
        # Steps 4 and 8, or 6, are inside the LookAhead period of at least one group.
        run(parts, who, 12 * position // len(sides), 12 * (position + 1) // len(sides))
    assert (whole / "weights.bin").read_bytes() == (parts / "weights.bin").read_bytes()
    assert (whole / "state.safetensors").read_bytes() == (parts / "state.safetensors").read_bytes()


def test_factor_of_a_schedule_is_saved(tmp_path):
    weight = torch.nn.Parameter(torch.randn(3, 4))
    optimizer = sing.SING([weight], lr=0.5, learning_rate_factor=0.125)
    weight.grad = torch.randn(3, 4)
    optimizer.step()
    optimizer.save(tmp_path / "state.safetensors")
    fresh = sing.SING([weight], lr=0.1)
    fresh.load(tmp_path / "state.safetensors")
    assert (fresh.param_groups[0]["lr"], fresh.param_groups[0]["learning_rate_factor"]) == (0.5, 0.125)


def test_layout_does_not_show_in_the_file(tmp_path):
    files = []
    gradient = torch.randn(4, 3, 2, 2)
    start = torch.randn(4, 3, 2, 2)
    for layout in (torch.contiguous_format, torch.channels_last):
        weight = torch.nn.Parameter(start.clone().contiguous(memory_format=layout))
        optimizer = sing.SING([("weight", weight)], centralize=False, normalize="off")
        for _ in range(3):
            weight.grad = gradient.clone()
            optimizer.step()
        optimizer.save(tmp_path / "state.safetensors")
        files.append((tmp_path / "state.safetensors").read_bytes())
        optimizer.load(tmp_path / "state.safetensors")
        assert optimizer.state[weight]["exp_avg"].stride() == weight.stride()
        optimizer.step()
    assert files[0] == files[1]


def test_bad_files_change_nothing(tmp_path):
    weight = torch.nn.Parameter(torch.randn(3, 4))
    optimizer = sing.SING([("weight", weight)], lr=0.25)
    weight.grad = torch.randn(3, 4)
    optimizer.step()
    other = sing.SING([("other", torch.nn.Parameter(torch.randn(2)))])
    other.save(tmp_path / "other.safetensors")
    (tmp_path / "short.safetensors").write_bytes(b"\x10")
    moment = optimizer.state[weight]["exp_avg"]
    for name, error, message in [
        ("absent", FileNotFoundError, "cannot open: No such file"),
        ("short", RuntimeError, "short"),
        ("other", RuntimeError, "wanted parameter 'weight' in group 0, got none"),
    ]:
        with pytest.raises(error, match=message):
            optimizer.load(tmp_path / f"{name}.safetensors")
        assert optimizer.state[weight]["exp_avg"] is moment
        assert optimizer.param_groups[0]["lr"] == 0.25
    optimizer.step()


def test_files_need_no_numpy(tmp_path):
    program = f"""
import sys
sys.modules["numpy"] = None  # every import of it fails
import torch, sing
parameter = torch.nn.Parameter(torch.ones(2, 3))
parameter.grad = torch.arange(6.0).reshape(2, 3)
optimizer = sing.SING([("weight", parameter)], lr=0.1)
optimizer.step()
optimizer.save({str(tmp_path / "state.safetensors")!r})
optimizer.load({str(tmp_path / "state.safetensors")!r})
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def trained(groups=1):
    parameters = [(f"weight{index}", torch.nn.Parameter(torch.randn(3, 4))) for index in range(groups)]
    optimizer = sing.SING([{"params": [each]} for each in parameters])
    for _, parameter in parameters:
        parameter.grad = torch.randn(3, 4)
    optimizer.step()
    return parameters, optimizer


def test_a_group_without_parameters_is_saved_and_loaded(tmp_path):
    optimizer = sing.SING([{"params": []}], lr=0.25)
    optimizer.save(tmp_path / "state")
    fresh = sing.SING([{"params": []}])
    fresh.load(tmp_path / "state")
    assert fresh.param_groups[0]["lr"] == 0.25


def test_a_path_with_a_null_character_is_refused(tmp_path):
    _, optimizer = trained()
    for use in (optimizer.save, optimizer.load):
        with pytest.raises(ValueError, match="without null characters"):
            use(f"{tmp_path}/x\0y")
    assert not (tmp_path / "x").exists()


def test_a_file_is_read_once_whatever_the_number_of_groups(tmp_path, monkeypatch):
    _, optimizer = trained(groups=20)
    optimizer.save(tmp_path / "state")
    calls = []
    for name in ("save", "load"):
        monkeypatch.setattr(operators, name, lambda *given, name=name, call=getattr(operators, name): (calls.append(name), call(*given)))
    optimizer.load(tmp_path / "state")
    assert calls == ["load"]


def refused(error, number, use, path):
    with pytest.raises(error, match=re.escape(str(path))) as found:
        use(path)
    assert found.value.errno == number


def test_paths_that_the_system_refuses_raise_its_kind_of_error(tmp_path):
    _, optimizer = trained()
    before = optimizer.state_dict()["state"][0]["exp_avg"].clone()
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "loop").symlink_to("loop")
    refused(FileNotFoundError, errno.ENOENT, optimizer.load, tmp_path / "absent")
    refused(FileNotFoundError, errno.ENOENT, optimizer.save, tmp_path / "absent" / "state")
    refused(IsADirectoryError, errno.EISDIR, optimizer.load, tmp_path)
    refused(IsADirectoryError, errno.EISDIR, optimizer.save, tmp_path)
    refused(NotADirectoryError, errno.ENOTDIR, optimizer.load, tmp_path / "file" / "state")
    refused(OSError, errno.ELOOP, optimizer.load, tmp_path / "loop")
    refused(OSError, errno.ELOOP, optimizer.save, tmp_path / "loop")
    assert torch.equal(optimizer.state_dict()["state"][0]["exp_avg"], before)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "loop"]


def test_a_file_without_permission(tmp_path):
    _, optimizer = trained()
    optimizer.save(tmp_path / "state")
    tmp_path.chmod(0)
    user = os.geteuid()
    os.seteuid(user or 65534)  # root may read and write everything
    try:
        refused(PermissionError, errno.EACCES, optimizer.load, tmp_path / "state")
        refused(PermissionError, errno.EACCES, optimizer.save, tmp_path / "new")
    finally:
        os.seteuid(user)
        tmp_path.chmod(0o700)


def rewritten(path, change):
    """Returns the file after `change` has modified the metadata about the optimizer."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    about = json.loads(header["__metadata__"]["optimizer"])
    change(about)
    header["__metadata__"]["optimizer"] = json.dumps(about)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about: about["groups"][0].update(steps=1.5), "'steps', got 1.5"),
        (lambda about: about["groups"][0]["parameters"][0].update(steps=0.5), "'steps', got 0.5"),
        (lambda about: about.update(skipped_steps=-1), "'skipped_steps', got -1"),
        (lambda about: about["groups"][0]["options"].pop("learning_rate"), "'learning_rate'"),
    ],
)
def test_counters_and_options_of_a_file_are_checked(tmp_path, change, message):
    ((_, weight),), optimizer = trained()
    optimizer.save(tmp_path / "state")
    rewritten(tmp_path / "state", change)
    moment = optimizer.state[weight]["exp_avg"].clone()
    with pytest.raises(RuntimeError, match=message):
        optimizer.load(tmp_path / "state")
    assert torch.equal(optimizer.state[weight]["exp_avg"], moment)


def test_a_fractional_counter_in_a_dictionary_is_refused():
    _, optimizer = trained()
    for place in ("state", "param_groups"):
        saved = optimizer.state_dict()
        saved = {"state": {0: dict(saved["state"][0])}, "param_groups": [dict(saved["param_groups"][0])]}
        saved[place][0]["step" if place == "state" else "lookahead_step"] = torch.tensor(1.5)
        with pytest.raises(ValueError, match="as a whole number of at least 0, got 1.5"):
            optimizer.load_state_dict(saved)
