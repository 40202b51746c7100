"""German, Dutch, Swedish, Danish and Norwegian."""

from cs.domain.headline.languages.vocabulary import Vocabulary

GERMAN = Vocabulary(
    influencer="""
    influencer_kooperationen influencerkooperationen influencerrelations creatorkooperationen
    influencermanag* meinungsfuhrer* contentcreator* creatormarketing
    """,
    social="""
    socialmediamanag* social_media_redaktion soziale_kanale sozialen_kanale some_redaktion
    social_media_kanale
    """,
    not_social="""
    soziale_arbeit sozialarbeit* sozialer_wohnungsbau sozialen_wohnungsbau soziale_dienste
    soziale_einrichtung* sozialdienst* sozialwohn* soziale_verantwortung
    """,
    partnerships="""
    sponsoringmanag* partnermarketing* markenkooperation* medienkooperation* medienpartner*
    kooperationsmanag* sportsponsoring* partnerschaftsmanag*
    """,
    brand="markenfuhr* markenkommunik* markenstrateg* markenmanag* dachmarke*",
    not_brand="handelsmarke* eigenmarke* markenartikel* markenbotschaft* arbeitgebermark*",
    other_work="""
    vertrieb* verkaufsleit* aussendienst* personalberat* personalvermittl* personaler*
    kunstlermanag* kunstleragent* kunstlervermittl* key_account grosskunden* kundenberat*
    kundenbetreu* kundenerfolg* produktmanag* kundendienst* wohnungs* immobilien*
    hausverwalt* art_direktor* kreativdirektor* kreativdirektion kreativleit* kreativchef*
    artdirektor* handelsmarketing grafiker* mediengestalter* fotograf* einkaufer*
    einkaufsleit* buchhalt* finanzleit* steuerberat* wirtschaftspruf* rechtsanwalt*
    personalleit* personalchef*
    """,
    intern="praktika praktikantin trainee auszubildend* azubine studentische_hilfskraft",
    coordinator="""
    koord assistenz sekretar* sachbearb* koordination referent_in redaktion fachkraft
    disponent* kaufmannische* angestellte*
    """,
    manager="""
    verantw *verantwortliche* verantwortung_fur leitende* gruppenchef* teamchef* chefin
    bereichsverantwort* etatdirektor_junior
    """,
    head="leit ressortleit* bereichsleit* abteilungsleit* leitend",
    under="juniormanag* assistenzmanag*",
    c_level="geschaftsfuhrend* vorsitzende* inhaberin grunderin gesellschafter*",
    trade="""
    susswaren getranke lebensmittel mode sport musik schonheit haushalt tiernahrung qualitat
    logistik controlling einkauf offentlichkeitsarbeit unternehmenskommunikation presse
    presse_und werbung veranstaltung* mediaplanung strategische* digitale* nationale*
    internationale* und konzernkommunikation vermarktung handel einzelhandel
    """,
    place="""
    dortmund essen bremen hannover nurnberg dresden bonn mannheim karlsruhe augsburg
    wiesbaden munster bielefeld freiburg mainz ulm graz linz salzburg innsbruck bern lausanne
    luzern d_a_ch ost west sud nord norddeutschland suddeutschland bayern hessen sachsen nrw
    """,
    job="""
    *dozent *dozentin *lehrer *lehrerin *pfleger *pflegerin *verkaufer *verkauferin *arzt
    *arztin *anwalt
    *anwaltin *techniker *technikerin *ingenieur *ingenieurin heilpraktiker* imker* topfer*
    *berater *beraterin *fahrer *fahrerin *macher *macherin *buchhalter *buchhalterin
    *techniker *technikerin *lehrer *lehrerin *pfleger *pflegerin *verkaufer *verkauferin
    lokfuhrer* metzgermeister* meister gebaudereiniger* reinigungskraft*
    lagerist* lagermitarbeiter* kraftfahrer* berufskraftfahrer* pilot pilotin flugbegleiter*
    schornsteinfeger* maurer* dachdecker* klempner* installateur* konditor* fleischer*
    florist* raumpfleger* altenpflegehelfer* medizinische_fachangestellte* zahnmedizinisch*
    steward* anwalt anwaltin richter richterin staatsanwalt* pastor* pfarrer* tierarzt*
    hebammen mathematiker* physiker* statistiker* biolog* geolog* archaolog* historiker*
    philosoph* trainer trainerin kinderpfleger* *therapeut *therapeutin krankenschwester*
    krankenpfleger* pflegefach* altenpfleger* pfleger pflegerin buchhalter* steuerberater*
    steuerfach* wirtschaftsprufer* verkaufer* lehrer* lehrkraft* erzieher* arzt arztin
    facharzt* apotheker* rechtsanwalt* rechtsanwalti* notar* architekt* elektriker*
    mechaniker* mechatroniker* friseur* backer backerin koch kochin kellner* fahrer*
    polizist* polizei* feuerwehrmann kaufmann kauffrau *kaufmann *kauffrau tischler*
    schreiner* physiotherapeut* hebamme zahnarzt* moderator* autor autorin lektor*
    ubersetzer* dolmetscher* grafiker* mediengestalter* sekretar* hausmeister*
    sozialarbeiter* sozialpadagog* psycholog* forscher* wissenschaftler* informatiker*
    programmierer* techniker* vertriebler* aussendienst* rentner* hausfrau hausmann beamter
    beamtin gartner* metzger* handwerker* chemiker* biologe biologin ernahrungsberater*
    personalreferent* logopad* landwirt* schauspieler* sanger sangerin musiker*
    """,
    past="""
    jahrelang jahrelange einst damals einstige einstiger vormalige vormaliger ex- gewesene
    in_einem_früheren_leben bis_zuletzt ich_habe habe_ich zuletzt_war ich_hatte geleitet
    lang_leiter ehemalig ehemaliger ehemalige ehemaligen war ich_war früherer vorher zuletzt
    davor langjährige_erfahrung_als ex-chef
    """,
    gone="a.D. i.R. im_Ruhestand pensioniert pensionierte in_Rente bis_vor_kurzem",
    wish="""
    wechsle_zu wechselt_zu übernehme_ab starte_als beginne_als stelle_frei
    stellenausschreibung gesucht_wird freigestellt wechselwillig stellensuche
    auf_der_suche_nach ich_suche bewirb_dich jetzt_bewerben: verfügbar werde ich_werde
    ich_starte starte_im suche_neue offen_für gesucht:* wir_suchen stellenangebot
    stellenanzeige offene_stelle offene_stellen künftige künftiger künftig zukünftige
    zukünftiger zukünftig angehende angehender arbeitslos arbeitslose demnächst bald_als bald
    werdende verfügbar_ab ab_sofort_verfügbar stellensuchend wir_stellen_ein jetzt_bewerben
    verstärkung_gesucht neue_herausforderung auf_stellensuche
    """,
    wanted="gesucht designiert designierte designierter",
    leave="""
    derzeit_in_elternzeit aktuell_in_elternzeit zurzeit_in_elternzeit zzt._in_elternzeit
    momentan_in_elternzeit in_elternzeit elternzeit in_mutterschutz im_mutterschutz
    elternzeitvertretung mutterschutz
    """,
    at="an_der am an_dem bei_der bei_dem bei_den im_hause",
    now="nun mittlerweile inzwischen",
)

DUTCH = Vocabulary(
    influencer="""
    ambassadeursprogramma* ambassadeursverantw* influencermarketeer* influencermanag*
    merkambassadeur*
    """,
    social="sociale_media socialmediamanag* social_mediamanag* sociale_kanalen",
    not_social="""
    sociale_huur* sociale_woning* sociale_zaken sociaal_werk* sociale_woningbouw
    maatschappelijk_werk*
    """,
    partnerships="""
    *partnership *partnerships partnership* samenwerkingsverband* sponsormanag*
    sponsorwerving partnershipmanag*
    """,
    brand="""
    merkverantw* merkenmanag* merkactivatie merkactivaties merkpositioner* merkidentiteit
    """,
    not_brand="huismerk* eigen_merk werkgeversmerk",
    other_work="""
    verkoopleider* accountmanager_verkoop inkoper* inkoopmanager werving* personeelsadvis*
    vormgever* huisvesting verhuur* vastgoed* artdirector creatief_directeur
    """,
    intern="stagiaire stagiair",
    coordinator="""
    coordinator medewerkster* adviseur* *adviseur secretaresse* redacteur* consulent*
    marketeer marketeers medewerk*
    """,
    manager="""
    verantwoordelijk* *verantwoordelijke leidinggevende* teamleid* clustermanager
    groepsleider* afdelingsmanager chef projectleid* coordinerend_manager
    """,
    head="afdelingshoofd* hoofden hoofd_van",
    director="*directeur directeur directrice adjunct_directeur",
    c_level="bestuurder directeur_eigenaar mede_eigenaar ondernemer",
    under="junior_manager aankomend",
    trade="en communicatie merken voor verkoop strategisch* partnerships inhoud",
    place="den_haag eindhoven groningen haarlem breda tilburg nijmegen arnhem gent leuven",
    job="""
    *leraar *lerares *docent *verkoper *verpleegkundige fotograaf fotografe
    docent docenten imker pottenbakker kraamverzorg* vrachtwagenchauffeur* magazijn*
    schoonmaker* schoonmaakster lasser* metselaar* stukadoor* tandartsassistent*
    doktersassistent* logopedist* dierenarts* notaris rechter fysicus slager bloemist*
    hovenier tuinman piloot steward* conducteur boekhouder* verpleegkundig* leraar lerares
    leerkracht* arts huisarts advocaat advocate apotheker* kok ober kapper* kapster bakker
    fysiotherapeut* tandarts* elektricien* monteur* psycholoog verkoper* verkoopster*
    secretaresse* programmeur* ontwikkelaar* vertaler* makelaar* timmerman schilder
    zorgverlener* pedagogisch* onderwijzer* jurist* politieagent* beveiliger* administratief*
    loodgieter* winkelmedewerk*
    """,
    past="""
    ooit in_een_vorig_leven vroeger_nog ik_heb geweest jarenlang ik_was gewerkt_als was
    gewezen vroegere oud- ex- voorheen eerder vroeger voormalige eerdere_functie
    """,
    gone="gepensioneerd gepensioneerde met_pensioen",
    wish="""
    wij_werven zoekt_werk per_direct_beschikbaar start_per beschikbaar_per ik_word
    start_binnenkort binnenkort aankomend aankomende toekomstig toekomstige wij_zoeken
    we_zoeken gezocht:* vacature vacatures werkzoekend werkzoekende werkloos op_zoek
    beschikbaar
    """,
    wanted="gezocht",
    leave="""
    met_zwangerschapsverlof op_zwangerschapsverlof zwangerschapsverlof met_ouderschapsverlof
    ouderschapsverlof met_bevallingsverlof in_moederschapsrust zwangerschapsvervanging
    """,
    at="bij_de bij_het aan_de aan_het",
    now="tegenwoordig inmiddels",
)

SWEDISH = Vocabulary(
    influencer="influencers *influerare innehallsskapare* influerar* ambassadorsprogram*",
    social="sociala_kanaler socialamedier*",
    not_social="socialtjanst* social_omsorg sociala_bostader socialsekreterare",
    partnerships="sponsring* sponsrings* samarbeten partnerskaps* sponsor*",
    brand="varumarkes* varumarken",
    other_work="saljare saljchef* forsaljning* rekryter* inkop* formgivare personalchef*",
    intern="praktikant* larling",
    coordinator="""
    samordnare koordinator* assistent* handlaggar* redaktor* kommunikator* specialist*
    radgivare medarbetare
    """,
    manager="ansvarig* *ansvarig chef chefen ledare *ledare gruppchef* enhetschef* *chef",
    head="avdelningschef*",
    director="*direktoren *direktor direktor*",
    c_level="vd verkstallande* agare delagare styrelseordforande",
    trade="och marknad* marknadsforing kommunikation for i digital pa",
    place="uppsala vasteras orebro linkoping lund umea",
    job="""
    *sekreterare *larare *ingenjor *skoterska *saljare konsult fotograf murare malare
    lastbilschauffor busschauffor lagerarbetare bagare slaktare flygvardinna
    pilot apotekare arkitekt arbetsterapeut* fysioterapeut* veterinar* prast domare
    bibliotekarie stadare kock servitor servitris brandman barnskotare fritidsledare
    socionom* sjukskotersk* larare lakare saljare ekonom redovisningsekonom* jurist* advokat*
    revisor* ingenjor* butiksbitrade* underskotersk* forskollarare* frisor* tandlakare*
    snickare elektriker* barnmorsk* psykolog* butikssaljare* polis utvecklare*
    """,
    past="""
    en_gång en_gång_i_tiden i_många_år arbetade f.d f.d. fd tidigare förutvarande jag_var
    var_tidigare avgående
    """,
    gone="pensionerad pensionär",
    wish="""
    börjar blir söker_jobb ny_som tillträder öppen_för snart blivande tillträdande vi_söker
    arbetssökande
    jobbsökande vi_rekryterar sökes:* söker kommande arbetslös
    """,
    wanted="sökes",
    leave="föräldraledig föräldraledighet mammaledig pappaledig tjänstledig",
    now="numera idag",
)

DANISH_AND_NORWEGIAN = Vocabulary(
    influencer="""
    ambassador* ambassadorprogram* pavirker* paavirker* influenser* influent* innholdsskaper*
    indholdsskaber* influencersamarbejd* influencersamarbeid*
    """,
    social="""
    sociale_medier sosiale_medier sosiale_kanaler sociale_kanaler some_ansvarlig* some_chef
    some_sjef some_leder some_specialist some_konsulent some_koordinator* some_team
    some_strateg* some_radgiver some_manager
    """,
    not_social="sosialarbeid* socialradgiv* sosialtjeneste* sosial_boligbygg* sosionom*",
    partnerships="""
    partneransvarlig* partnersjef* partnermarked* partnerchef* sponsor* sponsorat*
    sponsorater samarbeids* samarbejds* partnerskabs*
    """,
    brand="""
    merkevare* maerkevare* varemaerke* merkevarebygging brandchef brandansvarlig brandleder
    """,
    not_brand="egne_merkevarer private_label",
    other_work="""
    saelger* selger* salgschef* salgssjef* salgsdirekt* rekrutter* innkjop* indkob*
    """,
    intern="praktikant* elev laerling* studentermedhj* studentmedarbeider",
    coordinator="""
    medarbejder *medarbejder medarbeider *medarbeider radgiver *radgiver konsulent *konsulent
    sagsbehandler saksbehandler koordinator* assistent* redaktor* spesialist* elev
    """,
    manager="""
    ansvarlig* *ansvarlig *sjef sjef sjefen leder *leder afdelingsleder avdelingsleder *chef
    gruppeleder teamleder seksjonsleder fagansvarlig
    """,
    director="direktor *direktor underdirektor vicedirektor",
    head="afdelingschef",
    c_level="""
    konsernsjef konserndirektor grunder grunnlegger* medgrunnlegger* adm_dir daglig_leder
    administrerende* indehaver* eier styreleder
    """,
    trade="""
    og for marked* markedsforing kommunikasjon kommunikation salg digital i innhold indhold
    """,
    place="aarhus odense aalborg bergen trondheim stavanger kristiansand tromso",
    job="""
    *laerer *ingenior *sygeplejerske *sykepleier *selger fotograf tomrer* murer maler
    lastbilchauffor lastebilsjafor lagerarbeider lagermedarbejder bager
    baker slagter slakter pilot farmaceut* farmasoyt arkitekt* fysioterapeut* dyrlaege
    veterinaer prest praest dommer bibliotekar* renholder* rengoringsassistent tjener
    servitor brannmann brandmand vernepleier* barnepleier* sosionom* regnskapsforer*
    sykepleier* laerer* lege advokat* ingenior* butikkmedarbeider revisor* bogholder*
    sygeplejersk* laege saelger* selger* ekspedient* tandlaege* tannlege* paedagog*
    journalist* snekker* frisor* kokk kok elektriker* jordmor jordemoder politibetjent
    helsefagarbeider* barnehagelaerer* utvikler* udvikler*
    """,
    past="engang førhen en_gang tidl. tidligere forhenværende eks- jeg_var fhv. avgått",
    gone="pensjonert pensjonist pensioneret",
    wish="""
    begynder begynner bliver søger_nyt_job ledig_nå søker_ny_jobb starter_som åben_for
    åpen_for tiltræder snart
    kommende vi_søger vi_søker jobsøgende jobbsøker arbeidssøker ledig påtroppende
    tiltrædende fremtidig arbeidsledig arbejdsløs søger_job søker_jobb ser_etter
    """,
    wanted="søkes søges",
    at="ved",
    leave="""
    på_barselsorlov på_barsel barselsorlov barselsvikar på_orlov i_foreldrepermisjon
    foreldrepermisjon i_permisjon mammapermisjon pappapermisjon barsel
    """,
    now="i_dag",
)

LANGUAGES = (GERMAN, DUTCH, SWEDISH, DANISH_AND_NORWEGIAN)
