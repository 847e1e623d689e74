/** Reads metrics back from the text that Prometheus gets, so that no two places count alike. */
import type { Labels } from "../metrics/exposition.ts";
import type { LiveHistogram } from "./live.ts";

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export class Samples {
  readonly #byName = new Map<string, Sample[]>();

  /** @param text as `exposition.ts` writes it. */
  constructor(text: string) {
    for (const line of text.split("\n")) {
      const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
      if (name === undefined) continue;
      const samples = this.#byName.get(name) ?? [];
      samples.push({ labels: labelsOf(labels), value: numberOf(value) });
      this.#byName.set(name, samples);
    }
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** Sum over the samples that have these labels, whatever others they have; null without any. */
  sum(name: string, labels: Labels = {}): number | null {
    const found = this.#with(name, labels);
    if (found.length === 0) return null;
    const sum = found.reduce((total, { value }) => total + value, 0);
    return Number.isFinite(sum) ? sum : null;
  }

  /** Values of a label among the samples of a metric, each once, in their order. */
  valuesOf(name: string, label: string): string[] {
    const samples = this.#byName.get(name) ?? [];
    return [...new Set(samples.flatMap(({ labels }) => labels[label] ?? []))];
  }

  /** Value of a label of the first sample. */
  label(name: string, label: string): string | null {
    return this.#byName.get(name)?.[0]?.labels[label] ?? null;
  }

  /**
   * All histograms of a name, added up; null without any. @param factor of the bounds, which turns
   * seconds into milliseconds.
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

function labelsOf(text: string): Labels {
  const pairs = [...text.matchAll(LABEL)].map(([, label = "", value = ""]) => [
    label,
    value.replace(/\\(.)/g, (_, letter) => (letter === "n" ? "\n" : letter)),
  ]);
  return Object.fromEntries(pairs);
}

function numberOf(text = ""): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  return Number(text);
}

/** Without what multiplying a decimal fraction adds. */
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}
