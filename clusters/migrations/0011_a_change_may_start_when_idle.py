from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0010_a_change_resumes_nodes")]

    operations = [
        migrations.AddField(model_name="change", name="when_idle", field=models.BooleanField(default=False)),
    ]
