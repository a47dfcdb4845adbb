"""The Controller and its RestApi. Pure."""

from slurm.kube.kinds import CONTROLLER, REST_API, Thing
from slurm.provisioners.slinky import conf
from slurm.provisioners.slinky import design as parts
from slurm.provisioners.slinky.design import Design, secret_ref, template, volume_claim
from slurm.provisioners.slinky.scripts import script_note, script_refs
from slurm.provisioners.slinky.secrets import JWT_KEY_FILE, SLURM_KEY_FILE


def controller(design: Design) -> Thing:
    """`inplaceReconfigure`: a new slurm.conf is read by `scontrol reconfigure` in the running pod. Without it the pod
    is started anew with the file, whatever is in it. The images have no default in the operator."""
    names, image = design.names, {"image": design.image("slurmctld")}
    return design.thing(
        CONTROLLER,
        names.base,
        spec={
            "clusterName": design.spec.name,
            "slurmKeyRef": secret_ref(names.slurm_key, SLURM_KEY_FILE),
            "jwtKeyRef": secret_ref(names.jwt_key, JWT_KEY_FILE),
            "accountingRef": {"name": names.base},
            "inplaceReconfigure": True,
            "slurmctld": image,
            "reconfigure": image,
            "logfile": {"image": design.settings.log_image},
            "persistence": {"enabled": True, **volume_claim(design.settings, design.settings.state_size)},
            "configFileRefs": [{"name": names.slurm_files}],
            **script_refs(design),
            "extraConf": extra_conf(design),
            **_template(design, parts.CONTROLLER),
        },
    )


def extra_conf(design: Design) -> str:
    return conf.rendered(design.spec, design.known, design.lingering).text + script_note(design)


def rest_api(design: Design) -> Thing:
    """Never left out: without one the operator takes every node for drained and ends jobs (slurm-operator 1.2)."""
    return design.thing(
        REST_API,
        design.names.base,
        spec={
            "controllerRef": design.controller_ref,
            "replicas": 1,
            "slurmrestd": {"image": design.image("slurmrestd")},
            **_template(design, parts.REST_API),
        },
    )


def _template(design: Design, part: str) -> dict[str, object]:
    restarted = template(design.restarted(part))
    return {"template": restarted} if restarted else {}
