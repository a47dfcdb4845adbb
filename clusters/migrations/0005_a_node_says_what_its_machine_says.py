from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0004_a_change_rests_is_forced_or_cancelled")]

    operations = [
        migrations.AlterField(
            model_name="node",
            name="machine",
            field=models.CharField(blank=True, max_length=253),
        ),
        migrations.AlterField(
            model_name="node",
            name="machine_state",
            field=models.TextField(blank=True),
        ),
    ]
