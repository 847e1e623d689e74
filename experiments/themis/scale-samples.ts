/** Level, goal, instances and cores of a live server, as often as it can be asked. */
import type { ThemisBundle } from "../../runtime/bundle/schema.ts";
import { type Metrics, metricOf, watchMetrics } from "../harness/metrics.ts";
import { sum } from "../harness/numbers.ts";

const POLL_MS = 100;

export interface ScaleSample {
  readonly atMs: number;
  /** Cores of all instances. */
  readonly held: number;
  readonly text: string;
}

/** @param samples gets one more each time. */
export function watchScales(url: string, { tasks }: ThemisBundle, samples: ScaleSample[]) {
  return watchMetrics(url, POLL_MS, (metrics, atMs) => {
    const names = tasks.map(({ name }) => name);
    const held = sum(names.map((name) => metricOf(metrics, "cores_held", name)));
    samples.push({ atMs, held, text: stateText(metrics, names) });
  });
}

function stateText(metrics: Metrics, tasks: readonly string[]): string {
  const stages = tasks.map((task) => {
    const of = (kind: string) => metricOf(metrics, kind, task);
    const counts = ["ready", "assigned", "target"].map((kind) => of(`instances_${kind}`));
    return `${task} ${counts.join("/")} x ${of("instance_cores_target")}, ${of("cores_held")}`;
  });
  const goal = metricOf(metrics, "goal_level");
  return `${metricOf(metrics, "level")} (${goal}); ${stages.join("; ")}`;
}

/** A line for each change. */
export function timelineLines(samples: readonly ScaleSample[]): string[] {
  const changed = samples.filter(({ text }, at) => text !== samples[at - 1]?.text);
  return [
    "level (goal); of each task instances up/assigned/target x cores of each, cores held:",
    ...changed.map(({ atMs, text }) => `  ${(atMs / 1000).toFixed(1).padStart(6)} s: ${text}`),
  ];
}
