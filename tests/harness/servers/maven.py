"""Download jars that are known by name: by Maven, or in pure Python by jgo."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.servers.missing import Missing

#: Minutes for 45 MB; a repository that does not answer is told apart by then.
_DOWNLOAD_S = 120


@dataclass(frozen=True)
class Jar:
    group: str
    name: str
    version: str
    sha256: str

    @classmethod
    def from_line(cls, line: str) -> "Jar":
        """Read a SHA-256 in hex and a path in a Maven repository, as `sha256sum` writes."""
        sha256, path = line.split()
        *group, name, version, _file = path.split("/")
        return cls(".".join(group), name, version, sha256)

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.jar"


def download_by_maven(jars: list[Jar], lib: Path) -> None:
    """Let Maven download them, so that its settings (mirrors, proxies) hold."""
    mvn = shutil.which("mvn")
    if mvn is None:
        raise Missing("Maven: `mvn` is not on PATH.")
    wanted = (_DEPENDENCY.format(group=j.group, name=j.name, version=j.version) for j in jars)
    pom = lib.with_name("pom.xml")
    pom.write_text(_POM.format(dependencies="".join(wanted)))
    try:
        ran = subprocess.run(
            [
                *(mvn, "--batch-mode", "--quiet", "--file", pom),
                "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
                *("-DincludeScope=runtime", f"-DoutputDirectory={lib}"),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=_DOWNLOAD_S,
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"Maven: nothing after {_DOWNLOAD_S} s.") from None
    if ran.returncode:
        raise Missing(f"Maven: {(ran.stdout + ran.stderr)[:1000]}")


def download_by_jgo(jars: list[Jar], lib: Path) -> None:
    """Download them in pure Python, from the repositories jgo is configured for."""
    try:  # imported here, for it is slow and needed once
        from jgo.config import GlobalSettings  # noqa: PLC0415
        from jgo.maven import MavenContext  # noqa: PLC0415
    except ImportError:
        raise Missing(
            "jgo: the wheel of requirements/dev.txt is missing (make setup)."
        ) from None
    context = MavenContext(repo_cache=lib.with_name("repository"), local_repos=[])
    context.remote_repos |= GlobalSettings.load().repositories
    for jar in jars:
        artifact = context.project(jar.group, jar.name).at_version(jar.version).artifact()
        try:
            artifact.resolve().replace(lib / jar.file)
        except (OSError, RuntimeError) as error:  # of requests, and jgo's own
            raise Missing(f"jgo: {jar.file}: {error}") from error


_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>kafka-jars</artifactId><version>1</version>
<packaging>pom</packaging>
<dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = """
<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>
<version>{version}</version>
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
</dependency>"""
