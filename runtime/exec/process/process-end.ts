/** The end of a worker's process: seen when it comes, and forced where it does not. */
import type { ChildProcess } from "node:child_process";

/** Time a worker that was told to end has for its batch. */
const END_GRACE_MS = 1000;
/**
 * Time one that was killed has to go. What is stuck in a driver stays for good, and nobody is to
 * wait for it.
 */
const KILL_GRACE_MS = 5000;

export class ProcessEnd {
  /** Kept when the process has ended, after `onEnd`. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;
  #end = (_reason: string): void => {};

  /** @param onEnd called once. */
  constructor(child: ChildProcess, onEnd: (reason: string) => void) {
    this.#child = child;
    this.ended = new Promise((resolve) => {
      this.#end = (reason) => {
        if (this.#hasEnded) return;
        this.#hasEnded = true;
        clearTimeout(this.#timer);
        onEnd(reason);
        resolve();
      };
    });
    child.once("error", (error) => this.#end(error.message));
    // Unlike "exit" it waits for what the worker wrote last: its result, or why it could not start.
    child.once("close", (code, signal) =>
      this.#end(signal === null ? `exit code ${code}` : `signal ${signal}`),
    );
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** By force, if it does not end by itself soon. */
  killLater(): void {
    this.#wait(END_GRACE_MS, () => this.kill());
  }

  kill(): void {
    this.#child.kill("SIGKILL");
    this.#wait(KILL_GRACE_MS, () => {
      this.#child.unref();
      this.#end("it survived being killed");
    });
  }

  #wait(limitMs: number, onExpiry: () => void): void {
    clearTimeout(this.#timer);
    if (!this.#hasEnded) this.#timer = setTimeout(onExpiry, limitMs).unref();
  }
}
