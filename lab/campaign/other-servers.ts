/**
 * Servers that ours depends on and that misbehave: a source of bundles that stops at each stage of
 * an answer, after which the next bundle is followed; and a worker whose answers are damaged, none
 * of which reaches a client.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { encodeBundle, validateBundle } from "stratagem-runtime/internal/bundles/checked-bundle";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { STAGES } from "../../test/support/stalling-server.ts";
import { CLI } from "../experiments/harness/cli.ts";
import {
  type LiveServer,
  startServe,
  startServer,
  withServer,
} from "../experiments/harness/live.ts";
import { metricsOf, sumOf } from "../experiments/harness/metrics.ts";
import { untilReady } from "./load/served-method.ts";
import type { Attack, Outcome, Part } from "./part.ts";
import { asked, INFER_BODY, MODEL } from "./wire/letters.ts";

const POLICY = "policies/letters/bundle.msgpack";
const MODELS = ["--models", "models/image-classification"];
/** Longest time of `POST /admin/reload`, and until a state is shown, on a busy machine. */
const ANSWER_MS = 75_000;
const LOOK_MS = 100;
/** Stages that need no limit of time to end, which come first. */
const QUICK = /gzip|br|deflate|closes|100 only|to itself|flood/;
const DAMAGED_PER_STAGE = 10;
/** Requests at a time, so that both workers have some. */
const TOGETHER = 10;

export const OTHER_SERVERS: Part = {
  name: "other-servers",
  about: "sources that stop at each stage of an answer, and workers with damaged answers",
  unit: "stages, each with 10 damaged answers",
  sizes: { full: Object.keys(STAGES).length, short: 4 },
  minutes: 12,
  run,
};

async function run(attack: Attack): Promise<Outcome> {
  const sources = await attackSources(attack);
  const workers = await attackWorkers(attack);
  return {
    tried: sources.tried + workers.tried,
    lost: [...sources.lost, ...workers.lost],
    figures: { ...sources.figures, ...workers.figures },
  };
}

async function listening(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function attackSources({ size, folder, say }: Attack): Promise<Outcome> {
  const { bundle } = await loadBundle(POLICY);
  const revision = (at: number) => {
    const provenance = { ...bundle.provenance, compiler: `revision ${at}` };
    return encodeBundle(validateBundle({ ...bundle, provenance }));
  };
  let bytes = revision(0);
  let stage = "";
  const stalled = new Set<Socket>();
  const site = await listening(({ url = "", socket }, response) => {
    if (!url.endsWith(".msgpack")) response.writeHead(404).end();
    else if (stage === "") response.end(bytes);
    else {
      stalled.add(socket);
      STAGES[stage]?.(socket, url);
    }
  });
  const names = Object.keys(STAGES).sort((a, b) => Number(QUICK.test(b)) - Number(QUICK.test(a)));
  const lost: string[] = [];
  let longestMs = 0;
  const args = [...MODELS, "--store", join(folder, "store"), "--limit", "poll=1s"];
  const policy = `${site.url}/letters.msgpack`;
  await withServer(startServe(policy, args, { isQuiet: true }), async (server) => {
    await untilReady(server.url);
    for (const [index, name] of names.slice(0, size).entries()) {
      bytes = revision(index + 1);
      stage = name;
      const startMs = performance.now();
      const answered = asked(`${server.url}/admin/reload`, "{}").then(() => true);
      const isAnswered = await Promise.race([answered, pause(ANSWER_MS, false, { ref: false })]);
      longestMs = Math.max(longestMs, performance.now() - startMs);
      if (!isAnswered) lost.push(`${name}: no answer to /admin/reload`);
      const fault = await stateOf(server, ({ state }) => state === "away" || state === "refused");
      if (fault === null) lost.push(`${name}: its state does not say what happened`);
      stage = "";
      for (const socket of stalled) socket.destroy();
      stalled.clear();
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const again = await stateOf(server, (one) => {
        return one.state === "followed" && one.revision?.sha256 === sha256;
      });
      if (again === null) lost.push(`${name}: the next bundle is not followed`);
      say(`${name}: ${fault?.away?.error.message ?? fault?.refused?.error.message}`);
    }
  });
  site.close();
  const figures = { "longest /admin/reload": `${(longestMs / 1000).toFixed(1)} s` };
  return { tried: Math.min(size, names.length), lost, figures };
}

interface ShownFault {
  readonly error: { readonly message: string };
}

interface ShownPolicy {
  readonly state: string;
  readonly revision: { readonly sha256: string } | null;
  readonly away: ShownFault | null;
  readonly refused: ShownFault | null;
}

/** Waits for a state of the source. @returns null if it does not come. */
async function stateOf(
  { url }: LiveServer,
  isIt: (policy: ShownPolicy) => boolean,
): Promise<ShownPolicy | null> {
  const endMs = performance.now() + ANSWER_MS;
  while (performance.now() < endMs) {
    const { text } = await asked(`${url}/admin/policies`);
    const [policy]: ShownPolicy[] = JSON.parse(text).policies;
    if (policy !== undefined && isIt(policy)) return policy;
    await pause(LOOK_MS);
  }
  return null;
}

interface Damaged {
  readonly fields?: object;
  readonly more?: number;
  readonly copies?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Damages of an answer, whose tensors are zeros so that no client may see them. */
const DAMAGES: readonly Damaged[] = [
  { more: 4 },
  { more: -4 },
  { fields: { id: "another-1" } },
  { fields: { model_name: "another" } },
  { fields: { outputs: [] } },
  { copies: 2 },
  { headers: { "content-encoding": "gzip" } },
  { headers: { "inference-header-content-length": "7" } },
  { fields: { outputs: null } },
  { more: 2 ** 20 },
];

async function attackWorkers({ size, say }: Attack): Promise<Outcome> {
  const worker = [CLI, "worker", ...MODELS, "--http", "127.0.0.1:0", "--json"];
  return withServer(startServer(worker, { isQuiet: true }), async (good) => {
    let at = 0;
    /** Damages every second answer. */
    const odd = () =>
      listening((received, response) => {
        const isDamaged = received.url?.endsWith("/infer") === true && at++ % 2 === 0;
        const damage = DAMAGES[(at >> 1) % DAMAGES.length];
        forward(good.url, received, response, isDamaged ? damage : undefined);
      });
    const proxies = [await odd(), await odd()];
    const lost: string[] = [];
    const statuses = new Map<number, number>();
    const count = size * DAMAGED_PER_STAGE;
    const args = [...MODELS, "--workers", proxies.map(({ url }) => url).join()];
    const lostWorkers = await withServer(
      startServe(POLICY, args, { isQuiet: true }),
      async (server) => {
        await untilReady(server.url);
        const ask = async (sent: number) => {
          const url = `${server.url}/v2/models/${MODEL}/infer`;
          const { status, text } = await asked(url, INFER_BODY);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status === 200 && !isOfModel(text)) lost.push(`request ${sent}: got ${text}`);
        };
        for (let sent = 0; sent < count; sent += TOGETHER) {
          await Promise.all(Array.from({ length: TOGETHER }, (_, index) => ask(sent + index)));
          // A worker that was lost comes back.
          await untilReady(server.url);
          await pause(LOOK_MS);
        }
        return sumOf(await metricsOf(server.url), "workers_lost_total");
      },
    );
    for (const { close } of proxies) close();
    const damaged = (at + 1) >> 1;
    if (damaged < size) lost.push(`only ${damaged} answers were damaged`);
    const told = [...statuses].map(([status, times]) => `${times} x ${status}`).join(", ");
    say(`${damaged} damaged answers of a worker: ${told}`);
    const figures = {
      "damaged answers": `${damaged}`,
      answers: told,
      "workers lost": `${lostWorkers}`,
    };
    return { tried: count, lost, figures };
  });
}

/** Whether an answer has outputs that are not all zeros. */
function isOfModel(text: string): boolean {
  const { outputs }: { outputs: { data: number[] }[] } = JSON.parse(text);
  return outputs.length > 0 && outputs.some(({ data }) => data.some((value) => value !== 0));
}

/** Passes a request on to a worker. @param damaged what becomes of its answer. */
function forward(
  url: string,
  received: IncomingMessage,
  response: ServerResponse,
  damaged: Damaged | undefined,
): void {
  const { method, headers, url: path = "/" } = received;
  const sent = request(`${url}${path}`, { method, headers }, async (answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const length = Number(answer.headers["inference-header-content-length"]);
    if (damaged === undefined || !(length > 0)) {
      response.writeHead(answer.statusCode ?? 500, answer.headers).end(body);
      return;
    }
    const { fields = {}, more = 0, copies = 1, headers: others = {} } = damaged;
    const head: { outputs: object[] } = JSON.parse(body.subarray(0, length).toString());
    const outputs = new Array<object[]>(copies).fill(head.outputs).flat();
    const json = Buffer.from(JSON.stringify({ ...head, outputs, ...fields }));
    const zeros = Buffer.alloc(Math.max(0, copies * (body.length - length) + more));
    response.writeHead(200, { "inference-header-content-length": json.length, ...others });
    response.end(Buffer.concat([json, zeros]));
  });
  sent.on("error", () => response.destroy());
  received.pipe(sent);
}
