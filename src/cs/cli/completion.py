"""``cs completion``: what a shell needs to complete commands and options."""

from typing import Annotated, Literal

from cyclopts import Parameter

from cs.cli.app import build
from cs.cli.output import console


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Which shell.")], /
) -> None:
    """Print a script that lets a shell complete commands and options.

    bash: `source <(cs completion bash)` in ~/.bashrc. fish: into
    ~/.config/fish/completions/cs.fish. zsh: into a file `_cs` in a folder of `$fpath`.

    Example: `cs completion bash > /etc/bash_completion.d/cs`
    """
    console.print(build(["--help"]).generate_completion(shell=shell), end="")
