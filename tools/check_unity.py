"""Checks that C++ files can be compiled together as one, as the preset `program` does so that headers are read once.

python tools/check_unity.py [ROOT] prints one line per fault and exits with 1 if there is any. A fault is a name in a file's unnamed
namespace that another file, or a header, has in the same namespace too. Functions of one name are allowed if their parameters
differ, and so are aliases of the same type. In lab/, torch:: instead of ::torch:: or sing::torch:: is a fault as well, and
so is LibTorch's macro TORCH_MODULE, which writes it: sing::torch hides ::torch where one of its headers is included before.
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
# Names without a scope of their own: those of an enumeration that is no class.
ENUMERATION = re.compile(r"^enum (?!class)\w+[^{;]*\{(.*?)\};", re.MULTILINE | re.DOTALL)
ALIAS = re.compile(r"^using (\w+) = ([^;]+);", re.MULTILINE)
TORCH = re.compile(r"^(?! *//|#).*(?<![:\w])(torch::\w+(?:::\w+)*)", re.MULTILINE)
# A definition begins in the first column.
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)", re.MULTILINE)
VARIABLE = re.compile(r"^(?:constexpr|const|inline|static|thread_local) [^\n(){}=;]*?(\w+)(?:\[\])?(?: = |\{|;|\()", re.MULTILINE)
FUNCTION = re.compile(r"^(?=\w)[\w:<>,&*\[\] ]*?[\s&*>](\w+)\(([^;{}]*?)\)(?: const)?(?: noexcept)? \{", re.MULTILINE)


def types_of(parameters):
    """Returns a parameter list without names and default values."""
    each = re.sub(r"\s*=\s*[^,]+", "", parameters)
    return " ".join(re.sub(r"\b\w+(?=\s*(?:,|$))", "", each).split())


def declarations(text):
    """Returns the types, constants and enumerators of a header."""
    found = set(TYPE.findall(text)) | set(VARIABLE.findall(text))
    for enumerators in ENUMERATION.findall(text):
        found |= set(re.findall(r"^\s*(\w+)", re.sub(r"//.*", "", enumerators), re.MULTILINE))
    return found


def definitions(text):
    """Returns what the unnamed namespaces of a file define: names, and functions with the types of their parameters."""
    found = set()
    for part in UNNAMED.findall(text):
        found |= set(TYPE.findall(part))
        functions = {f"{name}({types_of(parameters)})" for name, parameters in FUNCTION.findall(part)}
        found |= functions | (set(VARIABLE.findall(part)) - {each.partition("(")[0] for each in functions})
    return found


def faults(root):
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    aliases = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in sorted(each for folder in FOLDERS for each in (root / folder).rglob("*.[ch]pp")):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        if "TORCH_MODULE(" in text:
            yield f"wanted an alias of ::torch::nn::ModuleHolder in {name}, got TORCH_MODULE"
        for hidden in TORCH.findall(text) if name.startswith("lab/") else ():
            yield f"wanted ::{hidden} or sing::{hidden} in {name}, got {hidden}"
        namespace = NAMESPACE.search(text)
        if namespace and not ELSEWHERE.match(name):
            for each in definitions(text) if path.suffix == ".cpp" else declarations(text):
                found[name.partition("/")[0], namespace[1]][each].append(name)
            for part in UNNAMED.findall(text) if path.suffix == ".cpp" else ():
                for alias, meaning in ALIAS.findall(part):
                    aliases[name.partition("/")[0], namespace[1], alias][" ".join(meaning.split())].append(name)
    for names in found.values():
        for each, places in sorted(names.items()):
            if len(places) > 1 and any(place.endswith(".cpp") for place in places):
                yield f"wanted '{each}' in one file, got it in {' and '.join(places)}"
    for (_, _, alias), meanings in aliases.items():
        if len(meanings) > 1:
            yield f"wanted one meaning of '{alias}', got {' and '.join(f'{meaning} in {places[0]}' for meaning, places in meanings.items())}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    found = list(faults(root))
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
