"""Turns a public C or C++ header into Markdown: its declarations in their order, with the comments above them.

It reads headers that clang-format wrote. Declarations that follow one another without a blank line or a comment share an entry.
"""

import dataclasses
import re

INTERNAL = {
    "c": re.compile(r'#(?!define)|#define SING_C_API|extern "C"|}$'),
    "cpp": re.compile(r"#|namespace |}  // namespace"),
}
TYPE = re.compile(r"\s*(?:typedef |template.*>\s*)?(?:struct|class|enum|union|using)\b")
NAMED_TYPE = re.compile(r"(?:struct|class|enum(?: class)?|using)\s+(\w+)|#define (\w+)")
POINTER_TYPE = re.compile(r"\(\*(\w+)\)")
FUNCTION = re.compile(r"\b(operator[^\s(]+|~?\w+)\s*\(")
VARIABLE = re.compile(r"(\w+)\s*(?:\{[^}]*\}|=[^;]*)?;")
BODY = re.compile(r"((?:[^{}]|\{\})*\)[^{};]*)\{", re.DOTALL)
# Names that serve the library's own reflection and not its users.
HIDDEN = re.compile(r"constexpr auto (?:\w*fields?|enum_names)\(|static_assert|friend |\bkName\b|\bkSlots\b|\buses_slot\b|<class Real>")


@dataclasses.dataclass
class Entry:
    comment: str
    declarations: list  # code, without the bodies of functions

    @property
    def name(self):
        """Returns what the first declaration declares."""
        plain = without_comments(self.declarations[0]).strip()
        if plain.startswith("typedef") and not POINTER_TYPE.search(plain):
            return re.search(r"(\w+);$", plain)[1]
        for pattern in (NAMED_TYPE, POINTER_TYPE, FUNCTION, VARIABLE):
            if match := pattern.search(plain):
                return next(group for group in match.groups() if group)
        raise ValueError(f"[header_reference] wanted a declaration, got '{plain}'")


def without_comments(code):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", code, flags=re.DOTALL)


def comment_text(lines):
    """Returns the words of a comment, without its slashes and stars."""
    text = "\n".join(re.sub(r"^\s*(?://+|/\*+|\*(?![/\w]))? ?", "", line).replace("*/", "").rstrip() for line in lines)
    return text.strip()


def is_complete(code):
    """Returns whether these lines contain the end of the declaration that begins in them."""
    plain = without_comments(code).rstrip()
    if plain.startswith("#define"):
        return not plain.endswith("\\")
    balanced = plain.count("{") == plain.count("}") and plain.count("(") == plain.count(")")
    return balanced and plain.endswith((";", "}"))


def without_body(code):
    """Returns a function's declaration; other code as it is."""
    match = None if TYPE.match(code) else BODY.match(code)
    declaration = re.sub(r"\s+: \w+\(.*$", "", match[1].rstrip(), flags=re.DOTALL) + ";" if match else code
    return declaration.replace("SING_HOST_DEVICE ", "")


def is_hidden(lines):
    """Returns whether the declaration in these lines is left out."""
    return HIDDEN.search(" ".join(lines[: 2 if lines[0].lstrip().startswith("template") else 1])) is not None


def shortened(code):
    """Returns a declaration without the bodies of functions and, in structs, without the members that are left out."""
    lines = code.split("\n")
    if not re.match(r"\s*(?:struct|union)\b.*\{$", lines[0]):
        return without_body(code)
    kept, member = [lines[0]], []
    for line in lines[1:-1]:
        member.append(line)
        if not line.strip():
            kept += [] if kept[-1] == "" else [""]
            member = []
        elif is_complete("\n".join(member)):
            kept += [] if is_hidden(member) else without_body("\n".join(member)).split("\n")
            member = []
        elif not without_comments("\n".join(member)).strip():
            kept += member
            member = []
    while kept[-1] == "":
        kept.pop()
    return "\n".join([*kept, lines[-1]])


def dedented(code):
    lines = code.split("\n")
    depth = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[depth:] for line in lines)


def entries(lines):
    """Yields the entries of these lines, which all belong to one scope."""
    comment, declarations, code, in_comment = [], [], [], False
    for line in [*lines, ""]:
        stripped = line.strip()
        begins_comment = not code and (in_comment or stripped.startswith(("//", "/*")))
        if declarations and not code and (begins_comment or not stripped):
            yield Entry(comment_text(comment), declarations)
            comment, declarations = [], []
        if begins_comment:
            comment.append(line)
            in_comment = (in_comment or stripped.startswith("/*")) and "*/" not in stripped
        elif code or stripped:
            code.append(line)
            if is_complete("\n".join(code)):
                if not is_hidden(code):
                    declarations.append(dedented(shortened("\n".join(code))))
                code = []
        else:
            comment = []


def public_members(code):
    """Returns the lines of a class's body that its users may use."""
    lines = code.split("\n")
    begin = next(place for place, line in enumerate(lines) if line.rstrip().endswith("{")) + 1
    visible, members = False, []
    for line in lines[begin:-1]:
        if match := re.match(r"\s*(public|private|protected):", line):
            visible = match[1] == "public"
        elif visible:
            members.append(line)
    return members


def shown(entry, level, language):
    """Yields the parts that show one entry; a class shows its members one by one."""
    [first, *others] = entry.declarations
    if level == 3 or entry.comment:
        yield f"{'#' * level} `{entry.name}`"
    if entry.comment:
        yield entry.comment
    if re.match(r"class .*\{$", first.split("\n")[0]):
        for member in entries(public_members(first)):
            yield from shown(member, 4, language)
        first = None
    if code := "\n".join(filter(None, [first, *others])):
        yield f"```{language}\n{code}\n```"


def markdown(text, language, names=()):
    """Returns the reference of a header, whose first comment is about the file: of all entries or of those named."""
    lines = text.split("\n")
    end_of_head = 0 if lines[0].startswith("//") else next(place for place, line in enumerate(lines) if "*/" in line)
    own = ["" if INTERNAL[language].match(line) else line for line in lines[end_of_head + 1 :]]
    if missing := set(names) - {entry.name for entry in entries(own)}:
        raise ValueError(f"[header_reference] wanted a declaration of {', '.join(sorted(missing))}, got none")
    parts = []
    for entry in entries(own):
        is_forward = all(re.fullmatch(r"(?:struct|class) \w+;", each) for each in entry.declarations)
        if not is_forward and (not names or entry.name in names):
            parts += shown(entry, 3, language)
    return "\n\n".join(parts) + "\n"
