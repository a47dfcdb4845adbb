from django.db import migrations, models

LIVE = ["applying", "asking", "checking", "observing", "proposed", "rolling back"]
STATUSES = [
    "scheduled", "proposed", "checking", "asking", "applying", "observing", "committed", "rejected", "rolling back",
    "rolled back", "failed", "stuck",
]  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("clusters", "0007_grants_on_clusters")]

    operations = [
        migrations.AddField(
            model_name="change", name="start_at", field=models.DateTimeField(null=True)
        ),
        migrations.AddField(
            model_name="change", name="is_confirmed", field=models.BooleanField(default=False)
        ),
        migrations.AlterField(
            model_name="change",
            name="status",
            field=models.CharField(
                choices=[(status, status) for status in STATUSES], default="proposed", max_length=14
            ),
        ),
        migrations.RemoveConstraint(model_name="change", name="one_live_change_per_cluster"),
        migrations.AddConstraint(
            model_name="change",
            constraint=models.UniqueConstraint(
                condition=models.Q(status__in=LIVE),
                fields=("cluster",),
                name="one_live_change_per_cluster",
            ),
        ),
        migrations.AddConstraint(
            model_name="change",
            constraint=models.UniqueConstraint(
                condition=models.Q(status="scheduled"),
                fields=("cluster",),
                name="one_scheduled_change_per_cluster",
            ),
        ),
    ]
