#!/usr/bin/env node
/** The `stratagem-runtime` command: what an edge node needs, without a solver. */
import { Command } from "commander";
import { packageVersion } from "./base/version.ts";
import { runProgram, type Verb } from "./commands/command-line.ts";

/** In the order of the help. */
const VERBS: readonly Verb[] = [
  {
    name: "inspect",
    add: async (to) => (await import("./commands/bundle-commands.ts")).addInspect(to),
  },
  { name: "serve", add: async (to) => (await import("./commands/serve-command.ts")).addServe(to) },
  {
    name: "worker",
    add: async (to) => (await import("./commands/worker-command.ts")).addWorker(to),
  },
  {
    name: "pull",
    add: async (to) => (await import("./commands/registry-commands.ts")).addPull(to),
  },
  {
    name: "scaler",
    add: async (to) => (await import("./commands/scaler-command.ts")).addScaler(to),
  },
  {
    name: "keygen",
    add: async (to) => (await import("./commands/token-command.ts")).addTokens(to),
  },
  {
    name: "verify",
    add: async (to) => (await import("./commands/bundle-commands.ts")).addVerify(to),
  },
];

const program = new Command("stratagem-runtime")
  .description("Follows the policy bundles that stratagem compiles.")
  .version(packageVersion())
  .exitOverride();

await runProgram(program, VERBS);
