from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0012_numbers_and_keys_of_people")]

    operations = [
        migrations.AddField(model_name="change", name="course", field=models.JSONField(default=dict)),
    ]
