"""Pages as a reader gets them: their tags and words, and what holds for each of them."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input", "img", "hr"}


class Page(HTMLParser):
    """The tags and the text of a page, whose elements must be closed in their order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.text = text
        self.feed(text)
        self.close()
        assert not self.open

    @property
    def words(self):
        return " ".join(" ".join(self.texts).split())

    def values(self, *names):
        """The values of attributes of these names, where there are any."""
        return [a[name] for _, a in self.tags for name in names if a.get(name)]

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & {*self.open}:
            self.texts.append(data)


def checked(text):
    """The page, which fetches nothing, whose ids are there once, and whose references lead on."""
    page = Page(text)
    for target in page.values("src", "href", "xlink:href", "action", "data"):
        assert re.match(r"#|data:|(?!\w+:|//)[\w./%-]+$", target), target
    assert not re.findall(r"url\((?!#)", text) and "@import" not in text
    ids = page.values("id")
    assert len(ids) == len({*ids})
    used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
    labels = " ".join(page.values("aria-labelledby", "aria-describedby", "for")).split()
    assert {a or b for a, b in used} | {*labels} <= {*ids}
    return page
