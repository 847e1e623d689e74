/** The examples of deployment: their images, flags and paths are those that there are. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { flagOf } from "../../runtime/kinds/setting.ts";
import { SETTINGS } from "../../runtime/settings/table.ts";
import { call, closeAll, serve } from "../runtime/server/harness.ts";

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly containerPort: number }[];
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: number };
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly containers?: readonly Container[];
    readonly predictor?: { readonly model: Readonly<Record<string, unknown>> };
  };
}

function resourcesOf(file: string): Resource[] {
  const text = readFileSync(`docs/deploy/${file}`, "utf8");
  return parseAllDocuments(text).map((document) => document.toJS() as Resource);
}

test.each(["pod.yaml", "inference-service.yaml"])("%s runs what is there", async (file) => {
  const [resource] = resourcesOf(file);
  const [container] = resource?.spec.containers ?? [];
  if (container === undefined) throw new Error("no container");
  const { version } = JSON.parse(readFileSync("runtime/package.json", "utf8"));
  expect(container.image).toBe(`stratagem-runtime:${version}`);
  const known = [...Object.keys(SETTINGS).map(flagOf), "--limit"];
  const flags = container.args.filter((arg) => arg.startsWith("--"));
  expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
  const port = container.ports[0]?.containerPort;
  expect(container.args).toContain(`0.0.0.0:${port}`);
  const harness = await serve();
  for (const { httpGet } of [container.readinessProbe, container.livenessProbe]) {
    expect(httpGet.port).toBe(port);
    expect([httpGet.path, (await call(harness, httpGet.path)).status]).toEqual([httpGet.path, 200]);
  }
  await closeAll();
});

test.each([
  ["Containerfile.runtime", /^ENTRYPOINT|^CMD/],
  ["stratagem.service", /^ExecStart=/],
  ["stratagem-edge.conf", /^ExecStart=/],
])("%s starts the runtime with flags that there are", (file, starts) => {
  const lines = readFileSync(`docs/deploy/${file}`, "utf8").replaceAll("\\\n", " ").split("\n");
  const words = lines.filter((line) => starts.test(line)).flatMap((line) => line.split(/[\s",]+/));
  const flags = words.filter((word) => word.startsWith("--"));
  expect(flags).toContain("--policy");
  const known = [...Object.keys(SETTINGS).map(flagOf), "--limit"];
  expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
  expect(words).toContain("/opt/stratagem/node_modules/stratagem-runtime/dist/cli.js");
});

test("both Containerfiles install and thin out in the same way", () => {
  const [runtime = "", compiler = ""] = ["runtime", "compiler"].map((name) => {
    const text = readFileSync(`docs/deploy/Containerfile.${name}`, "utf8");
    const [installing = ""] = text.slice(text.indexOf("ARG ")).split(/^FROM \$\{BASE_IMAGE/m);
    return installing.replace(`COPY ${name}/ ./`, "COPY");
  });
  expect(runtime).toContain("npm ci");
  expect(compiler).toBe(runtime);
});

test("the inference service asks for the runtime beside it", () => {
  const [runtime, service] = resourcesOf("inference-service.yaml");
  expect([runtime?.kind, service?.kind]).toEqual(["ServingRuntime", "InferenceService"]);
  expect(service?.spec.predictor?.model["runtime"]).toBe(runtime?.metadata.name);
});
