"""What tells in a headline that a role is past, is only wished for, or is held today.

All patterns are for plain text, as written: what they cut out is shown.  They are put together
from what the languages say (`cs.domain.headline.languages`) and from constructions with
numbers in them, such as "until 2021", "after ten years as" and "from January".
"""

import re

from cs.domain.headline.languages import said
from cs.domain.names.lazy_pattern import LazyPattern
from cs.domain.names.phrases import any_of, word_set

#: Not after "at": a firm may be called "Future" or "Next".
_NO_FIRM = r"(?<![\s|]at\s)(?<!@\s)(?<!@)(?<!\sbei\s)(?<!\schez\s)(?<!\sbij\s)(?<!\shos\s)"


def _written(kind: str, more: str = "", *, guard: str = "") -> str:
    """Return a pattern for what all languages say for *kind*, and for *more*, as written."""
    spaced, unspaced = said(kind)
    words = any_of(f"{spaced} {more}".split())
    inner = f"|(?:{any_of(unspaced.split())})" if unspaced.strip() else ""
    return rf"(?<![\w'’]){guard}(?:{words})(?:(?<=[-:])|(?![\w'’])){inner}"


_SPELL = any_of(
    word_set(
        """
        year years yrs months decade decades ans années jahre jahren jahr años año anni anos
        jaar
        år lat latach vuotta yıl лет років
        """
    )
)
_COUNT = any_of(
    word_set(
        """
        five six seven eight nine ten eleven twelve fifteen twenty fünf sechs sieben acht neun
        zehn cinq six sept huit neuf dix quinze cinco seis siete ocho nueve diez cinque sei
        sette
        otto nove dieci sete oito dez vijf zes zeven acht negen tien fem sex sju åtta nio tio
        pięć sześć siedem osiem dziesięć
        """
    )
)
#: "After ten years as", "spent a decade as", "seven years leading", "led".
_LONG_AGO = (
    r"(?<!\w)(?:spent|pendant|durante|gedurende|przez|after|following|nach|après|tras|dopo|"
    r"após|davor|na|efter|po|после|"
    r"після)\s"
    rf"(?:[\w-]+\s){{1,4}}?{_SPELL}(?!\w)|"
    rf"^\d+\+?\s{_SPELL}\s(?=[^\W\d_a-zà-ÿ])|"
    rf"^(?:{_COUNT})\s{_SPELL}\s(?:in|lang|at|bei|chez|en|head|brand|leiter\w*|as|of)(?!\w)|"
    r"^\w+\s(?:лет|років)\s(?=(?:был|работал|руководил|вел|вёл|був|була|працюва|керува))|"
    rf"^(?:viisi|kuusi|seitsemän|kahdeksan|yhdeksän|kymmenen|monta)\svuotta\s(?=\w+n[aä](?!\w))|"
    r"(?-i:^(?:Var|Was|War|Ero|Era|Fui)\s)|"
    rf"(?<!\w)\w+\s{_SPELL}\s(?:as|als|comme|como|come|som|jako|leading|running|heading)(?!\w)|"
    r"(?-i:(?<!\w)(?:[Ll]ed|[Rr]an|[Hh]eaded)(?=\s(?!by)))"
)
#: From here on the text is about the past.
FORMER = LazyPattern(
    lambda: (
        "(?:"
        + _written(
            "past",
            """former formerly previously previous prev prev. past prior once one-time erstwhile
        retired ret. ex before_that ancien ancienne anciennement précédemment auparavant ehemals
        ehemalige* ehem ehem. früher frühere* vormals zuvor bis_vor_kurzem antes anteriormente
        antiguo antigua antigo antiga anterior exdirector* exgerente già precedentemente
        in_passato voormalig voorheen eerder vroeger tidigare före_detta f.d. tidligere
        forhenværende entinen aiemmin były była dawniej poprzednio wcześniej bývalý bývalá dříve
        eski önceki önceden önce korábban volt бывш* ранее экс alumni_of alum_of""",
            guard=_NO_FIRM,
        )
        + rf")[\s:.-]*|(?<!\w)ex[-–](?=\w)|(?<!\w)экс-(?=\w)|{_LONG_AGO}"
        r"|(?:^|(?<=[\s/、・,(|]))(?:元(?![气気素宇祖年町])|前職|前(?=[^田川島原澤野山]{2})|曾任|"
        r"曾在|"
        r"曾就职于|原(?=[A-Z]))[\s::]*"
        r"|(?:^|(?<=[\s/,(|]))(?:전|前)(?:\)|\s+(?=\w))"
    ),
    re.IGNORECASE,
)
_UNTIL = (
    r"(?:until|till?|up\sto|bis|jusqu['’](?:en|à|au)|hasta|fino\s(?:al?|a)|até|tot|do|"
    r"fram\still|"
    r"frem\stil|asti|до|ως|έως|până\sîn)"
)
#: "... last year", as far as it is not said in English.
_LAST = (
    r"(?:vorige?|afgelopen|letzte[nrms]?|förra|sidste|siste|zeszłego|ubiegłego|прошлого|минулого|"
    r"loňského)\s\w+|i\sfjor|(?:l['’]|le\s|la\s)?\w+\s(?:dernier|dernière)(?!\w)|"
    r"(?:\w+['’])?\w+\s(?:pasad[oa]|passad[oa]|scors[oa])(?!\w)"
)
#: What stands for a bracket that says that it is over: "(left in March)".
OVER = "†"
#: The role that it is said of is over: "until 2021", "2019年まで".
ENDED = LazyPattern(
    lambda: (
        rf"{OVER}|(?<=\w)[-\s](?:elect|designate)(?!\w)|(?<!\w){_UNTIL}\s(?:\w+\s){{0,2}}?(?:(?:19|20)\d\d(?!\w)|(?:last|this)\s\w+|"
        rf"{_LAST}|"
        r"the\s(?:re-?org\w*|merger|lay-?offs?|sale|acquisition|closure|buy-?out|restructur\w+|"
        r"pandemic|exit|end)(?!\w))|"
        r"\d{4}年(?:\d+月)?まで(?:は)?|\d{4}년까지|(?:19|20)\d\d['’][ea]\skadar|"
        + _written("gone", guard=_NO_FIRM)
    ),
    re.IGNORECASE,
)
#: The whole of a bracket that says so.
ENDED_BRACKET = LazyPattern(
    lambda: (
        r"(?:currently\s)?(?:left|unemployed|redundant|laid\soff|retired|ended|departed|resigned|"
        r"(?:job|role|contract|position)\s(?:has\s)?(?:ended|finished)|"
        r"no\slonger|bis|until|till|hasta|jusqu|fino|até|"
        r"tot|"
        r"do)(?!\w)|" + _written("gone")
    ),
    re.IGNORECASE,
)
#: The whole of a bracket that says that it is still to come: "(starting May)".
TO_COME_BRACKET = LazyPattern(
    r"(?:start(?:s|ing)?|joining|from|as\sof|incoming|effective|beginning|ab|dès|à\spartir|"
    r"a\spartir|vanaf|from\snext)\s.*\w|(?:incoming|designate|elect|designiert\w*|future|"
    r"soon)$",
    re.IGNORECASE,
)
#: All of the part is an offer, a wish, or something to come.
WANTED = LazyPattern(
    lambda: (
        _written("wanted")
        + r"|\d{1,2}月(?:から|より)|\d{1,2}월부터|[来來](?:月|年|春)(?:から|より)"
    ),
    re.IGNORECASE,
)
#: Away for a while: the role is still held.
LEAVE = LazyPattern(
    lambda: (
        rf"(?:(?<!\w)(?:currently|just)\s)?(?:{_written('leave')})"
        r"(?:\s(?:till?|until|bis|jusqu['’]en|hasta|fino\sa|até|tot|do)\s\w+)?"
    ),
    re.IGNORECASE,
)
#: From here on it is about today again.
NOW = LazyPattern(
    lambda: (
        "(?:"
        + _written(
            "now",
            """now these_days nowadays currently current today presently aktuell derzeit
        heute jetzt actuellement maintenant aujourd'hui
        actualmente actual ahora hoy atualmente atual
        agora hoje attualmente ora oggi momenteel nu tegenwoordig nuvarande nuværende nykyinen
        obecnie teraz nyní aktuálně şu_an şimdi halen jelenleg сейчас ныне""",
        )
        + r")[\s::]*(?:als\s|as\s)?|(?-i:(?<=,\s)(?:nyt|ab(?!\s(?:sofort|dem|der)))\s(?=[a-z]))"
        r"|(?:^|(?<=[\s/、,(|]))(?:現職|現在|現(?=\s?\w)|现任|现)[\s::]*"
        r"|(?:^|(?<=[\s/,(|]))(?:현재|현(?=\s))[\s::)]*"
    ),
    re.IGNORECASE,
)
_MONTHS = any_of(
    word_set(
        """
        january february march april may june july august september october november december
        januar jänner februar märz mai juni juli oktober dezember janvier février mars avril
        juin
        juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio
        julio
        agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno
        luglio
        settembre ottobre dicembre janeiro fevereiro março maio junho julho setembro outubro
        novembro
        dezembro januari februari maart mei augusti maj stycznia lutego marca kwietnia maja
        czerwca
        ledna února března dubna května června července srpna září října listopadu prosince
        ianuarie februarie martie aprilie iunie iulie septembrie octombrie noiembrie decembrie
        marts tammikuusta helmikuusta maaliskuusta huhtikuusta toukokuusta kesäkuusta
        heinäkuusta elokuusta syyskuusta lokakuusta marraskuusta joulukuusta січня лютого
        березня квітня травня червня липня серпня вересня жовтня листопада грудня
        lipca sierpnia września października listopada grudnia января февраля марта апреля
        мая июня
        июля августа сентября октября ноября декабря monday q1 q2 q3 q4 next nächst* spring
        summer
        autumn fall herbst sommer frühjahr
        """
    )
)
#: "From January:", "ab Mai"; of languages that say "since" so too only where it stands first.
_FROM = (
    r"(?:(?<!\w)(?:from|starting|as\sof|ab|dès|vanaf|a\spartir\s(?:de|do)|"
    r"à\spartir\s(?:de|d['’]))|^(?:desde|dal|da|från|fra|od|din|с|з))"
    r"\s(?:\d+\S{0,2}\s)?(?:mitte\s|anfang\s|early\s|mid\s)?"
    rf"(?:{_MONTHS}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|o[ck]t|nov|de[cz])(?=[\s.:,]|"
    rf"$))(?!\w)|"
    r"(?<!\w)ab\s\d{1,2}\.\s?\d{0,2}\.?(?=\s)"
)
#: What is to come, told after it: "Head of Social from 1 September".
COMING = LazyPattern(_FROM, re.IGNORECASE)
_COMING = (
    rf"{_FROM}|(?<=,\s)then\s|(?<!\w)next(?:\sup)?\s?:|(?<!\w)moving\sto|"
    r"(?<!\w)start(?:ing|s)?\s(?:soon|next|as|in|at)(?!\w)|"
    r"(?<!\w)hiring(?!\s(?:manager|lead|partner|coordinator|specialist|team))(?!\w)|"
    r"(?<!\w)future(?!\sof)(?!\w)"
)
#: From here on it is a wish.
WISH = LazyPattern(
    lambda: (
        "(?:"
        + _written(
            "wish",
            """opentowork* open_to_work open_to open_for #opentowork #open_to_work seeking
        looking_for looking_to in_search_of searching_for on_the_hunt_for hoping_to aspiring
        aspirant aspirante wannabe job_seeker jobseeker actively_looking available_for ready_for
        interested_in transitioning targeting we're_hiring en_recherche à_la_recherche en_quête
        recherche_d* à_l'écoute disponible auf_jobsuche jobsuchend auf_der_suche arbeitssuchend
        arbeitsuchend suche_nach suche busco buscando en_búsqueda en_busca em_busca à_procura
        procurando procuro busca_de in_cerca alla_ricerca cerco op_zoek zoekende söker søger
        ser_etter poszukuj* szukam w_poszukiwaniu hledám iş_arıyor* arayış* keresek ищу в_поиске
        открыт*_к""",
            guard=_NO_FIRM,
        )
        + rf")[\s:]*|{_COMING}|"
        r"求職中|転職活動中|転職希望|구직\s?중|구직중|求职|寻找|募集中|志望|희망|취업준비"
    ),
    re.IGNORECASE,
)
YEARS = LazyPattern(
    r"(?:['’]|(?:19|20))\d\d\s?(?:[-–—/]|to|bis|à|a)\s?(?:['’]\d\d|(?:19|20)\d\d)"
    r"|(?<!\w)(?:19|20)\d\d\s?[-–—/]\s?\d\d(?![\w.,]*\d)"
)
SINCE = LazyPattern(
    r"(?<!\w)(?:(?:since|seit|depuis|desde|dal|sinds|sedan|siden|od|din|från|fra|с|з)\s(?:\w+\s)?(?:19|20)\d\d|"
    r"(?:\w{3,9}\s)?(?:19|20)\d\d\s?[-–—]\s?(?:present|now|today|heute|aujourd'hui|actualidad|"
    r"presente|atual|oggi|heden|nu|obecnie|nuvarande|current|至今|現在|현재))(?!\w)",
    re.IGNORECASE,
)
_LEADER = (
    r"(?=(?:[\w&-]+\s){0,3}?(?:head|director|vp|svp|evp|chief|cmo|ceo|manager|lead|vice)(?!\w))"
)
#: What somebody was before: "brand manager turned ceramicist".
TURNED = LazyPattern(
    r"^[^|]*?[\s-]turned[\s-]|^(?:[^|:]*:\s)?from\s[^|]+?\sto\s(?:an?\s)?(?=[^|]*$)",
    re.IGNORECASE,
)
#: What follows is the role of somebody else.
REPORTS_TO = LazyPattern(
    r"(?:,\s*)?(?<!\w)(?:(?:who|that|which|i|und|y|et|e|que|qui|die|der)\s)?"
    r"(?:reports?:\s|(?:reporting|reports?|direct\sreport)(?:\sdirectly|\sstraight|"
    r"\sline)?\s(?:in)?to(?!\w)|"
    rf"(?:working|works?|sitting|sits|partnering|partnered|paired)\s"
    rf"(?:for|under|with|alongside|next\sto|beside|in|on)\s"
    rf"(?:the\s|our\s|a\s){_LEADER}|reporting\sline:\s|"
    r"(?:sitting|sits)\s(?:in|with|within)\s(?:the|our)\s|"
    rf"(?:line[-\s])?managed\sby\s|(?:under|alongside)\s(?:the\s|our\s|a\s){_LEADER}|"
    r"(?:answering|answers|accountable)\sto\s|under\sthe\s(?:direction|supervision|"
    r"leadership)\sof|"
    rf"(?:working|works)\sclosely\swith\s|bajo\s(?:la|el)\s|unter\s(?:der\s)?leitung|"
    rf"sotto\s(?:la|il)\s|"
    rf"(?:(?:on|in)\s)?the\steam\sof|(?:in\sthe\s)?office\sof\s(?:the\s|our\s){_LEADER}|"
    rf"supporting\s(?:the|our)\s{_LEADER}|"
    r"(?:on|in)\s(?:the|our)\s[^,|]{3,40}?['’]s?\steam(?!\w)|auprès\s(?:de|du)(?!\w)|"
    r"berichtet\s(?:direkt\s)?an|unterstellt\sder|rattaché(?:e|\(e\))?\s(?:au|à)(?!\w)|"
    r"sous\sla\s(?:direction|responsabilité)\sd|report(?:a|ando)\s(?:al?|o|ao|à)(?!\w)|"
    r"depend(?:e|iente)\sde|(?:a\s)?riporto\s(?:d|al)|riporta\sal?|rapporteert\saan|rapporterar\still|"
    r"rapporterer\stil|raportuj\w+\sdo|подчиня\w+|直属|下属于)",
    re.IGNORECASE,
)
