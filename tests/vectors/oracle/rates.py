"""The rate math on fractions, independent of the engine, to check the vectors of the rates.

    python3 tests/vectors/oracle/rates.py          # checks tests/vectors/rates/*.json

Written from the contract (rates.md) and the table of calls in engine/src/rate/text.rs; slow and simple on purpose. The
faults of an error are compared as a set. For a text that is not JSON, only the presence of an error is compared.
"""

import json
import pathlib
import re
import sys
from fractions import Fraction

HERE = pathlib.Path(__file__).parent
# Minor units, for the currencies that the vectors name.
MINOR = {
    **dict.fromkeys("AUD BRL CHF CNY DKK EUR GBP IDR IRR LBP MGA MRU NOK PLN RUB SEK THB TRY USD VED VES ZWG".split(), 2),
    **dict.fromkeys("ISK JPY KRW VND XOF CLP".split(), 0),
    **dict.fromkeys("BHD KWD TND".split(), 3),
    **dict.fromkeys("CLF UYW".split(), 4),
}
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE]([+-]?[0-9]+))?", re.ASCII)
TIME = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z", re.ASCII
)
OPPOSITE_IS_ZERO = "has an opposite that rounds to 0.000000"
MISSING = object()


def half_away(value, decimals):
    """The value in units of 10^-decimals, rounded to the nearest, halves away from zero."""
    scaled = abs(value) * 10**decimals
    units = int(scaled + Fraction(1, 2))
    return -units if value < 0 else units


def written(units, decimals):
    digits = str(abs(units)).rjust(decimals + 1, "0")
    text = digits[: len(digits) - decimals] + ("." + digits[len(digits) - decimals :] if decimals else "")
    return ("-" if units < 0 else "") + text


def shortest(value):
    text = written(half_away(value, 6), 6)
    return text.rstrip("0").rstrip(".")


def significant_digits(value):
    """The digits of a value of at most 400 decimals. The zeros at the end of an integer count."""
    places = next(n for n in range(401) if (value * 10**n).denominator == 1)
    return len(str(abs(int(value * 10**places))))


class Call:
    """The faults of a request, collected while it is read."""

    def __init__(self):
        self.faults = []

    def fault(self, path, message):
        self.faults.append({"path": path, "message": message})
        return None

    def only(self, obj, path, *keys):
        """Allows no other members; the message names the known one that is most similar."""
        for name in obj:
            if name not in keys:
                alike = [(distance(name.lower(), key.lower()), key) for key in keys
                         if distance(name.lower(), key.lower()) <= -(-max(len(name), len(key)) // 3)]
                self.fault(f"{path}.{name}", f"is unknown: is {min(alike)[1]} meant?" if alike else "is unknown")

    def member(self, obj, path, key):
        if key not in obj:
            return self.fault(f"{path}.{key}", "is required") or MISSING
        return obj[key]

    def number(self, obj, path, key, decimals=6, digits=15, low=None, below=None):
        text = self.member(obj, path, key)
        path = f"{path}.{key}"
        if text is MISSING:
            return None
        if not isinstance(text, str):
            return self.fault(path, "must be a decimal in a string")
        match = NUMBER.fullmatch(text)
        if not match:
            return self.fault(path, "must be a decimal such as 11.05")
        zero = not re.search("[1-9]", re.split("[eE]", text)[0])
        value = Fraction(0) if zero else Fraction(text)
        if (value * 10**decimals).denominator != 1:
            return self.fault(path, f"must have at most { {4: 'four', 6: 'six'}.get(decimals, decimals) } decimals")
        if digits and significant_digits(value) > digits:
            return self.fault(path, f"must have at most {digits} significant digits")
        if low and value < low[0] or low and low[0] == value and not low[1]:
            return self.fault(path, low[2])
        if below and value >= below[0]:
            return self.fault(path, below[1])
        return value

    def rate(self, obj, path, key):
        return self.number(obj, path, key, low=(0, False, "must be greater than 0"))

    def value(self, obj, path, key):
        most = (10**15, "must be less than 1,000,000,000,000,000")
        return self.number(obj, path, key, digits=None, low=(0, True, "must not be negative"), below=most)

    def markup(self, obj, path, key="markupPercentage"):
        wrong = "must be 0 or more and less than 100"
        return self.number(obj, path, key, 4, None, (0, True, wrong), (100, wrong))

    def name(self, obj, path, key):
        text = self.member(obj, path, key)
        if text is not MISSING and not (isinstance(text, str) and 1 <= len(text) <= 256):
            return self.fault(f"{path}.{key}", "must be a string of 1 to 256 characters")
        return text

    def time(self, obj, path, key):
        text = self.member(obj, path, key)
        if text is not MISSING and not (isinstance(text, str) and TIME.fullmatch(text)):
            return self.fault(f"{path}.{key}", "must be a time such as 2026-11-20T17:40:00.000Z")
        return text

    def one_of(self, obj, path, key, allowed, message):
        text = self.member(obj, path, key)
        if text is MISSING:
            return None
        if not isinstance(text, str):
            return self.fault(f"{path}.{key}", "must be a string")
        return text if text in allowed else self.fault(f"{path}.{key}", message)

    def currency(self, obj, path, key):
        return self.one_of(obj, path, key, MINOR, "must be the ISO 4217 code of a currency, in capitals")

    def list(self, obj, path, key):
        items = self.member(obj, path, key)
        if items is not MISSING and not isinstance(items, list):
            return self.fault(f"{path}.{key}", "must be an array") or []
        return [] if items is MISSING else items

    def object(self, value, path):
        return value if isinstance(value, dict) else self.fault(path, "must be an object")

    def key(self, obj, path):
        types = ("SALES", "PURCHASE", "INTERCOMPANY")
        kind = self.one_of(obj, path, "exchangeRateType", types, "must be SALES, PURCHASE or INTERCOMPANY")
        source, target = self.currency(obj, path, "currencyIdFrom"), self.currency(obj, path, "currencyIdTo")
        if source and source == target:
            self.fault(f"{path}.currencyIdTo", "must differ from currencyIdFrom")
        return kind, source, target

    def set_rate(self, obj, path):
        if self.object(obj, path) is None:
            return None
        key_ = self.key(obj, path)
        rate = self.rate(obj, path, "rateValue")
        if obj.get("createdBy") is not None:
            self.name(obj, path, "createdBy")
        return {"key": key_, "rate": rate, "by": obj.get("createdBy"), "day": as_of(obj)}

    def held_rate(self, obj, path):
        self.set_rate(obj, path)
        if isinstance(obj, dict):
            self.value(obj, path, "rateValueWithMarkup")
            self.name(obj, path, "setAt")
            self.time(obj, path, "createdDate")
            if obj.get("lastModified") is not None:
                self.time(obj, path, "lastModified")

    def distinct(self, obj, path, name, read, identity):
        """A list of objects with distinct identities."""
        first, repeats = {}, []
        for index, item in enumerate(self.list(obj, path, name)):
            at, count = f"{path}.{name}[{index}]", len(self.faults)
            if self.object(item, at) is not None:
                read(item, at)
            if len(self.faults) > count:
                continue
            if identity(item) in first:
                repeats.append(at)
            first.setdefault(identity(item), item)
        for at in repeats:
            self.fault(at, "is a duplicate")
        return first

    def pair_markup(self, obj, path):
        self.only(obj, path, "exchangeRateType", "currencyIdFrom", "currencyIdTo", "markupPercentage")
        self.key(obj, path)
        self.markup(obj, path)

    def levels(self, obj, path):
        """The content of every level: its unit, the rates set at it, its markups by pair and for all others."""
        levels = []
        for index, item in enumerate(self.list(obj, path, "levels")):
            at = f"{path}.levels[{index}]"
            if self.object(item, at) is None:
                continue
            self.only(item, at, "businessUnitId", "rates", "markupPercentage", "markups")
            unit, rates, pairs = self.name(item, at, "businessUnitId"), self.rates(item, at), {}
            general = self.markup(item, at) if item.get("markupPercentage") is not None else None
            if item.get("markups") is not None:
                pairs = self.distinct(item, at, "markups", self.pair_markup, lambda it: unordered(*key(it)))
            levels.append((unit, rates, pairs, general))
        return levels

    def rates(self, obj, path):
        """The rates set at a level, by key."""
        are_all_read = True
        rates, errors = {}, []
        for index, item in enumerate(self.list(obj, path, "rates")):
            at, before = f"{path}.rates[{index}]", len(self.faults)
            rate = self.set_rate(item, at)
            if len(self.faults) > before:
                are_all_read = False
                continue
            if rate["key"] in rates:
                errors.append((index, at, "is set twice"))
                continue
            rates[rate["key"]] = {**rate, "index": index}
        if are_all_read:
            for (kind, source, target), rate in rates.items():
                if (kind, target, source) not in rates and half_away(1 / rate["rate"], 6) == 0:
                    at = f"{path}.rates[{rate['index']}].rateValue"
                    errors.append((rate["index"], at, OPPOSITE_IS_ZERO + ": set the opposite too"))
        for _, at, message in sorted(errors):
            self.fault(at, message)
        return rates


def as_of(obj):
    """The day of the reference that a rate was taken from: passed on unchecked, if it is a text."""
    reference = obj.get("reference")
    day = obj.get("asOf", reference.get("date") if isinstance(reference, dict) else None)
    return day if isinstance(day, str) else None


def opposite(call, obj, path):
    rate = call.rate(obj, path, "rate")
    if rate is None:
        return None
    if half_away(1 / rate, 6) == 0:
        return call.fault(f"{path}.rate", OPPOSITE_IS_ZERO)
    return {"rate": shortest(1 / rate)}


def markup(call, obj, path):
    rate, percentage, flag = call.rate(obj, path, "rate"), call.markup(obj, path), obj.get("opposite")
    if flag is not None and not isinstance(flag, bool):
        return call.fault(f"{path}.opposite", "must be true or false")
    if flag and rate and half_away(1 / rate, 6) == 0:
        return call.fault(f"{path}.rate", OPPOSITE_IS_ZERO)
    if rate is None or percentage is None:
        return None
    return {"rate": shortest((1 / rate if flag else rate) * (100 - percentage) / 100)}


def convert(call, obj, path):
    amount, rate = call.number(obj, path, "amount", 400, 28), call.value(obj, path, "rate")
    has_currency, minor = obj.get("currency") is not None, obj.get("minorUnit")
    if has_currency and minor is not None:
        return call.fault(f"{path}.minorUnit", "must not be combined with currency")
    if not has_currency and minor is None:
        return call.fault(path, "must have currency or minorUnit")
    if has_currency:
        minor = MINOR.get(call.currency(obj, path, "currency"))
    elif type(minor) is not int or not 0 <= minor <= 6:
        return call.fault(f"{path}.minorUnit", "must be an integer from 0 to 6")
    if None in (amount, rate, minor):
        return None
    units = half_away(amount * rate, minor)
    if len(str(abs(units))) > 28:
        return call.fault(f"{path}.amount", "must convert to at most 28 digits")
    return {"amount": written(units, minor)}


def cross(call, obj, path):
    rate, per = call.rate(obj, path, "rate"), call.rate(obj, path, "per")
    if rate is None or per is None:
        return None
    units = half_away(rate / per, 6)
    if units == 0:
        return call.fault(f"{path}.rate", "divided by per rounds to 0.000000")
    if significant_digits(Fraction(units, 10**6)) > 15:
        return call.fault(f"{path}.rate", "divided by per has more than 15 significant digits")
    return {"rate": shortest(rate / per)}


def deviation(call, obj, path):
    old, new = call.rate(obj, path, "old"), call.rate(obj, path, "new")
    tolerance = call.markup(obj, path, "tolerancePercentage")
    if None in (old, new, tolerance):
        return None

    def is_like(other):
        return abs(new - other) <= other / 20

    percent = (new - old) / old * 100
    text = written(half_away(percent, 4), 4)
    out = {"percent": text.rstrip("0").rstrip("."), "exceeds": abs(percent) > tolerance}
    if out["percent"] == "-0":
        out["percent"] = "0"
    if is_like(1 / old):
        out["hint"] = "INVERTED"
    elif any(is_like(old * Fraction(10) ** k) for k in range(-25, 26) if k != 0):
        out["hint"] = "DECIMAL_POINT"
    return out


def unordered(kind, source, target):
    return kind, frozenset((source, target))


def markup_of(levels, pair):
    """The nearest level with a markup for the pair: the pair's own entry there, else the general one."""
    for _, _, pairs, general in levels:
        if pair in pairs:
            return Fraction(pairs[pair]["markupPercentage"])
        if general is not None:
            return general
    return Fraction(0)


def used_rates(levels):
    """The rates that a shop uses, by key in order."""
    decided = {}
    for unit, rates, _, _ in levels:
        here = {}
        for (kind, source, target), rate in rates.items():
            if unordered(kind, source, target) in decided:
                continue
            here[kind, source, target] = (rate["rate"], rate["by"], unit, rate["day"])
            if (kind, target, source) not in rates:
                here[kind, target, source] = (1 / rate["rate"], rate["by"], unit, rate["day"])
        for key_, what in here.items():
            decided.setdefault(unordered(*key_), {})[key_] = what
    rows = {}
    for pair, both in decided.items():
        percentage = markup_of(levels, pair)
        for (kind, source, target), (value, by, unit, day) in both.items():
            row = {"exchangeRateType": kind, "currencyIdFrom": source, "currencyIdTo": target}
            row |= {"rateValue": shortest(value), "rateValueWithMarkup": shortest(value * (100 - percentage) / 100)}
            row |= ({"createdBy": by} if by is not None else {}) | {"setAt": unit}
            rows[kind, source, target] = row | ({"asOf": day} if day is not None else {})
    return dict(sorted(rows.items(), key=lambda row: row[0]))


def used(call, obj, path):
    levels = call.levels(obj, path)
    return None if call.faults else {"rates": list(used_rates(levels).values())}


def key(rate):
    return rate["exchangeRateType"], rate["currencyIdFrom"], rate["currencyIdTo"]


def held(used_, created, modified):
    order = "exchangeRateType currencyIdFrom currencyIdTo rateValue rateValueWithMarkup createdDate createdBy lastModified setAt asOf"
    row = {**used_, "createdDate": created, "lastModified": modified, "asOf": as_of(used_)}
    row |= {name: shortest(Fraction(row[name])) for name in ("rateValue", "rateValueWithMarkup")}
    return {name: row[name] for name in order.split() if row.get(name) is not None}


def difference(call, obj, path):
    before = call.distinct(obj, path, "before", call.held_rate, key)
    levels = call.levels(obj, path)
    at = call.time(obj, path, "at")
    if call.faults:
        return None
    after = used_rates(levels)

    def moved(key_):
        values = ("rateValue", "rateValueWithMarkup")
        both = key_ in before and key_ in after
        return both and any(Fraction(before[key_][v]) != Fraction(after[key_][v]) for v in values)

    out = {"createdRates": [], "updatedRates": [], "deletedRates": [], "rates": []}
    for key_ in sorted(before.keys() | after.keys()):
        was, now = before.get(key_), after.get(key_)
        if now is None:
            out["deletedRates"].append(held(was, was["createdDate"], was.get("lastModified")))
        elif was is None:
            out["createdRates"].append(held(now, at, at))
            out["rates"].append(held(now, at, at))
        else:
            row = held(now, was["createdDate"], at if moved(key_) else was.get("lastModified"))
            out["rates"].append(row)
            if moved(key_) or moved((key_[0], key_[2], key_[1])):
                out["updatedRates"].append(row)
    return out


def check(call, obj, path):
    call.rates(obj, path)
    return {}


OPS = {
    "opposite": opposite,
    "markup": markup,
    "convert": convert,
    "cross": cross,
    "deviation": deviation,
    "used": used,
    "difference": difference,
    "check": check,
}


MEMBERS = {
    "opposite": ["rate"],
    "markup": ["rate", "markupPercentage", "opposite"],
    "convert": ["amount", "rate", "currency", "minorUnit"],
    "cross": ["rate", "per"],
    "deviation": ["old", "new", "tolerancePercentage"],
    "used": ["levels"],
    "difference": ["before", "levels", "at"],
    "check": ["rates"],
}


def distance(one, other):
    """The number of letters to add, remove or replace."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row = row, [at]
        for column, other_letter in enumerate(other, 1):
            row.append(min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != other_letter)))
    return row[-1]


def answer(request):
    """The expected answer of the engine to the value of a request."""
    all_ = Call()
    answers = []
    if all_.object(request, "$") is not None:
        all_.only(request, "$", "calls")
        calls = all_.list(request, "$", "calls")
        if not all_.faults and not 1 <= len(calls) <= 10_000:
            all_.fault("$.calls", "must have 1 to 10,000 calls")
            calls = []
        for index, obj in enumerate(calls):
            path, one = f"$.calls[{index}]", Call()
            if one.object(obj, path) is not None:
                op = one.member(obj, path, "op")
                if op is not MISSING and not (isinstance(op, str) and op in OPS):
                    one.fault(f"{path}.op", f"must be {', '.join(list(OPS)[:-1])} or check")
                elif op is not MISSING:
                    one.only(obj, path, "op", *MEMBERS[op])
                    answers.append(OPS[op](one, obj, path))
            all_.faults += one.faults
    if not all_.faults:
        return {"ok": {"answers": answers}}
    code = "unknown_member" if all(fault["message"].startswith("is unknown") for fault in all_.faults) else "invalid"
    return {"error": {"code": code, **all_.faults[0], "faults": all_.faults}}


def sorted_faults(result):
    """The answer with its faults in the order of their text, so that the order they were found in does not matter."""
    if "error" not in result:
        return result
    error = result["error"]
    assert {name: error[name] for name in ("path", "message")} == error["faults"][0], "repeats the first fault"
    return {"code": error["code"], "faults": sorted(map(json.dumps, error["faults"]))}


def whole_or_float(text):
    """JSON Schema: a number without a fraction is an integer."""
    return int(text[: text.index(".")]) if re.fullmatch(r"-?[0-9]+\.0+", text) else float(text)


def expected(call):
    text = call["ratesText"] if "ratesText" in call else json.dumps(call["rates"])
    try:
        return answer(json.loads(text.removeprefix("\ufeff"), parse_float=whole_or_float))
    except json.JSONDecodeError:
        return None


def main():
    wrong = count = 0
    for file in sorted((HERE.parent / "rates").glob("*.json")):
        for vector in json.loads(file.read_text())["vectors"]:
            count += 1
            here, there = expected(vector["call"]), vector["answer"]
            if here is None:
                same = there["error"]["path"] == "$" and there["error"]["message"].startswith("must be JSON: ")
            else:
                # Compares texts, so that the order of members counts.
                same = json.dumps(sorted_faults(here)) == json.dumps(sorted_faults(there))
            if not same:
                wrong += 1
                print(f"{file.name}: {vector['name']}\n  oracle {json.dumps(here)}\n  vector {json.dumps(there)}")
    print(f"{count} vectors, {wrong} differ")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
