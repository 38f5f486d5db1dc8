"""Uses a server of the Model Context Protocol as its Python clients do, and prints as JSON what they made of it.

The argument is "mcp" or "fastmcp"; standard input holds {"mode", "command" or "url" and "token", "log", "calls", "resource", "prompt",
"completion"}. A client that does not understand an answer raises, and that ends this script with its traceback.
"""

import asyncio
import json
import sys

PLAN = json.load(sys.stdin)


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def everything(pages, field):
    """All pages of a list."""
    found, cursor = [], None
    while True:
        page = await pages(cursor)
        found += getattr(page, field)
        cursor = page.next_cursor
        if cursor is None:
            return [plain(one) for one in found]


async def with_mcp():
    from contextlib import AsyncExitStack

    import httpx2
    from mcp import Client, StdioServerParameters, types
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    async with AsyncExitStack() as held:
        if "command" in PLAN:
            log = held.enter_context(open(PLAN["log"], "a", encoding="utf-8"))
            command, *arguments = PLAN["command"]
            server = stdio_client(StdioServerParameters(command=command, args=arguments), errlog=log)
        else:
            headers = {"Authorization": f"Bearer {PLAN['token']}"}
            http = await held.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=120))
            server = streamable_http_client(PLAN["url"], http_client=http)
        client = await held.enter_async_context(Client(server, mode=PLAN["mode"], read_timeout_seconds=120))
        said = []

        async def progress(step, total, message):
            said.append(message)

        calls = []
        for call in PLAN["calls"]:
            calls.append(plain(await client.call_tool(call["name"], call["arguments"], progress_callback=progress)))
        completion = await client.complete(
            types.ResourceTemplateReference(type="ref/resource", uri=PLAN["completion"]["uri"]), PLAN["completion"]["argument"]
        )
        return {
            "revision": client.protocol_version,
            "server": plain(client.server_info) if client.server_info else None,
            "instructions": client.instructions,
            "tools": await everything(lambda cursor: client.list_tools(cursor=cursor), "tools"),
            "resources": await everything(lambda cursor: client.list_resources(cursor=cursor), "resources"),
            "templates": await everything(lambda cursor: client.list_resource_templates(cursor=cursor), "resource_templates"),
            "prompts": await everything(lambda cursor: client.list_prompts(cursor=cursor), "prompts"),
            "resource": plain(await client.read_resource(PLAN["resource"])),
            "prompt": plain(await client.get_prompt(PLAN["prompt"]["name"], PLAN["prompt"]["arguments"])),
            "completion": plain(completion),
            "calls": calls,
            "progress": len(said),
        }


async def with_fastmcp():
    from pathlib import Path

    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
    from mcp import types

    if "command" in PLAN:
        command, *arguments = PLAN["command"]
        server = StdioTransport(command, arguments, keep_alive=False, log_file=Path(PLAN["log"]))
    else:
        server = StreamableHttpTransport(PLAN["url"], headers={"Authorization": f"Bearer {PLAN['token']}"})
    async with Client(server, mode=PLAN["mode"], timeout=120) as client:
        said = []

        async def progress(step, total, message):
            said.append(message)

        calls = []
        for call in PLAN["calls"]:
            answer = await client.call_tool_mcp(call["name"], call["arguments"], progress_handler=progress)
            calls.append(plain(answer))
        reference = types.ResourceTemplateReference(type="ref/resource", uri=PLAN["completion"]["uri"])
        return {
            "revision": client.protocol_version,
            "server": plain(client.server_info) if client.server_info else None,
            "instructions": client.instructions,
            "tools": [plain(one) for one in await client.list_tools()],
            "resources": [plain(one) for one in await client.list_resources()],
            "templates": [plain(one) for one in await client.list_resource_templates()],
            "prompts": [plain(one) for one in await client.list_prompts()],
            "resource": {"contents": [plain(one) for one in await client.read_resource(PLAN["resource"])]},
            "prompt": plain(await client.get_prompt(PLAN["prompt"]["name"], PLAN["prompt"]["arguments"])),
            "completion": {"completion": plain(await client.complete(reference, PLAN["completion"]["argument"]))},
            "calls": calls,
            "progress": len(said),
        }


print(json.dumps(asyncio.run({"mcp": with_mcp, "fastmcp": with_fastmcp}[sys.argv[1]]())))
