"""DTensors: which part of a tensor this process holds, and which processes add up its sums."""

from __future__ import annotations

import ctypes
import functools
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

_SUM_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32)
_SUM_ON_DEVICE_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32, ctypes.c_void_p)
_SIZES = ctypes.POINTER(ctypes.c_size_t)
_EXCHANGE_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, _SIZES, ctypes.c_void_p, _SIZES, ctypes.c_size_t, ctypes.c_int32
)
# The axis, from the end, that a slot of factored moments does not have.
_MISSING_AXIS = {"row_second_moment": 1, "column_second_moment": 2}


def is_dtensor(tensor: Any) -> bool:
    """Returns whether a tensor is a DTensor, without importing torch.distributed.tensor: without that module there are none."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)


def local(tensor: Tensor) -> Tensor:
    """The part of a tensor that this process holds, sharing its memory; the tensor itself if it is no DTensor."""
    return _part(tensor) if is_dtensor(tensor) else tensor


def _part(tensor: Any) -> Tensor:
    # The same tensor as to_local() under no_grad(), without its microsecond per tensor.
    part: Tensor = tensor._local_tensor
    if type(part) is not Tensor and hasattr(part, "wait"):
        part = part.wait()  # a collective is still writing it
    return part


class Parts:
    """This process's parts of an optimizer's parameters and of their gradients, found in a fraction of a microsecond each."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._specs: list[Any] = []  # one per parameter; None for a plain tensor
        self._indices = range(0)
        self._kind: type | None = None  # DTensor
        self.any = False

    def add(self, parameters: Sequence[Tensor]) -> None:
        for each in parameters:
            if is_dtensor(each):
                self._specs.append(each._spec)  # type: ignore[attr-defined]
                self._kind = type(each)
            else:
                self._specs.append(None)
        self._indices = range(len(self._specs))
        self.any = self._kind is not None

    def of_parameters(self, parameters: Sequence[Any]) -> Sequence[Tensor]:
        """Returns the parts of all parameters that were added."""
        if not self.any:
            return parameters
        return [each if spec is None else each._local_tensor for each, spec in zip(parameters, self._specs)]

    def gradients_of(self, parameters: Sequence[Tensor]) -> list[Tensor | None]:
        """The gradients of parameters."""
        if not self.any:
            return [each.grad for each in parameters]
        # Without it, each read of DTensor.grad takes three times as long, to look for a __torch_function__ that is disabled.
        with torch._C.DisableTorchFunctionSubclass():
            return [each.grad for each in parameters]

    def of_gradients(
        self, gradients: Sequence[Tensor | None], parameters: Sequence[Tensor], names: Sequence[str]
    ) -> Sequence[Tensor | None]:
        """Returns this process's parts of the gradients, whose placements may differ from those of the parameters."""
        if not self.any:
            return gradients
        kind = self._kind
        return [
            part
            # A gradient of FSDP2 has the very specification of its parameter, so that there is nothing to compare.
            if type(each) is kind and each._spec is spec and type(part := each._local_tensor) is Tensor  # type: ignore[union-attr]
            else self._brought(each, parameters[index], names[index])
            for each, spec, index in zip(gradients, self._specs, self._indices)
        ]

    def _brought(self, gradient: Tensor | None, parameter: Tensor, name: str) -> Tensor | None:
        if gradient is None:
            return None
        return local(placed_as(parameter, gradient, f"[{self._where}] gradient of '{name}'"))


def like(tensor: Tensor, part: Tensor) -> Tensor:
    """`part` as a tensor with the placements of `tensor`; unchanged if that is no DTensor."""
    if not is_dtensor(tensor):
        return part
    return _dtensor(part, tensor, tensor.placements, tensor.shape)  # type: ignore[attr-defined]


def state_like(parameter: Tensor, slot: str, part: Tensor) -> Tensor:
    """`part`, the library's state of a parameter in a slot, as a DTensor if the parameter is one."""
    if not is_dtensor(parameter):
        return part
    axes = list(range(parameter.dim() if part.dim() > 0 else 0))
    if axes and slot in _MISSING_AXIS:
        del axes[-_MISSING_AXIS[slot]]
    if axes == list(range(parameter.dim())):
        return like(parameter, part)
    from torch.distributed.tensor import Replicate

    placements = []
    for each in parameter.placements:  # type: ignore[attr-defined]
        is_kept = not each.is_replicate() and each.dim in axes
        placements.append(_moved(each, axes.index(each.dim)) if is_kept else Replicate())
    return _dtensor(part, parameter, placements, torch.Size(parameter.shape[axis] for axis in axes))


def _moved(placement: Any, axis: int) -> Any:
    """The placement along another axis."""
    factor = getattr(placement, "split_factor", None)
    return type(placement)(axis) if factor is None else type(placement)(axis, split_factor=factor)


def _dtensor(part: Tensor, near: Any, placements: Sequence[Any], shape: torch.Size) -> Tensor:
    from torch.distributed.tensor import DTensor

    mesh = near.device_mesh
    stride = near.stride() if shape == near.shape else torch.empty(shape, device="meta").stride()
    if mesh.device_type == part.device.type:
        # Without shape and stride, torch would take all parts to be as large as this one.
        return DTensor.from_local(part, mesh, placements, run_check=False, shape=shape, stride=stride)
    # from_local() would copy a part to the mesh's device; with FSDP2's CPUOffloadPolicy parameters and state stay on the CPU.
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

    spec = DTensorSpec(mesh, tuple(placements), tensor_meta=TensorMeta(shape, stride, part.dtype))
    return DTensor(part, spec, requires_grad=False)  # type: ignore[no-untyped-call]


def copy_state(own: Tensor, given: Tensor) -> None:
    """Copies a tensor of the same whole shape, placed anywhere or whole, into this process's part of `own`."""
    if not is_dtensor(own):
        own.copy_(given.full_tensor() if is_dtensor(given) else given)  # type: ignore[attr-defined]
        return
    if not is_dtensor(given):
        from torch.distributed.tensor import distribute_tensor

        mesh, placements = own.device_mesh, own.placements  # type: ignore[attr-defined]
        # Every process has the whole tensor, so that none has to send it.
        given = distribute_tensor(given.to(own.device), mesh, placements, src_data_rank=None)
    elif given.placements != own.placements:  # type: ignore[attr-defined]
        given = given.redistribute(placements=own.placements)  # type: ignore[attr-defined]
    local(own).copy_(local(given))


def placed_as(parameter: Tensor, gradient: Tensor, who: str) -> Tensor:
    """The gradient, brought to the placements of its parameter: summed where it is Partial, moved where it is cut otherwise."""
    if not is_dtensor(parameter):
        if is_dtensor(gradient):
            raise TypeError(f"{who}: wanted a plain tensor, as its parameter is, got a DTensor")
        return gradient
    if not is_dtensor(gradient):
        raise TypeError(f"{who}: wanted a DTensor, as its parameter is, got a plain tensor")
    if gradient.placements != parameter.placements:  # type: ignore[attr-defined]
        return gradient.redistribute(placements=parameter.placements)  # type: ignore[attr-defined, no-any-return]
    return gradient


def check_placements(tensor: Tensor, who: str) -> None:
    """Refuses a DTensor whose values are on no process, because they are a sum or the like over several."""
    for placement in tensor.placements:  # type: ignore[attr-defined]
        if not placement.is_replicate() and getattr(placement, "dim", None) is None:
            raise TypeError(f"{who} wanted placements Shard and Replicate, got {placement!r}")


class _Part(NamedTuple):
    """The description of a shard that the library needs, and the ranks of the processes that share it."""

    whole_shape: list[int]
    offset: list[int]
    cut_axes: list[int]
    mesh_axes: tuple[int, ...]
    ranks: tuple[int, ...]


@functools.lru_cache(maxsize=4096)
def _part_of(mesh: Any, placements: tuple[Any, ...], whole: torch.Size, own: torch.Size) -> _Part | None:
    """Derives it from the placements alone. None if this process holds the whole tensor, or holds nothing and takes no part."""
    place = mesh.get_coordinate()
    cut = [axis for axis, each in enumerate(placements) if not each.is_replicate() and mesh.size(axis) > 1]
    if not cut or place is None:
        return None
    index = tuple(slice(None) if axis in cut else place[axis] for axis in range(mesh.ndim))
    ranks = tuple(sorted(mesh.mesh[index].flatten().tolist()))
    cut_axes = sorted({placements[axis].dim for axis in cut})
    offset = _offset_of(mesh, placements, whole, own, cut_axes)
    return _Part(list(whole), offset, cut_axes, tuple(cut), ranks)


def _offset_of(mesh: Any, placements: tuple[Any, ...], whole: torch.Size, own: torch.Size, cut_axes: list[int]) -> list[int]:
    """Where this part begins in the whole tensor; the library needs it only for tensors that are cut along several axes."""
    if len(cut_axes) == 1:
        return [0] * len(whole)
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    shape, offset = compute_local_shape_and_global_offset(whole, mesh, placements)
    if tuple(shape) != tuple(own) or not _are_blocks(mesh, placements):
        raise TypeError(f"wanted parts that are blocks, because the tensor is cut along several axes, got {placements}")
    return list(offset)


def _are_blocks(mesh: Any, placements: Sequence[Any]) -> bool:
    """Returns whether each strided cut undoes the interleaving with the later cuts of its axis, as that of FSDP over TP does."""
    for axis, each in enumerate(placements):
        factor = getattr(each, "split_factor", None)
        later = 1
        for other in range(axis + 1, mesh.ndim):
            if not placements[other].is_replicate() and placements[other].dim == getattr(each, "dim", None):
                later *= mesh.size(other)
        if factor is not None and factor != later:
            return False
    return True


def _block_at(mesh: Any, placements: Sequence[Any], whole: torch.Size, rank: int) -> tuple[list[int], list[int]]:
    """Offset and shape of the part of a process of the mesh, cut as torch.chunk does."""
    place = (mesh.mesh == rank).nonzero()[0].tolist()
    strided = [axis for axis, each in enumerate(placements) if getattr(each, "split_factor", None) is not None]
    plain = [axis for axis, each in enumerate(placements) if axis not in strided and not each.is_replicate()]
    offset, shape = [0] * len(whole), list(whole)
    for axis in [*plain, *reversed(strided)]:  # a strided cut is one of what the later cuts of its axis leave
        dim = placements[axis].dim
        chunk = -(-shape[dim] // mesh.size(axis))
        begin = min(shape[dim], chunk * place[axis])
        offset[dim] += begin
        shape[dim] = min(chunk, shape[dim] - begin)
    return offset, shape


@functools.lru_cache(maxsize=4096)
def _blocks_of(
    mesh: Any, placements: tuple[Any, ...], whole: torch.Size, ranks: tuple[int, ...]
) -> list[tuple[list[int], list[int]]]:
    """Offsets and shapes of the parts of the processes of these ranks."""
    if not _are_blocks(mesh, placements):
        raise TypeError(f"wanted parts that are blocks, because the rule works on whole matrices, got {placements}")
    return [_block_at(mesh, placements, whole, rank) for rank in ranks]


# The process groups over several axes of a mesh, by ranks, with the default group they were made under.
_made: dict[tuple[int, ...], tuple[Any, Any]] = {}


def _process_group(tensor: Tensor, part: _Part) -> Any:
    """The group of the processes that share a tensor."""
    from torch import distributed

    if len(part.mesh_axes) == 1:
        return tensor.device_mesh.get_group(part.mesh_axes[0])  # type: ignore[attr-defined]
    if len(part.ranks) == distributed.get_world_size():
        return distributed.group.WORLD
    world, group = _made.get(part.ranks, (None, None))
    if world is not distributed.group.WORLD:
        group = distributed.new_group(list(part.ranks), use_local_synchronization=True)
        _made[part.ranks] = (distributed.group.WORLD, group)
    return group


def _placement_of(tensor: Any) -> tuple[Any, tuple[Any, ...], torch.Size, torch.Size]:
    return tensor.device_mesh, tuple(tensor.placements), tensor.shape, local(tensor).shape


class ShardSums:
    """Adds up what the library finds in parts of tensors, with one collective per set of processes that share tensors, and
    exchanges the parts of matrices that a rule needs whole.

    Attributes:
        collectives: How many collectives it has run.
    """

    def __init__(self) -> None:
        self.collectives = 0
        self._groups: list[Any] = []
        self._numbers: dict[tuple[int, ...], int] = {}  # number of a group by its ranks
        self._failure: BaseException | None = None
        self._vectors: dict[tuple[int, int], Tensor] = {}  # on a device, by address and length
        # They must live as long as the library may call them.
        self._sum_function = _SUM_FUNCTION(self._guarded(self._sum))
        self._sum_on_device_function = _SUM_ON_DEVICE_FUNCTION(self._guarded(self._sum_on_device))
        self._exchange_function = _EXCHANGE_FUNCTION(self._guarded(self._exchange))

    @property
    def address(self) -> int:
        """The address of the function by which the library adds up sums."""
        return ctypes.cast(self._sum_function, ctypes.c_void_p).value or 0

    @property
    def on_device_address(self) -> int:
        """The address of the function for sums on a CUDA device."""
        return ctypes.cast(self._sum_on_device_function, ctypes.c_void_p).value or 0

    @property
    def exchange_address(self) -> int:
        """The address of the function by which the library exchanges parts of matrices."""
        return ctypes.cast(self._exchange_function, ctypes.c_void_p).value or 0

    def describe(self, tensors: Iterable[Tensor], names: Iterable[str], where: str, whole_matrices: bool = False) -> str:
        """The shards among the tensors as the library reads them; an empty list if there are none.

        With `whole_matrices` it says of matrices which parts the other processes have.
        """
        found: list[dict[str, Any] | None] = []
        for tensor, name in zip(tensors, names):
            try:
                found.append(self._described(tensor, whole_matrices and tensor.dim() >= 2) if is_dtensor(tensor) else None)
            except TypeError as problem:
                raise TypeError(f"[{where}] parameter '{name}': {problem}") from None
        return json.dumps(found if any(found) else [])

    def _described(self, tensor: Tensor, needs_whole: bool) -> dict[str, Any] | None:
        part = _part_of(*_placement_of(tensor))
        if part is None:
            return None
        number = self._numbers.get(part.ranks)
        if number is None:
            number = self._numbers[part.ranks] = len(self._groups)
            self._groups.append(_process_group(tensor, part))
        shard = {"whole_shape": part.whole_shape, "offset": part.offset, "cut_axes": part.cut_axes, "sum_group": number}
        if needs_whole:
            mesh, placements, whole, own = _placement_of(tensor)
            ranks = _ranks_of(self._groups[number])
            own_part = ranks.index(_own_rank())
            parts = _blocks_of(mesh, placements, whole, ranks)
            if parts[own_part][1] != list(own):
                raise TypeError(f"wanted parts cut as torch.chunk cuts them, {parts[own_part][1]} here, got {list(own)}")
            shard |= {"offset": parts[own_part][0], "parts": parts, "own_part": own_part}
        return shard

    def _guarded(self, collective: Callable[..., None]) -> Callable[..., int]:
        """Wraps a collective for the library, which takes no exceptions: raise_failure() raises them."""

        def call(*arguments: Any) -> int:
            try:
                self.collectives += 1
                collective(*arguments)
            except BaseException as failure:
                self._failure = failure
                return 1
            return 0

        return call

    def _sum(self, address: int, count: int, number: int) -> None:
        from torch import distributed

        group = self._groups[number]
        values = torch.frombuffer((ctypes.c_double * count).from_address(address), dtype=torch.float64)
        # A copy, because a process group may keep a tensor for longer than the library keeps this memory.
        on_device = values.to(_device_of(group), copy=True)
        distributed.all_reduce(on_device, group=group)
        values.copy_(on_device)

    def _sum_on_device(self, address: int, count: int, number: int, stream: int) -> None:
        """Adds up values on a CUDA device.

        Both the library and torch's collectives keep to torch's current stream, so the host does not wait. A group without a
        backend for the device adds up a copy on the CPU, for which the host waits.
        """
        from torch import distributed

        group = self._groups[number]
        values = self._vector(address, count)
        if any(each.type == "cuda" for each in group._device_types):
            distributed.all_reduce(values, group=group)
        else:
            copy = values.to("cpu")
            distributed.all_reduce(copy, group=group)
            values.copy_(copy)

    def _vector(self, address: int, count: int) -> Tensor:
        """The library's memory on a device as a tensor, which is kept because every step of a plan has the same memory."""
        found = self._vectors.get((address, count))
        if found is None:
            if len(self._vectors) >= 64:
                self._vectors.clear()  # they belong to earlier plans
            found = self._vectors[address, count] = torch.as_tensor(_DeviceVector(address, count), device="cuda")
        return found

    def _exchange(self, sent: int, sent_bytes: Any, received: int, received_bytes: Any, processes: int, number: int) -> None:
        """Exchanges messages. The collective has ended when it returns, so it may work in the library's memory."""
        from torch import distributed

        group = self._groups[number]
        given, expected = sent_bytes[:processes], received_bytes[:processes]
        target = _bytes_at(received, sum(expected))
        on_device = target.to(_device_of(group))
        distributed.all_to_all_single(
            on_device, _bytes_at(sent, sum(given)).to(on_device.device), expected, given, group=group
        )
        if on_device is not target:
            target.copy_(on_device)

    def raise_failure(self) -> None:
        """Raises the exception of a collective since the last call, if there was one."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


class _DeviceVector:
    """float64 numbers in the memory of the current CUDA device, described as other libraries read it."""

    def __init__(self, address: int, count: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": "<f8",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


def _bytes_at(address: int | None, count: int) -> Tensor:
    if count == 0:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer((ctypes.c_uint8 * count).from_address(address or 0), dtype=torch.uint8)


def _ranks_of(group: Any) -> tuple[int, ...]:
    """The global ranks of a group's processes, in the order in which its collectives number them."""
    from torch import distributed

    return tuple(distributed.get_process_group_ranks(group))


def _own_rank() -> int:
    from torch import distributed

    return distributed.get_rank()


def _device_of(group: Any) -> torch.device:
    """The CPU if the group has a backend for it, else the device that it has one for."""
    devices: dict[str, torch.device] = {each.type: each for each in group._device_types}
    return devices.get("cpu") or next(iter(devices.values()))
