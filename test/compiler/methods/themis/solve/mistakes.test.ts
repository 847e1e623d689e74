/** What an application cannot ask of Themis, and what it is told. */
import { describe, expect, test } from "vitest";
import { themisMistakes } from "../../../../../compiler/methods/themis/solve/mistakes.ts";
import { loadApplication } from "../../../../../compiler/spec/load-application.ts";
import { ofMethod } from "../../../../support/of-method.ts";
import { edited, folderOf, mistakeOfSpec } from "../../../spec/spec-folder.ts";

/** Three tasks in a row on one pool; `edited` makes one with mistakes. */
const CHAIN = `version: 1
application: chain
slo: { latency: 300 ms }
workload:
  arrivals: { process: poisson }
  loads: [10, 20]
cluster:
  pools:
    - { name: local, hardware: cpu, workers: 3, cores: 4 }
tasks:
  - name: find
    variants:
      - { name: finder, accuracy: 0.9, profile: profile.json#fitted }
    to: [{ task: name, share: 0.5 }]
  - name: name
    variants:
      - { name: namer, accuracy: 0.8, profile: profile.json#measured }
    to: [{ task: tell }]
  - name: tell
    variants:
      - { name: teller, accuracy: 0.7, profile: profile.json#fitted }
policy:
  method: themis
  maxBatch: 8
  maxCores: 4
`;

/** A batch of one takes 50 ms on one core and 27.5 ms on four; the rows 30 ms and 10 ms. */
const PROFILE = `{
  "format": "latency-profile/1",
  "hardware": "cpu",
  "variants": {
    "fitted": { "fit": { "gamma": 20, "epsilon": 10, "delta": 10, "eta": 10 } },
    "measured": {
      "byCores": {
        "1": { "1": 30, "8": 170 },
        "4": { "1": 10, "8": 50 }
      }
    },
    "plain": { "latencyMs": { "1": 20, "8": 90 } },
    "wide": { "byCores": { "2": { "1": 15 }, "4": { "1": 10 } } },
    "negative": { "fit": { "gamma": 20, "epsilon": 0, "delta": 0, "eta": -6 } },
    "falling": { "fit": { "gamma": 1, "epsilon": 0, "delta": -3, "eta": 60 } }
  }
}
`;
const GPU_PROFILE = edited(PROFILE, '"hardware": "cpu"', '"hardware": "gpu"');

/** Code, place and message of each mistake. */
function mistakesOf(spec: string): string[] {
  const files = { "app.yaml": spec, "profile.json": PROFILE, "gpu.json": GPU_PROFILE };
  const { application } = loadApplication(`${folderOf(files)}/app.yaml`);
  return [...themisMistakes(ofMethod("themis", application))].map(
    ({ code, path, message }) => `${code} ${path.join(".")}: ${message}`,
  );
}

/** With each pair of texts replaced. */
function changed(...changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((text, [from, to]) => edited(text, from, to), CHAIN);
}

/** Of a pool that cannot run anything. */
const SECOND_POOL = [
  "workers: 3, cores: 4 }",
  "workers: 3, cores: 4 }\n    - { name: more, hardware: gpu, workers: 1 }",
] as const;

const SECOND_VARIANT = [
  "profile: profile.json#measured }",
  "profile: profile.json#measured }\n      - { name: other, accuracy: 0.9, " +
    "profile: profile.json#fitted }",
] as const;

test("has nothing to say of an application that can be scaled", () => {
  expect(mistakesOf(CHAIN)).toEqual([]);
  expect(mistakesOf(changed(["maxCores: 4", "maxCores: 4\n  solver: paper"]))).toEqual([]);
});

test.each<[string, readonly (readonly [string, string])[], string]>([
  [
    "levels that are placed by accuracy",
    [["loads: [10, 20]", "loads: { from: 10, to: 90, maxAccuracyStep: 1% }"]],
    "INPUT_UNSUPPORTED workload.loads.maxAccuracyStep: themis does not place levels by the " +
      "accuracy that they reach; allowed: a list of rates, or from, to and step",
  ],
  [
    "several variants, and the programmes of the paper",
    [SECOND_VARIANT, ["maxCores: 4", "maxCores: 4\n  solver: paper"]],
    "INPUT_UNSUPPORTED policy.solver: the programmes of the paper are for one pool and one " +
      "variant of each task, got 2 combinations of variants; use solver: exact",
  ],
  [
    "several pools, and the programmes of the paper",
    [SECOND_POOL, ["maxCores: 4", "maxCores: 4\n  solver: paper"]],
    "INPUT_UNSUPPORTED policy.solver: the programmes of the paper are for one pool and one " +
      "variant of each task, got 2 pools; use solver: exact",
  ],
  [
    "a task that the pool has no profile of",
    [["profile.json#measured", "gpu.json#measured"]],
    'INPUT_CONFLICT tasks.1.variants.0.profile: the pool cannot run "name": ' +
      'its profiles are of "gpu", and the pool is local (cpu)',
  ],
  [
    "rows to be gathered that nothing has made",
    [["to: [{ task: tell }]", "to: [{ task: tell, gather: all }]"]],
    'INPUT_CONFLICT tasks.1.to.0.gather: no fan-out made the rows that reach "tell" from ' +
      '"name", so there is nothing to gather; expected a task before it with a fan-out',
  ],
  [
    "a fan-out of what is gathered",
    [
      ["profile.json#fitted }", "profile.json#fitted, fanout: 3 }"],
      ["profile: profile.json#measured }", "profile: profile.json#measured, fanout: 2 }"],
      ["to: [{ task: tell }]", "to: [{ task: tell, gather: 4 }]"],
    ],
    'INPUT_CONFLICT tasks.1.variants.0.fanout: the rows of "name" are gathered for "tell", so ' +
      "each goes there once at most, got a fan-out of 2; expected a mapping from other tasks to " +
      "their fan-outs",
  ],
  [
    "rows of different origins at one task",
    [
      ["profile.json#fitted }", "profile.json#fitted, fanout: { name: 3 } }"],
      ["to: [{ task: name, share: 0.5 }]", "to: [{ task: name }, { task: tell }]"],
    ],
    'INPUT_CONFLICT tasks.1.to.0.task: edges to "tell" carry rows of different origins, ' +
      'among them those from "name"; expected rows of one fan-out, or of none; ' +
      "join the others first with gather: all",
  ],
  [
    "rows made for a task that others lead to",
    [
      ["to: [{ task: name, share: 0.5 }]", "to: [{ task: name }, { task: tell }]"],
      ["profile: profile.json#measured }", "profile: profile.json#measured, fanout: 2 }"],
    ],
    'INPUT_CONFLICT tasks.1.to.0.task: the edge from "name" to "tell" makes rows of its own, ' +
      "and other edges lead there too; expected one edge",
  ],
  [
    "more queries per request than there may be",
    [
      ["profile.json#fitted }", "profile.json#fitted, fanout: 200 }"],
      ["profile: profile.json#measured }", "profile: profile.json#measured, fanout: 200 }"],
    ],
    "INPUT_INVALID_VALUE tasks.1.variants.0.fanout: expected fan-outs of at most 3355 queries " +
      "per request together, got 40200",
  ],
  [
    "a fit that is negative where it is used",
    [["profile.json#measured", "profile.json#negative"]],
    "INPUT_CONFLICT tasks.1.variants.0.profile: profile.json#negative has a fit with -1 " +
      "ms for a batch of 1 on 4 cores; allowed: latencies above 0 that do not fall with the " +
      "batch, up to batch 8 and 4 cores (policy.maxBatch, policy.maxCores)",
  ],
  [
    "a fit by which larger batches are faster",
    [["profile.json#measured", "profile.json#falling"]],
    "INPUT_CONFLICT tasks.1.variants.0.profile: profile.json#falling has a fit with 44 " +
      "ms for a batch of 8 on 1 core; allowed: latencies above 0 that do not fall with the " +
      "batch, up to batch 8 and 4 cores (policy.maxBatch, policy.maxCores)",
  ],
  [
    "rows that leave out one core",
    [["profile.json#measured", "profile.json#wide"]],
    "INPUT_CONFLICT tasks.1.variants.0.profile: profile.json#wide has byCores measured on 2, " +
      "4 cores; allowed: rows for 1 core among them, since plans start with one",
  ],
])("refuses %s", (_, changes, message) => {
  expect(mistakesOf(changed(...changes))).toEqual([message]);
});

test("takes a fit that is negative only for more cores than a machine has", () => {
  const spec = changed(
    ["profile.json#measured", "profile.json#negative"],
    ["cores: 4", "cores: 3"],
  );
  expect(mistakesOf(spec)).toEqual([]);
});

test("takes several variants of which the pool can run one", () => {
  const spec = changed([
    "profile: profile.json#measured }",
    "profile: profile.json#measured }\n      - { name: other, accuracy: 0.9, " +
      "profile: gpu.json#fitted }",
  ]);
  expect(mistakesOf(spec)).toEqual([]);
});

test("takes several variants and several pools", () => {
  expect(mistakesOf(changed(SECOND_VARIANT, SECOND_POOL))).toEqual([]);
});

test("says that no pool can run a task where there are several", () => {
  const spec = changed(SECOND_POOL, ["profile.json#measured", "tpu.json#measured"]);
  const files = { "app.yaml": spec, "profile.json": PROFILE };
  const folder = folderOf({ ...files, "tpu.json": edited(PROFILE, '"cpu"', '"tpu"') });
  const { application } = loadApplication(`${folder}/app.yaml`);
  expect(
    [...themisMistakes(ofMethod("themis", application))].map(({ message }) => message),
  ).toEqual([
    'no pool can run "name": its profiles are of "tpu", and the pools are local (cpu), ' +
      "more (gpu)",
  ]);
});

test("takes no more combinations of variants and pools than can be enumerated", () => {
  const many = Array.from({ length: 16 }, (_, index) => {
    return `      - { name: v${index}, accuracy: 0.9, profile: profile.json#fitted }`;
  });
  const spec = CHAIN.replaceAll(/ {6}- \{ name: \w+er, .*\}/g, many.join("\n"));
  expect(mistakesOf(spec)).toEqual([]);
  const more = spec.replace(
    "v15, accuracy",
    "v16, accuracy: 0.9, profile: profile.json#fitted }\n      - { name: v15, accuracy",
  );
  expect(mistakesOf(more)).toEqual([
    "INPUT_UNSUPPORTED tasks: themis tries every combination of the variants of all tasks and " +
      "their pools, got 4352 of them; allowed: 4096",
  ]);
});

test("reports all mistakes of the shape at once", () => {
  const spec = changed(
    ["loads: [10, 20]", "loads: { from: 10, to: 90, maxAccuracyStep: 1% }"],
    ["profile.json#measured", "gpu.json#measured"],
    ["latency: 300 ms", "latency: 50.1 ms"],
  );
  expect(mistakesOf(spec).map((text) => text.split(":")[0])).toEqual([
    "INPUT_UNSUPPORTED workload.loads.maxAccuracyStep",
    "INPUT_CONFLICT tasks.1.variants.0.profile",
  ]);
});

describe("chances", () => {
  /** A task and so many behind it, each by a chance of its own. */
  const fan = (count: number): string => {
    const names = Array.from({ length: count }, (_, index) => `leaf-${index}`);
    const leaves = names.map(
      (name) => `  - name: ${name}
    variants:
      - { name: teller, accuracy: 0.7, profile: profile.json#fitted }
`,
    );
    const to = names.map((name) => `{ task: ${name}, share: 0.5 }`).join(", ");
    const [head = "", rest = ""] = CHAIN.split("  - name: name\n");
    const policy = rest.slice(rest.indexOf("policy:"));
    const root = edited(head, "[{ task: name, share: 0.5 }]", `[${to}]`);
    return edited(root + leaves.join("") + policy, "workers: 3", "workers: 9");
  };

  test("may be as many as can be enumerated", () => {
    expect(mistakesOf(fan(14))).toEqual([]);
  });

  test("may not be more", () => {
    expect(mistakesOf(fan(15))).toEqual([
      "INPUT_UNSUPPORTED tasks: themis enumerates every outcome of the shares of edges, " +
        "got 32768 of them; allowed: 16384",
    ]);
  });
});

describe("the programmes of the paper", () => {
  const paper = ["maxCores: 4", "maxCores: 4\n  solver: paper"] as const;

  test("are for chains", () => {
    const graph = changed(paper, [
      "[{ task: name, share: 0.5 }]",
      "[{ task: name }, { task: tell }]",
    ]);
    expect(mistakesOf(graph)).toEqual([
      "INPUT_UNSUPPORTED policy.solver: the programmes of the paper are for chains, " +
        'and "tell" does not just follow the task before; use solver: exact',
    ]);
    expect(mistakesOf(edited(graph, "solver: paper", "solver: exact"))).toEqual([]);
  });

  test("take one behind a root that only passes requests on, and no two side by side", () => {
    const root = "tasks:\n  - name: source\n    passThrough: true\n";
    const one = changed(paper, ["tasks:\n", `${root}    to: [{ task: find }]\n`]);
    expect(mistakesOf(one)).toEqual([]);
    const [two] = mistakesOf(
      changed(
        paper,
        ["tasks:\n", `${root}    to: [{ task: find }, { task: name }]\n`],
        ["    to: [{ task: name, share: 0.5 }]\n", ""],
      ),
    );
    expect(two).toContain('the programmes of the paper are for chains, and "name" does not');
  });
});

describe("an SLO that nothing meets", () => {
  // A query alone takes 27.5, 10 and 27.5 ms on four cores, 50, 30 and 50 ms on one.
  test("is reported with the time of the longest path and the task that takes most of it", () => {
    expect(mistakesOf(changed(["latency: 300 ms", "latency: 60 ms"]))).toEqual([
      "INPUT_CONFLICT slo.latency: expected at least the 65 ms that the longest path takes " +
        'one query at a time on up to 4 cores each; "find" takes most of it, 27.5 ms; got 60 ms',
    ]);
    expect(mistakesOf(changed(["latency: 300 ms", "latency: 65 ms"]))).toEqual([]);
  });

  test("is reported for one core each if instances have no more", () => {
    const horizontal = ["maxCores: 4", "maxCores: 4\n  scaling: horizontal"] as const;
    expect(mistakesOf(changed(horizontal, ["latency: 300 ms", "latency: 120 ms"]))).toEqual([
      "INPUT_CONFLICT slo.latency: expected at least the 130 ms that the longest path takes " +
        'one query at a time on 1 core each; "find" takes most of it, 50 ms; got 120 ms',
    ]);
    expect(mistakesOf(changed(horizontal, ["latency: 300 ms", "latency: 130 ms"]))).toEqual([]);
    const machine = ["cores: 4 }", "cores: 1 }"] as const;
    expect(mistakesOf(changed(machine, ["latency: 300 ms", "latency: 120 ms"]))[0]).toContain(
      "expected at least the 130 ms that the longest path takes one query at a time on 1 core each",
    );
  });

  test("counts the hops between tasks", () => {
    const hops = ["cluster:\n", "cluster:\n  communicationLatency: 2 ms\n"] as const;
    expect(mistakesOf(changed(hops, ["latency: 300 ms", "latency: 66 ms"]))[0]).toContain(
      "expected at least the 71 ms that the longest path takes one query at a time on up to 4 " +
        "cores each, communication included",
    );
  });
});

test("refuses a pool with fewer cores than one query at a time takes", () => {
  const message = (cores: number, budget: number) =>
    `INPUT_CONFLICT cluster: expected at least ${cores} cores, ` +
    `to serve one query at a time in 300 ms, got ${budget} (machines times their ` +
    "cores)";
  expect(mistakesOf(changed(["workers: 3, cores: 4", "workers: 2, cores: 1"]))).toEqual([
    message(3, 2),
  ]);
  expect(mistakesOf(changed(["workers: 3, cores: 4", "workers: 3, cores: 1"]))).toEqual([]);
});

test.each([
  ["maxBatch: 8", "maxBatch: 0", "policy.maxBatch"],
  ["maxCores: 4", "maxCores: 0", "policy.maxCores"],
  ["maxCores: 4", "maxCores: 1.5", "policy.maxCores"],
  ["loads: [10, 20]", "loads: [0, 20]", "workload.loads[0]"],
  ["cores: 4 }", "cores: 0 }", "cluster.pools[0].cores"],
  ["maxCores: 4", "maxCores: 4\n  quantile: 1", "policy.quantile"],
])("the spec itself is refused with %s as %s", (from, to, place) => {
  expect(mistakeOfSpec(edited(CHAIN, from, to), PROFILE)).toContain(` ${place}: expected `);
});

test("the spec itself is refused where a profile does not tell cores apart", () => {
  const spec = changed(["profile.json#measured", "profile.json#plain"]);
  expect(mistakeOfSpec(spec, PROFILE)).toContain(
    "tasks[1].variants[0].profile: method themis needs fit or byCores, " +
      'but profile.json has neither for "plain"',
  );
});
