"""Polish, Czech and Slovak, Russian, Ukrainian, Bulgarian, Croatian, Serbian, Slovene."""

from cs.domain.headline.languages.vocabulary import Vocabulary

POLISH = Vocabulary(
    influencer="influencerami influencerow influenserami tworcow tworcami ambasador*",
    social="mediow_spolecznosciowych social_mediow social_mediami",
    not_social="pomoc_spoleczna pracownik_socjaln* mieszkan*_socjaln* polityki_spolecznej",
    partnerships="partnerstw* sponsoring* wspolprac*",
    not_brand="marki_wlasne marki_wlasnej marek_wlasnych",
    other_work="""
    sprzedaz* rekrutacj* rekruter* handlow* dyrektor_artystyczn* grafik* projektant*
    kierownik_sprzedazy trade_marketing produktow*
    """,
    intern="praktykant* stazyst*",
    coordinator="""
    asystent* mlodsz* pracownik pracownica koordynator* doradca referent* redaktor*
    """,
    manager="""
    menager menagerka menedzer* menadzer* managera managerem managerka managerki kierowni*
    lider* szef szefowa
    """,
    few="kierownik_zespolu",
    director="dyrektor*",
    vp="wiceprezes*",
    c_level="prezes* wspolwlasciciel*",
    under="mlodsza mlodszy asystent asystentka asystenta",
    trade="""
    i ds dla w komunikacji komunikacja reklamy marketingu marketing sprzedazy digital tresci
    """,
    place="lodz katowice lublin szczecin bialystok gdynia",
    job="""
    generalist*
    przewodnik przewodniczka pszczelarz florystka ogrodnik spawacz hydraulik murarz malarz
    kurier taksowkarz rolnik
    piekarz rzeznik cukiernik sprzataczka opiekunka logopeda optyk chirurg radiolog sedzia
    prokurator zolnierz strazak pilot ekonomista statystyk historyk archeolog socjolog biolog
    chemik bibliotekar* weterynarz barista tlumaczka krawcowa stolarz ksiegow* pielegnia*
    nauczyciel* lekarz lekarka prawnik prawniczka adwokat radca_prawny inzynier* architekt*
    farmaceut* kucharz kelner* fryzjer* kierowca* fizjoterapeut* dentyst* elektryk* mechanik*
    dziennikar* psycholog* sekretark* sprzedaw* programist* tlumacz* handlowiec handlowc*
    magazynier* polozna policjant* rekruter* grafik graficzka
    """,
    past="""
    przez_lata przez_wiele_lat przez_długie_lata niegdyś w_poprzednim_życiu kiedyś pracowałam
    pracowałem prowadziłam prowadziłem dawny
    dawna były była byłem byłam eks- poprzedni
    """,
    gone="na_emeryturze emerytowany emerytowana emeryt emerytka",
    wish="""
    oferta_pracy praca: szuka_pracy otwarta_na otwarty_na będę przyszły przyszła wkrótce
    zatrudnię zatrudniamy szukamy rekrutujemy rekrutuję bezrobotny bezrobotna poszukujemy
    szukam szukam_pracy:* niebawem
    """,
    leave="""
    na_urlopie_macierzyńskim urlop_macierzyński na_macierzyńskim na_urlopie_rodzicielskim
    urlop_rodzicielski na_urlopie_wychowawczym
    """,
    at="w we w_firmie",
    now="dziś dzisiaj",
)

CZECH_AND_SLOVAK = Vocabulary(
    influencer="influencery influenceru influencermi tvorc* ambasador*",
    social="socialnich_siti socialni_site socialnych_sieti socialnich_medii socialne_siete",
    not_social="socialni_pracovni* socialny_pracovni* socialni_sluzb* socialni_bydleni",
    partnerships="partnerstvi partnerstva sponzoring* spoluprac* partneri",
    brand="znac* znack*",
    not_brand="privatni_znack* vlastni_znack*",
    other_work="obchodni_zastupc* prodej* naborar* nakupci personalist*",
    intern="stazist* praktikant*",
    coordinator="asistent* specialist* koordinator* analytik* referent* mladsi pracovnik",
    manager="manazer* managera managerka vedouc* veduc* sef",
    head="vedouci_oddeleni veduci_oddelenia",
    director="reditel* riaditel*",
    vp="viceprezident*",
    c_level="zakladatel* majitel* jednatel* jednatelka spoluzakladatel*",
    under="asistent asistentka junior mladsi",
    trade="a pro pre komunikace marketingu obsahu skladu prodeje znacky oddeleni",
    place="brno ostrava plzen bratislava kosice cesko slovensko",
    job="""
    skladnik* zednik murar malir instalater kuryr farmar pekar reznik cukrar uklizecka
    logoped* optik chirurg* soudce vojak hasic pilot ekonom* statistik* historik* archeolog*
    biolog* chemik* knihovn* veterinar* vceler* zahradnik* kuchar* cisnik servirka ucetni
    uctovni* zdravotni_sestra ucitel* lekar* pravni* advokat* inzenyr* inzinier* prodavac*
    prodavack* predavac* programator* novinar* ridic kadernic* ucitelka personalist* zubar*
    """,
    past="dřívější kdysi pracoval pracovala bývalý bývalá dříve předtím ex- predtým",
    gone="v_důchodu",
    wish="""
    hledám_práci hledá_se volná_pozice hľadám_prácu hledáme budoucí brzy nezaměstnaný
    nezaměstnaná hľadám hľadáme nabíráme přijmeme prijmeme
    """,
    leave="na_mateřské na_mateřské_dovolené mateřská_dovolená na_rodičovské na_materskej",
    at="v ve u vo",
    now="dnes teď",
)

RUSSIAN = Vocabulary(
    influencer="лидер*_мнений блогер* инфлюенсер* инфлюенс*",
    social="соцсет* социальн*_сет* социальн*_медиа",
    not_social="социальн*_работник* социальн*_защит* социальн*_жиль*",
    partnerships="партнерск*_проект* коллаборац* спонсорств* партнерств*",
    brand="бренд*",
    not_brand="hr_бренд* бренд_работодател*",
    other_work="""
    продаж* рекрутер* подбор*_персонал* арт_директор* креативн*_директор* дизайнер* закуп*
    трейд_маркетинг* торгов*_маркетинг*
    """,
    intern="стажер* практикант*",
    coordinator="помощник* помощниц* ассистент* младш* эксперт* сотрудник* консультант*",
    manager="менеджера менеджером менеджерк* супервайзер* тимлид* лид",
    head="руководител* начальни* глава",
    vp="вице_президент*",
    director="замдиректор*",
    c_level="основател* сооснователь* владел* совладел* предпринимател*",
    under="младший младшая помощник помощница ассистент ассистента ассистентка",
    senior="старшая ведущий ведущая",
    creator="блогер блогерка инфлюенсер",
    trade="""
    маркетинг* коммуникац* отдел* цифров* контент* по и в на с рекламы реклам* стратегическ*
    направлен* продвижен* digital pr работе работы группы внешн* интернет медиа
    """,
    place="москва россия санкт_петербург петербург спб казань екатеринбург новосибирск минск",
    job="""
    флорист* садовни* сварщик* сантехник* маляр* курьер* таксист* фермер* пекар* мясник*
    кондитер* уборщи* няня логопед* хирург* судья военн* пожарн* пилот* пчеловод*
    библиотекар* ветеринар* кассир* официант* бариста электрик* механик* слесар* архитектор*
    социолог* историк* биолог* химик* бухгалтер* юрист* врач* учител* инженер* медсестр*
    продавец* продавщиц* программист* дизайнер* журналист* водител* преподавател* психолог*
    повар* экономист* переводчик* логист* адвокат* фармацевт* рекрутер* стоматолог*
    парикмахер* секретар* разработчик*
    """,
    past="бывший бывшая ранее экс- раньше прежде работал работала был была",
    gone="на_пенсии",
    wish="""
    выхожу приступаю начинаю ищу_работу ищем требуется вакансия вакансии будущий будущая
    безработный безработная скоро
    в_поисках нанимаем набираем
    """,
    leave="в_декрете в_декретном_отпуске декретный_отпуск в_отпуске_по_уходу",
    at="в во в_компании у",
    now="теперь сегодня",
)

UKRAINIAN = Vocabulary(
    influencer="""
    інфлюєнс* інфлуєнс* інфлюенс* інфлуенс* блогер* амбасадор* лідер*_думок
    впливов*_маркетинг* креатор*
    """,
    social="соцмереж* соціальн*_мереж* соціальн*_медіа смм",
    not_social="соціальн*_працівни* соціальн*_захист* соціальн*_житл*",
    partnerships="партнерств* партнерськ* партнерам спонсор* колаборац* співпрац*",
    brand="бренд*",
    other_work="продаж* рекрутер* добір*_персонал* арт_директор* закупів*",
    intern="стажер* стажист* практикант*",
    coordinator="спеціаліст* фахів* координатор* асистент* помічни* аналітик* молодш*",
    manager="тимлід* керівни* менеджер менеджера менеджером менеджерк* тімлід* лід",
    head="начальни* очільни* голова",
    vp="віце_президент*",
    c_level="засновни* співзасновни* власни* генеральн*_директор* підприєм*",
    under="молодший молодша помічник помічниця асистент асистентка",
    senior="старший старша провідний провідна",
    trade="""
    маркетинг* комунікац* відділ* цифров* контент* реклам* стратегічн* з із зі та і й
    напрямк* роботи медіа
    """,
    place="київ україна львів одеса харків дніпро",
    job="""
    флорист* садівни* зварювальни* сантехні* маляр* курєр* таксист* фермер* пекар* кондитер*
    прибиральни* няня логопед* хірург* суддя військов* пожежн* пілот* бджоляр* бібліотекар*
    ветеринар* касир* офіціант* бариста електрик* механік* слюсар* архітектор* соціолог*
    історик* біолог* хімік* фармацевт* консультант* бухгалтер* юрист* лікар* вчител* інженер*
    медсестр* продав* програміст* дизайнер* журналіст* водій викладач* психолог* кухар*
    економіст* перекладач* розробни*
    """,
    past="колишній колишня раніше екс- екс працював працювала був була",
    gone="на_пенсії",
    wish="""
    виходжу починаю шукаю_роботу шукаю шукаємо у_пошуку в_пошуку вакансія безробітний
    безробітна майбутній
    майбутня
    """,
    leave="у_декреті в_декреті у_декретній_відпустці декретна_відпустка",
    at="у в в_компанії у_компанії",
    now="зараз тепер нині",
)

BALKAN = Vocabulary(
    influencer="инфлуенсър* инфлуенсер* influenser* utjecajn*",
    social="""
    социални_мрежи социалните_мрежи drustvenih_mreza drustvene_mreze drustvenim_mrezama
    """,
    partnerships="партньорств* partnerstv* suradnj* saradnj* sponzor*",
    brand="марка марката robne_marke brenda brendova brend*",
    coordinator="specijalist* strucnjak strucni_suradnik asistent* koordinator* асистент*",
    manager="мениджър* menadzer* voditelj* rukovodilac мениджърка",
    head="ръководител* sef_odjela",
    director="direktor* ravnatelj* директор*",
    c_level="osnivac* vlasni* основател* собственик",
    trade="и за i za komunikacij* komunikacije маркетинг отдел odnosa",
    place="sofia zagreb belgrade beograd ljubljana bulgaria софия българия",
    job="""
    касиер* готвач* сервитьор* шофьор* инженер* адвокат* юрист* програмист* дизайнер*
    журналист* преводач* продавач* фармацевт* електротехник* складов* фризьор* счетоводител*
    konobar* kuhar* vozac prodavac prodavacica profesor* inzenjer* prevoditelj* novinar*
    elektricar* blagajni* pravni*
    racunovod* knjigovod* счетоводител* nastavni* lijecni* odvjetni* учител* лекар*
    medicinska_sestra
    """,
    past="bivši bivša бивш бивша",
    wish="tražim tražimo търся търсим",
    leave="na_porodiljnom по_майчинство",
)

SLOVENE = Vocabulary(
    influencer="vplivnezi vplivneze vplivnezev",
    social="druzbenih_omrezij druzbena_omrezja druzbenih_medijev",
    not_social="socialna_delavka socialni_delavec",
    partnerships="partnerstev sponzorstev sodelovanj",
    brand="blagovne_znamke blagovnih_znamk znamke",
    coordinator="strokovnjak* svetovalk* referent*",
    manager="vodja vodje upravitelj*",
    head="vodja_oddelka vodja_sektorja",
    director="direktorica",
    c_level="ustanovitelj* soustanovitelj* lastni*",
    trade="in komuniciranja marketinga trzenja",
    place="slovenija maribor koper",
    job="""
    pravni* racunovod* ucitelj* profesor* zdravni* medicinska_sestra inzenir* prodajal*
    kuhar* natakar* voznik* programer* razvijalec razvijalka oblikoval* novinar* prevajal*
    farmacevt* elektrikar* skladiscnik frizer* blagajni*
    """,
    past="nekdanji nekdanja prej bivsi",
    wish="iscem_delo iscemo",
    leave="na_porodniskem_dopustu",
    at="pri",
)

LANGUAGES = (POLISH, CZECH_AND_SLOVAK, RUSSIAN, UKRAINIAN, BALKAN, SLOVENE)
