/** `inspect URL` shows what a running server measures. */
import { afterEach, expect, test } from "vitest";
import { inspectCommand } from "../../../runtime/commands/inspect.ts";
import { closeAll, serve } from "../server/harness.ts";

afterEach(closeAll);

test("the load, the level and the pace of each worker are shown", async () => {
  const { url } = (await serve()).server;
  const { text } = await inspectCommand({ path: url, loadQps: null, state: null });
  expect(text).toContain("ramsis, ready");
  expect(text).toContain("pace: 1; a query costs 1 times what it costs as profiled");
  expect(text).toMatch(/^worker\s+pool\s+pace$/m);
});

test("a level of a server is refused, and so is what is no server", async () => {
  const { url } = (await serve()).server;
  await expect(inspectCommand({ path: url, loadQps: 10, state: null })).rejects.toThrow(
    "expected a bundle",
  );
  const none = inspectCommand({ path: `${url}/nothing`, loadQps: null, state: null });
  await expect(none).rejects.toThrow("expected a server that answers");
});
