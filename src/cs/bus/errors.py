"""What can go wrong on the bus, whichever implements it."""


class BusUnavailable(Exception):
    """The bus cannot take the record now, or does not answer."""


class BusRefused(BusUnavailable):
    """Kafka is there and turns us away: no waiting mends it; the message names the setting."""


class BusStuck(Exception):
    """Records wait but none arrives, not even after joining again: end the process."""


class BadKafkaSettings(ValueError):
    """Settings that do not go together; the message says which and what to do."""


class CannotApply(Exception):
    """The topics or rights cannot be as asked for; the message says why and what to do."""
