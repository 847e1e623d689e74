/**
 * Detects that npm, which started this process through a shell, is gone. npm passes signals only to
 * the shell, so without this check a server would go on and hold its port.
 */
import { readFileSync } from "node:fs";

/** Time between two checks. */
const LOOK_MS = 250;
/** A closed terminal signals all of its processes within this time. */
const HANG_UP_MS = 5000;
/** npm, a shell, and processes that it may start in between. */
const MAX_ANCESTORS = 5;
/** Signs in a script that a process shall outlive it. */
const BACKGROUND = /(^|[^&>])&($|[^&>\d])|\b(nohup|setsid|disown|daemonize)\b/;
/** npm writes its own command line: `npm run serve`. */
const NPM = /^(\S*node )?(\S*\/)?np[mx](-cli\.js)?( |$)/;

/**
 * Calls `act` once npm is gone, if npm started this process in the foreground. Does nothing if the
 * script puts the process in the background, if it leads a session of its own, after a SIGHUP to
 * all (a closed terminal), or without `/proc`.
 * @param environment environment of this process.
 */
export function onceNpmIsGone(environment: NodeJS.ProcessEnv, act: () => void): void {
  const { npm_execpath: npm, npm_lifecycle_script: script = "" } = environment;
  if (npm === undefined || BACKGROUND.test(script)) return;
  const line = npmLine();
  if (line === null) return;
  let hungUpMs = Number.NEGATIVE_INFINITY;
  process.on("SIGHUP", () => {
    hungUpMs = performance.now();
  });
  const look = () => {
    if (isWhole(line)) return;
    clearInterval(timer);
    if (performance.now() - hungUpMs > HANG_UP_MS) act();
  };
  const timer = setInterval(look, LOOK_MS).unref();
}

/**
 * Returns this process and its ancestors up to npm; null if npm is not among them, or of another
 * session.
 */
function npmLine(): number[] | null {
  const line = [process.pid];
  const own = statOf(process.pid);
  for (let next = own?.parent ?? 0; line.length <= MAX_ANCESTORS; ) {
    const stat = statOf(next);
    if (stat === null || stat.session !== own?.session) return null;
    line.push(next);
    if (NPM.test(commandLineOf(next))) return line;
    next = stat.parent;
  }
  return null;
}

/** Whether each process still has the same parent: an orphan gets another. */
function isWhole(line: readonly number[]): boolean {
  return line.every((pid, at) => at === line.length - 1 || statOf(pid)?.parent === line[at + 1]);
}

function statOf(pid: number): { readonly parent: number; readonly session: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name before it may contain any characters.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(fields[1]), session: Number(fields[3]) };
  } catch {
    return null;
  }
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").trimEnd();
  } catch {
    return "";
  }
}
