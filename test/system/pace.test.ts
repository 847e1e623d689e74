/**
 * A served policy follows the pace of its workers, and serves what they can carry once some die.
 */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Rng } from "../../runtime/core/rng.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

const WORKERS = 8;
const SLO_MS = 400;
const LOAD_QPS = 60;
const LOADS = [30, LOAD_QPS, 120, 200];
/** Late or lost of what came a second after a change, on a machine that others use too. */
const MOST_VIOLATIONS = 0.05;
/** Batches of one to four rows, ms. */
const VARIANTS = {
  good: { accuracy: 0.95, latencyMs: { 1: 100, 2: 180, 4: 340 } },
  fair: { accuracy: 0.9, latencyMs: { 1: 50, 2: 90, 4: 170 } },
  fast: { accuracy: 0.7, latencyMs: { 1: 20, 2: 30, 4: 50 } },
};

const folder = mkdtempSync(join(tmpdir(), "stratagem-pace-"));
const factorFile = join(folder, "factor");
const running: ReturnType<typeof startStratagem>[] = [];

/** It sleeps, and so takes much the same time whatever else the machine does. */
const moduleOf = (times: readonly number[]) => `import { readFileSync } from "node:fs";
const TIMES = ${JSON.stringify(times)};
export default () => ({
  inputs: [{ name: "x", datatype: "FP32", shape: [1] }],
  outputs: [{ name: "y", datatype: "FP32", shape: [1] }],
  run({ x }, rows) {
    const factor = Number(readFileSync(${JSON.stringify(factorFile)}, "utf8"));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TIMES[rows - 1] * factor);
    return { y: x };
  },
  batches: [1],
});
`;

beforeAll(() => {
  setFactor(1);
  for (const [name, { latencyMs }] of Object.entries(VARIANTS)) {
    const times = [latencyMs[1], latencyMs[2], (latencyMs[2] + latencyMs[4]) / 2, latencyMs[4]];
    writeFileSync(join(folder, `${name}.mjs`), moduleOf(times));
  }
});

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

function setFactor(factor: number): void {
  writeFileSync(factorFile, String(factor));
}

/** Workers that sleep take no processor from each other, so the machine has enough of them. */
function bundle(): string {
  const serving = { processors: 16, wireMs: { p50: 10, p95: 30, p99: 60, mean: 14 } };
  const profile = { format: "latency-profile/1", hardware: "test", variants: VARIANTS, serving };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  const variants = Object.keys(VARIANTS).map((name) => {
    return { name, kind: "module", model: `./${name}.mjs`, profile: `profile.json#${name}` };
  });
  const spec = {
    version: 1,
    application: "sleepy",
    slo: { latency: `${SLO_MS} ms` },
    workload: { loads: LOADS, arrivals: { process: "poisson" } },
    cluster: { workers: WORKERS },
    tasks: [{ name: "sleep", variants }],
    policy: { method: "ramsis", maxQueue: 16 },
  };
  const path = join(folder, "bundle.msgpack");
  writeFileSync(join(folder, "app.json"), JSON.stringify(spec));
  expect(stratagem("compile", join(folder, "app.json"), "-o", path).status).toBe(0);
  return path;
}

interface Asked {
  readonly atMs: number;
  readonly tookMs: number;
  readonly isAnswered: boolean;
}

/** Poisson arrivals until it is stopped. */
class Load {
  readonly asked: Asked[] = [];
  readonly #url: string;
  readonly #open = new Set<Promise<void>>();
  #isStopped = false;

  constructor(url: string) {
    this.#url = `${url}/v2/models/sleepy/infer`;
    this.#run().catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#open);
  }

  /** Share of those asked in a span that were late or had no answer. */
  violations(fromMs: number, toMs = Number.POSITIVE_INFINITY): number {
    const own = this.asked.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
    const bad = own.filter(({ tookMs, isAnswered }) => !isAnswered || tookMs > SLO_MS);
    expect(own.length).toBeGreaterThan(0);
    return bad.length / own.length;
  }

  async #run(): Promise<void> {
    const rng = new Rng(1, 1);
    let atMs = performance.now();
    while (!this.#isStopped) {
      atMs += (-1000 / LOAD_QPS) * Math.log(1 - rng.nextFloat());
      await sleep(Math.max(0, atMs - performance.now()));
      const one = this.#ask();
      this.#open.add(one);
      one.catch(() => {}).finally(() => this.#open.delete(one));
    }
  }

  async #ask(): Promise<void> {
    const atMs = performance.now();
    const data = { name: "x", datatype: "FP32", shape: [1, 1], data: [1] };
    const body = JSON.stringify({ inputs: [data] });
    const reply = await fetch(this.#url, { method: "POST", body });
    await reply.arrayBuffer();
    this.asked.push({ atMs, tookMs: performance.now() - atMs, isAnswered: reply.status === 200 });
  }
}

interface Seen {
  readonly atMs: number;
  readonly level: number;
  readonly paces: readonly number[];
}

/** What the metrics say, ten times a second. */
class Watch {
  readonly seen: Seen[] = [];
  readonly #url: string;
  #isStopped = false;

  constructor(url: string) {
    this.#url = `${url}/metrics`;
    this.#run().catch(() => {});
  }

  stop(): void {
    this.#isStopped = true;
  }

  changes(fromMs: number, toMs: number): number {
    const own = this.seen.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
    return own.filter(({ level }, index) => index > 0 && level !== own[index - 1]?.level).length;
  }

  /** Until this was seen first; infinite where it was not. */
  msUntil(fromMs: number, is: (seen: Seen) => boolean): number {
    const found = this.seen.find((one) => one.atMs >= fromMs && is(one));
    return found === undefined ? Number.POSITIVE_INFINITY : found.atMs - fromMs;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const text = await (await fetch(this.#url)).text();
      const level = Number(/^stratagem_level\{[^}]*\} (\S+)$/m.exec(text)?.[1]);
      const paces = [...text.matchAll(/^stratagem_pace\{[^}]*\} (\S+)$/gm)].map((one) => {
        return Number(one[1]);
      });
      this.seen.push({ atMs: performance.now(), level, paces });
      await sleep(100);
    }
  }
}

function workersOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return children.map(Number).filter((child) => {
    return readFileSync(`/proc/${child}/cmdline`, "utf8").includes("worker");
  });
}

test("a machine at half speed, then four lost workers, are met within a second", async () => {
  const child = startStratagem(
    ...["serve", "--policy", bundle(), "--http", "127.0.0.1:0", "--json", "--standby", "0"],
  );
  running.push(child);
  child.stderr?.resume();
  const url = await urlOf(child);
  const [load, watch] = [new Load(url), new Watch(url)];
  await sleep(4000);

  const slowMs = performance.now();
  setFactor(2);
  await sleep(8000);
  const wellMs = performance.now();
  setFactor(1);
  await sleep(6000);

  const lostMs = performance.now();
  // A worker that comes up anew finds no model.
  for (const name of Object.keys(VARIANTS)) rmSync(join(folder, `${name}.mjs`));
  for (const worker of workersOf(child.pid ?? 0).slice(0, 4)) process.kill(worker, "SIGKILL");
  await sleep(6000);
  watch.stop();
  await load.stop();

  const figures = {
    well: load.violations(0, slowMs),
    slow: load.violations(slowMs + 1000, wellMs),
    lost: load.violations(lostMs + 2000),
    slowAfterMs: watch.msUntil(slowMs, ({ paces }) => paces.every((pace) => pace >= 1.75)),
    backAfterMs: watch.msUntil(wellMs, ({ paces }) => paces.every((pace) => pace < 1.75)),
    lostAfterMs: watch.msUntil(lostMs, ({ level }) => level >= LOADS.length - 1),
    changesASecond: (1000 * watch.changes(slowMs, wellMs)) / (wellMs - slowMs),
    paces: watch.seen.findLast(({ atMs }) => atMs < wellMs)?.paces,
    workers: watch.seen.at(-1)?.paces.length,
  };
  // What was measured, for whoever reads the log of a failure.
  process.stderr.write(`${JSON.stringify(figures)}\n`);
  expect(figures.slow).toBeLessThanOrEqual(MOST_VIOLATIONS);
  expect(figures.lost).toBeLessThanOrEqual(MOST_VIOLATIONS);
  expect(figures.slowAfterMs).toBeLessThan(1000);
  expect(figures.backAfterMs).toBeLessThan(5000);
  expect(figures.lostAfterMs).toBeLessThan(1000);
  expect(figures.changesASecond).toBeLessThanOrEqual(4);
  expect(figures.paces?.every((pace) => pace >= 1.5)).toBe(true);
  expect(figures.workers).toBe(4);

  child.kill("SIGTERM");
  expect((await once(child, "exit"))[0]).toBe(0);
});
