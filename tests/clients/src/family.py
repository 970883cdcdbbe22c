# SPDX-License-Identifier: MIT
"""Connects to OWN after OTHER has been tried; the server, gone meanwhile, comes
back on OTHER only."""
import socket
import sys
import threading
import time

own, other = sys.argv[1:]


def listener(address, port=0):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if ":" in address:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind((address, port))
    s.listen()
    return s


# While OWN is served, the failure of OTHER goes straight back: it is tried.
first = listener(own)
port = first.getsockname()[1]
socket.getaddrinfo("both.test", port, type=socket.SOCK_STREAM)
tried = socket.socket(socket.AF_INET6 if ":" in other else socket.AF_INET)
try:
    tried.connect((other, port))
    sys.exit("the other address answered")
except ConnectionRefusedError:
    pass
first.close()


def come_back():
    time.sleep(0.7)
    server = listener(other, port)
    peer, _ = server.accept()
    peer.sendall(b"hello")
    peer.close()


threading.Thread(target=come_back, daemon=True).start()
s = socket.socket(socket.AF_INET6 if ":" in own else socket.AF_INET)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 50000)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\5\0\0\0")
number, buffer = s.fileno(), s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
s.connect((own, port))
print("answer:", s.recv(100).decode())
if (
    s.fileno() == number
    and s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    and s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    and s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == buffer
    and s.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8) == b"\1\0\0\0\5\0\0\0"
    and not s.get_inheritable()
):
    print("options kept")
