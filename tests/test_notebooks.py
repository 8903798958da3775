"""The notebooks of examples run from top to bottom, and hold outputs that need no page."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LARGEST = 700_000
"""Size of a notebook with its outputs [byte]."""


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def notebooks(request, tmp_path_factory) -> tuple[NotebookNode, NotebookNode]:
    """A notebook as it is stored, and as it is after its execution without a display."""
    stored = nbformat.read(request.param, 4)
    executed = nbformat.read(request.param, 4)
    folder = tmp_path_factory.mktemp("notebook")
    without = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "MUJOCO_GL")}
    client = NotebookClient(
        executed, timeout=180, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env={**without, "PYTHONWARNINGS": "error::FutureWarning"})
    assert not any(folder.iterdir())  # a notebook leaves nothing where it was started
    return stored, executed


def outputs(notebook: NotebookNode) -> list[list[tuple[str, ...]]]:
    """Kinds of the outputs of each cell of code."""
    return [
        [(o.output_type, *sorted(o.get("data", {}))) for o in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def html(notebook: NotebookNode) -> list[str]:
    return [
        output.data["text/html"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]


def test_notebooks_store_what_an_execution_shows(notebooks):
    stored, executed = notebooks
    assert outputs(stored) == outputs(executed)
    assert not [o for cell in outputs(executed) for o in cell if o[0] == "error"]
    assert len(nbformat.writes(stored)) < LARGEST
    counts = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_results_in_a_notebook_need_no_page(notebooks):
    _, executed = notebooks
    shown = html(executed)
    without_films = [re.sub(r"base64,[^\"]+", "", text) for text in shown]
    assert all("<script" not in text and "http" not in text for text in without_films)
    (result, *_) = [text for text in shown if "The whole report:" in text]
    assert ">Verdict<" in result and "<table" in result and "<svg" in result
    lines = [
        output.data["text/plain"]
        for cell in executed.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]
    assert all(len(line) < 500 and "array(" not in line for line in lines)


def test_the_notebooks_find_what_was_planted(notebooks):
    _, executed = notebooks
    text = "".join(
        output.get("text", "")
        for cell in executed.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    if "named:" in text:
        assert "named: ['delay', 'friction']" in text
    else:
        assert text.count(": inside") == 3 and "posterior_event.py" in text
        (film,) = [shown for shown in html(executed) if ">Film<" in shown]
        assert re.search("data:video/mp4|The overlay video was skipped: .+", film)
