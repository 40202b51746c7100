"""French, Spanish, Italian, Portuguese and Romanian."""

from cs.domain.headline.languages.vocabulary import Vocabulary

FRENCH = Vocabulary(
    influencer="""
    influenceur influenceuse influenceurs influenceuses createurs_de_contenu
    relations_influence marketing_d_influence communication_d_influence
    createurs_et_ambassadeurs leaders_d_opinion
    """,
    social="medias_sociaux reseaux_sociaux",
    not_social="""
    gestion_sociale logement_social logements_sociaux action_sociale aide_sociale
    services_sociaux service_social habitat_social bailleur_social travailleur_social
    relations_sociales protection_sociale politique_sociale insertion_sociale
    innovation_sociale cohesion_sociale responsabilite_sociale economie_sociale
    responsabilite_societale gestionnaire_paie_et_social communaute_de_communes
    communaute_urbaine communaute_educative communaute_d_agglomeration
    """,
    partnerships="""
    commandite commandites parrainage mecenat_et_partenariats cobranding co_branding
    """,
    other_partners="institutionnels institutions associatifs ecoles entreprises_adaptees",
    brand="image_de_marque strategie_de_marque",
    not_brand="""
    marque_propre marques_propres marque_de_distributeur mdd marque_employeur multimarque*
    depot_de_marque droit_des_marques studio_de_marque
    """,
    other_work="""
    grands_comptes compte_cle comptes_cles directeur_commercial directrice_commerciale
    responsable_commercial responsable_commerciale directeur_de_clientele
    directrice_de_clientele chef_des_ventes cheffe_des_ventes charge*_de_recrutement
    recruteur recruteuse recrutement chasseur_de_tetes chasseuse_de_tetes
    directeur_artistique directrice_artistique directeur_de_creation directrice_de_creation
    graphiste photographe agent_d_influenceurs agente_d_influenceurs agent_de_talents
    agent_de_createurs conseil_en_recrutement residence_etudiante acheteur acheteuse
    responsable_achats marketing_terrain conception_redaction concepteur_redacteur
    conceptrice_redactrice
    """,
    intern="alternant apprenti_e",
    coordinator="""
    attache attachee stratege conseiller conseillere coordonnateur* coordonnatrice* coordo
    assist adjoint_administratif adjointe_administrative redactrice* redacteur*
    agent_administratif employe employee technicien* charge_de chargee_de commis preposee
    prepose
    """,
    manager="""
    gestionnaire superviseur* resp respo chef cheffe chef_d_equipe cheffe_d_equipe pilote_de
    reponsable responsabl coordonnateur_principal
    """,
    few="chef_d_equipe",
    director="dir dirco sous_directeur sous_directrice",
    vp="premier_vice_president premiere_vice_presidente vice_presidente vice_presidence",
    c_level="dg dga cofondat* gerant gerante directeur_general_adjoint associe_fondateur",
    senior="principale",
    under="assistante assistant apprentie",
    creator="influenceur influenceuse createur_de_contenu creatrice_de_contenu egerie",
    trade="""
    musique sport mode beaute luxe maison alimentaire boissons jeux cinema bebe cheveux
    parfum soin maquillage qualite logistique contenu contenus relation relations presse rp
    editorial editoriale evenementiel image developpement numerique publicite mecenat a aux
    au avec d_l par ventes achats clientele europe_du_sud europe_du_nord france_et_benelux
    experience_client strategique
    """,
    place="""
    toulouse nantes strasbourg nice rennes grenoble montpellier quebec ile_de_france idf
    """,
    job="""
    generaliste*
    fleuriste* instituteur* institutrice* sophrologue* potier* apicult* ouvrier* cariste*
    magasinier* manutentionnaire* macon* couvreur* paysagiste* jardinier* boucher*
    poissonnier* fromager* caviste* oenologue* pompier* policier* militaire* pilote steward
    hotesse_de_l_air kinesith* orthophoniste* osteopathe* podologue* radiologue* chirurgien*
    anesthesiste* opticien* audioprothesiste* huissier* greffier* magistrat* juge biologiste*
    chimiste* physicien* statisticien* economiste* historien* archeologue* geometre*
    urbaniste* ergotherapeute* puericult* animatrice animateur coach* monteur* soudeur*
    agent_de_securite agent_d_entretien routier livreur* agent agente representant*
    infirmier* comptable* vendeur vendeuse* professeur* enseignant* medecin* avocat* notaire*
    ingenieur* architecte* pharmacien* cuisinier* cuisiniere serveur serveuse coiffeu*
    boulanger* patissier* chauffeur* kine kinesitherapeute* sage_femme* dentiste*
    electricien* mecanicien* plombier* journaliste* traduct* psychologue* hotesse commerciale
    technico_commercial* attache*_commercial* delegue*_commercial* caissier* caissiere
    developpeu* dessinat* formateur* formatrice* educateur* educatrice* juriste* auditeur*
    auditrice conducteur* gardien* aide_soignant* agent_immobilier ecrivain* sommelier*
    artisan* libraire* veterinaire* acheteur acheteuse recruteur recruteuse chasseur_de_tetes
    chasseuse_de_tetes actuaire* menuisier* agriculteur* rh ressources_humaines illustratrice
    illustrateur
    """,
    past="""
    autrefois jadis naguère reconverti reconvertie dans_une_autre_vie il_y_a avant,
    j'ai_longtemps j'ai_travaillé j'ai_géré j'ai_mené j'ai_occupé j'ai_passé j'ai_toujours
    anciennement j'ai_été j'étais j'ai_dirigé j'ai_piloté était passé_par passée_par anciens
    anciennes ancien-ne ex. après_avoir_été
    """,
    gone="""
    retraité retraitée en_retraite à_la_retraite jusqu'à_récemment jusqu'à_l'an_dernier
    """,
    wish="""
    j'arrive_chez nommée_à_compter en_veille_active cherche_cdi poste: offre: on_recrute:
    postulez à_compter_du je_rejoins ouvert_aux ouverte_aux à_l'écoute_d* je_serai
    j'intégrerai bientôt prochainement futur future à_partir_de dès_janvier dès_septembre
    recrute je_recrute nous_recrutons on_recrute recrutons demandeur_d'emploi
    demandeuse_d'emploi sans_emploi chômage poste_à_pourvoir offre_d'emploi cherche
    en_reconversion en_transition recherche_un recherche_une recherche_active en_veille
    poste_ouvert nous_cherchons on_cherche rejoignez j'intègre rejoint prise_de_poste
    """,
    leave="""
    actuellement_en_congé_maternité en_congé_maternité en_congé_de_maternité
    en_congé_paternité en_congé_parental congé_maternité congé_parental
    remplacement_congé_maternité congé_paternité en_congé_sabbatique
    """,
    at="au_sein_de à_la à_l' au aux",
    now="désormais dorénavant",
)

SPANISH = Vocabulary(
    influencer="""
    influencia embajadores_de_marca creadores_de_contenido creadoras influenciadores
    marketing_de_influencia lideres_de_opinion
    """,
    social="redes redes_sociales rr_ss rrss",
    not_social="""
    vivienda_social viviendas_sociales responsabilidad_social responsable_social_corporativ*
    trabajo_social trabajadora_social servicios_sociales accion_social ayuda_social
    proteccion_social gestion_social redes_de_distribucion redes_electricas
    redes_informaticas redes_de_telecomunicaciones comunidad_de_madrid comunidad_autonoma
    comunidad_de_propietarios comunidades_de_vecinos relaciones_con_la_comunidad
    desarrollo_comunitario inversion_social
    """,
    partnerships="""
    alianzas_de_marca alianzas_comerciales_de_marca alianzas_y_patrocinios colaboraciones
    patrocinios partners_de_marketing
    """,
    other_partners="gubernamental* tecnologicas tecnologicos canal canales publicas",
    not_brand="""
    marca_propia marcas_propias marca_blanca multimarca registro_de_marca
    marca_pais_exportador marca_del_distribuidor
    """,
    other_work="""
    director_comercial directora_comercial gerente_comercial jefe_de_ventas jefa_de_ventas
    gerente_de_ventas director_de_ventas directora_de_ventas director_de_cuentas
    directora_de_cuentas ejecutiv*_de_cuentas ejecutiv*_de_ventas cuentas_clave
    director_de_arte directora_de_arte director_creativo directora_creativa fotograf*
    reclutador* seleccion_de_personal consultor*_de_seleccion cazatalentos representante_de_*
    agente_de_talentos manager_de_artistas marketing_de_canal mercadeo_de_canal
    seleccionador* disenadora disenador compras jefe_de_producto jefa_de_producto
    gerente_de_producto gerente_de_tienda recursos_humanos
    """,
    intern="pasante pasantia practicas practicante becari*",
    coordinator="""
    coord coordinador* asist auxiliar* tecnic* ejecutivo ejecutiva encargado_junior asesor
    asesora redactor* tec asistenta ayudante
    """,
    manager="""
    encarg rble rpble respons respble jef subger subgte resp gte gerenta enc jefe_de jefa_de
    jefatura lider lideresa supervisora subgerente coordinador_general responsable_de
    """,
    director="dir dtor dtora dtor_a director_a subdirector subdirectora",
    vp="vicepresidenta vicepresidencia",
    c_level="""
    dueno duena fundador* presidente_ejecutivo consejero_delegado consejera_delegada
    director_gral gerente_propietario socio_director socia_directora empresari*
    """,
    under="auxiliar ayudante",
    creator="influencer creadora_de_contenido creador_de_contenido influenciadora streamer",
    trade="""
    alimentacion bebidas moda belleza deporte deportes musica hogar cuidado personal cervezas
    vinos lacteos calidad logistica mercadeo mkt comercial publicidad contenido contenidos
    digitales relaciones publicas comunicaciones corporativa corporativo estrategicas
    estrategico nuevos negocios prensa para y con por en su e iberia andina cono_sur negocio
    cuentas clientes
    """,
    place="""
    sevilla bilbao malaga zaragoza monterrey guadalajara medellin cali quito ecuador bolivia
    paraguay panama costa_rica guatemala venezuela caracas montevideo rosario cordoba espana
    """,
    job="""
    generalista*
    terapeuta albañil florista apicultor* alfarer* pescador* agricultor* ganader* jardiner*
    soldador*
    fontaner* pintor* repartidor* camioner* taxista* almacener* operari* mozo_de_almacen
    carnicer* pescader* pasteler* barrender* limpiador* cuidador* niñera matron* podolog*
    optic* logopeda* cirujan* radiolog* psicopedagog* juez jueza fiscal procurador* militar
    piloto economista* estadistic* historiador* arqueolog* sociolog* guardia_civil
    interprete* sastre modista representante* agente* enfermer* contador contadora contable*
    vendedor* abogad* profesor* maestro maestra medico medica ingenier* arquitect*
    farmaceutic* cociner* camarer* peluquer* panader* conductor* fisioterapeut* dentista*
    electricista* mecanico mecanica periodista* psicolog* secretari* recepcionista*
    dependient* cajer* administrativ* desarrollador* programador* asesor* jurista* auditor*
    policia bombero* carpinter* albanil* electromecanic* veterinari* escritor* odontolog*
    agronom* biolog* quimic* docente* reclutador* cazatalentos notario seleccionador*
    reponedor* mesero mesera azafata bibliotecari*
    """,
    past="""
    en_su_día en_otra_vida antaño pasé tras_mi_etapa después_de tras_dejar exjefa exjefe
    ex-directora ex-gerente dejé durante_años durante_muchos_años gestioné coordiné llevé
    trabajé_como fui fue he_sido trabajé era lideré dirigí ex. exgerente exdirectora
    exdirector exresponsable ex-jefa pasada_experiencia ya_no tras_años antiguamente
    previamente
    """,
    gone="jubilado jubilada retirado retirada hasta_hace_poco",
    wish="""
    comienzo comienza inicio_en se_incorpora se_necesita incorporamos seleccionamos oferta:
    busco_empleo sin_trabajo a_la_búsqueda buscando_empleo en_breve me_incorporo
    nueva_incorporación abierta_a abierto_a seré empiezo buscando_nuevos me_uno_a
    próximamente próximo próxima a_partir_de futuro futura buscamos contratamos
    estamos_contratando contratando se_busca vacante vacantes oferta_de_empleo desempleado
    desempleada en_paro sin_empleo en_transición disponibilidad_inmediata búsqueda_activa
    búsqueda_laboral en_búsqueda_activa busca incorporación_en empiezo_en busco_trabajo
    """,
    leave="""
    de_baja_maternal de_baja_por_maternidad baja_maternal baja_por_maternidad
    de_baja_por_paternidad permiso_maternal en_permiso_de_maternidad permiso_de_maternidad
    con_licencia_de_maternidad en_licencia_de_maternidad licencia_de_maternidad en_excedencia
    """,
    at="en_el en_la en_los en_las",
)

ITALIAN = Vocabulary(
    influencer="influencers creator_e_ambassador marketing_d_influenza",
    social="canali_social canali_sociali social_network reti_sociali media_sociali",
    not_social="""
    edilizia_sociale servizi_sociali servizio_sociale assistenti_sociali operatore_sociale
    operatrice_sociale cooperativa_sociale bilancio_sociale responsabilita_sociale
    alloggi_sociali politiche_sociali educatore_sociale impresa_sociale
    """,
    partnerships="collaborazioni sponsorizzazioni partnership_e cobranding",
    not_brand="marchio_privato marca_del_distributore marchi_propri brevetti_e_marchi",
    other_work="""
    direttore_commerciale direttrice_commerciale responsabile_commerciale direttore_vendite
    responsabile_vendite capo_area selezionator* selezionatric* selezione_del_personale
    ricerca_e_selezione direttore_artistico direttrice_artistica direttore_creativo
    direttrice_creativa grafico grafica agente_di_talenti cacciatore_di_teste addetto_vendite
    addetta_vendite acquisti responsabile_di_negozio risorse_umane
    """,
    intern="tirocinante tirocinanti stagiste stage_in praticante apprendistato",
    coordinator="""
    coord impiegat* tecnic* referente addett* ausiliari* redattor* redattrice* istruttore
    """,
    manager="""
    respons resp resp_le responsab capoprogetto capo_progetto caporeparto vice_responsabile
    """,
    director="dir dirett vicedirettore vicedirettrice vice_direttore direttrice",
    c_level="""
    amm_re socio_fondatore socia_fondatrice imprenditore imprenditrice presidentessa
    """,
    under="aiuto assistente vice_responsabile",
    creator="creator influencer",
    trade="""
    alimentari bevande moda bellezza sport musica casa cura profumi cosmetica vini qualita
    logistica contenuti relazioni pubbliche comunicazione_e esterna stampa eventi commerciale
    digitale canale canali strategica e con per dermocosmesi vendite
    """,
    place="verona genova palermo bari catania padova trieste brescia",
    job="""
    generalista* generalisti
    fiorista apicoltore apicoltrice vasaio ceramista agricoltore contadin* giardinier*
    saldatore imbianchino corriere camionista tassista carpentiere macellaio pescivendolo
    pizzaiol* gelataio addetto_alle_pulizie badante colf logopedista ottic* chirurgo
    radiologo giudice magistrato militare poliziotto carabiniere pilota economista statistico
    storic* archeolog* sociolog* biolog* chimic* geometra perito architetta sarta interprete
    bibliotecari* custode portiere bidello infermier* commercialista* ragionier* contabile*
    commess* venditor* venditrice avvocat* insegnante* professor* maestro maestra medico
    ingegner* architett* farmacist* cuoc* camerier* parrucchier* panettier* autista autisti
    fisioterapist* dentista elettricist* meccanico giornalist* psicolog* segretari*
    programmator* sviluppator* tradutt* consulent* operai* barista sommelier* notaio
    veterinari* idraulic* muratore falegname magazzinier* selezionator* selezionatric*
    libraio estetista* pasticcer* ostetric* scrittore scrittrice fotograf*
    """,
    past="""
    un_tempo in_un'altra_vita dopo_anni lasciato ho_lasciato ho_gestito ho_curato
    ho_coordinato per_anni sono_stata sono_stato ho_lavorato ho_guidato ho_diretto ero fui
    in_precedenza ex. prima_ero
    """,
    gone="in_pensione pensionato pensionata fino_a_poco_fa",
    wish="""
    in_arrivo selezioniamo ricerchiamo ricerca_di_personale cerco_lavoro inizio_a aperta_a
    aperto_a inizierò entrerò prossimo prossima prossimamente futuro futura cerchiamo
    assumiamo stiamo_assumendo cercasi offerta_di_lavoro disoccupato disoccupata
    in_transizione a_partire_da sarò disponibile_da in_cerca disponibile candidati
    posizione_aperta
    """,
    leave="""
    attualmente_in_maternità in_maternità in_congedo_di_maternità in_congedo_maternità
    congedo_di_maternità in_congedo_parentale congedo_parentale in_congedo in_paternità
    sostituzione_maternità
    """,
    at="presso_il presso_la presso_lo all' al alla allo nel nella",
    now="adesso",
)

PORTUGUESE = Vocabulary(
    influencer="""
    influenciador* criadores_de_conteudo influencia embaixadores marketing_de_influencia
    """,
    social="redes_sociais redes midias",
    not_social="""
    habitacao_social acao_social servico_social servicos_sociais responsabilidade_social
    assistente_social investimento_social redes_de_computadores redes_eletricas
    administrador_de_redes midias_impressas comunidades_tradicionais
    relacionamento_com_comunidades
    """,
    partnerships="patrocinios parcerias parceiros_de_marca colaboracoes",
    other_partners="tecnologicas canais canal revendas governamentais",
    not_brand="marca_propria marcas_proprias",
    other_work="""
    diretor_comercial diretora_comercial gerente_comercial gerente_de_vendas
    diretor_de_vendas executiv*_de_contas executiv*_de_vendas gerente_de_contas contas_chave
    recrutador* recrutamento diretor_de_arte diretora_de_arte diretor_criativo
    diretora_criativa agente_de_talentos agenciador* fotograf* compras gerente_de_loja
    gerente_de_produto recursos_humanos hunting headhunting
    """,
    intern="estagiari* estagio jovem_aprendiz",
    coordinator="""
    coord assist auxiliar* tecnic* analista* executivo executiva assistente* redator*
    consultor_junior operador*
    """,
    manager="ger resp lider lideranca supervisor supervisora gestor gestora responsavel",
    director="dir",
    vp="vice_presidente vice_presidencia",
    c_level="socia_fundadora socio_fundador socia_proprietaria dono dona empresari*",
    under="auxiliar ajudante",
    creator="influenciadora influenciador criadora_de_conteudo criador_de_conteudo",
    trade="""
    alimentos bebidas moda beleza esportes esporte desporto musica casa cuidados cosmeticos
    vinhos premium qualidade logistica conteudo conteudos comercial publicidade comunicacao
    relacoes publicas imprensa digitais estrategicas estrategico negocios vendas e para com
    cervejas nacional
    """,
    place="""
    regiao_sul regiao_norte regiao_nordeste regiao_sudeste centro_oeste curitiba porto_alegre
    belo_horizonte brasilia salvador recife fortaleza coimbra braga
    """,
    job="""
    terapeuta florista apicultor* agricultor* jardineir* soldador* encanador* pintor*
    entregador*
    caminhoneir* taxista* operador_de_caixa acougueir* confeiteir* faxineir* diarista
    cuidador* baba fonoaudiolog* cirurgi* radiologista* juiz juiza promotor_de_justica
    militar bombeir* piloto comissari* economista* estatistic* historiador* arqueolog*
    sociolog* interprete* costureir* bibliotecari* porteir* rececionista* canalizador*
    representante* agente* enfermeir* contador contadora contabilista* vendedor* advogad*
    professor* medico medica engenheir* arquitet* farmaceutic* cozinheir* garcom garconete
    cabeleireir* padeir* motorista* fisioterapeuta* dentista* eletricista* mecanico
    jornalista* psicolog* secretari* recepcionista* programador* desenvolvedor* tradutor*
    corretor* pedagog* balconista bancari* publicitari* nutricionista* veterinari* marceneir*
    pedreiro policial servidor*_public* recrutador* biolog* escritor* fotograf*
    """,
    past="""
    outrora em_outra_vida depois_de_anos deixei ex-gerente gerenciei coordenei geri dirigi
    por_anos já_fui fui trabalhei era liderei passagem_por passagens_por com_passagem ex.
    atuei antigamente
    """,
    gone="aposentado aposentada até_recentemente",
    wish="""
    selecionamos procuro_emprego à_procura_de entro_em vou_ser aberta_a aberto_a serei
    começo_em em_breve próximo próxima futuro futura contratando contrata-se vaga vagas
    vaga:* procura-se estamos_contratando desempregado desempregada em_transição recolocação
    disponível a_partir_de procuramos buscamos em_busca_de
    """,
    leave="""
    em_licença-maternidade de_licença-maternidade em_licença_maternidade licença-maternidade
    licença_maternidade em_licença-paternidade em_licença_parental em_licença_de_maternidade
    de_licença_maternidade
    """,
    at="no na nos nas junto_à",
)

ROMANIAN = Vocabulary(
    influencer="influenceri influencerilor creatori_de_continut",
    social="retele_sociale social_media retelelor_sociale",
    not_social="asistent*_social* asistenta_sociala servicii_sociale",
    partnerships="parteneriat* sponsorizar* colaborari",
    brand="marca brandului brandurilor",
    intern="stagiar*",
    coordinator="coordonator* asistent* specialist* analist* consilier* referent*",
    manager="responsabil* managerul managerului sef sefa",
    director="directorul directorului directoare",
    vp="vicepresedint*",
    c_level="fondator* cofondator* proprietar* presedint* administrator",
    trade="si de pentru comunicare vanzari continut",
    place="romania cluj timisoara iasi brasov",
    job="""
    contabil* profesor* medic avocat* inginer* vanzator* vanzatoare farmacist* bucatar*
    sofer* programator* jurnalist* invatator* asistent*_medical* psiholog*
    """,
    past="am_fost am_lucrat am_condus fost fostă anterior",
    now="acum în_prezent",
    gone="pensionar pensionară",
    wish="încep voi_fi viitor viitoare caut căutăm angajăm șomer în_căutare",
    leave="concediu_de_maternitate în_concediu_de_maternitate concediu_de_creștere",
    at="la în_cadrul",
)

LANGUAGES = (FRENCH, SPANISH, ITALIAN, PORTUGUESE, ROMANIAN)
