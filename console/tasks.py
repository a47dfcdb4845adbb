"""What the console does by the clock, whatever its teams do."""

from celery import shared_task
from django.utils import timezone

from console.models import BrowserSession


@shared_task
def forget_sessions() -> None:
    """Delete sessions that are over: visitors leave some behind, and so does every browser that never comes back."""
    BrowserSession.objects.filter(expire_date__lt=timezone.now()).delete()
