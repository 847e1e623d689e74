/** The live page in a real browser: it draws, fits, escapes, and says what is lost. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect } from "vitest";
import { drawImage, IMAGE_BYTES } from "../../lab/models/image-classification/dataset.ts";
import { drawScene, SCENE_BYTES } from "../../lab/models/scenes/dataset.ts";
import { ramsisApplication } from "../../runtime/methods/ramsis/serve/ramsis-application.ts";
import type { RunningServer } from "../../runtime/server/serve.ts";
import { countColors } from "../compiler/report/png-pixels.ts";
import { FakeExecutor, servedBundle } from "../runtime/server/harness.ts";
import { CHROMIUM, Chromium, type Look } from "../support/chromium.ts";
import { serveOne } from "../support/serve-one.ts";
import { testWith } from "./needs.ts";

/** Where screenshots are kept, for those who want to look at them. */
const KEPT = process.env["STRATAGEM_SCREENSHOTS"];
const DESK: Look = { width: 1240, height: 980, scheme: "light" };
const PHONE: Look = { width: 390, height: 844, scheme: "light" };
/** Time between two requests of an application: a little load. */
const EVERY_MS = 25;

const folder = mkdtempSync(join(tmpdir(), "live-page-"));
afterAll(() => rmSync(folder, { recursive: true }));

const inBrowser = testWith("Chromium", CHROMIUM !== undefined);

inBrowser("letters and scenes under a little load, light, dark and on a phone", async () => {
  const server = await serveBoth();
  const load = new AbortController();
  const asked = [
    keepAsking(`${server.url}/v2/models/letters`, IMAGE_BYTES, drawImage, load.signal),
    keepAsking(`${server.url}/v2/models/scenes`, SCENE_BYTES, drawScene, load.signal),
  ];
  const browser = await Chromium.open(CHROMIUM ?? "", DESK);
  try {
    await browser.go(server.url);
    await browser.until(`document.querySelectorAll("section .line.own").length >= 10 &&
      [...document.querySelectorAll("section .line.own")].every((one) =>
        (one.getAttribute("d") ?? one.closest(".key") ?? "x") !== "")`);
    // Enough seconds for lines, and every variant table says who ran rows.
    await browser.until(`[...document.querySelectorAll("figure:first-child .line.own[d]")]
      .every((one) => one.closest(".key") || one.getAttribute("d").split("L").length > 8)`);
    expect(await browser.value("document.querySelector('#status').className")).toBe("status ready");
    const headings = `[...document.querySelectorAll("section > h2")].map((one) => one.textContent)`;
    expect(await browser.value(headings)).toEqual(["letters", "scenes"]);
    const silent = `[...document.querySelectorAll("svg.figure")].filter((one) =>
      !one.querySelector("title").textContent || !one.querySelector("desc").textContent).length`;
    expect(await browser.value(silent)).toBe(0);

    const light = countColors(await shot(browser, "live-light.png"));
    expect(light.get("#ffffff") ?? 0).toBeGreaterThan(100_000);
    // The colours of a measured line, and of the most accurate variant.
    for (const colour of ["#0068a8", "#c8506a"]) expect(light.get(colour) ?? 0).toBeGreaterThan(20);
    await browser.look({ ...DESK, scheme: "dark" });
    const dark = countColors(await shot(browser, "live-dark.png"));
    expect(dark.get("#14171b") ?? 0).toBeGreaterThan(100_000);
    await browser.look(PHONE);
    expect(await browser.value("document.documentElement.scrollWidth")).toBe(PHONE.width);
    await shot(browser, "live-phone.png");

    await expectNumbersOf(server.url, browser);
    load.abort();
    await Promise.all(asked);
    server.stop();
    await browser.until(`document.querySelector("#status").className === "status lost"`);
    expect(await browser.value("document.querySelector('#status').textContent")).toMatch(
      /^The server cannot be reached\. The numbers shown are \d+ seconds? old\.$/,
    );
    expect(browser.problems.filter((one) => !/ERR_CONNECTION_REFUSED/.test(one))).toEqual([]);
  } finally {
    load.abort();
    await browser.close();
    server.stop();
    await server.ended;
  }
});

inBrowser("names that look like markup are text", async () => {
  const hostile = `<script>window.taken = 1</script><img src=x onerror="window.taken = 2">"'&`;
  const bundle = servedBundle();
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    name: hostile,
    variants: task.variants.map((one) => ({ ...one, name: `${hostile}${one.name}` })),
  }));
  let executor: FakeExecutor | undefined;
  const server = await serveOne(ramsisApplication, {
    bundle: { ...bundle, application: hostile, tasks },
    ...{ bundleSha256: "ab".repeat(32), host: "127.0.0.1", port: 0, version: hostile },
    nowMs: () => performance.now(),
    executorFactory: (handlers) => {
      executor = new FakeExecutor(handlers);
      return executor;
    },
  });
  executor?.handlers.onReady(0);
  const browser = await Chromium.open(CHROMIUM ?? "", PHONE);
  try {
    await browser.go(server.url);
    await browser.until(`document.querySelector("tbody th") !== null`);
    expect(await browser.value("document.querySelector('h2').textContent")).toBe(hostile);
    expect(await browser.value("document.title")).toContain(hostile);
    expect(await browser.value("document.body.textContent.includes('onerror')")).toBe(true);
    expect(await browser.value("window.taken ?? null")).toBeNull();
    expect(await browser.value("document.querySelectorAll('img, body script').length")).toBe(1);
    expect(browser.problems).toEqual([]);
  } finally {
    await browser.close();
    await server.close();
  }
});

inBrowser("pages of other sites read nothing, by a rebound name or across origins", async () => {
  const server = await serveOne(ramsisApplication, {
    bundle: servedBundle(),
    ...{ bundleSha256: "ab".repeat(32), host: "127.0.0.1", port: 0, version: "0.0.0" },
    nowMs: () => performance.now(),
    admin: { reload: async () => null, config: () => ({}), state: () => ({}) },
    executorFactory: (handlers) => new FakeExecutor(handlers),
  });
  // The page of another origin, on the same machine.
  const other = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<title>other</title>");
  });
  await once(other.listen(0, "127.0.0.1"), "listening");
  const { port } = new URL(server.url);
  const { port: otherPort } = other.address() as AddressInfo;
  const browser = await Chromium.open(CHROMIUM ?? "", PHONE, "MAP *.example 127.0.0.1");
  /** Whether the page that is open is answered, and with what. */
  const html = `headers: { accept: "text/html" }`;
  const asked = (url: string, init = `{ ${html} }`) =>
    browser.value(`fetch("${url}", ${init}).then((one) => one.status, (error) => error.name)`);
  const paths = ["/", "/metrics", "/admin/state", "/v2/stratagem/live"];
  const read = (url: string) => Promise.all(paths.map((path) => asked(url + path)));
  const post = `{ method: "POST", body: "{}" }`;
  const infer = "/v2/models/tiny/infer";
  try {
    for (const own of [server.url, `http://localhost:${port}`]) {
      await browser.go(own);
      await browser.until(`document.querySelector("#status")?.className.startsWith("status ")`);
      expect(await read(own)).toEqual([200, 200, 200, 200]);
      // Refused for its body and not for its origin.
      expect(await asked(own + infer, post)).toBe(400);
      expect(await asked(`${own}/admin/reload`, post)).toBe(403);
    }
    // A name of an attacker, which led to its own server before: the browser takes both for one.
    const rebound = `http://rebound.example:${port}`;
    await browser.go(`${rebound}/v2/health/live`);
    await browser.until(`location.host === "rebound.example:${port}"`);
    expect(await asked(`${rebound}/v2/health/live`)).toBe(200);
    expect(await read(rebound)).toEqual([403, 403, 403, 403]);
    expect(await asked(rebound + infer, post)).toBe(403);
    for (const elsewhere of [`http://localhost:${otherPort}`, `http://a.example:${otherPort}`]) {
      await browser.go(elsewhere);
      await browser.until(`document.title === "other" && origin === "${elsewhere}"`);
      const before = refusedPages(server);
      for (const path of paths) {
        await asked(`http://localhost:${port}${path}`);
        await asked(`http://localhost:${port}${path}`, `{ ${html}, mode: "no-cors" }`);
      }
      await asked(`http://localhost:${port}${infer}`, `{ ...${post}, mode: "no-cors" }`);
      expect(refusedPages(server) - before).toBe(2 * paths.length + 1);
    }
  } finally {
    await browser.close();
    other.close();
    await server.close();
  }
});

function refusedPages(server: RunningServer): number {
  const own = server.metricLines().filter((line) => {
    return line.kind === "sample" && /unknown_host|other_origin/.test(line.labels["reason"] ?? "");
  });
  return own.reduce((sum, line) => sum + (line.kind === "sample" ? line.value : 0), 0);
}

/** What the page counts is no more than the server tells Prometheus right after. */
async function expectNumbersOf(url: string, browser: Chromium): Promise<void> {
  const rows = `[...document.querySelectorAll("section")].map((one) =>
    Number(one.querySelector("tbody tr td:nth-child(4)").textContent.replaceAll(",", "")))`;
  const shown = (await browser.value(rows)) as number[];
  const metrics = await (await fetch(`${url}/metrics`)).text();
  for (const [place, model] of ["letters", "scenes"].entries()) {
    const counts = metrics
      .split("\n")
      .filter((line) => line.startsWith("stratagem_queries_total{") && line.includes(`"${model}"`))
      .map((line) => Number(line.slice(line.lastIndexOf(" "))));
    const told = counts.reduce((sum, count) => sum + count, 0);
    expect(shown[place]).toBeGreaterThan(0);
    expect(shown[place]).toBeLessThanOrEqual(told);
  }
}

async function shot(browser: Chromium, name: string): Promise<Buffer> {
  const image = await browser.screenshot();
  if (KEPT !== undefined) {
    writeFileSync(join(KEPT, name), image);
    writeFileSync(join(KEPT, `whole-${name}`), await browser.screenshot(true));
  }
  return image;
}

/** Asks one image after the other until it is aborted; whatever is answered. */
async function keepAsking(
  model: string,
  byteCount: number,
  draw: (seed: number, index: number, pixels: Uint8Array) => unknown,
  signal: AbortSignal,
): Promise<void> {
  const { inputs } = (await (await fetch(model)).json()) as {
    readonly inputs: readonly { name: string; datatype: string; shape: readonly number[] }[];
  };
  const pixels = new Uint8Array(byteCount);
  for (let index = 0; !signal.aborted; index++) {
    draw(7, index, pixels);
    const asked = inputs.map(({ name, datatype, shape }) => {
      return { name, datatype, shape: [1, ...shape.slice(1)], data: [...pixels] };
    });
    const body = JSON.stringify({ inputs: asked });
    await fetch(`${model}/infer`, { method: "POST", body }).then((reply) => reply.arrayBuffer());
    await pause(EVERY_MS);
  }
}

/** One server of both bundles, each beside its models. */
async function serveBoth() {
  const policies = Object.entries({ letters: "image-classification", scenes: "scenes" }).flatMap(
    ([policy, models]) => {
      cpSync(`models/${models}`, join(folder, policy), { recursive: true });
      cpSync(`policies/${policy}/bundle.msgpack`, join(folder, policy, "bundle.msgpack"));
      return ["--policy", join(folder, policy, "bundle.msgpack")];
    },
  );
  const args = ["--http", "127.0.0.1:0", "--json", "--no-means-check", "--standby", "0"];
  const server = spawn(process.execPath, ["runtime/dist/cli.js", "serve", ...args, ...policies], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(server, "exit");
  for await (const line of createInterface(server.stdout)) {
    const url = /"url": "([^"]+)"/.exec(line)?.[1];
    if (url !== undefined) return { url, ended, stop: () => void server.kill("SIGTERM") };
  }
  throw new Error("the server ended before it was ready");
}
