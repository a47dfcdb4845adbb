"""API tokens get scopes and an end. Those that are there keep what they could do, without an end."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0004_append_only_events")]

    operations = [
        migrations.AddField("apitoken", "scopes", models.CharField(max_length=60, default="read jobs operate admin")),
        migrations.AddField("apitoken", "expires_at", models.DateTimeField(null=True, blank=True)),
    ]
