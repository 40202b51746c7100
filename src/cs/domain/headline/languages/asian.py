"""Japanese, Korean, Chinese, Thai, Vietnamese, Indonesian and Malay; Hindi in Latin letters."""

from cs.domain.headline.languages.vocabulary import Vocabulary

JAPANESE = Vocabulary(
    is_spaced=False,
    influencer="インフルエンサー アンバサダー KOL施策 クリエイター",
    social="SNS ソーシャルメディア 公式アカウント運用",
    not_social="ソーシャルワーク ソーシャルワーカー 社会福祉",
    partnerships="協賛 提携 コラボレーション パートナーシップ スポンサーシップ",
    other_partners="販売代理 チャネル",
    brand="ブランド",
    not_brand="採用ブランド 採用ブランディング プライベートブランド",
    other_work="""
    営業 採用 人事 経理 トレードマーケティング アートディレクター クリエイティブディレクター
    デザイナー エンジニア 転職エージェント キャリアアドバイザー
    """,
    coordinator="補佐 秘書 スタッフ プランナー アソシエイト",
    manager="""
    次長 グループ長 チームリーダー グループリーダー チーフ チーム長 主管 係長代理 リード
    """,
    head="室長 部門長 事業部長 所長",
    director="局長 部長",
    vp="執行役員",
    c_level="取締役 社長",
    under="補佐",
    creator="インフルエンサー ユーチューバー",
    trade="""
    スポーツ 公式 トレード 人事 経理 総務 法務 財務 購買 生産 品質 物流 開発 研究 営業 情報
    システム
    経営 秘書 採用 施策 プロモーション 担当 業務 推進 海外 国内 事業 課 グループ アライアンス
    部門
    """,
    place="名古屋 福岡 札幌 横浜 アジア",
    job="""
    配達員 運転手 料理人 シェフ 大工 電気工 警察官 消防士 獣医 歯科医 裁判官 司法書士
    行政書士 社労士 通訳者 図書館員 清掃員 警備員 農家 自営業 画家 作家 小説家 ライター
    看護師 営業 経理 人事 総務 会計士 税理士 弁護士 医師 教師 教員 薬剤師 保育士 販売員
    事務員 調理師 美容師 記者 翻訳者 通訳 プログラマー 秘書 介護士 パティシエ コンサルタント
    カメラマン 公務員 研究員 エンジニア パン屋 司書 栄養士
    """,
    past="以前 昔は 前職は 以前は 過去に かつて",
    now="現在は いまは 今は",
    wish="就職活動中 入社予定 就任予定 求職中 転職活動中 来月から 来年から 来春から",
    wanted="""
    求職中 転職活動中 着任予定 求人 探しています 募集中 採用中 募集しています 入社予定
    就任予定 内定 職を希望
    希望
    """,
    leave="育休中 産休中 育児休業中 産休・育休中 育児休暇中",
    gone="していました でした",
)

KOREAN = Vocabulary(
    is_spaced=False,
    influencer="인플루언서 크리에이터 앰배서더 인플 셀럽",
    social="소셜미디어 소셜_미디어 SNS 소셜",
    not_social="사회복지 소셜벤처 사회공헌 소셜_벤처",
    partnerships="파트너십 제휴 협찬 스폰서십 콜라보 협업 파트너쉽",
    other_partners="기술_제휴 채널_파트너",
    brand="브랜드",
    not_brand="채용_브랜드",
    other_work="영업 채용 인사 개발자 트레이드_마케팅 아트디렉터 아트_디렉터 헤드헌터",
    coordinator="어시스턴트 보조 비서 인턴매니저 스태프 연구원 선임연구원",
    manager="파트장 그룹장 셀장 리드 팀리더 책임 파트_리더",
    head="본부장 센터장 부문장 실장 총괄",
    director="국장 디렉터 부장",
    vp="상무 전무 이사 부사장",
    c_level="사장 대표이사 창업자",
    senior="책임 수석",
    under="보조",
    creator="인플루언서 유튜버",
    trade="""
    스포츠 재무 인사 총무 법무 회계 구매 생산 품질 물류 개발 연구 고객 교육 영업 채용 운영
    기획 전략
    사업 그룹 파트 해외 국내 담당 매니지먼트 부문
    """,
    place="판교 강남 대구 인천 대전",
    job="""
    배달원 운전기사 요리사 셰프 목수 전기기사 경찰관 소방관 수의사 치과의사 판사 검사 사서
    청소원 경비원 농부 자영업 화가 작가 소설가 물리치료사 영양사 선생님 간호사 회계사 변호사
    의사 교사 약사 영업 기자 번역가 통역사 판매원 공무원 연구원 세무사 승무원 개발자 디자이너
    헤드헌터 미용사 바리스타 사회복지사
    """,
    past="예전에 과거 전직 이전에",
    now="현재는",
    wish="구직중 구직_중 취준생 이직_준비 입사예정 입사_예정",
    wanted="""
    구직_중 구직중 채용_공고 채용공고 입사_예정 채용중 채용_중 채용합니다 모집중 모집_중
    모집합니다 구인중
    구인 입사예정 내정 희망
    """,
    leave="육아휴직_중 육아휴직중 출산휴가_중 출산휴가중 육아휴직",
    gone="했습니다 였습니다 했던",
)

CHINESE = Vocabulary(
    is_spaced=False,
    influencer="达人 网红 红人 博主 KOL KOC 意见领袖 代言人 明星",
    social="社交媒体 社媒 新媒体 社群 自媒体",
    not_social="社会工作 社工 企业社会责任",
    partnerships="贊助 聯名 異業合作 品牌合作 商务合作 异业合作 跨界合作 赞助 联名",
    other_partners="渠道 校企 政府",
    brand="品牌",
    not_brand="雇主品牌 自有品牌",
    other_work="销售 招聘 猎头 人力资源 艺术总监 创意总监 美术指导 设计师 客户经理 通路",
    coordinator="助理 专员 秘书 助手 实习",
    manager="副理 经理 经理人 主管 组长 负责人助理",
    head="负责人",
    director="总监",
    vp="副总裁 副總裁",
    c_level="首席 创始人",
    under="助理",
    creator="网红 博主 主播",
    trade="""
    渠道 整合 商品 人事 财务 法务 采购 生产 质量 物流 研发 客服 行政 供应链 销售 运营 投放
    推广 营销 传播 区域 中国区 亚太区 事业部 高级 媒介 电商
    """,
    job="""
    瑜伽老师 瑜伽教练 教练 咖啡师 咖啡師 護理師 護士 老師 教師 醫師 醫生 律師 會計師 廚師
    司機 翻譯 藥師 快递员 司机 厨师 木工 电工 警察 消防员 兽医 牙医 法官 图书管理员 保洁 保安
    农民
    自由撰稿人 自由职业 画家 作家 小说家 营养师 工程师 会计 护士 律师 医生 教师 老师 销售
    程序员 记者 翻译 药师 客服 研究员 公务员 猎头 行政 设计师
    """,
    past="之前 以前 曾经 曾担任 曾 前任 曾任 曾在",
    now="现为 现任 目前",
    wish="""
    将任 拟任 候任 招人 招募 内推 即将担任 看机会 即将 求职 找工作 待业 离职 转职中 即将入职
    即将加入 诚聘 急聘 高薪聘 诚招
    """,
    wanted="""
    下月入职 即将入职 下月起 即將到職 將任 徵才 誠徵 急徵 求职中 招聘中 急聘 诚聘 诚招
    高薪聘请
    """,
    leave="休产假中 产假中 休产假",
)

THAI = Vocabulary(
    is_spaced=False,
    influencer="อินฟลูเอนเซอร์ อินฟลู ครีเอเตอร์ คนดัง เซเลบ KOL แอมบาสเดอร์",
    social="สื่อสังคมออนไลน์ โซเชียลมีเดีย โซเชียล สื่อสังคม",
    not_social="พัฒนาสังคม สังคมสงเคราะห์",
    partnerships="พันธมิตร พาร์ทเนอร์ พาร์ตเนอร์ ความร่วมมือ สปอนเซอร์",
    brand="แบรนด์ ตราสินค้า",
    other_work="ฝ่ายขาย สรรหา ทรัพยากรบุคคล",
    intern="ฝึกงาน",
    coordinator="""
    เจ้าหน้าที่ พนักงาน ผู้ช่วย ผู้ประสานงาน ผู้เชี่ยวชาญ นักวิเคราะห์ เลขานุการ
    """,
    manager="ผจก ผู้นำทีม ลีด ผู้ควบคุม ผู้จัดการ หัวหน้าทีม เมเนเจอร์",
    few="หัวหน้าทีม",
    head="หัวหน้าส่วน หัวหน้าฝ่าย หัวหน้าแผนก หัวหน้า",
    director="ผู้อำนวยการ",
    vp="รองประธาน",
    c_level="ประธานเจ้าหน้าที่ ผู้ก่อตั้ง กรรมการผู้จัดการ ซีอีโอ เจ้าของ",
    senior="อาวุโส",
    under="ผู้ช่วย",
    creator="อินฟลูเอนเซอร์ ครีเอเตอร์ ยูทูบเบอร์",
    trade="การตลาด ดิจิทัล ฝ่าย แผนก สื่อสาร กลยุทธ์ คอนเทนต์ อาวุโส มาร์เก็ตติ้ง และ",
    place="กรุงเทพ ไทย ประเทศไทย",
    job="""
    นักบัญชี วิศวกร ครู พยาบาล แพทย์ ทนายความ โปรแกรมเมอร์ นักออกแบบ นักข่าว พนักงานขาย
    เภสัชกร
    """,
    past="อดีต",
    now="ปัจจุบัน",
    wish="กำลังหางาน หางาน รับสมัคร กำลังมองหา",
    leave="ลาคลอด",
    at="ที่ ณ บริษัท",
)

VIETNAMESE = Vocabulary(
    influencer="nguoi_anh_huong kol koc nguoi_noi_tieng nha_sang_tao",
    social="mang_xa_hoi truyen_thong_xa_hoi",
    not_social="cong_tac_xa_hoi",
    partnerships="hop_tac doi_tac tai_tro",
    other_partners="cong_nghe kenh",
    brand="thuong_hieu nhan_hang nhan_hieu",
    other_work="ban_hang kinh_doanh tuyen_dung nhan_su",
    intern="thuc_tap_sinh thuc_tap",
    coordinator="chuyen_vien nhan_vien tro_ly dieu_phoi_vien thu_ky chuyen_gia",
    manager="phu_trach chu_quan quan_ly truong_nhom truong_phong giam_sat pho_phong",
    head="truong_bo_phan truong_ban",
    director="giam_doc pho_giam_doc",
    vp="pho_chu_tich",
    c_level="tong_giam_doc nha_sang_lap dong_sang_lap chu_tich chu_doanh_nghiep",
    senior="cap_cao",
    under="tro_ly",
    trade="truyen_thong tiep_thi ky_thuat_so noi_dung va cua khu_vuc chien_luoc phong",
    place="ha_noi ho_chi_minh sai_gon tp_hcm da_nang viet_nam",
    job="""
    tai_xe dau_bep bao_ve giao_hang tho_dien tho_moc canh_sat phi_cong nha_van hoa_si
    phien_dich nha_nghien_cuu kien_truc_su ke_toan* ke_toan_truong giao_vien bac_si y_ta
    luat_su ky_su ban_hang lap_trinh_vien dieu_duong nha_bao duoc_si tuyen_dung
    """,
    past="cựu nguyên",
    now="hiện_tại hiện",
    wish="tìm_việc đang_tìm_việc tuyển_dụng tuyển",
    leave="nghỉ_thai_sản",
    at="tại ở",
)

INDONESIAN_AND_MALAY = Vocabulary(
    influencer="pemengaruh kreator_konten duta_merek influenser pempengaruh",
    social="sosial_media media_sosial medsos sosmed",
    not_social="pekerja_sosial dinas_sosial tanggung_jawab_sosial",
    partnerships="kemitraan kerja_sama kerjasama kolaborasi sponsor perkongsian sponsor*",
    other_partners="teknologi pemerintah saluran",
    brand="merek merk jenama",
    other_work="penjualan jualan rekrutmen perekrutan sumber_daya_manusia",
    intern="magang anak_magang pelatih_industri",
    coordinator="""
    staf spesialis asisten analis petugas eksekutif pegawai koordinator sekretaris penolong
    pembantu
    """,
    manager="""
    penanggung_jawab pengelola pimpinan_tim manajer pengurus penyelia ketua_tim pemimpin_tim
    kepala_tim
    """,
    few="ketua_tim kepala_tim pemimpin_tim",
    head="kepala ketua",
    director="direktur pengarah",
    vp="wakil_presiden naib_presiden",
    c_level="direktur_utama presiden_direktur pendiri pemilik pengasas",
    senior="senior",
    under="asisten penolong",
    trade="pemasaran digital komunikasi konten strategis dan humas bisnis divisi keuangan",
    place="surabaya bandung yogyakarta bali johor penang",
    job="""
    kasir kurir supir koki tukang_kayu tukang_listrik polisi pilot penulis pelukis penerjemah
    peneliti arsitek bidan petani nelayan satpam pramugari dosen akuntan guru perawat dokter
    pengacara insinyur penjual desainer wartawan jurnalis sopir apoteker peguam jururawat
    akauntan juruaudit
    """,
    past="mantan bekas dulunya dulu",
    now="saat_ini sekarang",
    wish="mencari_kerja mencari_pekerjaan lowongan cari_kerja dicari calon",
    leave="cuti_melahirkan sedang_cuti_melahirkan",
    at="di pada",
)

HINDI = Vocabulary(
    past="pehle",
    wish="jald_hi join_kar_raha join_kar_rahi naukri_chahiye job_chahiye",
)

LANGUAGES = (HINDI, JAPANESE, KOREAN, CHINESE, THAI, VIETNAMESE, INDONESIAN_AND_MALAY)
