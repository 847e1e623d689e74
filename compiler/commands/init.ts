/** Command `init`: writes a spec for given models. */
import { type Command, InvalidArgumentError } from "commander";
import { wholeNumber } from "stratagem-runtime/internal/commands/command-line";
import { LOADS_EXPECTED, readLoads, readSlo, SLO_EXPECTED } from "../init/questions.ts";
import { collect } from "./options.ts";
import type { Tools, Watch } from "./watched.ts";

interface InitFlags {
  readonly out: string;
  readonly slo?: string;
  readonly loads?: readonly number[];
  readonly workers?: number;
  readonly accuracy: readonly string[];
  readonly axes: readonly string[];
  readonly force?: true;
}

export function addInit(program: Command, { watched, print }: Tools): void {
  program
    .command("init")
    .description("write a spec that compiles, from model files")
    .argument(
      "<models...>",
      "ONNX files or modules: variants of one task, or TASK=FILE for the tasks of a pipeline",
    )
    .option("-o, --out <file>", "output file of the spec", "app.yaml")
    .option("--slo <time>", "latency SLO of a request (default: 1 s, more for slow models)", slo)
    .option(
      "--loads <rates>",
      "loads in requests per second (default: 1,2,5, less for slow models)",
      loads,
    )
    .option("--workers <n>", "number of worker processes (default: a task each)", wholeNumber)
    .option("--accuracy <variant=ratio>", "accuracy of a variant (repeatable)", collect, [])
    .option(
      "--axes <axis=use>",
      "use of an open axis: batch, a size, or sizes (repeatable)",
      collect,
      [],
    )
    .option("--force", "replace an existing spec")
    .action(async (models: string[], flags: InitFlags) => {
      const { initCommand, parseAccuracy, parseAxis } = await import("../init/write-spec.ts");
      const { terminalAsk } = await import("../init/questions.ts");
      const { ModelReader } = await import("stratagem-runtime/internal/exec/process/model-reader");
      const { out, force = false } = flags;
      const options = {
        models,
        out,
        workers: flags.workers ?? null,
        force,
        slo: flags.slo ?? null,
        loads: flags.loads ?? null,
        accuracies: new Map(flags.accuracy.map(parseAccuracy)),
        axes: Object.fromEntries(flags.axes.map(parseAxis)),
      };
      const isTerminal = process.stdin.isTTY === true && process.stderr.isTTY === true;
      const terminal = isTerminal ? terminalAsk() : null;
      const run = async ({ signal }: Watch) => {
        const reader = new ModelReader(signal);
        try {
          return await initCommand(options, reader, terminal?.ask ?? null);
        } finally {
          reader.close();
          terminal?.close();
        }
      };
      print(await watched("reading models", run));
    });
}

/** Checks an option value such as 150ms, without converting it. */
function slo(text: string): string {
  const read = readSlo(text);
  if (read !== undefined) return read;
  throw new InvalidArgumentError(`expected ${SLO_EXPECTED}`);
}

/** Parses an option value such as 1,10,100. */
function loads(text: string): number[] {
  const read = readLoads(text);
  if (read !== undefined) return read;
  throw new InvalidArgumentError(`expected ${LOADS_EXPECTED}`);
}
