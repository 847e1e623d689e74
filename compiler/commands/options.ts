/** Options that several commands share, each with one name, text and parser. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { parallelism } from "stratagem-runtime/internal/base/control-groups";
import { wholeNumber } from "stratagem-runtime/internal/commands/command-line";

const MAX_TIME_MS = 86_400_000;

export function jobsOption(): Option {
  return new Option("--jobs <n>", "number of levels to solve in parallel")
    .argParser(wholeNumber)
    .default(parallelism());
}

/** Adds the requirements of a bundle, for commands that write one. */
export function withRequirements(command: Command): Command {
  return command
    .option("--check", "write nothing; exit with 2 and show why if the file would change")
    .option(
      "--require <promises>",
      "write nothing and exit with 3 if a promise is broken, such as 'feasible; " +
        "violations <= ceiling; accuracy >= 97% @ 1000; cost <= 3/h; bytes <= 2MiB' " +
        "(repeatable); none to ignore the requirements of the spec",
      joined,
    );
}

/** Adds the load options. @param more forms of arrivals of this command only. */
export function withArrivals(command: Command, more = ""): Command {
  return command
    .requiredOption("--arrivals <process>", `${ARRIVALS_HELP}${more}`)
    .addOption(durationOption())
    .option("--seed <n>", "seed of the pseudo-random numbers", "1");
}

export const ARRIVALS_HELP =
  "poisson:QPS, gamma:QPS,CV2, or trace:FILE with arrivals or rates, plain or .gz";

export function durationOption(): Option {
  return new Option(
    "--duration <time>",
    "duration of the load, such as 30s or 5 min (default: 30s, or the whole trace)",
  );
}

/** Adds the options for request contents. */
export function withInputs(command: Command): Command {
  return command
    .addOption(inputsOption())
    .option("--labels <file>", "correct class of each row, one number per line");
}

export function inputsOption(): Option {
  return new Option(
    "--inputs <file>",
    "rows to send, raw bytes one after another, or for truth and capacity a folder of request " +
      "bodies (default: zeros)",
  );
}

/** Parses an option value such as 90s or 5min, to ms. */
export function timeMs(text: string): number {
  const match = /^(\d{1,6})\s*(s|min)$/.exec(text);
  const ms = Number(match?.[1]) * (match?.[2] === "min" ? 60_000 : 1000);
  if (ms >= 1000 && ms <= MAX_TIME_MS) return ms;
  throw new InvalidArgumentError("expected 1s to 24 h in s or min, such as 90s");
}

/** Collects the values of a repeatable option. */
export function collect(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}

/** Joins the values of a repeatable option whose values may be lists. */
export function joined(value: string, earlier: unknown): string {
  return typeof earlier === "string" ? `${earlier}; ${value}` : value;
}
