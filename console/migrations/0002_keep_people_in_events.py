"""Events hold who and which team as values: a deleted account or team changes no event. First of three."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def name_the_teams(apps, schema_editor):
    Event, Team = apps.get_model("console", "Event"), apps.get_model("console", "Team")
    for pk, slug in Team.objects.values_list("pk", "slug"):
        Event.objects.filter(team=pk).update(team_slug=slug)


class Migration(migrations.Migration):
    dependencies = [("console", "0001_initial")]

    operations = [
        migrations.AlterField(
            "event", "at", models.DateTimeField(default=django.utils.timezone.now, db_index=True)
        ),
        migrations.AlterField(
            "event",
            "team",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.DO_NOTHING, db_constraint=False, db_index=False,
                related_name="events", to="console.team",
            ),
        ),
        migrations.AlterField(
            "event",
            "user",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.DO_NOTHING, db_constraint=False, db_index=False,
                related_name="events", to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField("event", "team_slug", models.CharField(max_length=40, blank=True, default=""), False),
        migrations.AddField("event", "chain", models.BigIntegerField(null=True)),
        migrations.AddField("event", "number", models.BigIntegerField(null=True)),
        migrations.AddField("event", "previous", models.CharField(max_length=64, null=True)),
        migrations.AddField("event", "digest", models.CharField(max_length=64, null=True)),
        migrations.RunPython(name_the_teams, migrations.RunPython.noop),
    ]
