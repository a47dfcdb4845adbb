"""Django's sessions in the database, each with its person: settings.SESSION_ENGINE. Nobody else imports it."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db

from console.models import BrowserSession
from console.provider_factor import CAME_WITH


class SessionStore(db.SessionStore):
    """As https://docs.djangoproject.com/en/5.2/topics/http/sessions/#extending-database-backed-session-engines says."""

    @classmethod
    def get_model_class(cls) -> type[BrowserSession]:
        return BrowserSession

    def create_model_instance(self, data: dict[str, Any]) -> BrowserSession:
        return _with_person(super().create_model_instance(data), data)

    async def acreate_model_instance(self, data: dict[str, Any]) -> BrowserSession:
        return _with_person(await super().acreate_model_instance(data), data)


def _with_person(session: object, data: dict[str, Any]) -> BrowserSession:
    assert isinstance(session, BrowserSession), "get_model_class says so"
    person = data.get(SESSION_KEY)
    session.user_id = int(person) if person else None
    session.came_with_factor = bool(data.get(CAME_WITH))
    return session
