/** The command that asks a server about a bundle that looks on: `shadow-report`. */
import { availableParallelism } from "node:os";
import type { Command } from "commander";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { SimulateWatch } from "./processes/simulate-watch.ts";

/** What an administrator's token is called in the environment. */
const TOKEN_VARIABLE = "STRATAGEM_TOKEN";

interface ShadowReportFlags {
  readonly application?: string;
  readonly served?: string;
  readonly shadow?: string;
  readonly seed: string;
}

/** @param run simulates, and prints what that gives. */
export function addShadowReport(
  program: Command,
  run: (work: (watch: SimulateWatch) => Promise<CommandResult>, jobs: number) => Promise<void>,
): void {
  program
    .command("shadow-report")
    .description("compare what serves with what looks on: decided, and simulated on its arrivals")
    .argument("<url>", `a server with --shadow; $${TOKEN_VARIABLE} is shown to it`)
    .option("--application <name>", "where bundles look on at several")
    .option("--served <bundle>", "the bundle that serves (default: the path the server has)")
    .option("--shadow <bundle>", "the bundle that looks on (default: the path the server has)")
    .option("--seed <n>", "of service times", "1")
    .action(async (url: string, flags: ShadowReportFlags) => {
      const { shadowReportCommand } = await import("./commands/shadow-report.ts");
      const { application = null, served = null, shadow = null, seed } = flags;
      const token = process.env[TOKEN_VARIABLE];
      const options = { url, application, served, shadow, seed, token };
      await run((watch) => shadowReportCommand(options, watch), availableParallelism());
    });
}
