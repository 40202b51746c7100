"""The words that part a headline: what is no role at all, and what stands before an employer.

`Phrases` are for flat text.  Patterns marked "as written" are for plain text, because
what they cut is shown.
"""

import re

from cs.domain.headline.languages import said, table
from cs.domain.headline.spelling import flat
from cs.domain.names.lazy_pattern import LazyPattern
from cs.domain.names.phrases import Phrases, any_of

#: A whole part that begins like this says what its writer stands for, not what they do.
TAGLINE = LazyPattern(
    r"^(?:i(?!\sam|'m)[\s']|we\s|we're|my\s|let's|helping|help|helps|building|"
    r"connecting|creating|making|mejor|meilleure?|migliore|melhor|bester?|bästa|"
    r"placing|supporting|calling all|know (?:a|an|any)|meet|best|voted|selling|seen in|"
    r"driving|growing|turning|empowering|telling|bringing|scaling|transforming|inspiring|"
    r"passionate (?:about|for)|passion for|obsessed|lover|love|loves|believer|fan of|"
    r"on a mission|"
    r"making|proud (?:to(?!\sbe\s)|of|mum|mom|dad|parent|member|owner|alum\w*)|sharing|talking|"
    r"writing about|ask me|dm(?=\W*$|[:!]|\s(?:me|us|for|to|if|open|is|are|with|"
    r"your|and|or|about|on|now|here|please|in)\b)|dms\b|follow (?:me|us|for|my|"
    r"along)|trusted by|views|opinions|all "
    r"views|tweets|using|where|when|because|why|how|if|what|award(?![- ]win)|awards|winner|"
    r"named|"
    r"recogni[sz]ed|recipient|best-selling|bestselling|author|host of|featured|as seen|top\s\d|"
    r"top voice|forbes|(?:\w+\s)?\d+\s?(?:under|over)\s?\d+|30u30|tedx|ted\s|#|dog|cat|mom|"
    r"mum|dad|mother|father|"
    r"wife|husband|runner|traveler|traveller|foodie|coffee|husband|working with|worked|years|"
    r"\d+\+?\s?(?:years|yrs|ans|jahre|años|anos|anni|jaar|lat)|"
    r"\d[\d.,]*[km]?\+?\s?(?:followers|"
    r"connections|seguidores|abonnés|kontakte|contactos)|experienced in|experience|expertise|"
    r"skills|specializing|specialising|specialized|skilled|j'aide|j'accompagne|passionné\w*|"
    r"ich helfe|ich unterstütze|leidenschaft\w*|ayudo|ayudando|apasionad\w+|apaixonad\w+|"
    r"ajudo|ajudando|aiuto (?:i|le|gli|aziende|brand|marchi|imprese)|appassionat\w+|ik help|"
    r"gepassioneerd\w*|jag hjälper|pomagam|"
    r"amante|creyente|creo en|enamorad\w+|born (?:in|and|to)|living|based in|certified|"
    r"google certified|"
    r"meta certified|hubspot certified|speaker on|quote|“|\"|«)(?:\b|(?<=\W))",
    re.IGNORECASE,
)
#: A part with one of these is a degree, a certificate, an award or a hobby.
NO_ROLE = Phrases(
    """
    nominated nominat* recompense* commended certified certificate certification certifie
    certifiee zertifiziert* certificad* certificato award awards winner winners nominee
    finalist finalists of_the_year of_the_month of_the_week shortlist* ausgezeichnet*
    gewinner* preistrager* des_jahres del_ano de_l_annee dell_anno do_ano van_het_jaar arets
    roku yilin prix laureat* premio premios premiado premiada premiata premiato ganador*
    vincitor* vencedor* winnaar* to_watch nagroda nagrodzon* pris_ prize awarded
    recognised_as recognized_as named_one manager_category director_category lead_category
    head_category rising_star* honoree honouree hall_of_fame longlist* mba bba bsc
    ba msc phd emba student student_of sophomore freshman undergrad undergraduate
    effie effies webby webbys studying graduate graduated alumnus alumna
    alumni degree bachelor bachelors master masters diploma etudiant etudiante etudiants
    etudiantes_en diplome* studentin studierende* absolvent* estudiante* estudante* studente
    studentessa universitari* class_of enthusiast enthusiaste geek nerd junkie addict
    aficionado lover mom mum mama dad papa mother father wife husband storyteller builder
    guru ninja maven evangelist wizard dreamer thinker foodie traveler traveller runner
    marathoner yogi vegan she_her he_him they_them followers connections newsletter fluent
    bilingual trilingual polyglot forbes tedx changemaker problem_solver people_person
    marketer_at_heart multilingual cat_person dog_person introvert extrovert
    """,
    "大学 대학교 학생 学生 受賞 资格证",
)
#: A part that says nothing but that an award follows.
AWARDED = LazyPattern(
    r"(?:\w+\s)?(?:finalist|winner|shortlisted|nominee|runner-up|gewinner\w*|preisträger\w*|"
    r"lauréate?|"
    r"finaliste|finalista|ganadora?|vincitore|vincitrice|vencedora?|winnaar|vinnare|"
    r"laureatk?a?)",
    re.IGNORECASE,
)
#: Who finds people for others' roles: what they name besides is not theirs.
_RECRUITERS = (
    """
    recrutor recrutoare head_hunter* resourcing recruiter* recruiting recruitment headhunter*
    headhunting executive_search
    search_consultant search_partner talent_acquisition talent_partner staffing
    personalberat* personalvermittl* personalreferent* rekruter* rekrutacj* recrutement
    recruteur recruteuse chasseur_de_tetes chasseuse_de_tetes cazatalentos seleccionador*
    reclutador* consultor*_de_seleccion seleccion_de_personal selezionator* selezionatric*
    selezione_del_personale cacciatore_di_teste recrutador* recrutamento rekryterare
    rekryteringskonsult* rekrutterer rekrutteringsradgiver rekrutteringskonsulent
    werving_en_selectie рекрутер* ise_alim toborzo* personalista personalistka career_coach
    """,
    "採用担当 転職エージェント 猎头 招聘 헤드헌터 채용담당",
)
RECRUITER = Phrases(*_RECRUITERS)
#: Who has no role today.
SEEKER = Phrases(
    """
    job_seeker* jobseeker* unemployed job_search job_hunt* open_to_work between_jobs laid_off
    busqueda_activa busqueda_de_empleo busqueda_laboral en_paro transicao_de_carreira
    em_transicao transicion_laboral en_transicion recolocacao recherche_d_emploi
    recherche_active_d_emploi recherche_d_un_emploi demandeur_d_emploi demandeuse_d_emploi
    jobsuche arbeitssuchend* arbeitslos* ricerca_di_lavoro cerca_di_lavoro
    cerca_di_occupazione werkzoekend* op_zoek_naar_werk soker_jobb jobsogende szukam_pracy
    a_l_ecoute ouvert_aux ouverte_aux abierta_a abierto_a aberta_a aberto_a aperta_a aperto_a
    oppen_for apen_for aben_for avoin_uusille otwarta_na otwarty_na firsatlara_acik offen_fur
    poszukuje_pracy looking_for_work seeking_work available_for_work mencari_kerja
    is_ariyorum поиске_работы
    """,
    "求職 転職活動 就職活動 이직 구직 求职 找工作 看机会",
)
#: Words of sentences, which no title has: "our Head of Brand search is open".
SENTENCE = Phrases(
    """
    my our your we is are were be been becoming become becomes into role job loading ich mich
    mein meine unser unsere werde wechsle wird je mon notre nous deviens suis mi mis nuestra
    nuestro soy estoy io mio mia nostro nostra divento meu minha nossa nosso sou ik mijn onze
    jag var jeg vores mitt jestem moja nasz nasza
    """
)
#: What a firm sells, not what somebody does: "influencer marketing platform".
PRODUCT = Phrases(
    """
    herramienta* ferramenta* verktyg narzedzi* platform software saas tool tools app suite
    plugin operating_system marketplace startup
    plateforme logiciel plataforma piattaforma plattform platforma oprogramowanie outil
    software_as_a_service solution analytics_tool yazilimi
    """,
    "平台 プラットフォーム 플랫폼",
)
#: Places that people live or work in: their community is not one of a brand.
LIVING = Phrases(
    """
    hot_desk hot_desks hotdesk hotdesking residence coworking co_working coliving co_living
    student_living student_accommodation student_housing build_to_rent multifamily apartment
    apartments residential residents resident flex_workspace workspace workspaces
    flexible_office flex_office serviced_office serviced_offices business_centre
    business_center office_space senior_living retirement_living retirement_village housing
    property properties real_estate hoa homeowners condominium condo retirement
    retirement_community rentals lofts towers residences dormitory hostel halls_of_residence
    shared_offices shared_office innovation_campus incubator maker_space makerspace
    oficinas_flexibles uffici_condivisi bureaux_partages kontorfellesskap kontorsfaellesskab
    kontorshotell flats living_neighborhood neighborhood_by bedrijvenverzamelgebouw wohnheim*
    wohnanlage* studentenwohnheim* burogemeinschaft residence_etudiante espace_de_travail
    espacio_de_trabajo residencia_de_estudiantes condominio studentato community_living
    lettings wework regus industrious mindspace greystar habyt selina wojo utopicus convene
    office_group rental rental_neighborhoods neighborhoods neighbourhoods
    studentencampus student_campus knotel spaces unite_students the_student_hotel
    the_social_hub student_roost vita_student
    talent_garden impact_hub mokrin
    """,
    "コワーキング 共同住宅 シェアハウス 코워킹 공유오피스 联合办公 公寓",
)
#: Callings that count only where there is nothing else.
FILLER = Phrases(
    """
    mentor mentora mentorin speaker keynote* podcast_host podcaster host board_member
    board_advisor advisory_board adviser advisor lecturer guest_lecturer dozent dozentin
    professor adjunct_professor volunteer judge jury juror columnist contributor author
    referent_und_speaker conferencier* conferenciere intervenant* ponente docente palestrante
    conferencista relatore relatrice spreker foredragsholder member_of_the_board beirat
    beiratin ambassador_for_women investor angel_investor trustee
    """,
    "講師 강사 讲师 顧問",
)
#: Callings without a level of their own.
CALLING = table(
    "job",
    f"""
    {_RECRUITERS[0]}
    designer* worker engineer* developer* photographer* videographer* writer copywriter
    journalist* teacher nurse consultant* consultor* consulente* berater* freelance
    freelancer* recruiter* headhunter sourcer actor actress artist stylist barista partner
    programmer scientist researcher lawyer attorney counsel accountant architect chef cook
    driver marketer marketeer* strategist* animator musician singer therapist psychologist
    pharmacist doctor physician realtor broker banker trader salesperson merchandiser buyer
    advisor adviser trainer coach retiree self_employed selbstandig* freiberufler*
    independant* autonomo autonoma zzp* publicist agent agente secretary receptionist host
    hostess promoter communicator comunicador* publicitari* disenador* graphiste redactor*
    photographe fotograf* fotografo fotografa travailleur* ambassadeur_de_marque
    ambassadrice_de_marque trabajador* educador* educateur* educatrice* assistente_social
    assistente_sociale homemaker journaliste traductor* makler*
    """,
    """
    デザイナー エンジニア ライター フリーランス ソーシャルワーカー 디자이너 개발자 프리랜서
    设计师 工程师 自由职业 卖家
    """,
)

#: As written.  What follows is the employer, however it is spelt.
AT = LazyPattern(
    r"\s*@\s*(?=\w)|(?:(?<=\s)|^)(?:at|bei|beim|chez|presso|bij|hos|c/o)\s+(?=\S)",
    re.IGNORECASE,
)
#: As written.  What follows is the employer if it is a name and no line of work.
PERHAPS_AT = LazyPattern(
    rf"\s(?P<little>{any_of(' '.join(said('at')).split())}|à|a|en|em|na|no|nas|nos|in|w|we|ve|"
    rf"for|"
    rf"with|für|pour|para|por|per|au|"
    r"aux|på|i|u|v|в|"
    r"в компании|de|da|do|di|du|del|della|dell'|dello|von|van)\s"
    r"(?:the\s|la\s|el\s|le\s|der\s)?(?=[^\W\d_a-zà-ÿа-яα-ω]|\d|[a-z]+[A-Z]|"
    r"(?<=[\u0370-\u06ff]\s)[a-z]{3})"
)
#: As written.  Turkish and Japanese put it after the employer.
AT_AFTER = LazyPattern(
    r"^(?P<company>[^,|]{1,40}?)(?:\smein\s+|['’](?:da|de|ta|te|daki|deki|nda|nde|ın|in)\s+|"
    r"\s(?:bünyesinde|firmasında|şirketinde)\s+|(?:にて|で|での|所属の?)\s*|"
    r"에서\s+)(?P<role>.+)$",
    re.IGNORECASE,
)

GENDERS = LazyPattern(
    r"(?<!\w)(?:she|he|they|her|him|them|sie|er|elle|ella|il|lui|iel|ela|ele|hon|han|"
    r"hen|zij|hij)"
    r"(?:\s?/\s?(?:she|he|they|her|hers|him|his|them|theirs|ihr|ihm|lui|elle|la|le|"
    r"iel|ella|el|él|"
    r"dela|dele|suo|sua|henne|hende|ham|honom|haar|hem|any|ze|hir))+(?!\w)"
    r"|(?<!\w)[mwfhdx](?:\s?[/|]\s?[mwfhdx*]){1,2}(?!\w)",
    re.IGNORECASE,
)
#: After a role, and no part of it.
TAIL = LazyPattern(
    r"\s(?:for|to|für|pour|para|per|voor)\s(?:[\w&-]+\s){0,4}?(?:brands|clients|companies|"
    r"businesses|"
    r"agencies|campaigns|founders|start-?ups|scale-?ups|marken|marques|marcas|merken)\b"
    r"(?:[^,]*(?=,\s(?-i:[^\W\d_a-zà-ÿ])[^,]*$)|.*$)|"
    r"\s(?:speciali[sz](?:ing|ed) in|with (?:over |more than |\d+|a passion)|passionate about|"
    r"in private practice|by day|by night|by trade|by profession|in-house|"
    r"(?-i:looking\safter|placing|recruiting|selling|filling|building|repping|advising|supporting|scaling|finding|leading|managing|overseeing|handling|running)|"
    r"working (?:across|with|on)|serving|"
    r"representing|helping|focus(?:ed|ing) on|who (?:loves|"
    r"is|has)|mit \d+|avec \d+|con \d+|com \d+)\b"
    r"(?:[^,]*(?=,\s(?-i:[^\W\d_a-zà-ÿ])[^,]*$)|.*$)",
    re.IGNORECASE,
)
#: Before a role, and no part of it.
LEAD_IN = LazyPattern(
    r"^(?:(?:now|today|nowadays|these days|currently|presently),?\s(?:a\s|an\s|the\s)?|"
    r"(?:i am|i'm|ich bin|je suis|soy|sou|sono|ik ben|jag är|jestem)\s+(?:the|a|an|der|die|"
    r"das|le|la|el|o|um|uma|il|un|una|een|en)?\s*|working as (?:an?|the)?\s*|employed as\s+|"
    r"(?:multi[- ])?award[- ]winning\s+|award[- ]winner\s+|experienced\s+|seasoned\s+|"
    r"passionate\s+|(?:proud|happy) to be\s(?:an?\s|the\s)?|"
    r"results[- ]driven\s+|dynamic\s+|proud\s+|new(?:ly appointed)?\s+|"
    r"(?:the|your)\s+|als\s+|title:\s*|job title:\s*|role:\s*|position:\s*)",
    re.IGNORECASE,
)


def is_sentence(text: str) -> bool:
    """Say whether *text* has words that no title has; Turkish "iş", work, is not "is".

    >>> is_sentence("our Head of Brand search is open"), is_sentence("İş Birlikleri Lideri")
    (True, False)
    """
    return SENTENCE.found(flat(text.replace("ş", "sh")))
