/** Looks up metrics by name and labels. */
import type { Labels, MetricLine, Sample } from "../../base/exposition.ts";
import type { LiveHistogram } from "./live.ts";

export class Samples {
  readonly #byName = new Map<string, Sample[]>();

  constructor(lines: readonly MetricLine[]) {
    for (const line of lines) {
      if (line.kind === "head") continue;
      const samples = this.#byName.get(line.name) ?? [];
      samples.push(line);
      this.#byName.set(line.name, samples);
    }
  }

  /** Sums the samples that have at least these labels; null without any. */
  sum(name: string, labels: Labels = {}): number | null {
    const found = this.#with(name, labels);
    if (found.length === 0) return null;
    const sum = found.reduce((total, { value }) => total + value, 0);
    return Number.isFinite(sum) ? sum : null;
  }

  /** Distinct values of a label among the samples of a metric, in order of appearance. */
  valuesOf(name: string, label: string): string[] {
    const samples = this.#byName.get(name) ?? [];
    return [...new Set(samples.flatMap(({ labels }) => labels[label] ?? []))];
  }

  /** Value of a label in the first sample. */
  label(name: string, label: string): string | null {
    return this.#byName.get(name)?.[0]?.labels[label] ?? null;
  }

  /**
   * Sum of all histograms with a name; null without any. @param factor applied to the bounds, to
   * convert seconds into milliseconds.
   */
  histogram(name: string, factor = 1): LiveHistogram | null {
    const cumulativeByBound = new Map<number, number>();
    for (const { labels, value } of this.#byName.get(`${name}_bucket`) ?? []) {
      const bound = numberOf(labels["le"]);
      cumulativeByBound.set(bound, (cumulativeByBound.get(bound) ?? 0) + value);
    }
    if (cumulativeByBound.size === 0) return null;
    const entries = [...cumulativeByBound].sort(([one], [other]) => (one < other ? -1 : 1));
    let before = 0;
    const counts = entries.map(([, cumulative]) => {
      const count = cumulative - before;
      before = cumulative;
      return count;
    });
    const bounds = entries.map(([bound]) => bound).filter(Number.isFinite);
    return { bounds: bounds.map((bound) => rounded(bound * factor)), counts };
  }

  #with(name: string, wanted: Labels): readonly Sample[] {
    const pairs = Object.entries(wanted);
    const samples = this.#byName.get(name) ?? [];
    return samples.filter(({ labels }) => pairs.every(([label, text]) => labels[label] === text));
  }
}

function numberOf(text = ""): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  return Number(text);
}

/** Removes rounding errors of the multiplication. */
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}
