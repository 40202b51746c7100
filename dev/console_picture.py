"""Make the pictures of the console in README.md: the run of a search, in light and in dark.

    make screenshot

A service on the bundled made-up world is searched, and a real browser opens the page of that
search.  People are hidden, as on every page.
"""

import base64
import tempfile
from pathlib import Path

from docs.browser import running_browser
from harness.accessibility import look
from harness.served import served

WIDTH, HEIGHT = 1120, 760
#: Where the drawing of the run begins on the page.
TOP = "document.querySelector('svg').closest('section').getBoundingClientRect().top - 12"
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
#: Largest that a picture may be, in bytes: every clone of the repository has them.
LARGEST = 150_000


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "browser").mkdir()
        with served(folder / "data") as service, running_browser(folder / "browser") as browser:
            with service.client(service.new_key()) as client:
                search = client.post("/contacts", json={"brand": "Veltrana", "wait": True})
            url = f"{service.admin_url}/console/searches/{search.json()['id']}"
            for theme in ("light", "dark"):
                look(browser, url, width=WIDTH, dark=theme == "dark")
                top = browser.value(TOP)
                clip = {"x": 0, "y": top, "width": WIDTH, "height": HEIGHT, "scale": 1}
                shot = browser.ask(
                    "Page.captureScreenshot", clip=clip, captureBeyondViewport=True
                )
                picture = base64.b64decode(shot["data"])
                assert len(picture) <= LARGEST, f"{theme}: {len(picture)} bytes"
                PICTURES.mkdir(exist_ok=True)
                (PICTURES / f"console-{theme}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
