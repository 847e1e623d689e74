/** Command `explain`: analyses the log of a server. */
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
    .description("explain the latency of a request, or of a span of time, from the access log")
    .argument("<logs...>", "files written by serve --access-log, plain or .gz, or patterns")
    .requiredOption("--policy <bundle>", "bundle that was served", collect)
    .option("--request <id>", "id of the request to explain")
    .option(
      "--time <span>",
      "time to explain, in UTC: a minute such as 2026-11-23T14:05, or BEGIN/END",
    )
    .addOption(
      new Option(
        "--replay",
        "repeat the decisions in files of serve --decision-log from the bundle and compare them; " +
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
