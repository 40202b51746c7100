"""The words that part a headline: what is past, wished for, or no role at all.

`Phrases` are for flat text.  Patterns marked "as written" are for plain text, because
what they cut is shown.
"""

import re

from cs.domain.names.lazy_pattern import LazyPattern
from cs.domain.names.phrases import Phrases

_FORMER = (
    r"former|formerly|previously|previous|prev\.?|past|prior|once|one-time|erstwhile|"
    r"retired|ret\.|ex|ancien|ancienne|anciennement|précédemment|auparavant|"
    r"ehemals|ehemalige[rn]?|ehem\.?|früher|frühere[rn]?|vormals|zuvor|bis vor kurzem|"
    r"antes|anteriormente|antiguo|antigua|antigo|antiga|anterior|exdirector\w*|exgerente|"
    r"già|precedentemente|in passato|voormalig|voorheen|eerder|vroeger|"
    r"tidigare|före detta|f\.d\.|tidligere|forhenværende|entinen|aiemmin|"
    r"były|była|dawniej|poprzednio|wcześniej|bývalý|bývalá|dříve|eski|önceki|önceden|önce|"
    r"korábban|volt|бывш\w+|ранее|экс|alumni of|alum of"
)
#: As written.  From here on the text is about the past.
FORMER = LazyPattern(
    rf"(?<![\w'’])(?:(?:{_FORMER})(?![\w'’])[\s:.-]*|ex[-–](?=\w)|экс-(?=\w))"
    r"|(?:^|(?<=[\s/、・,(|]))(?:元(?![气気素宇祖年町])|前職|前(?=[^田川島原澤野山]{2})|曾任|曾在|曾就职于|"
    r"原(?=[A-Z]))[\s::]*"
    r"|(?:^|(?<=[\s/,(|]))(?:전|前)(?:\)|\s+(?=\w))",
    re.IGNORECASE,
)
#: As written.  From here on it is about today again.
NOW = LazyPattern(
    r"(?<!\w)(?:now|currently|current|today|presently|turned|aktuell|derzeit|heute|jetzt|"
    r"actuellement|maintenant|aujourd'hui|actualmente|actual|ahora|hoy|atualmente|atual|agora|"
    r"hoje|attualmente|ora|oggi|momenteel|nu|tegenwoordig|nuvarande|nuværende|nykyinen|"
    r"obecnie|teraz|nyní|aktuálně|şu an|şimdi|halen|jelenleg|сейчас|ныне)(?!\w)[\s::]*"
    r"(?:als\s|as\s)?"
    r"|(?:^|(?<=[\s/、,(|]))(?:現職|現在|現(?=\w)|现任|现)[\s::]*"
    r"|(?:^|(?<=[\s/,(|]))(?:현재|현(?=\s))[\s::)]*",
    re.IGNORECASE,
)
#: As written.  From here on it is a wish.
WISH = LazyPattern(
    r"(?<!\w)(?:#?open\s?to\s?work\w*|open to|open for|#?opentowork|seeking|looking for|"
    r"looking to|in search of|searching for|on the hunt for|hoping to|aspiring|aspirant|"
    r"aspirante|future|wannabe|job seeker|jobseeker|actively looking|available for|"
    r"ready for|interested in|transitioning|targeting|hiring|we're hiring|"
    r"en recherche|à la recherche|en quête|recherche d\w*|à l'écoute|disponible|"
    r"auf jobsuche|jobsuchend|auf der suche|arbeitssuchend|arbeitsuchend|suche nach|suche|"
    r"busco|buscando|en búsqueda|en busca|em busca|à procura|procurando|procuro|busca de|"
    r"in cerca|alla ricerca|cerco|op zoek|zoekende|söker|søger|ser etter|"
    r"poszukuj\w*|szukam|w poszukiwaniu|hledám|iş arıyor\w*|arayış\w*|keresek|ищу|"
    r"в поиске|открыт\w* к)(?!\w)"
    r"|求職中|転職活動中|転職希望|구직\s?중|구직중|求职|寻找|募集中|志望|희망|취업준비",
    re.IGNORECASE,
)

#: A whole part that begins like this says what its writer stands for, not what they do.
TAGLINE = LazyPattern(
    r"^(?:i(?!\sam|'m)[\s']|we\s|we're|my\s|let's|helping|help|helps|building|"
    r"connecting|creating|making|"
    r"driving|growing|turning|empowering|telling|bringing|scaling|transforming|inspiring|"
    r"passionate (?:about|for)|passion for|obsessed|lover|love|loves|believer|fan of|"
    r"on a mission|"
    r"making|proud|sharing|talking|writing about|ask me|dm\b|dms\b|follow|views|opinions|all "
    r"views|tweets|using|where|when|because|why|how|if|what|award|awards|winner|named|"
    r"recogni[sz]ed|recipient|best-selling|bestselling|author|host of|featured|as seen|top\s\d|"
    r"top voice|forbes|\d+\s?under\s?\d+|30u30|tedx|ted\s|#|dog|cat|mom|mum|dad|mother|father|"
    r"wife|husband|runner|traveler|traveller|foodie|coffee|husband|working with|worked|years|"
    r"\d+\+?\s?(?:years|yrs|ans|jahre|años|anos|anni|jaar|lat)|"
    r"\d[\d.,]*[km]?\+?\s?(?:followers|"
    r"connections|seguidores|abonnés|kontakte|contactos)|experienced in|experience|expertise|"
    r"skills|specializing|specialising|specialized|skilled|j'aide|j'accompagne|passionné\w*|"
    r"ich helfe|ich unterstütze|leidenschaft\w*|ayudo|ayudando|apasionad\w+|apaixonad\w+|"
    r"ajudo|ajudando|aiuto|appassionat\w+|ik help|gepassioneerd\w*|jag hjälper|pomagam|"
    r"amante|creyente|creo en|enamorad\w+|born|living|based in|certified|google certified|"
    r"meta certified|hubspot certified|speaker on|quote|“|\"|«)",
    re.IGNORECASE,
)
#: A part with one of these is a degree, a certificate, an award or a hobby.
NO_ROLE = Phrases(
    """
    certified certificate certification certifie certifiee zertifiziert* certificad*
    certificato award awards winner nominee finalist of_the_year mba bba bsc ba msc phd
    emba student students student_of studying graduate graduated alumnus alumna
    alumni degree bachelor bachelors master masters diploma etudiant* diplome* studentin
    studierende* absolvent* estudiante* estudante* studente studentessa universitari*
    class_of enthusiast enthusiaste geek nerd junkie addict aficionado lover mom mum mama
    dad papa mother father wife husband storyteller builder guru ninja maven evangelist
    wizard dreamer thinker foodie traveler traveller runner marathoner yogi vegan she_her
    he_him they_them followers connections newsletter fluent bilingual trilingual
    polyglot forbes tedx changemaker problem_solver people_person marketer_at_heart
    multilingual cat_person dog_person introvert extrovert
    """,
    "大学 대학교 학생 学生 受賞 资格证",
)
#: Callings that count only where there is nothing else.
FILLER = Phrases(
    """
    mentor mentora mentorin speaker keynote* podcast_host podcaster host board_member
    board_advisor advisory_board adviser advisor lecturer guest_lecturer dozent dozentin
    professor adjunct_professor volunteer judge jury juror columnist contributor author
    referent_und_speaker conferencier* conferenciere intervenant* ponente docente palestrante
    conferencista relatore relatrice spreker foredragsholder member_of_the_board
    beirat beiratin ambassador_for_women investor angel_investor trustee
    """,
    "講師 강사 讲师 顧問",
)
#: Callings without a level of their own.
CALLING = Phrases(
    """
    designer* worker engineer* developer* photographer* videographer* writer copywriter
    journalist* teacher nurse consultant* consultor* consulente* berater* freelance freelancer*
    recruiter* headhunter sourcer actor
    actress artist stylist barista partner programmer scientist researcher lawyer attorney
    counsel
    accountant architect chef cook driver marketer marketeer* strategist* animator musician
    singer therapist psychologist pharmacist doctor physician realtor broker banker trader
    salesperson merchandiser buyer advisor adviser trainer coach retiree self_employed
    selbstandig* freiberufler* independant* autonomo autonoma zzp* publicist agent agente
    secretary receptionist host hostess promoter communicator comunicador* publicitari*
    disenador* graphiste redactor* photographe fotograf* fotografo fotografa travailleur*
    ambassadeur_de_marque ambassadrice_de_marque trabajador* educador* educateur*
    educatrice* assistente_social assistente_sociale homemaker journaliste traductor*
    makler*
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
    r"\s(?P<little>en|em|na|no|nas|nos|in|w|we|ve|for|with|für|pour|para|por|per|au|"
    r"aux|på|i|u|v|в|"
    r"в компании|de|da|do|di|du|del|della|dell'|dello|von|van)\s"
    r"(?:the\s|la\s|el\s|le\s|der\s)?(?=[^\W\d_a-zà-ÿ]|\d|[a-z]+[A-Z])"
)
#: As written.  Turkish and Japanese put it after the employer.
AT_AFTER = LazyPattern(
    r"^(?P<company>[^,|]{1,40}?)(?:['’](?:da|de|ta|te|daki|deki|nda|nde|ın|in)\s+|"
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
YEARS = LazyPattern(
    r"(?:['’]|(?:19|20))\d\d\s?(?:[-–—/]|to|bis|à|a)\s?(?:['’]\d\d|(?:19|20)\d\d)"
)
SINCE = LazyPattern(
    r"(?<!\w)(?:(?:since|seit|depuis|desde|dal|sinds|sedan|siden|od)\s(?:\w+\s)?(?:19|20)\d\d|"
    r"(?:\w{3,9}\s)?(?:19|20)\d\d\s?[-–—]\s?(?:present|now|today|heute|aujourd'hui|actualidad|"
    r"presente|atual|oggi|heden|nu|obecnie|nuvarande|current|至今|現在|현재))(?!\w)",
    re.IGNORECASE,
)
#: After a role, and no part of it.
TAIL = LazyPattern(
    r"\s(?:speciali[sz](?:ing|ed) in|with (?:over |more than |\d+|a passion)|passionate about|"
    r"helping|focus(?:ed|ing) on|who (?:loves|is|has)|mit \d+|avec \d+|con \d+|com \d+)\b.*$",
    re.IGNORECASE,
)
#: Before a role, and no part of it.
LEAD_IN = LazyPattern(
    r"^(?:(?:i am|i'm|ich bin|je suis|soy|sou|sono|ik ben|jag är|jestem)\s+(?:the|a|an|der|die|"
    r"das|le|la|el|o|um|uma|il|un|una|een|en)?\s*|working as (?:an?|the)?\s*|employed as\s+|"
    r"award[- ]winning\s+|award[- ]winner\s+|experienced\s+|seasoned\s+|passionate\s+|"
    r"results[- ]driven\s+|dynamic\s+|proud\s+|new(?:ly appointed)?\s+|"
    r"(?:the|your)\s+|als\s+|title:\s*|job title:\s*|role:\s*|position:\s*)",
    re.IGNORECASE,
)
