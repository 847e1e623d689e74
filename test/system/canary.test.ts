/** A bundle on trial: taken where it does well, given up where it fails, and no request is lost. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServerOptions, StartedServer } from "../../runtime/host/start-server.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

/** Its rows come back, and fail once there is a file beside it that says so. */
const MODULE = `import { existsSync } from "node:fs";
export default () => ({
  inputs: [{ name: "x", datatype: "FP32", shape: [1] }],
  outputs: [{ name: "y", datatype: "FP32", shape: [1] }],
  run({ x }) {
    if (existsSync(new URL("./FLAG", import.meta.url))) throw new Error("broken");
    return { y: x };
  },
  batches: [1],
});
`;

const folder = mkdtempSync(join(tmpdir(), "stratagem-canary-"));
const stable = join(folder, "stable");
const good = join(folder, "good");
const bad = join(folder, "bad");
let started: typeof import("../../runtime/host/start-server.ts");

/** Writes a bundle of the application `look`, or another. @returns its path. */
function compiled(name: string, loadQps: number, application = "look"): string {
  const variants = { one: { accuracy: 0.7, latencyMs: { 1: 20 } } };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(folder, `${name}.mjs`), MODULE.replace("FLAG", `${name}-is-broken`));
  const variant = { name: "one", kind: "module", model: `./${name}.mjs` };
  const spec = {
    version: 1,
    application,
    slo: { latency: "2 s" },
    workload: { loads: [loadQps], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: "see", variants: [{ ...variant, profile: "profile.json#one" }] }],
    policy: { method: "ramsis", maxQueue: 16 },
  };
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(spec));
  const bundle = join(folder, name);
  expect(stratagem("compile", join(folder, `${name}.json`), "-o", bundle).stderr).toBe("");
  return bundle;
}

beforeAll(async () => {
  compiled("stable", 10);
  compiled("good", 12);
  compiled("bad", 14);
  // Workers are compiled files.
  started = await import(resolve("runtime/dist/host/start-server.js"));
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true }));

const BODY = JSON.stringify({
  inputs: [{ name: "x", datatype: "FP32", shape: [1, 1], data: [1] }],
});

interface Served {
  readonly server: StartedServer;
  readonly notices: string[];
}

/** A server of the stable bundle, half of whose requests go to another. */
async function serve(
  policy: string,
  tolerance = 0.05,
  more: Partial<ServerOptions> = {},
): Promise<Served> {
  const notices: string[] = [];
  const server = await started.startServer({
    policy: stable,
    settings: { canary: [`${policy}=50%`], canaryTime: 1000, canaryTolerance: tolerance },
    standby: 0,
    meansCheck: false,
    onNotice: (notice) => notices.push(notice),
    ...more,
  });
  await server.started;
  return { server, notices };
}

/** Answers by their status, and by who gave them. */
type Counts = Record<string, number>;

/** Four clients ask one request after the other until somebody has enough. */
async function keepAsking(url: string, isEnough: () => boolean, counts: Counts = {}) {
  let sent = 0;
  let answered = 0;
  const client = async () => {
    while (!isEnough() && sent < 60_000) {
      sent++;
      const reply = await fetch(`${url}/v2/models/look/infer`, { method: "POST", body: BODY });
      await reply.arrayBuffer();
      const who = reply.headers.get("stratagem-revision") ?? "";
      counts[`${reply.status} ${who}`] = (counts[`${reply.status} ${who}`] ?? 0) + 1;
      answered++;
    }
  };
  await Promise.all([client(), client(), client(), client()]);
  return { sent, answered, counts };
}

async function canaryOf(url: string, body?: object) {
  const asked = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const reply = await fetch(`${url}/admin/canary`, asked);
  const told = (await reply.json()) as { canaries: { state: string }[]; notice?: string };
  return { status: reply.status, notice: told.notice, canary: told.canaries?.[0] };
}

test("one that does well is promoted step by step, and no request is lost", async () => {
  const settings = { canary: [`${good}=25%,50%`], canaryTime: 1000, canaryTolerance: 0.05 };
  const { server, notices } = await serve(good, 0.05, { settings });
  const before = server.served[0]?.sha256;
  const isOver = () => notices.some((notice) => / answers all requests: /.test(notice));
  const { sent, answered, counts } = await keepAsking(server.url, isOver);
  expect(answered).toBe(sent);
  expect(Object.keys(counts).every((key) => key.startsWith("200 "))).toBe(true);
  const { sha256 = "" } = server.served[0] ?? {};
  expect(sha256).not.toBe(before);
  expect(counts[`200 ${sha256.slice(0, 12)}`]).toBeGreaterThan(50);
  expect(notices.filter((notice) => notice.startsWith("canary: "))).toEqual([
    `canary: ${good} receives 25 % of the requests, SHA-256 ${sha256}`,
    expect.stringContaining(`${good} now receives 50 % of the requests: 0.0 % of its `),
    expect.stringMatching(/0\.0 % of its \d+ requests are late or failed, against 0\.0 %/),
  ]);
  expect((await canaryOf(server.url)).canary).toMatchObject({ state: "promoted", share: 0 });
  const again = await canaryOf(server.url, { action: "start" });
  expect([again.status, again.notice]).toEqual([409, expect.stringContaining("got the same")]);
  expect((await server.reload()).isFollowed).toBe(true);
  expect(server.served[0]).toMatchObject({ policy: good, sha256 });
  await server.close();
}, 120_000);

test("one whose requests fail is rolled back, and the others are answered", async () => {
  const { server, notices } = await serve(bad, 0.0001);
  const before = server.served[0]?.sha256 ?? "";
  const isTried = () => notices.some((notice) => / receives /.test(notice));
  await keepAsking(server.url, isTried);
  writeFileSync(join(folder, "bad-is-broken"), "");
  const isOver = () => notices.some((notice) => / is rolled back: /.test(notice));
  const { sent, answered, counts } = await keepAsking(server.url, isOver);
  expect(answered).toBe(sent);
  const stableOnly = Object.entries(counts).filter(([key]) => key.endsWith(before.slice(0, 12)));
  expect(stableOnly.map(([key]) => key)).toEqual([`200 ${before.slice(0, 12)}`]);
  expect(Object.keys(counts).some((key) => key.startsWith("500 "))).toBe(true);
  expect(server.served[0]?.sha256).toBe(before);
  let left = 200;
  const after = await keepAsking(server.url, () => left-- <= 0);
  expect(Object.keys(after.counts)).toEqual(["200 "]);
  expect((await canaryOf(server.url)).canary).toMatchObject({
    state: "rolled back",
    because: expect.stringMatching(/% of its \d+ requests are late or failed, against /),
  });
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain(
    'stratagem_canaries_ended_total{model="look",outcome="rolled_back"} 1\n',
  );
  rmSync(join(folder, "bad-is-broken"));
  await server.close();
}, 120_000);

test("a trial begins anew when what is served is read again, and ends as it is told", async () => {
  const { server, notices } = await serve(good);
  const tried = () => notices.filter((notice) => / receives /.test(notice)).length;
  await keepAsking(server.url, () => tried() > 0);
  compiled("stable", 11);
  expect((await server.reload("look")).isFollowed).toBe(true);
  const isAnew = () => notices.some((notice) => notice.endsWith("the trial starts again"));
  await keepAsking(server.url, isAnew);
  const gone = await canaryOf(server.url, { action: "roll-back", application: "look" });
  expect([gone.status, gone.canary?.state]).toEqual([200, "rolled back"]);
  const again = await canaryOf(server.url, { action: "start" });
  expect([again.status, again.canary?.state]).toEqual([200, "tried"]);
  const taken = await canaryOf(server.url, { action: "promote" });
  expect([taken.status, taken.canary?.state]).toEqual([200, "promoted"]);
  expect(server.served[0]?.policy).toBe(good);
  expect((await canaryOf(server.url, { action: "promote" })).status).toBe(409);
  expect((await canaryOf(server.url, { action: "roll-back", application: "x" })).status).toBe(404);
  expect((await canaryOf(server.url, { action: "retry" })).status).toBe(400);
  await server.close();
  compiled("stable", 10);
}, 120_000);

test.each([
  ["missing", () => join(folder, "missing"), /missing: expected a readable policy bundle/],
  ["broken", () => join(folder, "stable.mjs"), /BUNDLE_MAGIC|expected/],
  ["of another application", () => compiled("other", 10, "other"), /of the application look, got/],
  ["the same", () => stable, /expected a bundle other than the served one, got the same/],
])(
  "a file that is %s is told, and the server goes on",
  async (_, path, refused) => {
    const { server, notices } = await serve(path());
    const isTold = () => notices.some((notice) => notice.startsWith("canary"));
    const { counts } = await keepAsking(server.url, isTold);
    expect(Object.keys(counts)).toEqual(["200 "]);
    expect(notices.find((notice) => notice.startsWith("canary"))).toMatch(refused);
    expect((await canaryOf(server.url)).canary).toMatchObject({ state: "rolled back" });
    await server.close();
  },
  60_000,
);

test("one that promises less is not tried with the gate, unless that is allowed", async () => {
  const flags = ["--http", "127.0.0.1:0", "--json", "--standby", "0", "--no-means-check"];
  const canary = ["--canary", `${compiled("less", 9)}=50%`];
  const served = ["serve", "--policy", stable, ...canary, ...flags];
  // At 10 queries a second the stable bundle promises something, and this one nothing.
  for (const [allowed, state, because] of [
    ["none", "rolled back", /expected promises that pass the gate, got feasible at 10 qps/],
    ["feasible; violations any", "tried", /^$/],
  ] as const) {
    const child = startStratagem(...served, "--limit", `canaryGate=${allowed}`);
    const url = await urlOf(child);
    let told = (await canaryOf(url)).canary;
    while (told === undefined || told.state === "starting") told = (await canaryOf(url)).canary;
    expect(told).toMatchObject({ state, because: expect.stringMatching(because) });
    child.kill("SIGTERM");
    expect((await once(child, "exit"))[0]).toBe(0);
  }
}, 120_000);

test("a server that closes while a canary starts gives it up", async () => {
  const { server, notices } = await serve(good);
  await server.close();
  const told = notices.filter((notice) => notice.startsWith("canary: "));
  expect(told.every((notice) => notice.endsWith("the server is shutting down"))).toBe(true);
  await expect(fetch(server.url)).rejects.toThrow("fetch failed");
}, 60_000);

test("one whose signature does not hold is not tried, where signatures are required", async () => {
  const key = join(folder, "site");
  expect(stratagem("keygen", "-o", key).status).toBe(0);
  expect(stratagem("sign", stable, "--key", `${key}.key`, "--serial", "7").status).toBe(0);
  const memory = join(folder, "serials");
  mkdirSync(memory);
  const trust = { keyFiles: [`${key}.pub`], labels: {}, memory };
  const signed = (serial: string) =>
    expect(stratagem("sign", good, "--key", `${key}.key`, "--serial", serial).status).toBe(0);
  for (const [serial, refused] of [
    [null, /expected a signature/],
    ["6", /serial/],
  ] as const) {
    if (serial !== null) signed(serial);
    const { server, notices } = await serve(good, 0.05, { trust });
    const told = () => notices.find((notice) => notice.startsWith("canary: "));
    await keepAsking(server.url, () => told() !== undefined);
    expect(told()).toContain("could not be started: ");
    expect(told()).toMatch(refused);
    expect((await canaryOf(server.url)).canary).toMatchObject({ state: "rolled back" });
    await server.close();
  }
  signed("8");
  const { server } = await serve(good, 0.05, { trust });
  const isTried = async () => (await canaryOf(server.url)).canary?.state === "tried";
  while (!(await isTried())) await keepAsking(server.url, once5());
  expect((await canaryOf(server.url, { action: "promote" })).status).toBe(200);
  await server.close();
  // A start with the settings of before follows the bundle of before.
  const again = await serve(good, 0.05, { trust });
  expect(again.server.served[0]?.policy).toBe(stable);
  await again.server.close();
}, 120_000);

/** Enough after five requests. */
function once5(): () => boolean {
  let left = 5;
  return () => left-- <= 0;
}

test("the command line reads it, and a server that stops meanwhile ends well", async () => {
  const flags = ["--http", "127.0.0.1:0", "--json", "--standby", "0", "--no-means-check"];
  const child = startStratagem("serve", "--policy", stable, "--canary", `${good}=5%,25%`, ...flags);
  let log = "";
  child.stderr?.on("data", (chunk) => {
    log += String(chunk);
  });
  const url = await urlOf(child);
  while (!log.includes("receives 5 % of the requests")) {
    expect(child.exitCode).toBeNull();
    await fetch(`${url}/v2/health/live`);
  }
  const { canary } = await canaryOf(url);
  expect(canary).toMatchObject({ state: "tried", share: 0.05, shares: [0.05, 0.25] });
  child.kill("SIGTERM");
  expect((await once(child, "exit"))[0]).toBe(0);
  const refused = stratagem("serve", "--policy", stable, "--canary", `${good}=60%`, ...flags);
  expect([refused.status, refused.stderr]).toEqual([
    64,
    expect.stringContaining("--canary: expected"),
  ]);
}, 120_000);
