
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0014_a_change_may_be_stopped'),
    ]

    operations = [
        migrations.AddField(
            model_name='change',
            name='takes_along',
            field=models.BooleanField(default=False),
        ),
    ]
