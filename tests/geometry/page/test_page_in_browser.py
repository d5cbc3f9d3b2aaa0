"""The pages in headless Chromium: what a reader's browser says of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from andrea.geometry.page import page
from tests.geometry.geometries import example

PHONE, DESK = 390, 1400  # pixels

# A ruler that only the test adds: the page itself has no script.
RULER = """<script>addEventListener('load',()=>{const root=document.documentElement;
const boxes=[...document.querySelectorAll('body *')].filter(one=>!one.closest('.scroll'));
const inside=svg=>{const wide=svg.getBoundingClientRect();
return [...svg.querySelectorAll('text')].filter(one=>{const box=one.getBoundingClientRect();
return box.left<wide.left-3||box.right>wide.right+3||box.top<wide.top-3||box.bottom>wide.bottom+3})
.map(one=>one.textContent)};
const svgs=[...document.querySelectorAll('svg')];
root.dataset.seen=JSON.stringify({width:root.scrollWidth,
paper:getComputedStyle(document.body).backgroundColor,ink:getComputedStyle(document.body).color,
out:boxes.filter(one=>one.getBoundingClientRect().right>innerWidth+1).map(one=>one.outerHTML),
asked:performance.getEntriesByType('resource').map(one=>one.name),
small:svgs.filter(one=>one.getBoundingClientRect().height<60).length,
cut:svgs.flatMap(inside),svgs:svgs.length,
milliseconds:performance.timing.domContentLoadedEventEnd-performance.timing.navigationStart})})
</script></body>"""


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        pytest.fail("no chromium: `apt-get install chromium`, or leave the slow tests out")
    return found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    one, other = example(), example(8)
    written = {"one": page.html(one), "two": page.compare_html(one, other, ("left", "right"))}
    files = {}
    for name, text in written.items():
        files[name] = folder / f"{name}.html"
        files[name].write_text(text.replace("</body>", RULER), encoding="utf-8")
    return files


def look(browser: str, file: Path, width: int, *options: str) -> tuple[dict[str, Any], str]:
    """What the ruler saw, and what the browser said."""
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
        f"--user-data-dir={file.parent / 'profile'}", "--enable-logging=stderr",
        f"--window-size={width},900", "--virtual-time-budget=4000", *options, "--dump-dom",
        file.as_uri(),
    ]  # fmt: skip
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True,
        env=os.environ | {"HOME": str(file.parent)},
    )  # fmt: skip
    seen = re.search(r'data-seen="([^"]*)"', run.stdout)
    assert seen, run.stderr[-2000:]
    return json.loads(unescape(seen[1])), run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "two"])
def test_a_desk_shows_all_without_a_word_of_complaint(
    browser: str, pages: dict[str, Path], name: str
) -> None:
    seen, said = look(browser, pages[name], DESK)
    assert "CONSOLE" not in said
    assert seen["asked"] == []
    assert seen["svgs"] > 25
    assert seen["small"] == 0
    assert seen["cut"] == []
    assert seen["width"] <= DESK
    assert seen["out"] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "two"])
def test_a_phone_scrolls_only_downwards(browser: str, pages: dict[str, Path], name: str) -> None:
    """A frame of a phone's width, as a window of the browser itself may not be that narrow."""
    frame = pages[name].with_name(f"phone-{name}.html")
    frame.write_text(
        f'<iframe style="width:{PHONE}px;height:800px;border:0" src="{pages[name].name}"'
        ' onload="const seen=this.contentDocument.documentElement.dataset.seen;'
        'document.documentElement.dataset.seen=seen"></iframe>',
        encoding="utf-8",
    )
    seen, said = look(browser, frame, DESK, "--allow-file-access-from-files")
    assert "CONSOLE" not in said
    assert seen["width"] == PHONE
    assert seen["out"] == []


@pytest.mark.slow
def test_dark_is_dark_and_light_is_light(browser: str, pages: dict[str, Path]) -> None:
    light, _ = look(browser, pages["one"], DESK)
    dark, _ = look(browser, pages["one"], DESK, "--blink-settings=preferredColorScheme=0")

    def brightness(colour: str) -> float:
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3

    assert brightness(light["paper"]) > 240 > 60 > brightness(light["ink"])
    assert brightness(dark["paper"]) < 60 < 200 < brightness(dark["ink"])
