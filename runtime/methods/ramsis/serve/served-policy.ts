/** The bundle that decides in a running server. */
import { isDeepStrictEqual } from "node:util";
import { isOfSameMethod } from "../../../bundle/same-method.ts";
import type { Bundle, RamsisBundle, RamsisLevel } from "../../../bundle/schema.ts";
import { readRamsisBundle } from "../bundle/fields.ts";
import { NamedBatches } from "../core/named-batches.ts";
import { fastestServiceMs } from "../core/policy.ts";
import type { Scheduler } from "./scheduler.ts";

/** The bundle that decides, which may be replaced while requests wait and run. */
export class ServedPolicy {
  readonly #scheduler: Pick<Scheduler, "replaceBundle">;
  bundle: RamsisBundle;
  /** SHA-256 of the file; levels that were added since do not change it. */
  bundleSha256: string;
  /** Time of the fastest variant for one row. */
  fastestMs: number;

  /** @param bundleSha256 of the file it is from. */
  constructor(
    bundle: RamsisBundle,
    bundleSha256: string,
    scheduler: Pick<Scheduler, "replaceBundle">,
  ) {
    this.#scheduler = scheduler;
    this.bundle = bundle;
    this.bundleSha256 = bundleSha256;
    this.fastestMs = fastestServiceMs(bundle);
  }

  get topLevel(): RamsisLevel {
    const top = this.bundle.levels.at(-1);
    if (top === undefined) throw new RangeError("a bundle has at least one level");
    return top;
  }

  /** Time of one variant for one row, of the bucket that it serves fastest. */
  variantMs(variant: number): number {
    const { buckets } = this.bundle;
    if (buckets === undefined) return new NamedBatches(this.bundle).leastMs(variant);
    const times = buckets.map(({ serviceTimes: { decisionMs } }) => {
      return decisionMs.data[variant * (decisionMs.shape[1] ?? 0)] ?? Number.POSITIVE_INFINITY;
    });
    return Math.min(...times);
  }

  /**
   * Adds a level above all others, which decides from now on if the load calls for it.
   * @throws Error if it does not fit this bundle; nothing has changed then.
   */
  addLevel(level: RamsisLevel): void {
    const topQps = this.topLevel.loadQps;
    if (!(level.loadQps > topQps)) {
      throw new RangeError(`expected a level above ${topQps} qps, got ${level.loadQps} qps`);
    }
    // Only the new level is checked, so that requests are not delayed.
    const validated = readRamsisBundle({ ...this.bundle, levels: [level] });
    this.#swap({ ...this.bundle, levels: [...this.bundle.levels, ...validated.levels] });
  }

  /**
   * Replaces the bundle that decides. @param bundle a validated one.
   * @returns why it cannot, or null; nothing has changed if it cannot.
   */
  replace(bundle: Bundle, bundleSha256: string): string | null {
    const refusal = (difference: string) => `it has another ${difference}`;
    if (!isOfSameMethod(this.bundle, bundle)) return refusal("method");
    const difference = differenceOf(this.bundle, bundle);
    if (difference !== null) return refusal(difference);
    this.#swap(bundle);
    this.bundleSha256 = bundleSha256;
    this.fastestMs = fastestServiceMs(bundle);
    return null;
  }

  #swap(bundle: RamsisBundle): void {
    this.#scheduler.replaceBundle(bundle);
    this.bundle = bundle;
  }
}

/**
 * Returns how two bundles differ so that one cannot follow the other in a running server, or null.
 */
function differenceOf(before: RamsisBundle, after: RamsisBundle): string | null {
  const partsOf = (bundle: RamsisBundle): readonly (readonly [string, unknown])[] => [
    ["application", bundle.application],
    ["method", bundle.method],
    ["SLO latency", bundle.slo.latencyMs],
    ["list of classes", bundle.slo.classes?.map(({ name, latencyMs }) => [name, latencyMs])],
    ["cluster", bundle.cluster],
    [
      "list of variants",
      bundle.tasks.map(({ name, variants }) => [name, variants.map(servedPart)]),
    ],
    ["balancer", bundle.policy.balancer],
    ["rule for late queries", bundle.policy.drop],
    ["list of buckets", bundle.buckets?.map(({ name }) => name)],
    [
      "grid of states or set of actions",
      [bundle.decisionSpace, bundle.classSpaces, axesOf(bundle)],
    ],
  ];
  const parts = partsOf(after);
  const [difference] = partsOf(before).filter(
    ([, part], index) => !isDeepStrictEqual(part, parts[index]?.[1]),
  );
  return difference?.[0] ?? null;
}

/** Axes of the buckets' tables. */
function axesOf({ buckets }: RamsisBundle): unknown {
  return buckets?.map(({ maxQueue, queued, slackMs }) => ({ maxQueue, queued, slackMs }));
}

type Task = RamsisBundle["tasks"][number];

/** Parts of a variant that clients and workers see. */
function servedPart({ name, accuracy, model }: Task["variants"][number]): unknown {
  return { name, accuracy, model };
}
