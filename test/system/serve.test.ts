import { EventEmitter, once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compileEcho } from "../support/echo-bundle.ts";
import { ofOneModel } from "../support/metrics-text.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-serve-"));
const bundle = join(folder, "bundle.msgpack");
const running: ReturnType<typeof startStratagem>[] = [];

beforeAll(() => void compileEcho(folder, 2), 60_000);

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Starts a server on any port and waits until it says where. */
async function serve(): Promise<{ url: string; child: ReturnType<typeof startStratagem> }> {
  const child = startStratagem("serve", "--policy", bundle, "--http", "127.0.0.1:0", "--json");
  running.push(child);
  const url = await urlOf(child);
  return { url, child };
}

test("answers by the models of the bundle, drains on SIGTERM and ends with 0", async () => {
  const { url, child } = await serve();
  const body = {
    id: "q1",
    inputs: [{ name: "x", datatype: "FP32", shape: [2, 3], data: [1, 2, 3, 4, 5, 6] }],
  };
  const reply = await fetch(`${url}/v2/models/echo/infer`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  expect(reply.status).toBe(200);
  expect(await reply.json()).toMatchObject({
    id: "q1",
    parameters: { variant: "small", accuracy: 0.7 },
    outputs: [{ name: "y", datatype: "FP32", shape: [2, 3], data: [1, 2, 3, 4, 5, 6] }],
  });
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

test.each([
  ["SIGTERM", "SIGTERM"],
  ["SIGTERM", "SIGINT"],
  ["SIGINT", "SIGTERM"],
] as const)("a second signal ends it at once: %s, then %s", async (first, second) => {
  const { url, child } = await serve();
  const notices = textOf(child.stderr);
  const exited = once(child, "exit");
  // A request whose body does not come keeps it from ending.
  const { hostname, port } = new URL(url);
  const client = connect(Number(port), hostname);
  client.on("error", () => {});
  client.write("POST /v2/models/echo/infer HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\n\r\n{");
  const inFlight = 'stratagem_requests_in_flight{protocol="http"} 2\n';
  while (!(await (await fetch(`${url}/metrics`)).text()).includes(inFlight));
  child.kill(first);
  await notices.until(/stopping/);
  child.kill(second);
  expect(await exited).toEqual([null, second]);
  client.destroy();
});

test("says so when the port is taken, and the first server goes on", async () => {
  const { url } = await serve();
  const { host } = new URL(url);
  const { status, stderr } = stratagem("serve", "--policy", bundle, "--http", host);
  expect(status).toBe(65);
  expect(stderr).toMatch(/^RUNTIME_LISTEN /);
  expect((await fetch(`${url}/v2/health/ready`)).status).toBe(200);
});

test("SIGHUP makes it follow the file as it is then, or say why not", async () => {
  const { url, child } = await serve();
  const notices = textOf(child.stderr);
  const metrics = async () => ofOneModel(await (await fetch(`${url}/metrics`)).text());
  const spec = JSON.parse(readFileSync(join(folder, "app.json"), "utf8"));
  const recompile = (change: object) => {
    writeFileSync(join(folder, "changed.json"), JSON.stringify({ ...spec, ...change }));
    expect(stratagem("compile", join(folder, "changed.json"), "-o", bundle).stderr).toBe("");
  };
  const arrivals = { process: "poisson" };
  recompile({ workload: { loads: [5, 7, 10], arrivals } });
  child.kill("SIGHUP");
  await notices.until(/bundle\.msgpack: serving it as it is now, SHA-256/);
  recompile({ cluster: { workers: 3 } });
  child.kill("SIGHUP");
  await notices.until(/serving it as it is now, .* on new workers: it has another cluster/);
  expect(await metrics()).toContain('stratagem_workers{state="total"} 3\n');
  writeFileSync(bundle, "no bundle");
  child.kill("SIGHUP");
  await notices.until(/not followed, .*: .*bundle\.msgpack: expected a policy bundle/);
  expect(await metrics()).toContain('stratagem_workers{state="total"} 3\n');
  recompile({});
});

test("its log changes its level while it runs, and the settings in force say so", async () => {
  const { url, child } = await serve();
  const notices = textOf(child.stderr);
  const json = async (path: string, body?: string) => {
    const asked = body === undefined ? {} : { method: "POST", body };
    return JSON.parse(await (await fetch(url + path, asked)).text());
  };
  const before = await json("/v2/logging");
  expect(before).toMatchObject({ log_info: true, log_verbose_level: 0, log_format: "text" });
  const changed = { log_verbose_level: 1, log_format: "json" };
  expect(await json("/v2/logging", JSON.stringify(changed))).toEqual({ ...before, ...changed });
  await notices.until(/"level":"info","message":"the log settings were changed: it writes debug/);
  expect(await json("/admin/config")).toMatchObject({
    settings: { log: "debug,json" },
    sources: { log: "an administrator", accessLog: "default" },
  });
});

test("loading its model over HTTP does as SIGHUP does, and says why it does not", async () => {
  const { url, child } = await serve();
  const notices = textOf(child.stderr);
  const json = async (reply: Promise<Response>) => JSON.parse(await (await reply).text());
  const { extensions } = await json(fetch(`${url}/v2/`));
  expect(extensions).toContain("model_repository");
  const { models } = await json(fetch(`${url}/v2/models`));
  const load = async () => {
    const path = `${url}/v2/repository/models/${models[0]}/load`;
    const reply = await fetch(path, { method: "POST" });
    return { status: reply.status, ...JSON.parse(await reply.text()) };
  };
  expect(await load()).toEqual({ status: 200, name: models[0], load: true });
  await notices.until(/bundle\.msgpack: serving it as it is now, SHA-256/);
  const good = readFileSync(bundle);
  writeFileSync(bundle, "no bundle");
  const refused = await load();
  writeFileSync(bundle, good);
  expect(refused).toEqual({
    status: 400,
    error: expect.stringMatching(/^failed to load '.*', not followed, .*expected a policy bundle/),
  });
  expect((await fetch(`${url}/v2/health/ready`)).status).toBe(200);
});

/** What a stream has said so far. */
function textOf(stream: Readable | null) {
  let text = "";
  stream?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  return {
    async until(pattern: RegExp): Promise<void> {
      while (!pattern.test(text)) await once(stream ?? new EventEmitter(), "data");
    },
  };
}

test("bench measures a running server from the outside", async () => {
  const { url } = await serve();
  const out = stratagem(
    "bench",
    url,
    "--arrivals",
    "poisson:100",
    "--duration",
    "1s",
    "--slo",
    "5s",
    "--json",
  );
  expect(out.status).toBe(0);
  const { queries, satisfied, late, dropped, byVariant, errors } = JSON.parse(out.stdout);
  expect(queries).toBeGreaterThan(50);
  expect(satisfied + late + dropped).toBe(queries);
  expect(byVariant.small.queries).toBe(queries);
  expect(errors).toEqual({});
});

test.each<[string, string[], RegExp]>([
  ["an address that is none", ["--http", "nowhere"], /^RUNTIME_USAGE --http: expected HOST:PORT/],
  ["a folder without the models", ["--models", tmpdir()], /^RUNTIME_MODEL .*identity\.onnx/],
  [
    "a device that is absent",
    ["--device", "cuda"],
    /^RUNTIME_DEVICE .*cuda.*--onnxruntime-node-install=cuda12/m,
  ],
])("refuses %s", (_, flags, message) => {
  const { status, stderr } = stratagem("serve", "--policy", bundle, ...flags);
  expect(stderr).toMatch(message);
  expect([64, 65]).toContain(status);
});
