"""A client of the node's and the wallet's RPC, with the certificates of their root."""

import http.client
import json
import ssl
import time
from pathlib import Path


class Rpc:
    def __init__(self, root: Path, service: str, port: int):
        self.context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        folder = root / "config" / "ssl" / service
        self.context.load_cert_chain(folder / f"private_{service}.crt", folder / f"private_{service}.key")
        self.port = port

    def __call__(self, method: str, **parameters):
        until = time.monotonic() + 60
        while True:
            try:
                connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=300)
                connection.request("POST", "/" + method, json.dumps(parameters), {"Content-Type": "application/json"})
                answer = json.loads(connection.getresponse().read())
                connection.close()
                break
            except ConnectionRefusedError:
                # a service that was just started does not listen yet
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        if not answer.get("success", False):
            raise RuntimeError(f"{method}: {answer.get('error')}"[:600])
        return answer
