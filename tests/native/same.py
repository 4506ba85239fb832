"""Whether two outputs of the driver are the same but for the launches; and some kernel ran. INPUT ORIGINAL REWRITTEN."""
import struct
import sys

given, want, got = (open(p, "rb").read() for p in sys.argv[1:4])
at = 0


def word():
    global at
    at += 8
    return struct.unpack_from("<Q", given, at - 8)[0]


def sizes(end):
    """Bytes of each place of the case that begins here."""
    global at
    count = word()
    at += 24 * count
    all = 0
    for _ in range(2):
        for _ in range(word()):
            n = word()
            at += n
            all += n
    at = end
    return all


place = launches = 0
for _ in range(word()):
    end = word() + at
    n = 24 + sizes(end)
    a, b = want[place:place + n], got[place:place + n]
    if len(b) < n or a[:8] != b[:8] or a[16:] != b[16:]:
        sys.exit(1)
    launches += struct.unpack_from("<Q", b, 8)[0]
    place += n
sys.exit(0 if launches else 2)
