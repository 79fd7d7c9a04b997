"""Checks that C++ files can be compiled together as one, as the preset `program` does so that headers are read once.

python tools/check_unity.py [ROOT] prints one line per fault and exits with 1 if there is any. A fault is a name that two files
define in an unnamed namespace inside the same namespace. Functions of one name are allowed if their parameters differ, and so
are aliases.
"""

import collections
import pathlib
import re
import sys

FOLDERS = ("sing", "adapters", "lab")
# The preset is for the CPU, and Python's operators are not in it.
ELSEWHERE = re.compile(r"sing/backend/cuda/|adapters/torch/operators/")
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{$", re.MULTILINE)
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# A definition begins in the first column.
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)", re.MULTILINE)
VARIABLE = re.compile(r"^(?:constexpr|const|inline|static|thread_local) [^\n(){}=;]*?(\w+)(?:\[\])?(?: = |\{|;|\()", re.MULTILINE)
FUNCTION = re.compile(r"^(?=\w)[\w:<>,&*\[\] ]*?[\s&*>](\w+)\(([^;{}]*?)\)(?: const)?(?: noexcept)? \{", re.MULTILINE)


def types_of(parameters):
    """Returns a parameter list without names and default values."""
    each = re.sub(r"\s*=\s*[^,]+", "", parameters)
    return " ".join(re.sub(r"\b\w+(?=\s*(?:,|$))", "", each).split())


def definitions(text):
    """Returns what the unnamed namespaces of a file define: names, and functions with the types of their parameters."""
    found = set()
    for part in UNNAMED.findall(text):
        found |= set(TYPE.findall(part))
        functions = {f"{name}({types_of(parameters)})" for name, parameters in FUNCTION.findall(part)}
        found |= functions | (set(VARIABLE.findall(part)) - {each.partition("(")[0] for each in functions})
    return found


def faults(root):
    files = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in sorted(each for folder in FOLDERS for each in (root / folder).rglob("*.cpp")):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        namespace = NAMESPACE.search(text)
        if namespace and not ELSEWHERE.match(name):
            for definition in definitions(text):
                files[name.partition("/")[0], namespace[1]][definition].append(name)
    for names in files.values():
        for definition, places in sorted(names.items()):
            if len(places) > 1:
                yield f"wanted '{definition}' in one file, got it in {' and '.join(places)}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    found = list(faults(root))
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
