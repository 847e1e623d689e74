#!/usr/bin/env node
/** Runs `stratagem`; no other file of the compiler prints for people, exits, or reads a clock. */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { print, runProgram, type Verb } from "stratagem-runtime/internal/command-line";
import { packageVersion } from "stratagem-runtime/internal/version";
import { explainCompilerError } from "./errors.ts";
import type { MeasuringTools } from "./measuring-commands.ts";
import type { RunAndPrint } from "./service-commands.ts";
import { watchedBy } from "./watched.ts";

const nowMs = (): number => performance.now();
const epochMs = (): number => Date.now();
const every = (intervalMs: number, callback: () => void): (() => void) => {
  const timer = setInterval(callback, intervalMs).unref();
  return () => clearInterval(timer);
};
const version = packageVersion();
const compiler = `stratagem ${version}`;
const watched = watchedBy({ nowMs, every });
const tools: MeasuringTools = {
  nowMs,
  every,
  watched,
  print,
  epochMs,
  sleep: (ms) => sleep(ms),
  cli: fileURLToPath(import.meta.url),
  compiler,
};
const runAndPrint: RunAndPrint = async (label, work) => {
  print(await watched(label, ({ signal }) => work(signal)));
};

const commands = {
  bundle: () => import("./bundle-commands.ts"),
  told: () => import("stratagem-runtime/internal/bundle-commands"),
  measuring: () => import("./measuring-commands.ts"),
  registry: () => import("./registry-commands.ts"),
  service: () => import("./service-commands.ts"),
  signing: () => import("./signing-commands.ts"),
};

/** In the order of the help. */
const VERBS: readonly Verb[] = [
  { name: "init", add: async (to) => (await import("./init-command.ts")).addInit(to, tools) },
  {
    name: "compile",
    add: async (to) => (await import("./compile-command.ts")).addCompile(to, tools),
  },
  {
    name: "worker",
    add: async (to) => (await import("stratagem-runtime/internal/worker-command")).addWorker(to),
  },
  {
    name: "scaler",
    add: async (to) => (await import("stratagem-runtime/internal/scaler-command")).addScaler(to),
  },
  {
    name: "merge",
    add: async (to) => (await import("./sharding-commands.ts")).addMerge(to, tools),
  },
  { name: "inspect", add: async (to) => (await commands.bundle()).addValuedInspect(to) },
  { name: "verify", add: async (to) => (await commands.bundle()).addVerify(to, tools) },
  { name: "diff", add: async (to) => (await commands.told()).addDiff(to) },
  { name: "gate", add: async (to) => (await import("./gate-command.ts")).addGate(to, tools) },
  { name: "simulate", add: async (to) => (await commands.bundle()).addSimulate(to, tools) },
  { name: "explain", add: async (to) => (await commands.service()).addExplain(to, runAndPrint) },
  { name: "replay", add: async (to) => (await commands.service()).addReplay(to, runAndPrint) },
  {
    name: "recalibrate",
    add: async (to) => (await commands.service()).addRecalibrate(to, runAndPrint, epochMs),
  },
  { name: "push", add: async (to) => (await commands.registry()).addPush(to, runAndPrint) },
  { name: "pull", add: async (to) => (await commands.registry()).addWatchedPull(to, runAndPrint) },
  {
    name: "manifests",
    add: async (to) => {
      (await import("./manifest-command.ts")).addManifests(to, runAndPrint, version);
    },
  },
  { name: "report", add: async (to) => (await commands.bundle()).addReport(to, tools) },
  { name: "keygen", add: async (to) => (await commands.signing()).addKeygen(to) },
  { name: "sign", add: async (to) => (await commands.signing()).addSign(to, compiler, epochMs) },
  {
    name: "profile",
    add: async (to) => (await import("./profile-command.ts")).addProfile(to, tools),
  },
  {
    name: "token",
    add: async (to) => (await import("stratagem-runtime/internal/token-command")).addToken(to),
  },
  { name: "serve", add: async (to) => (await import("./serve-command.ts")).addSolvingServe(to) },
  { name: "bench", add: async (to) => (await commands.measuring()).addBench(to, tools) },
  { name: "truth", add: async (to) => (await commands.measuring()).addTruth(to, tools) },
  { name: "schema", add: async (to) => (await import("./schema-command.ts")).addSchema(to) },
];

const program = new Command("stratagem")
  .description("Compiles what an inference-serving cluster should do at every load.")
  .version(version)
  .exitOverride();

await runProgram(program, VERBS, explainCompilerError);
