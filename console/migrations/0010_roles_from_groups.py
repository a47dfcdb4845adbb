"""Groups of an identity provider give roles, and memberships remember the group that gave theirs."""

import django.db.models.deletion
from django.db import migrations, models

ROLES = [(role, role) for role in ("viewer", "member", "operator", "admin", "owner")]


class Migration(migrations.Migration):
    dependencies = [("console", "0009_second_factor_of_a_team")]

    operations = [
        migrations.AddField("membership", "from_group", models.CharField(blank=True, default="", editable=False, max_length=200), preserve_default=False),
        migrations.CreateModel(
            name="GroupRole",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("group", models.CharField(help_text="As the provider's groups claim spells it.", max_length=200)),
                ("role", models.CharField(choices=ROLES, default="member", max_length=10)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="group_roles", to="console.team"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("group", "team"), name="one_role_per_group_and_team")]
            },
        ),
    ]
