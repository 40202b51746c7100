"""Estonian, Latvian and Lithuanian."""

from cs.domain.headline.languages.vocabulary import Vocabulary

ESTONIAN = Vocabulary(
    influencer="mojuisikut* suunamudija* sisuloojat*",
    social="sotsiaalmeedia*",
    not_social="sotsiaaltootaj*",
    partnerships="partnerlus* sponsorlus* koostoopartner*",
    brand="brandi brandijuht* kaubamargi*",
    coordinator="spetsialist assistent koordinaator",
    manager="juht projektijuht turundusjuht brandijuht* haldur",
    head="osakonnajuhataja",
    director="direktor",
    c_level="asutaja kaasasutaja tegevjuht omanik",
    trade="turundus turunduse kommunikatsiooni ja",
    place="tallinn tartu eesti",
    job="""
    *arendaja opetaja raamatupidaja jurist insener muuja ode arst kokk ettekandja autojuht
    laohoidja disainer ajakirjanik tolkija apteeker elektrik
    """,
    past="endine varem",
    wish="otsin_tood",
    leave="lapsehoolduspuhkusel",
)

LATVIAN = Vocabulary(
    influencer="influenceru satura_veidotaj*",
    social="socialo_tiklu socialajos_tiklos socialo_mediju",
    not_social="socialais_darbiniek* sociala_darbiniec*",
    partnerships="partneribu partneribas sponsoresanas sadarbibas",
    brand="zimola zimolu zimolvedibas",
    coordinator="specialist* asistent* koordinator*",
    manager="vaditajs vaditaja menedzeris menedzere projektu_vaditaj*",
    head="nodalas_vaditaj*",
    director="direktors direktore",
    c_level="dibinataj* lidzdibinataj* ipasniek* valdes_loceklis",
    trade="marketinga komunikacijas un noliktavas veikala",
    place="riga latvija",
    job="""
    skolotaj* gramatved* jurist* inzenier* pardevej* medmasa arsts arste pavars viesmilis
    soferis programmetaj* dizainer* zurnalist* tulkotaj* farmaceit* elektrikis kasieris
    """,
    past="bijusais bijusi agrak",
    wish="mekleju_darbu",
)

LITHUANIAN = Vocabulary(
    influencer="nuomones_formuotoj* turinio_kurej*",
    social="socialiniu_tinklu socialiniu_mediju",
    not_social="socialinis_darbuotojas socialine_darbuotoja",
    partnerships="partnerysciu partnerystes remimo",
    brand="prekes_zenklo prekiu_zenklu zenklodaros",
    coordinator="specialist* asistent* koordinator*",
    manager="vadovas vadove vadybinink* projektu_vadov*",
    head="skyriaus_vadov*",
    director="direktorius direktore",
    c_level="ikurej* bendraikurej* savinink*",
    trade="rinkodaros komunikacijos ir sandelio parduotuves",
    place="vilnius kaunas lietuva",
    job="""
    mokytoj* buhalter* teisinink* inzinierius inziniere pardavej* slaugytoj* gydytoj* virejas
    vireja padavej* vairuotoj* programuotoj* dizainer* zurnalist* vertej* vaistinink*
    elektrikas kasinink* sandelinink*
    """,
    past="buves buvusi anksciau",
    wish="ieskau_darbo",
)

LANGUAGES = (ESTONIAN, LATVIAN, LITHUANIAN)
