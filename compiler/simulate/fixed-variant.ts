import type { Bundle, ServiceTimes } from "../../runtime/bundle/schema.ts";
import { assert } from "../../runtime/core/assert.ts";
import { InputError } from "../spec/input-error.ts";

/**
 * The same application served by one variant alone, as a bundle: what a policy has to beat.
 *
 * Its single level runs, at every load, the largest batch of the variant that meets the earliest deadline, and all that wait when none does:
 * these are late in any case, and the largest batch is the soonest way back.
 * @throws InputError INPUT_INVALID_VALUE if the bundle has no such variant.
 */
export function fixedVariantBundle(bundle: Bundle, variantName: string): Bundle {
  const task = bundle.tasks[0];
  const top = bundle.levels.at(-1);
  assert(task !== undefined && top !== undefined, "a bundle has a task and a level");
  const variant = task.variants.findIndex(({ name }) => name === variantName);
  if (variant === -1) {
    const names = task.variants.map(({ name }) => name).join(", ");
    throw new InputError(
      "INPUT_INVALID_VALUE",
      `baseline: no variant "${variantName}"; the bundle has ${names}`,
    );
  }
  const { maxQueue, slackMs } = bundle.decisionSpace;
  const batches = maximalBatches(
    maxQueue + 1,
    slackMs.data,
    serviceTimesOf(task.serviceTimes, variant),
  );
  const actions = new Uint16Array(2 * (maxQueue + 1));
  for (let action = 0; action <= maxQueue; action++) actions.set([variant, action + 1], 2 * action);
  return {
    ...bundle,
    decisionSpace: {
      maxQueue,
      slackMs,
      actions: { dtype: "uint16", shape: [maxQueue + 1, 2], data: actions },
    },
    levels: [
      {
        ...top,
        actionByState: {
          dtype: "uint16",
          shape: [maxQueue + 1, slackMs.data.length],
          data: batches.map((batch) => batch - 1),
        },
      },
    ],
  };
}

/** Service times of one variant by batch size less one. */
function serviceTimesOf(times: ServiceTimes, variant: number): Float64Array {
  const maxBatch = times.decisionMs.shape[1] ?? 0;
  return Float64Array.from(times.decisionMs.data).subarray(
    variant * maxBatch,
    (variant + 1) * maxBatch,
  );
}

/** Batch size by state, [queueCapacity, slackCount]. @param serviceMs by batch size less one, non-decreasing. */
function maximalBatches(
  queueCapacity: number,
  slackMs: ArrayLike<number>,
  serviceMs: Float64Array,
): Uint16Array {
  const columns = slackMs.length;
  const batches = new Uint16Array(queueCapacity * columns);
  for (let column = 0; column < columns; column++) {
    const slack = slackMs[column] ?? Number.NaN;
    const fitting = serviceMs.filter((ms) => ms <= slack).length;
    for (let queued = 1; queued <= queueCapacity; queued++) {
      const largest = Math.min(queued, serviceMs.length);
      batches[(queued - 1) * columns + column] =
        fitting === 0 ? largest : Math.min(largest, fitting);
    }
  }
  return batches;
}
