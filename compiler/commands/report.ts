/** `stratagem report BUNDLE -o report.html`: a bundle as one page for people. */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { EXIT_CODES } from "stratagem-runtime/internal/errors";
import { loadBundle } from "stratagem-runtime/internal/load-bundle";
import { expectWritable, writeAtomically } from "../base/atomic-write.ts";
import { methodOf } from "../methods/registry.ts";
import type { LevelPoolOptions } from "../processes/level-pool.ts";

export interface ReportCommand {
  readonly bundle: string;
  readonly out: string;
  /** Files that `simulate --json` printed. */
  readonly simulations: readonly string[];
  /**
   * Load to solve again under other ceilings; null for the highest that is feasible, false for
   * none.
   */
  readonly frontierQps: number | null | false;
  /** Traces to simulate, such as days; left out for none. */
  readonly traces?: readonly string[];
  readonly watch: Pick<LevelPoolOptions, "signal" | "onProgress">;
}

/**
 * @throws BundleError or RuntimeError for the bundle, InputError for a simulation, UnwritableError
 * for the output.
 */
export async function reportCommand(command: ReportCommand): Promise<CommandResult> {
  const { out, watch } = command;
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

/** Counts what is done, and lets a signal be delivered, which synchronous work would hold back. */
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
