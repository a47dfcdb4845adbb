import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0003_region_readiness"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="change",
            name="cancelled_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="change",
            name="force",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="change",
            name="time_left",
            field=models.DurationField(null=True),
        ),
        migrations.AddField(
            model_name="change",
            name="waits_for",
            field=models.TextField(blank=True),
        ),
    ]
