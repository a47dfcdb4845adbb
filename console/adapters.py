"""What django-allauth asks of a project, answered: settings name these classes and nothing else imports them.

Only its models, its codes and its WebAuthn are used; signing in, pages, limits, mails and the audit trail are ours.
"""

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from django.http import HttpRequest

from console import secrets
from console.models import User


class AccountAdapter(DefaultAccountAdapter):
    """Nobody makes an account for themselves."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


class FactorAdapter(DefaultMFAAdapter):
    """Secrets of second factors under our sealing keys; what authenticator apps and passkeys show of us."""

    def encrypt(self, text: str) -> str:
        return secrets.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return secrets.unseal(encrypted_text)

    def get_totp_label(self, user: User) -> str:
        return user.username

    def get_totp_issuer(self) -> str:
        return f"Quarterdeck {context.request.get_host()}"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {"id": context.request.get_host().partition(":")[0], "name": "Quarterdeck"}

    def get_public_key_credential_user_entity(self, user: User) -> dict[str, object]:
        return {
            **super().get_public_key_credential_user_entity(user),
            "name": user.username,
            "display_name": user.get_full_name() or user.username,
        }
