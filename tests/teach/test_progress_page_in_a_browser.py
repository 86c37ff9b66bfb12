"""The pages of a student's progress and of a class's guesses in a real browser."""

import pytest
from in_browser import check_accessible

from minifp import teach
from minifp.teach import collecting, standing_views
from minifp.teach.standing import standings

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_has_nothing_against_them_and_they_fit(opened, own_file, tmp_path, width, scheme):
    teach.begin("01-sixteen-bits")
    teach.predict("3e-8 is stored as", of=("0", "2^-24"), choice="2^-24")
    teach.check(zero_up_to=3e-8)
    path = tmp_path / "page.html"
    for text in (
        standing_views.page(standings()), collecting.page(collecting.collected([own_file]))
    ):  # fmt: skip
        path.write_text(text, encoding="utf-8")
        check_accessible(opened(path, width, scheme))
