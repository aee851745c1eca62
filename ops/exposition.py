"""Prometheus' text format, read strictly: what is not allowed raises ValueError with the line."""
import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)\Z")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|\Z)')
KINDS = ("counter", "gauge", "histogram")
PARTS = ("_bucket", "_sum", "_count")


class Family:
    def __init__(self, name, text):
        self.name, self.text, self.kind, self.samples = name, text, None, []

    def owns(self, name):
        if self.kind == "histogram":
            return name in [self.name + part for part in PARTS]
        return name == self.name

    def labels(self):
        return {key for _, labels, _ in self.samples for key in labels}


def parse_labels(text):
    labels, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        if not found or found.group(1) in labels:
            raise ValueError(f"labels: {text}")
        labels[found.group(1)] = found.group(2)
        at = found.end()
    return labels


def parse_value(text):
    value = float(text)
    if math.isnan(value) or math.isinf(value) or value < 0:
        raise ValueError(f"value {text}: not a finite number of at least 0")
    return value


def parse(text):
    """Families by name. Each must have HELP, then TYPE, then all of its samples, each once."""
    if not text.endswith("\n"):
        raise ValueError("the last line does not end")
    families, now = {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, help_text = line[7:].split(" ", 1)
            if name in families or not NAME.match(name):
                raise ValueError(f"family twice, or no name: {line}")
            now = families[name] = Family(name, help_text)
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            if now is None or name != now.name or now.kind or now.samples or kind not in KINDS:
                raise ValueError(f"type out of place: {line}")
            now.kind = kind
        else:
            found = SAMPLE.match(line)
            if not found or now is None or not now.kind or not now.owns(found.group(1)):
                raise ValueError(f"sample out of place: {line}")
            sample = (found.group(1), parse_labels(found.group(2) or ""), parse_value(found.group(3)))
            if any(sample[:2] == other[:2] for other in now.samples):
                raise ValueError(f"series twice: {line}")
            now.samples.append(sample)
    return families


def histograms(family):
    """Per labels (without le): the buckets as (le, count), sum, count."""
    found = {}
    for name, labels, value in family.samples:
        rest = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        one = found.setdefault(rest, {"buckets": []})
        if name.endswith("_bucket"):
            one["buckets"].append((float(labels["le"]), value))
        else:
            one[name[len(family.name) + 1:]] = value
    return found


def check_histogram(family):
    for labels, one in histograms(family).items():
        bounds = [bound for bound, _ in one["buckets"]]
        counts = [count for _, count in one["buckets"]]
        if bounds != sorted(set(bounds)) or not bounds or bounds[-1] != math.inf:
            raise ValueError(f"{family.name}{labels}: bounds {bounds}")
        if counts != sorted(counts):
            raise ValueError(f"{family.name}{labels}: buckets are not cumulative: {counts}")
        if counts[-1] != one["count"] or (one["count"] == 0) != (one["sum"] == 0):
            raise ValueError(f"{family.name}{labels}: +Inf {counts[-1]}, count {one['count']}, sum {one['sum']}")


def check_conventions(families):
    """What https://prometheus.io/docs/practices/naming/ asks for."""
    for family in families.values():
        if not re.match(r"larder_[a-z0-9_]+\Z", family.name) or len(family.text) < 10 or not family.samples:
            raise ValueError(f"{family.name}: a name larder_…, a help text and samples are needed")
        if (family.kind == "counter") != family.name.endswith("_total"):
            raise ValueError(f"{family.name}: is a {family.kind}; counters, and they alone, end in _total")
        if re.search(r"_(ms|us|ns|kb|mb|mib|percent)(_|\Z)", family.name):
            raise ValueError(f"{family.name}: base units only: seconds, bytes, ratio")
        if family.kind == "histogram":
            if not family.name.endswith("_seconds"):
                raise ValueError(f"{family.name}: no unit in the name of a histogram")
            check_histogram(family)
