"""The documentation in a real browser, as it is built, without a network."""

import contextlib
import os
import re
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urldefrag

import pytest
from streams import python

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md"))
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
WIDTHS = 390, 820, 1_440
COLUMNS = 76  # of code
LEAST_LETTERS = 10  # pixels of a letter of a figure
RAW_TEX = r"\\[(\[a-zA-Z]+"

pytest.importorskip("mkdocs", reason="the documentation is not installed")
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]

# What is beyond the right edge of the screen and cannot be scrolled to.
TOO_WIDE = """() => {
    const scrolls = (e) => ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
    const reached = (e) => {
        for (let a = e.parentElement; a; a = a.parentElement) if (scrolls(a)) return true;
        return false;
    };
    const wide = [...document.body.querySelectorAll("*")].filter((e) => {
        const box = e.getBoundingClientRect();
        return box.width > 0 && box.height > 0 && box.right > innerWidth + 1 && !reached(e);
    });
    return wide.map((e) => `${e.tagName} ${e.className} ${e.textContent.trim().slice(0, 60)}`);
}"""
# What is scrolled sideways: code may be, and formulas.
SCROLLED = """() => {
    const scrolls = (e) => ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
    const moved = (e) => scrolls(e) && e.scrollWidth > e.clientWidth + 1;
    const read = [...document.querySelectorAll(".md-content *")];
    return read.filter((e) => moved(e) && !e.closest("pre, .highlight, .equation"))
        .map((e) => `${e.className}: ${e.textContent.trim().slice(0, 60)}`);
}"""
# Text that is read, without code.
TEXT = """() => {
    const body = document.querySelector(".md-content").cloneNode(true);
    body.querySelectorAll("pre, code, annotation, script").forEach((e) => e.remove());
    return body.textContent;
}"""
# Where the links of a page go, and the names of its parts, without what it would load.
LINKS = """([text, address]) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    const links = [...page.querySelectorAll("a[href]")];
    const to = links.map((a) => new URL(a.getAttribute("href"), address).href);
    return [to, [...page.querySelectorAll("[id]")].map((e) => e.id)];
}"""
CODE = """() => {
    const blocks = [...document.querySelectorAll("pre code")];  // but for the package's own source
    return blocks.filter((e) => !e.closest("details")).flatMap((e) => e.textContent.split("\\n"));
}"""
# Words of a heading of a table that go on in the next line.
BROKEN = """() => {
    const broken = [];
    for (const head of document.querySelectorAll(".md-content th")) {
        const walk = document.createTreeWalker(head, NodeFilter.SHOW_TEXT);
        for (let node = walk.nextNode(); node; node = walk.nextNode()) {
            for (const word of node.data.matchAll(/[^\\s]+/g)) {
                const range = document.createRange();
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                const tops = [...range.getClientRects()].map((box) => Math.round(box.top));
                if (new Set(tops).size > 1 && !/[-\\/·]/.test(word[0])) broken.push(word[0]);
            }
        }
    }
    return broken;
}"""
# Whether each figure is the one for this width: it is fetched some time after the width changes.
FETCHED = """() => [...document.querySelectorAll(".md-content picture")].every((e) => {
    const source = [...e.querySelectorAll("source")].find((each) => matchMedia(each.media).matches);
    const image = e.querySelector("img"), wanted = source ? source.srcset : image.src;
    return image.currentSrc === new URL(wanted, document.baseURI).href;
})"""
# The figures that are shown, and how many pixels each is wide.
SHOWN = """() => [...document.querySelectorAll(".md-content img")].filter((e) => e.offsetWidth)
    .map((e) => [e.currentSrc.split("#")[0], e.getBoundingClientRect().width])"""
FIGURES = """() => [...document.querySelectorAll(".md-content img")].map((e) => ({
    src: e.src, shown: e.offsetWidth > 0, drawn: e.complete && e.naturalWidth > 0, alt: e.alt
}))"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Address of the site, served from a folder that it was built in."""
    folder = os.environ.get("BUILT_SITE")  # of these pages, built before
    if folder is None:
        folder = tmp_path_factory.mktemp("site")
        given = "-m", "mkdocs", "build", "--strict", "-d", folder
        python(*given, cwd=ROOT, NO_MKDOCS_2_WARNING="1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def address(site, page):
    return site + ("" if page == "index" else f"{page}/")


@contextlib.contextmanager
def visiting(browser, site, scheme="light"):
    """A function that loads a page, and what goes wrong while it is loaded."""
    problems = []

    def elsewhere(route):
        if not route.request.url.startswith("data:"):
            problems.append(f"another host: {route.request.url}")
        route.abort()

    def said(message):
        if message.type in ("error", "warning"):
            problems.append(f"console: {message.text}")

    def answered(response):
        if response.status >= 400:
            problems.append(f"{response.status}: {response.url}")

    def visit(name):
        problems.clear()
        page.goto(address(site, name))
        return page

    size = {"width": 1_400, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme)
    context.set_default_timeout(120_000)  # on a busy machine a page takes longer than 30 s
    context.route(lambda url: not url.startswith(site), elsewhere)
    page = context.new_page()
    page.on("console", said)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("response", answered)
    yield visit, problems
    context.close()


def smallest_letters(svg):
    """The size of the smallest text of a figure of matplotlib, over the width of the figure.

    A letter is an outline in hundredths of its size; an exponent is scaled once more.
    """
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])
    sizes = []
    for text in re.split(r"<g [^>]*(?=scale\([\d.]+ -[\d.]+\))", svg)[1:]:
        size, group = re.match(r"scale\(([\d.]+).*?\)(.*?)</g>", text, re.DOTALL).groups()
        within = re.findall(r"<use [^>]*scale\((0\.\d+)\)", group)
        sizes.append(100 * float(size) * min(map(float, within), default=1.0))
    sizes += map(float, re.findall(r"font(?:-size)?: ?([\d.]+)px", svg))
    return min(sizes) / width


def small_letters(page):
    """Figures with letters of less than ten pixels, as they are shown now."""
    for address, width in page.evaluate(SHOWN):
        if address.endswith(".svg"):
            size = width * smallest_letters((DOCS / "assets" / Path(address).name).read_text())
            if size < LEAST_LETTERS:
                yield f"{address}: letters of {size:.1f} pixels"


def problems_of(page, scheme):
    problems = [f"TeX: {each}" for each in re.findall(RAW_TEX, page.evaluate(TEXT))]
    code = page.evaluate(CODE)
    problems += [f"long code: {line}" for line in code if len(line) > COLUMNS]
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(FETCHED)
        problems += [f"{width}, too wide: {each}" for each in page.evaluate(TOO_WIDE)]
        problems += [f"{width}, scrolled: {each}" for each in page.evaluate(SCROLLED)]
        problems += [f"{width}, a broken heading: {each}" for each in page.evaluate(BROKEN)]
        problems += [f"{width}, {each}" for each in small_letters(page)]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            problems.append(f"{width}, the page scrolls sideways")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    for figure in page.evaluate(FIGURES):
        wanted = "#only-" not in figure["src"] or figure["src"].endswith(scheme)
        right = figure["shown"] == wanted <= figure["drawn"] and figure["alt"]
        problems += [] if right else [f"figure: {figure}"]
    return problems


@pytest.mark.parametrize("half", [0, 1])  # for two processes
def test_every_page_loads_and_fits_the_screen(browser, site, half):
    """No error, no other host, no raw TeX, nothing beyond the edge, the figures of the scheme."""
    wrong = {}
    with visiting(browser, site) as (visit, problems):
        for name in PAGES[half::2]:
            page = visit(name)
            if found := problems + problems_of(page, "light"):
                wrong[name] = found
    assert not wrong


def test_what_is_wrong_with_a_page_is_found(browser, site):
    with visiting(browser, site) as (visit, _):
        page = visit("index")
        page.evaluate(
            "document.querySelector('.md-content').insertAdjacentHTML('beforeend', "
            "'<div style=\"width: 2000px\">wide</div>')"
        )
        assert page.evaluate(TOO_WIDE)  # which would be found
        page.set_content(
            "<div class=md-content><table><th style='width: 1em; "
            "overflow-wrap: anywhere'>horizon</table></div>"
        )
        assert page.evaluate(BROKEN)
        small = (ROOT / "docs/assets/labels-light.svg").read_text()
        assert 300 * smallest_letters(small) < LEAST_LETTERS < 700 * smallest_letters(small)


def test_no_link_is_broken(browser, site):
    wrong, links, ids = {}, {}, {}
    with visiting(browser, site) as (visit, _):
        page = visit("index")
        for name in PAGES:
            here = address(site, name)
            found, ids[here] = page.evaluate(LINKS, [page.request.get(here).text(), here])
            links[name] = {link for link in found if link.startswith(site)}
        assert sum(map(len, links.values())) > 20 * len(PAGES)
        for link in sorted(set().union(*links.values())):
            target, anchor = urldefrag(link)
            if anchor not in ids.get(target, ()) and (
                anchor or not (target in ids or page.request.get(target).ok)
            ):
                wrong[link] = [name for name, found in links.items() if link in found]
    assert not wrong


def test_every_page_with_a_figure_is_right_in_the_dark(browser, site):
    pages = [name for name in PAGES if "#only-light" in (DOCS / f"{name}.md").read_text()]
    assert len(pages) >= 6
    wrong = {}
    with visiting(browser, site, "dark") as (visit, problems):
        for name in pages:
            page = visit(name)
            if found := problems + problems_of(page, "dark"):
                wrong[name] = found
    assert not wrong


def test_formulas_are_drawn_in_the_font_of_the_site(browser, site):
    with visiting(browser, site) as (visit, _):
        page = visit("how-it-decides")
        written = (DOCS / "how-it-decides.md").read_text().count("\\[")
        assert page.locator(".equation math[display=block]").count() == written > 5
        page.evaluate("document.fonts.ready")
        assert page.evaluate("document.fonts.check('16px Formulas')")
        loaded = page.evaluate("[...document.fonts].filter((f) => f.status == 'loaded').length")
        assert loaded == 1
