/** Entry of a process that accepts requests for the server that has started it. */
import { settleCollection } from "../heap-collection.ts";
import type { ListenTarget } from "../server/http/doors.ts";
import type { AcceptorSetup } from "../server/processes/told.ts";
import { accept } from "./acceptor.ts";

/** The stream the server left open for us, after the standard ones and that of `process.send`. */
const CHANNEL_FD = 4;

// A terminal or a service manager signals the whole group. Only the process that decides says when
// we end, so that what was sent is answered; should it die of the signal, the stream ends.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

settleCollection();
process.once("message", (setup: AcceptorSetup, handle: unknown) => {
  // Once what has come is confirmed.
  setImmediate(() => process.disconnect());
  accept({ setup, target: handle as ListenTarget, channelFd: CHANNEL_FD }).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`a process that accepts requests ends: ${error}\n`);
      process.exit(1);
    },
  );
});
