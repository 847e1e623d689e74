/** Parts that the bundles of pipelines have, whatever the method: structure checked field by field. Source: docs/bundle-format.md. */
import { profileOf, ratio, serviceTimesOf } from "./common-fields.ts";
import { arrayOf, integerIn, nullOr, objectOf, oneOf, tableOf, text } from "./fields.ts";
import type { Branch, Feed, PoolProfile, StageEdge } from "./schema.ts";

export const MAX_TASKS = 64;
/** Also the largest index of anything. */
export const MAX_NODES = 100_000;
const MAX_FED = 256;

export function feedOf(value: unknown, path: string): Feed {
  const fields = objectOf(value, path, ["count", "inputs"]);
  return Object.freeze({
    inputs: arrayOf(fields.inputs, `${path}.inputs`, [0, MAX_FED], (item, at) => {
      const pair = objectOf(item, at, ["input", "output"]);
      return Object.freeze({
        input: text(pair.input, `${at}.input`),
        output: text(pair.output, `${at}.output`),
      });
    }),
    count: nullOr(fields.count, `${path}.count`, text),
  });
}

export function branchOf(value: unknown, path: string): Branch {
  return oneOf(value, path, ["independent", "exclusive"]);
}

export function edgeOf(value: unknown, path: string): StageEdge {
  const fields = objectOf(value, path, ["feed", "parent", "share"]);
  return Object.freeze({
    parent: nullOr(fields.parent, `${path}.parent`, indexOf),
    share: ratio(fields.share, `${path}.share`),
    feed: nullOr(fields.feed, `${path}.feed`, feedOf),
  });
}

export function poolProfileOf(value: unknown, path: string): PoolProfile {
  const fields = objectOf(value, path, ["batches", "latencyMs", "profile", "serviceTimes"]);
  return Object.freeze({
    profile: profileOf(fields.profile, `${path}.profile`),
    batches: tableOf(fields.batches, `${path}.batches`, "uint16", 1),
    latencyMs: tableOf(fields.latencyMs, `${path}.latencyMs`, "float64", 1),
    serviceTimes: serviceTimesOf(fields.serviceTimes, `${path}.serviceTimes`),
  });
}

/** Whether there is something at the index is checked where it is known what it counts. */
export function indexOf(value: unknown, path: string): number {
  return integerIn(value, path, 0, MAX_NODES);
}
