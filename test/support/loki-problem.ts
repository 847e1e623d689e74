import { readFileSync } from "node:fs";
import type {
  Configuration,
  Leaf,
  PipelineProblem,
  PipelineTask,
} from "stratagem/internal/model/pipeline";

/** One of reference/loki/inputs: a pipeline as the cross-checked optima were computed for. */
export interface LokiInput {
  readonly servers: number;
  readonly sloMs: number;
  readonly sloDivisor: number;
  readonly commLatencyMs: number;
  readonly batchSizes: readonly number[];
  readonly leafWeights: Readonly<Record<string, number>>;
  readonly tasks: readonly InputTask[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly pathAccuracy: readonly {
    readonly tasks: readonly string[];
    readonly variants: readonly string[];
    readonly accuracy: number;
  }[];
}

interface InputTask {
  readonly name: string;
  readonly free?: boolean;
  readonly variants: readonly {
    readonly name: string;
    readonly accuracy: number;
    readonly latencyMs: Readonly<Record<string, number>>;
    readonly multFactor?: Readonly<Record<string, number>>;
  }[];
}

export function readLokiInput(file: string): LokiInput {
  return JSON.parse(readFileSync(file, "utf8")) as LokiInput;
}

/**
 * The problem of a reference input. A free task must be the first: it only passes requests on, and
 * is left out.
 */
export function lokiProblem(input: LokiInput): PipelineProblem {
  const free = new Set(input.tasks.filter((task) => task.free).map((task) => task.name));
  const kept = input.tasks.filter((task) => !task.free);
  const indexOf = new Map(kept.map((task, index) => [task.name, index]));
  const parentName = new Map(input.edges.map(({ from, to }) => [to, from]));
  const tasks = kept.map((task, index): PipelineTask => {
    const parent = parentName.get(task.name);
    const children = input.edges
      .filter(({ from }) => from === task.name)
      .map(({ to }) => indexOf.get(to) ?? -1);
    const childNames = children.map((child) => kept[child]?.name ?? "");
    const before = parent === undefined || free.has(parent) ? null : (indexOf.get(parent) ?? -1);
    return {
      name: String(kept[index]?.name),
      parent: before,
      children,
      entryShare: 1,
      variants: task.variants.map((variant) => ({
        name: variant.name,
        accuracy: variant.accuracy,
        fanouts: childNames.map((child) => variant.multFactor?.[child] ?? 1),
        configurations: configurations(input, variant.latencyMs),
      })),
    };
  });
  return {
    tasks,
    servers: [input.servers],
    leaves: leavesOf(input, tasks),
    oneBatchPerVariant: true,
  };
}

function configurations(
  { batchSizes }: LokiInput,
  latencyMs: Readonly<Record<string, number>>,
): Configuration[] {
  return batchSizes.flatMap((batch) => {
    const latency = latencyMs[String(batch)];
    if (latency === undefined) return [];
    return [{ pool: 0, batch, latencyMs: latency, throughputQps: (1000 * batch) / latency }];
  });
}

function leavesOf(input: LokiInput, tasks: readonly PipelineTask[]): Leaf[] {
  return tasks.flatMap((task, index): Leaf[] => {
    if (task.children.length > 0) return [];
    const path = pathTo(tasks, index);
    const names = path.map((step) => tasks[step]?.name);
    const sizes = path.map((step) => tasks[step]?.variants.length ?? 0);
    const accuracyByPath = new Float64Array(sizes.reduce((product, size) => product * size, 1));
    for (const row of input.pathAccuracy) {
      const skipped = row.tasks.length - path.length;
      if (skipped < 0 || row.tasks.slice(skipped).join("|") !== names.join("|")) continue;
      const place = path.reduce((at, step, depth) => {
        const variants = tasks[step]?.variants ?? [];
        const variant = variants.findIndex(({ name }) => name === row.variants[skipped + depth]);
        return at * variants.length + variant;
      }, 0);
      accuracyByPath[place] = row.accuracy;
    }
    return [
      {
        task: index,
        weight: input.leafWeights[task.name] ?? 0,
        path,
        latencyLimitMs: input.sloMs / input.sloDivisor - input.commLatencyMs * path.length,
        accuracyByPath,
      },
    ];
  });
}

function pathTo(tasks: readonly PipelineTask[], leaf: number): number[] {
  const path: number[] = [];
  for (let step: number | null = leaf; step !== null; step = tasks[step]?.parent ?? null) {
    path.unshift(step);
  }
  return path;
}
