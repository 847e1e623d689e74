/**
 * Servers whose bundle is of a web server: what is new is followed under load, what is bad is
 * refused and told, and whenever one is killed the next starts with what was good.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type CompiledEcho, EdgeServers } from "../support/edge-servers.ts";
import { ofOneModel } from "../support/metrics-text.ts";
import { PolicySite } from "../support/policy-site.ts";
import { type Signer, signed, signer } from "../support/published-policy.ts";
import { urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-edge-"));
const edge = new EdgeServers(folder);
const BUNDLE = "/team/bundle.msgpack";
let site: PolicySite;
/** Two bundles of one application, each with a model of its own. */
let first: CompiledEcho;
let second: CompiledEcho;
let key: Signer;

beforeAll(() => {
  first = edge.compile("first", 3);
  second = edge.compile("second", 4);
  key = signer();
  writeFileSync(join(folder, "team.pub"), key.pem);
}, 60_000);

beforeEach(async () => {
  site = await PolicySite.open();
});

afterEach(async () => {
  await edge.end();
  await site.close();
});

afterAll(() => rmSync(folder, { recursive: true }));

function publish({ bundle, models }: CompiledEcho): void {
  for (const [file, bytes] of Object.entries(models)) site.put(`/team/${file}`, bytes);
  site.put(BUNDLE, bundle);
}

/** Of what the site has. */
function policy(): string[] {
  return ["--policy", `${site.url}${BUNDLE}`];
}

test("another bundle is followed without losing a request, and a bad one is refused", async () => {
  publish(first);
  const { url, told } = await edge.serve(join(folder, "load"), ...policy());
  let isOver = false;
  const counts = new Map<number, number>();
  const asking = async () => {
    while (!isOver) {
      // Both widths are asked for: of one model the other's is a mistake of the client's, 400.
      for (const width of [3, 4]) {
        const status = await edge.answered(url, width);
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
    }
  };
  const asked = [asking(), asking()];
  publish(second);
  await edge.until(url, ({ revision }) => revision.sha256 === second.sha256);
  site.put(BUNDLE, "no bundle");
  const refused = await edge.until(url, ({ state }) => state === "refused");
  expect(refused.refused?.error.code).toBe("BUNDLE_MAGIC");
  expect(refused.revision.sha256).toBe(second.sha256);
  const metrics = ofOneModel(await (await fetch(`${url}/metrics`)).text());
  expect(metrics).toContain('stratagem_policy_source_state{state="refused"} 1');
  expect(metrics).toContain('stratagem_policy_source_state{state="away"} 0');
  publish(first);
  await edge.until(url, ({ revision }) => revision.sha256 === first.sha256);
  const port = await site.leave();
  expect((await edge.until(url, ({ state }) => state === "away")).away?.error.code).toBe(
    "RUNTIME_SOURCE",
  );
  await site.listen(port);
  await edge.until(url, ({ state }) => state === "followed");
  isOver = true;
  await Promise.all(asked);
  // One of two is of the width that the model has.
  expect([...counts.keys()].sort()).toEqual([200, 400]);
  expect(counts.get(200)).toBeGreaterThan(100);
  expect(told()).toContain("bundle rejected, BUNDLE_MAGIC");
});

/** Moments of an update at which whoever asks is killed. */
const MOMENTS: readonly [name: string, isNow: (request: IncomingMessage) => boolean][] = [
  ["asks for the bundle", ({ url }) => url === BUNDLE],
  ["asks for the signature", ({ url }) => url === `${BUNDLE}.dsse.json`],
  ["asks for the provenance", ({ url }) => url === `${BUNDLE}.intoto.json`],
  ["has half a model", ({ url }) => url === "/team/second.onnx"],
  ["tells that it follows", ({ method }) => method === "POST"],
];

test.each(MOMENTS)("killed when it %s, it starts with what was good", async (name, isNow) => {
  const store = join(folder, `killed-${name.replaceAll(" ", "-")}`);
  publish(first);
  const status = `${site.url}/status`;
  const { url, child } = await edge.serve(store, ...policy(), "--status-url", status);
  await edge.until(url, ({ state }) => state === "followed");
  expect(await edge.answered(url, 3)).toBe(200);
  publish(second);
  site.onRequest = (request: IncomingMessage, response: ServerResponse) => {
    if (!isNow(request)) return false;
    const bytes = site.files.get(request.url ?? "") ?? Buffer.alloc(0);
    response.writeHead(200, { "content-length": bytes.length });
    response.write(bytes.subarray(0, bytes.length >> 1), () => void child.kill("SIGKILL"));
    return true;
  };
  await once(child, "exit");
  site.onRequest = () => false;
  const port = await site.leave();
  const again = edge.launch(store, "--policy", `http://127.0.0.1:${port}${BUNDLE}`);
  const own = await urlOf(again);
  const { revision } = await edge.until(own, ({ state }) => state === "away");
  const width = revision.sha256 === first.sha256 ? 3 : 4;
  expect([first.sha256, second.sha256]).toContain(revision.sha256);
  expect(await edge.answered(own, width)).toBe(200);
  await site.listen(port);
  await edge.until(own, (now) => now.revision.sha256 === second.sha256);
  expect(await edge.answered(own, 4)).toBe(200);
});

test("killed at any moment of its way, it starts with what was good", async () => {
  publish(first);
  const store = join(folder, "any-moment");
  let child = edge.launch(store, ...policy());
  await edge.until(await urlOf(child), ({ state }) => state === "followed");
  for (let round = 0; round < 6; round++) {
    publish(round % 2 === 0 ? second : first);
    // The next poll comes within a second: requests of it are as many moments.
    let left = round;
    const asked = new Promise<void>((resolve) => {
      site.onRequest = () => {
        if (left-- === 0) resolve();
        return false;
      };
    });
    await asked;
    child.kill("SIGKILL");
    await once(child, "exit");
    site.onRequest = () => false;
    child = edge.launch(store, ...policy());
    const url = await urlOf(child);
    const { revision } = await edge.told(url);
    expect(await edge.answered(url, revision.sha256 === first.sha256 ? 3 : 4)).toBe(200);
  }
}, 120_000);

test("a bundle that is forged, older or of another site is refused, each by its name", async () => {
  const sign = (what: CompiledEcho, claims: object, by = key) =>
    site.put(`${BUNDLE}.dsse.json`, signed(what, by, { application: "echo", ...claims }));
  publish(first);
  sign(first, { serial: 3 });
  const store = join(folder, "signed");
  const trusted = ["--require-signature", join(folder, "team.pub"), "--labels", "site=berlin"];
  const { url, child } = await edge.serve(
    store,
    ...policy(),
    ...trusted,
    "--status-url",
    `${site.url}/status`,
  );
  expect((await edge.until(url, ({ state }) => state === "followed")).revision.serial).toBe(3);
  publish(second);
  const forgeries = [
    ["RUNTIME_SIGNATURE", () => {}],
    ["RUNTIME_WRONG_KEY", () => sign(second, { serial: 4 }, signer())],
    ["RUNTIME_ROLLBACK", () => sign(second, { serial: 2 })],
    ["RUNTIME_SCOPE", () => sign(second, { serial: 4, scope: { site: "bonn" } })],
    ["RUNTIME_EXPIRED", () => sign(second, { serial: 4, expiresAt: "2026-01-01T00:00:00.000Z" })],
  ] as const;
  for (const [code, forge] of forgeries) {
    forge();
    const status = await edge.until(url, ({ refused }) => refused?.error.code === code);
    expect(status.revision).toMatchObject({ sha256: first.sha256, serial: 3 });
  }
  const asked = await fetch(`${url}/admin/reload`, { method: "POST" });
  expect(asked.status).toBe(409);
  expect(await asked.json()).toMatchObject({ applications: [{ code: "RUNTIME_EXPIRED" }] });
  sign(second, { serial: 4, scope: { site: "berlin" } });
  expect((await fetch(`${url}/admin/reload`, { method: "POST" })).status).toBe(200);
  expect((await edge.told(url)).revision).toMatchObject({ sha256: second.sha256, serial: 4 });
  child.kill("SIGKILL");
  await once(child, "exit");
  const told = site.seen.filter(({ path }) => path === "/status").map(({ body }) => body);
  for (const [code] of forgeries) expect(told.join("\n")).toContain(`"code":"${code}"`);
  // What was followed last is remembered: a store that somebody turned back is not started with.
  publish(first);
  sign(first, { serial: 3 });
  const again = await edge.serve(store, ...policy(), ...trusted);
  const after = await edge.until(again.url, ({ state }) => state === "refused");
  expect(after.refused?.error.code).toBe("RUNTIME_ROLLBACK");
  expect(after.revision.serial).toBe(4);
});
