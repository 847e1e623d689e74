/** Decoding of worker states from untrusted texts. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { clusterUrlOf } from "../../../../runtime/features/cluster/cluster-url.ts";
import {
  readState,
  textOfState,
  type WorkerState,
} from "../../../../runtime/features/cluster/worker-state.ts";

const STATE: WorkerState = {
  ...{ name: "gpu 1", session: "s", url: "http://10.0.0.7:8001", pool: "gpus", cores: 2.5 },
  ...{ device: "cuda:0", provider: "cuda", isLeaving: false, epoch: 7 },
  models: [{ name: "large", sha256: "0f".repeat(32), state: "loading" }],
};

test("a state is decoded as it was encoded", () => {
  expect(readState(textOfState(STATE))).toEqual(STATE);
  expect(readState(textOfState({ ...STATE, models: [] }))?.models).toEqual([]);
  // As workers say it that know of no epochs.
  const { epoch: _, ...older } = STATE;
  expect(readState(JSON.stringify({ v: 1, ...older }))).toEqual({ ...STATE, epoch: 0 });
});

test("an invalid state is rejected", () => {
  const whole: object = JSON.parse(textOfState(STATE));
  const others: object[] = [
    ...[{ v: 2 }, { name: "" }, { name: "n".repeat(513) }, { cores: 0 }, { cores: "2" }],
    ...[{ url: "http://u:p@host" }, { url: "file:///etc" }, { url: "host:8000" }, { pool: 1 }],
    ...[{ models: {} }, { models: [{ name: "a", sha256: "0f", state: "ready" }] }],
    ...[{ models: [{ ...STATE.models[0], state: "gone" }] }, { isLeaving: 0 }, { device: null }],
    ...[{ epoch: -1 }, { epoch: 1.5 }, { epoch: "2" }],
  ];
  for (const other of others) {
    expect(readState(JSON.stringify({ ...whole, ...other })), JSON.stringify(other)).toBeNull();
  }
  for (const text of ["", "{", "[]", "null", "7"]) expect(readState(text)).toBeNull();
  fc.assert(fc.property(fc.json(), (text) => readState(text) === null));
});

test("a cluster URL has servers and a name", () => {
  expect(clusterUrlOf("nats://a,b:4223,[::1]:4222")).toEqual({
    text: "nats://a,b:4223,[::1]:4222",
    servers: ["a", "b:4223", "[::1]:4222"],
    ...{ isEncrypted: false, name: "stratagem" },
  });
  expect(clusterUrlOf("tls://nats.example.com/blue")).toMatchObject({
    ...{ isEncrypted: true, name: "blue" },
  });
  for (const text of ["a", "nats://", "nats://a,,b", "nats://a/b/c", "http://a", "nats://a b"]) {
    expect(() => clusterUrlOf(text), text).toThrow(`--cluster: expected nats://`);
  }
  expect(() => clusterUrlOf("nats://user:secret@a")).toThrow(/^((?!secret).)*$/);
});
