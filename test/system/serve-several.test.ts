import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { startServer as StartServer } from "../../runtime/host/start-server.ts";
import { identityModel } from "../support/onnx-model.ts";
import { startStratagem, stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-several-"));
const running: ReturnType<typeof startStratagem>[] = [];
let one: string;
let two: string;
let startServer: typeof StartServer;

/** @returns path of a bundle of an application with one task of one variant. */
function compiled(application: string, policy: object): string {
  const place = join(folder, application);
  mkdirSync(place, { recursive: true });
  const variants = { small: { accuracy: 0.7, latencyMs: { 1: 10, 2: 16 } } };
  const spec = {
    version: 1,
    application,
    slo: { latency: "5 s" },
    workload: { loads: [10], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [
      {
        name: "classify",
        variants: [{ name: "small", profile: "profile.json#small", model: "identity.onnx" }],
      },
    ],
    policy,
  };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  writeFileSync(join(place, "identity.onnx"), identityModel(3));
  writeFileSync(join(place, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(place, "app.json"), JSON.stringify(spec));
  const out = join(place, "bundle.msgpack");
  expect(stratagem("compile", join(place, "app.json"), "-o", out).stderr).toBe("");
  return out;
}

beforeAll(async () => {
  one = compiled("one", { method: "ramsis", maxQueue: 4 });
  two = compiled("two", { method: "loki" });
  // As it was built: its workers are programs that lie beside it.
  const built = pathToFileURL(resolve("runtime/dist/host/start-server.js")).href;
  ({ startServer } = await import(built));
}, 60_000);

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

async function serve(...flags: string[]) {
  const policies = ["--policy", one, "--policy", two];
  const rest = ["--http", "127.0.0.1:0", "--standby", "0", "--json", ...flags];
  const child = startStratagem("serve", ...policies, ...rest);
  running.push(child);
  const notices: string[] = [];
  child.stderr?.on("data", (chunk) => notices.push(String(chunk)));
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n}")) break;
  }
  return { told: JSON.parse(text), child, notices };
}

async function jsonOf(url: string, init: RequestInit = {}) {
  const reply = await fetch(url, init);
  return { status: reply.status, body: (await reply.json()) as ReturnType<typeof JSON.parse> };
}

function infer(url: string, name: string, headers: Readonly<Record<string, string>> = {}) {
  const data = [1, 2, 3];
  const input = { name: "x", datatype: "FP32", shape: [1, 3], data };
  const body = JSON.stringify({ inputs: [input] });
  return jsonOf(`${url}/v2/models/${name}/infer`, { method: "POST", body, headers });
}

describe("two bundles of different methods", () => {
  test("are served by the names of their models, told apart and reloaded one by one", async () => {
    const { told, child, notices } = await serve();
    const { url, served } = told;
    expect(served.map(({ policy }: { policy: string }) => policy)).toEqual([one, two]);
    for (const name of ["one", "two"]) {
      const { status, body } = await infer(url, name);
      expect([status, body.model_name, body.outputs[0].data]).toEqual([200, name, [1, 2, 3]]);
      expect((await fetch(`${url}/v2/models/${name}/ready`)).status).toBe(200);
    }
    expect((await infer(url, "three")).status).toBe(404);
    const index = await jsonOf(`${url}/v2/repository/index`, { method: "POST" });
    const entries = index.body.map(({ name, state }: Record<string, string>) => [name, state]);
    expect(entries).toEqual([
      ["one", "READY"],
      ["two", "READY"],
    ]);
    const stats = await jsonOf(`${url}/v2/models/stats`);
    const counts = stats.body.model_stats.map(({ name, inference_count: count }: never) => [
      ...[name, Number(count)],
    ]);
    expect(counts).toEqual([
      ["one", 1],
      ["two", 1],
    ]);

    const state = await jsonOf(`${url}/admin/state`);
    const apps = state.body.applications;
    expect(apps.map((app: Record<string, unknown>) => [app["application"], app["method"]])).toEqual(
      [
        ["one", "ramsis"],
        ["two", "loki"],
      ],
    );
    const reload = (body: string) => jsonOf(`${url}/admin/reload`, { method: "POST", body });
    const bytes = readFileSync(two);
    writeFileSync(two, "no bundle");
    expect((await reload('{"application": "one"}')).body).toMatchObject({
      followed: true,
      applications: [{ application: "one", policy: one, followed: true }],
    });
    const all = await reload("");
    writeFileSync(two, bytes);
    expect(all.status).toBe(409);
    expect(all.body.applications).toMatchObject([
      { application: "one", followed: true },
      { application: "two", followed: false },
    ]);
    expect((await reload('{"application": "three"}')).status).toBe(404);
    const config = await jsonOf(`${url}/admin/config`);
    expect(config.body).toMatchObject({
      settings: { policy: [one, two], standby: 0 },
      sources: { policy: "--policy", clientRate: "default" },
    });

    expect(notices.join("")).not.toContain("internal error");
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
  });

  test("whose models have the same names are refused by name", () => {
    const other = compiled("other/one", { method: "loki" });
    const renamed = readFileSync(join(folder, "other/one", "app.json"), "utf8");
    writeFileSync(
      join(folder, "other/one", "app.json"),
      renamed.replace('"application":"other/one"', '"application":"one"'),
    );
    const spec = join(folder, "other/one", "app.json");
    expect(stratagem("compile", spec, "-o", other).status).toBe(0);
    for (const again of [other, one]) {
      const { status, stderr } = stratagem("serve", "--policy", one, "--policy", again);
      expect(status).toBe(65);
      expect(stderr).toContain(
        `RUNTIME_MODEL ${again}: expected models of other names than those of ${one}, got "one"`,
      );
    }
  });

  test("that want more together than there is are refused, and no worker is left", async () => {
    const before = children();
    const unlimited = { left: 1e12, of: "nothing" };
    const files = { left: 148, of: "RLIMIT_NOFILE", most: 200 };
    const processors = { count: 8, numbers: null, quota: 8, quotaOf: "cpu.max" };
    const means = () => ({ memory: unlimited, threads: unlimited, files, processors });
    const options = { port: 0, standby: 0, means };
    const alone = await startServer({ ...options, policy: one });
    await alone.close();
    await expect(startServer({ ...options, policy: [one, two] })).rejects.toThrow(
      `${one} and ${two}: expected a limit of at least 204 open files (RLIMIT_NOFILE, ` +
        "ulimit -n), got 200: 52 are open, and the parts need the server 32, logs 16, " +
        "connections 64, rejected connections 32, 2 workers and models 8",
    );
    await expect.poll(children).toEqual(before);
  });

  test("with a second one that is missing leave nothing open", async () => {
    const before = children();
    const policy = [one, join(folder, "missing.msgpack")];
    await expect(startServer({ policy })).rejects.toThrow("missing.msgpack");
    await expect.poll(children).toEqual(before);
  });

  test("have folders of models of their own or one for all, and no other number", () => {
    const three = ["--models", folder, "--models", folder, "--models", folder];
    const policies = ["--policy", one, "--policy", two];
    const odd = stratagem("serve", ...policies, ...three);
    expect(odd.status).toBe(64);
    expect(odd.stderr).toContain(
      "--models: expected one folder of models for all, or one for each",
    );
    const swapped = ["--models", join(folder, "one"), "--models", join(folder, "none")];
    const missing = stratagem("serve", ...policies, ...swapped);
    expect(missing.status).toBe(65);
    expect(missing.stderr).toContain(`RUNTIME_MODEL ${join(folder, "none", "identity.onnx")}`);
  });

  test("share the settings of who may come in", async () => {
    const { status, stdout } = stratagem("keygen", "--token", "ci", "--scopes", "infer", "--json");
    expect(status).toBe(0);
    const { token, line } = JSON.parse(stdout);
    const path = join(folder, "tokens.yaml");
    writeFileSync(path, `${line}\n`);
    const { told, child, notices } = await serve(
      ...["--tokens", path, "--admin", "127.0.0.1:0", "--limit", "clientRate=1000"],
    );
    const { url, adminUrl } = told;
    const headers = { authorization: `Bearer ${token}` };
    for (const name of ["one", "two"]) {
      expect((await infer(url, name)).status).toBe(401);
      expect((await infer(url, name, headers)).status).toBe(200);
    }
    expect((await jsonOf(`${adminUrl}/admin/state`, { headers })).status).toBe(403);
    expect((await jsonOf(`${url}/admin/state`, { headers })).status).toBe(404);
    const other = JSON.parse(stratagem("keygen", "--token", "next", "--json").stdout);
    writeFileSync(path, `${other.line}\n`);
    child.kill("SIGHUP");
    const as = (secret: string) => ({ authorization: `Bearer ${secret}` });
    await expect.poll(async () => (await infer(url, "one", as(other.token))).status).toBe(200);
    expect((await infer(url, "one", headers)).status).toBe(401);
    expect(notices.join("")).not.toContain(token);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

/** Processes of this one that run. */
function children(): string[] {
  const tasks = `/proc/${process.pid}/task`;
  return readdirSync(tasks)
    .flatMap((task) =>
      readFileSync(join(tasks, task, "children"), "utf8")
        .trim()
        .split(" "),
    )
    .filter((pid) => pid !== "")
    .sort();
}
