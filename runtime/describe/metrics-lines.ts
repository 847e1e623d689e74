/** Lines of Prometheus' text format as names, labels and values. */

export interface MetricValue {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** Parses the samples; skips comments and invalid lines. */
export function metricValues(text: string): MetricValue[] {
  return text.split("\n").flatMap((line) => {
    const found = line.startsWith("#") ? null : metricValue(line.trim());
    return found === null ? [] : [found];
  });
}

function metricValue(line: string): MetricValue | null {
  const brace = line.indexOf("{");
  const space = line.indexOf(" ");
  if (brace < 0 || (space >= 0 && space < brace)) {
    return space <= 0 ? null : withValue(line.slice(0, space), new Map(), line.slice(space));
  }
  const read = labelsFrom(line, brace + 1);
  return read === null ? null : withValue(line.slice(0, brace), read.labels, line.slice(read.end));
}

/** @param rest the value, and optionally a timestamp after it. */
function withValue(name: string, labels: MetricValue["labels"], rest: string): MetricValue | null {
  const [word = ""] = rest.trim().split(" ");
  const value = word === "+Inf" ? Number.POSITIVE_INFINITY : Number(word);
  return word === "" ? null : { name, labels, value };
}

/** Returns null if the labels do not end. */
function labelsFrom(
  line: string,
  from: number,
): { readonly labels: Map<string, string>; readonly end: number } | null {
  const labels = new Map<string, string>();
  let at = from;
  while (line[at] !== "}") {
    const equals = line.indexOf('="', at);
    if (equals < 0) return null;
    const name = line.slice(at, equals).replace(/^[, ]+/, "");
    let value = "";
    for (at = equals + 2; line[at] !== '"'; at++) {
      if (at >= line.length) return null;
      const isEscaped = line[at] === "\\";
      if (isEscaped) at++;
      const character = line[at] ?? "";
      value += isEscaped && character === "n" ? "\n" : character;
    }
    labels.set(name, value);
    at++;
    if (line[at] === ",") at++;
  }
  return { labels, end: at + 1 };
}
