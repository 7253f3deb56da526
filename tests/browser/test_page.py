"""The page in a real browser: no request, no error, no overflow, useful without script.

Accessibility is judged by axe-core, which axe-playwright-python brings along.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_records import PAGES, failing
from playwright.sync_api import Browser, Page, Route, sync_playwright

from audit.render.html import page as render

pytestmark = pytest.mark.heavy

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SCHEMES = ("light", "dark")
WIDTHS = (390, 641, 1280, 1600)
ELSEWHERE = "http://report.test/"
STRICT = "default-src 'none'; script-src 'none'; style-src 'none'"
OBSERVED = "rgb(11, 92, 173)"  # what the template gives the marks where no style sheet counts


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yields a headless browser; without one, skips at home and fails in CI."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        reason = "no chromium on the path; install the distribution's package `chromium`"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns the addresses of all pages."""
    folder = tmp_path_factory.mktemp("page")
    for name, made in PAGES.items():
        (folder / f"{name}.html").write_text(made(), encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in PAGES}


@pytest.fixture(scope="module")
def report(reports: dict[str, str]) -> str:
    """Returns the address of the page with hostile names."""
    return reports["failing"]


def opened(browser: Browser, address: str, **options: object) -> tuple[Page, list[str]]:
    """Returns the page and a list that collects requests, console messages and dialogs."""
    noise: list[str] = []
    page = browser.new_context(**options).new_page()
    page.on("request", lambda request: noise.append(request.url))
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("dialog", lambda dialog: noise.append(dialog.message))
    page.goto(address)
    return page, noise


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_is_requested_nothing_fails_nothing_overflows(
    browser: Browser, reports: dict[str, str], name: str, scheme: str
) -> None:
    page, noise = opened(browser, reports[name], color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
    assert noise == [reports[name]]
    page.context.close()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing(
    browser: Browser, reports: dict[str, str], name: str, scheme: str
) -> None:
    page, _ = opened(browser, reports[name], color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    found = Axe().run(page).response
    told = [(one["id"], one["nodes"][0]["html"][:200]) for one in found["violations"]]
    assert told == []
    assert len(found["passes"]) > 10  # it did look
    page.context.close()


def test_axe_would_find_something(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report)
    page.evaluate("document.documentElement.removeAttribute('lang')")
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found] == ["html-has-lang"]
    page.context.close()


def test_the_page_draws_under_a_policy_without_style_and_script(
    browser: Browser, report: str
) -> None:
    requests: list[str] = []
    page = browser.new_context(color_scheme="light").new_page()

    def answer(route: Route) -> None:
        requests.append(route.request.url)
        headers = {"Content-Security-Policy": STRICT, "Content-Type": "text/html; charset=utf-8"}
        route.fulfill(body=render(failing()), headers=headers)

    page.route("**/*", answer)
    page.goto(ELSEWHERE)
    assert requests == [ELSEWHERE]
    assert not page.locator("#_theme").is_visible()
    fill = "getComputedStyle(document.querySelector('.plot circle')).fill"
    assert page.evaluate(fill) == OBSERVED
    stroke = "getComputedStyle(document.querySelector('.plot .fault1')).stroke"
    assert page.evaluate(stroke) == "rgb(196, 38, 46)"
    page.context.close()


def test_the_keyboard_reaches_and_opens_everything(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report)
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.tagName + document.activeElement.id"))
        ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert ring == "solid" or reached[-1].startswith("BODY"), reached[-1]
        if page.evaluate("document.activeElement.parentElement?.id") == "p-equals-q":
            break
    assert reached[0] == "BUTTON_theme"
    assert {"A", "DIV", "SUMMARY"} <= set(reached)
    assert not page.evaluate("document.getElementById('p-equals-q').open")
    page.keyboard.press("Enter")
    assert page.evaluate("document.getElementById('p-equals-q').open")
    page.context.close()


def test_style_and_script_pass_the_pages_own_policy(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report, color_scheme="light")
    assert page.locator("#_theme").is_visible()
    assert page.evaluate("getComputedStyle(document.body).margin") == "0px"
    page.context.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_button_changes_the_theme(browser: Browser, report: str, scheme: str) -> None:
    page, _ = opened(browser, report, color_scheme=scheme)
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(colour)
    page.click("#_theme")
    assert page.evaluate(colour) != before
    page.click("#_theme")
    assert page.evaluate(colour) == before
    page.context.close()


def test_a_link_opens_its_case(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report)
    assert not page.evaluate("document.getElementById('article-three-tokens').open")
    page.click("a[href='#article-three-tokens']")
    assert page.evaluate("document.getElementById('article-three-tokens').open")
    page.context.close()
    page, _ = opened(browser, f"{report}#article-three-tokens")
    assert page.evaluate("document.getElementById('article-three-tokens').open")
    page.context.close()


def test_the_filter_shows_the_cases_of_one_kind(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report)
    rows = page.locator(".cases tbody tr")
    assert rows.count() == 4
    page.select_option("#_filter select", "good")
    assert [rows.nth(n).is_visible() for n in range(4)] == [False, False, True, True]
    assert not page.locator("#broken").is_visible()
    page.select_option("#_filter select", "")
    assert page.locator("#broken").is_visible()
    page.context.close()


def test_everything_is_there_without_script(browser: Browser, report: str) -> None:
    page, noise = opened(browser, report, java_script_enabled=False)
    assert noise == [report]
    assert not page.locator("#_theme").is_visible()
    assert not page.locator("#_filter").is_visible()
    page.click("#article-three-tokens summary")
    for text in ("Emitted blocks", "Method and limits", "Provenance"):
        assert page.get_by_text(text).first.is_visible()
    page.context.close()


def test_figures_keep_their_size_without_style(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report)
    page.evaluate("document.querySelector('style').remove()")
    sizes = page.evaluate("[...document.querySelectorAll('svg')].map(s => s.clientWidth)")
    # the shared axes; an interval, a path and what is accepted for each case that was counted; a
    # plot of the failure
    assert len(sizes) == 1 + 3 * 3 + 1
    assert max(sizes) < 600
    page.context.close()


def test_print_opens_every_case(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report)
    before = page.locator("details:not([open])").count()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == before == 3
    page.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_paper_is_wide_enough(browser: Browser, reports: dict[str, str], name: str) -> None:
    page, _ = opened(browser, reports[name], viewport={"width": 760, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 760
    page.context.close()


def test_paper_shows_every_case_without_script_and_in_light_colours(
    browser: Browser, report: str
) -> None:
    page, _ = opened(browser, report, java_script_enabled=False, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("#p-equals-q .facts").is_visible()
    assert not page.locator("#_theme").is_visible()
    assert page.pdf().startswith(b"%PDF")
    page.context.close()


def test_the_words_of_the_page_hold_no_trick(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report)
    text = page.evaluate("document.body.innerText")
    assert "<script>alert(1)</script>" in text
    assert not any(sign in text for sign in "\x1b\u202e\x00")
    page.context.close()
