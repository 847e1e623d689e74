/**
 * Process that sends the load, so that the server and the simulation do not share its event loop.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { INPUT_ERRORS, InputError } from "../spec/document/input-error.ts";
import type { LoadMessage, LoadOrder } from "./load-messages.ts";

const PROGRAM = fileURLToPath(new URL("./load-process.js", import.meta.url));

export type LoadDone = Extract<LoadMessage, { readonly kind: "done" }>;

/** Sends one load at a time. */
export class LoadClient {
  readonly #child: ChildProcess;
  readonly #signal: AbortSignal;
  readonly #exited: Promise<unknown>;
  readonly #onAbort = (): void => void this.#child.kill("SIGTERM");

  /** @param signal aborting ends the process. */
  constructor(signal: AbortSignal) {
    signal.throwIfAborted();
    this.#signal = signal;
    this.#child = fork(PROGRAM, [], { serialization: "advanced", execArgv: [] });
    this.#exited = once(this.#child, "exit");
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** @throws InputError for invalid contents, Error for other failures. */
  async send(order: LoadOrder, onProgress: (doneSeconds: number) => void): Promise<LoadDone> {
    this.#signal.throwIfAborted();
    const done = new Promise<LoadDone>((resolve, reject) => {
      const onMessage = (message: LoadMessage): void => {
        if (message.kind === "progress") {
          onProgress(message.doneSeconds);
          return;
        }
        this.#child.off("message", onMessage);
        if (message.kind === "done") resolve(message);
        else reject(errorOf(message));
      };
      this.#child.on("message", onMessage);
    });
    this.#child.send(order);
    const ended = this.#exited.then(() => {
      this.#signal.throwIfAborted();
      throw new Error("the process that sends the load ended");
    });
    return Promise.race([done, ended]);
  }

  /** Resolves when the process has ended. */
  async close(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#onAbort);
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGTERM");
    await this.#exited;
  }
}

function errorOf({ code, message }: Extract<LoadMessage, { readonly kind: "failed" }>): Error {
  const known = Object.keys(INPUT_ERRORS).find((one): one is keyof typeof INPUT_ERRORS => {
    return one === code;
  });
  return known === undefined ? new Error(message) : new InputError(known, message);
}
