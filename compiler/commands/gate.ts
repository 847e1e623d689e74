/** Command `gate`: compares two bundles. */

import { type Command, Option } from "commander";
import { parallelism } from "stratagem-runtime/internal/base/control-groups";
import type { GateOptions } from "../gate/gate-bundles.ts";
import { joined } from "./options.ts";
import { ENDS_AT_ONCE, type Tools, type Watch } from "./watched.ts";

type GateFlags = Omit<GateOptions, "before" | "after"> & { readonly show?: true };

export function addGate(program: Command, { watched, print, nowMs }: Tools): void {
  program
    .command("gate")
    .description("compare the promises of two bundles; exit with 3 if one became worse")
    .argument("<old>", "current policy bundle")
    .argument("<new>", "policy bundle to replace it")
    .option(
      "--allow <tolerances>",
      "tolerances for promises that become worse, such as 'accuracy 0.5%; violations 0.1%; " +
        "cost 5%; p99 2ms @ 1000' (repeatable)",
      joined,
    )
    .option(
      "--require <promises>",
      "requirements of the new bundle, as in compile, such as 'feasible; accuracy >= 97%' " +
        "(repeatable)",
      joined,
    )
    .option("--markdown", "print the comparison as Markdown, for a pull request")
    .addOption(
      new Option(
        "--show",
        "show every difference instead, including decisions; exit with 2 if there is one",
      ).conflicts(["allow", "require", "markdown"]),
    )
    .action(async (before: string, after: string, { show, ...flags }: GateFlags) => {
      if (show === true) {
        const { showDifferences } = await import("../gate/differences-text.ts");
        print(await showDifferences(before, after));
        return;
      }
      const { gateCommand } = await import("../gate/gate-bundles.ts");
      const options = { ...flags, before, after };
      const run = (watch: Watch) => gateCommand(options, { jobs: parallelism(), nowMs, ...watch });
      print(await watched("simulating", run, ENDS_AT_ONCE));
    });
}
