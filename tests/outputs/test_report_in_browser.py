"""The page in a real browser, from a file."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from outputs.browser import Browser
from outputs.conftest import MakeRun, found
from tag2box.evaluation.ground_truth import GroundTruth
from tag2box.inference.photo_boxes import PhotoBoxes
from tag2box.outputs.report import write_report
from tag2box.outputs.report_data import RunReport

BOXES = "document.querySelectorAll('#gallery .box').length"
NAMES_SHOWN = "return [...document.querySelectorAll('#gallery .caption span:first-child')]"
HOSTILE = "<img src=x onerror=alert(1)></script><script>document.title='broken in'</script>"


@pytest.fixture
def page(browser: Browser, make_run: MakeRun, truth: GroundTruth, tmp_path: Path) -> Path:
    """Three photos with true boxes, opened."""
    run = make_run(
        [([10, 10, 50, 50], "cat", 0.9), ([60, 10, 90, 40], "dog", 0.3)],
        [([0, 0, 20, 20], "dog", 0.55), ([50, 40, 90, 80], "cat", 0.7)],
        [([5, 5, 20, 20], "cat", 0.05)],
        disagreement={"photo0": 0.1, "photo1": 0.2, "photo2": 0.3},
    )
    write_report(tmp_path / "report.html", title="Cats", runs=[run], truth=truth)
    show(browser, tmp_path / "report.html")
    return tmp_path / "report.html"


@pytest.fixture(autouse=True)
def _silent_console(browser: Browser) -> object:
    browser.console()
    yield
    assert browser.console() == []


def show(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.wait_for("document.querySelector('#gallery svg image')")
    browser.settle()


def slide(browser: Browser, score: float) -> None:
    browser.run(
        "const slider = document.getElementById('threshold'); slider.value = arguments[0];"
        "slider.dispatchEvent(new Event('input'))",
        score,
    )
    browser.settle()


def choose(browser: Browser, select: str, words: str) -> None:
    browser.run(
        "const [id, words] = arguments, select = document.getElementById(id);"
        "select.selectedIndex = [...select.options].findIndex((one) => one.text === words);"
        "select.dispatchEvent(new Event('change'))",
        select,
        words,
    )
    browser.settle()


def boxes(browser: Browser) -> int:
    return browser.run(f"return {BOXES}")


@pytest.mark.usefixtures("page")
def test_the_slider_shows_and_hides_boxes(browser: Browser) -> None:
    for score, expected in ((0.0, 5), (0.3, 4), (0.5, 3), (0.6, 2), (0.8, 1), (0.95, 0)):
        slide(browser, score)
        assert boxes(browser) == expected
        live = browser.run("return document.getElementById('live').textContent")
        assert live.startswith(f"{expected} box{'' if expected == 1 else 'es'} in")
    slide(browser, 0.6)
    live = browser.run("return document.getElementById('live').textContent")
    assert "precision 100 % · recall 67 %" in live
    assert "missed 1" in live


@pytest.mark.usefixtures("page")
def test_the_keyboard_moves_the_slider(browser: Browser) -> None:
    browser.run("document.getElementById('threshold').focus()")
    browser.press("Home")
    browser.settle()
    assert boxes(browser) == 5
    browser.press(*["ArrowRight"] * 6)  # a hundredth each
    browser.settle()
    assert browser.run("return document.getElementById('threshold-value').value") == "0.06"
    assert boxes(browser) == 4


@pytest.mark.usefixtures("page")
def test_classes_are_switched_off_and_on(browser: Browser) -> None:
    slide(browser, 0.0)
    browser.click("#classes button:nth-child(2)")  # dog
    browser.settle()
    assert boxes(browser) == 3
    pressed = "return document.querySelector('#classes button:nth-child(2)').ariaPressed"
    assert browser.run(pressed) == "false"
    browser.click("#classes-none")
    browser.settle()
    assert boxes(browser) == 0
    browser.click("#classes-all")
    browser.settle()
    assert boxes(browser) == 5


@pytest.mark.usefixtures("page")
def test_photos_are_sorted(browser: Browser) -> None:
    def order() -> str:
        script = f"{NAMES_SHOWN}.map((one) => one.textContent.slice(5, 6)).join('')"
        return browser.run(script)

    assert order() == "012"
    for words, expected in (
        ("most uncertain", "102"),  # 0.9: dog 0.55; 0.6: dog 0.3; 0.1: cat 0.05
        ("highest score", "012"),
        ("lowest score", "210"),
        ("most disagreement", "210"),
        ("worst first", "102"),
        ("best first", "021"),
    ):
        choose(browser, "sort", words)
        assert order() == expected, words
    options = browser.run("return [...document.getElementById('sort').options].map((o) => o.text)")
    assert "largest gain" not in options  # of one run


@pytest.mark.usefixtures("page")
def test_boxes_are_filtered_by_kind_and_photos_by_boxes(browser: Browser) -> None:
    slide(browser, 0.0)
    choose(browser, "kind", "part only")
    assert boxes(browser) == 1
    browser.click("#filled")
    browser.settle()
    hidden = "return [...document.querySelectorAll('#gallery .card')].map((card) => card.hidden)"
    assert browser.run(hidden) == [True, False, True]
    browser.click("#objects")
    browser.settle()
    visible = "return document.querySelectorAll('#gallery .card:not([hidden]) .object').length"
    assert browser.run(visible) == 2


@pytest.mark.usefixtures("page")
def test_everything_is_reached_with_the_keyboard(browser: Browser) -> None:
    where = "return document.activeElement.id || document.activeElement.closest('[id]').id"
    browser.run("document.getElementById('theme').focus()")
    stops = []
    for _ in range(14):
        browser.press("Tab")
        stops.append(browser.run(where))
        outline = "return getComputedStyle(document.activeElement).outlineStyle"
        assert browser.run(outline) != "none", f"the focus on {stops[-1]} does not show"
        if stops[-1] == "gallery":
            break
    toolbar = ["threshold", "sort", "kind", "objects", "labels", "filled"]
    assert stops[:7] == ["tab-photos", *toolbar]
    assert stops[-1] == "gallery"
    browser.press("ArrowRight", "Enter")
    assert browser.run("return document.getElementById('viewer-name').textContent") == "photo1.png"
    browser.press("ArrowRight")
    assert browser.run("return document.getElementById('viewer-name').textContent") == "photo2.png"
    browser.press("Escape")
    assert not browser.run("return document.getElementById('viewer').open")
    browser.wait_for("document.activeElement.closest('#gallery')")  # closing gives the focus back
    browser.run("document.getElementById('tab-photos').focus()")
    browser.press("ArrowRight")
    assert browser.run("return document.getElementById('photos').hidden")
    assert not browser.run("return document.getElementById('scores').hidden")


def test_hostile_names_are_text(browser: Browser, make_run: MakeRun, tmp_path: Path) -> None:
    names = (HOSTILE, "b\u202eac\u0000")
    run = make_run(
        [([10, 10, 50, 50], HOSTILE, 0.9)],
        class_names=names,
        name=HOSTILE,
        file_names=("<b onmouseover=alert(1)>&amp;'\".png",),
    )
    write_report(tmp_path / "report.html", title=HOSTILE, runs=[run])
    show(browser, tmp_path / "report.html")
    assert browser.run("return document.title") == HOSTILE
    assert browser.run("return document.querySelector('h1').textContent") == HOSTILE
    assert (
        browser.run("return document.querySelector('#classes button span').textContent") == HOSTILE
    )
    chip = "return document.querySelector('#classes button:nth-child(2) span').textContent"
    assert browser.run(chip) == "b\\u202eac\\x00"
    browser.click("#gallery button")
    viewer = browser.run("return document.getElementById('viewer-name').textContent")
    assert viewer == "<b onmouseover=alert(1)>&amp;'\".png"
    strangers = "img, b[onmouseover], script:not([id]) ~ script"
    assert browser.run(f"return document.querySelectorAll('{strangers}').length") == 0


@pytest.mark.usefixtures("page")
def test_nothing_is_fetched(browser: Browser) -> None:
    fetched = browser.run("return performance.getEntriesByType('resource').map((r) => r.name)")
    assert all(name.startswith("data:") for name in fetched)
    refused = browser.run_async(
        "const picture = new Image(); picture.onerror = () => done(true);"
        "picture.onload = () => done(false); picture.src = 'http://127.0.0.1:9/a.png'"
    )
    assert refused
    complaint = "".join(browser.console())
    assert "127.0.0.1:9" in complaint
    assert "Content Security Policy" in complaint


def test_two_runs_stand_side_by_side(
    browser: Browser, make_run: MakeRun, truth: GroundTruth, tmp_path: Path
) -> None:
    right, part = ([10, 10, 50, 50], "cat", 0.9), ([10, 10, 25, 25], "cat", 0.8)
    runs = [make_run([part], [], [], name="old"), make_run([right], [], [], name="new")]
    write_report(tmp_path / "report.html", title="Both", runs=runs, truth=truth)
    show(browser, tmp_path / "report.html")
    slide(browser, 0.5)
    sides = "return [...document.querySelectorAll('#gallery .card:first-child svg')]"
    widths = browser.run(f"{sides}.map((one) => one.querySelector('.box').width.baseVal.value)")
    assert widths == [15, 40]
    choose(browser, "sort", "largest gain")
    gain = browser.run("return document.querySelector('#gallery .value').textContent")
    assert gain == "1.00"


def test_names_of_classes_are_not_torn_beside_long_names_of_runs(
    browser: Browser, make_run: MakeRun, truth: GroundTruth, tmp_path: Path
) -> None:
    right = ([10, 10, 50, 50], "cat", 0.9)
    runs = [make_run([right], [], [], name=f"a run of {'many ' * 9}words") for _ in range(2)]
    write_report(tmp_path / "report.html", title="Both", runs=runs, truth=truth)
    show(browser, tmp_path / "report.html")
    browser.click("#tab-scores")
    heights = "return [...document.querySelectorAll('.numbers tbody th')].map(n => n.offsetHeight)"
    assert max(browser.run(heights)) < 40  # one line


def test_dark_and_light_have_contrast(browser: Browser, page: Path) -> None:
    luminances = {}
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        show(browser, page)
        colors = [
            browser.run(f"return getComputedStyle(document.body).{one}")
            for one in ("backgroundColor", "color")
        ]
        ground, ink = (luminance(color) for color in colors)
        light, dark = max(ground, ink), min(ground, ink)
        assert (light + 0.05) / (dark + 0.05) > 7  # WCAG's higher demand
        luminances[scheme] = ground
    assert luminances["light"] > 0.8 > 0.1 > luminances["dark"]
    browser.click("#theme")
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert luminance(ground) == luminances["light"]
    browser.prefer("light")


def luminance(color: str) -> float:
    """WCAG's relative luminance of rgb(r, g, b)."""
    values = np.array([float(v) for v in color[4:-1].split(",")]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_2000_photos_stay_smooth(browser: Browser, tmp_path: Path) -> None:
    """First photos within 5 s of opening, a move of the slider drawn within half a second."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).resize((320, 240)).save(tmp_path / "photo.jpg")
    photos = []
    for index in range(2000):
        corners = rng.random((20, 2)) * 150
        rows = [
            ([x, y, x + 80, y + 60], f"class {index % 20}", float(score))
            for (x, y), score in zip(corners, rng.random(20), strict=True)
        ]
        names = tuple(f"class {number}" for number in range(20))
        one = found(f"photo{index}", rows, names)
        photos.append(PhotoBoxes(tmp_path / "photo.jpg", 320, 240, one))
    run = RunReport(name="many", photos=tuple(photos))
    write_report(tmp_path / "report.html", title="Many", runs=[run])
    assert (tmp_path / "report.html").stat().st_size > 20e6
    show(browser, tmp_path / "report.html")
    assert browser.run("return performance.now()") < 5000
    drawn = browser.run("return document.querySelectorAll('#gallery svg').length")
    assert 0 < drawn < 200
    move = """
        const slider = document.getElementById("threshold"), start = performance.now();
        slider.value = 0.2;
        slider.dispatchEvent(new Event("input"));
        requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
    """
    assert browser.run_async(move) < 500
    browser.run("window.scrollTo(0, document.body.scrollHeight)")
    browser.wait_for("document.querySelector('#gallery .card:last-child svg')")
    browser.wait_for("!document.querySelector('#gallery .card:first-child svg')")
