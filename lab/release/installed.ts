/** A folder in which packages of a release are installed, and their commands as users have them. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Longer than any command of the check takes on a slow machine. */
const PATIENCE_MS = 600_000;
const MOST_BYTES = 2 ** 28;

/** Installs what package-lock.json of the folder pins. @throws Error with what npm says. */
export function install(folder: string): void {
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
  const { status, stdout, stderr } = ran("npm", args, folder);
  if (status !== 0) throw new Error(`npm ci in ${folder}: ${`${stdout}${stderr}`.trim()}`);
}

/** A command that the packages bring, whatever its outcome. */
export function command(folder: string, name: string, args: readonly string[]): Outcome {
  return ran(join(folder, "node_modules/.bin", name), args, folder);
}

/** What a command prints. @throws Error with what it says where it does not end with 0. */
export function printed(folder: string, name: string, args: readonly string[]): string {
  const { status, stdout, stderr } = command(folder, name, args);
  if (status === 0) return stdout;
  throw new Error(`${name} ${args.join(" ")}: ended with ${status}: ${stderr.trim() || stdout}`);
}

/** Runs a script that imports the packages, as a program of a user does. */
export function scripted(folder: string, script: string, args: readonly string[]): Outcome {
  return ran(process.execPath, ["--input-type=module", "-e", script, "--", ...args], folder);
}

/**
 * Has a server serve while something is asked of it, and stops it then.
 * @param ask gets the server's address. @throws Error where the server ends before it serves.
 */
export async function whileServing<Answer>(
  folder: string,
  args: readonly string[],
  ask: (url: string) => Promise<Answer>,
): Promise<Answer> {
  const program = join(folder, "node_modules/.bin/stratagem-runtime");
  const options = ["--http", "127.0.0.1:0", "--json"];
  const server = spawn(program, ["serve", ...args, ...options], {
    cwd: folder,
    env: environmentIn(folder),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(server, "exit");
  let complaints = "";
  server.stderr.on("data", (chunk: Buffer) => {
    complaints += chunk;
  });
  try {
    let said = "";
    for await (const chunk of server.stdout) {
      said += chunk;
      if (said.endsWith("}\n")) break;
    }
    if (!said.endsWith("}\n")) throw new Error(`the server ended before it served: ${complaints}`);
    const { url } = JSON.parse(said) as { readonly url: string };
    return await ask(url);
  } finally {
    server.kill("SIGTERM");
    await ended;
  }
}

function ran(program: string, args: readonly string[], cwd: string): Outcome {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env: environmentIn(cwd),
    encoding: "utf8",
    maxBuffer: MOST_BYTES,
    timeout: PATIENCE_MS,
  });
  return { status, stdout: stdout ?? "", stderr: error === undefined ? stderr : String(error) };
}

/** What servers keep, serials of signatures among it, is kept in the folder, not in any home. */
function environmentIn(folder: string): NodeJS.ProcessEnv {
  const state = join(folder, "state");
  return { ...ownEnvironment(), STATE_DIRECTORY: state, XDG_STATE_HOME: state };
}

/** Without what npm tells the scripts that it runs: a user's shell has none of it. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => !/^(npm_|INIT_CWD$)/i.test(name)));
}
