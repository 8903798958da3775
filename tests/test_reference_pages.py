"""Pages of the reference: an example of each package, a twin in Python of each command."""

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

from trueup.cli import commands

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import executed_examples  # noqa: E402
import generated_reference  # noqa: E402


def leaf_commands() -> list[str]:
    """Words of every command that does something."""
    found = []
    for name, command in commands.COMMANDS.items():
        inner = getattr(command, "COMMANDS", {})
        found += [f"{name} {each}" for each in inner] if inner else [name]
    return found


def unbound_calls(code: str) -> list[str]:
    """Calls of imported functions whose arguments their signatures do not take."""
    tree = ast.parse(code)
    known: dict[str, object] = {}
    wrong = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module = importlib.import_module(str(node.module))
                value = getattr(module, alias.name, None)
                known[alias.name] = value or importlib.import_module(f"{node.module}.{alias.name}")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        names = []
        while isinstance(function, ast.Attribute):
            names.append(function.attr)
            function = function.value
        if not (isinstance(function, ast.Name) and function.id in known):
            continue
        value = known[function.id]
        for name in reversed(names):
            value = getattr(value, name)  # an unknown name fails here
        keywords = {each.arg: None for each in node.keywords if each.arg}
        try:
            inspect.signature(value).bind(*node.args, **keywords)
        except TypeError as error:
            wrong.append(f"{ast.unparse(node)}: {error}")
    return wrong


def test_every_command_has_a_twin_in_python():
    sections = generated_reference.sections_of("from-python.md")
    assert list(sections) == [f"trueup {command}" for command in leaf_commands()]
    page = generated_reference.command_page()
    for name, section in sections.items():
        (code,) = re.findall(r"```python\n(.*?)```", section, re.S)
        assert not unbound_calls(code), name
        assert code in page, name


def test_a_wrong_call_in_a_twin_is_noticed():
    assert unbound_calls("from trueup import runs\nruns.report('a', colour=1)")
    assert not unbound_calls("from trueup import runs\nruns.report('a', anyway=True)")


def test_every_package_has_an_example_on_its_api_page():
    examples = generated_reference.sections_of("api-examples.md")
    assert set(examples) == set(generated_reference.public_packages())
    for package, text in examples.items():
        assert "```python\n" in text and text in generated_reference.api_page(package)


def test_every_block_of_a_page_is_executed_or_marked():
    executed, shown = {"python", "pycon", "console"}, {"yaml", "xml", "json", "{toctree}"}
    for page in executed_examples.pages_with_examples(ROOT / "docs"):
        for block in executed_examples.blocks_of(page.read_text(encoding="utf-8")):
            known = block.language in executed | shown or bool(block.file)
            assert known or block.skipped, f"{page.name} line {block.line}: {block.language}"
