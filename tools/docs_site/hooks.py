"""Adapts the pages of the repository for the documentation site: the hooks that mkdocs.yml names.

- README.md is the site's first page; pages of the root and files that pages link to outside docs/ get pages of their own.
- A fence's info string keeps only its language (the words after it are for tests/docs/run_examples.py).
- `<!-- headers: PATH -->` and `<!-- headers: PATH NAME… -->` become the reference of a header, `<!-- python: NAME… -->` that of
  Python objects, where `MODULE.*` stands for the members of a module.
"""

import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File, InclusionLevel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import header_reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r'(\]\(|src="|srcset=")([^)\s#"]+)')
FENCE = re.compile(r"^(```\w+) .*$", re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"^<!-- (headers|python): (.+) -->$", re.MULTILINE)
LANGUAGES = {".h": "c", ".hpp": "cpp", ".cpp": "cpp", ".py": "python", ".toml": "toml", ".c": "c"}
# Pages of the repository's root -> pages of the site.
ROOT_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}


def site_path(path):
    """Returns where the site has a file of the repository; both are paths with slashes."""
    return path.removeprefix("docs/") if path.startswith("docs/") else ROOT_PAGES.get(path, f"source/{path}.md")


def repository_path(page):
    """Returns the file of the repository that a page of the site was made from."""
    names = {site: path for path, site in ROOT_PAGES.items()}
    return names.get(page) or (page.removeprefix("source/").removesuffix(".md") if page.startswith("source/") else f"docs/{page}")


def target_path(target, page):
    """Returns the file of the repository that a link of this page leads to, or None."""
    if re.match(r"[a-z]+:|/", target):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(repository_path(page)), target))
    return path if (ROOT / path).is_file() else None


def page_text(path):
    """Returns the Markdown of the page for a file outside docs/."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path == "README.md":
        return f"---\nhide: [navigation]\n---\n\n{text}"  # the first page's tables need the width
    if path in ROOT_PAGES:
        return text
    head = "---\nsearch:\n  exclude: true\n---\n\n"
    return f"{head}# {path}\n\n````{LANGUAGES.get(pathlib.Path(path).suffix, 'text')}\n{text}````\n"


def on_files(files, config):
    """Adds the pages of the root, and a page for each other file that a page links to outside docs/."""
    texts = {file.src_uri: file.content_string for file in files.documentation_pages()}
    texts |= {site: page_text(path) for path, site in ROOT_PAGES.items()}
    for path, site in ROOT_PAGES.items():
        files.append(File.generated(config, site, content=texts[site]))
    targets = {target_path(match[2], page) for page, text in texts.items() for match in LINK.finditer(BLOCK.sub("", text))}
    for path in sorted(path for path in targets - {None} if not path.startswith("docs/") and path not in ROOT_PAGES):
        file = File.generated(config, site_path(path), content=page_text(path))
        file.inclusion = InclusionLevel.NOT_IN_NAV
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

    def link(match):
        path = target_path(match[2], place)
        return match[1] + posixpath.relpath(site_path(path), posixpath.dirname(place) or ".") if path else match[0]

    parts, end = [], 0
    for block in BLOCK.finditer(markdown):
        parts += [LINK.sub(link, markdown[end : block.start()]), FENCE.sub(r"\1", block[0])]
        end = block.end()
    parts.append(LINK.sub(link, markdown[end:]))
    return MARKER.sub(reference, "".join(parts))
