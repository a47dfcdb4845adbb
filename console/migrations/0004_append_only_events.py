"""Every event has a place, and the database refuses to change, delete or truncate what is written.

ALWAYS: the triggers hold in replica mode too, where ordinary ones sleep. Who owns the table can still drop them; that
is what the hash chain is for.
"""

from django.db import migrations, models

REFUSE = """
CREATE FUNCTION console_event_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'console_event is append-only: % was refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER event_stays BEFORE UPDATE OR DELETE ON console_event
    FOR EACH ROW EXECUTE FUNCTION console_event_refuse();
CREATE TRIGGER events_stay BEFORE TRUNCATE ON console_event
    FOR EACH STATEMENT EXECUTE FUNCTION console_event_refuse();
ALTER TABLE console_event ENABLE ALWAYS TRIGGER event_stays;
ALTER TABLE console_event ENABLE ALWAYS TRIGGER events_stay;
"""
ALLOW = """
DROP TRIGGER event_stays ON console_event;
DROP TRIGGER events_stay ON console_event;
DROP FUNCTION console_event_refuse();
"""


class Migration(migrations.Migration):
    dependencies = [("console", "0003_chain_events")]

    operations = [
        migrations.AlterField("event", "chain", models.BigIntegerField()),
        migrations.AlterField("event", "number", models.BigIntegerField()),
        migrations.AlterField("event", "previous", models.CharField(max_length=64)),
        migrations.AlterField("event", "digest", models.CharField(max_length=64)),
        migrations.AddIndex("event", models.Index(fields=["team", "at"], name="events_of_team")),
        migrations.AddConstraint(
            "event", models.UniqueConstraint(fields=["chain", "number"], name="one_event_per_number")
        ),
        migrations.RunSQL(REFUSE, ALLOW),
    ]
