import { expect, test } from "vitest";
import { leafTasks, pipelineMistakes, variantPaths } from "../../../compiler/spec/pipeline.ts";
import type { TaskSpec } from "../../../compiler/spec/schema/application-schema.ts";
import { edited, mistakeOfSpec, PIPELINE, PROFILE } from "./spec-folder.ts";

function task(name: string, variants: readonly string[], to: readonly string[]): TaskSpec {
  return {
    name,
    passThrough: variants.length === 0,
    variants: variants.map((variant) => ({ name: variant, profile: `p#${variant}` })),
    to: to.map((child) => ({ task: child, share: 1 })),
    branch: "independent",
  };
}

const DIAMOND = [
  task("root", [], ["left", "right"]),
  task("left", ["l1", "l2"], ["join"]),
  task("right", ["r"], ["join"]),
  task("join", ["j"], []),
];

test("accepts a DAG whose paths join again", () => {
  expect([...pipelineMistakes(DIAMOND)]).toEqual([]);
  expect(leafTasks(DIAMOND)).toEqual(["join"]);
});

test("walks every path of variants in order and leaves out pass-through tasks", () => {
  expect([...variantPaths(DIAMOND)]).toEqual(["l1|j", "l2|j", "r|j"]);
});

test("walks the first paths of a pipeline that has too many to list", () => {
  const names = Array.from({ length: 60 }, (_, index) => `t${index}`);
  const chain = names.map((name, index) =>
    task(name, ["a", "b"], names.slice(index + 1, index + 2)),
  );
  const first = variantPaths(chain).next().value;
  expect(first).toBe(Array.from({ length: 60 }, () => "a").join("|"));
});

test("names a task that leads to itself", () => {
  const messages = [...pipelineMistakes([task("a", ["v"], ["a"])])].map((m) => m.message);
  expect(messages).toEqual(["expected no cycle, got a → a"]);
});

test("names the cycle and not what comes after it", () => {
  const tasks = [
    task("after", ["v"], []),
    task("a", ["v"], ["b"]),
    task("b", ["v"], ["a", "after"]),
  ];
  const messages = [...pipelineMistakes(tasks)].map((m) => m.message);
  expect(messages).toEqual(["expected no cycle, got b → a → b"]);
});

test("refuses a spec without tasks", () => {
  const messages = [...pipelineMistakes([])].map((m) => m.message);
  expect(messages).toEqual(["expected at least one task, got an empty list"]);
});

test.each([
  [
    "task: detect,",
    "task: detct,",
    'INPUT_CONFLICT app.yaml:12 tasks[0].to[0].task: no task is named "detct"; ' +
      'did you mean "detect"?',
  ],
  [
    "{ task: caption, share: 0.5 }",
    "{ task: detect, share: 0.5 }",
    'INPUT_CONFLICT app.yaml:12 tasks[0].to[1].task: two edges lead to "detect"; expected one',
  ],
  [
    "share: 0.5",
    "share: 1.5",
    "INPUT_INVALID_VALUE app.yaml:12 tasks[0].to[1].share: " +
      "expected a ratio between 0 and 1 such as 0.58 or 58%, got 1.5",
  ],
  [
    "fanout: { identify: 2.5 }",
    "fanout: { identfy: 2.5 }",
    "INPUT_CONFLICT app.yaml:15 tasks[1].variants[0].fanout.identfy: " +
      'no edge leads from "detect" to "identfy"; did you mean "identify"?',
  ],
  [
    "fanout: { identify: 2.5 }",
    "fanout: -1",
    "INPUT_INVALID_VALUE app.yaml:15 tasks[1].variants[0].fanout: " +
      "expected a number of at least 0, or a mapping from child tasks to such numbers, got -1",
  ],
  [
    "fanout: { identify: 2.5 }",
    "fanout: { identify: -1 }",
    "INPUT_INVALID_VALUE app.yaml:15 tasks[1].variants[0].fanout.identify: " +
      "expected a number of at least 0, got -1",
  ],
  [
    "- name: identify\n",
    "- name: identify\n    to: [{ task: detect }]\n",
    "INPUT_CONFLICT app.yaml:16 tasks[1].to: expected no cycle, got detect → identify → detect",
  ],
  [
    "to: [{ task: detect, share: 1 }, { task: caption, share: 0.5 }]",
    "to: [{ task: detect, share: 1 }]",
    "INPUT_CONFLICT app.yaml:21 tasks[3].name: expected one root, " +
      'but no edge leads to "source" and "caption"',
  ],
  [
    "passThrough: true",
    "passThrough: true\n    variants: [{ name: x, accuracy: 1, profile: profile.json#small }]",
    "INPUT_CONFLICT app.yaml:12 tasks[0].variants: expected no variants because passThrough " +
      "is true, got some",
  ],
  [
    "passThrough: true",
    "passThrough: false",
    "INPUT_MISSING_KEY app.yaml:10 tasks[0].variants: missing; " +
      "expected at least one variant, or passThrough: true",
  ],
  [
    "passThrough: true",
    "passThrough: yes please",
    "INPUT_INVALID_VALUE app.yaml:11 tasks[0].passThrough: expected true or false, " +
      'got "yes please"',
  ],
  [
    "- name: identify",
    "- name: detect",
    'INPUT_CONFLICT app.yaml:17 tasks[2].name: two tasks are named "detect"; ' +
      "expected different names",
  ],
  [
    "to: [{ task: identify }]",
    "",
    "INPUT_CONFLICT app.yaml:15 tasks[1].variants[0].fanout: expected none, " +
      'since the task "detect" has no successor',
  ],
])("refuses %j made %j", (from, to, message) => {
  expect(mistakeOfSpec(edited(PIPELINE, from, to), PROFILE)).toBe(message);
});
