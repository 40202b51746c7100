"""Greek, Turkish, Hungarian and Finnish."""

from cs.domain.headline.languages.vocabulary import Vocabulary

GREEK = Vocabulary(
    influencer="""
    ινφλουενσερ* influencers δημιουργων_περιεχομενου δημιουργους επιρροης διασημοτητων
    πρεσβευτων
    """,
    social="""
    μεσων_κοινωνικης_δικτυωσης μεσα_κοινωνικης_δικτυωσης κοινωνικων_δικτυων κοινωνικα_δικτυα
    κοινωνικης_δικτυωσης κοινωνικων_μεσων
    """,
    not_social="κοινωνικη_λειτουργος κοινωνικος_λειτουργος κοινωνικων_υπηρεσιων",
    partnerships="συνεργασιων συνεργασιες χορηγιων χορηγιες συμπραξεων συνεταιρισμων",
    brand="εμπορικου_σηματος εμπορικων_σηματων μαρκας μαρκα μαρκων επωνυμιας μπραντ",
    other_work="πωλησεων πωλητ* προσληψεων ανθρωπινου_δυναμικου",
    intern="ασκουμεν* πρακτικη_ασκηση",
    coordinator="""
    ειδικος συντονιστ* συντονιστρια αναλυτ* βοηθος στελεχος υπαλληλος γραμματεας
    """,
    manager="""
    διαχειριστ* διαχειριστρια αρχηγος_ομαδας υπευθυνη υπευθυνος μανατζερ προισταμεν*
    """,
    head="επικεφαλης",
    director="διευθυντης διευθυντρια διευθυντ*",
    vp="αντιπροεδρος",
    c_level="""
    ιδρυτης ιδρυτρια συνιδρυτ* διευθυνων_συμβουλος προεδρος ιδιοκτητ* γενικος_διευθυντης
    """,
    under="βοηθος",
    trade="""
    μαρκετινγκ επικοινωνιας επικοινωνια ψηφιακου ψηφιακο δημοσιων σχεσεων και της του των
    στρατηγικων στρατηγικης τμηματος για
    """,
    place="αθηνα ελλαδα θεσσαλονικη κυπρος",
    job="""
    μελισσοκομ* κηπουρ* υδραυλικ* ηλεκτρολογ* οδηγος μαγειρας σερβιτορ* κομμωτ*
    φυσικοθεραπευτ* οδοντιατρ* κτηνιατρ* ψυχολογ* οικονομολογ* αστυνομικ* πυροσβεστ* πιλοτος
    ταμιας αποθηκαριος γραμματεας μεταφραστ* βιολογ* χημικος λογιστ* δικηγορ* μηχανικ*
    δασκαλ* καθηγητ* γιατρ* ιατρος νοσηλευτ* πωλητ* πωλητρια δημοσιογραφ* γραφιστ*
    αρχιτεκτον* φαρμακοποι* σχεδιαστ* προγραμματιστ*
    """,
    past="πρώην τέως παλαιότερα",
    now="τώρα σήμερα",
    wish="αναζητώ αναζητά ψάχνω ζητείται ζητάμε άνεργος άνεργη",
    leave="σε_άδεια_μητρότητας",
    at="στη στην στο στον στα στους στις",
)

TURKISH = Vocabulary(
    influencer="etkileyici* icerik_uretici* fenomen* influencerlar",
    social="sosyal_medya",
    not_social="sosyal_hizmet* sosyal_konut sosyal_sorumluluk",
    partnerships="is_birlig* sponsorluk* ortaklik* isbirlig*",
    brand="marka markasi markalar",
    not_brand="ozel_marka isveren_markasi",
    other_work="satis satin_alma insan_kaynaklari ise_alim ticari_pazarlama",
    intern="stajyer*",
    coordinator="asistan* uzman* yardimcisi koordinator* temsilci* sorumlu_yardimcisi",
    manager="mudur muduru yonetici* sorumlusu sorumlu sef* takim_lideri",
    director="direktor*",
    vp="baskan_yardimcisi genel_mudur_yardimcisi",
    c_level="kurucu* genel_mudur sahibi",
    under="asistan asistani junior",
    senior="kidemli",
    trade="ve pazarlama iletisim dijital kurumsal icerik stratejik reklam",
    job="""
    kasiyer* depocu kurye berber elektrikci* tesisatci* marangoz cicekci arici ciftci firinci
    kasap temizlikci pilot polis itfaiyeci veteriner dis_hekimi hakim savci ekonomist
    kutuphaneci tarihci biyolog kimyager terzi fizyoterapist diyetisyen cevirmen garson
    barista muhasebeci* hemsire* ogretmen* doktor avukat* muhendis* mimar eczaci* asci kuafor
    sofor* psikolog* sekreter* satis_danisman* yazilimci* gazeteci* grafiker tercuman
    """,
    past="eskiden eski önceki önceden daha_önce",
    gone="fırsatlara_açık emekli",
    wish="""
    iş_arayışında iş_arayışındayım yakında müstakbel arıyoruz iş_arıyorum aranıyor işsiz
    """,
    wanted="aranıyor başlıyorum başlayacağım katılıyorum katılacağım",
    leave="doğum_izninde doğum_izni",
    now="bugün",
)

HUNGARIAN = Vocabulary(
    influencer="""
    tartalomkeszit* influenszer* influencer* velemenyvezer* tartalomgyart* nagykovet*
    """,
    social="kozossegi_media* kozossegimedia*",
    not_social="szocialis_munkas szocialis_lakas*",
    partnerships="szponzor* partnerseg* partnerkapcsolat* egyuttmukod*",
    brand="marka* markamenedzs* brandmenedzs*",
    not_brand="sajat_marka* sajatmarka*",
    other_work="ertekesit* toborz* beszerz*",
    intern="gyakornok*",
    coordinator="""
    koordinator* asszisztens* munkatars* szakerto* specialista referens elemzo* ugyintezo*
    """,
    manager="menedzser* *menedzser vezeto* *vezeto felelos *felelos iranyito",
    director="*igazgato igazgato*",
    vp="alelnok*",
    c_level="alapito* tarsalapito* ugyvezeto* tulajdonos* elnok vezerigazgato",
    senior="szenior",
    under="asszisztens junior",
    trade="es marketing kommunikacios kommunikacio digitalis ertekesitesi online",
    place="budapest magyarorszag debrecen szeged",
    job="""
    *mernok *tanar *orvos *apolo raktaros* penztaros* futar sofor* villanyszerel* vizszerel*
    asztalos* kertesz* meheszkedo
    pek hentes cukrasz* takarito* biro ugyesz pilota rendor tuzolto* allatorvos* fogorvos*
    kozgazdasz* statisztikus tortenesz* biologus* vegyesz* konyvtaros* fordito* tolmacs*
    pincer* barista pszichologus* ovono gyogytornasz* konyvelo* ugyved* mernok* tanar* orvos*
    apolo* elado* ujsagiro* tervezo* fejleszto* fodrasz* szakacs* gyogyszeresz*
    """,
    past="volt korábban egykori ex-",
    gone="nyugdíjas",
    wish="""
    állást_keres állást_keresek keresek keresünk álláskereső felveszünk leendő hamarosan
    """,
    leave="gyesen gyeden gyes gyed szülési_szabadságon",
)

FINNISH = Vocabulary(
    influencer="vaikuttaj* sisallontuottaj*",
    social="sosiaalisen_median somen sosiaalinen_media",
    not_social="sosiaalityontekij* sosiaalipalvelu* sosiaaliohjaaj*",
    partnerships="yhteistyo* kumppanuu* kumppanuuks* sponsorointi*",
    brand="brandi* tuotemerk*",
    other_work="myyntipaallik* myynti* rekryto*",
    intern="harjoittelij*",
    coordinator="""
    asiantuntij* assistent* koordinaattor* avustaja tyontekija suunnittelij* tuottaj*
    """,
    manager="*paallikko *paallikon vastaava *vastaava esimies",
    director="*johtaja *johtajan",
    c_level="toimitusjohtaja perustaja* omistaja yrittaja",
    trade="ja viestinta viestinnan markkinointi markkinoinnin digitaalinen sisalto",
    place="tampere turku oulu espoo vantaa suomi",
    job="""
    *kehittaja
    kalastaja *opettaja *hoitaja *insinoori kassatyontekija varastotyontekija kuljettaja
    sahkoasentaja putkiasentaja puuseppa
    puutarhuri leipuri teurastaja siivooja tuomari lentaja poliisi palomies elainlaakari
    hammaslaakari ekonomisti historioitsija biologi kemisti kirjastonhoitaja kaantaja tulkki
    tarjoilija psykologi fysioterapeutti lastentarhanopettaja sairaanhoitaj* kirjanpitaj*
    opettaj* laakari* myyja* insinoori* juristi* toimittaj* lahihoitaj* lastenhoitaj* kokki
    kampaaja* sosionomi* ohjelmoij*
    """,
    past="entinen ent. aiemmin aikaisemmin",
    gone="eläkkeellä eläkeläinen",
    wish="aloitan avoin_uusille tuleva etsimme työnhakija työtön haemme etsin",
    leave="äitiyslomalla vanhempainvapaalla perhevapaalla hoitovapaalla",
)

LANGUAGES = (GREEK, TURKISH, HUNGARIAN, FINNISH)
