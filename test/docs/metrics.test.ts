/** docs/metrics.md has a list of all metrics of servers; WRITE_DOCS=1 writes it. */
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { type Family, familiesOf } from "../../runtime/base/exposition.ts";
import { BY_METHOD } from "../contract/subjects.ts";
import { bucketBundle } from "../support/bucket-bundle.ts";
import { classBundle } from "../support/class-bundle.ts";
import { type Told, toldMetrics } from "../support/told-metrics.ts";
import { wrapped } from "./markdown.ts";

const PAGE = "docs/metrics.md";
const START = "## All metrics of a server\n";
const OPTIONAL = "## Metrics of optional features\n";

/** What the names of the protocol page and of Triton say against the rules for names. */
const OLD_NAMES = [
  "nv_inference_count",
  "nv_inference_exec_count",
  "nv_inference_request_duration_us",
  "nv_inference_queue_duration_us",
  "nv_inference_compute_infer_duration_us",
  "nv_inference_compute_input_duration_us",
  "nv_inference_compute_output_duration_us",
  "nv_inference_request_failure",
  "nv_inference_request_success",
];

let toldByMethod: ReadonlyMap<string, Told>;
beforeAll(async () => {
  const told = [];
  for (const [method, { served }] of BY_METHOD) {
    told.push([method, await toldMetrics([served])] as const);
    const { bundle } = served;
    if (bundle.method === "ramsis") {
      const classes = { ...served, bundle: classBundle() };
      told.push(["ramsis with classes", await toldMetrics([classes])] as const);
      const buckets = { ...served, bundle: bucketBundle() };
      told.push(["ramsis with buckets", await toldMetrics([buckets])] as const);
    } else if (bundle.method === "inferline") {
      const policy = { ...bundle.policy, tuner: "paper" } as const;
      const tuned = { ...served, bundle: { ...bundle, policy } };
      told.push(["inferline with a tuner", await toldMetrics([tuned])] as const);
    }
  }
  toldByMethod = new Map(told);
}, 60_000);

test("the list of metrics is what servers tell", () => {
  const page = readFileSync(PAGE, "utf8");
  const before = page.slice(0, page.indexOf(START));
  const whole = `${before}${START}\n${INTRODUCTION}\n${table()}`;
  if (process.env["WRITE_DOCS"] !== undefined) writeFileSync(PAGE, whole);
  expect(readFileSync(PAGE, "utf8")).toBe(whole);
});

test("the metrics of optional features are those of the code", () => {
  const page = readFileSync(PAGE, "utf8");
  const list = page.slice(page.indexOf(OPTIONAL), page.indexOf(START));
  const names = [...list.matchAll(/^- `(\w+)` \((?:counter|gauge|histogram)/gm)].map(
    ([, name = ""]) => name,
  );
  expect(names.length).toBeGreaterThan(10);
  const sources = readdirSync("runtime", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.startsWith("dist"))
    .map((path) => readFileSync(`runtime/${path}`, "utf8"))
    .join("");
  expect(names.filter((name) => !sources.includes(`"${name}"`))).toEqual([]);
});

test("every metric of an application names its model", () => {
  const nameless = new Set<string>();
  for (const { lines } of toldByMethod.values()) {
    for (const { name, samples } of familiesOf(lines)) {
      if (samples.some(({ labels }) => labels["model"] === undefined)) nameless.add(name);
    }
  }
  const ofServer =
    /^(process|nv_gpu)_|^stratagem_(connections|requests|refused|buffered|event_loop|log_records)/;
  expect([...nameless].filter((name) => !ofServer.test(name))).toEqual([]);
});

test("applications of one server share families: each name has one help and one type", async () => {
  const all = BY_METHOD.map(([, { served }]) => served);
  const { text } = await toldMetrics([all[0], all[1], all[4]].flatMap((one) => one ?? []));
  for (const mark of ["HELP", "TYPE"]) {
    const names = [...text.matchAll(new RegExp(`^# ${mark} (\\S+)`, "gm"))].map(([, name]) => name);
    expect(new Set(names).size).toBe(names.length);
  }
  const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const keys = series.map((line) => line.slice(0, line.lastIndexOf(" ")));
  expect(new Set(keys).size).toBe(keys.length);
  const pending = keys.filter((key) => key.startsWith("stratagem_load_qps{"));
  expect(pending).toHaveLength(3);
});

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

describe.skipIf(!hasPromtool)("promtool (skipped where the package prometheus is missing)", () => {
  test.each(BY_METHOD)("finds nothing in the metrics of %s but old names", (method) => {
    const input = toldByMethod.get(method)?.text ?? "";
    const { status, stderr } = spawnSync("promtool", ["check", "metrics"], {
      input,
      encoding: "utf8",
    });
    const faults = stderr.split("\n").filter((line) => line !== "");
    expect(faults.filter((line) => !OLD_NAMES.some((name) => line.startsWith(name)))).toEqual([]);
    expect(status === 0 || faults.length > 0).toBe(true);
  });

  test("is one that runs", () => {
    expect(execFileSync("promtool", ["--version"], { encoding: "utf8" })).toContain("promtool");
  });
});

const INTRODUCTION = `The dashboard and the alerts in \`docs/deploy\` are made from this list. Every
metric of an application also has the label \`model\`: the application, or the model that clients
name where there are several. GPU metrics are present where a driver reports them; those of logs,
traces and gRPC where these are on.
`;

interface Row {
  readonly family: Family;
  readonly methods: Set<string>;
  readonly labels: Set<string>;
}

function table(): string {
  const rows = new Map<string, Row>();
  for (const [told, { lines }] of toldByMethod) {
    const [method = ""] = told.split(" ");
    for (const family of familiesOf(lines)) {
      const row = rows.get(family.name) ?? { family, methods: new Set(), labels: new Set() };
      rows.set(family.name, row);
      row.methods.add(method);
      for (const { labels } of family.samples) {
        for (const label of Object.keys(labels)) row.labels.add(label);
      }
    }
  }
  const all = new Set(BY_METHOD.map(([method]) => method)).size;
  const sorted = [...rows.values()].sort((a, b) => (a.family.name < b.family.name ? -1 : 1));
  const texts = sorted.map(({ family: { name, type, help }, methods, labels }) => {
    const own = [...labels].filter((label) => !["le", "model", "version"].includes(label)).sort();
    const by = own.map((label) => `\`${label}\``).join(", ");
    const whose = methods.size === all ? "" : ` Only of ${[...methods].join(", ")}.`;
    const kind = by === "" ? type : `${type} by ${by}`;
    return `${wrapped(`- \`${name}\` (${kind}): ${help}.${whose}`).join("\n")}\n`;
  });
  return texts.join("");
}
