/** Timers of dispatchers, for times that Node's own take amiss. */
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { WakeTimer } from "../../../runtime/server/wake-timer.ts";

/** Names of what Node warns of, until the test is done. */
function warnings(): string[] {
  const names: string[] = [];
  const onWarning = ({ name }: Error) => names.push(name);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  return names;
}

test("calls as soon as it can when the time is past, and Node has nothing to warn of", async () => {
  const warned = warnings();
  await new Promise<void>((resolve) => new WakeTimer(resolve).set(100, 113.4));
  await setImmediate();
  expect(warned).toEqual([]);
});

test("waits for a time that is further off than any timer of Node", async () => {
  const warned = warnings();
  const woken: string[] = [];
  const far = new WakeTimer(() => woken.push("far"));
  far.set(1e12, 0);
  await new Promise<void>((resolve) => new WakeTimer(resolve).set(10, 0));
  await setImmediate();
  far.clear();
  expect({ warned, woken }).toEqual({ warned: [], woken: [] });
});
