"""Checks the machine code of the CPU loops: that they are vectorized, and that no instruction set leaks.

vectorised_test.py OBJECT… takes the object files of the library and reads kernels_avx2 and kernels_avx512 among them. It exits with
77 (skipped) if there are none, which is so on processors other than x86-64.

1. Every rule's update loops over floats, and the loop that rounds state, run on whole vectors. A compiler that fails to vectorize does so silently, and the step
   becomes several times slower. Additional scalar loops for the remaining elements are expected.
2. The linker cannot merge any function defined in these files with a function of another file: all their symbols are local or in
   their instruction set's own namespace. A merged copy would crash processors that lack the instructions.
"""

import re
import shutil
import subprocess
import sys

SKIPPED = 77
VECTOR_REGISTERS = {"avx2": "%ymm", "avx512": "%[yz]mm"}
# Rule -> number of update loops that divide: one for each denominator the rule can have. Rules that are not listed have one loop.
DIVIDING_LOOPS = {
    "AdamW": 3,
    "AdaBelief": 2,
    "AdaFactor": 2,
    "NAdam": 1,
    "Yogi": 1,
    "RAdam": 1,
    "AdaBound": 1,
    "AdaMod": 1,
    "EAdam": 1,
    "SAdam": 2,
    "Lamb": 1,
    "AdaNorm": 1,
    "ScheduleFreeAdamW": 1,
    "Muon": 1,
    "AdaHessian": 1,
}
MERGE_LOOPS = 1  # LookAhead's, inlined into the same functions
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^\s+([0-9a-f]+):\s+(?:notrack |bnd )?(\S+)\s*(.*)$")
ROUNDING = re.compile(r"::round_randomly\(")  # of state in bfloat16
UPDATE_OF_RULE = re.compile(r"(?:^| |::)(?:apply|update_block)<sing::(\w+), float\b")


def tool_output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def functions(object_file):
    """Yields (demangled name, [(address, instruction with operands)])."""
    name, body = None, []
    for line in tool_output("objdump", "-d", "-C", "--no-show-raw-insn", object_file).splitlines():
        if match := FUNCTION.match(line):
            if name:
                yield name, body
            name, body = match[1], []
        elif match := INSTRUCTION.match(line):
            body.append((int(match[1], 16), f"{match[2]} {match[3]}"))
    if name:
        yield name, body


def innermost_loops(body):
    """Returns the texts between a backward jump and its target that contain no other such pair."""
    index_of = {address: index for index, (address, _) in enumerate(body)}
    spans = []
    for index, (_, text) in enumerate(body):
        match = re.match(r"j\w+\s+([0-9a-f]+)\b", text)
        target = index_of.get(int(match[1], 16)) if match else None
        if target is not None and target <= index:
            spans.append((target, index))
    inner = [
        one
        for one in spans
        if not any(other != one and one[0] <= other[0] and other[1] <= one[1] for other in spans)
    ]
    return ["\n".join(text for _, text in body[begin : end + 1]) for begin, end in inner]


def vectorisation_faults(isa, object_file):
    register = VECTOR_REGISTERS[isa]
    packed = re.compile(rf"\bv(?:mul|div|sqrt)ps .*{register}")
    packed_division = re.compile(rf"\bvdivps .*{register}")
    packed_hash = re.compile(rf"\bvpmulld .*{register}")
    loops_of_rule = {}
    is_hash_packed = False
    for name, body in functions(object_file):
        if ROUNDING.search(name):
            is_hash_packed = any(packed_hash.search(loop) for loop in innermost_loops(body))
        if match := UPDATE_OF_RULE.search(name):
            loops_of_rule.setdefault(match[1], []).extend(innermost_loops(body))
    faults = [f"{isa}: no update loop of {rule} found" for rule in DIVIDING_LOOPS if rule not in loops_of_rule]
    if not is_hash_packed:
        faults.append(f"{isa}: the loop that rounds state is not vectorized")
    for rule, loops in loops_of_rule.items():
        vector_loops = sum(bool(packed.search(loop)) for loop in loops)
        dividing_loops = sum(bool(packed_division.search(loop)) for loop in loops)
        wanted_dividing = DIVIDING_LOOPS.get(rule, 0)
        wanted = max(wanted_dividing, 1) + MERGE_LOOPS
        print(f"{isa} {rule}: {vector_loops} vector loops (wanted {wanted}), {dividing_loops} divide ({wanted_dividing})")
        if vector_loops < wanted or dividing_loops < wanted_dividing:
            faults.append(f"{isa}: not all update loops of {rule} are vectorized")
    return faults


def symbol_faults(isa, object_file):
    """Returns the symbols that other files could share: global or weak ones outside the namespace of the instruction set."""
    faults = []
    for line in tool_output("nm", "-C", "--defined-only", object_file).splitlines():
        kind, name = re.match(r"\S*\s*(\S) (.*)", line).groups()
        mergeable = kind in "WVuvw" or (kind.isupper() and f"::{isa}::" not in name)
        if mergeable:
            faults.append(f"{isa}: symbol of kind {kind} may be shared with other files: {name}")
    return faults


def main():
    objects = {}
    for path in sys.argv[1:]:
        if match := re.search(r"kernels_(avx2|avx512)\b[^/]*$", path):
            objects[match[1]] = path
    if not objects:
        print("no AVX object files: nothing to check")
        return SKIPPED
    missing_tools = [tool for tool in ("objdump", "nm") if shutil.which(tool) is None]
    if missing_tools:
        print(f"[vectorised] wanted the programs of binutils, got no {' and no '.join(missing_tools)}")
        return 1
    faults = []
    for isa, path in objects.items():
        faults += vectorisation_faults(isa, path) + symbol_faults(isa, path)
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
