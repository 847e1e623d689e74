/**
 * The processes that accept requests, as the process that decides keeps them: started together, one
 * after the other replaced where it is lost, and stopped together. Source:
 * docs/decisions/0017-processes.md.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RuntimeError } from "../../errors.ts";
import type { House } from "../applications/house.ts";
import { head, line, type MetricLine, metric } from "../metrics/exposition.ts";
import type { LineSink } from "../telemetry/line-sink.ts";
import type { Notice } from "../telemetry/notice.ts";
import type { DecisionSink } from "../telemetry/telemetry.ts";
import { AcceptorCounts } from "./acceptor-counts.ts";
import { type StartedProcess, startProcess } from "./acceptor-process.ts";
import { Calls } from "./calls.ts";
import { Link } from "./link.ts";
import { sharedOffsetMs } from "./shared-clock.ts";
import { openSharedPort, type SharedPort } from "./shared-port.ts";
import { type AcceptorBase, type ToldDispatcher, toldApplication } from "./told.ts";

/** How long one may take to say what it counts, or which files are not good. */
const ANSWER_MS = 500;
/** How one ends that has answered all that was sent to it. */
const WELL = "exit code 0";
/** How long those that are to end are waited for. */
const END_MS = 3000;
/** One that ends so soon after its start is replaced later and later. */
const EARLY_MS = 10_000;
const FIRST_DELAY_MS = 100;
const LAST_DELAY_MS = 30_000;

export interface AcceptorsOptions {
  readonly count: number;
  readonly host: string;
  readonly port: number;
  readonly base: AcceptorBase;
  readonly accessLog?: Pick<LineSink, "write"> | undefined;
  readonly decisions?: Pick<DecisionSink, "take"> | undefined;
  readonly onNotice: Notice;
}

/** Systems take a little more than 100 bytes as the path of a socket. */
const LONGEST_FOLDER = 85;

interface Acceptor {
  readonly process: StartedProcess;
  readonly link: Link;
  readonly startMs: number;
  isListening: boolean;
  /** Kept when it does not accept any more, though it was not lost. */
  readonly left: Promise<void>;
}

export class Acceptors {
  /** Where they ask what is no inference. */
  readonly relayPath: string;
  readonly #options: AcceptorsOptions;
  readonly #port: SharedPort;
  readonly #folder: string;
  readonly #counts = new AcceptorCounts();
  readonly #calls = new Calls(ANSWER_MS);
  readonly #byPlace = new Map<number, Acceptor>();
  readonly #idByThing = new WeakMap<object, number>();
  #lastId = 0;
  #house: House | undefined;
  #offsetMs = 0;
  #lostCount = 0;
  #earlyCount = 0;
  #isOpen = false;
  #isStopping = false;
  readonly #retries = new Set<NodeJS.Timeout>();
  #shut = "[]";
  #isLookDue = false;

  private constructor(options: AcceptorsOptions, port: SharedPort, folder: string) {
    this.#options = options;
    this.#port = port;
    this.#folder = folder;
    this.relayPath = join(folder, "relay");
  }

  /**
   * Takes the address; nobody accepts there before `open`. @throws RuntimeError RUNTIME_LISTEN,
   * RUNTIME_PROCESSES
   */
  static async bind(options: AcceptorsOptions): Promise<Acceptors> {
    const port = await openSharedPort(options.host, options.port);
    try {
      return new Acceptors(options, port, await ownFolder());
    } catch (error) {
      port.close();
      throw error;
    }
  }

  get port(): number {
    return this.#port.port;
  }

  /** Requests refused for who asked or how much, by reason. @param own of this process. */
  refusals(own: readonly MetricLine[]): Readonly<Record<string, number>> {
    return this.#counts.refusals(own);
  }

  /** Starts them all. @throws RuntimeError RUNTIME_PROCESSES, or what one of them has thrown. */
  async open(house: House): Promise<void> {
    this.#house = house;
    this.#offsetMs = sharedOffsetMs(house.nowMs);
    house.telemetry?.sampling?.onChange((state) => {
      for (const { link } of this.#byPlace.values()) link.tell({ what: "sampling", state });
    });
    const places = [...Array(this.#options.count).keys()];
    await Promise.all(places.map((place) => this.#start(place, house)));
    this.#isOpen = true;
  }

  /** Other models answer: they all learn it, and let go of those before when they can. */
  announce(): void {
    const house = this.#house;
    if (house === undefined) return;
    const applications = this.#told(house);
    for (const { link } of this.#byPlace.values()) {
      link.serve(this);
      link.tell({ what: "applications", applications });
    }
  }

  /** Has them read the files that say who may come in. @returns what is wrong with them. */
  async readAccessFiles(): Promise<string[]> {
    const asked = this.#asked("read access files");
    const faults = await Promise.all(asked);
    return [
      ...new Set(faults.flatMap((told) => (told?.what === "access files" ? told.faults : []))),
    ];
  }

  /** @param own what this process tells. @returns what the whole server does. */
  summed(own: readonly MetricLine[]): MetricLine[] {
    const listening = [...this.#byPlace.values()].filter(({ isListening }) => isListening);
    const lost = "stratagem_acceptors_lost_total";
    return [
      ...this.#counts.summed(own),
      ...metric("stratagem_acceptors", "gauge", "Processes that accept requests", listening.length),
      head(lost, "counter", "Processes that accepted requests and ended unasked"),
      line(lost, {}, this.#lostCount),
    ];
  }

  /** They answer all that was sent to them. @returns kept when none is left. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const retry of this.#retries) clearTimeout(retry);
    this.#port.close();
    const all = [...this.#byPlace.values()];
    for (const { process, isListening } of all) if (!isListening) process.kill();
    const [last, ...others] = all.filter(({ isListening }) => isListening);
    for (const { link } of others) link.tell({ what: "stop", hasOthers: true });
    await Promise.all(others.map(({ process, left }) => Promise.race([left, process.ended])));
    // The last that has the address closes it, when nobody waits there.
    last?.link.tell({ what: "stop", hasOthers: false });
    await this.#allEnded();
  }

  /** Ends those that are left, soon; they were told to stop, or have not begun. */
  async end(): Promise<void> {
    if (!this.#isStopping) {
      this.#isStopping = true;
      this.#port.close();
      for (const { process } of this.#byPlace.values()) process.kill();
    }
    const force = setTimeout(() => {
      for (const { process } of this.#byPlace.values()) process.kill();
    }, END_MS);
    await this.#allEnded();
    clearTimeout(force);
    await rm(this.#folder, { recursive: true, force: true });
  }

  readonly idOf = (one: object): number => {
    const known = this.#idByThing.get(one) ?? ++this.#lastId;
    this.#idByThing.set(one, known);
    return known;
  };

  async #allEnded(): Promise<void> {
    await Promise.all([...this.#byPlace.values()].map(({ process }) => process.ended));
  }

  #told(house: House) {
    return house.applications.map((application) => toldApplication(application, this.idOf));
  }

  /** @returns kept when it listens. @throws RuntimeError where it ends before. */
  #start(place: number, house: House): Promise<void> {
    const { base, accessLog, decisions } = this.#options;
    const setup = {
      ...base,
      relayPath: this.relayPath,
      sampling: house.telemetry?.sampling?.state ?? null,
      applications: this.#told(house),
    };
    const process = startProcess(setup, this.#port.handle);
    return new Promise((resolve, reject) => {
      let failure: RuntimeError | undefined;
      let onLeft: () => void = () => {};
      const left = new Promise<void>((kept) => {
        onLeft = kept;
      });
      const link = new Link(process.socket, {
        house,
        offsetMs: this.#offsetMs,
        tellsRuns: base.hasAccessLog || base.hasDecisionLog || base.otlp !== undefined,
        onTold: (told) => {
          if (told.what === "listening") {
            acceptor.isListening = true;
            resolve();
          } else if (told.what === "failed") failure = failureOf(told);
          else if (told.what === "off the address") onLeft();
          else this.#onTold(place, acceptor, told);
        },
        onLine: (text) => accessLog?.write(text),
        onRecord: (record) => decisions?.take(record),
        onChange: () => this.#lookLater(),
      });
      const acceptor = { process, link, startMs: performance.now(), isListening: false, left };
      this.#byPlace.set(place, acceptor);
      link.serve(this);
      void process.ended.then((reason) => {
        const message = `a process that accepts requests has ended at its start: ${reason}`;
        reject(failure ?? new RuntimeError("RUNTIME_PROCESSES", message));
        this.#onEnded(place, acceptor, reason, house);
      });
    });
  }

  #onEnded(place: number, acceptor: Acceptor, reason: string, house: House): void {
    this.#byPlace.delete(place);
    this.#counts.end(place);
    if (!this.#isOpen) return;
    if (this.#isStopping) {
      // What it had has found no end of its own.
      if (reason !== WELL)
        this.#options.onNotice(`a process that accepts requests: ${reason}`, "error");
      return;
    }
    const { onNotice } = this.#options;
    const isEarly = performance.now() - acceptor.startMs < EARLY_MS;
    this.#earlyCount = isEarly ? this.#earlyCount + 1 : 0;
    if (acceptor.isListening) this.#lostCount++;
    const delayMs = Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#earlyCount);
    const what = `a process that accepts requests was lost: ${reason}`;
    onNotice(`${what}; another is started in ${delayMs} ms`, "warn");
    const retry = setTimeout(() => {
      this.#retries.delete(retry);
      // Whether it comes up is told by its end.
      this.#start(place, house).catch(() => {});
    }, delayMs);
    this.#retries.add(retry);
  }

  #onTold(place: number, { link }: Acceptor, told: ToldDispatcher): void {
    if (told.what === "counts") {
      this.#counts.set(place, told.lines);
      if (told.call !== null) this.#calls.answer(told.call, told);
    } else if (told.what === "access files") this.#calls.answer(told.call, told);
    else if (told.what === "let go") link.letGo(told.application);
    else if (told.what === "notice") this.#options.onNotice(told.message, told.severity);
    else if (told.what === "count all") {
      void Promise.all(this.#asked("count")).then(() => {
        link.tell({ what: "all counted", call: told.call });
      });
    }
  }

  /** Of all that listen. */
  #asked(what: "count" | "read access files") {
    const listening = [...this.#byPlace.values()].filter(({ isListening }) => isListening);
    return listening.map(({ link }) => this.#calls.ask((call) => link.tell({ what, call })));
  }

  /** Once in a turn of the loop, whatever has changed in it. */
  #lookLater(): void {
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    setImmediate(() => {
      this.#isLookDue = false;
      this.#lookWhoIsShut();
    });
  }

  #lookWhoIsShut(): void {
    const shut = (this.#house?.models ?? []).flatMap(({ application, model }) => {
      return application.gate.isShut(model) ? [this.idOf(model)] : [];
    });
    const text = JSON.stringify(shut);
    if (text === this.#shut) return;
    this.#shut = text;
    for (const { link } of this.#byPlace.values()) link.tell({ what: "shut", models: shut });
  }
}

/** Nobody else may look into it. @throws RuntimeError RUNTIME_PROCESSES */
async function ownFolder(): Promise<string> {
  const begin = join(tmpdir(), "stratagem-");
  const expected = "TMPDIR: expected a folder where a socket can be made, its path of at most";
  const refusal = (found: string) =>
    new RuntimeError("RUNTIME_PROCESSES", `${expected} ${LONGEST_FOLDER} bytes, got ${found}`);
  if (Buffer.byteLength(begin) > LONGEST_FOLDER) throw refusal(begin);
  return mkdtemp(begin).catch((error: NodeJS.ErrnoException) => {
    throw refusal(`${tmpdir()}: ${error.code}`);
  });
}

function failureOf({ code, message }: { code: string | null; message: string }): RuntimeError {
  if (code === "RUNTIME_LISTEN" || code === "RUNTIME_ACCESS" || code === "RUNTIME_UNREADABLE") {
    return new RuntimeError(code, message);
  }
  return new RuntimeError("RUNTIME_PROCESSES", message);
}
