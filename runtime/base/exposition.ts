/** Metrics as data, and their text in the Prometheus exposition format 0.0.4. */

export type Labels = Readonly<Record<string, string>>;

export type MetricType = "counter" | "gauge" | "histogram";

/** Opens a family: samples that follow are of it. */
interface FamilyHead {
  readonly kind: "head";
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
}

export interface Sample {
  readonly kind: "sample";
  /** Name of its family; for a histogram with `_bucket`, `_sum` or `_count`. */
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

export type MetricLine = FamilyHead | Sample;

/** All samples of a name, from all sources. */
export interface Family {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly samples: readonly Sample[];
}

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #countByBucket: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#countByBucket = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count++;
    const bounds = this.#bounds;
    for (let bucket = 0; bucket < bounds.length; bucket++) {
      if (!(value <= (bounds[bucket] ?? Number.NaN))) continue;
      this.#countByBucket[bucket] = (this.#countByBucket[bucket] ?? 0) + 1;
      return;
    }
  }

  /**
   * Adds the expected counts of values that are still unknown, which are fractions.
   * @param shareAtMost their distribution function, non-decreasing. @param mean of one value.
   */
  expect(count: number, shareAtMost: (bound: number) => number, mean: number): void {
    this.#sum += count * mean;
    this.#count += count;
    let below = 0;
    for (let bucket = 0; bucket < this.#bounds.length; bucket++) {
      const share = shareAtMost(this.#bounds[bucket] ?? Number.NaN);
      this.#countByBucket[bucket] = (this.#countByBucket[bucket] ?? 0) + count * (share - below);
      below = share;
    }
  }

  lines(name: string, labels: Labels): Sample[] {
    let cumulative = 0;
    const buckets = this.#bounds.map((bound, index) => {
      cumulative += this.#countByBucket[index] ?? 0;
      // Sums of fractions have more digits than matter.
      const rounded = Math.round(cumulative * 1000) / 1000;
      return line(`${name}_bucket`, { ...labels, le: String(bound) }, rounded);
    });
    return [
      ...buckets,
      line(`${name}_bucket`, { ...labels, le: "+Inf" }, this.#count),
      line(`${name}_sum`, labels, this.#sum),
      line(`${name}_count`, labels, this.#count),
    ];
  }
}

/** Returns the lines of a metric with one value. */
export function metric(
  name: string,
  type: "counter" | "gauge",
  help: string,
  value: number,
  labels: Labels = {},
): MetricLine[] {
  return [head(name, type, help), line(name, labels, value)];
}

export function head(name: string, type: MetricType, help: string): FamilyHead {
  return { kind: "head", name, type, help };
}

export function line(name: string, labels: Labels, value: number): Sample {
  return { kind: "sample", name, labels, value };
}

/** Adds labels to all samples; labels that a sample already has take precedence. */
export function labelled(lines: readonly MetricLine[], labels: Labels): MetricLine[] {
  return lines.map((one) =>
    one.kind === "head" ? one : { ...one, labels: { ...labels, ...one.labels } },
  );
}

/**
 * Merges the metrics of several applications: one family per name, in order of first appearance,
 * with the help of the first.
 */
export function familiesOf(lines: readonly MetricLine[]): readonly Family[] {
  const byName = new Map<string, Family & { readonly samples: Sample[] }>();
  let open: (Family & { readonly samples: Sample[] }) | undefined;
  for (const one of lines) {
    if (one.kind === "sample") open?.samples.push(one);
    else {
      const { name, type, help } = one;
      open = byName.get(name) ?? { name, type, help, samples: [] };
      byName.set(name, open);
    }
  }
  return [...byName.values()];
}

/** Returns the text of all lines: one HELP and one TYPE for each name. */
export function exposition(lines: readonly MetricLine[]): string {
  const texts = familiesOf(lines).flatMap(({ name, type, help, samples }) => [
    `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n`,
    `# TYPE ${name} ${type}\n`,
    ...samples.map(textOf),
  ]);
  return texts.join("");
}

function textOf({ name, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  const text = Number.isFinite(value) ? String(value) : infiniteText(value);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${text}\n`;
}

function infiniteText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
