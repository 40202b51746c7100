"""How high a role is: its level, read from the words of its title."""

import re
from enum import StrEnum

from cs.domain.headline.languages import table
from cs.domain.headline.spelling import flat
from cs.domain.names.phrases import Phrases, word_set


class Level(StrEnum):
    INTERN = "intern"
    COORDINATOR = "coordinator"  # also specialist, associate, executive (UK), analyst, ...
    MANAGER = "manager"
    SENIOR_MANAGER = "senior_manager"
    DIRECTOR = "director"
    HEAD = "head"
    VP = "vp"
    C_LEVEL = "c_level"
    UNKNOWN = "unknown"


#: "Manager level and up" (contract text 1).
ELIGIBLE = frozenset(
    {
        Level.MANAGER,
        Level.SENIOR_MANAGER,
        Level.DIRECTOR,
        Level.HEAD,
        Level.VP,
        Level.C_LEVEL,
    }
)

#: Say a level, mean none.
_MISLEADING = Phrases(
    """
    lead_gen* leads key_opinion_leader* thought_leader* opinion_leader* head_office
    executive_chef chef_de_cuisine chef_de_partie sous_chef chef_de_rang product_owner
    process_owner editor_in_chief chief_of_staff executive_search exec_search head_hunter*
    """,
    "헤드헌터 헤드헌팅",
)
_INTERN = table(
    "intern",
    """
    intern interns internship trainee* apprentice apprenticeship working_student stagiaire*
    alternant* alternance apprenti apprentie en_stage werkstudent* praktikant* praktikum
    volontar volontarin azubi auszubildende* duale_student* dualer_student* duales_studium
    tirocin* stagista apprendista becario becaria practicante en_practicas aprendiz
    estagiari* estagio stagiair* stazyst* praktyk* stajyer* harjoittelija* stazist*
    gyakornok* стажер* стажёр*
    """,
    "インターン 인턴 实习 實習",
)
_VP = table(
    "vp",
    """
    vp vps svp evp avp gvp rvp v_p vice_president* vice_presiden* vicepresiden* viceprezes*
    vizeprasident* viceprezident* вице_президент*
    """,
    "執行役員 상무 전무 이사 부사장 副总裁 副總裁",
)
_C_LEVEL = table(
    "c_level",
    """
    chief ceo cmo coo cfo cto cbo cco cpo cro cdo cio cxo cgo cso pdg c_suite founder
    founders cofounder founding_partner fondateur* fondatrice* cofondat* fundador*
    cofundador* fondatore* fondatrici grunder grunderin mitgrunder* unternehmensgrunder*
    inhaber* eigentumer* geschaftsfuhr* geschaftsleit* vorstand* oprichter* mede_oprichter*
    medeoprichter* eigenaar* eigenaresse grundare medgrundare grundlaegger* medgrundlaegger*
    grunnlegger* perustaja* zalozyciel* wspolzalozyciel* wlasciciel* prezes* zakladatel*
    alapito* kurucu* owner co_owner proprietaire* propietari* proprietari* titolare dueno
    duena socio_fundador president presidente presidenta presidente* prasident* prezident*
    baskan* managing_director managing_partner general_partner directeur_general
    directrice_generale direction_generale director_general directora_general
    director_ejecutivo directora_ejecutiva diretor_geral diretora_geral direttore_generale
    direttrice_generale amministratore_delegato algemeen_directeur toimitusjohtaja
    verkstallande_direktor administrerende_direktor adm_direktor daglig_leder
    генеральный_директор основател* президент* владелец
    """,
    "取締役 社長 創業者 創始者 대표 창업자 创始人 創辦人 总裁 總裁 董事长 首席 联合创始",
)
_HEAD = table(
    "head",
    """
    head hoofd *leiter *leiterin *leitung *leiter_in руководител* начальник* глава
    """,
    "責任者 本部長 ヘッド 統括 본부장 실장 총괄 헤드 负责人 負責人",
)
#: Led by a Leiter, and yet of manager level: a team, a branch, a project.
_LEADER_OF_FEW = table(
    "few",
    """
    teamleiter* teamleitung* gruppenleiter* gruppenleitung* projektleiter* projektleitung*
    filialleiter* filialleitung* marktleiter* marktleitung* schichtleiter* storeleiter*
    """,
)
_DIRECTOR = table(
    "director",
    """
    director directors directora directrice directeur directrices dir accountdirector*
    direttore direttrice
    direktor direktorin direktorka diretor diretora dyrektor dyrektorka *direktor *direktorin
    direktoren reditel* *igazgato* direktoru lideri *johtaja *johtajatar general_manager gm
    agm dgm
    gerente_general gerente_geral genel_mudur директор*
    """,
    "部長 部长 ディレクター 부장 디렉터 국장 이사장 总监 總監 总经理 總經理",
)
_MANAGER = table(
    "manager",
    """
    manager managerin manageress managerka manageur mgr mngr *manager *managerin *mgr lead
    leader teamlead team_lead supervisor* teamleiter* teamleitung* teamleider* gruppenleiter*
    gruppenleitung* projektleiter* projektleitung* filialleiter* filialleitung* marktleiter*
    verantwortlich* verantwoordelijke* responsable responsables responsabile responsabili
    responsavel encarregad* encargad* gerente gestor gestora gestore jefe jefa capo lider
    caposettore chef_de_marque* cheffe_de_marque* chef_de_projet* cheffe_de_projet*
    chef_de_produit* cheffe_de_produit* chef_de_groupe* cheffe_de_groupe* chef_de_pub*
    cheffe_de_pub* chef_de* chef_du cheffe_de* cheffe_du chef_d cheffe_d chef_for *chef leder
    *leder *ansvarig ansvarlig *ansvarlig kierown* menedzer* menadzer* manazer* vedouci szef
    szefowa liderka mudur muduru mudiresi yonetici* yoneticisi sef sefi takim_lideri
    paallikko *paallikko vastaava *vastaava menedzser* *menedzser vezeto *vezeto менеджер*
    заведующ* тимлид*
    """,
    """
    マネージャー マネジャー マネージャ リーダー 課長 店長 팀장 과장 매니저 리더 파트장 经理
    經理 主管 组长 組長
    """,
)
_COORDINATOR = table(
    "coordinator",
    """
    coordinator coordinators co_ordinator coordinateur* coordinatrice* coordinador*
    coordinatore* coordinatric* coordenador* koordinator* koordynator* koordinatorin*
    *koordinator *koordinatorin koordinaattori* koordinator specialist specialists
    *specialist specialiste* spezialist* *spezialist *spezialistin especialista* specialista*
    specjalist* specjaln* uzman* asiantuntij* associate assoc assistant assistante assistants
    asst assistent* *assistent *assistentin assistenz asistente* assistente* asystent*
    asistan* executive exec analyst analista analytiker* analityk* analyste* officer
    administrator* junior jr juniorin strategist strategists stratege* estratega* strateg
    strategin planner planners producer producers editor editors editorin redakteur*
    *redakteur *redakteurin redacteur* redactor* redator* redaktor* expert experte* expertin
    expertinnen ekspert* charge chargee charges chargees referent referentin *referent
    *referentin referenta addetto addetta addetti tecnico tecnica medewerker* *medewerker
    handlaggare sachbearbeiter* mitarbeiter* *mitarbeiter *mitarbeiterin konsulent
    специалист* координатор* ассистент* аналитик*
    """,
    """
    担当 主任 係長 コーディネーター スペシャリスト アシスタント プランナー 대리 사원 담당
    담당자 주임 코디네이터 스페셜리스트 专员 專員 助理 策划
    """,
)
#: Before "manager" they make a coordinator of him.
_UNDER = table(
    "under",
    "assistant assistante asst assistent assistentin asistente assistente asystent* "
    "junior jr juniorin",
    "ジュニア アシスタント 주니어 助理",
)
_SENIOR = table(
    "senior",
    "senior sr snr starszy starsza kidemli vanhempi principal старший",
    "シニア 上級 시니어 차장 선임 高级 高級 资深 資深",
)
_LEVELS = (_VP, _C_LEVEL, _HEAD, _DIRECTOR, _MANAGER, _COORDINATOR, _INTERN)
_ANY = Phrases.of(*_LEVELS, Phrases("", "차장"))
#: Every word of levels, also those that only raise or lower one.
LEVEL_WORDS = Phrases.of(*_LEVELS, _SENIOR)
_GROUP = re.compile(r"\bgroup (?:\w+ ){0,3}manager")


def level_of(role: str) -> Level:
    """Return the level of *role*, the text of one role.

    Of several level words the highest counts, in the order c_level, vp, head or
    director (the one written first), senior_manager, manager; but an intern stays an
    intern, and an assistant or junior manager is a coordinator.

    >>> level_of("SVP, Head of Brand").value
    'vp'
    """
    text = _MISLEADING.without(flat(role))
    if _INTERN.found(text):
        return Level.INTERN
    without_vps = _VP.without(text)
    if _C_LEVEL.found(without_vps):
        return Level.C_LEVEL
    if _VP.found(text):
        return Level.VP
    leader = _head_or_director(text)
    if leader is not None:
        return leader
    if _MANAGER.found(text) or "차장" in text:
        return _manager(text)
    return Level.COORDINATOR if _COORDINATOR.found(text) else Level.UNKNOWN


def has_level(text: str) -> bool:
    """Say whether *text* names a level, whichever it is."""
    return _ANY.found(_MISLEADING.without(flat(text)))


def _head_or_director(text: str) -> Level | None:
    text = _LEADER_OF_FEW.without(text)
    head, director = _HEAD.first(text), _DIRECTOR.first(text)
    if head is None and director is None:
        return None
    if director is None or (head is not None and head <= director):
        return Level.HEAD
    return Level.DIRECTOR


def _manager(text: str) -> Level:
    if _UNDER.found(text):
        return Level.COORDINATOR
    if _SENIOR.found(text) or _GROUP.search(text):
        return Level.SENIOR_MANAGER
    return Level.MANAGER


def is_level(role: str) -> bool:
    """Say whether *role* is level words and nothing else: "Senior Manager", "Director".

    >>> is_level("Senior Manager"), is_level("Brand Manager")
    (True, False)
    """
    if not has_level(role):
        return False
    return not set(LEVEL_WORDS.without(flat(role)).split()) - _FILLING


_FILLING = word_set(
    "of the global regional group deputy interim acting officer de du la le en for und and "
    "für fur international m w d"
)
