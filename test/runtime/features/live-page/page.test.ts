/** The page as served: its clients, size and content security policy. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { Script } from "node:vm";
import { afterEach, describe, expect, test } from "vitest";
import type { LiveDocument } from "../../../../runtime/features/live-page/live.ts";
import { ramsisApplication } from "../../../../runtime/methods/ramsis/serve/ramsis-application.ts";
import type { RunningServer } from "../../../../runtime/server/serve.ts";
import { type FeatureOptions, serveOne } from "../../../support/serve-one.ts";
import { FakeExecutor, servedBundle } from "../../server/harness.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const CLIENT = "runtime/features/live-page/client";
/** What a page may weigh. */
const MAX_BYTES = 42 * 1024;
const MAX_DOCUMENT_BYTES = 40_000;

const open: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function serving(options: FeatureOptions = {}, bundle = servedBundle()) {
  const clock = { nowMs: 1000 };
  const server = await serveOne(ramsisApplication, {
    ...{ bundle, bundleSha256: "ab".repeat(32), host: "127.0.0.1", port: 0, version: "1.2.3" },
    nowMs: () => clock.nowMs,
    executorFactory: (handlers) => new FakeExecutor(handlers),
    ...options,
  });
  open.push(server);
  return { url: server.url, clock };
}

async function get(url: string, accept = "*/*", method = "GET") {
  const reply = await fetch(url, { method, headers: { accept } });
  return { reply, text: await reply.text() };
}

function partOf(html: string, name: string): string {
  return new RegExp(`<${name}[^>]*>([\\s\\S]*?)</${name}>`).exec(html)?.[1] ?? "";
}

describe("GET /", () => {
  test("is the page for clients that accept HTML, and KServe's response for others", async () => {
    const { url } = await serving();
    const page = await get(url, BROWSER);
    expect(page.reply.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.text).toMatch(/^<!doctype html>/);
    const metadata = { status: "alive" };
    for (const accept of ["*/*", "application/json"]) {
      const { reply, text } = await get(url, accept);
      expect(reply.headers.get("content-type")).toBe("application/json");
      expect(JSON.parse(text)).toMatchObject(metadata);
    }
    for (const { reply } of [page, await get(url)])
      expect(reply.headers.get("vary")).toBe("accept");
    const head = await get(url, BROWSER, "HEAD");
    expect([head.reply.status, head.text]).toEqual([200, ""]);
    expect((await get(url, BROWSER, "POST")).reply.status).toBe(405);
  });

  test("is the same for all clients if the page is off, and there is no document", async () => {
    const { url } = await serving({ settings: { page: false } });
    expect(JSON.parse((await get(url, BROWSER)).text)).toMatchObject({ status: "alive" });
    expect((await get(`${url}/v2/stratagem/live`)).reply.status).toBe(404);
  });
});

describe("the page", () => {
  test("is small and self-contained and can load nothing but the document", async () => {
    const { url } = await serving();
    const { reply, text } = await get(url, BROWSER);
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_BYTES);
    const hashOf = (part: string) => createHash("sha256").update(part).digest("base64");
    const policy = (reply.headers.get("content-security-policy") ?? "").split("; ");
    expect(policy).toEqual([
      "default-src 'none'",
      `script-src 'sha256-${hashOf(partOf(text, "script"))}'`,
      `style-src 'sha256-${hashOf(partOf(text, "style"))}'`,
      "connect-src 'self'",
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    expect(text).not.toMatch(/https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
    const frame = text.replace(partOf(text, "script"), "");
    expect(frame).not.toMatch(/ style=| on[a-z]+=|@import|url\(/);
  });

  test("has a script with one scope, in which top-level names are unique", async () => {
    const { url } = await serving();
    const script = partOf((await get(url, BROWSER)).text, "script");
    expect(script).not.toMatch(/^(import|export)\b/m);
    expect(() => new Script(`"use strict";${script}`)).not.toThrow();
    for (const file of readdirSync(CLIENT).filter((name) => name.endsWith(".ts"))) {
      const source = readFileSync(`${CLIENT}/${file}`, "utf8");
      expect(source).not.toMatch(/innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b/);
    }
  });
});

describe("the document", () => {
  test("is built at most once per second for all clients", async () => {
    const { url, clock } = await serving();
    const ask = async () =>
      ((await (await fetch(`${url}/v2/stratagem/live`)).json()) as LiveDocument).atMs;
    const first = await ask();
    clock.nowMs += 900;
    expect(await ask()).toBe(first);
    clock.nowMs += 100;
    expect(await ask()).toBe(first + 1000);
  });

  test("stays small with many levels and long names", async () => {
    const loadsQps = Array.from({ length: 500 }, (_, index) => 10 * (index + 1));
    const bundle = servedBundle({ loadsQps });
    const application = "n".repeat(5000);
    const { url } = await serving({}, { ...bundle, application });
    const { reply, text } = await get(`${url}/v2/stratagem/live`);
    expect(reply.headers.get("cache-control")).toBe("no-store");
    expect(text.length).toBeLessThan(MAX_DOCUMENT_BYTES);
    const [told] = (JSON.parse(text) as LiveDocument).applications;
    expect(told?.levelCount).toBe(500);
    expect(told?.levels.length).toBeLessThanOrEqual(66);
    expect([told?.levels[0]?.index, told?.levels.at(-1)?.index]).toEqual([0, 499]);
    expect(told?.name.length).toBe(80);
  });
});
