import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { type BenchOptions, benchCommand } from "../../../compiler/load/bench.ts";
import { folderOf } from "../spec/spec-folder.ts";
import { echoBinary, type ProtocolServer, startProtocolServer } from "./protocol-server.ts";

let server: ProtocolServer | null = null;

afterEach(async () => {
  await server?.close();
  server = null;
});

async function bench(
  options: Partial<BenchOptions> & Pick<BenchOptions, "arrivals">,
  classes: unknown = null,
) {
  server = await startProtocolServer(
    (response, query) => echoBinary(response, query, { variant: "small", accuracy: 0.5 }),
    classes,
  );
  const surroundings = {
    nowMs: () => performance.now(),
    onProgress: () => {},
    signal: new AbortController().signal,
  };
  return benchCommand({ url: server.url, ...options }, surroundings);
}

/** Three one-hot rows and a trace of six arrivals. */
const FILES = {
  "rows.bin": new Uint8Array(Float32Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1).buffer),
  "labels.txt": "0\n1\n0\n",
  "short.txt": "0\n",
  "words.txt": "0\none\n0\n",
  "odd.bin": new Uint8Array(13),
  "arrivals.csv": "arrivalMs\n0\n0\n1\n1\n2\n2\n",
  "coarse.csv": "arrivalMs\n0\n0\n10\n10\n",
};

test("replays a trace with rows and labels of files and says what was measured", async () => {
  const folder = folderOf(FILES);
  const { exitCode, json, text } = await bench({
    arrivals: `trace:${join(folder, "arrivals.csv")}`,
    inputs: join(folder, "rows.bin"),
    labels: join(folder, "labels.txt"),
    slo: "1000s",
  });
  expect(exitCode).toBe(0);
  expect(json).toMatchObject({
    seed: 1,
    durationMs: 3,
    sloMs: 1_000_000,
    queries: 6,
    satisfied: 6,
    measuredAccuracy: 4 / 6,
    byVariant: { small: { queries: 6, labelled: 6, correct: 4 } },
  });
  expect(text).toContain('6 queries to "digits"');
});

test("says that the times of a trace were spread", async () => {
  const arrivals = `trace:${join(folderOf(FILES), "coarse.csv")}`;
  const { json, text } = await bench({ arrivals });
  expect(json).toMatchObject({ queries: 4, spreadMs: 10 });
  expect(text).toContain(
    "coarse.csv: all times are multiples of 10 ms and some are equal, so each arrival is placed " +
      "at random within its 10 ms\n",
  );
});

test.each([
  [{ inputs: "odd.bin" }, "odd.bin: expected rows of 12 bytes, got 13 bytes"],
  [{ inputs: "rows.bin", labels: "short.txt" }, "short.txt: expected 3 labels, got 1"],
  [{ inputs: "rows.bin", labels: "words.txt" }, 'words.txt:2: expected a whole number, got "one"'],
  [{ inputs: "absent.bin" }, "absent.bin: expected a readable file"],
])("refuses %o", async (names, message) => {
  const folder = folderOf(FILES);
  const files = Object.fromEntries(
    Object.entries(names).map(([option, name]) => [option, join(folder, name)]),
  );
  await expect(bench({ arrivals: "poisson:1000", duration: "50ms", ...files })).rejects.toThrow(
    message,
  );
});

test.each([
  [{}, "expected --arrivals or --concurrency, got neither"],
  [{ arrivals: "poisson:5", concurrency: "5" }, "expected --arrivals or --concurrency, got both"],
  [{ concurrency: "0" }, "expected --concurrency 1 to 4096, got 0"],
  [{ arrivals: "5" }, "expected --arrivals poisson:QPS, gamma:QPS,CV2 or trace:FILE, got "],
  [{ arrivals: "trace:" }, "expected --arrivals poisson:QPS, gamma:QPS,CV2 or trace:FILE, got "],
  [{ arrivals: "gamma:5,1,2" }, "expected --arrivals poisson:QPS, gamma:QPS,CV2 or trace:FILE"],
  [{ arrivals: "poisson:-1" }, "--arrivals poisson:QPS a rate above 0"],
  [{ arrivals: "gamma:5,0" }, "--arrivals gamma:QPS,CV2 a number above 0"],
  [{ arrivals: "poisson:5", slo: "10" }, "--slo a time above 0"],
  [{ arrivals: "poisson:5", labels: "x" }, "expected --inputs with --labels"],
])("refuses options %o", async (options, message) => {
  await expect(bench(options)).rejects.toThrow(message);
});

const CLASSES = [
  { name: "interactive", latencyMs: 1e6, share: 0.75 },
  { name: "relaxed", latencyMs: 1e-6, share: 0.25 },
];
const classesSent = () =>
  server?.received.map(({ header }) => {
    const { parameters } = header as { parameters: { slo_class?: string } };
    return parameters.slo_class;
  });

test("draws classes by the server's shares and judges each by its SLO", async () => {
  const load = { arrivals: "poisson:2000", duration: "100ms" };
  const { json, text } = await bench({ ...load, sloClass: "all" }, CLASSES);
  type Counts = { readonly queries: number; readonly late: number };
  const { byClass, queries, late } = json as Counts & { byClass: Record<string, Counts> };
  const { interactive, relaxed } = byClass;
  expect(interactive).toMatchObject({ late: 0 });
  expect(relaxed?.late).toBe(relaxed?.queries);
  expect(late).toBe(relaxed?.late);
  expect((interactive?.queries ?? 0) + (relaxed?.queries ?? 0)).toBe(queries);
  const sent = classesSent() ?? [];
  expect(sent.filter((name) => name === "relaxed")).toHaveLength(relaxed?.queries ?? -1);
  expect(sent.every((name) => name === "interactive" || name === "relaxed")).toBe(true);
  expect(text).toMatch(/^relaxed +\d+ +\d+ +0 +100\.000%/m);
});

test("sends one class, whose SLO holds unless another is given", async () => {
  const load = { arrivals: "poisson:1000", duration: "20ms", sloClass: "relaxed" };
  const own = await bench(load, CLASSES);
  expect(new Set(classesSent())).toEqual(new Set(["relaxed"]));
  expect(own.json).toMatchObject({ satisfied: 0, byClass: { relaxed: { satisfied: 0 } } });
  await server?.close();
  const given = await bench({ ...load, slo: "1000s" }, CLASSES);
  expect(given.json).toMatchObject({ late: 0, sloMs: 1e6 });
});

test.each([
  [{ sloClass: "fast" }, CLASSES, 'digits: expected a class "fast", got interactive, relaxed'],
  [
    { sloClass: "all" } as const,
    null,
    "digits: expected classes, got a model with one SLO for all requests",
  ],
])("refuses %o where there are no such classes", async (options, classes, message) => {
  await expect(
    bench({ arrivals: "poisson:10", duration: "10ms", ...options }, classes),
  ).rejects.toThrow(message);
});
