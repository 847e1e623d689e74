import { expect, test } from "vitest";
import {
  BUNDLE_ERRORS,
  BundleError,
  type BundleErrorCode,
} from "../../../runtime/bundle/bundle-error.ts";
import type { InferlineBundle, RamsisBundle, Table } from "../../../runtime/bundle/schema.ts";
import { decodeBundle, encodeBundle } from "../../../runtime/checked-bundle.ts";
import { replicaShapeOf } from "../../../runtime/core/graph/replica-shape.ts";
import { taskGraphOf } from "../../../runtime/core/graph/task-graph.ts";
import { PolicyTable } from "../../../runtime/core/policy-table.ts";
import { Rng } from "../../../runtime/core/rng.ts";
import { inspectBundle } from "../../../runtime/inspect.ts";
import { EnvelopeTuner } from "../../../runtime/methods/inferline/core/envelope-tuner.ts";
import { taskLimits } from "../../../runtime/methods/inferline/tell/task-limits.ts";
import { accordionBundle } from "../../support/accordion-bundle.ts";
import { checkPlacesInRange, drivePlaces } from "../../support/accordion-sound.ts";
import { fileOf, fileOfValue, HEADER_BYTES, plainPayload } from "../../support/bundle-fixtures.ts";
import { inferlineSample } from "../../support/inferline-samples.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";
import { themisSample } from "../../support/themis-samples.ts";
import { checkScalesInRange, readScales } from "../../support/themis-sound.ts";

const SEED = 20_241_121;
const BYTE_MUTATIONS = 40_000;
const VALUE_MUTATIONS = 10_000;
const PLAN_MUTATIONS = 5000;
const PLACE_MUTATIONS = 1500;
const TIMEOUT_MS = 60_000;

const valid = encodeBundle(sampleBundle());
/** Two pools, of which one is used in part; one model is served. */
const placeSample = accordionBundle({
  pools: [{ workers: 3 }, { workers: 2, speed: 0.5 }],
  maxDepth: 2,
  maxBatch: 3,
  policy: { executionPlaces: 4 },
  models: [
    { name: "deep", layerMs: [4, 6, 3, 7], hasModel: true },
    { name: "single", layerMs: [3] },
  ],
});
const validPayload = valid.subarray(HEADER_BYTES);

class Dice {
  readonly #rng: Rng;

  constructor(stream: number) {
    this.#rng = new Rng(SEED, stream);
  }

  below(count: number): number {
    return Math.floor(this.#rng.nextFloat() * count);
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }
}

/** One to four flips, sets, truncations, insertions and splices. */
function mutateBytes(bytes: Uint8Array, dice: Dice): Uint8Array {
  let mutated = Buffer.from(bytes);
  for (let left = 1 + dice.below(4); left > 0; left--) {
    const at = dice.below(mutated.length);
    const [head, tail] = [mutated.subarray(0, at), mutated.subarray(at)];
    const kind = dice.below(8);
    if (kind < 3) mutated[at] = (mutated[at] ?? 0) ^ (1 << dice.below(8));
    else if (kind < 5) mutated[at] = dice.below(256);
    else if (kind === 5) mutated = Buffer.from(head);
    else if (kind === 6) mutated = Buffer.concat([head, Buffer.of(dice.below(256)), tail]);
    else {
      const from = dice.below(mutated.length);
      const chunk = mutated.subarray(from, from + dice.below(40));
      mutated = Buffer.concat([head, chunk, tail.subarray(dice.below(40))]);
    }
  }
  return mutated;
}

type Container = Record<string | number, unknown>;

const HOSTILE: readonly [unknown, ...unknown[]] = [
  null,
  true,
  -1,
  0,
  -0,
  1,
  0.5,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  1e300,
  5e-324,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2n ** 60n,
  "",
  "small",
  "../x",
  "a\u0000b",
  "\ud800",
  "__proto__",
  [],
  {},
  Buffer.alloc(3),
  Buffer.alloc(80, 0xff),
  new Date(0),
  new Map([[1, 2]]),
];

/** One or two changes to a place in the decoded payload: another value, a near value, a table cell, a missing, extra or doubled item. */
function mutateValue(file: Uint8Array, dice: Dice): unknown {
  const payload = plainPayload(file);
  for (let left = 1 + dice.below(3) * dice.below(2); left > 0; left--) {
    let parent: Container = payload;
    let key = someKey(parent, dice);
    for (let child = parent[key]; isContainer(child); child = parent[key]) {
      if (Object.keys(child).length === 0 || dice.below(20) === 0) break;
      parent = child;
      key = someKey(parent, dice);
    }
    mutatePlace(parent, key, dice);
  }
  return payload;
}

/** A key at random; the first of three draws that leads on, since most of what there is to break lies deep. */
function someKey(parent: Container, dice: Dice): string {
  const keys = Object.keys(parent);
  const draws = [0, 1, 2].map(() => keys[dice.below(keys.length)] ?? "");
  return draws.find((key) => typeof parent[key] === "object") ?? draws[0] ?? "";
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
}

function mutatePlace(parent: Container, key: string, dice: Dice): void {
  const found = parent[key];
  const kind = dice.below(12);
  if (kind === 0) Array.isArray(parent) ? parent.splice(Number(key), 1) : delete parent[key];
  else if (kind === 1) Array.isArray(parent) ? parent.push(found) : setKey(parent, dice);
  else if (ArrayBuffer.isView(found) && kind < 11) mutateCell(found as Uint8Array, dice);
  else if (typeof found === "number" && kind < 9)
    parent[key] = found + dice.pick([-1, 1, 0.5, 1e9]);
  else parent[key] = dice.pick(HOSTILE);
}

function setKey(parent: Container, dice: Dice): void {
  parent[dice.pick(["extra", "__proto__x", "constructor", "toString", "then"])] =
    dice.pick(HOSTILE);
}

function mutateCell(bytes: Uint8Array, dice: Dice): void {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (data.length === 0) return;
  if (data.length % 8 === 0 && dice.below(2) === 0) {
    const value = dice.pick([Number.NaN, -0, 0, -1, Number.POSITIVE_INFINITY, 1e12, 50]);
    data.writeDoubleLE(value, 8 * dice.below(data.length / 8));
  } else if (data.length % 2 === 0) {
    const value = dice.pick([0, 1, 5, 9, 10, 0xffff, dice.below(65_536)]);
    data.writeUInt16LE(value, 2 * dice.below(data.length / 2));
  } else data[dice.below(data.length)] = dice.below(256);
}

/** Everything the runtime relies on, spelled out without the validator. */
function checkInRange(bundle: RamsisBundle): void {
  const { decisionSpace, levels, tasks, slo } = bundle;
  const problems: string[] = [];
  const require = (holds: boolean, what: string): void => {
    if (!holds) problems.push(what);
  };
  const fits = ({ shape, data }: Table) => shape.reduce((a, b) => a * b, 1) === data.length;
  const rows = decisionSpace.maxQueue + 1;
  const slacks = decisionSpace.slackMs.data;
  const actions = decisionSpace.actions.data;
  const [task] = tasks;
  const service = task?.serviceTimes.decisionMs;
  require(tasks.length === 1 && levels.length >= 1, "one task, some levels");
  require(fits(decisionSpace.actions) && decisionSpace.actions.shape[1] === 2, "action pairs");
  require(service !== undefined && fits(service), "service times");
  require(service?.data.every((ms) => ms > 0 && ms < Number.POSITIVE_INFINITY) === true, "times");
  require(slacks[0] === 0 && slacks[slacks.length - 1] === slo.latencyMs, "slack ends");
  require(slacks.every((ms, i) => i === 0 || ms > (slacks[i - 1] ?? 0)), "slacks ascend");
  for (let action = 0; action < actions.length / 2; action++) {
    require((actions[2 * action] ?? 99) < (task?.variants.length ?? 0), "variant");
    const batch = actions[2 * action + 1] ?? 0;
    require(batch >= 1 && batch <= (service?.shape[1] ?? 0), "batch");
  }
  for (const { actionByState, loadQps } of levels) {
    require(loadQps > 0 && Number.isFinite(loadQps), "load");
    require(fits(actionByState) && actionByState.data.length === rows * slacks.length, "states");
    actionByState.data.forEach((action, cell) => {
      const batch = actions[2 * action + 1] ?? 0;
      const queued = Math.floor(cell / slacks.length) + 1;
      require(batch >= 1 && batch <= queued, "batch of a state");
      require(queued === rows || batch === queued, "maximal batch");
    });
  }
  require(allFinite(bundle), "finite numbers");
  if (problems.length > 0) throw new Error(`accepted, but wrong: ${problems}`);
}

function allFinite(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (ArrayBuffer.isView(value)) return Array.from(value as Float64Array).every(Number.isFinite);
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(allFinite);
}

/** Looks every state up, as a driver would. */
function driveLookups(bundle: RamsisBundle): void {
  const table = PolicyTable.fromBundle(bundle);
  const slacks = [-1, ...bundle.decisionSpace.slackMs.data, bundle.slo.latencyMs + 1];
  const variantCount = bundle.tasks[0]?.variants.length ?? 0;
  for (let level = 0; level < bundle.levels.length; level++) {
    for (let queued = 1; queued <= table.queueCapacity + 1; queued++) {
      for (const slackMs of slacks) {
        const action = table.lookup(level, queued, slackMs);
        const batch = table.batch(action);
        if (!(table.variant(action) < variantCount && batch >= 1 && batch <= queued)) {
          throw new Error(`level ${level}, queued ${queued}, slack ${slackMs}: action ${action}`);
        }
      }
    }
  }
}

/** Everything that following a plan relies on, spelled out without the validator. */
function checkPlansInRange(bundle: InferlineBundle): void {
  const { tasks, levels, cluster } = bundle;
  const problems: string[] = [];
  const require = (holds: boolean, what: string): void => {
    if (!holds) problems.push(what);
  };
  for (const [task, { edges }] of tasks.entries()) {
    const sources = edges.map(({ parent }) => parent ?? -1);
    require(sources.length > 0 && sources.every((source) => source < task), "parents first");
    require(new Set(sources).size === sources.length, "edges of their own");
    require(edges.every(({ share }) => share >= 0 && share <= 1), "shares");
  }
  for (const { plan, sample, loadQps } of levels) {
    require(loadQps > 0 && plan.stages.length === tasks.length, "a stage per task");
    const replicas = cluster.pools.map(() => 0);
    for (const [task, stage] of plan.stages.entries()) {
      const profile = tasks[task]?.variants[stage.variant]?.profiles[stage.pool];
      const times = profile?.serviceTimes.decisionMs.data.subarray(0, stage.batch) ?? [];
      require(times.length === stage.batch && times.every((ms) => ms > 0), "service times");
      require(times[stage.batch - 1] === stage.latencyMs, "latency");
      require(stage.replicas >= 1, "replicas");
      replicas[stage.pool] = (replicas[stage.pool] ?? 0) + stage.replicas;
    }
    require(cluster.pools.every(({ workers }, pool) => (replicas[pool] ?? 0) <= workers), "room");
    const { windowMs, requests } = sample.envelope;
    require(windowMs.data.length === requests.data.length, "windows");
    require(windowMs.data.at(-1) === 60_000, "the longest window");
    require(requests.data.every((count) => count >= 1), "requests of a window");
  }
  require(allFinite(bundle), "finite numbers");
  if (problems.length > 0) throw new Error(`accepted, but wrong: ${problems}`);
}

/** Reads every level in all ways that there are. */
function drivePlans(bundle: InferlineBundle): void {
  const { edgeCount, parentByEdge, childByEdge } = taskGraphOf(bundle);
  for (let edge = 0; edge < edgeCount; edge++) {
    if ((parentByEdge[edge] ?? 0) >= (childByEdge[edge] ?? 0)) throw new Error(`edge ${edge}`);
  }
  const { levels } = inspectBundle(bundle, { byteCount: 0, sha256: "" });
  replicaShapeOf(bundle);
  for (const level of bundle.levels.keys()) {
    const tuner = new EnvelopeTuner(bundle, "relative", level);
    for (const nowMs of [0, 0, 1, 1500]) tuner.onArrival(nowMs);
    tuner.tick(tuner.wakeMs);
    if (!tuner.targets.every((target) => target >= 1)) throw new Error("a stage without a replica");
  }
  const told = bundle.levels.map((level) => taskLimits(bundle, level));
  if (!allFinite(levels) || !allFinite(told)) throw new Error("a number that is none");
}

type Tally = Partial<Record<BundleErrorCode | "accepted", number>>;

/** Decodes; anything but acceptance of a sound bundle or a documented refusal throws. */
function tallyOutcome(bytes: Uint8Array, tally: Tally): void {
  let outcome: keyof Tally = "accepted";
  try {
    const bundle = decodeBundle(bytes);
    if (bundle.method === "ramsis") {
      checkInRange(bundle);
      driveLookups(bundle);
    }
    if (bundle.method === "inferline") {
      checkPlansInRange(bundle);
      drivePlans(bundle);
    }
    if (bundle.method === "themis") {
      checkScalesInRange(bundle);
      if (!allFinite(readScales(bundle))) throw new Error("a number that is none");
    }
    if (bundle.method === "accordion") {
      checkPlacesInRange(bundle);
      if (!allFinite(drivePlaces(bundle))) throw new Error("a number that is none");
    }
    const again = encodeBundle(bundle);
    if (Buffer.compare(encodeBundle(decodeBundle(again)), again) !== 0) {
      throw new Error("encoding what was decoded gives other bytes");
    }
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    if (error.message.includes("\n")) throw new Error(`more than one line: ${error.message}`);
    outcome = error.code;
  }
  tally[outcome] = (tally[outcome] ?? 0) + 1;
}

function total(tally: Tally): number {
  return Object.values(tally).reduce((sum, count) => sum + count, 0);
}

test("changed bytes are refused with a documented code, or are a sound bundle", {
  timeout: TIMEOUT_MS,
}, async ({ annotate }) => {
  const dice = new Dice(1);
  const tally: Tally = {};
  for (let mutation = 0; mutation < BYTE_MUTATIONS; mutation++) {
    // Half of the files have a header that is right about the damaged payload, so that the layers behind it are reached.
    const isRepaired = mutation % 2 === 0;
    tallyOutcome(
      isRepaired ? fileOf(mutateBytes(validPayload, dice)) : mutateBytes(valid, dice),
      tally,
    );
  }
  await annotate(JSON.stringify(tally), "fuzz");
  expect(total(tally)).toBe(BYTE_MUTATIONS);
  // The size cap belongs to the loader, which sees files.
  const { BUNDLE_TOO_LARGE: _, ...reached } = BUNDLE_ERRORS;
  expect(Object.keys(tally).sort()).toEqual([...Object.keys(reached), "accepted"].sort());
});

test("changed values are refused with a documented code, or are a sound bundle", {
  timeout: TIMEOUT_MS,
}, async ({ annotate }) => {
  const dice = new Dice(2);
  const tally: Tally = {};
  for (let mutation = 0; mutation < VALUE_MUTATIONS; mutation++) {
    tallyOutcome(fileOfValue(mutateValue(valid, dice)), tally);
  }
  await annotate(JSON.stringify(tally), "fuzz");
  expect(total(tally)).toBe(VALUE_MUTATIONS);
  expect(Object.keys(tally).sort()).toEqual(["BUNDLE_SCHEMA", "BUNDLE_SEMANTICS", "accepted"]);
});

test.each([
  ["provisioning plans", 3, PLAN_MUTATIONS, inferlineSample()],
  ["plans of cores and instances", 4, PLAN_MUTATIONS, themisSample()],
  ["pipelines over places", 5, PLACE_MUTATIONS, placeSample],
])(
  "changed values of %s are refused likewise, or are a sound bundle",
  {
    timeout: TIMEOUT_MS,
  },
  (_, stream, mutations, sample) => {
    const dice = new Dice(stream);
    const tally: Tally = {};
    const plans = encodeBundle(sample);
    for (let mutation = 0; mutation < mutations; mutation++) {
      tallyOutcome(fileOfValue(mutateValue(plans, dice)), tally);
    }
    expect(total(tally)).toBe(mutations);
    expect(Object.keys(tally).sort()).toEqual(["BUNDLE_SCHEMA", "BUNDLE_SEMANTICS", "accepted"]);
  },
);
