"""Legal forms of firms around the world, as people copy them from registers with the name.

`brand_match` knows the common ones, which never tell two firms apart.  These are looked for
only where nobody is found with them: some are words of names elsewhere.  Pure.

Source:
    The forms in use by country as of ISO 20275 (entity legal forms), without dots.
"""

import re

from cs.domain.names.brand_match import without_accents
from cs.domain.names.brand_names import cache_name
from cs.domain.names.phrases import word_set

#: Behind the name; ``_`` is a space.
_BEHIND = word_set(
    """
    sp_z_oo spolka_z_oo spolka_akcyjna spol_s_ro spol_s_r_o dd doo dno sa_de_cv sab_de_cv
    sapi_de_cv s_de_rl_de_cv s_de_rl srl_de_cv sdn_bhd berhad bhd tbk persero
    private_limited pvt_ltd pvt proprietary_limited pty_ltd public_limited_company
    public_company_limited company_limited limited_company pcl limited_liability_company
    limited_liability_partnership joint_stock_company joint-stock_company
    public_joint_stock_company kk kabushiki_kaisha kabushiki_gaisha godo_kaisha gk yk sti
    ltd_sti limited_sirketi anonim_sirketi ticaret_as sanayi_ve_ticaret_as ve_ticaret_as
    sanayi_as san_ve_tic_as as_ve_tic tic_as tic_ltd_sti eireli lda unipessoal_lda
    sociedade_anonima epp mei sgps ou osauhing uab sia ehf hf ohf abp publ ab_publ oy_ab
    aktiebolag aktieselskab anpartsselskab aktiengesellschaft
    gesellschaft_mit_beschrankter_haftung ek eg ev ggmbh kommanditgesellschaft mbh_&_co_kg
    cie_kg co_kg stiftung_&_co_kg &_cie_kg ug_haftungsbeschrankt soc_coop
    societa_cooperativa societa_per_azioni snc sca scs scarl scrl sapa societa_benefit eurl
    sarlu sasu sci scop bvba cvba sprl nvsa sanv lp pllc pc fze fzco fzc fz-llc fzllc wll
    qsc qpsc kscc saog saoc sal eood ad ead ood kd ca sacifia saic sacif saci αε εε οε επε
    ικε ae epe ike ооо оао зао ао пао тов ип ад еоод оод дд доо прат ат
    """
)
#: In front of it.
_BEFORE = word_set(
    """
    ооо оао зао ао пао тов ип пат прат тзов pt uab sia cong_ty_tnhh cong_ty_co_phan
    cong_ty_cp ctcp
    """
)
#: Of East Asian scripts, which put no space between.
_ATTACHED = re.compile(
    r"^(?:株式会社|有限会社|合同会社|\(株\)|\(有\)|주식회사|\(주\)|유한회사)\s*|"
    r"\s*(?:株式会社|有限会社|合同会社|\(株\)|\(有\)|股份有限公司|有限责任公司|有限責任公司|"
    r"有限公司|公司|주식회사|\(주\)|유한회사)$"
)
#: Of so few letters they are words of other languages, unless written as a form is.
_SHORT = 3
_LONGEST = 5  # words of a form
_UNWRITTEN = re.compile(r"[.,;\"'«»„“”/]")


def without_legal_forms(name: str) -> str:
    """Return *name* without legal forms of any country around it.

    >>> without_legal_forms("Miele, S. de R.L. de C.V."), without_legal_forms("ООО «Miele»")
    ('Miele', 'Miele')
    """
    left = _ATTACHED.sub("", name).strip() or name
    words = left.split()
    while len(words) > 1:
        behind = next((n for n in _lengths(words) if _is_form(words[-n:], _BEHIND)), 0)
        before = next((n for n in _lengths(words) if _is_form(words[:n], _BEFORE)), 0)
        if behind:
            words = words[:-behind]
        elif before:
            words = words[before:]
        else:
            break
    return " ".join(words).strip(" ,.;\"'«»„“”()")


def _lengths(words: list[str]) -> range:
    return range(min(_LONGEST, len(words) - 1), 0, -1)


def _is_form(words: list[str], forms: frozenset[str]) -> bool:
    written = " ".join(words)
    plain = without_accents(cache_name(_UNWRITTEN.sub("", written))).strip("() ")
    form = re.sub(r"[()\s]+", "_", plain)
    if len(form) <= _SHORT and written.islower() and "." not in written:
        return False
    return form in forms
