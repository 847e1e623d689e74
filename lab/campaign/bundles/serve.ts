/** Serves a bundle for a moment over HTTP, on workers that are not real. */
import { Agent, request } from "node:http";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { methodOf } from "stratagem-runtime/internal/methods/registry";
import type { AxisNames } from "stratagem-runtime/internal/server/graph/signature/output-groups";
import { openServer } from "stratagem-runtime/internal/server/serve";
import { FakeWorkers } from "./fake-workers.ts";

const SHA256 = "ab".repeat(32);
const DRAIN_MS = 5;
/** Turns of the loop in which what can be answered is answered. */
const TURNS = 10;
const INDEX = "/v2/repository/index";
const MAX_MODELS = 2;
/** A row of more elements is not sent. */
const MAX_ROW = 100_000;

/** Names of first dimensions by the file of a model. */
export type AxesByFile = ReadonlyMap<string, AxisNames>;

interface Metadata {
  readonly name: string;
  readonly inputs: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly number[];
  }[];
}

/**
 * Every model is asked, then again after each of the others was handed in, and every request is
 * answered before the end.
 * @param others bundles that are handed in as after a SIGHUP.
 * @throws RuntimeError for a bundle that names no models, or such as do not fit; Error for what no
 * server may do.
 */
export async function serveShortly(
  bundle: Bundle,
  others: readonly Bundle[],
  axesByFile: AxesByFile,
): Promise<void> {
  const method = methodOf(bundle);
  const models = method.models(bundle);
  const workers = new FakeWorkers(models, method.workerCount(bundle));
  method.describeServing(bundle);
  const served = { nowMs: () => performance.now(), limits: { drainTimeoutMs: DRAIN_MS } };
  const application = await method.host(bundle, {
    ...served,
    bundleSha256: SHA256,
    axisNames: models.map(({ model }) => axesByFile.get(model?.file ?? "") ?? {}),
    workers,
    onWorkerLost: (worker, reason) => {
      throw new Error(`worker ${worker} was lost: ${reason}`);
    },
  });
  const where = { host: "127.0.0.1", port: 0, version: "0.0.0" };
  const server = await openServer([application], { ...served, ...where });
  const agent = new Agent({ keepAlive: true });
  try {
    workers.ready();
    const index = await page<readonly { name: string }[]>(agent, `${server.url}${INDEX}`, "POST");
    const asks: (readonly [url: string, body: string])[] = [];
    const answers: Promise<string | null>[] = [];
    for (const { name } of index.slice(0, MAX_MODELS)) {
      const at = `${server.url}/v2/models/${encodeURIComponent(name)}`;
      const body = bodyFor(await page<Metadata>(agent, at));
      if (body !== null) asks.push([`${at}/infer`, body]);
    }
    for (const [url, body] of asks) answers.push(inferred(agent, url, body));
    await turns();
    for (const other of others) {
      server.replaceBundle(other, SHA256);
      for (const [url, body] of asks) answers.push(inferred(agent, url, body));
      await turns();
    }
    checkMetrics((await asked(agent, `${server.url}/metrics`, "GET")).text);
    const closed = server.close();
    const wrong = (await Promise.all(answers)).find((mistake) => mistake !== null);
    if (wrong !== undefined) throw new Error(wrong);
    agent.destroy();
    await closed;
  } finally {
    agent.destroy();
    await server.close();
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
}

async function page<T>(agent: Agent, url: string, method = "GET"): Promise<T> {
  const { status, text } = await asked(agent, url, method);
  if (status !== 200) throw new Error(`a page was answered by ${status}: ${text}`);
  return JSON.parse(text) as T;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function asked(agent: Agent, url: string, method: string, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** One row of zeros; null where a row is too large to be sent. */
function bodyFor({ inputs }: Metadata): string | null {
  const tensors: object[] = [];
  for (const { name, datatype, shape } of inputs) {
    const sizes = shape.map((size) => (size === -1 ? 1 : size));
    const elements = sizes.reduce((product, size) => product * size, 1);
    if (elements > MAX_ROW) return null;
    const zero = datatype === "BOOL" ? false : datatype === "BYTES" ? "" : 0;
    const data = new Array<unknown>(elements).fill(zero);
    tensors.push({ name, datatype, shape: sizes, data });
  }
  return JSON.stringify({ inputs: tensors });
}

/** @returns what is wrong with the answer: it says why, and never by what is a bug. */
async function inferred(agent: Agent, url: string, body: string): Promise<string | null> {
  const answer = await asked(agent, url, "POST", body).catch(String);
  if (typeof answer === "string") return `a request was not answered: ${answer}`;
  const { status, text } = answer;
  if (status === 200) return null;
  const isReasoned = text.includes(`"error"`) && !text.includes("internal");
  return isReasoned ? null : `a request was answered by ${status}: ${text}`;
}

function checkMetrics(text: string): void {
  const wrong = text.split("\n").find((line) => /undefined|\bobject\b/.test(line));
  if (wrong !== undefined) throw new Error(`a metric is ${wrong}`);
}
