/** The command `gate`, which compares the promises of two bundles. */
import { availableParallelism } from "node:os";
import type { Command } from "commander";
import type { GateOptions } from "../gate/gate-bundles.ts";
import type { CompileTools } from "./compile.ts";
import { joined } from "./option-values.ts";
import { MORTAL, type Watch } from "./watched.ts";

export function addGate(program: Command, { watched, print, compiler, nowMs }: CompileTools): void {
  program
    .command("gate")
    .description("compare the promises of two bundles; exit with 3 if one became worse")
    .argument("<old>", "policy bundle that is in force")
    .argument("<new>", "policy bundle that is to follow it")
    .option(
      "--allow <tolerances>",
      "what may become worse, such as 'accuracy 0.5%; violations 0.1%; cost 5%; p99 2ms @ 1000' " +
        "(repeatable)",
      joined,
    )
    .option(
      "--require <promises>",
      "of the new one, as compile has it, such as 'feasible; accuracy >= 97%' (repeatable)",
      joined,
    )
    .option("--markdown", "print the comparison as Markdown, for a pull request")
    .option("--junit <file>", "write it as JUnit XML too, a test case for each promise")
    .option("--sarif <file>", "write what became worse as SARIF too")
    .option("--spec <file>", "spec of the new bundle, whose lines SARIF then names")
    .option("--json", "one JSON document on stdout")
    .action(async (before: string, after: string, flags: Omit<GateOptions, "before" | "after">) => {
      const { gateCommand } = await import("../gate/gate-bundles.ts");
      const options = { ...flags, before, after };
      const run = (watch: Watch) =>
        gateCommand(options, { jobs: availableParallelism(), nowMs, ...watch }, compiler);
      print(await watched("simulating", run, MORTAL));
    });
}
