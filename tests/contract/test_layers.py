"""Lower rooms never import higher ones, and only the command line talks."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from tests.contract.conftest import ROOT, imports

FILES = sorted((ROOT / "andrea").rglob("*.py"))
# Room: rooms of ours below it, and packages of others.
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "common": (set(), {"numpy", "pandas"}),
    "config": ({"common"}, {"ruamel"}),
    "corpus": (
        {"common", "config"},
        {"datasets", "datasketch", "numpy", "pyarrow", "pygit2", "tqdm"},
    ),
    "tokens": ({"common", "config", "corpus"}, {"numpy", "tokenizers"}),
    "watching": ({"common"}, {"numpy"}),
    "mixture": ({"common", "config"}, {"numpy"}),
    "model": ({"common", "config"}, {"numpy", "torch"}),
    "scratch": ({"common"}, set()),
    "shell": ({"common", "config"}, {"tabulate", "tqdm"}),
    "training": (
        {"common", "config", "mixture", "model", "scratch", "shell", "tokens", "watching"},
        {"numpy", "torch", "safetensors"},
    ),
    "geometry": (
        {"common", "config", "mixture", "model", "shell", "tokens", "training"},
        {
            "jinja2",
            "markupsafe",
            "matplotlib",
            "numpy",
            "pandas",
            "safetensors",
            "sklearn",
            "threadpoolctl",
            "torch",
        },
    ),
    "evaluation": (
        {"common", "config", "mixture", "model", "tokens", "training"},
        {"numpy", "torch"},
    ),
    "exporting": (
        {"common", "config", "mixture", "model", "tokens", "training"},
        {
            "datasets",
            "jinja2",
            "lm_eval",
            "numpy",
            "onnx",
            "onnxruntime",
            "ruamel",
            "safetensors",
            "tokenizers",
            "torch",
            "transformers",
        },
    ),
    "writing": (
        {"common", "config", "corpus", "exporting", "model", "tokens", "training"},
        {"numpy", "torch"},
    ),
    "tracking": (
        {"common", "config", "exporting", "model", "shell", "training", "watching", "writing"},
        {"mlflow", "pandas"},
    ),
    "planning": (
        {"common", "config", "corpus", "mixture", "shell", "tokens", "training"},
        {"numpy", "torch"},
    ),
    "commands": (
        {
            "common",
            "config",
            "corpus",
            "evaluation",
            "exporting",
            "model",
            "planning",
            "geometry",
            "scratch",
            "shell",
            "tokens",
            "tracking",
            "training",
            "watching",
            "writing",
        },
        {"numpy", "torch", "tqdm"},
    ),
    "cli": ({"commands", "common"}, set()),
}


def room(file: Path) -> str:
    """The package of a module, or the module itself where it is in none."""
    return file.relative_to(ROOT / "andrea").parts[0].removesuffix(".py")


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


MODULES = [file for file in FILES if file.name != "__init__.py"]


def test_a_room_knows_only_the_rooms_below() -> None:
    """So `mixture` and `corpus` know no torch, and only `tracking` knows mlflow."""
    strangers = {}
    for file in MODULES:
        below, others = ROOMS[room(file)]
        named = [module.split(".") for module in imports(file)]
        ours = {name[1] for name in named if name[0] == "andrea" and len(name) > 1}
        foreign = {name[0] for name in named} - set(sys.stdlib_module_names) - {"andrea"}
        strangers[name_of(file)] = (ours - below - {room(file)}) | (foreign - others)
    assert {file: names for file, names in strangers.items() if names} == {}


def test_the_rooms_stand_in_one_order() -> None:
    """Each room names only rooms before it in the table, so that there is no circle."""
    seen: set[str] = set()
    for name, (below, _) in ROOMS.items():
        assert below <= seen
        seen.add(name)
    assert set(ROOMS) == {room(file) for file in MODULES}


LIBRARY = [file for file in MODULES if room(file) not in ("cli", "commands", "shell")]


def test_the_library_is_quiet() -> None:
    """Only the command line parses arguments and prints; progress and warnings go to stderr."""
    loud = [name_of(file) for file in LIBRARY if "argparse" in imports(file) or prints(file)]
    assert not loud, loud


def prints(file: Path) -> bool:
    """Whether it prints to standard output."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return any(
        [ast.unparse(word.value) for word in call.keywords if word.arg == "file"] != ["sys.stderr"]
        for call in calls
        if ast.unparse(call.func) == "print"
    )


def test_packages_import_nothing() -> None:
    """Else a stage would depend on more than it names."""
    packages = [file for file in FILES if file.name == "__init__.py"]
    importing = [name_of(file) for file in packages if not imports(file) <= {"os"}]
    assert not importing, importing
