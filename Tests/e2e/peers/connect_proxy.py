# SPDX-License-Identifier: MIT
"""An HTTP proxy that knows CONNECT and nothing else."""

import base64
import socket
import threading


class ConnectProxy:
    """Listens at once; `asked` has the target of each CONNECT, with how it was answered."""

    def __init__(self, password=None, port=0):
        self.credentials = password and "Basic " + base64.b64encode(password.encode()).decode()
        self.asked = []
        self.tunnels = []
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client:
            client.settimeout(60)
            try:
                self._tunnel(client)
            except OSError:
                pass

    def _tunnel(self, client):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            # Byte by byte: what follows the head belongs to the tunnel.
            byte = client.recv(1)
            if not byte:
                return
            head += byte
        line, *fields = head.decode().split("\r\n")
        method, target, version = line.split(" ")
        values = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields if field)}
        assert (method, version, values["host"]) == ("CONNECT", "HTTP/1.1", target)
        if self.credentials and values.get("proxy-authorization") != self.credentials:
            self.asked.append((target, 407))
            client.sendall(b'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="x"\r\n'
                           b"content-length: 0\r\n\r\n")
            return
        host, port = target.rsplit(":", 1)
        try:
            server = socket.create_connection((host, int(port)), 10)
        except OSError:
            self.asked.append((target, 502))
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")
            return
        with server:
            self.tunnels += [client, server]
            self.asked.append((target, 200))
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=self._copy, args=(server, client), daemon=True)
            back.start()
            self._copy(client, server)
            back.join()

    @staticmethod
    def _copy(source, target):
        try:
            while data := source.recv(65_536):
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stop(self):
        """Ends it with all tunnels."""
        # Closing alone does not wake the thread that accepts.
        for end in [self.listener, *self.tunnels]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.listener.close()
