/** Questions of `init` on a terminal that ends. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { InterruptedError } from "../../../compiler/base/errors.ts";
import { terminalAsk } from "../../../compiler/init/questions.ts";

test("the end of the input interrupts a question that is open, and those after it", async () => {
  const input = new PassThrough();
  const { ask, close } = terminalAsk(input, new PassThrough());
  const first = ask("first?");
  input.write("one\n");
  await expect(first).resolves.toBe("one");
  const second = ask("second?");
  input.end();
  await expect(second).rejects.toThrow(InterruptedError);
  await expect(ask("third?")).rejects.toThrow();
  close();
});
