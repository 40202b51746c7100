"""What mail servers say of a recipient in other languages than English.

A statement is a noun for a mailbox or whoever has it, and near it what is said of it: "el
buzón no existe", "nie ma takiego konta".  Nouns and predicates are listed once for all
languages: a server that mixes two is read as well, and a new word serves all of them.
Matched against text that `folded` has prepared; the words here are folded the same way.
"""

import re
import unicodedata

#: Letters that are no letter with a mark (they do not decompose) and what replaces them.
_PLAIN = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "’": "'"})
#: Characters between a noun and what is said of it.
_NEAR = 40


def folded(text: str) -> str:
    """Return *text* in lower case and without marks on letters.

    Servers write "Empfänger", "Empfaenger" and "Empfanger", "buzón" and "buzon".
    """
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c)).translate(_PLAIN)


def _words(text: str) -> str:
    """Return a pattern for any of the words of *text*, one a line, which may be patterns."""
    return "|".join(folded(line.strip()) for line in text.splitlines() if line.strip())


def _near(nouns: str, said: str) -> re.Pattern[str]:
    n, s = _words(nouns), _words(said)
    return re.compile(rf"(?:{n}).{{0,{_NEAR}}}?(?:{s})|(?:{s}).{{0,{_NEAR}}}?(?:{n})")


#: A mailbox, or whoever has it: German, French, Spanish, Portuguese, Italian, Dutch, Swedish,
#: Danish, Norwegian, Finnish, Polish, Czech and Slovak, South Slavic, Russian, Ukrainian,
#: Hungarian, Romanian, Turkish, Greek, Arabic, Hebrew, Indonesian, Vietnamese, Thai, Chinese,
#: Japanese, Korean; and the English words that servers mix with them.
_NOUNS = r"""
    empfa(?:e)?nger|nutzer|teilnehmer|postfach|mailbox|adress(?:e|at)|\b(?:konto|kunde)
    \b(?:utilisateur|destinataire|adresse|compte|boi?te|abonne)
    \b(?:usuario|destinatario|buzon|cuenta|direccion|casilla)
    \b(?:usuario|destinatario|conta|caixa|endereco)\b
    \b(?:utente|destinatario|casella|indirizzo|account)\b
    \b(?:gebruiker|ontvanger|postbus|postvak|account|mailbox)\b|adres\b
    \b(?:mottagare|anvandare|brevlada|kontot?\b|adress(?:en)?\b)
    \b(?:modtager|bruger|postkasse|mottaker|mottakar|brukar|bruker|postboks|innboks)
    \b(?:kayttaja|vastaanottaja|postilaatikko|osoite)
    \b(?:uzytkownik|odbiorc|skrzynk|kont[oau]\b|adresata?\b|adresu?\b)
    \b(?:uzivatel|pouzivatel|prijemc|schrank|adresat|ucet)
    \b(?:korisnik|primatelj|primalac|prejemnik|uporabnik|sanduc|racun\b)
    пользовател|получател|ящик|адрес|учетн|абонент|користувач|одержувач|скриньк|потребител
    \b(?:felhasznalo|cimzett|postafiok|postalada|fiok)
    \b(?:utilizator|destinatar|casuta|adresa|cont(?:ul)?\b)
    \b(?:kullanici|alici|posta kutusu|hesap|adres)
    χρηστη|παραληπτη|γραμματοκιβωτιο|λογαριασμο|διευθυνση
    المستخدم|مستخدم|المستلم|صندوق|البريد|الحساب|العنوان
    משתמש|נמען|תיבת|חשבון|כתובת
    \b(?:pengguna|penerima|kotak surat|akun|alamat)\b
    nguoi dung|nguoi nhan|hop thu|tai khoan|dia chi
    ผู้ใช้|ผู้รับ|กล่องจดหมาย|บัญชี|ที่อยู่
    用户|用戶|使用者|收件人|收件箱|收件匣|收件者|收信人|邮箱|郵箱|信箱|账号|帳號|账户|帐户
    地址
    ユーザ|宛先|受信者|メールボックス|アドレス|アカウント
    사용자|수신자|받는 ?사람|메일함|메일박스|편지함|계정|주소
"""
_NOT_THERE = r"""
    unbekannt|existier(?:t|en) (?:[^ ]+ ){0,4}nicht|gibt es (?:[^ ]+ ){0,2}nicht
    ungu(?:e)?ltig|inexistent
    nicht (?:bekannt|gefunden|vorhanden|existent|existiert|angelegt|gultig|eingerichtet)
    \bkeine?n? (?:solche[rns]? |gultige[rns]? |passende[rns]? )?(?=benutz|nutz|empf|postf)
    \bkeine?n? (?:solche[rns]? |gultige[rns]? |passende[rns]? )?(?=mailb|adre|kont)
    inconnu|inexistant|introuvable|n.?existe (?:pas|plus)|invalide
    n.?est (?:pas|plus) (?:valide|connu|acti|utilis|enregistr|reconnu)
    aucun(?:e)? (?=utilis|destin|boi?te|compte|adres)|archive
    desconocid|no existe|inexistente|no (?:es |fue |se ha |ha sido )?(?:valid|encontrad)
    invalid[oa]
    no hay (?:ningun|un[oa]?) |no se encuentra|no se encontro|no (?:esta|es) registrad
    desconhecid|nao existe|nao (?:foi )?encontrad|nao localizad|inexistente
    nao (?:esta )?(?:registrad|cadastrad)
    sconosciut|inesistente|non esiste|non (?:e )?(?:stat[oa] )?(?:valid|trovat|attiv)
    non (?:e |risulta )?(?:present|registrat|riconosciut)
    nessun(?:a|o)? (?=utent|casell|account)
    onbekend|bestaat niet|niet (?:gevonden|bekend|geldig)|ongeldig
    okan[dt]|finns (?:inte|ej)|existerar inte|hittades inte|ogiltig
    ukendt|findes ikke|eksisterer ikke|ikke fundet|ugyldig
    ukjent|finnes ikke|fins ikke|eksisterer ikke|ikke funnet|fins?t? ikkje|eksisterer ikkje
    \bing[ae]n (?:slik |sadan |sadana )?(?=bru[gk]|modtag|mottak|anvand|postkas|postboks|konto)
    tuntematon|ei ole olemassa|ei loydy|virheellinen
    nieznan|nie istnieje|nie znaleziono|nie ma takie|nieprawidlow|niepoprawn
    brak (?:taki(?:ego|ej) )?(?=kont|uzytk|skrzyn|odbior)
    neexistuj|neznam|nenalezen|nebyl nalezen|nenajden|neplatn
    nepoznat|ne postoji|ne obstaja|nije pronadjen|nije pronaden|neznan
    не найден|не существует|неизвест|\bнет\b|не зарегистрирован|недействител|не знайдено
    не іс?нує
    не съществува|невідом|неизвестен
    ismeretlen|nem letezik|nem talalhato|ervenytelen
    necunoscut|nu exista|inexistent|nu a fost gasit|invalid[aă]\b
    bulunamadi|boyle bir|\byok\b|mevcut degil|bilinmeyen|gecersiz
    αγνωστο|δεν υπαρχει|δεν βρεθηκε|μη εγκυρ
    غير موجود|غير معروف|لا يوجد|غير صالح
    לא קיים|לא קיימת|לא נמצא|אינו קיים|לא ידוע
    tidak ditemukan|tidak ada|tidak dikenal|tidak valid|tidak terdaftar
    khong ton tai|khong tim thay|khong hop le
    ไม่พบ|ไม่มี|ไม่ถูกต้อง|ไม่รู้จัก
    不存在|未找到|找不到|无此|無此|没有此|沒有此|无效|無效|未注册|不正确|查无|查無|未知
    存在しません|存在しない|見つかりません|は(?:いません|おりません)|(?<!で)はありません|不明|該当.{0,8}(?:ません|ない|なし)|無効な
    등록되지|등록되어 있지|존재하지|없는|없습니다|찾을 수 없|알 수 없는|유효하지
"""
_SHUT = r"""
    deaktiviert|gesperrt|stillgelegt|geschlossen|geloscht|inaktiv|abgeschaltet|gekundigt
    aufgehoben
    desactive|suspendu|bloque\b|ferme\b|supprime|resilie|inactif|cloture
    deshabilitad|desactivad|suspendid|bloquead|cancelad|inactiv[oa]|dad[oa] de baja
    desativad|suspens|encerrad|inativ|desabilitad
    disabilitat|disattivat|sospes|bloccat|chius|cancellat|scadut
    uitgeschakeld|gedeactiveerd|opgeheven|geblokkeerd|gesloten
    inaktivera[dt]|avstang[dt]|sparra[dt]|stang[dt]\b|deaktiveret|lukket|sperret|deaktivert|stengt
    poistettu|suljettu|lukittu
    zablokowan|wylaczon|nieaktywn|zawieszon|usuniet|zamknie
    zablokovan|zrusen|deaktivovan|neaktivn|pozastaven
    блокирован|отключ|удален|удалён|закрыт|приостановлен|неактив|заблоковано|вимкнено|видалено
    letiltva|felfuggesztve|torolve|megszunt|zarolt
    dezactivat|suspendat|blocat|inchis
    devre disi|askiya|kapatil|engellen|pasif
    απενεργοποιη|ανασταλ|معطل|موقوف|מושבת|חסום|dinonaktifkan|diblokir|bi khoa|vo hieu
    ถูกระงับ|ปิดใช้งาน
    停用|禁用|冻结|凍結|注销|已锁|鎖定|关闭|關閉|已删除
    停止|無効|凍結|閉鎖|退会
    정지|비활성|휴면|차단|해지|탈퇴
"""
_FULL = r"""
    \bvoll\b|erschopft|erschoepft|uberschritten|ueberschritten|uberfullt|ueberfuellt|quota
    \bpleine?\b|saturee|depasse
    \bllen[oa]\b|excedid|superad|sin espacio
    \bchei[oa]\b|lotad[oa]|excedeu|esgotad
    \bpien[oa]\b|superat|esaurit
    \bvol\b|overschreden|\bfull\b|overskredet|overskreden|\bfuld\b|\bfullt\b
    taynna|ylittynyt|kiintio
    pelna|przepelnion|przekroczon|zapelnion
    \bpln[aey]\b|prekrocen|zaplnen|\bpun[ao]?\b|prepun
    переполнен|заполнен|превышен|переповнен|препълнен
    megtelt|betelt|tele van|\bplina?\b|depasit|dolu\b|kotasi
    γεματο|υπερβ|ممتلئ|ممتلئة|מלאה|מלא\b|penuh|da day|bi day|เต็ม
    已满|已滿|满了|空间不足|空間不足|超出.{0,6}(?:容量|配额|限)|容量不足|配额
    いっぱい|一杯|容量.{0,6}超過|満杯|オーバー
    가득|초과|꽉
"""
_LATER = r"""
    spa(?:e)?ter (?:noch ?mals|noch einmal|erneut|wieder)
    versuchen sie es (?:spater|spaeter|erneut)
    (?:re)?essa(?:yer|yez) (?:plus tard|ulterieurement)|plus tard|ulterieurement
    mas tarde|mais tarde|piu tardi|later opnieuw|forsok igen senare|prov igen|senere
    sprobuj.{0,20}pozniej|ponow.{0,20}pozniej|zkuste.{0,20}pozdeji|pokusajte.{0,12}kasnije
    попробуйте.{0,12}позже|повторите|спробуйте пізніше|kesobb|mai tarziu|daha sonra|myohemmin
    稍后|稍後|再试|再試|後ほど|しばらく|나중에|다시 시도|nanti|thu lai sau|αργοτερα
"""
_SENDER = r"""
    \babsender|\bexpediteur|\bemetteur|\bremitente|\bremetente|\bmittente|\bafzender
    \bavsandar|\bavsender
    \bafsender|\blahettaja|\bnadawc|\bodesilatel|\bodosielatel|\bposiljatelj|\bposiljalac
    \bfelado
    \bexpeditor|\bgonderen|αποστολεα|отправител|відправник|подател|المرسل|שולח|\bpengirim
    nguoi gui
    ผู้ส่ง|发件人|發件人|寄件|发信人|送信者|差出人|발신자|보낸 ?사람
"""
_US = r"""
    \bihre? (?:ip|server|mailserver|domain|host|nachricht)|zugriff verweigert|richtlinie
    \bvotre (?:ip|adresse ip|serveur|domaine|message)|acces refuse|adresse ip|liste noire
    \bsu (?:ip|servidor|dominio|mensaje|direccion ip)|acceso denegado|lista negra|direccion ip
    \bseu (?:ip|servidor|dominio)|acesso negado|politica
    \bil (?:tuo|suo|vostro) (?:ip|server|dominio|messaggio)|accesso negato|indirizzo ip
    toegang geweigerd|uw (?:ip|server)|zwarte lijst|atkomst nekad|adgang naegtet|ip-adres
    odmowa dostepu|odmowiono|twoj (?:adres|serwer)|czarn.{1,3} li[sś]
    pristup (?:odepren|zamitnut)
    доступ запрещен|ваш (?:ip|сервер|адрес|домен)|черн.{1,3} спис|ip[- ]адрес|спам|чорн
    erisim engellen|ip adres|hozzaferes megtagadva|acces(?:ul)? (?:refuzat|interzis)
    拒绝访问|黑名单|黑名單|您的(?:ip|服务器|邮件)|垃圾邮件|垃圾郵件|迷惑メール
    拒否されました|スパム|스팸|ip ?주소
"""

NOT_THERE = _near(_NOUNS, _NOT_THERE)
SHUT = _near(_NOUNS, _SHUT)
FULL = _near(_NOUNS, _FULL)
LATER = re.compile(_words(_LATER))
SENDER = re.compile(_words(_SENDER))
ABOUT_US = re.compile(_words(_US))
