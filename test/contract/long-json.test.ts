/** What is asked as long JSON, which a thread reads, is answered as the same is that is short. */
import { afterEach, describe, expect, test } from "vitest";
import type { HostOptions } from "../../runtime/methods/method.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import type { RunningServer } from "../../runtime/server/serve.ts";
import { serveOne } from "../support/serve-one.ts";
import type { FakeWorkers, ServedSubject } from "./subjects/served.ts";
import { BY_METHOD } from "./subjects.ts";

const open: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

/** Beyond what is read on the event loop, and below what the smallest model takes. */
const PADDING = " ".repeat(65_600);

async function serving(subject: ServedSubject): Promise<[RunningServer, FakeWorkers]> {
  const workers = subject.openWorkers();
  const server = await serveOne(
    (options: HostOptions) => methodOf(subject.bundle).host(subject.bundle, options),
    {
      bundleSha256: "ab".repeat(32),
      host: "127.0.0.1",
      port: 0,
      nowMs: () => 1000,
      version: "0.0.0",
      axisNames: subject.axisNames ?? [],
      workers: workers.starter,
    },
  );
  open.push(server);
  workers.ready();
  return [server, workers];
}

/** Asks, and lets the workers finish what they are given. */
async function answer(url: string, body: string, workers: FakeWorkers): Promise<unknown> {
  let told: unknown;
  const asked = fetch(url, { method: "POST", body }).then(async (reply) => {
    told = [reply.status, await reply.text()];
  });
  while (told === undefined) {
    if (workers.runningCount() > 0) await workers.finish();
    await new Promise(setImmediate);
  }
  await asked;
  return told;
}

describe.each(BY_METHOD)("long JSON and %s", (_, { served }) => {
  test.each(["predict", "classification"])("%s", async (what) => {
    const [server, workers] = await serving(served);
    const { name, data } = served.input;
    const metadata = await (await fetch(`${server.url}/v2/models/${served.model}`)).json();
    const { outputs } = metadata as { readonly outputs: readonly { readonly name: string }[] };
    const input = { name, datatype: "FP32", shape: [data.length, data[0]?.length], data };
    const parameters = { classification: 1 };
    const request =
      what === "predict"
        ? { instances: data }
        : { inputs: [input], outputs: [{ name: outputs.at(-1)?.name, parameters }] };
    const path = what === "predict" ? `v1/models/${served.model}:predict` : "";
    const url = `${server.url}/${path || `v2/models/${served.model}/infer`}`;
    const body = JSON.stringify(request);
    const short = await answer(url, body, workers);
    expect(await answer(url, `${body}${PADDING}`, workers)).toEqual(short);
  });
});
