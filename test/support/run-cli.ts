import { spawn, spawnSync } from "node:child_process";

export interface CliRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built `stratagem`. */
export function stratagem(...args: string[]): CliRun {
  return run("dist/compiler/cli.js", args);
}

/** Runs the built `stratagem-runtime`. */
export function stratagemRuntime(...args: string[]): CliRun {
  return run("dist/runtime/cli.js", args);
}

/** Starts the built `stratagem` without waiting for it. */
export function startStratagem(...args: string[]): ReturnType<typeof spawn> {
  return spawn(process.execPath, ["dist/compiler/cli.js", ...args], { stdio: "pipe" });
}

function run(script: string, args: readonly string[]): CliRun {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}
