#!/usr/bin/env python3
"""Writes the seeds of the fuzzers whose inputs are texts: tests/fuzz/make_corpus.py [FOLDER].

One file an idea; what the fuzzers found from there on and what crashed once stands beside it in
tests/fuzz/corpus, named grown_* and crash_*, and is not touched."""
import json
import pathlib
import random
import struct
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus")
UUID = "0123abcd-4567-4890-abcd-0123456789ab"
DIGEST = "sha256:" + "0f" * 32


def namespace(**changes):
    one = {"tenant": "default", "model": "m", "revision": "r", "dtype": "bf16", "quantisation": "", "layout": "l",
           "parallel_layout": "tp2", "flat": False, "unit_tokens": 16, "segment_tokens": 512, "ranks": 2, "ttl_ns": 0,
           "groups": [{"kind": 0, "block_tokens": 16, "window_tokens": 0, "block_bytes": 65536},
                      {"kind": 1, "block_tokens": 16, "window_tokens": 128, "block_bytes": 0},
                      {"kind": 2, "block_tokens": 32, "window_tokens": 0, "block_bytes": 4096}]}
    return {**one, **changes}


def without(key):
    one = namespace()
    del one[key]
    return one


# The first character says which file (modulo 4), and from "4" on what is odd about it: "4" to "7" others may write or
# read there, or it is long, "8" to ";" nothing is there, "<" to "?" something else is. See files_fuzz.cc.
SAME = {**namespace(), "model": "m@", "mode": "off"}
SAME["groups"] = SAME["groups"][:1]
FILES = {
    "node_others": f"4{UUID} 7\n",
    "node_others_empty": "4",
    "node_made": "8",
    "node_no_directory": "<",
    "node_no_room": f"<{UUID} 7\n",
    "namespaces_many_kept": "=" + json.dumps([SAME]),
    "namespaces_many": "=" + json.dumps([{**SAME, "mode": "default"}]),
    "namespaces_checksum": "1" + json.dumps({"checksum": "0", "namespaces": [namespace()]}),
    "namespaces_modes": "1" + json.dumps([namespace(mode="shadow"), namespace(model="n", mode="none"), namespace(model="o", mode=1)]),
    "namespaces_no_tenant": "1" + json.dumps([namespace(tenant="")]),
    "namespaces_small": "1" + json.dumps([namespace(unit_tokens=32, groups=namespace()["groups"][:1], segment_tokens=0)]),
    "tokens_others": "6a-token-of-the-seeds tenant",
    "tokens_none": ":",
    "tokens_missing": ":a",
    "tokens_directory": ">",
    "tokens_star": "2a-token-of-the-seeds *\n",
    "tenants_none_named": ";",
    "tenants_missing": ";a",
    "tenants_directory": "?",
    "tenants_limit_first": "3host=1 host=2\n",
    "tenants_long_file": "7host=1\n",
    "node_whole": f"0{UUID} 7\n",
    "node_upper": f"0{UUID.upper()} 7\n",
    "node_short": f"0{UUID[:-1]} 7\n",
    "node_no_count": f"0{UUID}\n",
    "node_last_count": f"0{UUID} 18446744073709551615\n",
    "node_empty": "0",
    "namespaces_whole": "1" + json.dumps([namespace(), namespace(tenant="other", flat=True, unit_tokens=0)], indent=1),
    "namespaces_none": "1[]",
    "namespaces_object": "1{}",
    "namespaces_torn": "1" + json.dumps([namespace()])[:-9],
    "namespaces_no_model": "1" + json.dumps([without("model")]),
    "namespaces_no_unit": "1" + json.dumps([namespace(unit_tokens=0)]),
    "namespaces_many_groups": "1" + json.dumps([namespace(groups=namespace()["groups"][:1] * 65)]),
    "namespaces_no_group": "1" + json.dumps([namespace(groups=[])]),
    "namespaces_wrong_type": "1" + json.dumps([namespace(ranks="2")]),
    "namespaces_out_of_range": "1" + json.dumps([namespace(ranks=2**32 + 1, ttl_ns=-1)]),
    "namespaces_window": "1" + json.dumps([namespace(groups=[{**namespace()["groups"][1], "window_tokens": 0}])]),
    "namespaces_kind": "1" + json.dumps([namespace(groups=[{**namespace()["groups"][0], "kind": 256}])]),
    "namespaces_twice": "1" + json.dumps([namespace(), namespace()]),
    "tokens_whole": f"2a-token-of-the-seeds tenant read write # both\n{DIGEST} other admin\n\n# nothing\n",
    "tokens_read": "2a-token-of-the-seeds tenant read\n",
    "tokens_admin": "2a-token-of-the-seeds tenant admin\n",
    "tokens_default": "2a-token-of-the-seeds tenant",
    "tokens_short": "2short tenant\n",
    "tokens_no_tenant": "2a-token-of-the-seeds\n",
    "tokens_right": "2a-token-of-the-seeds tenant all\n",
    "tokens_digest": "2sha256:0F tenant\n",
    "tokens_hex": "2sha256:" + "0G" * 32 + " tenant\n",
    "tokens_twice": "2a-token-of-the-seeds a\na-token-of-the-seeds b\n",
    "tokens_long_tenant": "2a-token-of-the-seeds " + "t" * 256 + "\n",
    "tokens_latin1": b"2a-token-of-the-seeds caf\xe9\n",
    "tenants_whole": "3a-tenant-of-the-seeds host=1.5GiB share=4 # both\n* host=0\n\n# nothing\nother share=1000\n",
    "tenants_host": "3a-tenant-of-the-seeds host=64K",
    "tenants_none": "3a-tenant-of-the-seeds\n",
    "tenants_no_tenant": "3host=1\n",
    "tenants_word": "3a-tenant-of-the-seeds disk=1\n",
    "tenants_host_twice": "3a-tenant-of-the-seeds host=1 host=2\n",
    "tenants_size": "3a-tenant-of-the-seeds host=1X\n",
    "tenants_share": "3a-tenant-of-the-seeds share=1001\n",
    "tenants_share_twice": "3a-tenant-of-the-seeds share=1 share=2\n",
    "tenants_twice": "3* host=1\n* host=2\n",
    "tenants_long": "3" + "t" * 256 + " host=1\n",
    "tenants_lines": "3" + "\n" * 4097,
    "tenants_latin1": b"3caf\xe9 host=1\n",
}

PART = "\x1e"  # between file, variables and arguments: see config_fuzz.cc
WHOLE = """# every kind of key
listen = "127.0.0.1:7440"
socket = "off"
http = "[::1]:7441"
runtime_dir = "/dev/shm/larder"
host_bytes = "1.5 GiB"
shards = 2
spin_us = 50
allow_trace_time = true
log_level = "debug"
log_file = ""
policy = 'lru'
"""
CONFIG = {
    "whole": WHOLE,
    "everywhere": WHOLE + PART + "LARDER_SHARDS=3" + PART + "--spin-us=7" + PART + "--lease-ms" + PART + "500",
    "empty": "",
    "unknown_key": "lisen = 1\n",
    "table": "[listen]\nhost = 1\n",
    "array": "shards = [1, 2]\n",
    "date": "log_file = 1979-05-27T07:32:00Z\n",
    "float": "shards = 1.5\n",
    "infinite": "host_bytes = inf\n",
    "not_loopback": 'listen = "0.0.0.0:1"\n',
    "not_loopback_token": 'listen = "0.0.0.0:1"\ntoken_file = "/t"\n',
    "http_not_loopback": 'http = "10.0.0.1:1"\n',
    "nothing": 'listen = "off"\nsocket = "off"\n',
    "two_lines": 'log_file = "a\\nb"\n',
    "escape": 'log_file = "a\\u0001\\"\\\\\\t"\n',
    "long_socket": f'socket = "/{"s" * 120}"\n',
    "long_text": f'log_file = "{"s" * 4100}"\n',
    "no_port": 'listen = "host"\n',
    "bad_port": 'listen = "host:70000"\n',
    "bare_v6": 'listen = "::1:7"\n',
    "empty_v6": 'listen = "[]:7"\n',
    "localhost": 'listen = "localhost:0"\n',
    "choice": 'policy = "fifo"\n',
    "out_of_bounds": "shards = 65\n",
    "sizes": "host_bytes = 4096" + "".join(PART + s for s in ["4K", "4KiB", "1.5 M", "0x10", "1.5", "1e3", "2X", "99999999T", "nan", "5 B"]),
    "too_small": 'host_bytes = "1"\n',
    "whole_bytes": 'host_bytes = "1.3"\n',
    "bool": "allow_trace_time = 1\n",
    "negative": "shards = -1\n",
    "syntax": "shards = = 1\n",
    "tls_cert": 'tls_cert = "/c.pem"\n',
    "small": 'host_bytes = "1MiB"\n',
    "too_long": 'shards = 1\n\x1d',
    "config_named": PART + "LARDER_CONFIG=/nowhere/larder.toml",
    "env_no_value": PART + "LARDER_SHARDS" + PART + "LARDER_SHARDS=1",
    "shards_negative": PART + "--shards=-1",
    "trace_time": PART + "LARDER_ALLOW_TRACE_TIME=maybe",
    "help": PART + "--help",
    "version": PART + "--version",
    "print": PART + "--print-config",
    "flag_unknown": PART + "--nonsense",
    "flag_bool": PART + "--allow-trace-time",
    "flag_bad": PART + "--shards=x",
    "config_missing": PART + "--config=/nowhere/larder.toml",
    "env_unknown": PART + "LARDER_LISEN=1",
    "env_others": PART + "LARDER_TOKEN=1" + PART + "LARDER_SERVICE_HOST=1" + PART + "LARDER_PORT_1=2",
    "env_bad": PART + "LARDER_HOST_BYTES=much",
    "utf8": b'log_file = "caf\xc3\xa9"\n',
    "latin1": b'\x1e--log-file=caf\xe9',
}

LINE = {"timestamp": 27482, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2, 18446744073709551615]}


def lines(*objects):
    return "".join(json.dumps(one) + "\n" for one in objects)


TRACE = {  # the first character: see trace_fuzz.cc
    "plain": "\x00" + lines(LINE, {**LINE, "more": None}),
    "packed": "\x01" + lines(LINE, LINE, LINE),
    "packed_in_one": "0" + lines(LINE, LINE),
    "blank_lines": "\x01\n \t\r\n" + lines(LINE) + "\n\n",
    "no_newline": "\x01" + lines(LINE)[:-1],
    "not_json": "\x00{nonsense\n",
    "not_object": "\x00[1]\n",
    "no_timestamp": "\x00{}\n",
    "no_ids": "\x00" + lines({k: v for k, v in LINE.items() if k != "hash_ids"}),
    "ids_no_array": "\x00" + lines({**LINE, "hash_ids": 1}),
    "ids_negative": "\x00" + lines({**LINE, "hash_ids": [1, -1]}),
    "ids_text": "\x00" + lines({**LINE, "hash_ids": ["a"]}),
    "length_text": "\x00" + lines({**LINE, "input_length": "\ud83d\ude00"}),
    "length_real": "\x00" + lines({**LINE, "output_length": 1.5}),
    "length_huge": "\x00" + lines({**LINE, "input_length": 2**28 + 1}),
    "time_huge": "\x00" + lines({**LINE, "timestamp": 2**48 + 1}),
    "latin1": b"\x00{\"timestamp\": \"\xe9\"}\n",
    # As it is: two whole frames of "a\n" and of nothing, a torn one, one that grows to many bytes.
    "zstd_raw": b"\x00" + bytes.fromhex("28b52ffd2002110000610a"),
    "zstd_empty": b"\x00" + bytes.fromhex("28b52ffd2000010000"),
    "zstd_torn": b"\x00" + bytes.fromhex("28b52ffd2002110000"),
    "zstd_bad": b"\x00" + bytes.fromhex("28b52ffd2002070000610a"),  # a block of a kind that is none
    "zstd_many_ids": b"\x00" + bytes.fromhex(  # one line with an id more than is allowed
        "28b52ffda042000800d40100c4027b2274696d657374616d70223a302c22696e7075745f6c656e6774686f7574686173685f"
        "696473223a5b302c0300bdffb9fcd7ec01b5d309440000000100fdff390002440000000100fdff390002440000000100fdff"
        "3900024d0000185d7d0a0100940010"),
    "zstd_grows": b"\x00" + bytes.fromhex("28b52ffd0058") + bytes.fromhex("02001061") * 130 + bytes.fromhex("03001061"),
    "zstd_bomb": b"\x00" + bytes.fromhex("28b52ffd0058") + bytes.fromhex("02001061") * 2600 + bytes.fromhex("03001061"),
}

GET = "GET /metrics HTTP/1.1\r\nHost: x\r\n"
HTTP = {  # the first character is how long the pieces are, by 16: see http_fuzz.cc
    "metrics": "\xff" + GET + "\r\n",
    "health": "\x00GET /healthz HTTP/1.0\r\n\r\n",
    "two": "\xff" + GET + "\r\n" + GET + "Connection: close\r\n\r\n",
    "head": "\xffHEAD /metrics HTTP/1.1\r\n\r\n",
    "missing": "\xffGET /nothing?a=b&c=%41%zz#d HTTP/1.1\r\n\r\n",
    "post": "\xffPOST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
    "post_long": "\xffPOST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\nhello",
    "chunked": "\xffPOST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "chunked_bad": "\xffPOST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhello",
    "multipart": "\xffPOST /metrics HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 60\r\n\r\n"
                 "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b--\r\n",
    "form": "\xffPOST /metrics HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\na=b&c=d",
    "range": "\xff" + GET + "Range: bytes=0-1,5-,-3\r\n\r\n",
    "accept": "\xff" + GET + "Accept-Encoding: gzip, br, deflate\r\nAccept: */*;q=0.1\r\n\r\n",
    "gzip": "\xffPOST /metrics HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
    "expect": "\xffPOST /metrics HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
    "upgrade": "\xffPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no_version": "\xffGET /metrics\r\n\r\n",
    "no_request": "\xff\r\n\r\n",
    "torn": "\xff" + GET[:20],
    "long_path": "\xffGET /" + "a" * 9000 + " HTTP/1.1\r\n\r\n",
    "long_header": "\xff" + GET + "X: " + "a" * 9000 + "\r\n\r\n",
    "many_headers": "\xff" + GET + "X: y\r\n" * 150 + "\r\n",
}



def frame(type=2, flags=0, id=1, body=b"", array=b"", payload=b"", lengths=None, magic=b"LRDR", version=1, reserved=0):
    head = magic + struct.pack("<BBHQ", version, type, flags, id)
    head += struct.pack("<IIII", *(lengths or (len(body), len(array), len(payload))), reserved)
    return head + body + array + payload


def script(piece=16, slice=16, sinks=2, how=0, zeros=0):  # see frame_fuzz.cc
    return bytes([piece, slice, sinks, how, zeros])


SKIP_HEADS, DROP_PAYLOADS, TRIM, CLOSED, FAILED, TROUBLED, FDS = 1, 2, 8, 16, 32, 48, 192
PUT = frame(11, id=7, body=b"\x08\x07\x10\x09", array=b"k" * 72, payload=b"v" * 300)
FRAME = {
    "ping": script() + frame(),
    "two_pings": script(piece=255, slice=255) + frame() + frame(id=2),
    "put_inline": script() + PUT,
    "put_whole": script(piece=255, slice=255, sinks=1) + PUT + frame(),
    "put_bytewise": script(piece=0, slice=0) + PUT,
    "put_no_place": script(sinks=0) + PUT,
    "put_many_places": script(sinks=200, how=TRIM) + frame(11, payload=b"v" * 900) + PUT,
    "put_dropped": script(how=DROP_PAYLOADS) + PUT + PUT,
    "head_skipped": script(how=SKIP_HEADS | TRIM) + PUT + PUT,
    "reply": script() + frame(9, flags=1, array=b"r" * 64),
    "chunk": script() + frame(12, id=7, array=b"c" * 24, payload=b"v" * 40),
    "fds_missing": script() + frame(4, flags=0x100),
    "fds": script(how=FDS) + frame(4, flags=0x100) * 3,
    "fds_two": script(piece=1, how=FDS) + frame(27, flags=0x200) + frame(),
    "fds_too_many": script(piece=15, how=FDS) + frame(body=b"\0" * 400),
    "moved_in_buffer": script() + frame(body=b"\0" * 9000) * 2,
    "bad_magic": script() + frame(magic=b"LRDS"),
    "bad_version": script() + frame(version=2),
    "bad_reserved": script() + frame(reserved=1),
    "long_body": script() + frame(lengths=(2**20 + 1, 0, 0)),
    "long_array": script() + frame(lengths=(0, 2**23 + 1, 0)),
    "long_payload": script() + frame(lengths=(0, 0, 2**18 + 1)),
    "torn": script() + PUT[:50],
    "torn_closed": script(how=CLOSED) + PUT[:50],
    "closed": script(how=CLOSED) + frame(),
    "failed": script(how=FAILED) + frame(),
    "troubled": script(how=TROUBLED) + PUT[:9],
    "large_body": script(piece=255, slice=255, zeros=130) + frame(lengths=(2**20, 0, 0)),
    "large_array": script(piece=90, slice=200, how=TRIM, zeros=200) + frame(8, lengths=(0, 200 * 8192, 0)),
    "large_skipped": script(piece=90, how=SKIP_HEADS, zeros=100) + frame(8, lengths=(0, 600_000, 100)),
    "large_payload": script(piece=90, how=DROP_PAYLOADS, zeros=33) + frame(12, lengths=(0, 0, 2**18)),
    "large_payload_no_place": script(piece=255, sinks=0, zeros=33) + frame(12, lengths=(0, 0, 2**18)),
}

# Fields that FuzzedDataProvider takes one after the other: any bytes make an input, long ones a full one.
DRAWN = {f"drawn_{n:02}": random.Random(n).randbytes(200 << n % 5) for n in range(20)}


def main():
    for name, seeds in {"files": FILES, "config": CONFIG, "trace": TRACE, "http": HTTP, "frame": FRAME, "client": DRAWN, "header": DRAWN}.items():
        folder = ROOT / name
        folder.mkdir(parents=True, exist_ok=True)
        for seed, text in seeds.items():
            encoding = "latin-1" if name == "http" else "utf-8"
            (folder / seed).write_bytes(text if isinstance(text, bytes) else text.encode(encoding))


main()
