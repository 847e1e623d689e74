/** Triton's model repository extension: a model is loaded again, never unloaded. */
import { afterEach, expect, test } from "vitest";
import { call, closeAll, jsonOf, serve } from "../harness.ts";

afterEach(closeAll);

const LOAD = "/v2/repository/models/tiny/load";

test("loading a model follows its application's file, and says why where it does not", async () => {
  const asked: (string | undefined)[] = [];
  let isFollowed = true;
  const harness = await serve({
    admin: {
      reload: async (application) => {
        asked.push(application);
        const notice = "not followed: it has another SLO";
        return { isFollowed, notice, applications: [] };
      },
      config: () => ({}),
      state: () => ({}),
    },
  });
  expect(jsonOf(await call(harness, "/v2")).extensions).toContain("model_repository");
  const done = await call(harness, LOAD, { method: "POST" });
  expect([done.status, jsonOf(done)]).toEqual([200, { name: "tiny", load: true }]);
  isFollowed = false;
  const refused = await call(harness, `${LOAD}/`, { body: "{}" });
  expect([refused.status, jsonOf(refused)]).toEqual([
    400,
    { error: "failed to load 'tiny', not followed: it has another SLO" },
  ]);
  expect(asked).toEqual(["tiny", "tiny"]);
  const config = await call(harness, LOAD, { body: '{"parameters":{"config":"{}"}}' });
  expect([config.status, jsonOf(config).error]).toEqual([
    400,
    "failed to load 'tiny', expected no parameters: the bundle defines the model, got config",
  ]);
  expect(asked).toHaveLength(2);
});

test("unloading is refused, as is loading what is not there or not from a file", async () => {
  const harness = await serve();
  expect(jsonOf(await call(harness, "/v2")).extensions).not.toContain("model_repository");
  const post = async (path: string) => {
    const reply = await call(harness, `/v2/repository/${path}`, { method: "POST" });
    return [reply.status, jsonOf(reply).error];
  };
  expect(await post("models/tiny/unload")).toEqual([
    400,
    expect.stringContaining(
      "failed to unload 'tiny', a model cannot be unloaded while its server runs",
    ),
  ]);
  expect(await post("models/tiny/load")).toEqual([
    400,
    "failed to load 'tiny', its bundle was not read from a file",
  ]);
  for (const action of ["load", "unload"]) {
    const unknown = `failed to ${action} 'other', Request for unknown model: 'other' is not found`;
    expect(await post(`models/other/${action}`)).toEqual([400, unknown]);
  }
  expect((await post("models/tiny/forget"))[0]).toBe(404);
  expect((await call(harness, LOAD)).status).toBe(405);
});

test("the index tells which models are ready, and why one is not", async () => {
  const harness = await serve({}, { ready: false });
  const index = async (body = "") => {
    return jsonOf(await call(harness, "/v2/repository/index", { method: "POST", body }));
  };
  const reason = "its workers are not ready";
  expect(await index()).toEqual(
    ["tiny", "classify"].map((name) => ({ name, version: "1", state: "UNAVAILABLE", reason })),
  );
  expect(await index('{"ready":true}')).toEqual([]);
});
