
import clusters.machine
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0013_a_change_may_be_a_restart'),
    ]

    operations = [
        migrations.AlterField(
            model_name='change',
            name='status',
            field=models.CharField(choices=[('scheduled', 'scheduled'), ('proposed', 'proposed'), ('checking', 'checking'), ('asking', 'asking'), ('applying', 'applying'), ('observing', 'observing'), ('committed', 'committed'), ('rejected', 'rejected'), ('rolling back', 'rolling back'), ('rolled back', 'rolled back'), ('stopped', 'stopped'), ('failed', 'failed'), ('stuck', 'stuck')], default=clusters.machine.ChangeStatus['PROPOSED'], max_length=14),
        ),
    ]
