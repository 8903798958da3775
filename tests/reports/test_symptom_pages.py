"""Pages that findings lead to: they exist, and say what the table says of them."""

from pathlib import Path

import pytest

from trueup.explain import CAUSES
from trueup.reports import symptoms

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", symptoms.PAGES, ids=lambda page: page.file)
def test_a_page_exists_and_has_its_title(page):
    first, *rest = (DOCS / page.file).read_text(encoding="utf-8").splitlines()
    assert first == f"# {page.title}"
    # a cause that leads to a page is in it, with its name
    assert not [cause for cause in page.causes if cause not in "\n".join(rest)]


def test_every_cause_leads_to_a_page_and_every_symptom_is_listed():
    assert not [cause for cause in CAUSES if not symptoms.pages_of_causes([cause])]
    index = (DOCS / "symptoms" / "index.md").read_text(encoding="utf-8")
    pages = {path.name for path in (DOCS / "symptoms").glob("*.md")} - {"index.md"}
    assert pages == {Path(p.file).name for p in symptoms.PAGES if p.file.startswith("symptoms")}
    assert all(f"({name})" in index for name in pages)
