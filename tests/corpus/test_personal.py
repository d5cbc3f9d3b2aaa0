"""What is masked, what is left, and that no text takes long."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea.corpus.personal import PATTERNS, mask

# Joined here, so that no scanner takes them for secrets of ours; none is one.
GITHUB = "gh" + "p_" + "Ab1" * 12
AWS = "AK" + "IA" + "IOSFODNN7EXAMPLE"
SLACK = "xo" + "xb-" + "123456789012-abcdefABCDEF"
OPENAI = "sk" + "-proj-" + "aB3dE6gH9jK2mN5pQ8"
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
DASHES = "-" * 5
PEM = (
    f"{DASHES}BEGIN RSA PRIVATE KEY{DASHES}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"
    f"MIIEow+/==\nabc\n{DASHES}END RSA PRIVATE KEY{DASHES}"
)

MASKED = [
    ("write to Ann.O-Neil+news@mail.example.co.uk.", "write to <mail>."),
    ("<ann@example.org>, bob@example.org", "<<mail>>, <mail>"),
    ("käthe@müller.example wrote", "käthe@müller.example wrote"),
    ("käthe@mueller.example wrote", "<mail> wrote"),
    (f"token={GITHUB};", "token=<key>;"),
    (f"{AWS} {SLACK}", "<key> <key>"),
    (f"key '{OPENAI}'", "key '<key>'"),
    ("sk" + "-abcdefghijklmnopqrstuvwxyz123456.", "<key>."),
    (f"Bearer {JWT}", "Bearer <key>"),
    (f"before\n{PEM}\nafter", "before\n<key>\nafter"),
    ("host 74.125.127.100, up", "host <ip>, up"),
    ("74.125.127.100:80", "<ip>:80"),
    ("[2001:4860:4860::8888]:53", "[<ip>]:53"),
    ("ip 8.8.8.8, IP: 8.8.4.4, ip=1.1.1.1", "ip <ip>, IP: <ip>, ip=<ip>"),
    ("host 8.8.8.8 and server 1.1.1.1", "host <ip> and server <ip>"),
    ("from 8.8.8.8 to 1.1.1.1 at 4.4.4.4", "from <ip> to <ip> at <ip>"),
    ("root@8.8.8.8, http://8.8.8.8/a, [8.8.8.8]", "root@<ip>, http://<ip>/a, [<ip>]"),
    ("8.8.8.8:53 and 8.8.8.0/24", "<ip>:53 and <ip>/24"),
    ("at 2606:2800:220:1:248:1893:25c8:1946.", "at <ip>."),
    ("DE89 3704 0044 0532 0130 00", "<iban>"),
    ("to ES9121000418450200051332 now", "to <iban> now"),
    ("to ES91 2100 0418 4502 0005 1332 THIS year", "to <iban> THIS year"),
    ("card 4111 1111 1111 1111.", "card <card>."),
    ("4111111111111111, 3782-822463-10005", "<card>, <card>"),
    ("call +44 20 7946 0958 today", "call <phone> today"),
    ("+1 (415) 555-2671", "<phone>"),
    ("+4930123456", "<phone>"),
    ("(+49) 171 1234567, (+49 171 1234567)", "<phone>, (<phone>)"),
    ("(call +49 171 1234567)", "(call <phone>)"),
    ("(415) 555-2671 or 415.555.2671", "<phone> or <phone>"),
    ("1-415-555-2671", "1-<phone>"),
    ("at 1-415-555-2671", "at 1-<phone>"),
    ("Tel.: 030 / 1234567", "Tel.: <phone>"),
    ("my phone number is 030 1234567", "my phone number is <phone>"),
]  # fmt: skip

LEFT = [
    "version 1.2.3.4 and v1.2.3.4, 1.18.99.1, RFC 19.1.2.20, Version 74.125.127.100",
    "Bump to 1.7.99.1, server release to 7.1.99.1, X.Org X Server 1.18.99.1",
    "8.8.8.8 and 1.2.3.4, Chrome/1.2.3.4, 1.2.3.4/usr, 1.2.3.4:latest, chat 1.2.3.4",
    "ip 10.0.0.1, host 127.0.0.1:80, 192.0.2.7/24, 0171 1234567, 030/1234567",
    "10.0.0.1 127.0.0.1 192.168.1.20 172.16.0.1 192.0.2.7 255.255.255.255 999.1.1.1 60.1.2.300",
    "1.2.3.4.5 and 74.125.127.100.5, 224.0.0.114, https://example.org/5754863779053568",
    "::1 fe80::1 2001:db8::1 12:30:45 std::add ::add 2000:00 2024:12:31",
    "ISBN 978-0-306-40615-7, ISBN 0-19-852663-6, ISSN 0317-8471",
    "2001-01-01, 01/02/2003, 31.12.1999, 2024-12-31T23:59:59+01:00",
    "123456789012, 3.14159265358979, 1,234,567,890, 555-1234, 0x5f3759df, 1e+20000000000",
    "pages 100-200-300, 192-168-1000, 123-456-7890123, 555-234-56789",
    "4111 1111 1111 1112, 1234567890123456, 4111-1111 1111-1111",
    "DE88 3704 0044 0532 0130 00, GB82 ABCD, AB12 CDEF GHIJ KLMN",
    "a @decorator, @user, user@host, a@b, x@1.2.3, git@host:path, npm@10.2.0, 5 @ 3.50",
    "sk-learn-is-a-library-for-everyone-to-use, sk-short, task-aB3dE6gH9jK2mN5pQ8xx",
    "telephone, phone 7, tel 112, fax machines of 1987, mobile 4G, telnet 12345678",
    f"{DASHES}BEGIN PUBLIC KEY{DASHES} abc {DASHES}END PUBLIC KEY{DASHES}",
    f"a file that begins with {DASHES}BEGIN PRIVATE KEY{DASHES} is one",
    "c + 12345678901234567890 + d, ++12345678, a+12345678, +0123456789",
    "<mail> <phone> <key>",
]


@pytest.mark.parametrize(("text", "expected"), MASKED)
def test_it_is_masked(text: str, expected: str) -> None:
    masked, counts = mask(text)
    assert masked == expected
    marks = {pattern.mark for pattern in PATTERNS}
    assert counts == {mark: expected.count(mark) for mark in marks if mark in expected}


@pytest.mark.parametrize("text", LEFT)
def test_it_is_left(text: str) -> None:
    assert mask(text) == (text, {})


@pytest.mark.parametrize("mark", sorted({pattern.mark for pattern in PATTERNS}))
def test_every_mark_is_tried(mark: str) -> None:
    assert any(mark in expected for _, expected in MASKED)


PARTS = st.sampled_from([
    "ann@example.org", "+44 20 7946 0958", "74.125.127.100", "4111111111111111", GITHUB, JWT,
    "ES9121000418450200051332", "2001:4860:4860::8888", "415-555-2671", PEM,
    "ip 8.8.8.8", "8.8.8.8:53", "(+49) 171 1234567",
])  # fmt: skip


@given(st.lists(st.one_of(PARTS, st.text("ab1.-+@:() \n")), max_size=6).map(" ".join))
def test_nothing_is_left_to_mask(text: str) -> None:
    """What is masked has no more of it, and as many marks as were counted."""
    masked, counts = mask(text)
    assert mask(masked) == (masked, {})
    assert {mark: masked.count(mark) for mark in counts} == counts


@given(st.text())
def test_a_text_without_a_find_keeps_every_character(text: str) -> None:
    masked, counts = mask(text)
    assert counts or masked == text


MEGABYTE = 1_000_000
UNITS = [
    *"a1-.@:+( _/=A\n", "a@", "@a.", "a.", "a@a.", "1.", "1 ", "1-", "4111 ", "4111", "+1", "+1 ",
    "(2", "(222) ", "222-", "222-222-", "A1", "AB12", "AB12 ", "AB12CD34", "2a:", "2aaa:", "2:",
    "::", "1.1.1.", "eyJ", "-eyJaaaaaaaa", "eyJaaaaaaaa.", "eyJaaaaaaaa.eyJaaaaaaaa.", "ghp_",
    "ghp_a-", "xoxb-", "-xoxb-1", "sk-", "sk-a", "AKIA", "hf_", "AIza", f"{DASHES}",
    f"{DASHES}BEGIN PRIVATE KEY{DASHES}", f"{DASHES}BEGIN PRIVATE KEY{DASHES}a-",
    f"{DASHES}BEGIN A", f"{DASHES}END PRIVATE KEY{DASHES}", "phone ", "tel:1", "phone number is ",
    "phone 1", "telephone", "version ", "from ", "from 8.8.8.8", "//", "[1", "8.8.8.8:", "(+4",
    "(+4) 1", "é", "é@", "𝟙",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_a_hostile_megabyte_takes_no_longer_than_its_size(unit: str) -> None:
    """Nothing here may be quadratic: that would take hours, and a slow machine some seconds."""
    text = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]
    since = time.process_time()
    mask(text + "!")
    assert time.process_time() - since < 6


def test_a_megabyte_of_all_of_them_in_any_order() -> None:
    rng = random.Random(3)
    text = ""
    while len(text) < MEGABYTE:
        text += "".join(rng.choices(UNITS, k=1000)) * 3
    since = time.process_time()
    mask(text)
    assert time.process_time() - since < 6
