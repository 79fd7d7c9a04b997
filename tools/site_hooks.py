"""Adapts the pages of docs/ for the documentation site: the hooks that mkdocs.yml names.

- A fence's info string keeps only its language (the words after it are for tests/docs/run_examples.py).
- A link to a file outside docs/ leads to a page of the site that shows this file.
- `<!-- headers: PATH -->` and `<!-- headers: PATH NAME… -->` become the reference of a header, `<!-- python: NAME… -->` that of
  Python objects, where `MODULE.*` stands for the members of a module.
"""

import pathlib
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import header_reference

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^```(\w+) .*$", re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"^<!-- (headers|python): (.+) -->$", re.MULTILINE)
LANGUAGES = {".h": "c", ".hpp": "cpp", ".cpp": "cpp", ".cuh": "cuda", ".cu": "cuda", ".py": "python", ".toml": "toml", ".c": "c"}
# Pages of the repository's root that the navigation names.
ROOT_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")


def outside_target(target, page):
    """Returns the file of the repository that a link of the page at this path leads to, or None if it stays inside docs/."""
    if re.match(r"[a-z]+:|/", target):
        return None
    path = (ROOT / "docs" / page).parent.joinpath(target).resolve()
    if not path.is_file() or path.is_relative_to(ROOT / "docs") or not path.is_relative_to(ROOT):
        return None
    return path.relative_to(ROOT)


def site_page(path):
    """Returns the page of the site that shows this file of the repository."""
    return str(path) if str(path) in ROOT_PAGES else f"source/{path}.md"


def shown_source(path):
    """Returns the Markdown of a page that shows a file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    head = "---\nsearch:\n  exclude: true\n---\n\n"
    return f"{head}# {path}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text}````\n"


def links_outside(page, text):
    """Yields the files that links of a page lead to outside docs/."""
    for match in LINK.finditer(BLOCK.sub("", text)):
        if path := outside_target(match[2], page):
            yield path


def on_files(files, config):
    """Adds a page for each file that a page links to, and for the pages of the root."""
    wanted = {pathlib.Path(name) for name in ROOT_PAGES}
    for file in files.documentation_pages():
        wanted |= set(links_outside(file.src_uri, file.content_string))
    for path in sorted(wanted):
        file = File.generated(config, site_page(path), content=shown_source(path))
        file.inclusion = file.inclusion if str(path) in ROOT_PAGES else type(file.inclusion).NOT_IN_NAV
        files.append(file)
    return files


def python_reference(name):
    """Returns mkdocstrings' directive for an object, or for the members of a module, written as `module.*`."""
    if not name.endswith(".*"):
        return f"::: {name}"
    return f"::: {name[:-2]}\n    options: {{show_root_heading: false, show_root_toc_entry: false}}"


def reference(match):
    """Returns the Markdown that a marker stands for."""
    kind, [first, *names] = match[1], match[2].split()
    if kind == "python":
        return "\n\n".join(map(python_reference, [first, *names]))
    text = (ROOT / first).read_text(encoding="utf-8")
    return header_reference.markdown(text, LANGUAGES[pathlib.Path(first).suffix], names)


def on_page_markdown(markdown, page, **_):
    """Rewrites a page's links, markers and fences."""
    place = page.file.src_uri
    base = "../" * place.count("/")
    origin = pathlib.Path(place)
    in_root = place in ROOT_PAGES

    def link(match):
        target = match[2]
        if in_root:  # written for the repository's root
            moved = target.removeprefix("docs/")
            return f"{match[1]}{moved}{match[3] or ''}{match[4]}"
        path = outside_target(target, str(origin))
        return f"{match[1]}{base}{site_page(path)}{match[3] or ''}{match[4]}" if path else match[0]

    parts, end = [], 0
    for block in BLOCK.finditer(markdown):
        parts += [LINK.sub(link, markdown[end : block.start()]), FENCE.sub(r"```\1", block[0])]
        end = block.end()
    parts.append(LINK.sub(link, markdown[end:]))
    return MARKER.sub(reference, "".join(parts))
