from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0009_operations_and_how_long_they_took")]

    operations = [
        migrations.AddField(model_name="change", name="resumes", field=models.JSONField(default=dict)),
    ]
