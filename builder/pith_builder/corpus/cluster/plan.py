"""The plan of a run: of which inputs, under which key, and how they are cut. It stays beside what comes out."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Self

import msgspec

from pith_builder import files
from pith_builder.corpus.checkpoint import CheckpointDiffers, RunSettings
from pith_builder.corpus.cluster.inputs import InputFile, Shard, cut
from pith_builder.corpus.cluster.parts import PLAN

_ANEW = "begin anew with --restart, or into another folder"


class Plan(msgspec.Struct, frozen=True):
    """What a run does: these shards, of `size` bytes, of these inputs."""

    settings: RunSettings
    size: int
    inputs: list[InputFile]
    shards: list[Shard]

    @classmethod
    def of(cls, settings: RunSettings, inputs: list[InputFile], size: int) -> Self:
        """A new plan. Raises as `cut` does."""
        return cls(settings, size, inputs, cut(inputs, size))

    @staticmethod
    def read(folder: Path) -> Plan | None:
        """The plan in a folder, None where there is none. Raises FileFailed, or CheckpointDiffers for a damaged one."""
        path = folder / PLAN
        if not path.exists():
            return None
        damaged = CheckpointDiffers("the plan of the run was altered, or can't be read", hint=_ANEW).at(file=str(path))
        try:
            run, plan = msgspec.json.decode(files.read(path), type=tuple[str, Plan])
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise damaged from None
        if run != plan.run:
            raise damaged
        return plan

    def write(self, folder: Path) -> None:
        """Put the plan into its folder, behind the name of the run that tells if it is altered. Raises FileFailed."""
        files.replace(folder / PLAN, msgspec.json.encode((self.run, self)) + b"\n")

    @property
    def run(self) -> str:
        """The name of the run: 64 hex digits that follow from everything but where the inputs are."""
        identities = [(file.form, file.identity) for file in self.inputs]
        return hashlib.sha256(msgspec.json.encode((self.settings, self.size, identities, self.shards))).hexdigest()

    def resumed(self, settings: RunSettings, inputs: list[InputFile]) -> Self:
        """The same plan, for inputs that may be elsewhere now. Raises CheckpointDiffers where anything else differs."""
        if len(inputs) != len(self.inputs):
            raise CheckpointDiffers(
                f"the run in this folder is of {len(self.inputs)} files, and {len(inputs)} are given",
                hint=f"give those again to finish it, or {_ANEW}",
            )
        for was, now in zip(self.inputs, inputs, strict=True):
            if was.identity != now.identity:
                what = "changed since then" if was.path == now.path else "is another input"
                raise CheckpointDiffers(
                    f"{now.path} {what}; the run in this folder is of {was.path}",
                    hint=f"give that file again, as it was, to finish it, or {_ANEW}",
                )
        for name in self.settings.__struct_fields__:
            if (was_set := getattr(self.settings, name)) != (is_set := getattr(settings, name)):
                raise CheckpointDiffers(
                    f"the run in this folder has {name} {was_set}, not {is_set}",
                    hint=f"use what it began with, or {_ANEW}",
                )
        return msgspec.structs.replace(self, inputs=inputs)
