"""Words of trades, of places and of firms: what distinguishes a scope from an employer."""

import re

from cs.domain.headline import family_words
from cs.domain.headline import words as words_of_parts
from cs.domain.headline.languages import table
from cs.domain.headline.role_level import LEVEL_WORDS, has_level
from cs.domain.headline.spelling import flat
from cs.domain.names.phrases import Phrases, word_set

#: Trades and qualities: what a role is about.
TRADE = table(
    "trade",
    """
    marketing market markets digital content communication communications kommunikation
    comunicacion comunicacao comunicazione comunicazioni communicatie kommunikasjon
    komunikac* pr public relations press media medias medien medios midia advertising ads
    paid organic earned owned strategy strategic strategie strategies estrategia estrategico
    strategia growth performance crm email e_mail seo sem ppc ecommerce e_commerce commerce
    retail wholesale trade shopper consumer customer customers product products produkt*
    producto produto prodotto sales vertrieb ventas vendas vendite ventes business
    development biz dev creative creativity design studio_production production campaign
    campaigns campagne* campanas campanhas kampagnen activation activations engagement
    experience experiential events event live operations ops insights analytics data research
    planning management communication* community communities comunidad comunidades comunidade
    communaute partners partner programs program programme programmes projects project
    relationships loyalty licensing entertainment sport sports gaming esports music film
    fashion beauty luxury lifestyle food beverage snacks drinks skincare makeup fragrance*
    home apparel footwear accessories health wellness travel fmcg cpg qsr b2b b2c d2c dtc
    saas tech technology innovation corporate global globale international internacional
    internazionale regional national local worldwide group portfolio category channel
    channels channel_* alliances integrated omnichannel online offline video photo copy
    editorial storytelling talent publishing podcasts web website search affiliate affiliates
    awareness reputation external internal affairs csr sustainability employer hr people
    culture seller buyer merchant department team teams unit division abteilung bereich
    equipe equipo and of the for und et y e i og och en ve de des du la le les el los da do
    das dos di del della delle dei fur mit im in & to a an ds d l senior junior sr jr interim
    acting deputy chief social reseaux redes sociale sociala
    """,
    """
    マーケティング 広報 戦略 デジタル グローバル 事業部 部 室 本部 チーム 宣伝 マーケ PR 企画
    運用 推進 마케팅 전략 디지털 글로벌 팀 본부 사업부 콘텐츠 홍보 커뮤니케이션 운영 기획
    整合 营销 行銷 市场 市場 传播 推广 数字 全球 高级 资深 大中华区 运营 战略 公关 内容 商务
    中国区 策略
    """,
)
#: Several countries by one name: where a role reaches, and no place where anybody lives.
_REGION = Phrases(
    """
    emea apac apj latam mena dach benelux nordics nordic iberia cee anz sea amer americas
    gcc uki europe europa eu asia africa oceania middle_east north_america south_america
    latin_america southeast_asia asia_pacific eastern_europe western_europe southern_europe
    northern_europe central_europe scandinavia baltics balkans levant maghreb caribbean
    norden skandinavien baltikum osteuropa westeuropa sudeuropa nordeuropa mitteleuropa
    europe_du_sud europe_du_nord europe_de_l_est amerique_du_nord amerique_latine moyen_orient
    america_latina latinoamerica norteamerica sudamerica america_do_sul oriente_medio
    europa_del_sud europa_meridionale medio_oriente
    """
)
#: Parts of the world, as scopes and as places to live.
PLACE = table(
    "place",
    """
    emea apac latam mena dach benelux nordics nordic iberia cee anz sea amer americas america
    europe europa eu uk u_k usa us u_s uae ksa gcc asia africa oceania middle_east
    north_america south_america latin_america southeast_asia asia_pacific eastern_europe
    western_europe southern_europe northern_europe central_europe united_kingdom
    united_states great_britain england scotland wales ireland france germany spain italy
    portugal netherlands belgium luxembourg switzerland austria poland sweden norway denmark
    finland iceland greece turkey turkiye russia ukraine romania hungary czech* slovakia
    bulgaria croatia serbia slovenia estonia latvia lithuania israel egypt morocco nigeria
    kenya south_africa india pakistan bangladesh china hong_kong taiwan japan korea
    south_korea singapore malaysia indonesia thailand vietnam philippines australia
    new_zealand canada mexico brazil brasil argentina chile colombia peru uruguay deutschland
    osterreich schweiz frankreich espana italia nederland belgie belgique suisse allemagne
    espagne italie royaume_uni reino_unido alemania francia sverige norge danmark suomi
    polska deutsch englisch london manchester birmingham leeds bristol edinburgh glasgow
    dublin paris lyon marseille lille bordeaux berlin munich munchen hamburg cologne koln
    frankfurt stuttgart dusseldorf herzogenaurach leipzig vienna wien zurich geneva geneve
    basel madrid barcelona valencia sevilla lisbon lisboa porto milan milano rome roma torino
    turin firenze bologna napoli amsterdam rotterdam utrecht brussels bruxelles brussel
    antwerp antwerpen copenhagen kobenhavn stockholm goteborg gothenburg malmo oslo helsinki
    warsaw warszawa krakow wroclaw gdansk poznan prague praha budapest bucharest bucuresti
    athens istanbul ankara izmir moscow kyiv tel_aviv dubai abu_dhabi riyadh doha cairo lagos
    nairobi johannesburg cape_town mumbai delhi new_delhi bangalore bengaluru hyderabad pune
    chennai shanghai beijing shenzhen guangzhou tokyo osaka kyoto seoul busan bangkok jakarta
    manila kuala_lumpur sydney melbourne brisbane auckland toronto vancouver montreal
    new_york nyc brooklyn boston chicago los_angeles la_area san_francisco bay_area seattle
    portland austin dallas houston atlanta miami denver philadelphia washington_dc
    minneapolis san_diego ciudad_de_mexico cdmx mexico_city sao_paulo rio_de_janeiro
    buenos_aires bogota santiago lima remote hybrid remoto california texas florida
    new_jersey massachusetts illinois metropolitan_area metro_area area region greater
    """,
    "東京 大阪 京都 日本 서울 한국 부산 上海 北京 深圳 广州 杭州 中国 台灣 香港",
)
#: All that a role may be about.
_SCOPE = Phrases.of(
    family_words.INFLUENCER,
    family_words.SOCIAL,
    family_words.PARTNERSHIPS,
    family_words.COMMUNITY,
    family_words.BRAND,
    TRADE,
    PLACE,
)
_TITLE = Phrases.of(LEVEL_WORDS, _SCOPE)
#: Several people's roles: those of a recruiter's clients, or of a team.
SEVERAL = Phrases(
    """
    managers directors heads leads vps officers coordinators specialists executives
    directeurs directrices gerentes directores jefes jefas directoras direttori diretores
    managern managerinnen leitern leiterinnen menedzerowie managerow менеджеры директора
    """
)
#: "The creator marketing platform".
_ARTICLE = re.compile(
    r"(?:the|an?|la|le|l['’]|une?|die|das|eine|el|una|il|de|het|een|o|a)\s?[a-z]"
)
ROLES_TO_FILL = Phrases(
    "roles positionen positions postes puestos posiciones vagas posizioni vacatures jobs "
    "openings opportunities",
)
#: Words and endings that firms carry.
_FIRM = re.compile(
    r"(?<!\w)(?:inc|incorporated|llc|ltd|limited|plc|gmbh|ag|kg|se|sa|s\.a\.?|sas|sarl|srl|s\.r\.l|"
    r"spa|s\.p\.a|bv|b\.v|nv|n\.v|ab|oy|oyj|as|aps|a/s|corp|corporation|co|company|cie|"
    r"group|groupe|gruppe|grupo|gruppo|holding|holdings|agency|agence|agentur|agencia|agência|"
    r"agenzia|studio|studios|labs|lab|collective|ventures|hub|house|club|"
    r"magazine|network|networks|foundation|society|institute|university|college|council|"
    r"hotels|airlines|bank|consulting|solutions|technologies|"
    r"s\.?l\.?u?|d\.?o\.?o|s\.?r\.?o|"
    r"z o\.o|sp\. z|a\.ş|ltda|株式会社)\.?$|^the\s|\.(?:com|io|co|ai|net|org|de|fr|tv|app|me)$|"
    r"(?<=\w[\s-])(?:drogerie[\s-]?markt|drogeriemarkt|super-?markt|baumarkt|möbelhaus|kaufhaus|"
    r"versandhaus|sparkasse|brauerei|drogisterij|bouwmarkt|supermarkten|supermarchés?|"
    r"hypermarchés?|supermercados?|hipermercados?|supermercati|supermarkets|apotheke)$|"
    r"株式会社|\(株\)|有限公司|集团|주식회사|\(주\)",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"^[^\W\d_a-zà-ÿα-ώа-яёіїєґ]|^\d|^[a-z]+[A-Z]|^[a-z]\.|^@|\.[a-z]{2,4}$|^[dl]['’][A-Z]"
)
_SMALL = word_set(
    "of the and & de la le du des del della dello di da do y e et und for van von by"
)


#: Written small within the names of firms and places.
_IN_NAMES = word_set(
    "stad kommun kommune markt universitetssjukehus universitetssykehus sjukhus sykehus "
    "katedralskole kaupunki gymnasium gymnasiet hospital bank foods drinks skole "
    "skola universitet "
    "spořitelna banka pojišťovna pošta televize rozhlas dráhy univerzita nemocnice pivovar "
    "pivovary divadlo muzeum filharmonie sporiteľňa poisťovňa televízia železnice nemocnica "
    "múzeum televizija radiotelevizija željeznice sveučilište bolnica osiguranje "
    "elektroprivreda pankki vakuutus yliopisto sairaala teatteri"
)


def is_firm(text: str) -> bool:
    """Say whether *text* carries a mark of a firm: "The Social Agency", "Influencer.com"."""
    return _FIRM.search(text.strip()) is not None


def title_words_left(text: str) -> str:
    """Return the words of *text* that are no level, no trade, no family and no place."""
    return _TITLE.without(flat(text)).strip("0123456789 ")


def is_scope(text: str) -> bool:
    """Say whether *text* is all trades and places: "Social & Content", "EMEA"."""
    return not _SCOPE.without(flat(text)).strip("0123456789 ")


def is_offer(text: str) -> bool:
    """Say whether *text* is what a firm sells, or roles of several people: no role, no name.

    >>> is_offer("influencer marketing platform"), is_offer("Brand Managers & Heads of Social")
    (True, True)
    """
    words = flat(text)
    if ROLES_TO_FILL.found(words):
        return True
    if _ARTICLE.match(text) and words_of_parts.PRODUCT.found(words):
        return True
    if has_level(text):
        return False
    if SEVERAL.found(words):
        return True
    return words_of_parts.PRODUCT.found(words) and (
        not looks_like_a_name(text)
        or family_words.SOCIAL.found(words)
        or family_words.INFLUENCER.found(words)
    )


def is_place(text: str) -> bool:
    """Say whether *text* is places and nothing else: "Berlin", "Greater London, UK"."""
    return not PLACE.without(flat(text))


def is_region(text: str) -> bool:
    """Say whether *text* is a scope by itself: several countries, "UK & Ireland", "EMEA"."""
    pieces = _SIDE_BY_SIDE.split(text)
    if len(pieces) == 1:
        return not _REGION.without(flat(text))
    return all(piece and is_place(piece) for piece in pieces)


_SIDE_BY_SIDE = re.compile(r"\s*(?:&|\+|/|\b(?:and|und|et|y|e|og|och|en|i|ve)\b)\s*")


def is_address(text: str) -> bool:
    """Say whether *text* is a place in another: "Portland, Oregon", "Bath, England"."""
    first, comma, last = text.rpartition(",")
    if not comma:
        return is_place(text)
    return is_place(last) or (is_place(first) and len(last.strip()) <= 3)


def looks_like_a_name(text: str) -> bool:
    """Say whether every word that matters in *text* is written like a name."""
    words = text.replace("-", " ").split()
    weighty = [word for word in words if word.casefold() not in _SMALL]
    if len(weighty) > 1 and _NAME.search(weighty[0]):
        weighty = [word for word in weighty if word not in _IN_NAMES]
    return 0 < len(words) <= 6 and bool(weighty) and all(map(_NAME.search, weighty))
