#!/usr/bin/env node
/** Runs `stratagem`; no other file of the compiler prints for people, exits, or reads a clock. */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { packageVersion } from "stratagem-runtime/internal/base/version";
import { print, runProgram, type Verb } from "stratagem-runtime/internal/commands/command-line";
import { explainCompilerError } from "./commands/errors.ts";
import { type Tools, watchedBy } from "./commands/watched.ts";

const nowMs = (): number => performance.now();
const every = (intervalMs: number, callback: () => void): (() => void) => {
  const timer = setInterval(callback, intervalMs).unref();
  return () => clearInterval(timer);
};
const version = packageVersion();
const watched = watchedBy({ nowMs, every });
const tools: Tools = {
  nowMs,
  every,
  watched,
  print,
  epochMs: () => Date.now(),
  sleep: (ms) => sleep(ms),
  cli: fileURLToPath(import.meta.url),
  version,
  compiler: `stratagem ${version}`,
};

type Add = (program: Command, tools: Tools) => void;

/** Commands in the order of the help, each loaded where it is asked for. */
const COMMANDS: Readonly<Record<string, () => Promise<Add>>> = {
  init: async () => (await import("./commands/init.ts")).addInit,
  compile: async () => (await import("./commands/compile.ts")).addCompile,
  worker: async () =>
    (await import("stratagem-runtime/internal/commands/worker-command")).addWorker,
  scaler: async () =>
    (await import("stratagem-runtime/internal/commands/scaler-command")).addScaler,
  merge: async () => (await import("./commands/merge.ts")).addMerge,
  inspect: async () => (await import("./commands/verify.ts")).addValuedInspect,
  verify: async () => (await import("./commands/verify.ts")).addVerify,
  gate: async () => (await import("./commands/gate.ts")).addGate,
  simulate: async () => (await import("./commands/simulate.ts")).addSimulate,
  capacity: async () => (await import("./commands/capacity.ts")).addCapacity,
  explain: async () => (await import("./commands/explain.ts")).addExplain,
  push: async () => (await import("./commands/push.ts")).addPush,
  pull: async () => (await import("./commands/push.ts")).addWatchedPull,
  manifests: async () => (await import("./commands/manifests.ts")).addManifests,
  report: async () => (await import("./commands/report.ts")).addReport,
  keygen: async () => (await import("./commands/sign.ts")).addKeygen,
  sign: async () => (await import("./commands/sign.ts")).addSign,
  profile: async () => (await import("./commands/profile.ts")).addProfile,
  serve: async () => (await import("./commands/serve.ts")).addSolvingServe,
  bench: async () => (await import("./commands/bench.ts")).addBench,
  truth: async () => (await import("./commands/truth.ts")).addTruth,
};

const VERBS: readonly Verb[] = Object.entries(COMMANDS).map(([name, load]) => ({
  name,
  add: async (to) => (await load())(to, tools),
}));

const program = new Command("stratagem")
  .description("Compiles what an inference-serving cluster should do at every load.")
  .version(version)
  .exitOverride();

await runProgram(program, VERBS, explainCompilerError);
