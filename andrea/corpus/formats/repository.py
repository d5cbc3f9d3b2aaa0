"""A local git repository: its documentation, its docstrings or its commit messages.

Objects are read with libgit2. Nothing of the repository is run or obeyed: no git, hook, filter or
setting, and no file of its work tree is looked at, only what its HEAD holds.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from andrea.common.errors import UserError
from andrea.corpus.formats import folders, plain

if TYPE_CHECKING:
    import pygit2

LARGEST_BYTES = 4 << 20
NO_PROSE = re.compile(r"cmakelists\.txt|(?:[\w.-]+-)?requirements[\w.-]*\.txt")

_TRAILER = re.compile(
    r"(?:[a-z][\w-]*-[\w-]+|Cc|Fix(?:es)?|Close[sd]?|Resolve[sd]?|Refs?|Bug|Issue|Link|PR)\s*: ?\S"
    r"|\(cherry picked from commit ",
    re.I,
)
_BY = re.compile(r"[A-Za-z][\w-]*-by\s*: ?\S|(?:Change-Id|git-svn-id|Cc): \S", re.I)


def docs(path: Path) -> Iterator[str]:
    """Yield the Markdown, reStructuredText and text files of HEAD, cut to 8000 characters.

    Hidden folders, links, submodules, files that are not UTF-8, files over 4 MiB and lists that
    are no prose (`requirements.txt`, `CMakeLists.txt`) are passed over.

    Raises:
        UserError: it is no git repository, has no commit, or lacks an object.
    """
    for name, data in _files(path, folders.ENDINGS):
        if b"\0" in data or NO_PROSE.fullmatch(name.rsplit("/", 1)[-1].lower()):
            continue
        try:
            text = re.sub(r"\r\n?", "\n", data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            continue
        cut = folders.markdown if name.lower().endswith(folders.MARKDOWN) else plain.pieces
        yield from cut(iter([text]))


def docstrings(path: Path) -> Iterator[str]:
    """Yield the docstrings of HEAD's Python files under their `def` or `class` line, parsed by ast.

    Default values, annotations, decorators and bases are left out. A module's docstring stands
    under its file's path. Files over 4 MiB or that do not parse are passed over.

    Raises:
        UserError: as for `docs`.
    """
    for name, data in _files(path, (".py",)):
        yield from _docstrings(name, data)


def commits(path: Path) -> Iterator[str]:
    """Yield the message of every commit that HEAD reaches, oldest first, parents before children.

    Trailers (`Signed-off-by` and its like) and lists of conflicts are cut off; a merge without any
    text of its own is left out.

    Raises:
        UserError: as for `docs`.
    """
    import pygit2

    repository, head = _open(path)
    order = pygit2.enums.SortMode.TOPOLOGICAL | pygit2.enums.SortMode.REVERSE
    try:
        for commit in repository.walk(head.id, order):
            message = _message(commit)
            if len(commit.parents) < 2 or "\n" in message:
                yield from plain.document(message)
    except (KeyError, pygit2.GitError) as error:
        raise _broken(path, error) from error


def looks_like(path: Path) -> bool:
    """Whether the folder is a bare git repository or has one as its `.git`."""
    folder = path / ".git" if (path / ".git").is_dir() else path
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir()


def _open(path: Path) -> tuple[pygit2.Repository, pygit2.Commit]:
    """A repository and the commit of its HEAD, whoever owns the folder."""
    import pygit2

    if not looks_like(path):
        raise UserError(
            f"{path}: no git repository; a bare clone (`git clone --bare URL {path}`) or a folder"
            " with a .git folder is needed"
        )
    folder = path / ".git" if (path / ".git").is_dir() else path
    flags = pygit2.enums.RepositoryOpenFlag
    checked = pygit2.option(pygit2.enums.Option.GET_OWNER_VALIDATION)
    # The check protects those who run what a stranger's settings say; nothing here does.
    pygit2.option(pygit2.enums.Option.SET_OWNER_VALIDATION, False)
    try:
        repository = pygit2.Repository(str(folder), flags.BARE | flags.NO_SEARCH)
        if repository.head_is_unborn:
            raise UserError(f"{path}: the git repository has no commit at its HEAD")
        return repository, repository.head.peel(pygit2.Commit)
    except (KeyError, ValueError, pygit2.GitError) as error:
        raise _broken(path, error) from error
    finally:
        pygit2.option(pygit2.enums.Option.SET_OWNER_VALIDATION, bool(checked))


def _broken(path: Path, error: Exception) -> UserError:
    reason = str(error).strip("'\"").splitlines()[:1]
    return UserError(
        f"{path}: the git repository cannot be read ({': '.join([type(error).__name__, *reason])});"
        " it is damaged (`git fsck` tells), or not a whole clone but a partial one"
    )


def _files(path: Path, endings: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Paths and contents of the regular files of HEAD with one of the endings, in git's order."""
    import pygit2

    repository, head = _open(path)
    modes = pygit2.enums.FileMode
    files = (modes.BLOB, modes.BLOB_EXECUTABLE)
    try:
        waiting = [("", head.tree_id)]
        while waiting:
            name, key = waiting.pop()
            if not name or name.endswith("/"):
                inside = []
                for entry in repository[key].peel(pygit2.Tree):
                    own = (entry.raw_name or b"").decode("utf-8", errors="replace")
                    if entry.filemode == modes.TREE and not own.startswith("."):
                        inside.append((f"{name}{own}/", entry.id))
                    elif entry.filemode in files and own.lower().endswith(endings):
                        inside.append((name + own, entry.id))
                waiting.extend(reversed(inside))
            elif repository.odb.read_header(key)[1] <= LARGEST_BYTES:
                yield name, repository.odb.read(key)[1]
    except (KeyError, pygit2.GitError) as error:
        raise _broken(path, error) from error


def _docstrings(name: str, data: bytes) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if text := ast.get_docstring(tree):
        yield from plain.document(f"# {name}\n{_quoted(text)}")
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        if text := ast.get_docstring(node):
            quoted = _quoted(text).replace("\n", "\n    ")
            quoted = re.sub(r"(?m)[ \t]+$", "", quoted)
            yield from plain.document(f"{_signature(node)}\n    {quoted}")


def _signature(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}:"
    given = node.args
    for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if argument:
            argument.annotation = None
    given.defaults, given.kw_defaults = [], [None] * len(given.kwonlyargs)
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{kind} {node.name}({ast.unparse(given)}):"


def _quoted(text: str) -> str:
    """A docstring in its quotes, raw where it has a backslash, which is what its author typed."""
    text = text.encode("utf-8", errors="backslashreplace").decode("utf-8")  # a lone surrogate
    marks = "'''" if '"""' in text else '"""'
    raw = "r" if "\\" in text else ""
    end = "\n" if "\n" in text else ""
    return f"{raw}{marks}{text}{end}{marks}"


def _message(commit: pygit2.Commit) -> str:
    """A commit's message without trailers and lists of conflicts."""
    try:
        text = commit.raw_message.decode(commit.message_encoding or "utf-8")
    except (LookupError, UnicodeDecodeError):
        text = plain.mixed(commit.raw_message)
    lines = [line.rstrip() for line in text.replace("\0", "").splitlines()]
    subject, body = lines[:1], [line for line in lines[1:] if not _BY.match(line)]
    paragraphs = re.split(r"\n\n+", "\n".join(body).strip("\n"))
    kept = [part for part in paragraphs if not re.match(r"#? ?Conflicts:", part)]
    while kept and _trailers(kept[-1].split("\n")):
        kept.pop()
    return "\n\n".join(["\n".join(subject), *kept]).strip()


def _trailers(lines: list[str]) -> bool:
    """Whether all lines of a paragraph are trailers, or go on with one."""
    begins = bool(_TRAILER.match(lines[0]))
    return begins and all(_TRAILER.match(line) or line[:1] == " " for line in lines)


DOCS, DOCSTRINGS, COMMITS = map(plain.Format, (docs, docstrings, commits))
