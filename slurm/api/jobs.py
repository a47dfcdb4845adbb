"""The queue and recent history, one job whole, submitting, and the operations on jobs."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.base import ClusterView, checked
from console.errors import Problem, Rejected
from console.roles import Action
from slurm import operations
from slurm.client import Slurm
from slurm.jobs.query import JobQuery, parse
from slurm.jobs.reading import job_list, job_named
from slurm.models import Job

QUERY = [
    OpenApiParameter(
        "q", str, description="The page's filter language: `user:lin gpus:>4 state:running text`."
    ),
    OpenApiParameter("sort", str, description="A column, with `-` in front for the highest first."),
    OpenApiParameter("page", int),
]


class JobSerializer(serializers.ModelSerializer[Job]):
    """`why` is the pending reason in words; times are UTC."""

    class Meta:
        model = Job
        exclude = ["id", "cluster", "key"]


class JobDetailSerializer(JobSerializer):
    """`slurm` is the record of `scontrol show job`, or of `sacct` once the controller has forgotten the job."""

    slurm = serializers.DictField(child=serializers.CharField(), read_only=True)


class SubmitSerializer(serializers.Serializer[Any]):
    """A batch script as sbatch takes it; its options stand in it as `#SBATCH` lines."""

    script = serializers.CharField(max_length=262_144, trim_whitespace=False)


class SubmittedSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()


class JobIdsSerializer(serializers.Serializer[Any]):
    """Job ids as the list shows them: `12`, `12_3`, `12_[4-9]`."""

    jobs = serializers.ListField(child=serializers.CharField(max_length=200), min_length=1, max_length=1000)


class Jobs(ClusterView):
    """The queue, or what `q` asks for of it and of the recent history."""

    actions = {"GET": Action.VIEW, "POST": Action.SUBMIT_JOB}

    @extend_schema(parameters=QUERY, responses=JobSerializer(many=True))
    def get(self, request: Request, team: str, cluster: str) -> Response:
        query = _query(request)
        found = job_list(self.door.cluster, query, request.user)
        return Response({"results": JobSerializer(found.jobs, many=True).data, "next": _next(request, found)})

    @extend_schema(
        request=SubmitSerializer,
        responses={201: SubmittedSerializer},
        examples=[
            OpenApiExample(
                "Two GPUs for an hour",
                value={"script": "#!/bin/bash\n#SBATCH --gpus=2 --time=1:00:00\nsrun nvidia-smi\n"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, team: str, cluster: str) -> Response:
        number = operations.submit(self.door, script=checked(SubmitSerializer(data=request.data))["script"])
        return Response({"number": number}, status=201)


class JobDetail(ClusterView):
    """One job: the row of the list and everything that Slurm says of it."""

    actions = {"GET": Action.VIEW}

    @extend_schema(responses=JobDetailSerializer)
    def get(self, request: Request, team: str, cluster: str, job_id: str) -> Response:
        job = job_named(self.door.cluster, job_id)
        known = Slurm(self.door.cluster.provisioner.executor()).job(job.job_id)
        return Response({**JobSerializer(job).data, "slurm": known})


class JobOperation(ClusterView):
    """Base of the operations on jobs. A member reaches their own; `operations` asks for each job."""

    actions = {"POST": Action.CONTROL_OWN_JOB}

    def ids(self, request: Request) -> list[str]:
        ids: list[str] = checked(JobIdsSerializer(data=request.data))["jobs"]
        return ids


class Cancel(JobOperation):
    """End the jobs, or take them out of the queue."""

    @extend_schema(request=JobIdsSerializer, responses={204: None})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        operations.cancel(self.door, self.ids(request))
        return Response(status=204)


class Hold(JobOperation):
    """Keep waiting jobs from starting."""

    @extend_schema(request=JobIdsSerializer, responses={204: None})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        operations.hold(self.door, self.ids(request))
        return Response(status=204)


class Release(JobOperation):
    """Let held jobs compete again."""

    @extend_schema(request=JobIdsSerializer, responses={204: None})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        operations.release(self.door, self.ids(request))
        return Response(status=204)


class Requeue(JobOperation):
    """Put running or failed jobs back into the queue."""

    @extend_schema(request=JobIdsSerializer, responses={204: None})
    def post(self, request: Request, team: str, cluster: str) -> Response:
        operations.requeue(self.door, self.ids(request))
        return Response(status=204)


def _query(request: Request) -> JobQuery:
    """The filter asked for. Raises Rejected: a script should learn of a typo, not get a longer list."""
    asked = request.query_params
    query = parse(asked.get("q", ""), asked.get("sort", ""), asked.get("page", "1"))
    if query.hints:
        raise Rejected(
            "The filter was not understood.", tuple(Problem("q", hint.message) for hint in query.hints)
        )
    return query


def _next(request: Request, found: Any) -> str | None:
    if found.page >= found.pages:
        return None
    query = request.query_params.copy()
    query["page"] = str(found.page + 1)
    return str(request.build_absolute_uri(f"?{query.urlencode()}"))
