"""Which entries of a directory may be meant by a name as somebody wrote it, and how surely.

What is asked is tried in ever looser forms, and the first that finds anything ends it: who
asks for "Gap" never gets what looks like it.  How sure an answer is comes from the form
that found it, from how well known the brands are that share it, and, for names spelt
wrong, from how far off they are.  The scores are chances, held against measurements by
``bench/resolve.py``; docs/decisions/0041 has the numbers and how they were chosen.  Pure.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from cs.domain.names.brand_forms import (
    asked_forms,
    before_owner,
    branch_forms,
    close_forms,
    core_forms,
    initials,
    undecorated,
    without_list_mark,
)
from cs.domain.names.brand_match import (
    COMPANY,
    EXACT,
    begins_with,
    best_likeness,
    likeness,
    name_keys,
)
from cs.domain.names.legal_forms import without_legal_forms
from cs.domain.names.other_scripts import hearings, respellings
from cs.domain.names.typos import MOST, is_slip_by_words
from cs.sources.brand.entries import DirectoryEntries, DirectoryEntry, Near
from cs.sources.brand.popularity import popularity, shares

#: How often who is found in a form is the one meant, where nobody shares the name.
AS_WRITTEN = 0.97
AS_SPELT = 0.96
BY_FORM = 0.93
BY_SHORT_FORM = 0.6
BY_DOUBT = 0.3
BY_SITE = 0.9
BY_HANDLE = 0.95
BY_BRANCH = 0.88
BY_ABBREVIATION = 0.85
BY_SLIP = 0.92
BY_EAR = 0.85
#: Of those, what the furthest slip that counts (`MOST`) loses.
_LOST_BY_SLIP = 0.1
#: Weight that a brand loses where the name is an alias, or is spelt in another way.
_ALIAS, _ANOTHER_SPELLING = 2.0, 1.0
#: How well known a brand must be that a name of so many letters is taken for a slip of
#: its own: short names have many neighbours, and a slip of a little known one is rare.
_KNOWN_FOR_SLIP = ((6, 6.5), (7, 5.0), (8, 3.4), (10, 2.5), (999, 0.0))
#: ... or a slip that other names are seldom made by: its weight at most, the letters of the
#: name and how well known the brand is at least.  A swap, a double letter, a left-out one, and
#: more of the best known.  Of 5,000 brands asked for while they were not there 3 more are
#: taken for another by them.
_SELDOM_ANOTHER = ((0.5, 7, 3.4), (0.5, 6, 5.0), (0.7, 6, 6.0), (1.0, 7, 6.5))
_MOST_OF_KNOWN = max(weight / letters for weight, letters, _ in _SELDOM_ANOTHER)
#: ... and for an abbreviation that its own site is not called by.
_KNOWN_FOR_ABBREVIATION = 3.5
#: ... and for a form of few letters: a little known "Note" is not meant by "Notes".
_KNOWN_FOR_SHORT_FORM = 2.5
_SHORT_FORM = 6
#: ... and for what its site is called, if that is not its name.
_KNOWN_FOR_SITE = 4.0
_ANOTHER_LEAGUE = 2.0
#: ... and for a name that is only heard like its own.
_KNOWN_FOR_EAR = 5.0
#: Weight that the furthest slip loses.
_PER_SLIP = 2.0


_ROUNDING = 1e-9


class ScoredEntry(msgspec.Struct, frozen=True):
    entry: DirectoryEntry
    score: float  # 0 to 1; the scores of one answer add up to 1.0 at most


def by_name(entries: DirectoryEntries, brand: str) -> list[ScoredEntry]:
    """Return who may be meant by *brand*, the likeliest first; the closest form decides."""
    name = undecorated(brand)
    forms: tuple[Callable[[DirectoryEntries, str], list[ScoredEntry]], ...] = (
        _as_written,
        _two_letters,
        _by_form,
        _by_site,
        _by_abbreviation,
        _by_handle,
        _by_branch,
        _before_owner,
        _by_slip,
        _by_ear,
    )
    for form in forms:
        if found := form(entries, name):
            return sorted(found, key=lambda each: -each.score)
    bare = without_legal_forms(without_list_mark(name))
    return [] if bare in {name, ""} else by_name(entries, bare)


def _as_written(entries: DirectoryEntries, name: str) -> list[ScoredEntry]:
    named = entries.named(name)
    weighed = [(entry, popularity(entry) - _distance(entry, name)) for entry in named]
    return [
        ScoredEntry(entry, share * (AS_WRITTEN if entry.likeness(name) == EXACT else AS_SPELT))
        for (entry, _), share in zip(weighed, shares(weighed), strict=True)
    ]


def _two_letters(entries: DirectoryEntries, name: str) -> list[ScoredEntry]:
    """Find by umlauts written as two letters, on either side."""
    return _weighed(entries.with_close_form(close_forms(name)), AS_SPELT)


def _distance(entry: DirectoryEntry, name: str) -> float:
    by_name, by_alias = likeness(name, entry.name), best_likeness(name, entry.telling_aliases)
    exact = _ANOTHER_SPELLING if max(by_name, by_alias) < EXACT else 0.0
    return exact + (_as_alias(entry, name) if by_name < COMPANY and by_alias else 0.0)


def _as_alias(entry: DirectoryEntry, name: str) -> float:
    """Return what an entry loses that has *name* as an alias: more if its own is longer.

    "Sainsbury's" is Sainsbury's before it is Sainsbury's Bank.
    """
    return _ALIAS * (2 if begins_with(entry.name, name) else 1)


def _by_form(entries: DirectoryEntries, name: str) -> list[ScoredEntry]:
    for keys in asked_forms(name):
        if found := entries.with_form(keys):
            short = max(map(len, keys)) <= _SHORT_FORM
            least = _KNOWN_FOR_SHORT_FORM if short else 0.0
            surest = BY_FORM if max(map(popularity, found)) >= least else BY_SHORT_FORM
            owns = {id(e) for e in found if not keys.isdisjoint(core_forms(e.name))}
            if better := _better_known_slips(entries, name, found):
                return [*_weighed(found, BY_SHORT_FORM, owns), *_weighed(better, BY_DOUBT)]
            return _weighed(found, surest, owns)
    return []


def _better_known_slips(
    entries: DirectoryEntries, name: str, found: Sequence[DirectoryEntry]
) -> list[DirectoryEntry]:
    """Return who is called nearly *name* and is another league than *found*.

    "Marshals" is Marshal in the plural, and Marshalls with a letter left out.  Nobody is where
    words were only added: those are no letters of another name.
    """
    if any(begins_with(name, each) for e in found for each in (e.name, *e.aliases)):
        return []
    known = max(map(popularity, found)) + _ANOTHER_LEAGUE
    slips = (each.entry for each in _by_slip(entries, name))
    return [each for each in slips if each not in found and popularity(each) >= known]


def _by_site(entries: DirectoryEntries, name: str) -> list[ScoredEntry]:
    there = entries.with_label(name_keys(name).spelling)
    known = [entry for entry in there if popularity(entry) >= _KNOWN_FOR_SITE]
    return _weighed(known, BY_SITE)


def _by_abbreviation(entries: DirectoryEntries, name: str) -> list[ScoredEntry]:
    key = name_keys(name).spelling
    well_known = [
        entry
        for entry in entries.with_short_alias(key)
        if key in initials(entry.name) and popularity(entry) >= _KNOWN_FOR_ABBREVIATION
    ]
    return _weighed(well_known, BY_ABBREVIATION)


def _by_handle(entries: DirectoryEntries, name: str) -> list[ScoredEntry]:
    if not name.startswith("@"):
        return []
    return _weighed(entries.with_handle(name[1:].strip().lower()), BY_HANDLE)


def _by_branch(entries: DirectoryEntries, name: str) -> list[ScoredEntry]:
    found = entries.with_form(branch_forms(name))
    return _weighed([e for e in found if popularity(e) >= _KNOWN_FOR_ABBREVIATION], BY_BRANCH)


def _before_owner(entries: DirectoryEntries, name: str) -> list[ScoredEntry]:
    """Return the brand before "by" if who is named behind it owns it."""
    parts = before_owner(name)
    if parts is None:
        return []
    brand, owner = parts
    owned = [e for e in entries.named(brand) if _belongs_to(entries, e, owner)]
    return _weighed(owned, BY_FORM)


def _belongs_to(entries: DirectoryEntries, entry: DirectoryEntry, owner: str) -> bool:
    site = entries.owner_of_site(entry)
    owners = (entry.parent, site.name if site else None)
    return best_likeness(owner, filter(None, owners)) >= COMPANY


def _by_slip(entries: DirectoryEntries, name: str) -> list[ScoredEntry]:
    keys = dict.fromkeys((name_keys(name).company, *sorted(close_forms(name))))
    return _slips(entries, name, filter(None, keys), BY_SLIP)


def _by_ear(entries: DirectoryEntries, name: str) -> list[ScoredEntry]:
    key = name_keys(name).company
    if found := _slips(entries, name, hearings(key), BY_EAR):
        return found
    spelt_so = entries.with_close_form(respellings(key))
    return _weighed([e for e in spelt_so if popularity(e) >= _KNOWN_FOR_EAR], BY_EAR)


def _slips(
    entries: DirectoryEntries, name: str, keys: Iterable[str], surest: float
) -> list[ScoredEntry]:
    near: dict[int, Near] = {}
    for key in keys:
        for each in entries.near(key, most=_MOST_OF_KNOWN):
            known = near.get(id(each.entry))
            if (known is None or each.off < known.off) and _well_known(each):
                near[id(each.entry)] = each
    slips = [each for each in near.values() if is_slip_by_words(name, each.name)]
    weighed = [(each.entry, _weight_of_slip(each)) for each in slips]
    return [
        ScoredEntry(each.entry, share * (surest - _LOST_BY_SLIP * each.off / MOST))
        for each, share in zip(slips, shares(weighed), strict=True)
    ]


def _weight_of_slip(near: Near) -> float:
    alias = _as_alias(near.entry, near.name) if near.name != near.entry.name else 0.0
    return popularity(near.entry) - alias - _PER_SLIP * near.off / MOST


def _well_known(near: Near) -> bool:
    if near.off == 0.0:
        return True
    letters = len(name_keys(near.name).company)
    known = popularity(near.entry) - (_ALIAS if near.name != near.entry.name else 0.0)
    if any(
        near.off * letters <= weight + _ROUNDING and letters >= least and known >= least_known
        for weight, least, least_known in _SELDOM_ANOTHER
    ):
        return True
    least_known = next(weight for longest, weight in _KNOWN_FOR_SLIP if letters <= longest)
    return near.off <= MOST and known >= least_known


def _weighed(
    found: Sequence[DirectoryEntry], surest: float, owns: Collection[int] | None = None
) -> list[ScoredEntry]:
    """Share *surest* out; those not in *owns*, if it is given, have the name as an alias."""
    weighed = [
        (e, popularity(e) - (_ALIAS if owns is not None and id(e) not in owns else 0.0))
        for e in found
    ]
    return [
        ScoredEntry(entry, share * surest)
        for (entry, _), share in zip(weighed, shares(weighed), strict=True)
    ]
