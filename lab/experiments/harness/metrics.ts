/** What a live server says of itself at /metrics. */
import { setTimeout as pause } from "node:timers/promises";

/** Values by series, name and labels as the server writes them. */
export type Metrics = ReadonlyMap<string, number>;

export async function metricsText(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

/** Leaves out the label that names the application, for these servers have one. */
export async function metricsOf(url: string): Promise<Metrics> {
  const text = await metricsText(url);
  const application = /^stratagem_bundle_info\{.*application="([^"]*)"/m.exec(text)?.[1];
  const label = `model="${application}"`;
  const lines = text.split("\n").map((line) => {
    if (!line.startsWith("stratagem_")) return line;
    return line.replace(`${label},`, "").replace(label, "").replace("{}", "");
  });
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end), Number(line.slice(end + 1))] as const;
    }),
  );
}

/** A value without labels, NaN without one. */
export function metricOf(metrics: Metrics, name: string): number {
  return metrics.get(`stratagem_${name}`) ?? Number.NaN;
}

/** Values of a name, summed. @param labels that a series must have, such as `task="gate"`. */
export function sumOf(metrics: Metrics, name: string, ...labels: readonly string[]): number {
  let total = 0;
  for (const [series, value] of metrics) {
    const isOfName = series.startsWith(`stratagem_${name}{`);
    if (isOfName && labels.every((label) => series.includes(label))) total += value;
  }
  return total;
}

/** Workers that a task has ready, has been assigned, and is to have. */
export function taskWorkersText(metrics: Metrics, task: string): string {
  const counts = ["ready", "assigned", "target"].map((state) =>
    sumOf(metrics, "task_workers", `task="${task}"`, `state="${state}"`),
  );
  return `${task} ${counts.join("/")}`;
}

/** A state that was seen, in words. */
export interface Sample {
  readonly atMs: number;
  readonly metrics: Metrics;
  readonly text: string;
}

/** Asks a server again and again until the watch ends. @param textOf the state, in words. */
export function watchMetrics(
  url: string,
  everyMs: number,
  textOf: (metrics: Metrics) => string,
): { end(): Promise<readonly Sample[]> } {
  const startMs = performance.now();
  const samples: Sample[] = [];
  let isEnded = false;
  const watching = (async () => {
    while (!isEnded) {
      const metrics = await metricsOf(url);
      samples.push({ atMs: performance.now() - startMs, metrics, text: textOf(metrics) });
      await pause(everyMs);
    }
  })();
  return {
    async end() {
      isEnded = true;
      await watching;
      return samples;
    },
  };
}

/** A line for each state that differs from the one before. */
export function changeLines(samples: readonly Sample[]): string[] {
  return samples
    .filter(({ text }, at) => text !== samples[at - 1]?.text)
    .map(({ atMs, text }) => `  ${secondsText(atMs)}: ${text}`);
}

/** A time, aligned. */
export function secondsText(atMs: number): string {
  return `${(atMs / 1000).toFixed(1).padStart(6)} s`;
}
