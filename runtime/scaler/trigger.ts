/** Triggers of ScaledObjects: their metadata and the values they get. */
import type { LoadWatch } from "./load-watch.ts";
import type { ScaledObjectRef } from "./messages.ts";
import type { WantedPart } from "./plan-follower.ts";

export interface Trigger extends WantedPart {
  /** Relative shortage of replicas that the autoscaler tolerates; 0 to ignore its tolerance. */
  readonly tolerance: number;
  /** StatefulSet whose replicas the tolerance applies to; undefined for none. */
  readonly statefulSet: string | undefined;
  readonly metricName: string;
}

export class BadTrigger extends Error {
  constructor(message: string) {
    super(message);
    this.name = "BadTrigger";
  }
}

/** Reads triggers; ignores KEDA's own keys. */
export class Triggers {
  readonly #watch: LoadWatch;

  constructor(watch: LoadWatch) {
    this.#watch = watch;
  }

  /** @throws BadTrigger if it names parts that no plan has, or is ambiguous. */
  read({ name, namespace, metadata }: ScaledObjectRef): Trigger {
    const where = `ScaledObject ${namespace}/${name}`;
    const task = metadata.get("task");
    const pool = metadata.get("pool");
    const { plan } = this.#watch;
    const { tasks, pools } = plan.parts;
    const choices = `pool: ${pools.join(", ")}; task: ${tasks.join(", ")}`;
    if (task === undefined && pool === undefined && pools.length > 1) {
      throw new BadTrigger(`${where}: expected a pool or a task in the metadata; ${choices}`);
    }
    if (!plan.knows({ task, pool })) {
      const found = `task "${task ?? "any"}" in pool "${pool ?? "any"}"`;
      throw new BadTrigger(`${where}: no plan has workers of ${found}; there are ${choices}`);
    }
    const metricName = ["stratagem", pool, task].filter((part) => part !== undefined).join("-");
    const tolerance = toleranceOf(metadata.get("tolerance"), where);
    const statefulSet = metadata.get("statefulSet");
    if (tolerance > 0 && statefulSet === undefined) {
      throw new BadTrigger(`${where}: tolerance needs statefulSet, to read the current replicas`);
    }
    return { task, pool, tolerance, statefulSet, metricName };
  }

  /** Whether any replicas are needed. */
  isActive(trigger: Trigger): boolean {
    return this.#watch.outlook.isActive && this.#watch.plan.wanted(trigger) > 0;
  }

  /** @param replicas current number, if known. */
  wanted(trigger: Trigger, replicas: number | null): number {
    const workers = this.#watch.plan.wanted(trigger);
    return replicas === null ? workers : past(workers, replicas, trigger.tolerance);
  }
}

function toleranceOf(text: string | undefined, where: string): number {
  if (text === undefined) return 0;
  const tolerance = Number(text);
  if (text.trim() !== "" && tolerance >= 0 && tolerance < 1) return tolerance;
  throw new BadTrigger(`${where}: tolerance: expected a number >= 0 and < 1, got "${text}"`);
}

/** Tolerates rounding errors of a division. */
const ROUNDING = 1e-9;

/**
 * The autoscaler ignores a metric within its tolerance of the current replicas, 10 % by default: it
 * never scales from 20 to 21. This raises such a metric just beyond the tolerance. Fewer replicas
 * are never forced, because too many serve as well.
 * @param wanted replicas, 0 or more. @param replicas currently running. @param tolerance in [0, 1).
 * @returns wanted, or the smallest number that takes effect. Source: kube-controller-manager,
 * podautoscaler: |usage / (target × replicas) − 1| ≤ tolerance changes nothing, else replicas =
 * ⌈usage / target⌉.
 */
export function past(wanted: number, replicas: number, tolerance: number): number {
  if (wanted <= replicas || replicas === 0) return wanted;
  const most = replicas * (1 + tolerance);
  if (wanted > most + ROUNDING) return wanted;
  return Math.floor(most + ROUNDING) + 1;
}
