"""Sessions and API tokens remember whether they came with the identity provider's second factor."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0010_roles_from_groups")]

    operations = [
        migrations.AddField("browsersession", "came_with_factor", models.BooleanField(default=False)),
        migrations.AddField("apitoken", "came_with_factor", models.BooleanField(default=False, editable=False)),
    ]
