"""A team may require a second factor of its members."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0008_staff_marks_and_slurm_users")]

    operations = [
        migrations.AddField("team", "requires_second_factor", models.BooleanField(default=False)),
    ]
