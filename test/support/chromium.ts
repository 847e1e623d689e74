/** A headless Chromium that tests drive through its debugging pipe, without another package. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

/** Name of the program; undefined where there is none. */
export const CHROMIUM = ["chromium", "chromium-browser", "google-chrome"].find(
  (name) => spawnSync(name, ["--version"]).status === 0,
);

const FLAGS = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"],
  ...["--force-color-profile=srgb", "--remote-debugging-pipe"],
];

interface Reply {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

export interface Look {
  readonly width: number;
  readonly height: number;
  readonly scheme: "light" | "dark";
}

/** One page of one browser. */
export class Chromium {
  /** What the page logged as an error: uncaught errors, and what its policy forbade. */
  readonly problems: string[] = [];
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #session: string | undefined;
  #lastId = 0;

  private constructor(program: string, rules: string) {
    // The folder goes with the run's own one: processes of a killed browser may still write to it.
    const folder = mkdtempSync(join(tmpdir(), "chromium-"));
    const stdio: ("ignore" | "pipe")[] = ["ignore", "ignore", "ignore", "pipe", "pipe"];
    const flags = [...FLAGS, `--user-data-dir=${folder}`, `--host-resolver-rules=${rules}`];
    this.#process = spawn(program, flags, { stdio, detached: true });
    let rest = "";
    const output = this.#process.stdio[4] as Readable;
    output.setEncoding("utf8").on("data", (text: string) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop() ?? "";
      for (const message of messages) this.#hear(JSON.parse(message) as Reply);
    });
  }

  /** @param rules of names, such as "MAP a.example 127.0.0.1". @throws Error if it refuses. */
  static async open(program: string, look: Look, rules = ""): Promise<Chromium> {
    const browser = new Chromium(program, rules);
    const { targetId } = await browser.#ask("Target.createTarget", { url: "about:blank" });
    const attached = await browser.#ask("Target.attachToTarget", { targetId, flatten: true });
    browser.#session = String(attached["sessionId"]);
    for (const domain of ["Page", "Runtime", "Log"]) await browser.#ask(`${domain}.enable`);
    await browser.look(look);
    return browser;
  }

  /** Size in pixels, and whether the system prefers a dark page. */
  async look({ width, height, scheme }: Look): Promise<void> {
    const size = { width, height, deviceScaleFactor: 1, mobile: false };
    await this.#ask("Emulation.setDeviceMetricsOverride", size);
    const features = [{ name: "prefers-color-scheme", value: scheme }];
    await this.#ask("Emulation.setEmulatedMedia", { features });
  }

  async go(url: string): Promise<void> {
    await this.#ask("Page.navigate", { url });
  }

  /** Value of an expression on the page. @throws Error where it throws. */
  async value(expression: string): Promise<unknown> {
    const asked = { expression, returnByValue: true, awaitPromise: true };
    const { result, exceptionDetails } = await this.#ask("Runtime.evaluate", asked);
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { readonly value?: unknown }).value;
  }

  /** Until an expression is true on the page, which is asked at every frame of it. */
  async until(expression: string): Promise<void> {
    await this.value(`new Promise((resolve) => {
      const look = () => (${expression}) ? resolve() : setTimeout(look, 50);
      look();
    })`);
  }

  /** As a PNG. @param isWhole what is below the window too. */
  async screenshot(isWhole = false): Promise<Buffer> {
    const { data } = await this.#ask("Page.captureScreenshot", { captureBeyondViewport: isWhole });
    return Buffer.from(String(data), "base64");
  }

  /** Ends the browser with all the processes of its group. */
  async close(): Promise<void> {
    const ended = once(this.#process, "exit");
    if (this.#process.pid !== undefined) process.kill(-this.#process.pid, "SIGKILL");
    await ended;
  }

  async #ask(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#lastId;
    const session = this.#session === undefined ? {} : { sessionId: this.#session };
    const input = this.#process.stdio[3] as Writable;
    const replied = new Promise<Reply>((resolve) => this.#waiting.set(id, resolve));
    input.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    const { result, error } = await replied;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  }

  #hear(reply: Reply): void {
    if (reply.id !== undefined) {
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    } else if (reply.method === "Runtime.exceptionThrown") {
      this.problems.push(JSON.stringify(reply.params));
    } else if (reply.method === "Log.entryAdded") {
      const { entry } = reply.params as { readonly entry: { level: string; text: string } };
      if (entry.level === "error") this.problems.push(entry.text);
    }
  }
}
