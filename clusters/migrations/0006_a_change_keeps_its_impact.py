import datetime

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0005_a_node_says_what_its_machine_says")]

    operations = [
        migrations.AddField(
            model_name="change", name="begun_at", field=models.DateTimeField(null=True)
        ),
        migrations.AddField(model_name="change", name="impact", field=models.JSONField(null=True)),
        migrations.AddField(
            model_name="change", name="rested", field=models.DurationField(default=datetime.timedelta)
        ),
        migrations.AddField(
            model_name="change", name="rests_since", field=models.DateTimeField(null=True)
        ),
    ]
