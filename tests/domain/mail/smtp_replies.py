"""Replies to RCPT as mail servers give them, and what they are about.

``R`` stands for the recipient's address, ``D`` for its domain, ``S`` for our MAIL FROM.
"""

from cs.domain.mail.reply_meaning import ReplyKind

K = ReplyKind
#: software or provider, reply, kind
REPLIES: tuple[tuple[str, str, ReplyKind], ...] = (
    # Accepted.
    ("postfix", "250 2.1.5 Ok", K.ACCEPTED),
    ("exchange online", "250 2.1.5 Recipient OK", K.ACCEPTED),
    ("google", "250 2.1.5 OK 5b1f17b1804b1-42b1d 12345 - gsmtp", K.ACCEPTED),
    ("exim", "250 Accepted", K.ACCEPTED),
    ("sendmail", "250 2.1.5 <R>... Recipient ok", K.ACCEPTED),
    ("sendmail, queued", "250 2.1.5 <R>... Recipient ok (will queue)", K.ACCEPTED),
    ("qmail", "250 ok", K.ACCEPTED),
    ("no words", "250", K.ACCEPTED),
    ("rfc 5321", "251 User not local; will forward to <R>", K.ACCEPTED),
    ("two lines", "250-recipient\n250 <R> ok", K.ACCEPTED),
    ("quota word in an acceptance", "250 2.1.5 recipient ok, quota 12% used", K.ACCEPTED),
    # Neither.
    ("rfc 5321", "252 Cannot VRFY user, but will accept message", K.CANNOT_VERIFY),
    ("rfc 5321", "252 2.0.0 R", K.CANNOT_VERIFY),
    ("contradiction", "250 5.1.1 User unknown", K.UNKNOWN),
    ("wrong order", "354 Start mail input; end with <CRLF>.<CRLF>", K.UNKNOWN),
    ("wrong order", "220 mx.example ESMTP", K.UNKNOWN),
    ("wrong order", "221 2.0.0 Bye", K.UNKNOWN),
    # No such mailbox, by enhanced code.
    (
        "google",
        (
            "550-5.1.1 The email account that you tried to reach does not exist. Please try\n"
            "550-5.1.1 double-checking the recipient's email address for typos or\n"
            "550-5.1.1 unnecessary spaces. For more information, go to\n"
            "550 5.1.1  https://support.google.com/mail/?p=NoSuchUser a1-20 - gsmtp"
        ),
        K.RECIPIENT_REFUSED,
    ),
    (
        "exchange online",
        "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient R not found by lookup",
        K.RECIPIENT_REFUSED,
    ),
    ("exchange", "550 5.1.1 User unknown", K.RECIPIENT_REFUSED),
    (
        "exchange online, dbeb",
        (
            "550 5.4.1 Recipient address rejected: Access denied. AS(201806281) "
            "[DB5EUR03FT012.eop-EUR03.prod.protection.outlook.com]"
        ),
        K.RECIPIENT_REFUSED,
    ),
    (
        "exchange online, dbeb with the address",
        (
            "550 5.4.1 [R]: Recipient address rejected: Access denied "
            "[AM5EUR02FT064.eop-EUR02.prod.protection.outlook.com]"
        ),
        K.RECIPIENT_REFUSED,
    ),
    (
        "postfix, local",
        "550 5.1.1 <R>: Recipient address rejected: User unknown in local recipient table",
        K.RECIPIENT_REFUSED,
    ),
    (
        "postfix, virtual",
        "550 5.1.1 <R>: Recipient address rejected: User unknown in virtual mailbox table",
        K.RECIPIENT_REFUSED,
    ),
    (
        "postfix, verified and refused",
        (
            "550 5.1.1 <R>: Recipient address rejected: undeliverable address: host "
            "mail.D[192.0.2.1] said: 550 5.1.1 User unknown (in reply to RCPT TO command)"
        ),
        K.RECIPIENT_REFUSED,
    ),
    (
        "postfix, no domain",
        "550 5.1.2 <R>: Recipient address rejected: Domain not found",
        K.RECIPIENT_REFUSED,
    ),
    ("sendmail", "550 5.1.1 <R>... User unknown", K.RECIPIENT_REFUSED),
    (
        "sendmail, relay",
        "550 5.1.2 <R>... Host unknown (Name server: host not found)",
        K.RECIPIENT_REFUSED,
    ),
    ("sendmail, syntax", "553 5.1.3 <R>... Invalid route address", K.RECIPIENT_REFUSED),
    ("proofpoint", "550 5.1.1 <R>... User unknown", K.RECIPIENT_REFUSED),
    ("comcast", "550 5.1.1 <R> Account not available", K.RECIPIENT_REFUSED),
    ("icloud", "550 5.1.1 <R>: user does not exist", K.RECIPIENT_REFUSED),
    ("icloud, older", "550 5.1.6 recipient no longer on server: R", K.RECIPIENT_REFUSED),
    ("zoho", "550 5.1.1 User does not exist - <R>", K.RECIPIENT_REFUSED),
    (
        "zoho, unknown",
        "550 5.1.1 <R>: Email address could not be found, or was misspelled (G8)",
        K.RECIPIENT_REFUSED,
    ),
    (
        "fastmail",
        "550 5.1.1 <R>: Recipient address rejected: User unknown",
        K.RECIPIENT_REFUSED,
    ),
    ("rackspace", "550 5.1.1 <R>: Recipient address rejected: R", K.RECIPIENT_REFUSED),
    ("dovecot lmtp through", "550 5.1.1 <R> User doesn't exist: R", K.RECIPIENT_REFUSED),
    ("cisco ironport", "550 #5.1.0 Address rejected.", K.RECIPIENT_REFUSED),
    ("exchange, address rejected", "550 5.1.0 Address rejected R", K.RECIPIENT_REFUSED),
    ("qmail", "550 sorry, no mailbox here by that name. (#5.1.1)", K.RECIPIENT_REFUSED),
    (
        "qmail, chkuser",
        "550 5.1.1 sorry, no mailbox here by that name (#5.1.1 - chkuser)",
        K.RECIPIENT_REFUSED,
    ),
    ("yahoo", "554 5.1.1 <R>: user unknown", K.RECIPIENT_REFUSED),
    (
        "mail.ru",
        (
            "550 5.1.1 Message was not accepted -- invalid mailbox. Local mailbox R is "
            "unavailable: user not found"
        ),
        K.RECIPIENT_REFUSED,
    ),
    ("not allowed name", "553 5.1.3 Mailbox name not allowed", K.RECIPIENT_REFUSED),
    ("moved", "551 5.1.6 Recipient has moved", K.RECIPIENT_REFUSED),
    (
        "refusal that offers help of the sender's administrator",
        "550 5.1.1 Requested action not taken: mailbox unavailable. Ask your policy team.",
        K.RECIPIENT_REFUSED,
    ),
    ("owner changed", "550 5.7.17 Mailbox owner has changed", K.RECIPIENT_REFUSED),
    ("domain owner changed", "550 5.7.18 Domain owner has changed", K.RECIPIENT_REFUSED),
    ("directory", "550 5.2.0 <R>: No such recipient", K.RECIPIENT_REFUSED),
    # No such mailbox, by words alone.
    ("exim", "550 No such user here", K.RECIPIENT_REFUSED),
    ("exim, cpanel", '550 No Such User Here"', K.RECIPIENT_REFUSED),
    ("exim, unrouteable", "550 Unrouteable address", K.RECIPIENT_REFUSED),
    ("exim, unknown", "550 Unknown user", K.RECIPIENT_REFUSED),
    ("exim, mailbox", "550 <R>: Recipient not found", K.RECIPIENT_REFUSED),
    (
        "mimecast",
        (
            "550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550 "
            "[kJ2yQ4LfMhKqZ9.uk123]"
        ),
        K.RECIPIENT_REFUSED,
    ),
    (
        "yahoo",
        (
            "554 delivery error: dd This user doesn't have a D account (R) [0] - "
            "mta4213.mail.gq1.yahoo.com"
        ),
        K.RECIPIENT_REFUSED,
    ),
    (
        "yahoo, not found",
        "552 1 Requested mail action aborted, mailbox not found",
        K.RECIPIENT_REFUSED,
    ),
    (
        "outlook.com",
        "550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).",
        K.RECIPIENT_REFUSED,
    ),
    (
        "outlook.com, older",
        "550 Requested action not taken: mailbox unavailable",
        K.RECIPIENT_REFUSED,
    ),
    (
        "gmx",
        (
            "550 Requested action not taken: mailbox unavailable For explanation visit "
            "https://postmaster.gmx.net/en/case?c=r0101"
        ),
        K.RECIPIENT_REFUSED,
    ),
    ("communigate", "550 R unknown user account", K.RECIPIENT_REFUSED),
    ("communigate, closed", "550 R account is closed", K.RECIPIENT_REFUSED),
    ("kerio", "550 5.0.0 Mailbox R does not exist", K.RECIPIENT_REFUSED),
    ("mdaemon", "550 <R>, Recipient unknown", K.RECIPIENT_REFUSED),
    ("lotus", "550 R... No such user", K.RECIPIENT_REFUSED),
    ("sendmail, unenhanced", "550 R... User unknown", K.RECIPIENT_REFUSED),
    ("sendmail, 5.3.0", "553 5.3.0 <R>... No such user here", K.RECIPIENT_REFUSED),
    ("courier", "550 User unknown.", K.RECIPIENT_REFUSED),
    ("groupwise", "550 R: no such user", K.RECIPIENT_REFUSED),
    ("mercury", "553 We do not relay non-local mail, sorry.", K.NOT_HOSTED),
    ("hmailserver", "550 Unknown user", K.RECIPIENT_REFUSED),
    (
        "mailenable",
        "550 Requested action not taken: mailbox unavailable or not local",
        K.RECIPIENT_REFUSED,
    ),
    (
        "orange",
        "550 5.5.0 Adresse d au moins un destinataire invalide. Invalid recipient. OFR_416",
        K.RECIPIENT_REFUSED,
    ),
    ("t-online", "550 user unknown", K.RECIPIENT_REFUSED),
    ("wp.pl", "550 Recipient unknown", K.RECIPIENT_REFUSED),
    ("libero", "550 5.0.0 Utente sconosciuto", K.RECIPIENT_REFUSED),
    ("german", "550 Empfänger unbekannt", K.RECIPIENT_REFUSED),
    ("spanish", "550 El usuario no existe", K.RECIPIENT_REFUSED),
    ("french", "550 Destinataire inconnu", K.RECIPIENT_REFUSED),
    ("163", "550 User not found: R", K.RECIPIENT_REFUSED),
    ("qq", "550 Mailbox unavailable or access denied", K.ABOUT_US),
    (
        "barracuda",
        "550 permanent failure for one or more recipients (R:550 No such user)",
        K.RECIPIENT_REFUSED,
    ),
    ("rfc 5321", "551 User not local; please try <R>", K.RECIPIENT_REFUSED),
    ("551 without words", "551", K.RECIPIENT_REFUSED),
    ("named as no longer there", "550 R is no longer with the company", K.RECIPIENT_REFUSED),
    ("quoted", "554 5.0.0 rejected: recipient is invalid", K.RECIPIENT_REFUSED),
    (
        "relay table",
        "550 <R>: Recipient address rejected: User unknown in relay recipient table",
        K.RECIPIENT_REFUSED,
    ),
    (
        "rfc 5321",
        "553 Requested action not taken: mailbox name not allowed",
        K.RECIPIENT_REFUSED,
    ),
    ("rfc 5321", "550 Requested action not taken: mailbox unavailable", K.RECIPIENT_REFUSED),
    ("unknown or illegal", "550 unknown or illegal alias: R", K.RECIPIENT_REFUSED),
    ("nobody by that address", "550 No one with that email address here", K.RECIPIENT_REFUSED),
    ("not found", "550 The email address you entered couldn't be found", K.RECIPIENT_REFUSED),
    ("mail drop", "550 No such mail drop defined", K.RECIPIENT_REFUSED),
    ("local part", "550 Unknown local part jo.lane in <R>", K.RECIPIENT_REFUSED),
    # Shut.
    (
        "google",
        (
            "550-5.2.1 The email account that you tried to reach is inactive.\n"
            "550 5.2.1  https://support.google.com/mail/?p=DisabledUser a1 - gsmtp"
        ),
        K.DISABLED,
    ),
    ("postfix", "550 5.2.1 <R>: mailbox disabled, not accepting messages", K.DISABLED),
    (
        "yahoo",
        (
            "554 30 Sorry, your message to R cannot be delivered. This mailbox is disabled "
            "(554.30)."
        ),
        K.DISABLED,
    ),
    (
        "yahoo, discontinued",
        (
            "554 delivery error: dd Sorry your message to R cannot be "
            "delivered. This account has been disabled or discontinued [#102]."
        ),
        K.DISABLED,
    ),
    ("zoho", "550 Account is deactivated", K.DISABLED),
    ("exim", "550 Mailbox suspended", K.DISABLED),
    ("exchange online", "550 5.7.13 User account disabled", K.DISABLED),
    # Full.
    (
        "google",
        (
            "452-4.2.2 The recipient's inbox is out of storage space. Please direct the\n"
            "452-4.2.2 recipient to\n"
            "452 4.2.2  https://support.google.com/mail/?p=OverQuotaTemp a1 - gsmtp"
        ),
        K.FULL,
    ),
    (
        "google, for long",
        "552 5.2.2 The email account that you tried to reach is over quota.",
        K.FULL,
    ),
    ("exchange", "552 5.2.2 Mailbox full", K.FULL),
    ("postfix", "552 5.2.2 <R>: Recipient address rejected: Quota exceeded", K.FULL),
    (
        "dovecot quota-status",
        "452 4.2.2 <R>: Recipient address rejected: Mailbox is full / Blocks limit exceeded",
        K.FULL,
    ),
    ("icloud", "552 5.2.2 <R>: user is over quota", K.FULL),
    ("exim", "552 Mailbox full", K.FULL),
    ("no words", "552", K.FULL),
    ("exceeded", "552 Requested mail action aborted: exceeded storage allocation", K.FULL),
    ("550 in words", "550 The mailbox is full", K.FULL),
    ("450 in words", "450 Mailbox is over quota", K.FULL),
    ("4.2.0 in words", "451 4.2.0 mailbox quota exceeded", K.FULL),
    ("zoho", "552 5.2.2 Mailbox size limit exceeded", K.FULL),
    ("storage full", "552 recipient storage full, try again later", K.FULL),
    ("exhausted", "550 user has exhausted allowed storage space", K.FULL),
    # Not now: greylists.
    (
        "postgrey",
        (
            "450 4.2.0 <R>: Recipient address rejected: Greylisted, see "
            "http://postgrey.schweikert.ch/help/D.html"
        ),
        K.GREYLISTED,
    ),
    (
        "postgrey, older",
        "450 <R>: Recipient address rejected: Greylisted for 300 seconds",
        K.GREYLISTED,
    ),
    ("rspamd", "451 4.7.1 Try again later", K.GREYLISTED),
    (
        "milter-greylist",
        "451 4.7.1 Greylisting in action, please come back in 00:05:00",
        K.GREYLISTED,
    ),
    (
        "sqlgrey",
        "450 4.7.1 <R>: Recipient address rejected: Greylisted for 5 minutes",
        K.GREYLISTED,
    ),
    (
        "exim greylistd",
        (
            "451 192.0.2.9 is not yet authorized to deliver mail from <S> to <R>. "
            "Please try later."
        ),
        K.GREYLISTED,
    ),
    ("openbsd spamd", "451 Temporary failure, please try again later.", K.GREYLISTED),
    (
        "exchange online",
        "451 4.7.500 Server busy. Please try again later from [192.0.2.9]. (S77714) [DB5]",
        K.GREYLISTED,
    ),
    (
        "exchange",
        "451 4.7.0 Temporary server error. Please try again later. PRX4",
        K.GREYLISTED,
    ),
    ("mimecast", "451 Temporary delay, please retry in 60 seconds [abc.uk1]", K.GREYLISTED),
    ("4.2.0 without words", "450 4.2.0 <R>", K.GREYLISTED),
    ("graylisted", "451 Graylisted, please retry", K.GREYLISTED),
    # Not now: the server is finding out.
    (
        "postfix",
        (
            "450 4.1.1 <R>: Recipient address rejected: unverified address: Address "
            "verification in progress"
        ),
        K.IN_PROGRESS,
    ),
    (
        "postfix, upstream",
        (
            "450 4.1.1 <R>: Recipient address rejected: unverified address: "
            "connect to mail.D[192.0.2.4]:25: Connection refused"
        ),
        K.IN_PROGRESS,
    ),
    # Not now: busy.
    (
        "google",
        (
            "450-4.2.1 The user you are trying to contact is receiving mail at a rate that\n"
            "450-4.2.1 prevents additional messages from being delivered. Please resend your\n"
            "450 4.2.1 message at a later time. a1 - gsmtp"
        ),
        K.RATE,
    ),
    (
        "google, too quickly",
        "450 4.2.1 The user you are trying to contact is receiving mail too quickly.",
        K.RATE,
    ),
    (
        "google, permanent",
        (
            "550-5.2.1 The user you are trying to contact is receiving mail at a rate that\n"
            "550 5.2.1 prevents additional messages from being delivered."
        ),
        K.RATE,
    ),
    # Not now: trouble.
    ("exim", "451 Temporary local problem - please try later", K.TRANSIENT),
    ("postfix", "451 4.3.0 <R>: Temporary lookup failure", K.TRANSIENT),
    ("postfix, config", "451 4.3.5 Server configuration problem", K.TRANSIENT),
    ("exchange", "452 4.3.1 Insufficient system resources", K.TRANSIENT),
    ("postfix", "452 4.3.1 Insufficient system storage", K.TRANSIENT),
    ("unenhanced", "452 Requested action not taken: insufficient system storage", K.TRANSIENT),
    ("dns", "451 4.4.3 Temporary server error. Please try again later ATTR5", K.TRANSIENT),
    (
        "soft bounce",
        "450 4.1.1 <R>: Recipient address rejected: User unknown in local recipient table",
        K.TRANSIENT,
    ),
    ("sendmail", "450 4.1.2 <R>... Name server: host lookup: temporary failure", K.TRANSIENT),
    ("mailbox busy", "450 Requested mail action not taken: mailbox unavailable", K.TRANSIENT),
    ("disabled for now", "452 4.2.1 mailbox temporarily disabled", K.TRANSIENT),
    ("bare", "450", K.TRANSIENT),
    ("tls", "454 4.7.0 TLS not available due to local problem", K.ABOUT_US),
    (
        "mimecast",
        "451 Internal resources are temporarily unavailable - local error",
        K.TRANSIENT,
    ),
    ("5.1.1 in a 450", "450 5.1.1 <R> User unknown", K.TRANSIENT),
    (
        "yahoo",
        (
            "421 4.7.0 [TSS04] Messages from 192.0.2.9 temporarily deferred due to "
            "unexpected volume or user complaints"
        ),
        K.CLOSING,
    ),
    ("closing", "421 4.4.2 mx.example Error: timeout exceeded", K.CLOSING),
    ("too many connections", "421 Too many concurrent SMTP connections", K.CLOSING),
    # One by one.
    ("postfix", "452 4.5.3 Error: too many recipients", K.TOO_MANY),
    (
        "google",
        "452-4.5.3 Your message has too many recipients.\n452 4.5.3 a1 - gsmtp",
        K.TOO_MANY,
    ),
    ("exim", "452 too many recipients", K.TOO_MANY),
    ("sendmail", "452 4.5.3 Too many recipients", K.TOO_MANY),
    ("one at a time", "451 Only one recipient at a time", K.TOO_MANY),
    ("exchange", "550 5.5.3 Too many recipients", K.TOO_MANY),
    # About us.
    (
        "spamhaus",
        (
            "550 5.7.1 Service unavailable; Client host [192.0.2.9] blocked using "
            "zen.spamhaus.org; https://www.spamhaus.org/query/ip/192.0.2.9"
        ),
        K.ABOUT_US,
    ),
    ("postfix", "554 5.7.1 <R>: Recipient address rejected: Access denied", K.ABOUT_US),
    ("postfix, name", "550 5.7.25 Client host rejected: cannot find your hostname", K.ABOUT_US),
    (
        "postfix, soft",
        "450 4.7.1 Client host rejected: cannot find your reverse hostname, [192.0.2.9]",
        K.ABOUT_US,
    ),
    (
        "postfix, helo",
        "450 4.7.1 <verify.example>: Helo command rejected: Host not found",
        K.ABOUT_US,
    ),
    (
        "google, spf",
        (
            "550-5.7.26 This mail has been blocked because the sender is "
            "unauthenticated.\n550 5.7.26  https://support.google.com/mail/answer/81126 - gsmtp"
        ),
        K.ABOUT_US,
    ),
    (
        "google, rate",
        "550 5.7.28 There is an unusual rate of unsolicited mail from your IP.",
        K.ABOUT_US,
    ),
    (
        "google, ptr",
        "550 5.7.25 The IP address sending this message does not have a PTR record",
        K.ABOUT_US,
    ),
    (
        "exchange online, banned",
        "550 5.7.606 Access denied, banned sending IP [192.0.2.9]",
        K.ABOUT_US,
    ),
    ("exchange online, spam", "550 5.7.501 Access denied, spam abuse detected", K.ABOUT_US),
    (
        "exchange online, tenant",
        "550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP",
        K.ABOUT_US,
    ),
    (
        "exchange online, s3140",
        (
            "550 5.7.1 Unfortunately, messages from [192.0.2.9] weren't "
            "sent. Please contact your Internet service provider (S3140)."
        ),
        K.ABOUT_US,
    ),
    (
        "exchange online, group",
        "550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required",
        K.ABOUT_US,
    ),
    (
        "exchange online, reputation",
        (
            "451 4.7.650 The mail server [192.0.2.9] has been "
            "temporarily rate limited due to IP reputation."
        ),
        K.ABOUT_US,
    ),
    (
        "proofpoint",
        "554 5.7.1 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.9",
        K.ABOUT_US,
    ),
    ("proofpoint, policy", "550 5.7.0 Local Policy Violation", K.ABOUT_US),
    (
        "mimecast",
        (
            "550 Administrative prohibition - envelope blocked - "
            "https://community.mimecast.com/docs/DOC-1369#550"
        ),
        K.ABOUT_US,
    ),
    ("mimecast, rbl", "550 csi.mimecast.org Poor Reputation Sender", K.SENDER),
    ("mimecast, spoof", "550 Rejected by header based Anti-Spoofing policy", K.ABOUT_US),
    ("yandex", "550 5.7.1 No such user!", K.ABOUT_US),
    ("exim, helo", "550 Bad HELO - Host impersonating", K.ABOUT_US),
    ("exim, rdns", "550 Reverse DNS lookup failed for host 192.0.2.9", K.ABOUT_US),
    (
        "exim, block list",
        "550 rejected because 192.0.2.9 is in a black list at bl.spamcop.net",
        K.ABOUT_US,
    ),
    (
        "barracuda",
        "554 Service unavailable; Client host [192.0.2.9] blocked using Barracuda Reputation",
        K.ABOUT_US,
    ),
    (
        "user unknown on a list of ours",
        "550 blocked: too many unknown users from your IP",
        K.ABOUT_US,
    ),
    ("authentication", "535 5.7.8 Authentication credentials invalid", K.ABOUT_US),
    ("authentication", "530 5.7.1 Authentication required", K.ABOUT_US),
    ("no service", "521 5.2.1 does not accept mail", K.ABOUT_US),
    ("sequence", "503 5.5.1 Error: need MAIL command", K.ABOUT_US),
    ("syntax", "501 5.1.3 Bad recipient address syntax", K.ABOUT_US),
    ("not implemented", "502 5.5.2 Error: command not recognized", K.ABOUT_US),
    # Our sender.
    ("sendmail", "553 5.1.8 <S>... Domain of sender address S does not exist", K.SENDER),
    ("postfix", "550 5.1.7 <S>: Sender address rejected", K.SENDER),
    ("postfix", "450 4.1.8 <S>: Sender address rejected: Domain not found", K.SENDER),
    (
        "postfix, unverified",
        "550 5.1.0 <S>: Sender address rejected: undeliverable address",
        K.SENDER,
    ),
    (
        "5.1.1 of the sender",
        "550 5.1.1 <S>: Sender address rejected: User unknown in virtual mailbox table",
        K.SENDER,
    ),
    (
        "exim",
        "550-Verification failed for <S>\n550-No Such User Here\n550 Sender verify failed",
        K.SENDER,
    ),
    ("exim, call-back", "550 Callback setup failed while verifying <S>", K.SENDER),
    ("a refusal that names only our sender", "550 <S>: user unknown", K.SENDER),
    ("5.1.1 that names only our sender", "550 5.1.1 <S> no such user", K.SENDER),
    ("exim", "550 sender IP address 192.0.2.9 is locally blacklisted here", K.SENDER),
    # Wrong server.
    ("postfix", "554 5.7.1 <R>: Relay access denied", K.ABOUT_US),
    ("postfix, 5.4.1", "550 5.4.1 <R>: Relay access denied", K.NOT_HOSTED),
    ("exchange online", "550 5.4.14 Hop count exceeded", K.NOT_HOSTED),
    ("exchange online", "550 5.4.310 DNS domain D does not exist", K.NOT_HOSTED),
    (
        "qmail",
        "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
        K.ABOUT_US,
    ),
    (
        "qmail, 5.1.3",
        "553 5.1.3 sorry, that domain isn't in my list of allowed rcpthosts",
        K.NOT_HOSTED,
    ),
    ("exim", "550 relay not permitted", K.NOT_HOSTED),
    ("unenhanced", "554 Relay access denied", K.NOT_HOSTED),
    ("unenhanced", "550 We do not accept mail for this domain", K.NOT_HOSTED),
    # Encryption.
    ("postfix", "530 5.7.0 Must issue a STARTTLS command first", K.STARTTLS),
    ("exchange", "451 5.7.3 STARTTLS is required to send mail", K.STARTTLS),
    ("exim", "550 5.7.1 TLS required", K.STARTTLS),
    ("rfc 4954", "538 5.7.11 Encryption required for requested mechanism", K.STARTTLS),
    # Size and system.
    ("postfix", "552 5.3.4 Message size exceeds fixed limit", K.UNKNOWN),
    ("unenhanced", "552 Message size exceeds fixed maximum message size", K.UNKNOWN),
    ("length", "552 5.2.3 Message length exceeds administrative limit", K.UNKNOWN),
    ("system", "554 5.3.2 System not accepting network messages", K.UNKNOWN),
    # Too little to go by.
    ("bare", "550", K.BARE),
    ("bare with punctuation", "550 -", K.BARE),
    ("bare with the address", "550 <R>", K.BARE),
    ("554 bare", "554", K.UNKNOWN),
    ("553 bare", "553", K.UNKNOWN),
    ("transaction failed", "554 Transaction failed", K.UNKNOWN),
    ("no valid recipients", "554 5.5.1 Error: no valid recipients", K.UNKNOWN),
    ("rejected", "550 Rejected", K.UNKNOWN),
    ("5.2.0 without a word on it", "550 5.2.0 Message refused", K.UNKNOWN),
    ("permanent and transient", "550 4.2.1 mailbox unavailable", K.UNKNOWN),
    ("ambiguous", "553 5.1.4 ambiguous address", K.UNKNOWN),
    ("571", "571 Delivery not authorized, message refused", K.UNKNOWN),
)
