"""Events that are there already get their places in the chain, in the order in which they were written."""

from django.conf import settings
from django.db import migrations
from secrets import token_bytes

from cryptography.fernet import Fernet, MultiFernet

from console.chain import START, link
from console.events import values_of


def chain(apps, schema_editor):
    Event = apps.get_model("console", "Event")
    key = None
    last = {}
    for event in Event.objects.order_by("pk").iterator():
        key = key or make_key(apps.get_model("console", "Secret"))
        event.chain = event.team_id or 0
        number, previous = last.get(event.chain, (0, START))
        place = link(key, number + 1, previous, values_of(event))
        event.number, event.previous, event.digest = place.number, place.previous, place.digest
        event.save(update_fields=["chain", "number", "previous", "digest"])
        last[event.chain] = (place.number, place.digest)


def make_key(Secret):
    key = token_bytes(32)
    sealed = MultiFernet([Fernet(one) for one in settings.SEALING_KEYS]).encrypt(key)
    Secret.objects.create(owner="audit", kind="chain-key", sealed=sealed)
    return key


def unchain(apps, schema_editor):
    """People and teams become references again: those that are gone, none."""
    Event = apps.get_model("console", "Event")
    for name, model in (("team", "Team"), ("user", "User")):
        known = apps.get_model("console", model).objects.values("pk")
        Event.objects.exclude(**{f"{name}__in": known}).update(**{name: None})
    apps.get_model("console", "Secret").objects.filter(owner="audit", kind="chain-key").delete()


class Migration(migrations.Migration):
    dependencies = [("console", "0002_keep_people_in_events")]

    operations = [migrations.RunPython(chain, unchain)]
