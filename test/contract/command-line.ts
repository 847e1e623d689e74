/** What the two commands do with a bundle of any method, from the spec to the answered request. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileOfValue, plainPayload } from "../support/bundle-fixtures.ts";
import { runHere } from "../support/cli-here.ts";
import { changedAt } from "../support/refused-bundle.ts";
import type { CliRun } from "../support/run-cli.ts";
import { type ApplicationSketch, LOADS_QPS, WIDTH, writeApplication } from "./application.ts";

export interface CompiledSubject extends ApplicationSketch {
  /** Place in a bundle of a figure that `verify` computes again. */
  readonly promised: string;
  /** Baselines of its own, and one of another method. */
  readonly baselines: readonly string[];
  readonly foreignBaseline: string;
  /** As `--state` takes it; null where there are no states. */
  readonly state: string | null;
  /** Names of the outputs that hold the rows of the request. */
  readonly answered: readonly string[];
  readonly model: string;
}

/** Where the two commands are. */
export interface Commands {
  readonly cli: string;
  readonly runtimeCli: string;
}

/** @param commandsOf called before the first test. */
export function commandLineContract(
  method: string,
  subject: CompiledSubject,
  commandsOf: () => Commands,
): void {
  describe(`method ${method} on the command line`, () => {
    const folder = mkdtempSync(join(tmpdir(), `stratagem-${method}-`));
    const bundle = join(folder, "bundle.msgpack");
    /** As the bundle, but with a promise that nobody keeps. */
    const changed = join(folder, "changed.msgpack");
    let commands: Commands;
    let app: string;
    let compiled: CliRun;

    const stratagem = (...args: string[]) => runHere(commands.cli, args);
    const runtime = (...args: string[]) => runHere(commands.runtimeCli, args);
    const jsonOf = async (...args: string[]) => {
      const { status, stdout, stderr } = await stratagem(...args, "--json");
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      return JSON.parse(stdout);
    };

    beforeAll(async () => {
      commands = commandsOf();
      app = writeApplication(folder, subject);
      compiled = await stratagem("compile", app, "-o", bundle, "--json");
      if (compiled.status !== 0) throw new Error(compiled.stderr);
      const payload = plainPayload(readFileSync(bundle));
      const value = 0.5 * numberAt(payload, subject.promised);
      writeFileSync(changed, fileOfValue(changedAt(payload, subject.promised, value)));
    }, 60_000);
    afterAll(() => rmSync(folder, { recursive: true }));

    test("is compiled, and each level is told as one JSON document", () => {
      const { status, stdout, stderr } = compiled;
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      const told = JSON.parse(stdout);
      const bytes = readFileSync(bundle);
      expect(told).toMatchObject({
        bundle: { path: bundle, bytes: bytes.length, sha256: sha256(bytes), formatVersion: 1 },
        application: "echo",
        method,
      });
      expect(told.levels.map(({ loadQps }: { loadQps: number }) => loadQps)).toEqual(LOADS_QPS);
      for (const { feasible } of told.levels) expect(feasible).toBe(true);
    });

    test("is compiled to the same bytes with one job", async () => {
      const check = await jsonOf("compile", app, "-o", bundle, "--check", "--jobs", "1");
      expect(check).toMatchObject({ same: true, exists: true });
    });

    test("is verified: a promise that is kept, and one that is not", async () => {
      const { status, stdout } = await stratagem("verify", changed, "--json");
      expect(status).toBe(3);
      const { ok, guarantees } = JSON.parse(stdout);
      expect([ok, ...guarantees.map((one: { ok: boolean }) => one.ok)]).toEqual([
        false,
        false,
        true,
      ]);
      const kept = guarantees[1];
      expect(kept).toMatchObject({ loadQps: LOADS_QPS[1], recomputed: kept.stated });
      const alone = await runtime("verify", bundle, "--json");
      expect(alone.status).toBe(0);
      expect(JSON.parse(alone.stdout)).toMatchObject({ ok: true, method, guarantees: null });
    });

    test("is inspected: as a whole, by load and, where it has any, by state", async () => {
      const {
        levels,
        sections,
        method: told,
        level,
      } = await jsonOf(...["inspect", bundle, "--level", "10"]);
      expect([told, levels.length, sections.length > 0]).toEqual([method, LOADS_QPS.length, true]);
      expect(level).toMatchObject({ index: 0, loadQps: LOADS_QPS[0] });
      const asked = ["--state", subject.state ?? "queued=1,slack=40ms"];
      const state = await runtime("inspect", bundle, ...asked);
      if (subject.state === null) {
        const refusal = /^RUNTIME_USAGE --state: expected a bundle that decides by states[^\n]*\n$/;
        expect(state.status).toBe(64);
        expect(state.stderr).toMatch(refusal);
      } else expect([state.status, state.stdout.length > 0]).toEqual([0, true]);
    });

    test("differs from another one", async () => {
      const { status, stdout } = await stratagem("gate", bundle, changed, "--show", "--json");
      expect(status).toBe(2);
      const { levels } = JSON.parse(stdout);
      expect(levels).toMatchObject([{ loadQps: LOADS_QPS[0], change: "changed" }]);
      expect(levels[0].fields.length).toBeGreaterThan(0);
    });

    test("is gated: by what is required of it, and against another one", async () => {
      const required = ["--require", "feasible; violations <= ceiling; p99 <= slo; bytes <= 9MiB"];
      const { ok, requirements } = await jsonOf("gate", bundle, bundle, ...required);
      expect([ok, requirements.length]).toEqual([true, 4]);
      const broken = await stratagem("gate", bundle, bundle, "--require", "violations < 0");
      expect([broken.status, broken.stdout.match(/^BROKEN /gm)?.length]).toEqual([3, 1]);
      const [there, back] = [
        await stratagem("gate", bundle, changed, "--json"),
        await stratagem("gate", changed, bundle, "--json"),
      ];
      const verdicts = JSON.parse(there.stdout).comparisons.map(
        ({ verdict }: { verdict: string }) => verdict,
      );
      expect(verdicts.every((verdict: string) => verdict === "same")).toBe(false);
      expect([there.status, back.status].sort()).toEqual([0, 3]);
    });

    test("is simulated: every query ends one way, the same with the same seed", async () => {
      const args = [
        "simulate",
        bundle,
        "--arrivals",
        "poisson:30",
        "--duration",
        "5s",
        "--seed",
        "7",
      ];
      const {
        wallMs: _,
        queriesPerWallSecond: __,
        taskQueriesPerWallSecond: ___,
        ...result
      } = await jsonOf(...args);
      const { queries, satisfied, late, dropped, violationRate, latencyMs } = result;
      expect(queries).toBeGreaterThan(100);
      expect(satisfied + late + dropped).toBe(queries);
      expect(violationRate).toBeCloseTo((late + dropped) / queries, 12);
      expect(latencyMs.p50).toBeGreaterThan(0);
      expect(latencyMs.p99).toBeGreaterThanOrEqual(latencyMs.p50);
      expect(await jsonOf(...args)).toMatchObject(result);
    });

    test.each(subject.baselines)("is simulated beside %s", async (baseline) => {
      const args = ["simulate", bundle, "--arrivals", "poisson:30", "--duration", "5s"];
      const result = await jsonOf(...args, "--baseline", baseline);
      expect(result.queries).toBeGreaterThan(100);
      expect(result.satisfied + result.late + result.dropped).toBe(result.queries);
    });

    test("is not simulated with the baseline of another method", async () => {
      const args = [
        "simulate",
        bundle,
        "--arrivals",
        "poisson:30",
        "--baseline",
        subject.foreignBaseline,
      ];
      const { status, stdout, stderr } = await stratagem(...args);
      expect([status, stdout]).toEqual([64, ""]);
      expect(stderr).toMatch(/^RUNTIME_USAGE [^\n]+\n$/);
      expect(stderr).toContain(subject.foreignBaseline);
    });

    test("is shown on a page", async () => {
      const out = join(folder, "report.html");
      const { report, application } = await jsonOf(
        "report",
        bundle,
        "-o",
        out,
        "--frontier",
        "none",
      );
      const page = readFileSync(out);
      expect(report).toEqual({ path: out, bytes: page.length, sha256: sha256(page) });
      expect(application).toBe("echo");
      expect(page.toString()).toMatch(
        /^<!doctype html>.*<title>echo<.*id="level-table".*<\/html>\n$/s,
      );
    });

    test("is served: rows are answered and counted, reloaded, and told to stop", async () => {
      const served = join(folder, "served.msgpack");
      copyFileSync(bundle, served);
      const args = ["serve", "--policy", served, "--http", "127.0.0.1:0", "--json"];
      const child = spawn(process.execPath, [commands.cli, ...args], { stdio: "pipe" });
      try {
        const { url, policy, workers } = JSON.parse(await said(child.stdout, /\n}/));
        expect([policy, workers > 0]).toEqual([served, true]);
        expect((await fetch(`${url}/v2/health/ready`)).status).toBe(200);
        const at = `${url}/v2/models/${subject.model}`;
        expect(await (await fetch(at)).json()).toMatchObject({
          inputs: [{ name: "x", datatype: "FP32", shape: [-1, WIDTH] }],
        });
        const data = [1, 2, 3, 4, 5, 6];
        const input = { name: "x", datatype: "FP32", shape: [2, WIDTH], data };
        const outputs = subject.answered.map((name) => ({ name }));
        const body = JSON.stringify({ inputs: [input], outputs });
        const expectAnswer = async () => {
          const ask = () => fetch(`${at}/infer`, { method: "POST", body });
          let reply = await ask();
          // A machine that is busy may drop it, and says to ask again.
          for (let tries = 0; reply.status === 503 && tries < 20; tries++) reply = await ask();
          expect(reply.status).toBe(200);
          expect(await reply.json()).toMatchObject({
            outputs: subject.answered.map((name) => ({ name, shape: [2, WIDTH], data })),
          });
        };
        const metrics = async () => (await fetch(`${url}/metrics`)).text();
        const reload = async (path: string, told: RegExp) => {
          copyFileSync(path, served);
          const notice = said(child.stderr, told);
          child.kill("SIGHUP");
          await notice;
          await expectAnswer();
        };
        await expectAnswer();
        const counter = `nv_inference_request_success{model="${subject.model}",`;
        expect(await metrics()).toContain(counter);
        await reload(bundle, /serving it as it is now/);
        await reload(changed, /serving it as it is now/);
        const info = new RegExp(
          `^stratagem_bundle_info{.*sha256="${sha256(readFileSync(changed))}"`,
          "m",
        );
        const reloads = `stratagem_reloads_total{model="echo",result=`;
        expect(await metrics()).toMatch(info);
        expect(await metrics()).toContain(`${reloads}"followed"} 2\n`);
        await reload(app, /not followed, the previous bundle stays in use: .*served.msgpack/);
        expect(await metrics()).toMatch(info);
        expect(await metrics()).toContain(`${reloads}"refused"} 1\n`);
        const exited = once(child, "exit");
        child.kill("SIGTERM");
        expect(await exited).toEqual([0, null]);
      } finally {
        child.kill("SIGKILL");
      }
    });
  });
}

function numberAt(value: unknown, path: string): number {
  const keys = path.split(/[.[\]]+/).filter((key) => key !== "");
  const found = keys.reduce((node, key) => (node as Record<string, unknown>)[key], value);
  if (typeof found !== "number" || found === 0) throw new Error(`${path}: ${found} cannot be less`);
  return found;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** What a stream says up to a pattern. */
function said(stream: NodeJS.ReadableStream, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (pattern.test(text)) resolve(text);
    });
    stream.on("end", () => reject(new Error(`expected ${pattern}, got ${text}`)));
  });
}
