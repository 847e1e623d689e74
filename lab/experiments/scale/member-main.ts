/**
 * A front end's side of a cluster in a process of its own, so that its time is told apart: members,
 * leases and its own beats, and no requests. Tells what it sees whenever it is asked.
 */

import { exposition } from "stratagem-runtime/internal/base/exposition";
import { ClusterFrontEnd } from "stratagem-runtime/internal/features/cluster/cluster-front-end";

const [, , url = "", frontEnd = ""] = process.argv;
const cluster = await ClusterFrontEnd.open({
  ...{ url, frontEnd },
  nowMs: () => performance.now(),
  onNotice: (message) => process.stderr.write(`${frontEnd}: ${message}\n`),
});
process.on("message", () => process.send?.(exposition(cluster.lines())));
process.once("SIGTERM", async () => {
  await cluster.close();
  process.exit(0);
});
