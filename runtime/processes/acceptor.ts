/**
 * A process that accepts requests: connections, TLS, HTTP and tensors are its own, and what is to
 * be decided it asks the process that has started it.
 */
import { Socket } from "node:net";
import { Access } from "../server/access/access.ts";
import type { ListenTarget } from "../server/http/doors.ts";
import type { MetricLine } from "../server/metrics/exposition.ts";
import { Dispatcher } from "../server/processes/dispatcher.ts";
import { Relay } from "../server/processes/relay.ts";
import { RemoteApplication } from "../server/processes/remote-application.ts";
import type { AcceptorSetup, ToldApplication } from "../server/processes/told.ts";
import { openServer, type RunningServer } from "../server/serve.ts";
import type { RequestRecord } from "../server/telemetry/request-record.ts";
import { Telemetry } from "../server/telemetry/telemetry.ts";

/** How often it tells what it counts, unasked. */
const TELL_MS = 1000;

export interface AcceptorOptions {
  readonly setup: AcceptorSetup;
  /** The shared address, as it was sent. */
  readonly target: ListenTarget;
  /** Of the stream to the process that decides. */
  readonly channelFd: number;
}

/**
 * Accepts requests until it is told to stop.
 * @returns kept when all is answered; rejects when it cannot start, or is left alone.
 */
export async function accept({ setup, target, channelFd }: AcceptorOptions): Promise<void> {
  const nowMs = () => performance.now();
  const socket = new Socket({ fd: channelFd, readable: true, writable: true });
  const dispatcher = new Dispatcher(socket, nowMs);
  try {
    await acceptFor(dispatcher, setup, target, nowMs);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : null;
    const message = error instanceof Error ? error.message : String(error);
    dispatcher.tell({ what: "failed", code, message });
    throw error;
  } finally {
    await dispatcher.end();
  }
}

async function acceptFor(
  dispatcher: Dispatcher,
  setup: AcceptorSetup,
  target: ListenTarget,
  nowMs: () => number,
): Promise<void> {
  const { version, processes, limits, applications, needs } = setup;
  // The process that decides reads the same files, and tells what is wrong with them.
  const access = await Access.open(setup.access, { nowMs });
  const { otlp, telemetry } = await telemetryOf(setup, dispatcher, nowMs);
  if (setup.sampling !== null) telemetry?.sampling?.change(setup.sampling);
  const relay = new Relay(setup.relayPath, () => dispatcher.countAll());
  const server = await openServer(
    applications.map((told) => new RemoteApplication(told, dispatcher, nowMs)),
    {
      // That process has told, too, who may reach the address.
      host: "localhost",
      port: 0,
      door: { target, needs: new Set(needs) },
      nowMs,
      loopNowMs: nowMs,
      epochOffsetMs: performance.timeOrigin,
      version,
      processes,
      limits,
      access,
      page: false,
      textParameters: setup.textParameters,
      telemetry,
      relay: (context, path, request, response) => relay.answer(context, path, request, response),
      onNotice: dispatcher.notice,
    },
  );
  const counts = () => server.metricLines();
  const telling = setInterval(() => tellCounts(dispatcher, counts), TELL_MS);
  const following = new Following(server, applications, dispatcher, nowMs);
  const hasOthers = await new Promise<boolean>((resolve, reject) => {
    dispatcher.attach({
      onApplications: (told) => following.follow(told),
      counts,
      readAccessFiles: () => access.refresh(),
      onSampling: (state) => telemetry?.sampling?.change(state),
      onStop: resolve,
      onEnd: () => reject(new Error("the process that decides has ended")),
    });
    dispatcher.tell({ what: "listening" });
  });
  clearInterval(telling);
  const closed = server.close(hasOthers);
  if (hasOthers) dispatcher.tell({ what: "off the address" });
  await closed;
  await otlp?.close();
  tellCounts(dispatcher, counts);
  access.close();
  relay.close();
}

function tellCounts(dispatcher: Dispatcher, counts: () => readonly MetricLine[]): void {
  dispatcher.tell({ what: "counts", call: null, lines: counts() });
}

/** Takes applications over that others have replaced, one after the other. */
class Following {
  readonly #server: RunningServer;
  readonly #ids: number[];
  readonly #dispatcher: Dispatcher;
  readonly #nowMs: () => number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    server: RunningServer,
    applications: readonly ToldApplication[],
    dispatcher: Dispatcher,
    nowMs: () => number,
  ) {
    this.#server = server;
    this.#ids = applications.map(({ id }) => id);
    this.#dispatcher = dispatcher;
    this.#nowMs = nowMs;
  }

  follow(applications: readonly ToldApplication[]): void {
    this.#last = this.#last
      .then(() => this.#follow(applications))
      .catch((error: unknown) => {
        this.#dispatcher.notice(`other models could not be taken over: ${error}`, "debug");
      });
  }

  /** @throws Error where the server is closed. */
  async #follow(applications: readonly ToldApplication[]): Promise<void> {
    for (const [place, told] of applications.entries()) {
      if (this.#ids[place] === told.id) continue;
      this.#ids[place] = told.id;
      const next = new RemoteApplication(told, this.#dispatcher, this.#nowMs);
      await this.#server.replaceApplication(next, place);
    }
  }
}

/** Spans are sent from here; lines of logs go where all of them are written. */
async function telemetryOf(
  { otlp: settings, hasAccessLog, hasDecisionLog, version }: AcceptorSetup,
  dispatcher: Dispatcher,
  nowMs: () => number,
) {
  const clock = { nowMs, epochOffsetMs: performance.timeOrigin };
  const otlp =
    settings === undefined
      ? undefined
      : (await import("../server/telemetry/otlp/otlp.ts")).openOtlp({
          settings: { ...settings, metricsUrl: "" },
          version,
          ...clock,
          onNotice: dispatcher.notice,
        });
  const traces = otlp?.traces;
  const accessLog = hasAccessLog
    ? { write: (line: string) => dispatcher.writeLine(line) }
    : undefined;
  const take = (record: RequestRecord) => dispatcher.logDecisions(record);
  const decisions = hasDecisionLog ? { take, lines: () => [] } : undefined;
  if (!hasAccessLog && !hasDecisionLog && traces === undefined) return { otlp };
  return { otlp, telemetry: new Telemetry({ accessLog, decisions, traces, ...clock }) };
}
