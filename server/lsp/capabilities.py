"""Capability negotiation: client capabilities in, server capabilities and dynamic registrations out.

Owns the mapping between the two. Knows no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lsprotocol import types

from ...version import __version__
from ..output.types import SlashCommand, WeftServerCapabilities
from .documents import DEFAULT_ENCODING, Encoding, choose_encoding
from .messages import COMMAND_DID_ACCEPT, COMMAND_DID_TAKE_NEXT_EDIT

FOLLOW_UPS = "refactor.rewrite.weft.followUp"
"""The kind of the code actions that apply follow-up edits."""

SECTION = "weft"  # the name of Weft's section in the client's settings


@dataclass(frozen=True, slots=True)
class Client:
    """The client capabilities that change the server's behaviour."""

    encoding: Encoding = DEFAULT_ENCODING
    inline_completion: Literal["none", "static", "dynamic"] = "none"
    completes: bool = False
    shows_progress: bool = False
    watches_files: bool = False
    answers_configuration: bool = False
    registers_configuration: bool = False
    wants_status: bool = False
    asks_questions: bool = False
    takes_actions: bool = False
    confirms_edits: bool = False


def read_client(capabilities: types.ClientCapabilities) -> Client:
    """Read the capabilities that matter from the many optional fields."""
    general, window = capabilities.general, capabilities.window
    document, workspace = capabilities.text_document, capabilities.workspace
    inline = document.inline_completion if document else None
    watching = workspace.did_change_watched_files if workspace else None
    configuration = workspace.did_change_configuration if workspace else None
    return Client(
        encoding=choose_encoding(general.position_encodings if general else None),
        inline_completion="none" if inline is None else "dynamic" if inline.dynamic_registration else "static",
        completes=bool(document and document.completion),
        shows_progress=bool(window and window.work_done_progress),
        watches_files=bool(watching and watching.dynamic_registration),
        answers_configuration=bool(workspace and workspace.configuration),
        registers_configuration=bool(configuration and configuration.dynamic_registration),
        wants_status=_field(_field(capabilities.experimental, SECTION), "status") is True,
        asks_questions=bool(window and window.show_message),
        takes_actions=bool(document and document.code_action and document.code_action.code_action_literal_support),
        confirms_edits=bool(_field(_field(workspace, "workspace_edit"), "change_annotation_support")),
    )


def offer(client: Client, slash_commands: list[SlashCommand], *, navigates: bool = False) -> types.ServerCapabilities:
    """The server capabilities, for the result of `initialize`; `navigates` is the setting `navigation.enabled`.

    Inline completion is also offered to a client that does not announce it, since a plugin may request it; a client
    with dynamic registration gets it by registration only. The completion list is for clients without ghost text.
    """
    fallback = client.completes and client.inline_completion == "none"
    own: WeftServerCapabilities = {"version": __version__, "slashCommands": slash_commands}
    return types.ServerCapabilities(
        position_encoding=types.PositionEncodingKind(client.encoding),
        text_document_sync=types.TextDocumentSyncOptions(
            open_close=True, change=types.TextDocumentSyncKind.Incremental, save=False
        ),
        inline_completion_provider=(
            None if client.inline_completion == "dynamic" else types.InlineCompletionOptions(work_done_progress=False)
        ),
        execute_command_provider=types.ExecuteCommandOptions(commands=[COMMAND_DID_ACCEPT, COMMAND_DID_TAKE_NEXT_EDIT]),
        code_action_provider=types.CodeActionOptions([FOLLOW_UPS]) if client.takes_actions else None,
        definition_provider=navigates or None,
        references_provider=navigates or None,
        document_symbol_provider=navigates or None,
        workspace_symbol_provider=navigates or None,
        call_hierarchy_provider=navigates or None,
        completion_provider=types.CompletionOptions(trigger_characters=["."]) if fallback else None,
        workspace=types.WorkspaceOptions(
            workspace_folders=types.WorkspaceFoldersServerCapabilities(supported=True, change_notifications=True)
        ),
        experimental={SECTION: own},
    )


def later_registrations(client: Client) -> list[types.Registration]:
    """The dynamic registrations to send after `initialized`."""
    registrations = []
    if client.inline_completion == "dynamic":
        # No document selector: the client's own selector decides which documents it sends.
        options: object = {"documentSelector": None}
        registrations.append(_registration(types.TEXT_DOCUMENT_INLINE_COMPLETION, options))
    if client.watches_files:
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(glob_pattern="**/*")])
        registrations.append(_registration(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    if client.registers_configuration:
        registrations.append(_registration(types.WORKSPACE_DID_CHANGE_CONFIGURATION, {"section": SECTION}))
    return registrations


def _field(value: Any, name: str) -> Any:
    """A field of a JSON object, which the library represents as a mapping or as an object with attributes."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _registration(method: str, options: object) -> types.Registration:
    return types.Registration(id=f"weft-{method}", method=method, register_options=options)
