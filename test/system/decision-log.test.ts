/** A server that logs its decisions, and the compiler that makes them again and plans by them. */
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readTrace, type Trace } from "../../compiler/spec/trace.ts";
import { writeApplication } from "../contract/application.ts";
import { SUBJECTS } from "../contract/subjects.ts";
import { startStratagem, stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-decisions-"));
const running: ReturnType<typeof startStratagem>[] = [];

const bundles = new Map<string, string>();
const COMPILED = SUBJECTS.map(({ method, compiled }) => [method, compiled] as const);

beforeAll(() => {
  for (const [method, compiled] of COMPILED) {
    const own = join(folder, method);
    mkdirSync(own);
    const path = writeApplication(own, compiled);
    const out = join(own, "bundle.msgpack");
    expect(stratagem("compile", path, "-o", out).status).toBe(0);
    bundles.set(method, out);
  }
}, 120_000);

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

async function serve(method: string, ...flags: string[]) {
  const where = ["--http", "127.0.0.1:0", "--standby", "0", "--json"];
  const child = startStratagem(
    "serve",
    "--policy",
    String(bundles.get(method)),
    ...where,
    ...flags,
  );
  running.push(child);
  let notices = "";
  child.stderr?.on("data", (chunk) => {
    notices += String(chunk);
  });
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n}")) break;
  }
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
    return notices;
  };
  return { url: String(JSON.parse(text).url), stop };
}

/** @returns the id that the answer has, whatever became of the request. */
async function infer(url: string, model: string, rows: number): Promise<string> {
  const data = Array.from({ length: 3 * rows }, (_, at) => at);
  const input = { name: "x", datatype: "FP32", shape: [rows, 3], data };
  const body = JSON.stringify({ inputs: [input] });
  const reply = await fetch(`${url}/v2/models/${model}/infer`, { method: "POST", body });
  await reply.arrayBuffer();
  return String(reply.headers.get("x-request-id"));
}

async function requests(url: string, model: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let round = 0; ids.length < count; round++) {
    const some = Array.from({ length: 1 + (round % 4) }, (_, at) =>
      infer(url, model, 1 + (at % 2)),
    );
    ids.push(...(await Promise.all(some)));
  }
  return ids;
}

type Line = { kind: string; id?: string; decisions?: { variant: string }[] };

function linesOf(path: string): Line[] {
  const text = gunzipSync(readFileSync(path)).toString();
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe.each(COMPILED)("the decisions of a server of %s", (method, { model }) => {
  test("are logged and made again, a changed one is named, traffic is simulated", async () => {
    const log = join(folder, `${method}.log.gz`);
    const policy = String(bundles.get(method));
    const { url, stop } = await serve(method, "--decision-log", log);
    const ids = await requests(url, model, 40);
    expect(await stop()).not.toContain("decision log");
    const lines = linesOf(log);
    const decisions = lines.filter(({ kind }) => kind === "decision");
    expect(decisions.map(({ id }) => id).sort()).toEqual([...ids].sort());

    const replay = (...more: string[]) =>
      stratagem("explain", log, "--replay", "--policy", policy, ...more);
    const good = replay("--json");
    expect([good.status, good.stderr]).toEqual([0, ""]);
    const told = JSON.parse(good.stdout);
    expect(told).toMatchObject({
      ...{ requests: ids.length, differences: [], lostLines: 0, unreadable: 0 },
      decisions: { different: 0, notSettled: 0 },
      events: { different: 0, skipped: 0 },
    });
    expect(told.decisions.reproduced).toBeGreaterThan(0);
    expect(told.events.commands).toBeGreaterThan(0);

    const bad = decisions.findLast((one) => one.decisions?.length !== 0);
    const [first] = bad?.decisions ?? [];
    if (first !== undefined) first.variant = "another";
    writeFileSync(log, gzipSync(`${lines.map((line) => JSON.stringify(line)).join("\n")}\n`));
    const found = replay();
    expect(found.status).toBe(3);
    expect(found.stdout).toContain(`echo: request ${bad?.id} at `);

    const trace = join(folder, `${method}.csv`);
    const simulated = stratagem(
      ...["simulate", policy, "--arrivals", `log:${log}`, "--write-trace", trace, "--json"],
    );
    expect([simulated.status, simulated.stderr]).toEqual([0, ""]);
    const { arrivals } = JSON.parse(simulated.stdout);
    expect(arrivals).toMatchObject({ requests: ids.length });
    const { arrivalMs } = arrivalsIn(readTrace(trace));
    expect(arrivalMs).toHaveLength(arrivals.queries);
  });
});

function arrivalsIn(trace: Trace) {
  if (trace.kind === "arrivals") return trace;
  throw new Error("a trace of times has times");
}

test("a sample is replayed by the states that it has, without masked fields", async () => {
  const log = join(folder, "sample.jsonl");
  const flags = ["--decision-log", log, "--decision-sample", "50%", "--decision-mask", "client"];
  const { url, stop } = await serve("ramsis", ...flags);
  const ids = await requests(url, "echo", 60);
  await stop();
  const text = readFileSync(log, "utf8");
  expect(text).not.toContain("127.0.0.1");
  const told = JSON.parse(
    stratagem("explain", log, "--replay", "--policy", String(bundles.get("ramsis")), "--json")
      .stdout,
  );
  expect(told.requests).toBeGreaterThan(0);
  expect(told.requests).toBeLessThan(ids.length);
  expect(told.decisions).toMatchObject({ different: 0, notSettled: 0 });
  expect(told.decisions.reproduced).toBeGreaterThan(0);
  const simulated = stratagem(
    ...["simulate", String(bundles.get("ramsis")), "--arrivals", `log:${log}`, "--json"],
  );
  expect(JSON.parse(simulated.stdout).arrivals).toMatchObject({ requests: ids.length });
});

test("a bundle that was reloaded decides from there on, in a replay too", async () => {
  const log = join(folder, "reloaded.gz");
  const served = join(folder, "ramsis", "served.msgpack");
  const first = String(bundles.get("ramsis"));
  const second = join(folder, "ramsis", "second.msgpack");
  const spec = JSON.parse(readFileSync(join(folder, "ramsis", "app.json"), "utf8"));
  spec.workload.loads = [10, 40];
  writeFileSync(join(folder, "ramsis", "second.json"), JSON.stringify(spec));
  const path = join(folder, "ramsis", "second.json");
  expect(stratagem("compile", path, "-o", second).status).toBe(0);
  copyFileSync(first, served);
  bundles.set("reloaded", served);
  const { url, stop } = await serve("reloaded", "--decision-log", log);
  await requests(url, "echo", 10);
  copyFileSync(second, served);
  const reply = await fetch(`${url}/admin/reload`, { method: "POST" });
  expect(reply.status, await reply.text()).toBe(200);
  await requests(url, "echo", 10);
  await stop();
  const replay = (...policies: string[]) => {
    const flags = policies.flatMap((policy) => ["--policy", policy]);
    return JSON.parse(stratagem("explain", log, "--replay", ...flags, "--json").stdout);
  };
  const both = replay(first, second);
  expect(Object.keys(both.requestsByRevision)).toHaveLength(2);
  expect(both).toMatchObject({
    differences: [],
    decisions: { notSettled: 0 },
    events: { skipped: 0 },
  });
  const one = replay(first);
  expect(one.events.skipped).toBeGreaterThan(0);
  expect(Object.keys(one.reasons)[0]).toMatch(/^from here on a bundle [\da-f]{12}… of 2 levels/);
});

test("a receiver that is away has them once it is back, and nobody waited", async () => {
  const got: Line[] = [];
  const receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = gunzipSync(Buffer.concat(chunks)).toString().trim();
    got.push(...text.split("\n").map((line) => JSON.parse(line)));
    response.end();
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const { port } = receiver.address() as AddressInfo;
  receiver.close();
  await once(receiver, "close");
  const { url, stop } = await serve("ramsis", "--decision-log", `http://127.0.0.1:${port}/logs`);
  const ids = await requests(url, "echo", 20);
  receiver.listen(port, "127.0.0.1");
  await once(receiver, "listening");
  const notices = await stop();
  receiver.closeAllConnections();
  receiver.close();
  const known = got.flatMap(({ kind, id }) => (kind === "decision" ? [id] : []));
  expect(known.sort()).toEqual([...ids].sort());
  expect(got.filter(({ kind }) => kind === "lost")).toEqual([]);
  expect(notices).not.toContain("lines were lost");
});

test("what is no place is refused at the start, and so is a sample without one", () => {
  const policy = String(bundles.get("ramsis"));
  const missing = join(folder, "missing", "log.gz");
  const refused = stratagem("serve", "--policy", policy, "--decision-log", missing);
  expect(refused.status).toBe(64);
  expect(refused.stderr).toContain(`--decision-log: expected a writable file, an http`);
  expect(refused.stderr).toContain("ENOENT");
  const alone = stratagem("serve", "--policy", policy, "--decision-sample", "1%");
  expect([alone.status, alone.stderr]).toEqual([
    64,
    expect.stringContaining("--decision-sample needs --decision-log"),
  ]);
  const mask = stratagem(
    ...["serve", "--policy", policy, "--decision-log", "-", "--decision-mask", "rows"],
  );
  expect(mask.stderr).toContain("expected one of id, id=digest, client");
});
