"""No module of ours turns data into code."""

from __future__ import annotations

import ast

import pytest

from tests.contract.conftest import ROOT

FILES = sorted(file for room in ("andrea", "stages") for file in (ROOT / room).rglob("*.py"))
MODULES = {"cloudpickle", "code", "dill", "joblib", "marshal", "pickle", "runpy", "shelve", "yaml"}
BUILTINS = {"eval", "exec", "compile", "__import__"}


def dangers(source: str) -> list[str]:
    """What in a module could run code out of a file, as written."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom):
            modules = {(node.module or "").split(".")[0], *(alias.name for alias in node.names)}
            found += sorted(modules & (MODULES | BUILTINS))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in BUILTINS:
            found.append(node.id)
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            unsafe = (
                (called.endswith("torch.load") and given.get("weights_only") != "True")
                or (called.endswith(("np.load", "numpy.load")) and "allow_pickle" in given)
                or (called.split(".")[-1] == "YAML" and given.get("typ") not in ("'safe'", "'rt'"))
                or called.endswith(("read_pickle", "torch.hub.load", "import_module"))
                or given.get("shell") == "True"
                or called in ("os.system", "os.popen")
            )
            found += [called] * unsafe
    return found


def test_nothing_read_becomes_code() -> None:
    """Checkpoints are safetensors or plain numbers, settings are safe YAML and JSON."""
    found = {str(file.relative_to(ROOT)): dangers(file.read_text("utf-8")) for file in FILES}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import pickle as p",
        "from pickle import loads",
        "from yaml import unsafe_load",
        "import torch; torch.load('x')",
        "import torch; torch.load('x', weights_only=False)",
        "import numpy as np; np.load('x', allow_pickle=True)",
        "YAML().load('x')",
        "YAML(typ='unsafe').load('x')",
        "eval('1')",
        "run = exec",
        "from builtins import eval",
        "subprocess.run('x', shell=True)",
    ],
)
def test_what_would_is_seen(source: str) -> None:
    """Else the test above could not fail."""
    assert dangers(source)


def test_what_is_safe_passes() -> None:
    """Such as the loader of torch that takes weights only, or a field that has such a name."""
    assert not dangers("torch.load('x', weights_only=True); YAML(typ='safe'); torch.compile(f)")
    assert not dangers("import re; re.compile('x'); model.eval()")
    assert not dangers("class Source:\n    eval: str")
