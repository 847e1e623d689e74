/**
 * Whether npm, which started this process by way of a shell, is gone: it passes signals to the
 * shell at most, and a server would go on and hold its port with nobody to stop it.
 */
import { readFileSync } from "node:fs";

/** How often it is looked. */
const LOOK_MS = 250;
/** A terminal that is closed tells all of its processes, within this. */
const HANG_UP_MS = 5000;
/** npm, a shell, and what that may start in between. */
const MAX_ANCESTORS = 5;
/** What scripts say where a process is to outlive them. */
const BACKGROUND = /(^|[^&>])&($|[^&>\d])|\b(nohup|setsid|disown|daemonize)\b/;
/** npm writes its own command line: `npm run serve`. */
const NPM = /^(\S*node )?(\S*\/)?np[mx](-cli\.js)?( |$)/;

/**
 * Calls back once npm is gone, where it started this process and is to be waited for: not where the
 * script puts it in the background, nor where it leads a session of its own, nor after a SIGHUP to
 * all, which is a closed terminal, nor where there is no `/proc` to tell.
 * @param environment of this process.
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

/** This process and its ancestors up to npm; null if npm is none of them, or of another session. */
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

/** Whether each still has the parent that it had: who loses it gets another. */
function isWhole(line: readonly number[]): boolean {
  return line.every((pid, at) => at === line.length - 1 || statOf(pid)?.parent === line[at + 1]);
}

function statOf(pid: number): { readonly parent: number; readonly session: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name before it may have any characters.
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
