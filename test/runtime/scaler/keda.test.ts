import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Client, credentials, ServerCredentials, status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";
import { FrontEnds } from "../../../runtime/scaler/front-ends.ts";
import { type KedaServer, openKeda } from "../../../runtime/scaler/keda.ts";
import { LoadWatch } from "../../../runtime/scaler/load-watch.ts";
import { past } from "../../../runtime/scaler/trigger.ts";
import { Clock, pass, ToldTraffic } from "../../support/told-traffic.ts";

const open: { server: KedaServer; client: Client }[] = [];

afterEach(async () => {
  for (const { server, client } of open.splice(0)) {
    client.close();
    await server.close();
  }
});

async function asked(replicas = 0) {
  const { bundle } = await loadBundle("policies/ocr-inferline/bundle.msgpack");
  const { application } = bundle;
  const clock = new Clock();
  const traffic = new ToldTraffic(application);
  const urls = ["http://front-end/metrics"];
  const frontEnds = new FrontEnds({ urls, application, read: async () => traffic.text() });
  const watch = new LoadWatch({ bundle, frontEnds, nowMs: clock.now });
  const server = await openKeda({
    watch,
    host: "127.0.0.1",
    port: 0,
    credentials: ServerCredentials.createInsecure(),
    replicasOf: async () => replicas,
  });
  const client = new Client(server.url, credentials.createInsecure());
  open.push({ server, client });
  const call = (method: string, message: Uint8Array) => unary(client, method, message);
  return { clock, traffic, watch, client, call };
}

const asIs = (bytes: Uint8Array) => Buffer.from(bytes);

function unary(client: Client, method: string, message: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const path = `/externalscaler.ExternalScaler/${method}`;
    client.makeUnaryRequest(path, asIs, asIs, message, (error, answer) => {
      if (error === null && answer !== undefined) resolve(answer);
      else reject(error ?? new Error("no answer"));
    });
  });
}

function ref(metadata: Record<string, string>): Uint8Array {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).string("readers");
  for (const [key, value] of Object.entries(metadata)) {
    const entry = new BinaryWriter().tag(1, WireType.LengthDelimited).string(key);
    entry.tag(2, WireType.LengthDelimited).string(value);
    writer.tag(3, WireType.LengthDelimited).bytes(entry.finish());
  }
  return writer.finish();
}

const metricsOf = (metadata: Record<string, string>) =>
  new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(ref(metadata)).finish();

/** The first of the named numbers: name, whole number, number. */
function named(bytes: Uint8Array) {
  const outer = new BinaryReader(bytes);
  outer.tag();
  const reader = new BinaryReader(outer.bytes());
  reader.tag();
  const name = reader.string();
  reader.tag();
  const whole = Number(reader.int64());
  reader.tag();
  return { name, whole, value: reader.double() };
}

test("answers with the number of replicas in the plan for the load", async () => {
  const at = await asked();
  await pass(40, 2, at);
  const spec = named(await at.call("GetMetricSpec", ref({ task: "read" })));
  expect(spec).toEqual({ name: "stratagem-read", whole: 1, value: 1 });
  const metric = named(await at.call("GetMetrics", metricsOf({ task: "read" })));
  expect(metric).toEqual({ name: "stratagem-read", whole: 7, value: 7 });
  expect(named(await at.call("GetMetrics", metricsOf({ pool: "cpu" }))).value).toBe(12);
  expect([...(await at.call("IsActive", ref({})))]).toEqual([8, 1]);
});

test("is unavailable while the load is unknown, so that the fallback applies", async () => {
  const { call } = await asked();
  await expect(call("GetMetrics", metricsOf({ task: "read" }))).rejects.toMatchObject({
    code: status.UNAVAILABLE,
  });
  await expect(call("IsActive", ref({}))).rejects.toMatchObject({ code: status.UNAVAILABLE });
  const spec = named(await call("GetMetricSpec", ref({ task: "read" })));
  expect(spec.value).toBe(1);
});

test("names the available parts to an invalid trigger", async () => {
  const { call } = await asked();
  await expect(call("IsActive", ref({ task: "reed" }))).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringContaining("task: decode, find, box, cut, read, join"),
  });
  await expect(call("IsActive", ref({ tolerance: "much" }))).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
  });
  await expect(call("IsActive", ref({ tolerance: "0.1" }))).rejects.toMatchObject({
    details: expect.stringContaining("tolerance needs statefulSet"),
  });
  await expect(call("IsActive", Uint8Array.of(0xff, 0xff))).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
  });
});

test("pushes the current activity and its changes", async () => {
  const at = await asked();
  await pass(12, 0, at);
  const path = "/externalscaler.ExternalScaler/StreamIsActive";
  const stream = at.client.makeServerStreamRequest(path, asIs, asIs, ref({ pool: "cpu" }));
  const answers: number[][] = [];
  const next = () =>
    new Promise<void>((resolve) => {
      stream.once("data", (bytes: Buffer) => {
        answers.push([...bytes]);
        resolve();
      });
    });
  await next();
  const pushed = next();
  await pass(1, 1, at);
  await pushed;
  expect(answers).toEqual([[], [8, 1]]);
  stream.on("error", () => {});
  stream.cancel();
});

test("asks for enough replicas to exceed the autoscaler's tolerance", async () => {
  expect(past(21, 20, 0.1)).toBe(23);
  expect(past(23, 20, 0.1)).toBe(23);
  expect(past(30, 20, 0.1)).toBe(30);
  expect(past(19, 20, 0.1)).toBe(19);
  expect(past(1, 0, 0.1)).toBe(1);
  const at = await asked(11);
  await pass(40, 2, at);
  const metadata = { pool: "cpu", tolerance: "0.1", statefulSet: "ocr-cpu" };
  expect(named(await at.call("GetMetrics", metricsOf(metadata))).value).toBe(13);
});
