import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { LokiBundle, LokiOptions } from "../../runtime/bundle/schema.ts";
import { type LokiSketch, lokiBundle } from "./loki-bundle.ts";

/** Folder of the reference answers; tests that need it are skipped without. */
export const REFERENCE = process.env["STRATAGEM_REFERENCE"];

interface Input {
  readonly servers: number;
  readonly sloMs: number;
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly leafWeights: Readonly<Record<string, number>>;
  readonly tasks: readonly {
    readonly name: string;
    readonly variants: readonly {
      readonly name: string;
      readonly accuracy: number;
      readonly latencyMs: Readonly<Record<number, number>>;
      readonly multFactor?: Readonly<Record<string, number>>;
    }[];
  }[];
}

interface Row {
  readonly demandQps: number;
  readonly feasible: boolean;
  readonly step: "hardware" | "accuracy";
  readonly allocation: readonly {
    readonly task: string;
    readonly variant: string;
    readonly batch: number;
    readonly replicas: number;
  }[];
  readonly flows: readonly {
    readonly leaf: string;
    readonly path: string;
    readonly ratio: number;
  }[];
}

export function readReference<T>(file: string): T {
  return JSON.parse(readFileSync(join(String(REFERENCE), "loki", file), "utf8")) as T;
}

/**
 * A bundle with the reference plans of a pipeline for some demands, all of them if none are named.
 */
export function referenceBundle(
  name: "traffic_chain" | "traffic_tree",
  demandsQps: readonly number[],
  policy: Partial<LokiOptions>,
): LokiBundle {
  const input = readReference<Input>(`inputs/${name}.json`);
  const { table } = readReference<{ table: readonly Row[] }>(`${name}.json`);
  const parentOf = (task: string) => input.edges.find(({ to }) => to === task)?.from;
  const rows = table.filter(
    ({ feasible, demandQps }) =>
      feasible && (demandsQps.length === 0 || demandsQps.includes(demandQps)),
  );
  const sketch: LokiSketch = {
    sloMs: input.sloMs,
    workers: [input.servers],
    policy,
    tasks: input.tasks.map(({ name: task, variants }) => {
      const parent = parentOf(task);
      return {
        name: task,
        ...(parent === undefined ? {} : { parent }),
        weight: input.leafWeights[task] ?? 0,
        variants: variants.map(({ multFactor, ...variant }) => ({
          ...variant,
          fanouts: multFactor ?? {},
        })),
      };
    }),
    levels: rows.map(({ demandQps, step, allocation, flows }) => ({
      loadQps: demandQps,
      step,
      instances: allocation.map(({ task, variant, batch, replicas }) => ({
        of: `${task}/${variant}`,
        batch,
        replicas,
      })),
      paths: flows.flatMap(({ leaf, path, ratio }) => {
        const along = path.split("|").toReversed();
        let task: string | undefined = leaf;
        for (let step = 0; step < along.length; step++) {
          along[step] = `${task}/${along[step]}`;
          task = parentOf(String(task));
        }
        // What an optimiser leaves of a path that its plan has no server for.
        const isServed = along.every((of) =>
          allocation.some((a) => `${a.task}/${a.variant}` === of),
        );
        return isServed && ratio > 1e-4 ? [{ along: along.toReversed(), ratio }] : [];
      }),
    })),
  };
  return lokiBundle(sketch);
}
