/** Every HTTP client of the product, against servers that stop at each stage of an exchange. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { InferenceClient } from "../../../compiler/load/inference-client.ts";
import { readServerText } from "../../../compiler/recalibrate/server-text.ts";
import { KeptValues } from "../../../runtime/agent/kept-values.ts";
import { takenValue } from "../../../runtime/agent/value-source.ts";
import { inspectServer } from "../../../runtime/commands/inspect-server.ts";
import { RemoteEndpoint } from "../../../runtime/exec/modules/remote-endpoint.ts";
import { answersHealth, servesAs } from "../../../runtime/features/cluster/answers-health.ts";
import { HttpDestination } from "../../../runtime/features/decision-log/http-destination.ts";
import { HttpClient } from "../../../runtime/features/sources/http-client.ts";
import { OtlpClient } from "../../../runtime/features/telemetry/otlp/otlp-client.ts";
import { openRegistry } from "../../../runtime/registry/registry.ts";
import { HttpConnection } from "../../../runtime/remote/http-connection.ts";
import { replicasOf } from "../../../runtime/scaler/replicas.ts";
import { HALF_HANDSHAKE, STAGES, StallingServer } from "../../support/stalling-server.ts";
import { Authority, HAS_OPENSSL } from "../server/access/certificates.ts";

const TIMEOUT_MS = 150;
const folder = mkdtempSync(join(tmpdir(), "stratagem-stalled-"));
const { signal } = new AbortController();
const TENSOR = { name: "x", dtype: "float32", shape: [-1, 1] };
const BYTES = new Uint8Array(4);
const DIGEST = `sha256:${"0".repeat(64)}`;
let files = 0;

beforeAll(() => writeFileSync(join(folder, "namespace"), "vision"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A client, with what it asks; resolves or rejects with what it found. */
type Ask = (server: StallingServer) => Promise<unknown>;

const registry = ({ url }: StallingServer) => {
  const { protocol, host } = new URL(url);
  return openRegistry(
    { protocol: protocol === "https:" ? "https:" : "http:", host, ...NAMED },
    { retryMs: 1, timeouts: { answerMs: TIMEOUT_MS / 3, uploadMs: TIMEOUT_MS / 3 } },
  );
};
const NAMED = { repository: "team/policy", tag: "latest", digest: null };

const endpoint = ({ url }: StallingServer) => new RemoteEndpoint(url, "m", TIMEOUT_MS);

function atWorker<T>(ask: (connection: HttpConnection) => Promise<T>): Ask {
  return async ({ url }) => {
    const connection = new HttpConnection(url, () => Promise.resolve(null));
    return ask(connection).finally(() => connection.close());
  };
}

/** A batch has no limit of its own: the timer of its worker aborts it. */
const batch = (connection: HttpConnection) => {
  const { answer, abort } = connection.infer(
    {
      ...{ model: "m", id: "1", lease: null, timeLeftMs: TIMEOUT_MS, outputs: [TENSOR] },
      inputs: [{ info: TENSOR, shape: [1, 1], chunks: [BYTES] }],
    },
    () => {},
  );
  const timer = setTimeout(() => abort("no answer in time"), TIMEOUT_MS);
  return answer.finally(() => clearTimeout(timer));
};

const PEERS = { includes: () => true, readToken: () => Promise.resolve(null) };
const value = {
  key: "01234567-89ab-cdef-0123-456789abcdef",
  tensor: { name: "x", datatype: "FP32" as const, rowShape: [1] },
  shape: [1, 1],
  path: "inputs[0]",
};

const otlp: Ask = async ({ url }) => {
  const client = new OtlpClient({ headers: {}, timeoutMs: TIMEOUT_MS });
  client.hurry();
  return client.send(url, Buffer.from("{}"));
};

const CLIENTS: Readonly<Record<string, Ask>> = {
  "source, document": ({ url }) =>
    new HttpClient({ timeoutMs: TIMEOUT_MS }).get(`${url}/b`, { maxBytes: 2 ** 20, signal }),
  "source, file": ({ url }) => {
    const limits = { maxBytes: 2 ** 20, signal };
    const path = join(folder, `file${files++}`);
    return new HttpClient({ timeoutMs: TIMEOUT_MS }).download(`${url}/m`, path, limits);
  },
  "status report": ({ url }) =>
    new HttpClient({ timeoutMs: TIMEOUT_MS }).post(`${url}/status`, {}, signal),
  "registry, manifest": (server) => registry(server).manifest(),
  "registry, blob": (server) =>
    registry(server).blob(DIGEST, join(folder, `blob${files++}`), { size: 2 ** 20 }),
  "registry, push": (server) => registry(server).push("application/x", []),
  "remote model, tensors": (server) => endpoint(server).tensors(),
  "remote model, batch": (server) =>
    endpoint(server).infer([{ info: TENSOR, shape: [1, 1], chunks: [BYTES] }], [TENSOR]),
  "worker, heartbeat": atWorker((connection) => connection.expectReady(TIMEOUT_MS)),
  "worker, batch": atWorker(batch),
  "worker, kept tensor": ({ url }) =>
    takenValue({ ...value, source: url }, new KeptValues(2 ** 20, () => 0), PEERS, TIMEOUT_MS),
  "cluster, live": async ({ url }) => [await answersHealth(url, TIMEOUT_MS)],
  "cluster, front end": async ({ url }) => [await servesAs(url, "front", TIMEOUT_MS)],
  otlp,
  "decision log": ({ url }) =>
    new HttpDestination(new URL(url), undefined, TIMEOUT_MS).send("{}\n", signal),
  "inspect, server": ({ url }) => inspectServer(url, TIMEOUT_MS),
  "feedback and times": ({ url }) => readServerText(url, "/times", signal, TIMEOUT_MS),
  bench: async ({ url }) => {
    const client = new InferenceClient({ url, timeoutMs: TIMEOUT_MS });
    return client.send("/v2", BYTES).finally(() => client.close());
  },
};

/** What a client found, or the reason of its failure. */
function found(ask: Ask, server: StallingServer): Promise<string> {
  const outcome = ask(server).then(
    (answer) => JSON.stringify(answer) ?? "",
    ({ message }: Error) => message,
  );
  return outcome.finally(() => server.close());
}

/** Clients that need the status of an answer only. */
const READS_NO_BODY = new Set(["status report", "otlp"]);
/** Clients of unencrypted servers only. */
const IS_PLAIN = new Set(["bench"]);
const WITHOUT_HEAD = /^(silent|half a status line|half a header|headers without|102|half a TLS)/;
const WITHOUT_BODY = /^(headers only|half a body|a trickling body|chunks without end)$/;
/** A reason that names the limit; clients of health say no more than that there is no answer. */
const LATE = /no (complete )?answer|no data for|no reply within|^\[false\]$/;

test.concurrent.each(Object.entries(CLIENTS))("%s: an end at every stage", async (name, ask) => {
  const stages = [...Object.keys(STAGES), ...(IS_PLAIN.has(name) ? [] : [HALF_HANDSHAKE])];
  await Promise.all(
    stages.map(async (stage) => {
      const outcome = await found(ask, await StallingServer.open(stage));
      const isLate = WITHOUT_HEAD.test(stage) || WITHOUT_BODY.test(stage);
      if (!isLate) return;
      if (WITHOUT_BODY.test(stage) && READS_NO_BODY.has(name)) return;
      expect(outcome, stage).toMatch(LATE);
    }),
  );
});

test.skipIf(!HAS_OPENSSL)("replicas: an end at every stage", async () => {
  const ours = new Authority("stalled");
  const { cert, key } = ours.issue("api");
  const tls = { cert: readFileSync(cert), key: readFileSync(key) };
  writeFileSync(join(folder, "ca.crt"), ours.pem);
  writeFileSync(join(folder, "token"), "pod's");
  const ask: Ask = ({ port }) => {
    const place = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: `${port}` };
    return replicasOf("ocr-cpu", place, folder, TIMEOUT_MS);
  };
  const stages = [...Object.keys(STAGES), HALF_HANDSHAKE];
  await Promise.all(
    stages.map(async (stage) => {
      const outcome = await found(ask, await StallingServer.open(stage, tls));
      const isLate = WITHOUT_HEAD.test(stage) || WITHOUT_BODY.test(stage);
      expect(outcome, stage).toMatch(isLate ? LATE : /./);
    }),
  );
  rmSync(ours.folder, { recursive: true });
});
