"""English: what is not in the tables that begin with it."""

from cs.domain.headline.languages.vocabulary import Vocabulary

ENGLISH = Vocabulary(
    influencer="""
    inf_relations inf_manager inf_lead inflncr influencr inflncer influncer infl influ
    inf_marketing inf_mktg inf_mkt
    influencers kols ambassador_programs
    """,
    social="sm_manager sm_lead sm_marketing soc_media social_mktg socmed",
    not_social="""
    social_studies social_planning social_advocacy social_casework social_rehabilitation
    social_tenants social_investment_* social_lettings social_letting social_rent
    social_rented social_home social_homes social_landlord* social_tenanc* social_care_*
    social_worker social_workers social_recovery social_benefit* social_assistance
    social_integration social_service_* social_health social_infrastructure social_determin*
    social_bond* social_lending social_investment* social_accountab* social_licen[cs]e
    social_supermarket* social_gerontolog* social_law social_value_* social_procure*
    """,
    partnerships="partnershp",
    other_partners="""
    logistics franchise franchisee referral distribution housing landlord landlords employer
    employers multi_academy church research_partnerships workforce charity climate
    sustainability infrastructure investor investors lender lenders insurance broker brokers
    legal police fintech data_partnerships
    """,
    not_brand="""
    house_brand house_brands private_labels brand_studio brand_studios branded_goods
    own_brand own_brands own_label brand_standards brand_production branded_residences
    brand_store brand_stores brand_outlet
    """,
    other_work="""
    concept_artist artist artists videograf* videaste videomaker filmmaker filmemacher*
    camarografo realizador* cameraman agent agente agentin copy_lead head_of_copy copy_chief
    copy_director account_executive* sales_executive sales_lead sales_team sales_consultant
    sales_associate sales_rep* sales_development sales_development_* sales_engineer*
    sales_operations sdr bdr head_of_design design_manager design_lead head_of_sales vp_sales
    vp_of_sales director_of_sales chief_sales chief_revenue commercial_director
    commercial_manager commercial_lead head_of_commercial pre_sales presales
    solutions_consultant solution_consultant solutions_engineer solutions_architect
    customer_experience client_success partner_success onboarding implementation_manager
    implementation_consultant executive_search search_consultant search_partner
    placement_consultant staffing recruits placing resourcer talent_partner talent_partners
    talent_sourcer career_coach careers_adviser manager_for_creators manager_of_creators
    manager_of_influencers manager_for_influencers manager_for_youtubers
    manager_for_streamers manager_di_influencer manager_de_influencers manager_d_influenceurs
    manager_di_creator manager_von_influencern talent_manager* influencer_agent creator_agent
    talent_representative celebrity_agent model_agent modelling_agent modeling_agent booker
    bookings_agent art_director creative_director design_director associate_creative_director
    art_direction director_of_photography designer designers illustrator photographer
    videographer copywriter video_editor motion_designer animator housing_manager
    lettings_manager property_director facilities estate_manager finance_manager
    finance_director financial office_manager it_manager security_manager merchandiser
    merchandising_manager store_director retail_manager category_manager buyer buying_manager
    procurement purchasing supply_chain logistics researcher phd_candidate postdoc nurse
    social_worker social_workers midwife
    """,
    coordinator="coord coords clerk administrator admin",
    manager="mngr manageress teamlead team_leader team_captain section_leader line_manager",
    director="dir dirs",
    vp="vice_pres v_president vice_prez avp",
    c_level="chairman chairwoman chair_of_the_board managing_dir md",
    under="trainee_manager",
    creator="""
    influencer creator youtuber streamer tiktoker instagrammer vlogger blogger ugc_creator
    content_creator gamer nano_influencer micro_influencer
    """,
    trade="""
    supply_chain ice_cream baby_care legal_affairs payments fintech onboarding checkout
    infrastructure security cloud mobile ios android platform_growth logistics procurement
    manufacturing quality supply finance accounting payroll hardware devices wearables audio
    podcasts education kids household cleaning laundry fabric frozen bakery pasta sauces
    condiments juice protein supplements vitamins pharma otc luxury bridal streetwear
    activewear swimwear lingerie sneakers outerwear ski skate golf rugby cricket motorsport
    olympics athletics s mktg mkt mktng comms running football basketball women men womens
    mens tennis outdoor cycling training lifestyle haircare hair_care personal_care homecare
    home_care consumer_healthcare oral_care grooming fragrances prestige spirits beer wine
    whisky whiskey gin vodka rum tequila coffee tea dairy confectionery chocolate biscuits
    snacking cereals petcare pet_care toys jewellery jewelry watches eyewear denim automotive
    mobility hospitality culture_marketing talent_marketing platforms short_form long_form
    video_content paid_media brand_building equity lead_generation always_on programming
    operations adult_nutrition nutrition infant food_service foodservice innovations
    portfolio launches new_business client clients account accounts
    """,
    place="""
    uki uk_and_ireland uk_and_i ie gb great_britain northern_ireland uae sg hk sydney_area
    americas us_and_canada us_canada north_east southern_africa sub_saharan_africa
    central_eastern_europe levant gulf maghreb caribbean scandinavia baltics balkans
    portland_oregon oregon ontario quebec british_columbia alberta new_south_wales victoria
    queensland ohio michigan north_carolina virginia colorado arizona nevada utah tennessee
    wisconsin minnesota connecticut maryland pennsylvania cambridge oxford brighton cardiff
    belfast newcastle sheffield nottingham leicester hong_kong_sar sri_lanka nepal qatar
    kuwait bahrain oman saudi saudi_arabia jordan lebanon tunisia algeria ghana ethiopia
    uganda tanzania cyprus malta albania bosnia north_macedonia kazakhstan uzbekistan
    """,
    job="""
    generalist generalists generalistin
    doula doulas temp potter beekeeper gardener novelist poet playwright drummer guitarist
    instructor*
    yogi_teacher bricklayer plasterer decorator roofer barber tattooist undertaker
    choreographer podcaster lifeguard magician landlord publican zookeeper archaeologist*
    historian* geologist* meteorologist* sociologist* anthropologist* linguist*
    epidemiologist* dermatologist* radiographer* dispatcher courier postal_worker
    train_driver bus_driver sdr bdr enterprise_sales inside_sales clinician* osteopath*
    chiropractor* sculptor painter ceramicist ceramist goldsmith blacksmith cheesemaker
    brewer winemaker barman illustrator cartoonist dentist* electrician* plumber* surgeon*
    vet veterinarian* pilot paramedic* midwife* carpenter* hairdresser* bookkeeper* auditor*
    librarian* firefighter* police_officer cashier* waiter waitress server bartender*
    translator* interpreter* tester biologist* chemist* physicist* economist* statistician*
    farmer* florist* cleaner* clerk* physiotherapist* optometrist* optician* entrepreneur*
    baker mechanic* welder* tailor* dietitian* nutritionist* paralegal* solicitor* barrister*
    notary* surveyor* machinist* warehouse_operative* stylist* makeup_artist* make_up_artist*
    dancer* illustrator* sales_assistant shop_assistant sales_rep* sales_advis* carer
    caregiver* nanny childminder* educator* professor* tutor* pastor priest soldier veteran
    *therapist *therapists talent_representative agent representative_of talent_scout
    bookseller* postman
    """,
    past="""
    in_an_earlier_chapter in_an_earlier_life in_a_past_chapter in_a_previous_chapter who_once
    who_swapped who_traded most_recently recently: until_redundancy quit gave_up swapped
    no_longer recovering
    reformed lapsed erstwhile in_another_life in_a_past_life in_my_previous_life
    in_a_prior_life in_previous_lives pre-kids before_kids escaped retired_from
    stepped_away_from stepped_back_from moved_on_from hung_up said_goodbye_to left_a_career
    left_behind my_years_as years_ago back_when background: having_left i_managed i_built
    i_grew i_headed earlier_roles earlier: who_spent who_ran who_led who_used_to i_worked
    in_my_past my_last_job last_job i_left formerly_of was used_to_be used_to_run
    used_to_lead used_to_manage used_to_work used_to_head i_was i_led i_ran worked_as
    served_as i_used_to have_been had_been spent_my_career spent_a_decade late_of alum_of
    alumnus_of alumna_of alums_of previous_roles previous_role prior_roles prior_role
    past_roles past_life in_a_former_life in_a_previous_life career_history background_as
    started_out_as started_as began_as began_my_career_as left_my_job left_my_role
    left_my_career stepped_down recently_left just_left alumni until_recently till_recently
    up_to_recently formerly_known_as ex. fmr fmr. frmr
    """,
    gone="""
    in_a_past_life in_another_life in_a_former_life in_a_previous_life behind_me emeritus
    emerita in_memoriam until_recently till_recently
    """,
    wish="""
    new_gig next_stop next_stop: first_day_as first_day_at signed_the_contract signed_a_contract
    contract_signed urgent_requirement* requirement:* applying_for applying_to job: offer:
    on_my_way_to heading_to off_to bound_for signed_with countdown_to
    will_take_over taking_over_as takes_over_as effective_from exploring_opportunities
    exploring_new newly_available currently_available job_hunt contract_ended filling_a
    filling_the we_need_a we_need_an apply_now: wanted: our_client_seeks my_client_seeks
    open_role: roles: freshly_redundant what_next next_adventure next_challenge next_chapter
    soon soon: upcoming manager-to-be recruiting: recruiting_our actively_interviewing
    interviewing_for on_the_lookout want: immediately_available made_redundant redundant
    excited_to_join excited_to_be_joining to_be_announced incoming joining soon_to_be
    soon-to-be about_to_start about_to_join about_to_become prospective would-be wants_to_be
    want_to_be want_to_become wants_to_become dreaming_of dream_of_becoming future_role
    next_role next_step my_next starting_soon starting_as starting_in starting_on
    starting_next will_be will_join will_start will_become joins_as to_join now_hiring
    is_hiring are_hiring we_are_hiring recruiting_a recruiting_an recruiting_for
    recruiting_the currently_recruiting vacancy vacancies job_alert job_opening job_openings
    job_offer job_ad open_role open_roles open_position open_positions opening_for
    join_our_team join_us your_next apply_now accepted_offer accepted_an_offer offer_accepted
    unemployed jobless between_jobs between_roles laid_off available_immediately
    available_now available_from in_transition career_change career_transition career_break
    job_seeking job_search job_hunting job_hunter on_the_market immediate_joiner seeks
    hire_me in_between_jobs
    """,
    wanted="""
    to-be designate -elect day_one_is day_one_on first_day_is first_day_as start_date
    vacancies job_openings
    """,
    leave="""
    currently_on_maternity_leave currently_on_parental_leave on_maternity_leave
    on_paternity_leave on_parental_leave on_family_leave on_mat_leave on_pat_leave
    on_adoption_leave on_extended_leave on_leave on_sabbatical maternity_leave
    paternity_leave parental_leave mat_leave pat_leave maternity_cover mat_cover
    parental_leave_cover maternity_leave_cover back_from_maternity_leave
    returning_from_maternity_leave
    """,
)
