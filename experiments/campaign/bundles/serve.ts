/** Serves a bundle for a moment over HTTP, on workers that are not real. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { methodOf } from "stratagem-runtime/internal/methods/registry";
import type { AxisNames } from "stratagem-runtime/internal/server/graph/output-groups";
import { FakeWorkers } from "./fake-workers.ts";

const SHA256 = "ab".repeat(32);
const DRAIN_MS = 5;
/** Turns of the loop in which what can be answered is answered. */
const TURNS = 20;
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
 * Every model is asked, another bundle is handed in, and every request is answered before the end.
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
  method.tellServing(bundle);
  const server = await method.serve(bundle, {
    bundleSha256: SHA256,
    host: "127.0.0.1",
    port: 0,
    nowMs: () => performance.now(),
    version: "0.0.0",
    limits: { drainTimeoutMs: DRAIN_MS },
    axisNames: models.map(({ model }) => axesByFile.get(model?.file ?? "") ?? {}),
    workers,
    onWorkerLost: (worker, reason) => {
      throw new Error(`worker ${worker} was lost: ${reason}`);
    },
  });
  try {
    workers.ready();
    const index = await json<readonly { name: string }[]>(
      fetch(`${server.url}/v2/repository/index`, { method: "POST" }),
    );
    const asked: Promise<number>[] = [];
    for (const { name } of index) {
      const at = `${server.url}/v2/models/${encodeURIComponent(name)}`;
      const body = bodyFor(await json<Metadata>(fetch(at)));
      if (body === null) continue;
      for (let request = 0; request < 2; request++) asked.push(statusOf(`${at}/infer`, body));
    }
    for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
    for (const other of others) server.replaceBundle(other, SHA256);
    checkMetrics(await (await fetch(`${server.url}/metrics`)).text());
    await server.close();
    for (const status of await Promise.all(asked)) {
      if (status === 500 || status < 200) throw new Error(`a request was answered by ${status}`);
    }
  } finally {
    await server.close();
  }
}

async function json<T>(reply: Promise<Response>): Promise<T> {
  const { status, ok, ...rest } = await reply.then(async (response) => ({
    status: response.status,
    ok: response.ok,
    text: await response.text(),
  }));
  if (!ok) throw new Error(`a page was answered by ${status}: ${rest.text}`);
  return JSON.parse(rest.text) as T;
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

async function statusOf(url: string, body: string): Promise<number> {
  const reply = await fetch(url, { method: "POST", body });
  const text = await reply.text();
  if (!reply.ok && !text.includes("error")) throw new Error(`${reply.status} without a reason`);
  if (reply.status === 500) throw new Error(`a request was answered by 500: ${text}`);
  return reply.status;
}

function checkMetrics(text: string): void {
  const wrong = text.split("\n").find((line) => /undefined|\bobject\b/.test(line));
  if (wrong !== undefined) throw new Error(`a metric is ${wrong}`);
}
