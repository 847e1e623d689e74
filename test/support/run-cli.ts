import { spawn, spawnSync } from "node:child_process";
import { resolve } from "node:path";

export interface CliRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built `stratagem`. */
export function stratagem(...args: string[]): CliRun {
  return run("compiler/dist/cli.js", args);
}

/** Runs the built `stratagem` in another folder. */
export function stratagemIn(folder: string, ...args: string[]): CliRun {
  return run(resolve("compiler/dist/cli.js"), args, folder);
}

/** Runs the built `stratagem-runtime`. */
export function stratagemRuntime(...args: string[]): CliRun {
  return run("runtime/dist/cli.js", args);
}

/** Starts the built `stratagem` without waiting for it. */
export function startStratagem(...args: string[]): ReturnType<typeof spawn> {
  return spawn(process.execPath, ["compiler/dist/cli.js", ...args], { stdio: "pipe" });
}

/** Waits until a server that was started with `--json` says where it is, or why it is not. */
export async function urlOf({ stdout }: ReturnType<typeof spawn>): Promise<string> {
  let text = "";
  for await (const chunk of stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n}")) break;
  }
  const { url } = JSON.parse(text);
  if (url === undefined) throw new Error(`it says instead of its address: ${text}`);
  return url;
}

function run(script: string, args: readonly string[], folder?: string): CliRun {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    encoding: "utf8",
    ...(folder === undefined ? {} : { cwd: folder }),
  });
  return { status, stdout, stderr };
}
