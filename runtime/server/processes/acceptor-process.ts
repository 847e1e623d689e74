/** One place of a process that accepts requests: it is started, and ends. */
import { type ChildProcess, fork } from "node:child_process";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { SharedHandle } from "./shared-port.ts";
import type { AcceptorSetup } from "./told.ts";

const MAIN_PATH = fileURLToPath(new URL("../../processes/acceptor-main.js", import.meta.url));
/** Among its descriptors. */
const CHANNEL_FD = 4;
/** Standard output is for what `serve` says. */
const STDIO = ["ignore", 2, 2, "ipc", "pipe"] as const;

export interface StartedProcess {
  readonly socket: Socket;
  /** Kept when it has ended. @property reason such as "exit code 1". */
  readonly ended: Promise<string>;
  /** Ends it at once, whatever it has. */
  kill(): void;
}

export function startProcess(setup: AcceptorSetup, handle: SharedHandle): StartedProcess {
  const child: ChildProcess = fork(MAIN_PATH, { stdio: [...STDIO] });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => {
      resolve(signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
  });
  // Where it has ended before it was told, "exit" says so.
  child.send({ ...setup }, handle, () => {});
  return {
    socket: child.stdio[CHANNEL_FD] as unknown as Socket,
    ended,
    kill: () => void child.kill("SIGKILL"),
  };
}
