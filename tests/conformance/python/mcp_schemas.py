"""Prints, as JSON, the protocol's JSON Schemas of what a server says: those that the package mcp-types was generated from, by revision.

{revision: {"results": {method: schema}, "notifications": {method: schema}, "response": schema, "error": schema}}
"""

import json

import mcp_types._v2025_11_25 as v2025
import mcp_types._v2026_07_28 as v2026
from mcp_types.methods import SERVER_NOTIFICATIONS, SERVER_RESULTS
from pydantic import TypeAdapter


def without_null(schema):
    """Python says None for what may be left out; on the wire it is left out, and null is none of its values."""
    if isinstance(schema, list):
        return [without_null(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: without_null(part) for key, part in schema.items()}
    if "default" in schema and schema["default"] is None:
        del schema["default"]
        if "anyOf" in schema:
            schema["anyOf"] = [part for part in schema["anyOf"] if part != {"type": "null"}]
    return schema


def schema_of(kind):
    return without_null(TypeAdapter(kind).json_schema(by_alias=True))


def of_revision(table, revision):
    return {method: schema_of(kind) for (method, spoken), kind in table.items() if spoken == revision}


print(
    json.dumps(
        {
            revision: {
                "results": of_revision(SERVER_RESULTS, revision),
                "notifications": of_revision(SERVER_NOTIFICATIONS, revision),
                "response": schema_of(era.JSONRPCResultResponse),
                "error": schema_of(era.JSONRPCErrorResponse),
            }
            for revision, era in {"2025-06-18": v2025, "2025-11-25": v2025, "2026-07-28": v2026}.items()
        }
    )
)
