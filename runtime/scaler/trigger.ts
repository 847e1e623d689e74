/** What a trigger of a ScaledObject asks for, and what it is answered. */
import type { LoadWatch } from "./load-watch.ts";
import type { ScaledObjectRef } from "./messages.ts";
import type { WantedPart } from "./plan-follower.ts";

/** What a trigger's metadata says to us. */
export interface Trigger extends WantedPart {
  /** Part by which the autoscaler lets replicas be too few; 0 where it is told to let none. */
  readonly tolerance: number;
  /** Whose replicas that counts from; undefined without. */
  readonly statefulSet: string | undefined;
  readonly metricName: string;
}

export class BadTrigger extends Error {
  constructor(message: string) {
    super(message);
    this.name = "BadTrigger";
  }
}

/** Reads triggers, whose other keys are KEDA's. */
export class Triggers {
  readonly #watch: LoadWatch;

  constructor(watch: LoadWatch) {
    this.#watch = watch;
  }

  /** @throws BadTrigger if it names what is not in the plans, or leaves several workloads. */
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
      throw new BadTrigger(`${where}: tolerance: expected a statefulSet beside it, to count from`);
    }
    return { task, pool, tolerance, statefulSet, metricName };
  }

  /** Whether there should be any replicas. */
  isActive(trigger: Trigger): boolean {
    return this.#watch.outlook.isActive && this.#watch.plan.wanted(trigger) > 0;
  }

  /** @param replicas that there are, where that is known. */
  wanted(trigger: Trigger, replicas: number | null): number {
    const workers = this.#watch.plan.wanted(trigger);
    return replicas === null ? workers : past(workers, replicas, trigger.tolerance);
  }
}

function toleranceOf(text: string | undefined, where: string): number {
  if (text === undefined) return 0;
  const tolerance = Number(text);
  if (text.trim() !== "" && tolerance >= 0 && tolerance < 1) return tolerance;
  throw new BadTrigger(`${where}: tolerance: expected a number from 0 up to 1, got "${text}"`);
}

/** Digits lost in a division are no more replicas. */
const ROUNDING = 1e-9;

/**
 * The autoscaler leaves replicas as they are while what is asked for is within its tolerance of
 * them, 10 % unless configured: of 20 it never makes 21. Asked for a little more than that, it adds
 * as many as are just beyond. Where fewer are wanted nothing is added: too many serve as well.
 * @param wanted replicas, 0 or more. @param replicas that there are. @param tolerance in [0, 1).
 * @returns wanted, or the fewest that are acted on. Source: kube-controller-manager, podautoscaler:
 * |usage / (target × replicas) − 1| ≤ tolerance changes nothing, else replicas = ⌈usage / target⌉.
 */
export function past(wanted: number, replicas: number, tolerance: number): number {
  if (wanted <= replicas || replicas === 0) return wanted;
  const most = replicas * (1 + tolerance);
  if (wanted > most + ROUNDING) return wanted;
  return Math.floor(most + ROUNDING) + 1;
}
