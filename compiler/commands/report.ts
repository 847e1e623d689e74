/** Command `report`: writes a bundle as one HTML page. */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { type Command, InvalidArgumentError } from "commander";
import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { LevelPoolOptions } from "../processes/level-pool.ts";
import { collect } from "./options.ts";
import { ENDS_AT_ONCE, type Tools, type Watch } from "./watched.ts";

interface ReportFlags {
  readonly out: string;
  readonly simulation: readonly string[];
  readonly trace: readonly string[];
  readonly frontier?: number | false;
}

export interface ReportCommand {
  readonly bundle: string;
  readonly out: string;
  /** Files printed by `simulate --json`. */
  readonly simulations: readonly string[];
  /**
   * Load to solve again under other ceilings; null for the highest feasible one, false for none.
   */
  readonly frontierQps: number | null | false;
  /** Traces to simulate, such as days; left out for none. */
  readonly traces?: readonly string[];
  readonly watch: Pick<LevelPoolOptions, "signal" | "onProgress">;
}

export function addReport(program: Command, { watched, print }: Tools): void {
  program
    .command("report")
    .description("write an HTML page about a bundle's decisions and promises")
    .argument("<bundle>", "policy bundle")
    .requiredOption("-o, --out <file>", "output file of the page")
    .option("--simulation <file>", "output of simulate --json to show (repeatable)", collect, [])
    .option("--trace <file>", "trace to simulate under every scaler (repeatable)", collect, [])
    .option(
      "--frontier <qps>",
      "load to solve under other ceilings, or none (default: the highest feasible)",
      frontierLoad,
    )
    .action(async (bundle: string, flags: ReportFlags) => {
      const { out, simulation: simulations, trace: traces, frontier: frontierQps = null } = flags;
      const run = (watch: Watch) =>
        reportCommand({ bundle, out, simulations, traces, frontierQps, watch });
      print(await watched("drawing", run, ENDS_AT_ONCE));
    });
}

function frontierLoad(text: string): number | false {
  if (text === "none") return false;
  const loadQps = Number(text);
  if (loadQps > 0 && Number.isFinite(loadQps)) return loadQps;
  throw new InvalidArgumentError("expected a number above 0, or none");
}

/**
 * @throws BundleError or RuntimeError for the bundle, InputError for a simulation, UnwritableError
 * for the output.
 */
export async function reportCommand(command: ReportCommand): Promise<CommandResult> {
  const { out, watch } = command;
  const { loadBundle } = await import("stratagem-runtime/internal/bundles/load-bundle");
  const { expectWritable, writeAtomically } = await import("../base/atomic-write.ts");
  const { methodOf } = await import("../methods/registry.ts");
  const { bundle, ...file } = await loadBundle(command.bundle);
  await expectWritable(out);
  const method = await methodOf(bundle);
  const {
    page,
    runs = [],
    frontier = null,
  } = await method.report(bundle, {
    path: command.bundle,
    file,
    simulations: command.simulations,
    frontierQps: command.frontierQps,
    traces: command.traces ?? [],
    signal: watch.signal,
    progress: (total) => progressOf(watch, total),
  });
  const bytes = Buffer.from(page);
  watch.signal.throwIfAborted();
  await writeAtomically(out, bytes);
  const { application, levels } = bundle;
  return {
    exitCode: EXIT_CODES.ok,
    text:
      `${out}: ${bytes.length} bytes, ${levels.length} levels of ${application}; open it in ` +
      "a browser",
    json: {
      report: {
        path: out,
        bytes: bytes.length,
        sha256: createHash("sha256").update(bytes).digest("hex"),
      },
      application,
      bundle: { sha256: file.sha256 },
      runs,
      frontier,
    },
  };
}

/** Counts finished units, and yields so that signals are delivered between synchronous work. */
function progressOf(
  { signal, onProgress }: ReportCommand["watch"],
  total: number,
): () => Promise<void> {
  let done = 0;
  return async () => {
    onProgress(++done, total);
    await setImmediate();
    signal.throwIfAborted();
  };
}
