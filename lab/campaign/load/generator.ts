/** The process that sends load: answers each order with its reports, until it is told to end. */
import { sendLoad } from "./open-loop.ts";
import type { LoadOrder } from "./report.ts";

process.on("message", (order: LoadOrder) => {
  void sendLoad(order).then((reports) => process.send?.(reports));
});
process.on("disconnect", () => process.exit(0));
