"""Pictures of the built documentation at three widths, light and dark, to be looked at.

    python docs/screenshots.py HTML_FOLDER PICTURE_FOLDER [PAGE ...]

A page is named as its file, without the suffix; the default is all that are not generated, and
the index of the gallery. Needs Chromium (Debian's package ``chromium``), run without a window and
without the network.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WIDTHS = 390, 1300, 1900
HEIGHT = 2400
SCHEMES = {"light": 1, "dark": 0}
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def take(browser: str, page: Path, width: int, scheme: str, picture: Path) -> None:
    """Write one picture of a page."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser,
                *OPTIONS,
                f"--user-data-dir={profile}",
                f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
                f"--window-size={width},{HEIGHT}",
                f"--screenshot={picture}",
                page.resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
        )


def main(html: str, pictures: str, *pages: str) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("screenshots: neither chromium nor google-chrome is on PATH")
    folder = Path(pictures).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    default = [*sorted(path.stem for path in Path(html).glob("*.html")), "gallery/index"]
    for page in pages or default:
        for width in WIDTHS:
            for scheme in SCHEMES:
                picture = folder / f"{page.replace('/', '_')}-{width}-{scheme}.png"
                take(browser, Path(html) / f"{page}.html", width, scheme, picture)
                print(picture)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
