"""The page of a student's progress in a real browser: usable by all, on a screen or a phone."""

import pytest
from in_browser import check_accessible

from minifp import teach
from minifp.teach import standing_shown
from minifp.teach.standing import standings

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_has_nothing_against_it_and_it_fits(opened, tmp_path, width, scheme):
    teach.begin("01-sixteen-bits")
    teach.predict("3e-8 is stored as", of=("0", "2^-24"), choice="2^-24")
    teach.check(zero_up_to=3e-8)
    path = tmp_path / "page.html"
    path.write_text(standing_shown.page(standings()), encoding="utf-8")
    check_accessible(opened(path, width, scheme))
