"""A headless Chromium, driven over WebDriver's HTTP with the standard library."""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver's own key of an element
KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,900",
]


class Browser:
    """One session."""

    def __init__(self, address: str, profile: Path) -> None:
        self._session = address
        options = {"binary": CHROMIUM, "args": [*OPTIONS, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self._ask("POST", "/session", capabilities={"alwaysMatch": wanted})
        self._session = f"{address}/session/{answer['sessionId']}"

    def open(self, page: Path) -> None:
        self._ask("POST", "/url", url=page.resolve().as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function body returns."""
        return self._ask("POST", "/execute/sync", script=script, args=list(arguments))

    def run_async(self, script: str) -> Any:
        """What a function body hands to `done`."""
        body = f"const done = arguments[0]; {script}"
        return self._ask("POST", "/execute/async", script=body, args=[])

    def click(self, selector: str) -> None:
        element = self._ask("POST", "/element", using="css selector", value=selector)
        self._ask("POST", f"/element/{element[ELEMENT]}/click")

    def press(self, *keys: str) -> None:
        """Keys to whatever has the focus."""
        for key in keys:
            actions = [{"type": kind, "value": KEYS[key]} for kind in ("keyDown", "keyUp")]
            source = {"type": "key", "id": "keyboard", "actions": actions}
            self._ask("POST", "/actions", actions=[source])

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.run_async("requestAnimationFrame(() => requestAnimationFrame(() => done()))")

    def wait_for(self, condition: str, seconds: float = 10.0) -> None:
        """Until an expression holds."""
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({condition})"):
            assert time.monotonic() < end, f"still not so: {condition}"
            time.sleep(0.02)

    def console(self) -> list[str]:
        """What the page has complained of since it was last asked."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", type="browser")]

    def prefer(self, scheme: str) -> None:
        """The light or dark look."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        command = "Emulation.setEmulatedMedia"
        self._ask("POST", "/goog/cdp/execute", cmd=command, params={"features": [feature]})

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def quit(self) -> None:
        self._ask("DELETE", "")

    def _ask(self, method: str, path: str, **values: Any) -> Any:
        body = json.dumps(values).encode() if method == "POST" else None
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._session + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.read().decode()[:400]}") from None


@contextmanager
def started(folder: Path) -> Iterator[Browser]:
    """A browser with an empty profile below the folder."""
    assert DRIVER is not None
    with (
        (folder / "driver.log").open("w+") as log,
        subprocess.Popen([DRIVER, "--port=0"], stdout=log, stderr=log) as driver,
    ):
        try:
            browser = Browser(
                f"http://127.0.0.1:{_port(folder / 'driver.log')}", folder / "profile"
            )
            try:
                yield browser
            finally:
                browser.quit()
        finally:
            driver.terminate()


def _port(log: Path) -> int:
    """The free port that the driver has found."""
    mark = "started successfully on port "
    end = time.monotonic() + 20
    while mark not in (text := log.read_text()):
        assert time.monotonic() < end, f"chromedriver says: {text}"
        time.sleep(0.02)
    return int(text.partition(mark)[2].split(".")[0])
