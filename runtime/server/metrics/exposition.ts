/** Lines of the Prometheus exposition format 0.0.4. */

export type Labels = Readonly<Record<string, string>>;

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
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) this.#countByBucket[bucket] = (this.#countByBucket[bucket] ?? 0) + 1;
  }

  lines(name: string, labels: Labels): string[] {
    let cumulative = 0;
    const buckets = this.#bounds.map((bound, index) => {
      cumulative += this.#countByBucket[index] ?? 0;
      return line(`${name}_bucket`, { ...labels, le: String(bound) }, cumulative);
    });
    return [
      ...buckets,
      line(`${name}_bucket`, { ...labels, le: "+Inf" }, this.#count),
      line(`${name}_sum`, labels, this.#sum),
      line(`${name}_count`, labels, this.#count),
    ];
  }
}

/** A metric of one value. */
export function metric(
  name: string,
  type: "counter" | "gauge",
  help: string,
  value: number,
  labels: Labels = {},
): string[] {
  return [...head(name, type, help), line(name, labels, value)];
}

export function head(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

export function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
