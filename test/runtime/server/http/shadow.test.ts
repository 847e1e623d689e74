import { afterEach, expect, test } from "vitest";
import type { AdminHooks } from "../../../../runtime/server/http/admin-hooks.ts";
import { call, closeAll, jsonOf, serve } from "../harness.ts";

afterEach(closeAll);

const WITHOUT: AdminHooks = {
  reload: async () => null,
  config: () => ({}),
  state: () => ({}),
};
const TRACE = "# tiny\narrivalMs\n0.000\n";
const WITH: AdminHooks = {
  ...WITHOUT,
  shadow: () => ({ applications: [{ application: "tiny" }] }),
  shadowArrivals: (name = "tiny") => (name === "tiny" ? Promise.resolve(Buffer.from(TRACE)) : null),
};

test("administrators are told what a bundle that looks on would have decided", async () => {
  const harness = await serve({ admin: WITH });
  expect(jsonOf(await call(harness, "/admin/shadow"))).toEqual(WITH.shadow?.());
  expect((await call(harness, "/admin/shadow", { body: "" })).status).toBe(405);
});

test("arrivals are a file, of the application that is named or of the only one", async () => {
  const harness = await serve({ admin: WITH });
  for (const path of ["/admin/shadow/arrivals", "/admin/shadow/arrivals/tiny"]) {
    const { status, headers, body } = await call(harness, path);
    expect([status, headers["content-type"], body.toString()]).toEqual([
      200,
      "text/csv; charset=utf-8",
      TRACE,
    ]);
  }
  const other = await call(harness, "/admin/shadow/arrivals/other");
  expect([other.status, jsonOf(other).error]).toEqual([
    404,
    "expected the name of an application with a bundle that looks on behind the path, got 'other'",
  ]);
  expect((await call(harness, "/admin/shadow/arrivals/tiny/more")).status).toBe(404);
  expect((await call(harness, "/admin/shadow/arrivals", { body: "" })).status).toBe(405);
});

test("where none looks on there are no such paths", async () => {
  const harness = await serve({ admin: WITHOUT });
  for (const path of ["/admin/shadow", "/admin/shadow/arrivals"]) {
    expect((await call(harness, path)).status).toBe(404);
  }
});
