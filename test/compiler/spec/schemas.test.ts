import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import {
  applicationJsonSchema,
  applicationSchema,
} from "../../../compiler/spec/schema/application-schema.ts";
import { profileJsonSchema, profileSchema } from "../../../compiler/spec/schema/profile-schema.ts";

const MINIMAL = {
  version: 1,
  application: "demo",
  slo: { latency: "150 ms" },
  workload: { arrivals: { process: "poisson" }, loads: [100, "200 / s"] },
  cluster: { workers: 4 },
  tasks: [{ name: "classify", variants: [{ name: "small", profile: "profile.json#small" }] }],
  policy: { method: "ramsis" },
};

const PROFILE = {
  format: "latency-profile/1",
  hardware: "cpu",
  variants: { small: { latencyMs: { "1": 20, "2": "30 ms" } } },
};

/** What an editor makes of a JSON Schema. */
function editorSchema(schema: object): z.ZodType {
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
}

test("the JSON Schema of specs accepts a minimal spec and refuses an unknown key", () => {
  const schema = editorSchema(applicationJsonSchema());
  expect(schema.safeParse(MINIMAL).success).toBe(true);
  expect(schema.safeParse({ ...MINIMAL, workers: 4 }).success).toBe(false);
  expect(schema.safeParse({ ...MINIMAL, slo: { latency: 150 } }).success).toBe(false);
});

test("the JSON Schemas take devices of pools and of profiles", () => {
  const spec = (pool: object) => ({ ...MINIMAL, cluster: { pools: [{ name: "a", ...pool }] } });
  const specs = editorSchema(applicationJsonSchema());
  expect(specs.safeParse(spec({ device: "cuda:0,1" })).success).toBe(true);
  expect(specs.safeParse(spec({ workers: 2 })).success).toBe(true);
  expect(applicationJsonSchema()).toHaveProperty(
    "properties.cluster.properties.pools.items.anyOf",
    [{ required: ["workers"] }, { required: ["device"] }],
  );
  const device = { provider: "webgpu", name: "Shader", driver: null };
  const start = { processMs: 1, loadMs: 2, warmMs: 3 };
  const fallback = { nodes: 2, of: 9, ops: { NonZero: 2 }, names: ["/a", "/b"] };
  const measured = { latencyMs: { "1": 20 }, precision: "float16", start, fallback };
  const profiles = editorSchema(profileJsonSchema());
  const profile = { ...PROFILE, device, variants: { small: measured } };
  expect(profiles.safeParse(profile).success).toBe(true);
  expect(profileSchema.safeParse(profile).success).toBe(true);
  expect(profiles.safeParse({ ...profile, device: { ...device, kind: 1 } }).success).toBe(false);
});

test("the JSON Schema of specs requires no key that has a default", () => {
  expect(applicationJsonSchema()).toMatchObject({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    required: ["version", "application", "slo", "workload", "cluster", "tasks", "policy"],
    additionalProperties: false,
    properties: {
      slo: {
        anyOf: [{ required: ["latency"] }, { required: ["classes"] }],
        additionalProperties: false,
        properties: { percentile: { default: 99 }, latency: { type: "string" } },
      },
      cluster: { properties: { communicationLatency: { default: "auto" } } },
    },
  });
});

test("the JSON Schema of profiles accepts a minimal profile and refuses an unknown key", () => {
  const schema = editorSchema(profileJsonSchema());
  expect(schema.safeParse(PROFILE).success).toBe(true);
  expect(schema.safeParse({ ...PROFILE, hardwear: "cpu" }).success).toBe(false);
  const layered = { layers: { ms: [1, "2 ms"] }, speedups: { "2": 1.5 } };
  expect(schema.safeParse({ ...PROFILE, variants: { small: layered } }).success).toBe(true);
  const lacking = { layers: { overheadMs: 1 } };
  expect(schema.safeParse({ ...PROFILE, variants: { small: lacking } }).success).toBe(false);
  expect(
    schema.safeParse({ ...PROFILE, variants: { small: { latencyMs: { "0": 1 } } } }).success,
  ).toBe(false);
});

test("the JSON Schemas and the parser agree on the minimal forms", () => {
  expect(applicationSchema.safeParse(MINIMAL).success).toBe(true);
  expect(profileSchema.safeParse(PROFILE).success).toBe(true);
});

test.each([
  ["application", applicationJsonSchema()],
  ["profile", profileJsonSchema()],
])(
  "the package has the JSON Schema of the %s as a file; WRITE_DOCS=1 writes it",
  (name, schema) => {
    const path = `compiler/schema/${name}.json`;
    const text = `${JSON.stringify(schema, null, 2)}\n`;
    if (process.env["WRITE_DOCS"] !== undefined) writeFileSync(path, text);
    expect(readFileSync(path, "utf8")).toBe(text);
  },
);
