/** Commands that need no process of their own, as the command line runs them. */
import { reportCommand } from "../../compiler/commands/report.ts";
import { simulateCommand } from "../../compiler/commands/simulate.ts";
import { methodOf } from "../../compiler/methods/registry.ts";
import { diffCommand } from "../../runtime/commands/diff.ts";
import { inspectCommand } from "../../runtime/commands/inspect.ts";
import { EXIT_CODE_BY_ERROR, isRuntimeError } from "../../runtime/errors.ts";
import { loadBundle } from "../../runtime/load-bundle.ts";
import type { Run } from "./command-line.ts";

const watch = {
  jobs: 1,
  signal: new AbortController().signal,
  onProgress: () => {},
  nowMs: () => performance.now(),
};

/** @returns undefined for a command that is run in a process. */
export async function runHere([command, ...args]: readonly string[]): Promise<Run | undefined> {
  try {
    const result = await resultOf(command, args);
    if (result === undefined) return undefined;
    const { exitCode, text, json } = result;
    const stdout = args.includes("--json") ? JSON.stringify(json) : text;
    return { status: exitCode, stdout: `${stdout}\n`, stderr: "" };
  } catch (error) {
    if (!isRuntimeError(error)) throw error;
    const status = EXIT_CODE_BY_ERROR[error.code];
    return { status, stdout: "", stderr: `${error.code} ${error.message}\n` };
  }
}

async function resultOf(command: string | undefined, args: readonly string[]) {
  const after = (option: string): string | undefined => {
    const at = args.indexOf(option);
    return at < 0 ? undefined : args[at + 1];
  };
  const [path = "", other = ""] = args;
  const out = after("-o") ?? "";
  switch (command) {
    case "inspect": {
      const level = after("--level");
      const loadQps = level === undefined ? null : Number(level);
      return inspectCommand({ path, loadQps, state: after("--state") ?? null });
    }
    case "diff":
      return diffCommand(path, other);
    case "report":
      return reportCommand({ bundle: path, out, simulations: [], frontierQps: false, watch });
    case "simulate": {
      const baseline = after("--baseline");
      if (baseline !== undefined && (await isSolvedInProcesses(path))) return undefined;
      const arrivals = { poisson: after("--poisson") ?? "1" };
      const steady = { duration: after("--duration") ?? "30s", seed: after("--seed") ?? "1" };
      const asked = baseline === undefined ? {} : { baseline };
      const modes = { serviceTimes: "p95", fanout: "rounded" } as const;
      return simulateCommand({ bundle: path, ...arrivals, ...steady, ...asked, ...modes }, watch);
    }
    default:
      return undefined;
  }
}

/** Whether the baselines of a bundle are: those processes run what is built. */
async function isSolvedInProcesses(path: string): Promise<boolean> {
  const { bundle } = await loadBundle(path);
  return (await methodOf(bundle)).baselineLevel !== undefined;
}
