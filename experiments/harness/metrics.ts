/** What a live server says of itself at /metrics. */
import { setTimeout as pause } from "node:timers/promises";

/** Values by series, name and labels as the server writes them. */
export type Metrics = ReadonlyMap<string, number>;

export async function metricsText(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

export async function metricsOf(url: string): Promise<Metrics> {
  const lines = (await metricsText(url)).split("\n");
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end), Number(line.slice(end + 1))] as const;
    }),
  );
}

/** A value, NaN without one. @param task its label, if the series has one. */
export function metricOf(metrics: Metrics, name: string, task?: string): number {
  const label = task === undefined ? "" : `{task="${task}"}`;
  return metrics.get(`stratagem_${name}${label}`) ?? Number.NaN;
}

/** Values of a name whatever its labels. */
export function sumOf(metrics: Metrics, name: string): number {
  let total = 0;
  for (const [series, value] of metrics) {
    if (series.startsWith(`stratagem_${name}{`)) total += value;
  }
  return total;
}

/** Asks a server again and again until the watch ends. */
export function watchMetrics(
  url: string,
  everyMs: number,
  onMetrics: (metrics: Metrics, atMs: number) => void,
): { end(): Promise<void> } {
  const startMs = performance.now();
  let isEnded = false;
  const watching = (async () => {
    while (!isEnded) {
      const metrics = await metricsOf(url);
      onMetrics(metrics, performance.now() - startMs);
      await pause(everyMs);
    }
  })();
  return {
    async end() {
      isEnded = true;
      await watching;
    },
  };
}
