"""Carries packets between two devices that it makes, each packet so much later than it came.

slow-link.py DEVICE OTHER DELAY_MS: says a line once both devices are there, and goes on until it is
killed. For kernels without netem; the delay is that of one way.
"""

import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF = 0x400454CA
TUNSETOFFLOAD = 0x400454D0
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000
# A header tells how the kernel cuts what it has not cut yet: a large message is one packet here,
# and carrying it costs as little as a small one.
IFF_VNET_HDR = 0x4000
UNCUT = 0x01 | 0x02 | 0x04
LONGEST_PACKET = 65536 + 64
# What waits at most in each direction; more is dropped, as a router would.
QUEUE_PACKETS = 10000


def opened(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), flags))
    fcntl.ioctl(device, TUNSETOFFLOAD, UNCUT)
    return device


def take(device, queue, delay):
    """Reads all that is there."""
    while True:
        try:
            packet = os.read(device, LONGEST_PACKET)
        except BlockingIOError:
            return
        if len(queue) < QUEUE_PACKETS:
            queue.append((time.monotonic() + delay, packet))


def give(queue, device):
    """Writes all that is due. @returns seconds until the next is, None for none."""
    while queue:
        left = queue[0][0] - time.monotonic()
        if left > 0:
            return left
        try:
            os.write(device, queue.popleft()[1])
        except OSError:
            pass  # The device is down: the packet is lost.
    return None


def main():
    first, second = opened(sys.argv[1]), opened(sys.argv[2])
    delay = float(sys.argv[3]) / 1000
    there, back = deque(), deque()
    print("ready", flush=True)
    while True:
        waits = [wait for wait in (give(there, second), give(back, first)) if wait is not None]
        ready, _, _ = select.select([first, second], [], [], min(waits) if waits else None)
        for device in ready:
            try:
                take(device, there if device == first else back, delay)
            except OSError:
                time.sleep(0.001)  # A device that is not up yet.


main()
