"""SchedulerPatch: the user's file, as values.

The models are strict (no guessing of types) and closed (no unknown keys); their camelCase aliases
are the keys of the file. Rules that look at several keys at once are in ``inputs.patchfile``, so
that they are told together with everything else that is wrong.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from kschedpatch.model.grammar import is_dns_label, is_env_name, is_image

API_VERSION = "kschedpatch.io/v1"
KIND = "SchedulerPatch"

#: No manifest needs more of anything; a list without end would only be slow.
_MANY = 100

_FLAG_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9-]{0,127}", re.ASCII)
_MODE = re.compile(r"0?[0-7]{3}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def _one_line(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("holds a line break or another control character")
    return text


def _absolute(text: str) -> str:
    _one_line(text)
    if not text.startswith("/"):
        raise ValueError("must be an absolute path")
    if ".." in PurePosixPath(text).parts:
        raise ValueError("must not go up with '..'")
    if len(text) > 1024:
        raise ValueError("is longer than 1024 characters")
    return text


def _in_container(text: str) -> str:
    _absolute(text)
    if ":" in text:
        raise ValueError("must not hold a colon: runtimes split mounts there")
    if text == "/":
        raise ValueError("must not be the root of the container")
    return str(PurePosixPath(text))


def _local_path(text: str) -> str:
    if not _one_line(text):
        raise ValueError("is empty")
    return text


def _name(text: str) -> str:
    if not is_dns_label(text):
        raise ValueError("must be lower-case letters, digits and dashes, at most 63 characters")
    return text


def _flag_name(text: str) -> str:
    if not _FLAG_NAME.fullmatch(text):
        raise ValueError(
            "must be a flag's name without dashes in front, such as v or feature-gates"
        )
    return text


def _env_name(text: str) -> str:
    if not is_env_name(text):
        raise ValueError("must be letters, digits, '_', '-' and '.', no digit first")
    return text


def _mode(text: str) -> str:
    if not _MODE.fullmatch(text):
        raise ValueError('must be an octal mode in quotes, such as "0644"')
    return text.zfill(4)


def _image(text: str) -> str:
    if not is_image(text):
        raise ValueError("must be an image's name, such as registry.example.com/name:v1.34.2")
    return text


def _namespaced(text: str) -> str:
    namespace, slash, name = text.partition("/")
    if not slash:
        raise ValueError("must be NAMESPACE/NAME")
    _name(namespace)
    _name(name)
    return text


def _pattern(text: str) -> str:
    _one_line(text)
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return text


Name = Annotated[str, AfterValidator(_name)]
OneLine = Annotated[str, AfterValidator(_one_line)]
HostPath = Annotated[str, AfterValidator(_absolute)]
ContainerPath = Annotated[str, AfterValidator(_in_container)]
LocalPath = Annotated[str, AfterValidator(_local_path)]
Image = Annotated[str, AfterValidator(_image)]
HostPathType = Literal[
    "Directory", "File", "Socket", "CharDevice", "BlockDevice", "DirectoryOrCreate", "FileOrCreate"
]


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        strict=True,
        defer_build=True,  # one validator for the whole file, not one for each part of it
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
    )


class Metadata(_Model):
    name: Name = Field(description="Names the patch in annotations, RBAC objects and history.")


class Target(_Model):
    static_pod: Literal["kube-scheduler"] | None = Field(
        None, description="The kubeadm static pod; the default target."
    )
    deployment: Annotated[str, AfterValidator(_namespaced)] | None = Field(
        None, description="NAMESPACE/NAME of a scheduler that runs as a Deployment."
    )
    new_deployment: Annotated[str, AfterValidator(_namespaced)] | None = Field(
        None, description="NAMESPACE/NAME of a second scheduler to be made."
    )


class EnvVar(_Model):
    name: Annotated[str, AfterValidator(_env_name)]
    value: str = ""


class Scheduler(_Model):
    image: Image | None = Field(None, description="The scheduler's image; excludes binary.")
    image_archive: LocalPath | None = Field(
        None, description="A docker or OCI archive (tar), imported on each node."
    )
    binary: LocalPath | None = Field(
        None, description="A static kube-scheduler, staged on each node and run in the image."
    )
    args: dict[Annotated[str, AfterValidator(_flag_name)], OneLine | None] = Field(
        default_factory=dict,
        max_length=_MANY,
        description="Flags without dashes: a value sets one, null removes it.",
    )
    env: tuple[EnvVar, ...] = Field((), max_length=_MANY)
    dns_policy: Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default"] | None = Field(
        None, description="Set by itself where an extender is a Service name."
    )
    replicas: int | None = Field(
        None, ge=1, le=9, description="Pods of a second scheduler (newDeployment); 1 if left out."
    )


class Config(_Model):
    inline: dict[str, Any] | None = Field(
        None, description="A KubeSchedulerConfiguration; apiVersion and kind may be left out."
    )
    file: LocalPath | None = Field(None, description="The same in a file, taken as it is.")
    mount_path: ContainerPath | None = Field(
        None, description="Where the container sees it, if anybody cares."
    )
    name: Name | None = Field(None, description="The volume's name; needs mountPath.")


class Mount(_Model):
    name: Name = Field(description="The volume's name.")
    host_path: HostPath
    mount_path: ContainerPath | None = Field(None, description="hostPath if left out.")
    type: HostPathType | None = Field(None, description="What hostPath is; looked up if left out.")
    read_only: bool = True


class File(_Model):
    source: LocalPath = Field(description="A local file, relative to the patch file.")
    mount_path: ContainerPath
    mode: Annotated[str, AfterValidator(_mode)] = "0644"
    name: Name | None = Field(None, description="The volume's name.")


class Rule(_Model):
    api_groups: tuple[OneLine, ...] = ()
    resources: tuple[OneLine, ...] = ()
    resource_names: tuple[OneLine, ...] = ()
    verbs: tuple[OneLine, ...]
    non_resource_urls: tuple[OneLine, ...] = Field((), alias="nonResourceURLs")
    namespace: Name | None = Field(None, description="A Role in this namespace, not a ClusterRole.")


class Rbac(_Model):
    manage: bool = Field(True, description="false: somebody else owns the objects.")
    rules: tuple[Rule, ...] = Field((), max_length=_MANY)
    manifests: tuple[LocalPath, ...] = Field((), max_length=_MANY)


class Socket(_Model):
    path: HostPath
    http: OneLine | None = None


class Can(_Model):
    verb: OneLine
    resource: OneLine
    namespace: Name | None = None


class ProbePod(_Model):
    manifest: LocalPath
    expect_node: OneLine | None = None
    expect_annotations: tuple[OneLine, ...] = ()


class Verify(_Model):
    plugins: tuple[OneLine, ...] = ()
    sockets: tuple[Socket, ...] = ()
    can: tuple[Can, ...] = ()
    logs: tuple[Annotated[str, AfterValidator(_pattern)], ...] = ()
    pods: tuple[ProbePod, ...] = ()


# Defaults that are models themselves are made without validation (model_construct): they hold
# nothing but defaults.


class Spec(_Model):
    target: Target = Field(default_factory=Target.model_construct)
    scheduler: Scheduler = Field(default_factory=Scheduler.model_construct)
    config: Config | None = None
    mounts: tuple[Mount, ...] = Field((), max_length=_MANY)
    files: tuple[File, ...] = Field((), max_length=_MANY)
    objects: tuple[LocalPath, ...] = Field(
        (), max_length=_MANY, description="Manifests that are applied and ready before the switch."
    )
    rbac: Rbac = Field(default_factory=Rbac.model_construct)
    verify: Verify = Field(default_factory=Verify.model_construct)


class SchedulerPatch(_Model):
    api_version: Literal["kschedpatch.io/v1"]
    kind: Literal["SchedulerPatch"]
    metadata: Metadata
    spec: Spec = Field(default_factory=Spec.model_construct)
