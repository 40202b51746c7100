"""Whose list it is: the key and server that began it, also when either has another name."""

from cs.cli.brand_list.entries import OwnerChanged
from cs.cli.brand_list.journal import BadJournal, Journal
from cs.client import Client, NotFound


def check_owner(
    journal: Journal, identity: str, client: Client, *, ask_again: bool = False
) -> None:
    """Return if the list may go on with the server and key of *identity*.

    A rotated secret and a moved server are known by the search last heard of, which nobody
    reads but the key that made it, whatever its secret (contract S17, H11).  There the
    idempotency keys are known as well.  Where no search is known nothing but lost answers
    can be charged twice, which *ask_again* allows.

    Raises:
        BadJournal: It belongs to another key or server.
        ClientError: Whether it does could not be found out.
    """
    if journal.identity == identity:
        return
    other = "the list was begun with another key or server"
    if journal.last_search:
        if not _knows(client, journal.last_search):
            raise BadJournal(
                f"{other}: this one does not know its search {journal.last_search!r}; "
                "use that one, or other --results and --again to begin anew"
            )
    elif (
        doubtful := len(journal.requested.keys() - journal.finished.keys())
    ) and not ask_again:
        raise BadJournal(
            f"{other}, and all answers were lost; use that one, or --ask-again to ask this "
            f"one, which may charge {doubtful} brands twice"
        )
    journal.append(OwnerChanged(identity))


def _knows(client: Client, search: str) -> bool:
    try:
        return client.contacts.get(search).id == search
    except NotFound:
        return False
