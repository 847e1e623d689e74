/** The command `explain`, which looks at what a server logged. */
import { type Command, Option } from "commander";
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { ExplainOptions } from "../explain/explain-log.ts";
import { collect } from "./options.ts";
import type { Tools, Watch } from "./watched.ts";

interface ExplainFlags extends Omit<ExplainOptions, "logs" | "policy"> {
  readonly policy: readonly string[];
  readonly replay?: true;
}

export function addExplain(program: Command, { watched, print }: Tools): void {
  program
    .command("explain")
    .description("say why a request, or a span of time, went as it did, from the access log")
    .argument("<logs...>", "files that serve --access-log wrote, plain or .gz, or patterns")
    .requiredOption("--policy <bundle>", "the bundle that was served", collect)
    .option("--request <id>", "the request to explain, by its id")
    .option(
      "--time <span>",
      "the time to explain, in UTC: a minute such as 2026-11-23T14:05, or BEGIN/END",
    )
    .addOption(
      new Option(
        "--replay",
        "decide again, by the bundle alone, what files of serve --decision-log say was decided; " +
          "--policy is then repeatable",
      ).conflicts(["request", "time"]),
    )
    .action(async (logs: string[], flags: ExplainFlags) => {
      print(await watched("reading the log", ({ signal }) => explained(logs, flags, signal)));
    });
}

async function explained(
  logs: readonly string[],
  { policy: policies, replay, request, time }: ExplainFlags,
  signal: Watch["signal"],
) {
  if (replay === true) {
    const { replayCommand } = await import("../replay/replay-log.ts");
    return replayCommand({ logs, policy: policies }, signal);
  }
  const [policy = "", ...others] = policies;
  if (others.length > 0) throw new RuntimeError("RUNTIME_USAGE", "expected one --policy, got more");
  const { explainCommand } = await import("../explain/explain-log.ts");
  return explainCommand({ logs, policy, request, time }, signal);
}
