"""A lock for each name: callers with the same name queue, others do not meet."""

import asyncio


class KeyedLock:
    """Holds nothing for a name that nobody has locked or waits for."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: dict[str, int] = {}

    def of(self, name: str) -> "_LockOfName":
        """Return what holds the lock of *name* from when it is entered until left."""
        return _LockOfName(self._locks, self._users, name)

    def __len__(self) -> int:
        return len(self._locks)


class _LockOfName:
    """A class, as every change of a stream enters one: a generator takes twice as long."""

    def __init__(
        self, locks: dict[str, asyncio.Lock], users: dict[str, int], name: str
    ) -> None:
        self._locks = locks
        self._users = users
        self._name = name

    async def __aenter__(self) -> None:
        name = self._name
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        self._users[name] = self._users.get(name, 0) + 1
        try:
            await lock.acquire()
        except BaseException:
            self._forget_user()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._locks[self._name].release()
        self._forget_user()

    def _forget_user(self) -> None:
        name = self._name
        self._users[name] -= 1
        if not self._users[name]:
            del self._users[name], self._locks[name]
