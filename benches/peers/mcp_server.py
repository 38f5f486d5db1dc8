"""The same tool on another SDK: `mcp_server.py stdio`, or `mcp_server.py http`, which prints where it listens."""

import logging
import socket
import sys

from fastmcp import FastMCP

server = FastMCP("peer")
TEXT = "Text from elsewhere is run as code. " * 12


@server.tool
def explain_rule(rule: str) -> dict:
    """Tells what a rule is about."""
    return {"id": rule, "why": TEXT}


def main() -> None:
    logging.disable(logging.CRITICAL)
    if sys.argv[1] == "stdio":
        server.run(transport="stdio", show_banner=False)
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    import threading
    import time

    def tell() -> None:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        print(f"listening on http://127.0.0.1:{port}", flush=True)

    threading.Thread(target=tell, daemon=True).start()
    server.run(
        transport="http", host="127.0.0.1", port=port, show_banner=False, stateless_http=True, json_response=True, log_level="critical"
    )


main()
