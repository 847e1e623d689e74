/** Following a policy from a source, against a web server of files. */
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { loadBundle } from "../../../../runtime/bundles/load-bundle.ts";
import { sidecarOf } from "../../../../runtime/bundles/shipping/sidecars.ts";
import { Trust } from "../../../../runtime/bundles/trust/trust.ts";
import {
  FollowedPolicy,
  type Following,
} from "../../../../runtime/features/sources/followed-policy.ts";
import { HttpClient } from "../../../../runtime/features/sources/http-client.ts";
import { HttpSource } from "../../../../runtime/features/sources/http-source.ts";
import { PolicyStore } from "../../../../runtime/features/sources/policy-store.ts";
import { statusDocument } from "../../../../runtime/features/sources/status-document.ts";
import { PolicySite } from "../../../support/policy-site.ts";
import {
  bytesOf,
  type Published,
  published,
  type Signer,
  signed,
  signer,
} from "../../../support/published-policy.ts";

const NOW_MS = Date.UTC(2026, 10, 23, 12);
const BUNDLE = "/team/bundle.msgpack";

let folder: string;
let site: PolicySite;
let notices: string[];
let followed: FollowedPolicy[];
/** Of bundles that the server was told to follow. */
let served: string[];
let answer: Following;
let nowMs: number;
let timeoutMs: number;

beforeEach(async () => {
  timeoutMs = 2000;
  isLate = false;
  folder = mkdtempSync(join(tmpdir(), "stratagem-sources-"));
  site = await PolicySite.open();
  notices = [];
  followed = [];
  served = [];
  nowMs = NOW_MS;
  answer = { isFollowed: true, notice: "serving it" };
});

afterEach(async () => {
  await Promise.all(followed.map((one) => one.close()));
  await site.close();
  rmSync(folder, { recursive: true });
});

function publish({ bundle, models }: Published, envelope?: Uint8Array): void {
  site.put(BUNDLE, bundle);
  for (const [file, bytes] of Object.entries(models)) site.put(`/team/${file}`, bytes);
  if (envelope !== undefined) site.put(`${BUNDLE}.dsse.json`, envelope);
}

/** A policy at the site, as a server that starts has it. */
async function policyAt(url: string, trust: Trust | null = null): Promise<FollowedPolicy> {
  const store = await PolicyStore.open(join(folder, "store"));
  const one = new FollowedPolicy({
    source: new HttpSource(url, new HttpClient({ timeoutMs })),
    store,
    policy: await store.policy("team"),
    trust,
    hasOwnModels: false,
    pace: { pollMs: 60_000, random: () => 0.5 },
    nowEpochMs: () => nowMs,
    onNotice: (notice, severity) => void notices.push(`${severity} ${notice}`),
    onChange: () => {},
    // Nobody polls but who is asked to; a first start tries again at once.
    wait: (_, signal) => (isStarting || isLate ? Promise.resolve() : waiting(signal)),
  });
  followed.push(one);
  return one;
}

let isStarting = false;
/** Whether the time of those who wait for a poll is over. */
let isLate = false;
/** Called when somebody waits until the next poll, which does not come. */
let onWait = () => {};

function waiting(signal: AbortSignal): Promise<void> {
  onWait();
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Starts as a server does, its workers ready at once. @returns path of the bundle. */
async function started(one: FollowedPolicy, trust: Trust | null = null): Promise<string> {
  isStarting = true;
  const path = await one.start();
  isStarting = false;
  const { inForce } = one.status;
  if (inForce?.claims) await trust?.accept(inForce.claims);
  const follower = {
    follow: async (next: string) => {
      served.push((await loadBundle(next)).sha256);
      const envelope = sidecarOf(next, "signature");
      // As servers do with what they follow.
      if (answer.isFollowed && trust !== null && existsSync(envelope)) {
        await trust.accept(await trust.expect(readFileSync(next), readFileSync(envelope)));
      }
      return answer;
    },
    inUse: () => [],
  };
  // It waits, looks once its workers are ready, and waits again.
  let waits = 0;
  const looked = new Promise<void>((resolve) => {
    onWait = () => {
      waits++;
      if (waits === 2) resolve();
    };
  });
  one.run(follower, Promise.resolve());
  await looked;
  return path;
}

async function trustIn({ pem }: Signer, labels: Record<string, string> = {}): Promise<Trust> {
  const keyFile = join(folder, "team.pub");
  writeFileSync(keyFile, pem);
  const memory = join(folder, "serials");
  return Trust.open({ keyFiles: [keyFile], labels, nowEpochMs: () => nowMs, memory });
}

test("a first start fetches a bundle and its models, and then asks by its tag", async () => {
  const first = published();
  publish(first);
  const one = await policyAt(`${site.url}${BUNDLE}`);
  const path = await started(one);
  expect((await loadBundle(path)).sha256).toBe(first.sha256);
  const files = readdirSync(join(path, ".."));
  expect(files.sort()).toEqual(["bundle.msgpack", "large.onnx", "revision.json", "small.onnx"]);
  expect(site.log).toEqual([
    `GET ${BUNDLE} 200`,
    `GET ${BUNDLE}.dsse.json 404`,
    `GET ${BUNDLE}.intoto.json 404`,
    "GET /team/small.onnx 200",
    "GET /team/large.onnx 200",
    `GET ${BUNDLE} 304`,
    `GET ${BUNDLE}.dsse.json 404`,
  ]);
  expect(statusDocument(one.status)).toMatchObject({
    application: "tiny",
    state: "followed",
    revision: { sha256: first.sha256, serial: null },
    refused: null,
    away: null,
    lastSuccess: new Date(NOW_MS).toISOString(),
  });
});

test("a new bundle is followed, and only its new models are fetched", async () => {
  publish(published());
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  const models = { "small.onnx": bytesOf("small"), "huge.onnx": bytesOf("huge") };
  const second = published({ sloMs: 120, models });
  publish(second);
  site.seen.length = 0;
  expect(await one.look(false)).toMatchObject({ isFollowed: true });
  expect(served).toEqual([second.sha256]);
  const models200 = site.log.filter((line) => line.endsWith(".onnx 200"));
  expect(models200).toEqual(["GET /team/huge.onnx 200"]);
  expect(await one.look(false)).toMatchObject({ isFollowed: true });
  expect(served).toHaveLength(1);
});

test("a server without ETags is polled in full, and the same bundle is followed once", async () => {
  site.hasTags = false;
  publish(published());
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  const second = published({ sloMs: 120 });
  publish(second);
  for (let look = 0; look < 3; look++) await one.look(false);
  expect(served).toEqual([second.sha256]);
});

test("a start during an outage of the source uses the last good bundle", async () => {
  const first = published();
  publish(first);
  await started(await policyAt(`${site.url}${BUNDLE}`));
  const url = `${site.url}${BUNDLE}`;
  const port = await site.leave();
  const again = await policyAt(url);
  const path = await started(again);
  expect((await loadBundle(path)).sha256).toBe(first.sha256);
  const { away } = again.status;
  expect(again.status.state).toBe("away");
  expect(away).toMatchObject({ code: "RUNTIME_SOURCE", failures: 1 });
  expect(notices.filter((notice) => notice.startsWith("warn"))).toEqual([
    `warn ${url}: expected an answer, got: ECONNREFUSED; the last good bundle stays in force`,
  ]);
  await again.look(false);
  expect(again.status.away?.failures).toBe(2);
  await site.listen(port);
  const second = published({ sloMs: 120 });
  publish(second);
  await again.look(false);
  expect(served).toEqual([second.sha256]);
  expect(again.status.state).toBe("followed");
});

test("a start without a stored bundle reports the error of the source", async () => {
  const one = await policyAt(`${site.url}${BUNDLE}`);
  const why = `${site.url}${BUNDLE}: expected a bundle, got 404 Not Found`;
  await expect(started(one)).rejects.toMatchObject({ code: "RUNTIME_SOURCE", message: why });
  // It may only not be there yet.
  expect(site.log.filter((line) => line === `GET ${BUNDLE} 404`)).toHaveLength(4);
});

test("an invalid bundle is rejected with one notice, and its repair is followed", async () => {
  publish(published());
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  const good = published({ sloMs: 120 });
  const bad = Uint8Array.from(good.bundle);
  bad[bad.length - 1] = (bad.at(-1) ?? 0) ^ 1;
  site.put(BUNDLE, bad);
  for (let look = 0; look < 3; look++) {
    expect(await one.look(false)).toMatchObject({ isFollowed: false, code: "BUNDLE_CHECKSUM" });
  }
  expect(notices.filter((notice) => notice.startsWith("error"))).toHaveLength(1);
  expect(statusDocument(one.status)).toMatchObject({
    state: "refused",
    refused: { tries: 1, error: { code: "BUNDLE_CHECKSUM" } },
  });
  publish(good);
  await one.look(false);
  expect(served).toEqual([good.sha256]);
  expect(statusDocument(one.status)).toMatchObject({ state: "followed", refused: null });
});

test("a rejected bundle is tried again after a while and on request", async () => {
  publish(published());
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  publish(published({ sloMs: 120 }));
  answer = { isFollowed: false, notice: "too little memory", code: "RUNTIME_MEANS" };
  await one.look(false);
  await one.look(false);
  expect(served).toHaveLength(1);
  expect(one.status.refused).toMatchObject({ tries: 1, code: "RUNTIME_MEANS" });
  await one.look();
  expect(one.status.refused?.tries).toBe(2);
  nowMs += 119_000;
  await one.look(false);
  expect(one.status.refused?.tries).toBe(2);
  nowMs += 2000;
  answer = { isFollowed: true, notice: "serving it" };
  await one.look(false);
  expect(one.status.state).toBe("followed");
});

test("publishing the served bundle again ends a rejection", async () => {
  const first = published();
  publish(first);
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  site.put(BUNDLE, bytesOf("no bundle"));
  expect(await one.look(false)).toMatchObject({ code: "BUNDLE_MAGIC" });
  publish(first);
  expect(await one.look(false)).toMatchObject({ isFollowed: true });
  expect(one.status.state).toBe("followed");
  expect(served).toEqual([]);
});

test("a model with a wrong digest is rejected and not stored", async () => {
  publish(published());
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  const models = { "small.onnx": bytesOf("small"), "new.onnx": bytesOf("new") };
  publish(published({ sloMs: 120, models }));
  site.put("/team/new.onnx", "something else");
  const refused = await one.look(false);
  expect(refused.code).toBe("RUNTIME_SOURCE");
  expect(refused.notice).toContain("expected new.onnx as the bundle names it, SHA-256");
  const blobs = readdirSync(join(folder, "store", "blobs", "sha256"));
  expect(blobs).toHaveLength(2);
});

test("a bundle of another application is rejected", async () => {
  publish(published());
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  publish(published({ application: "other" }));
  expect((await one.look(false)).notice).toContain("of the application tiny, got one of other");
});

test("code is fetched only if signatures are required", async () => {
  const models = { "task.mjs": bytesOf("export default 1") };
  publish(published({ models, isCode: true }));
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await expect(started(one)).rejects.toMatchObject({ code: "RUNTIME_UNSIGNED" });
  expect(site.log.some((line) => line.includes("task.mjs"))).toBe(false);
});

test("signatures are verified before models are fetched; rejections have codes", async () => {
  const key = signer();
  const first = published();
  publish(first, signed(first, key, { serial: 5 }));
  const trust = await trustIn(key, { site: "berlin" });
  const one = await policyAt(`${site.url}${BUNDLE}`, trust);
  await started(one, trust);
  expect(one.status.inForce?.claims?.serial).toBe(5);
  const models = { "never.onnx": bytesOf("never") };
  const next = published({ sloMs: 120, models });
  const refusals = [
    [undefined, "RUNTIME_UNSIGNED"],
    [signed(next, signer(), { serial: 6 }), "RUNTIME_WRONG_KEY"],
    [signed(first, key, { serial: 6 }), "RUNTIME_SIGNATURE"],
    [signed(next, key, { serial: 6, expiresAt: "2026-01-01T00:00:00.000Z" }), "RUNTIME_EXPIRED"],
    [signed(next, key, { serial: 6, scope: { site: "bonn" } }), "RUNTIME_SCOPE"],
    [signed(next, key, { serial: 4 }), "RUNTIME_ROLLBACK"],
  ] as const;
  for (const [envelope, code] of refusals) {
    site.files.delete(`${BUNDLE}.dsse.json`);
    publish(next, envelope);
    expect(await one.look(false)).toMatchObject({ isFollowed: false, code });
    expect(one.status.state).toBe("refused");
  }
  expect(site.log.some((line) => line.includes("never.onnx"))).toBe(false);
  expect(served).toEqual([]);
  publish(next, signed(next, key, { serial: 6 }));
  expect(await one.look(false)).toMatchObject({ isFollowed: true });
  expect(served).toEqual([next.sha256]);
});

test("a signature that is renewed is followed, though the bundle stays", async () => {
  const key = signer();
  const first = published();
  publish(first, signed(first, key, { expiresAt: "2026-11-24T00:00:00.000Z" }));
  const trust = await trustIn(key);
  const one = await policyAt(`${site.url}${BUNDLE}`, trust);
  await started(one, trust);
  publish(first, signed(first, key, { expiresAt: "2027-11-24T00:00:00.000Z", serial: 2 }));
  await one.look(false);
  expect(one.status.inForce?.claims).toMatchObject({ serial: 2 });
  nowMs = Date.UTC(2026, 10, 25);
  await site.leave();
  const path = await started(await policyAt("http://127.0.0.1:1/x", await trustIn(key)));
  expect((await loadBundle(path)).sha256).toBe(first.sha256);
});

test("a last good bundle is used after its signature has expired", async () => {
  const key = signer();
  const first = published();
  publish(first, signed(first, key, { expiresAt: "2026-11-24T00:00:00.000Z" }));
  const trust = await trustIn(key);
  await started(await policyAt(`${site.url}${BUNDLE}`, trust), trust);
  nowMs = Date.UTC(2026, 10, 25);
  const url = `${site.url}${BUNDLE}`;
  await site.leave();
  const path = await started(await policyAt(url, await trustIn(key)));
  expect((await loadBundle(path)).sha256).toBe(first.sha256);
});

test("a last good bundle whose key is no longer trusted is rejected at the start", async () => {
  const key = signer();
  const first = published();
  publish(first, signed(first, key));
  const trust = await trustIn(key);
  await started(await policyAt(`${site.url}${BUNDLE}`, trust), trust);
  const url = `${site.url}${BUNDLE}`;
  const next = signer();
  const port = await site.leave();
  const again = started(await policyAt(url, await trustIn(next)));
  await expect(again).rejects.toMatchObject({ code: "RUNTIME_WRONG_KEY" });
  await expect(again).rejects.toThrow("and the revision of its source is not accepted either");
  await site.listen(port);
  publish(first, signed(first, next));
  const path = await started(await policyAt(url, await trustIn(next)));
  expect((await loadBundle(path)).sha256).toBe(first.sha256);
});

test("an interrupted download is resumed", async () => {
  const large = Buffer.alloc(200_000, "stratagem");
  const store = await PolicyStore.open(join(folder, "store"));
  let cut = () => {};
  publish(published());
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  const next = published({ sloMs: 120, models: { "large.onnx": large } });
  publish(next);
  site.onRequest = (request, response) => {
    if (request.url !== "/team/large.onnx") return false;
    response.writeHead(200, { "content-length": large.length });
    response.write(large.subarray(0, 120_000));
    cut = () => response.destroy();
    return true;
  };
  const looked = one.look(false);
  // What a reader has not taken yet goes with its connection: some has to be on disk before.
  const sha256 = createHash("sha256").update(large).digest("hex");
  await vi.waitUntil(async () => (await store.begun(sha256)) > 0);
  cut();
  expect(await looked).toMatchObject({ isFollowed: false, code: "RUNTIME_SOURCE" });
  expect(one.status.state).toBe("away");
  site.onRequest = () => false;
  site.seen.length = 0;
  expect(await one.look(false)).toMatchObject({ isFollowed: true });
  const rest = site.seen.find(({ path }) => path === "/team/large.onnx");
  expect(rest?.status).toBe(206);
  expect(rest?.headers.range).toMatch(/^bytes=[1-9]\d*-$/);
});

test("revisions that are neither good nor in use are removed with their files", async () => {
  publish(published());
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  for (let round = 1; round <= 5; round++) {
    const models = { "small.onnx": bytesOf(`small ${round}`) };
    publish(published({ sloMs: 100 + round, models }));
    await one.look(false);
  }
  const revisions = join(folder, "store", "policies", "team", "revisions");
  expect(readdirSync(revisions)).toHaveLength(3);
  const blobs = () => readdirSync(join(folder, "store", "blobs", "sha256")).length;
  expect(blobs()).toBe(7);
  // Another server may be about to name what is young.
  nowMs = Date.now() + 2 * 3_600_000;
  publish(published({ sloMs: 200, models: { "small.onnx": bytesOf("small 5") } }));
  await one.look(false);
  // Of the last three revisions two have the same model.
  expect(blobs()).toBe(2);
});

test.each([
  ["gzip", "expected content without compression, got content-encoding gzip"],
  ["br", "expected content without compression, got content-encoding br"],
])("a source that answers once with %s that is none is asked again", async (encoding, reason) => {
  publish(published());
  const url = `${site.url}${BUNDLE}`;
  const one = await policyAt(url);
  await started(one);
  const second = published({ sloMs: 120 });
  publish(second);
  site.onRequest = (_, response) => {
    response.writeHead(200, { "content-encoding": encoding }).end("this is not compressed");
    return true;
  };
  expect(await one.look()).toMatchObject({ isFollowed: false, code: "RUNTIME_SOURCE" });
  expect(one.status.state).toBe("away");
  expect(one.status.away?.message).toBe(`${url}: expected an answer, got: ${reason}`);
  site.onRequest = () => false;
  expect(await one.look(false)).toMatchObject({ isFollowed: true });
  expect([one.status.state, served]).toEqual(["followed", [second.sha256]]);
});

test("a source that trickles is away after its limit, and is asked again", async () => {
  publish(published());
  timeoutMs = 200;
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  const second = published({ sloMs: 120 });
  publish(second);
  site.onRequest = (_, response) => {
    response.writeHead(200, { "content-length": 10_000 });
    const timer = setInterval(() => response.write(" "), 20);
    response.once("close", () => clearInterval(timer));
    return true;
  };
  expect(await one.look(false)).toMatchObject({ isFollowed: false });
  expect(one.status.state).toBe("away");
  expect(one.status.away?.message).toMatch(/got: no complete answer within 2\d\d ms$/);
  site.onRequest = () => false;
  timeoutMs = 2000;
  expect(await one.look(false)).toMatchObject({ isFollowed: true });
  expect([one.status.state, served]).toEqual(["followed", [second.sha256]]);
});

test("who asks for a poll has an answer in time, while it goes on", async () => {
  publish(published());
  const one = await policyAt(`${site.url}${BUNDLE}`);
  await started(one);
  const second = published({ sloMs: 120 });
  publish(second);
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  site.onRequest = (request, response) => {
    void held.then(() => {
      site.onRequest = () => false;
      response.writeHead(503).end();
    });
    return request.url === BUNDLE;
  };
  isLate = true;
  const answered = await one.look();
  expect(answered).toMatchObject({ isFollowed: false, code: "RUNTIME_SOURCE" });
  expect(answered.notice).toContain("it is still being asked after 60 s; GET /admin/policies");
  go();
  isLate = false;
  await one.look(false);
  expect(await one.look(false)).toMatchObject({ isFollowed: true });
  expect(served).toEqual([second.sha256]);
});
