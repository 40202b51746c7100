"""The brands' own web sites, all behind one http and one https port."""

from html import escape

from cs.sandbox.servers import HttpReply, HttpRequest
from cs.sandbox.shapes import Brand, World

_NOT_FOUND = b"<!doctype html><title>404</title><h1>Page not found</h1>"


class Sites:
    """Every site that is up, by the host name asked for."""

    def __init__(self, world: World, *, scheme: str, port: int) -> None:
        self._scheme = scheme
        self._port = port
        self._by_host: dict[str, Brand] = {}
        for brand in world.brands:
            if brand.site.state == "up":
                for host in hosts_of(brand):
                    self._by_host[host] = brand

    async def respond(self, request: HttpRequest) -> HttpReply | None:
        brand = self._by_host.get(request.host)
        if brand is None:
            return HttpReply(status=421, body=b"<h1>Misdirected HttpRequest</h1>")
        after_s = brand.site.latency_s
        home = home_of(brand)
        if request.path == "/robots.txt":
            return HttpReply(body=_robots(brand), content_type="text/plain", after_s=after_s)
        if request.host != home:
            target = f"{self._scheme}://{home}:{self._port}{request.path}"
            return HttpReply(status=301, headers={"Location": target}, after_s=after_s)
        if request.path not in {"", "/", "/about", "/contact"}:
            return HttpReply(status=404, body=_NOT_FOUND, after_s=after_s)
        return HttpReply(body=page(brand).encode(), after_s=after_s)


def home_of(brand: Brand) -> str:
    """Return the host name the pages are at."""
    return f"www.{brand.domain}" if brand.site.home == "www" else brand.domain


def hosts_of(brand: Brand) -> list[str]:
    """Return every host name of the brand's site; all but one redirect."""
    names = [brand.domain, *brand.site.former]
    return names + [f"www.{name}" for name in names]


def page(brand: Brand) -> str:
    """Return the site's page; one that the website is not known by names no company."""
    if "website" not in brand.known_by:
        return "<!doctype html><html><head><title>Welcome</title></head><body></body></html>"
    name, text = escape(brand.name), escape(brand.description)
    links = "".join(f'<a href="{escape(link)}">{label}</a>' for label, link in _links(brand))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{name} – {text}</title>"
        f'<meta property="og:site_name" content="{name}">'
        f'<meta property="og:url" content="https://{home_of(brand)}/">'
        f'<meta name="description" content="{text}"></head><body>'
        f'<header><a href="/">{name}</a><nav><a href="/about">About</a></nav></header>'
        f"<main><h1>{name}</h1><p>{text}.</p></main>"
        f"<footer>{links}<p>© {name}</p></footer></body></html>"
    )


def _links(brand: Brand) -> list[tuple[str, str]]:
    """Return the footer's links: the brand's pages among the usual ones that are not."""
    links = [("Contact", "/contact")]
    if brand.linkedin:
        links.append(("LinkedIn", f"https://www.linkedin.com/company/{brand.linkedin}/"))
    if brand.instagram:
        links.append(("Instagram", f"https://www.instagram.com/{brand.instagram}/"))
    if brand.tiktok:
        links.append(("TikTok", f"https://www.tiktok.com/@{brand.tiktok}"))
    shared = f"https://www.linkedin.com/shareArticle?mini=true&url=https://{home_of(brand)}/"
    return [
        *links,
        ("Share", shared),
        ("Our latest post", "https://www.instagram.com/p/C0ffee/"),
    ]


def _robots(brand: Brand) -> bytes:
    rule = "Disallow: /" if brand.site.robots == "disallow" else "Disallow: /checkout"
    return f"User-agent: *\n{rule}\n".encode()
