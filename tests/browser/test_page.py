"""The page in a real browser: no request, no error, no overflow, useful without script."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
import sample_record as sample
from playwright.sync_api import Browser, Page, sync_playwright

from audit.render.html import page as render
from audit.verdict import Outcome

pytestmark = pytest.mark.heavy

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SCHEMES = ("light", "dark")
WIDTHS = (390, 1280)


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
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the address of a page with hostile names, an error, a failure and passes."""
    cases = (
        sample.bad(sample.HOSTILE),
        sample.case_result("broken", Outcome.ERROR, None, detail=sample.HOSTILE),
        sample.good("article-three-tokens"),
        sample.good(),
    )
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(sample.record(sample.audit(sample.HOSTILE, *cases))), encoding="utf-8")
    return path.as_uri()


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


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_requested_nothing_fails_nothing_overflows(
    browser: Browser, report: str, scheme: str, width: int
) -> None:
    size = {"width": width, "height": 900}
    page, noise = opened(browser, report, color_scheme=scheme, viewport=size)
    assert noise == [report]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


def test_style_and_script_pass_the_pages_own_policy(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report, color_scheme="light")
    assert page.locator("#theme").is_visible()
    assert page.evaluate("getComputedStyle(document.body).margin") == "0px"
    page.context.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_button_changes_the_theme(browser: Browser, report: str, scheme: str) -> None:
    page, _ = opened(browser, report, color_scheme=scheme)
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(colour)
    page.click("#theme")
    assert page.evaluate(colour) != before
    page.click("#theme")
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


def test_everything_is_there_without_script(browser: Browser, report: str) -> None:
    page, noise = opened(browser, report, java_script_enabled=False)
    assert noise == [report]
    assert not page.locator("#theme").is_visible()
    page.click("#article-three-tokens summary")
    for text in ("Emitted blocks", "Method and limits", "Provenance"):
        assert page.get_by_text(text).first.is_visible()
    page.context.close()


def test_figures_keep_their_size_without_style(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report)
    page.evaluate("document.querySelector('style').remove()")
    sizes = page.evaluate("[...document.querySelectorAll('svg')].map(s => s.clientWidth)")
    assert len(sizes) == 6  # a glyph and a plot for each case that was counted
    assert max(sizes) < 600
    page.context.close()


def test_print_opens_every_case(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == 2
    page.context.close()


def test_the_words_of_the_page_hold_no_trick(browser: Browser, report: str) -> None:
    page, _ = opened(browser, report)
    text = page.evaluate("document.body.innerText")
    assert "<script>alert(1)</script>" in text
    assert not any(sign in text for sign in "\x1b\u202e\x00")
    page.context.close()
