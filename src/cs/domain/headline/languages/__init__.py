"""The words of headlines, language by language; `said` puts those of one kind together."""

from cs.domain.headline.languages import (
    asian,
    baltic,
    english,
    european,
    germanic,
    romance,
    semitic,
    slavic,
)
from cs.domain.headline.languages.vocabulary import Vocabulary
from cs.domain.names.phrases import Phrases

LANGUAGES: tuple[Vocabulary, ...] = (
    english.ENGLISH,
    *germanic.LANGUAGES,
    *romance.LANGUAGES,
    *slavic.LANGUAGES,
    *baltic.LANGUAGES,
    *european.LANGUAGES,
    *semitic.LANGUAGES,
    *asian.LANGUAGES,
)


def said(kind: str) -> tuple[str, str]:
    """Return what all languages say for *kind*, a field of `Vocabulary`.

    The first text is of languages with spaces between words, the second of those without.
    """
    spaced, unspaced = (
        " ".join(getattr(each, kind) for each in LANGUAGES if each.is_spaced is spaces)
        for spaces in (True, False)
    )
    return spaced, unspaced


def table(kind: str, spaced: str, unspaced: str = "") -> Phrases:
    """Return a table of what all languages say for *kind*, and of what is added here."""
    words, inner = said(kind)
    return Phrases(f"{spaced} {words}", f"{unspaced} {inner}")
