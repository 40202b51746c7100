"""The words that tell the families of roles apart, in the languages people use.

All are looked for in folded words with single spaces: lower case, without accents,
hyphens gone, ``&`` and ``+`` read as "and", commas and slashes words of their own.
A table named ``NOT_...`` is taken out of the text before its family is looked for.
"""

from cs.domain.headline.languages import said, table
from cs.domain.names.lazy_pattern import LazyPattern
from cs.domain.names.phrases import Phrases
from cs.domain.names.plain_text import folded

INFLUENCER = table(
    "influencer",
    """
    influenc* *influencer *influencerin *influencermarketing influens* influenser*
    instagramer* creators creator creatorin creatrices createurs createur creadores criadores
    tworc* creatori tvurc* icerik_ureticileri sisallontuottaj* vaikuttaja*
    vaikuttajamarkkinointi kol kols koc kocs key_opinion_leader* opinion_leader*
    leaders_d_opinion ambassadors ambassadeurs ambassadrices embajadores embaixadores
    ambasciatori ambasadorow ambassadorer botschafterprogramm* markenbotschafterprogramm*
    marka_elcileri ambasadorzy ambassador_program* ambassador_manager ambassador_marketing
    ambassador_management ambassador_relations ambassador_partnership* ambassador_strategy
    ambassador_communit* ambassador_lead ambassador_director programme_ambassadeur*
    programa_de_embajadores egerie egeries brand_advoca* social_advoca* beauty_advoca*
    digital_advoca* consumer_advoca* advocacy_marketing creator_advoca* fan_advoca*
    advocacy_and_influenc* celebrity celebrities celebs prominente celebridades celebrites
    vip_relations vip_relation vip_talent* vip_services vip_dressing vip_seeding vip_gifting
    vip_marketing vip_pr vip_communication* vip_entertainment relations_vip vip_partnership*
    vip_celebrit* vips talent_partnership* talent_and_partnership* talent_relations
    athlete_partnership* athlete_marketing athlete_relations athlete_influenc* athletes
    athlete_ambassador* athlete_program* ugc seeding product_seeding blogger_relations
    bloggers blogger_marketing blogger_outreach bloggerkooperationen streamers
    streamer_relations streamer_partnership* streamer_marketing youtuber_relations youtubers
    tiktokers content_creators инфлюенс* инфлюэнс* инфлуенс* блогер* амбассадор*
    """,
    """
    インフルエンサー クリエイター クリエーター アンバサダー 인플루언서 크리에이터 앰버서더
    앰배서더 셀럽 达人 達人 网红 網紅 红人 紅人 博主 キャスティング
    """,
)
NOT_INFLUENCER = Phrases(
    """
    medical_kol* scientific_kol* pharma_kol* celebrity_chef celebrity_stylist
    celebrity_trainer celebrity_photographer influencer_platform influencer_software
    influencer_saas influencer_tech influencer_tool influencer_app influencer_suite
    influencer_marketplace influencer_plattform influencer_solutions
    influencer_marketing_platform influencer_marketing_software influencer_marketing_saas
    influencer_marketing_tech influencer_marketing_tool influencer_marketing_app
    influencer_marketing_suite influencer_marketing_marketplace
    influencer_marketing_plattform influencer_marketing_solutions creator_platform
    creator_software creator_saas creator_tech creator_tool creator_app creator_suite
    creator_marketplace creator_plattform creator_solutions creator_marketing_platform
    creator_marketing_software creator_marketing_saas creator_marketing_tech
    creator_marketing_tool creator_marketing_app creator_marketing_suite
    creator_marketing_marketplace creator_marketing_plattform creator_marketing_solutions
    influence_platform influence_software influence_saas influence_tech influence_tool
    influence_app influence_suite influence_marketplace influence_plattform
    influence_solutions social_media_marketing_platform social_media_marketing_software
    social_media_marketing_saas social_media_marketing_tech social_media_marketing_tool
    social_media_marketing_app social_media_marketing_suite
    social_media_marketing_marketplace social_media_marketing_plattform
    social_media_marketing_solutions ugc_platform ugc_software ugc_saas ugc_tech ugc_tool
    ugc_app ugc_suite ugc_marketplace ugc_plattform ugc_solutions ambassador_platform
    ambassador_software ambassador_saas ambassador_tech ambassador_tool ambassador_app
    ambassador_suite ambassador_marketplace ambassador_plattform ambassador_solutions
    affiliate_and_influencer_platform affiliate_and_influencer_software
    affiliate_and_influencer_saas affiliate_and_influencer_tech affiliate_and_influencer_tool
    affiliate_and_influencer_app affiliate_and_influencer_suite
    affiliate_and_influencer_marketplace affiliate_and_influencer_plattform
    affiliate_and_influencer_solutions plateforme_d_influence plateforme_influence
    plataforma_de_influencers piattaforma_di_influencer_marketing creator_tools creator_of
    influence_operations influence_de_la sphere_of_influence trafic_d_influence
    under_the_influence
    """
)
SOCIAL = table(
    "social",
    """
    social socials socialmedia *socialmedia socialmedia* smm some_manager reseaux_sociaux
    medias_sociaux media_sociaux redes_sociales redes_sociais medios_sociales midias_sociais
    midia_social rrss media_sociali reti_sociali canali_social soziale_medien sozialen_medien
    soziale_netzwerke sozialen_netzwerke sociale_media sociala_medier sociale_medier
    sosiale_medier sosiaalisen_median sosiaalinen_media somepaallikko somevastaava
    mediow_spolecznosciow* media_spolecznosciow* mediami_spolecznosciow* socialnich_siti
    socialni_site socialnych_sieti kozossegi_media sosyal_medya media_sosial социальн*_сет*
    социальн*_медиа соцсет* смм сммщик tiktok_manager tiktok_lead tiktok_shop*
    tiktok_strateg* tiktok_content* tiktok_channel* instagram_manager instagram_strateg*
    instagram_content* instagram_lead pinterest_manager snapchat_manager youtube_channel*
    youtube_manager mang_xa_hoi
    """,
    "ソーシャル SNS sns 소셜 社交媒体 社媒 社群 新媒体 社交平台 社交",
)
NOT_SOCIAL = table(
    "not_social",
    """
    *cion_social *sion_social *dad_social *miento_social *dade_social *cao_social
    *encia_social *ancia_social centro_social centre_social plan_social fondo_social
    area_social socialmedia_software socialmedia_suite socialmedia_tool socialmedia_platform
    social_suite socialmedia_management_software social_listening_software
    social_listening_suite social_analytics_software social_software social_tech social_work*
    social_impact* social_responsib* corporate_social social_service* social_care
    socialmedia_customer* social_customer* socialmedia_care social_support
    socialmedia_support social_science* social_scientist* social_polic* social_justice
    social_innovat* social_enterpris* social_entrepreneur* social_security social_selling
    social_protection social_value social_sustainab* social_housing social_welfare
    social_event* social_club* social_educat* social_pedagog* social_stud* social_research*
    social_change social_good social_business* social_development social_affair*
    social_psycholog* social_secretary social_governance social_performance social_invest*
    social_procurement social_compliance social_mobility social_prescrib* social_econom*
    social_inclusion social_action* social_insurance social_emotional social_skills
    social_equity social_purpose social_mission social_finance social_audit* social_risk*
    social_and_environmental environmental_and_social environmental_social
    social_environmental social_dialogue social_partner* social_norm*
    social_intelligence_unit social_anthropolog* social_theor* social_cohesion
    social_determinants social_program* accion_social trabajo_social trabajador*_social
    obra_social educador*_social comunicacion_social comunicador*_social servicio*_social
    bienestar_social desarrollo_social impacto_social integrador*_social economia_social
    assistente_social* assistenza_social* servico*_social desenvolvimento_social
    comunicacao_social assistencia_social psicolog*_social ciencias_sociales agente_social
    assistant_social travail*_social assistante_sociale educateur_social medico_social
    dialogue_social droit_social bilan_social developpement_social logement_social
    lien_social gestionnaire_social impact_social proyecto*_social projeto*_social
    politic*_social previdencia_social seguridad_social inclusion_social mediador*_social
    segretari*_social
    """,
    """
    社会福祉 ソーシャルワーカー ソーシャルワーク 소셜벤처 ソーシャルグッド ソーシャルゲーム
    소셜_임팩트
    """,
)
COMMUNITY = Phrases(
    """
    community_manager community_managerin community_management community_mgr community_lead
    community_director community_marketing community_strateg* head_of_community
    director_of_community vp_community vp_of_community community_specialist
    community_coordinator community_assistant brand_community online_community
    discord_community gaming_community digital_community community_growth
    gestionnaire_de_communaute responsable_de_communaute chef_de_communaute comunidad
    comunidades communaute communautes comunidade gestor*_de_comunidad*
    gestor*_de_comunidade* responsable_communaute communaute_en_ligne community_und_*
    community_executive community_associate manager_community lead_community
    director_community
    """,
    "קהילה コミュニティマネージャー コミュニティマネジャー コミュニティ 커뮤니티 社区运营",
)
OTHER_COMMUNITY = Phrases(
    """
    property apartment* coworking co_working housing hoa residential leasing retail store
    developer developers devrel dev_rel real_estate association neighborhood neighbourhood
    workspace* office offices flex_space flexible_space multifamily student_housing
    senior_living estate estates village park homeowners condo condominium* tenant* resident
    residents church parish health care nursing police safety outreach engineer* open_source
    relations affairs volunteer* fundrais* living immobilien* mall shopping_cent* library
    charity wellbeing
    """
)

PARTNERSHIPS = table(
    "partnerships",
    """
    partnership partnerships co_marketing partnershipmanager* partenariat* partnerschaft*
    *partnerschaften parceria parcerias partnerstw* partnerskap* partnerskab* sponsor_manager
    sponsor_relations sponsors sponsorship sponsorships sponsoring *sponsoring sponsring
    sponsoringu sponsorizzazion* sponsorowan* sponzor* patrocinio* patrocini patrocinador*
    sponsorluk* sponsorointi collaboration collaborations collab collabs colaboracion*
    colaborac* collaborazion* kooperation* *kooperationen samenwerking* samarbet* samarbejd*
    samarbeid* wspolprac* spoluprac* egyuttmukodes* is_birlig* isbirlig* is_birlikleri
    ortaklik* yhteistyo* kumppanuu* parteneriat* kerja_sama affiliate affiliates affiliat*
    afiliado* afiliac* affiliazion* partner_marketing partnermarketing partners_marketing
    marketing_partner* партнерств* партнерск* партнерам спонсор* коллаборац*
    """,
    """
    パートナーシップ タイアップ コラボ スポンサー アフィリエイト 파트너십 제휴 콜라보 스폰서
    어필리에이트 협찬 商务合作 品牌合作 异业合作 合作 赞助 联名
    """,
)
NOT_PARTNERSHIPS = Phrases(
    """
    managing_partner general_partner senior_partner hr_business_partner* business_partner*
    hr_partner* finance_partner* people_partner* talent_partner talent_acquisition_partner*
    affiliated sponsored clinical_trial_sponsor
    """
)
#: Partners who help to sell or to build, to teach or to govern: not marketing.
OTHER_PARTNERS = table(
    "other_partners",
    """
    technology technologies tech product isv isvs si gsi cloud api apis channel channels
    reseller* alliance alliances integration integrations solution solutions payment payments
    software systems oem saas data engineering developer developers platform_engineering
    university universities school schools education* academic academia college government
    public civic community ngo policy municipal federal health_partner* healthcare
    health_care hospital* clinical medical pharma* payer* patient* hr human_resources finance
    financial_institution* bank banks recruit* talent_acquisition partner_success
    partner_manager learning research supply_chain supplier* vendor* vertrieb* technologie*
    technologique* tecnolog* universit* universidad* universidade* gouvernement* gobierno*
    governo* institutionnel* institucional* public_privat* publico* schul* hochschul*
    integracion*
    """,
    "技術 チャネル テクノロジー 기술 대학 渠道 技术 政府",
)
MARKETING_PARTNERS = Phrases(
    """
    brand brands marketing media content sport sports entertainment music creator creators
    sponsor* collab* fashion lifestyle culture cultural affiliate* celebrity talent event
    events film gaming licensing co_marketing marque* marca marcas marken*
    """,
    "ブランド タイアップ コラボ 브랜드 品牌 联名",
)

BRAND = table(
    "brand",
    """
    brand brands branding brandmarketing brandmanagement *brand_manager marque marques marca
    marcas marchio marke marken marken* brandmanager* brandi* tuotemerk* merk merken
    merkmanager* merkstrateg* merkcommunicatie merkmarketing merkbeleving varumarke*
    varemerke* varemaerke* marki marka marka_muduru markasi znacky znacka znackou znacek
    marka* merek thuong_hieu бренд* бренды
    """,
    "ブランド 브랜드 品牌",
)
NOT_BRAND = table(
    "not_brand",
    """
    employer_brand* employer_and_brand employerbrand* arbeitgebermarke* marque_employeur
    marca_empleadora marca_empregadora brand_design* brand_creative* brand_copy*
    brand_protection brand_safety brand_legal brand_counsel brand_lawyer brand_integrity
    brand_enforcement brand_compliance brand_attorney brand_ambassador* brand_promot*
    brand_sales brand_consult* branding_consult* brand_coach* branding_coach* personal_brand*
    brand_partner brand_partners brand_representative* brand_rep brand_new
    brand_identity_design* brand_photograph* brand_engineer* brand_and_product_design*
    marca_personal marca_pessoal personal_branding brand_educator markenrecht* markenschutz
    markenbotschafter* markendesign* embajador*_de_marca embaixador*_da_marca
    embaixador*_de_marca ambassadeur_de_marque ambassadrice_de_marque proteccion_de_marca*
    propiedad_de_marcas registro_de_marcas marcas_y_patentes marcas_e_patentes employer_value
    talent_brand recruitment_brand* people_brand* private_brand private_brands
    brand_standards_inspector
    """,
    "採用ブランディング 採用ブランド 고용브랜드 고용_브랜딩 채용브랜딩 雇主品牌",
)
#: Who serves brands, one of which is not named, and the brands.
FOR_BRANDS = Phrases(
    """
    business practice commercial operations logistics ecommerce e_commerce consultancy
    etatdirektor* accountdirect* accountmanag* publicite account accounts client clients
    customer shopper category buyer buying kunden* kundenberat* key_account clientele comptes
    compte cuentas clientes contas conti klant* konto kund accountmanager vendor agency
    wholesale franchise licensee serving
    trade atendimento atencion_al_cliente
    """
)
BRANDS = Phrases(
    """
    brand_clients brand_accounts per_brand brands marques marcas marken marchi merken
    varumarken merkevarer varemaerker marek
    """
)
#: Work for a brand that is not its marketing, wherever the word stands.
NO_BRAND_WORK = Phrases(
    """
    designer designers design_director art_director creative_director copywriter
    copy_director illustrator photographer videographer consultant consultants coach lawyer
    creative_lead head_of_creative creative_manager creative_services packaging_studio
    artworker counsel attorney paralegal
    product_manager product_marketing trade_marketing field_marketing shopper_marketing
    trade_and_shopper handelsmarketing trademarketing ticari_pazarlama marketing_de_canal
    mercadeo_de_canal marketing_terrain beraterin berater consultor consultora consulente
    designerin grafik* graphiste disenador* disenad* directeur_artistique
    directrice_artistique direction_artistique direttore_creativo director_creativo
    directora_creativa diretor_de_arte diretor_criativo direttore_artistico
    """,
    "デザイナー 디자이너 设计师 トレードマーケティング 트레이드 通路 渠道营销",
)

#: Work of another kind even where it names a family.
OTHER_WORK = table(
    "other_work",
    """
    resourcing recruiter recruiters recruiting recruitment talent_acquisition headhunter sourcer
    personalreferent* personalvermittl* talent_manager talent_management business_partner
    talent_agent talent_agency client_partner client_partners artist_manager agent_artistique
    booking_agent literary_agent
    talentmanager* engineer engineers engineering developer software_* entwickler* ingenieur*
    ingeniero* product_manager product_management product_director head_of_product
    product_lead product_designer product_owner product_marketing produktmanager*
    chef_de_produit cheffe_de_produit data_scientist data_engineer data_analyst
    machine_learning scientist ux ui research_scientist lawyer attorney counsel legal
    paralegal avocat jurist* lecturer professor teacher tutor instructor docent dozent*
    docente profesor* enseignant* journalist reporter accountant controller payroll hr
    human_resources nurse therapist customer_success customer_support customer_service
    customer_care kundenservice trust_and_safety content_moderator moderation sales_manager
    sales_director sales_representative head_of_sales brand_sales vertriebsleiter*
    public_policy fundrais* real_estate estate_agent property_manager store_manager
    shop_manager filialleiter*
    """,
    """
    採用担当 リクルーター エンジニア 디자이너 개발자 엔지니어 채용 招聘 工程师 产品经理
    产品總監
    """,
)

#: Work that one role names together with a family, and that does not rule the family out.
BESIDES = Phrases(
    """
    and_product_marketing and_product and_trade_marketing and_trade and_field_marketing
    product_marketing_and product_and trade_marketing_and trade_and field_marketing_and
    and_customer_success and_design and_creative and_legal creative_and design_and
    """
)

#: Creators themselves: a role that ends like this.  Folded.
CREATORS = frozenset(
    folded(phrase).replace("_", " ")
    for phrase in (
        """
        influencer influencerin influenceur influenceuse influenciador influenciadora
        influencera
        creator creatorin createur_de_contenu creatrice_de_contenu createur creatrice
        creador_de_contenido creadora_de_contenido criador_de_conteudo criadora_de_conteudo
        content_creator blogger bloggerin vlogger streamer youtuber youtuberin tiktoker
        instagrammer model podcaster kol koc twitch_partner ambassador ambassadeur ambassadrice
        ambassadeur_de_marque ambassadrice_de_marque embajador_de_marca embajadora_de_marca
        markenbotschafter markenbotschafterin icerik_ureticisi 創作者 インフルエンサー
        クリエイター ユーチューバー 인플루언서 크리에이터 유튜버 网红 博主 блогер инфлюенсер
        """
        + " ".join(said("creator"))
    ).split()
)

FOUNDER = Phrases(
    """
    founder founders cofounder ceo chief_executive chief_executive_officer owner co_owner
    founding_partner fondateur* fondatrice* cofondat* fundador* cofundador* fondatore*
    grunder grunderin mitgrunder* inhaber* geschaftsfuhr* oprichter* medeoprichter* eigenaar*
    eigenaresse grundare medgrundare grundlaegger* medgrundlaegger* zalozyciel*
    wspolzalozyciel* wlasciciel* kurucu* proprietaire* proprietari* propietari* titolare
    dueno duena pdg основател* владелец
    """,
    "創業者 創始者 代表取締役 社長 창업자 대표 创始人",
)

#: In any language: the assistant's word, and a word for "of" or "to"; who is helped follows.
ASSISTANT_TO = LazyPattern(
    r"\b(?:\w+ to (?:the |our |a |his |her )?(?=(?:\w+ ){0,3}?(?:head|director|vp|svp|evp|"
    r"chief|cmo|ceo|"
    r"coo|president|managing|founder|leadership|board|vice)\b))|"
    r"\b(?:assistant|assistante|assistent|assistentin|assistenz|asistente|asystentka|asystent|"
    r"assistente|asistan|ea|pa|e a|segretari[ao]|secretaresse|\w*assistent|\w*assistentin|"
    r"\w*assistenz|adjointe?|"
    r"adjunt[oa]|"
    r"secretaria|sekretar\w*|sekreteri?|secretary|sekretarin|sekretar|secretaire|secretaria|"
    r"chief of staff|adjutant|right hand|support)"
    r"(?: (?:e[jx]ecutiv[aeo]|pessoal|particular|administrativ[ao]))?"
    r" (?:to|for|of|der|des|dem|von|de|du|del|della|do|da|al|alla|a la|a l|a|au|an|van het|"
    r"van de|van|"
    r"till|til|dla|d|dell|di|av|for|fur die|fur den|fur) "
)
#: Who looks after creators and sells what they do: "manager of YouTubers".
TALENT_AGENT = LazyPattern(
    r"(?<!\w)(?:manager\w*|agent\w*|representante|rep|represents?|management|booker|impresario|"
    r"empresari[oa]|agenciador\w*|looks after) (?:of|for|to|von|fur|de|d|di|van|voor|dla|para|"
    r"des) "
    r"(?:\w+ ){0,2}?(?:creators?|influencer\w*|influenceurs|youtuber\w*|streamer\w*|"
    r"tiktoker\w*|"
    r"creadores|criadores|createurs|talents|tworcow|influenciador\w*|podcasters)(?!\w)"
    r"(?! (?:marketing|relations|partnerships?|strategy|programs?|programmes?|campaigns?|"
    r"content|"
    r"operations|communications?|and (?:partnerships|marketing|social|pr|brand)))"
)
#: Where the case alone says who is helped.
ASSISTANT_OF = LazyPattern(
    r"(?<!\w)(?:asystent\w*|asistent\w*|sekretar\w*|помощни\w+|ассистент\w*|секретар\w+|"
    r"помічни\w+|асистент\w*|مساعد|مساعدة|سكرتير\w*|עוזר\w*|tro ly|thu ky|asisten|sekretaris|"
    r"ผู้ช่วย|เลขานุการ) ?"
)
#: "Executive Assistant, VP Partnerships": whom they help is named next to them.
ASSISTANT_NEXT_TO = LazyPattern(
    r"^(?:(?:executive|personal|administrative|admin|management) assistant|ea|pa) "
)
#: Where the assistant is named last: "director's assistant".
LEADERS_ASSISTANT = LazyPattern(
    r"(?<!\w)(?:officer|director|head|vp|ceo|cmo|president) s office(?!\w)|"
    r"(?<!\w)(?:assistant|coordinator|administrator|admin|secretary) (?:\w+ ){0,6}?leadership"
    r"(?! (?:development|program))|"
    r"(?:总监|总裁|总经理|董事长|社長|本部長|部長|社长|部长|执行长|ceo|cmo|coo|cfo|본부장|"
    r"부장|대표|이사|"
    r"실장|상무|임원) ?"
    r"(?:助理|秘书|秘書|付き秘書|비서|보좌)|"
    r"(?<!\w)\w*(?:johtajan|paallikon|direktoru|baskani|igazgato|igazgatoi|direktoren|chefens) "
    r"(?:assistent\w*|avustaja|sihteeri|asistani|sekreteri|asszisztense?|assistent|sekretar\w*)"
)
LEADERSHIP = Phrases(
    """
    geschaftsfuhrung geschaftsleitung vorstand direction direccion direzione diretoria
    presidence presidencia directie leitung zarzadu board c_suite executives
    """
)
