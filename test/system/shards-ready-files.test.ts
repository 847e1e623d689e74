/**
 * The ready files of docs/compile.md, run as their hosts run them but for three shards: every
 * shell line of the matrix, and the container's command of the Job with each index.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-ready-"));
afterAll(() => rmSync(folder, { recursive: true }));
const SHARDS = 3;
const NUMBERS = [1, 2, 3];

const row = (p95: number) => ({ p50: 0.9 * p95, p95, p99: 1.1 * p95, mean: 0.92 * p95 });
const variant = { name: "small", accuracy: 0.8, profile: "cpu.json#small" };
/** Two levels for three shards, so that the first is searched by two. */
const SPEC = {
  version: 1,
  application: "ready",
  slo: { latency: "60 ms", percentile: 98 },
  workload: { arrivals: { process: "poisson" }, loads: [40, 200] },
  cluster: { pools: [{ name: "cpu", workers: 40, pricePerHour: 1 }] },
  tasks: [
    { name: "gate", variants: [variant], to: [{ task: "name" }] },
    { name: "name", variants: [variant] },
  ],
  policy: { method: "inferline", sampleDuration: "10 s" },
};
const PROFILE = {
  format: "latency-profile/1",
  hardware: "test",
  variants: { small: { latencyMs: { 1: row(4), 2: row(6), 4: row(10) } } },
};

/** A repository as the workflow wants it, whose stratagem is the one of this repository. */
function repository(name: string): string {
  const at = join(folder, name);
  mkdirSync(at);
  writeFileSync(join(at, "app.yaml"), JSON.stringify(SPEC));
  writeFileSync(join(at, "cpu.json"), JSON.stringify(PROFILE));
  const link = `file:${resolve("compiler")}`;
  const manifest = { name: "ready", private: true, devDependencies: { stratagem: link } };
  writeFileSync(join(at, "package.json"), JSON.stringify(manifest));
  bash(at, "npm install --package-lock-only");
  return at;
}

/** @throws with what it said, if the shell ends with another status than 0. */
function bash(cwd: string, line: string, env: Record<string, string> = {}, shell = ["bash", "-e"]) {
  const [program = "", ...args] = shell;
  const offline = { npm_config_offline: "true", npm_config_audit: "false" };
  const { status, stdout, stderr } = spawnSync(program, [...args, "-c", line], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, ...offline, ...env },
  });
  if (status !== 0) throw new Error(`${line}\nended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

let wanted = Buffer.alloc(0);
beforeAll(() => {
  const at = repository("alone");
  const out = join(at, "bundle.msgpack");
  expect(stratagem("compile", join(at, "app.yaml"), "-o", out).status).toBe(0);
  wanted = readFileSync(out);
});

interface Step {
  readonly run?: string;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, string>>;
}

test("the matrix, each of whose jobs has a checkout of its own, makes the bundle of one", () => {
  const { env, jobs } = parse(readFileSync("docs/ci/shards-github.yml", "utf8"));
  const artifacts = join(folder, "artifacts");
  const summary = join(folder, "summary.md");
  const shared = { APP: env.APP, SHARDS: `${SHARDS}`, GITHUB_STEP_SUMMARY: summary };
  const ran: string[] = [];
  const runJob = (at: string, steps: readonly Step[], shard: number) => {
    const filled = (text: string) => text.replace(/\$\{\{ matrix\.shard \}\}/g, `${shard}`);
    for (const { run, uses = "", env: own = {}, with: options = {} } of steps) {
      const { name = "", path = "" } = options;
      if (run !== undefined) {
        const set = Object.entries(own).map(([key, text]) => [key, filled(text)]);
        bash(at, filled(run), { ...shared, ...Object.fromEntries(set) });
        ran.push(run);
      } else if (uses.startsWith("actions/upload-artifact@")) {
        cpSync(join(at, filled(path)), join(artifacts, filled(name)), { recursive: true });
      } else if (uses.startsWith("actions/download-artifact@")) {
        expect(options).toMatchObject({ pattern: "part-*", "merge-multiple": true });
        for (const one of readdirSync(artifacts).filter((file) => file.startsWith("part-"))) {
          cpSync(join(artifacts, one), join(at, path), { recursive: true });
        }
      } else expect(uses).toMatch(/^actions\/(checkout|setup-node)@/);
    }
  };
  for (const shard of NUMBERS) runJob(repository(`shard-${shard}`), jobs.shard.steps, shard);
  runJob(repository("merge"), jobs.merge.steps, 0);
  expect(readFileSync(join(artifacts, "bundle", "bundle.msgpack")).equals(wanted)).toBe(true);
  expect(readFileSync(summary, "utf8")).toContain("all parts are complete");
  expect(ran.filter((line) => line.includes("--shard")).length).toBe(SHARDS);
});

test("the command of the Job's container makes each part by its index, also once more", () => {
  const text = readFileSync("docs/ci/shards-job.yaml", "utf8");
  const { spec } = parse(text);
  const [{ command, args }] = spec.template.spec.containers;
  const bin = join(folder, "bin");
  mkdirSync(bin);
  symlinkSync(resolve("compiler/dist/cli.js"), join(bin, "stratagem"));
  const claim = repository("claim");
  mkdirSync(join(claim, "parts"));
  const here = (line: string) => {
    const fewer = line.replace(`/${spec.completions}"`, `/${SHARDS}"`);
    return fewer.replaceAll("/compile/", `${claim}/`);
  };
  const PATH = `${bin}${delimiter}${process.env["PATH"]}`;
  const [shell = "", ...flags] = command;
  expect([shell, ...flags]).toEqual(["sh", "-ec"]);
  for (const index of NUMBERS.map((number) => number - 1)) {
    const env = { PATH, JOB_COMPLETION_INDEX: `${index}` };
    // An index that was counted as failed though its part was written is done once more.
    for (const _ of index === 1 ? [1, 2] : [1]) bash(claim, here(args[0]), env, [shell, "-e"]);
    expect(existsSync(join(claim, "parts", `${index + 1}.part`))).toBe(true);
  }
  const merge = /^# +(stratagem merge .*)$/m.exec(text)?.[1] ?? "";
  bash(claim, here(merge), { PATH });
  expect(readFileSync(join(claim, "bundle.msgpack")).equals(wanted)).toBe(true);
  expect(readdirSync(join(claim, "parts"))).toEqual(["1.part", "2.part", "3.part"]);
});
