"""A rule that has changed has another name: nobody forgets to raise it."""

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import cs
from cs.domain import rule_sets

SRC = Path(cs.__file__).parents[1]

#: Where rules are: what these import of each other belongs to a set.
RULES = (
    "cs.domain.ranking",
    "cs.domain.opinions",
    "cs.domain.roles.",
    "cs.domain.names.",
    "cs.domain.mail.",
    "cs.pipeline.brand_choice",
    "cs.pipeline.brand_resolution",
    "cs.pipeline.verification",
    "cs.verifiers.smtp.verifier",
    "cs.verifiers.smtp.probe",
    "cs.verifiers.smtp.verdict",
)
#: Among them, and no rules.
SHAPES = {"cs.domain.mail.mailbox"}
#: The modules where each set begins, by its name.
BEGIN = {
    rule_sets.RANKING: ("cs.domain.ranking",),
    rule_sets.MAIL_REPLIES: ("cs.verifiers.smtp.verifier",),
    rule_sets.VERIFICATION: ("cs.pipeline.verification",),
    rule_sets.RESOLUTION: ("cs.pipeline.brand_resolution",),
}
#: The rules of each set, as they were when it got its name.
DIGESTS = {
    "ranking-12": "c370aebad9332c8c",
    "mail-replies-3": "5d6351c3257d17f4",
    "verification-4": "42d5be58efe85a44",
    "resolution-6": "fd4f17b2431a02cf",
}


def modules_of(begin: tuple[str, ...]) -> list[str]:
    """Return the modules of rules that are reached from *begin*, sorted."""
    found, left = set[str](), list(begin)
    while left:
        module = left.pop()
        if module not in found:
            found.add(module)
            left += imported_rules(module)
    return sorted(found)


def imported_rules(module: str) -> Iterator[str]:
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for name in (node.module, *(f"{node.module}.{n.name}" for n in node.names)):
                if name.startswith(RULES) and name not in SHAPES and path_of(name).exists():
                    yield name


def path_of(module: str) -> Path:
    return SRC / f"{module.replace('.', '/')}.py"


def tree_of(module: str) -> ast.Module:
    return ast.parse(path_of(module).read_text())


def rules_in(tree: ast.Module) -> str:
    """Return what *tree* does, the same for every version of Python.

    What is only said about it, and where it stands, makes no difference.
    """
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_words(body[0]):
            del body[0]
    return _written(tree)


def _written(value: object) -> str:
    if isinstance(value, ast.AST):
        fields = (
            (name, part) for name, part in ast.iter_fields(value) if part not in (None, [])
        )
        return f"{type(value).__name__}({''.join(n + _written(part) for n, part in fields)})"
    if isinstance(value, list):
        return f"[{''.join(map(_written, value))}]"
    return repr(value)


def _is_words(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def data_of(module: str) -> Iterator[bytes]:
    """Yield the TOML files next to *module* that it names: rules, too."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Constant) and str(node.value).endswith(".toml"):
            yield path_of(module).with_name(str(node.value)).read_bytes()


def digest(begin: tuple[str, ...]) -> str:
    every = hashlib.sha256()
    for module in modules_of(begin):
        every.update(f"{module}\0{rules_in(tree_of(module))}\0".encode())
        for data in data_of(module):
            every.update(data)
    return every.hexdigest()[:16]


@pytest.mark.parametrize("name", BEGIN)
def test_changed_rules_have_another_name(name: str) -> None:
    assert DIGESTS.get(name) == digest(BEGIN[name]), (
        f"the rules of {name} have changed. If any answer may be another one than before, "
        "raise the number of that name in cs.domain.rule_sets, and put the new name with the "
        f"digest {digest(BEGIN[name])} into DIGESTS. If none can be, put only the digest there."
    )


def test_every_set_of_rules_is_held() -> None:
    names = {
        value
        for name, value in vars(rule_sets).items()
        if name.isupper() and name != "NOT_RECORDED"
    }

    assert names == set(BEGIN) == set(DIGESTS)
    assert "cs.domain.roles.labels" in modules_of(BEGIN[rule_sets.RANKING])


def test_a_comment_is_no_change_of_a_rule_and_another_number_is_one() -> None:
    before = 'def f(a):\n    """Double."""\n    return a * 2  # twice\n'

    assert rules_in(ast.parse(before)) == rules_in(ast.parse("def f(a):\n  return a*2\n"))
    assert rules_in(ast.parse(before)) != rules_in(ast.parse(before.replace("2", "3")))
