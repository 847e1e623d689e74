import { afterEach, expect, test } from "vitest";
import { type LoadOptions, runLoad } from "../../../compiler/load/run-load.ts";
import {
  type Answering,
  echoBinary,
  type ProtocolServer,
  sendJson,
  startProtocolServer,
} from "./protocol-server.ts";

let server: ProtocolServer | null = null;

afterEach(async () => {
  await server?.close();
  server = null;
});

async function load(
  answer: Answering,
  changes: Partial<LoadOptions> = {},
  metrics: ((received: number) => string) | null = null,
) {
  server = await startProtocolServer(answer, null, metrics);
  return runLoad({ ...optionsFor(server.url), ...changes });
}

function optionsFor(url: string): LoadOptions {
  return {
    url,
    model: null,
    arrivals: { kind: "poisson", qps: 1000 },
    durationMs: 100,
    seed: 1,
    sloMs: null,
    inputs: null,
    maxOutstanding: 1000,
    warmUpQueries: 0,
    timeoutMs: 20_000,
    nowMs: () => performance.now(),
    onProgress: () => {},
    signal: new AbortController().signal,
  };
}

/** `count` queries, all at once. */
function together(count: number): Pick<LoadOptions, "arrivals" | "durationMs"> {
  const trace = { kind: "arrivals", arrivalMs: new Float64Array(count) } as const;
  return { arrivals: { kind: "trace", trace }, durationMs: 1 };
}

test.each([1, 5])(
  "keeps %i queries in flight, each sent when another is answered",
  async (width) => {
    let [inFlight, most, answered] = [0, 0, 0];
    // A clock of answers: the load is over after a hundred of them.
    const clock = () => answered;
    const result = await load(
      (response, query) => {
        most = Math.max(most, ++inFlight);
        setImmediate(() => {
          inFlight--;
          answered++;
          echoBinary(response, query, { variant: "small", accuracy: 0.5 });
        });
      },
      { arrivals: { kind: "closed", concurrency: width }, durationMs: 100, nowMs: clock },
    );
    expect(most).toBeLessThanOrEqual(width);
    expect(most).toBeGreaterThan(width / 2);
    expect(result).toMatchObject({ queries: answered, dropped: 0 });
    expect(answered).toBeGreaterThanOrEqual(100);
    expect(answered).toBeLessThan(100 + width);
  },
);

function oneHot(index: number): Uint8Array {
  const row = new Float32Array(3);
  row[index % 3] = 1;
  return new Uint8Array(row.buffer);
}

test("sends every arrival of the seed as one binary row and counts its answer once", async () => {
  const result = await load((response, query) =>
    echoBinary(response, query, { variant: "small", accuracy: 0.5 }),
  );
  const received = server?.received ?? [];
  expect(result.queries).toBeGreaterThan(50);
  expect(received).toHaveLength(result.queries);
  expect(result).toMatchObject({
    model: "digits",
    satisfied: result.queries,
    late: 0,
    dropped: 0,
    violationRate: 0,
    accuracyPerSatisfied: 0.5,
    accuracyPerQuery: 0.5,
    measuredAccuracy: null,
    byVariant: { small: { queries: result.queries, satisfied: result.queries, labelled: 0 } },
    errors: {},
  });
  expect(received[0]).toEqual({
    contentType: "application/octet-stream",
    header: {
      inputs: [
        { name: "x", datatype: "FP32", shape: [1, 3], parameters: { binary_data_size: 12 } },
      ],
      parameters: { binary_data_output: true },
    },
    binary: Buffer.alloc(12),
  });
});

test("percentiles of few batches have intervals, which the server counts", async () => {
  const answer: Answering = (response, query) => echoBinary(response, query, {});
  const alone = await load(answer, together(40));
  const { batches, intervals, p99 } = alone.latencyMs ?? {};
  expect(batches).toBe(40);
  expect(intervals?.p99[0]).toBeLessThanOrEqual(p99 ?? 0);
  expect(intervals?.p99[1]).toBeNull();
  await server?.close();
  // Another model of the server, and what was there before, do not count.
  const shared = await load(answer, together(40), (received) =>
    [
      `nv_inference_request_success{model="digits",version="1"} ${5 + received}`,
      ...["a", "b"].map((task, index) => {
        const labels = `{model="digits",task="${task}",variant="v"}`;
        return [
          `stratagem_batch_size_sum${labels} ${3 + received}`,
          `stratagem_batch_size_count${labels} ${1 + received / (index === 0 ? 4 : 2)}`,
        ].join("\n");
      }),
      `stratagem_batch_size_count{model="other",task="a",variant="v"} ${90 * received}`,
    ].join("\n"),
  );
  expect(shared.latencyMs?.batches).toBe(10);
});

test("the same seed gives the same number of queries", async () => {
  const answer: Answering = (response, query) => echoBinary(response, query, {});
  const first = await load(answer);
  await server?.close();
  const second = await load(answer);
  expect(second.queries).toBe(first.queries);
});

test("goes on sending while earlier queries wait for their replies", async () => {
  const held: (() => void)[] = [];
  const result = await load(
    (response, query) => {
      held.push(() => echoBinary(response, query, {}));
      // No reply leaves before the last query is there; a generator that waits would never get
      // here.
      if (held.length === 50) for (const release of held) release();
    },
    { ...together(50) },
  );
  expect(result).toMatchObject({ queries: 50, satisfied: 50 });
});

test("every query is satisfied, late or dropped, and errors say why", async () => {
  const result = await load(
    (response, query, index) => {
      if (index % 4 === 0) sendJson(response, { error: "queue is full" }, 429);
      else if (index % 4 === 1) response.destroy();
      else if (index % 4 === 2) response.end("no JSON");
      else echoBinary(response, query, { variant: "large", accuracy: 0.75 });
    },
    { ...together(40) },
  );
  expect(result.errors).toEqual({ "429": 10, ECONNRESET: 10, "malformed-reply": 10 });
  expect(result).toMatchObject({
    queries: 40,
    satisfied: 10,
    dropped: 30,
    violationRate: 0.75,
    accuracyPerSatisfied: 0.75,
    accuracyPerQuery: 0.1875,
  });
});

test("an answer after the SLO is late, whatever its accuracy", async () => {
  const answer: Answering = (response, query) => echoBinary(response, query, { accuracy: 1 });
  const result = await load(answer, { ...together(5), sloMs: Number.MIN_VALUE });
  expect(result).toMatchObject({ queries: 5, satisfied: 0, late: 5, dropped: 0, violationRate: 1 });
  expect(result).toMatchObject({ accuracyPerSatisfied: null, accuracyPerQuery: 0 });
  expect(result.byVariant).toEqual({
    "(unnamed)": { queries: 5, satisfied: 0, labelled: 0, correct: 0 },
  });
});

test("compares the largest output with the label, by variant", async () => {
  const result = await load(
    (response, query, index) => {
      const variant = index % 2 === 0 ? "small" : "large";
      echoBinary(response, query, { variant, accuracy: 0.9 });
    },
    {
      ...together(12),
      inputs: (index) => ({ bytes: oneHot(index), label: index < 6 ? index % 3 : null }),
    },
  );
  expect(result.measuredAccuracy).toBe(1);
  const { small, large } = result.byVariant;
  expect((small?.labelled ?? 0) + (large?.labelled ?? 0)).toBe(6);
  expect((small?.correct ?? 0) + (large?.correct ?? 0)).toBe(6);
});

test("a wrong class lowers the measured accuracy only", async () => {
  const result = await load((response, query) => echoBinary(response, query, { accuracy: 0.9 }), {
    ...together(10),
    inputs: (index) => ({ bytes: oneHot(0), label: index < 4 ? 0 : 1 }),
  });
  expect(result.measuredAccuracy).toBe(0.4);
  expect(result.accuracyPerSatisfied).toBeCloseTo(0.9, 12);
});

test("a query beyond the bound on queries under way is counted, not sent", async () => {
  const held: (() => void)[] = [];
  const result = await load(
    (response, query) => {
      held.push(() => echoBinary(response, query, {}));
      if (held.length === 3) for (const release of held) release();
    },
    { ...together(10), maxOutstanding: 3 },
  );
  expect(result).toMatchObject({ queries: 10, satisfied: 3, dropped: 7 });
  expect(result.errors).toEqual({ "too-many-outstanding": 7 });
});

test("warm-up queries are sent but counted nowhere, and may fail", async () => {
  const result = await load(
    (response, query, index) => {
      if (index < 3) response.destroy();
      else echoBinary(response, query, {});
    },
    { ...together(5), warmUpQueries: 20 },
  );
  expect(server?.received).toHaveLength(25);
  expect(result).toMatchObject({ queries: 5, satisfied: 5, errors: {} });
});

test("a reply that does not come in time is an error", async () => {
  const result = await load(() => {}, { ...together(2), timeoutMs: 500 });
  expect(result.errors).toEqual({ ETIMEDOUT: 2 });
});

test("names what the server does not know", async () => {
  await expect(load(() => {}, { model: "absent" })).rejects.toThrow(
    "/v2/models/absent: expected status 200, got 404",
  );
});

test("names a server that is not there", async () => {
  server = await startProtocolServer(() => {});
  const options = optionsFor(server.url);
  await server.close();
  await expect(runLoad(options)).rejects.toThrow(
    "expected a server that answers, got ECONNREFUSED",
  );
});

test("refuses a URL it cannot use", async () => {
  await expect(runLoad(optionsFor("127.0.0.1:80"))).rejects.toThrow(/expected a URL such as/);
});

test("an abort ends the load with its reason", async () => {
  const abort = new AbortController();
  const reason = new Error("enough");
  const ended = load(() => abort.abort(reason), { durationMs: 60_000, signal: abort.signal });
  await expect(ended).rejects.toBe(reason);
});
