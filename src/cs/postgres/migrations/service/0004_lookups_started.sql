-- Lookups started, of every version of that event.  Built beside writers: the log may be large.
-- Nobody uses the index lookup_started any more; a later step drops it.
--
-- Formerly ab24343e88e32a6463b1a0d81d901d55f0875c7dde6f323bb8d1e7581f67ea47
-- (with the function of the next step, and with a lock that kept writers out)
CREATE INDEX CONCURRENTLY lookup_started_any ON stored_events (notification_id)
    WHERE topic LIKE 'brand.lookup-started.v%';
