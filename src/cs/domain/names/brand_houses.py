"""Companies that are known by the brands they own.

Whoever asks for a brand that no source has, at the site of one of these, means one of its
brands ("Dove" at unilever.com).  At any other site a name that is not the owner's
contradicts the domain.
"""

from cs.domain.names.brand_match import name_keys

_HOUSES = """
    ab inbev; accor; ahold delhaize; amer sports; amorepacific; anheuser-busch; arla foods;
    asahi group; associated british foods; authentic brands group; bacardi; barilla group;
    bayer; beiersdorf; bestseller; bloomin' brands; britvic; brown-forman; bsh; calzedonia;
    campari group; campbell's; capri holdings; carlsberg group; ceconomy; church & dwight;
    clorox; colgate-palmolive; conagra; conagra brands; constellation brands; coty; danone;
    darden; deckers; deckers brands; diageo; dine brands; dr. oetker; edgewell; electrolux;
    essilorluxottica; essity; estee lauder; fast retailing; ferrero; frasers group;
    frieslandcampina; gap inc.; general mills; general motors; global fashion group; groupe
    seb; h&m group; haleon; hanesbrands; hasbro; heineken; henkel; hershey; hilton; hilton
    worldwide; hormel; hormel foods; hyatt; ihg; inditex; inspire brands; intercontinental
    hotels group; jab holding; johnson & johnson; kao; kellanova; kellogg's; kenvue; kering;
    keurig dr pepper; kimberly-clark; kirin; kraft heinz; l brands; l'oreal; l'oreal groupe;
    lactalis; levi strauss & co.; lg h&h; lvmh; marriott; marriott international; mars; mars
    incorporated; mattel; max mara fashion group; mccormick; molson coors; mondelez;
    mondelez international; natura &co; nestle; newell brands; next plc; oetker gruppe;
    oniverse; orkla; otb; p&g; pepsico; pernod ricard; post holdings; procter & gamble;
    puig; pvh; reckitt; reckitt benckiser; restaurant brands international; richemont; s.c.
    johnson; sanofi; sc johnson; schwarz gruppe; shiseido; spectrum brands; stellantis;
    suntory; swatch group; tapestry; the campbell's company; the clorox company; the
    coca-cola company; the estee lauder companies; the heineken company; the hershey
    company; the j.m. smucker company; the kraft heinz company; the swatch group; the tjx
    companies; tjx; tjx companies; tyson foods; ulta beauty brands; unilever; vf; vf
    corporation; volkswagen group; whirlpool corporation; wolverine worldwide; wyndham; yoox
    net-a-porter; yum! brands
"""
_KEYS = frozenset(name_keys(" ".join(name.split())).company for name in _HOUSES.split(";"))


def is_house(name: str) -> bool:
    """Say whether *name* is a company that owns brands of other names.

    >>> is_house("Unilever PLC"), is_house("Nike")
    (True, False)
    """
    return name_keys(name).company in _KEYS
