"""Mail, where the platform set it up (QUARTERDECK_EMAIL_URL). The one sender."""

import smtplib

from django.conf import settings
from django.core.mail import EmailMessage

from console.errors import Unavailable


def is_set_up() -> bool:
    return bool(settings.EMAIL_HOST)


def send(to: str, subject: str, text: str) -> None:
    """One plain mail, taken by the mail server before this returns (settings.EMAIL_TIMEOUT). Raises Unavailable.

    Not by a task: a link that lets somebody in must not lie in a queue.
    """
    try:
        EmailMessage(subject, text, to=[to]).send()
    except (OSError, smtplib.SMTPException) as error:
        raise Unavailable(
            f"The mail to {to} was not sent: the mail server did not take it.",
            "Try again, or hand on the link yourself.",
        ) from error
